"""What ``hm-jupyter doctor`` says: whether each part is where it must be, and what to do where it is not.

It looks, it changes nothing and starts nothing. It looks at *this* environment; a Jupyter server that is installed in
another one is asked by running ``hm-jupyter doctor`` there.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from .version import __version__

Level = Literal["ok", "note", "bad"]
CONFIG = Path("jupyter_server_config.d") / "hm_jupyter.json"


@dataclass(slots=True)
class Finding:
    """One line: ``what`` was looked at, how it is, and (where it is not ``ok``) what to do."""

    level: Level
    what: str
    how: str
    todo: str = ""


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _bundle(static: Path) -> Finding:
    script, sheet = static / "widget.js", static / "widget.css"
    if script.is_file() and sheet.is_file():
        return Finding("ok", "widget bundle", f"{(script.stat().st_size + sheet.stat().st_size) / 1000:.0f} kB")
    return Finding(
        "bad",
        "widget bundle",
        f"not in {static}",
        "in a clone: make bundle (or pip install -e .); else install hm-jupyter again from a wheel",
    )


def _server(config_path: list[str]) -> Finding:
    what = "server extension"
    if _version("jupyter_server") is None:
        return Finding(
            "note",
            what,
            "no Jupyter server in this environment",
            "where yours is: pip install hm-jupyter there too, so that clicks reach a busy kernel",
        )
    found = [Path(folder) / CONFIG for folder in config_path if (Path(folder) / CONFIG).is_file()]
    for file in reversed(found):  # the most local one has the last word: the list starts with it, so it is read last
        try:
            enabled = json.loads(file.read_text("utf-8"))["ServerApp"]["jpserver_extensions"]["hm_jupyter"]
        except (OSError, ValueError, KeyError, TypeError):
            return Finding("bad", what, f"{file} cannot be read", "pip install --force-reinstall hm-jupyter")
        if not enabled:
            return Finding("bad", what, f"switched off in {file}", "jupyter server extension enable hm_jupyter")
    if not found:
        return Finding(
            "bad", what, "not enabled: no configuration file names it", "jupyter server extension enable hm_jupyter"
        )
    return Finding("ok", what, f"enabled in {found[0]} (a server that already runs has to be started again)")


def _runtime(folder: Path) -> Finding:
    what = "control sockets"
    place = folder if folder.exists() else next((p for p in folder.parents if p.exists()), folder)
    if not os.access(place, os.W_OK):
        return Finding("bad", what, f"{place} is not writable", "set JUPYTER_RUNTIME_DIR to a folder of yours")
    if folder.exists() and folder.stat().st_mode & 0o077:
        return Finding("bad", what, f"others can read {folder}", f"chmod 700 {folder}")
    return Finding("ok", what, str(folder))


def _kernel() -> Finding:
    found = _version("ipykernel")
    if found is None:
        return Finding("note", "kernel", "no ipykernel in this environment", "pip install 'hm-jupyter[lab]'")
    if int(found.split(".")[0]) < 7:
        return Finding(
            "note",
            "kernel",
            f"ipykernel {found}: without the server extension a click is heard only after the cell",
            "pip install 'ipykernel>=7'",
        )
    return Finding("ok", "kernel", f"ipykernel {found}")


def _program(name: str, missing: str) -> Finding:
    path = shutil.which(name)
    return Finding("ok", name, path) if path else Finding("note", name, "not on PATH", missing)


def _agents() -> Finding:
    """The agents of the catalog that are here, and whether the person's own list of agents can be read."""
    from .catalog import catalog
    from .errors import UsageError
    from .found import look

    try:
        here = [f"{f.name} {f.version}".rstrip() for f in look(catalog()) if f.here]
    except UsageError as error:
        return Finding("bad", "agents", str(error), "mend that line; docs/acp.md tells what may stand there")
    if not here:
        return Finding("note", "agents", "none of those known by name is on PATH", "in a notebook: %hm agents")
    return Finding("ok", "agents", ", ".join(here))


def findings() -> Iterator[Finding]:
    """Everything there is to say, most important first."""
    from jupyter_core.paths import jupyter_config_path, jupyter_runtime_dir

    here = Path(__file__).resolve().parent
    yield Finding("ok", "hm-jupyter", f"{__version__} in {here}, Python {platform.python_version()}")
    yield _bundle(here / "static")
    yield _kernel()
    yield _server(jupyter_config_path())
    yield _runtime(Path(jupyter_runtime_dir()) / "hm_jupyter")
    yield _program("hm", 'only for hm.connect("hm"); the built-in agent needs nothing')
    yield _agents()


def main() -> int:
    """Prints the findings; 1 when something is broken, else 0 (a note is not a fault)."""
    broken = False
    for finding in findings():
        print(f"{finding.level:<5} {finding.what:<17} {finding.how}")
        if finding.todo:
            print(f"{'':<24}-> {finding.todo}")
        broken = broken or finding.level == "bad"
    return 1 if broken else 0
