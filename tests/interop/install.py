"""Installs the third-party peers of ``peers.toml``, each into a folder of its own under the cache folder.

``python -m tests.interop.install [NAME …]`` installs the named ones, or all that are not optional. Safe to run again:
what is there at the wanted version is left as it is. A peer that cannot be had (no runtime, no network) is a row that
says so, never an exception. Knows no agent's protocol and no registry: npm's and pip's own configuration do.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib  # noqa: TID251 — with its fallback
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
STAMP = "installed.json"
PATIENCE = 1500.0  # seconds one package manager may take; some of these are half a gigabyte


def cache() -> Path:
    """Where the peers are: ``$HM_INTEROP`` or a folder of the user's cache; never inside the repository."""
    given = os.environ.get("HM_INTEROP")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(given).expanduser().resolve() if given else base / "hm_jupyter-interop"


def specs() -> dict[str, dict[str, Any]]:
    """``peers.toml``, by name and in its order."""
    return tomllib.loads((HERE / "peers.toml").read_text())


@dataclass
class Installed:
    """A peer that is there, or (``why``) the reason it is not. ``size`` in bytes, ``seconds`` the install took."""

    name: str
    folder: Path
    why: str = ""
    size: int = 0
    seconds: float = 0.0
    fresh: bool = False

    @property
    def line(self) -> str:
        if self.why:
            return f"{self.name:<18} not available: {self.why}"
        how = f"installed in {self.seconds:.0f} s" if self.fresh else "there"
        return f"{self.name:<18} {self.size / 1e6:6.0f} MB  {how}"


def look(name: str) -> Installed:
    """What is there of that peer, installing nothing."""
    spec, folder = specs()[name], cache() / name
    stamp = _stamp(folder)
    if stamp.get("spec") == _digest(spec):
        return Installed(name, folder, size=stamp["size"], seconds=stamp["seconds"])
    return Installed(name, folder, "not installed: run `make interop` with network access to npm and PyPI")


def install(name: str) -> Installed:
    """That peer, installed unless it is there already."""
    spec, folder = specs()[name], cache() / name
    there = look(name)
    if not there.why:
        return there
    started = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        if spec.get("npm"):
            _npm(folder, spec)
        if spec.get("pip"):
            _pip(folder, spec)
    except _Failed as error:
        shutil.rmtree(folder, ignore_errors=True)
        return Installed(name, folder, str(error))
    seconds, size = time.monotonic() - started, _size(folder)
    stamp = {"spec": _digest(spec), "seconds": round(seconds, 1), "size": size}
    (folder / STAMP).write_text(json.dumps(stamp))
    return Installed(name, folder, size=size, seconds=seconds, fresh=True)


def node(major: int = 20) -> str | None:
    """A Node of at least that major version: on PATH, or the installed peer ``node22``."""
    found = [shutil.which("node"), str(cache() / "node22" / "node_modules" / "node" / "bin" / "node")]
    return next((path for path in found if path and _node_version(path) >= major), None)


def python(oldest: str) -> str | None:
    """A Python of at least that version: this one, on PATH, or under pyenv."""
    want = tuple(int(part) for part in oldest.split("."))
    names = [f"python3.{minor}" for minor in range(10, 15)]
    pyenv = sorted((Path.home() / ".pyenv" / "versions").glob("3.*/bin/python3"))
    for path in [sys.executable, *filter(None, map(shutil.which, names)), *map(str, pyenv)]:
        if _python_version(path) >= want:
            return path
    return None


class _Failed(Exception):
    """The reason for people."""


def _npm(folder: Path, spec: dict[str, Any]) -> None:
    npm = shutil.which("npm")
    if npm is None or node() is None:
        raise _Failed("no npm with Node 20 or newer on PATH")
    (folder / "package.json").write_text('{"private": true}')
    quiet = ["--no-audit", "--no-fund", "--loglevel=error", "--save-exact"]
    scripts = [] if spec.get("scripts") else ["--ignore-scripts"]
    lean = ["--omit=optional"] if spec.get("lean") else []
    _run([npm, "install", *quiet, *scripts, *lean, *spec["npm"]], folder)
    if spec.get("node", 0) > 20 and node(spec["node"]) is None:
        raise _Failed(f"it needs Node {spec['node']}: neither on PATH nor as the peer node22")


def _pip(folder: Path, spec: dict[str, Any]) -> None:
    interpreter = python(spec["python"])
    if interpreter is None:
        raise _Failed(f"it needs Python {spec['python']} or newer, and this machine has none")
    _run([interpreter, "-m", "venv", str(folder / "venv")], folder)
    pip = [str(folder / "venv" / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet"]
    _run([*pip, "install", *spec["pip"]], folder)
    if spec.get("sdist"):
        _run([*pip, "download", "--no-deps", "--no-binary", ":all:", "--dest", str(folder), spec["sdist"]], folder)
        for archive in folder.glob("*.tar.gz"):
            with tarfile.open(archive) as tar:
                members = [m for m in tar if m.isfile() and "/examples/" in m.name and ".." not in m.name]
                tar.extractall(folder / "sdist", members)
            archive.unlink()


def _run(argv: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, errors="replace")
    except subprocess.TimeoutExpired:
        raise _Failed(f"`{Path(argv[0]).name} {argv[1]}` took longer than {PATIENCE:.0f} s") from None
    if done.returncode:
        last = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        reason = next((line for line in last if re.search(r"err|no matching|could not", line, re.I)), "no reason given")
        raise _Failed(f"`{' '.join([Path(argv[0]).name, *argv[1:3]])}` failed: {reason.strip()[:160]}")


def _digest(spec: dict[str, Any]) -> str:
    wanted = {key: spec.get(key) for key in ("npm", "pip", "sdist", "python", "node", "scripts")}
    if spec.get("lean"):  # later than the rest, which is not installed anew for it
        wanted["lean"] = True
    return hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()[:16]


def _stamp(folder: Path) -> dict[str, Any]:
    try:
        return json.loads((folder / STAMP).read_text())
    except (OSError, ValueError):
        return {}


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() or path.is_symlink())


@functools.cache
def _node_version(path: str) -> int:
    match = re.match(r"v(\d+)\.", _said([path, "--version"]))
    return int(match.group(1)) if match else 0


@functools.cache
def _python_version(path: str) -> tuple[int, ...]:
    said = _said([path, "-c", "import sys, venv, ensurepip; print(*sys.version_info[:2])"])
    return tuple(int(part) for part in said.split()) if re.fullmatch(r"\d+ \d+\s*", said) else (0,)


def _said(argv: list[str]) -> str:
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in specs()]
    if unknown:
        print(f"No such peer: {', '.join(unknown)}. Known: {', '.join(specs())}.", file=sys.stderr)
        return 2
    for name, spec in specs().items():
        if name in names or (not names and not spec.get("optional")):
            print(install(name).line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
