"""What of the catalog is on this machine: where its program is, and which version, as far as files tell.

It starts no program: asking an agent for its version can take ten seconds.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .catalog import Agent, Catalog

_PINNED = re.compile(r"(?:npm install (?:-g )?|pip install )'?(?P<name>@?[\w./-]+?)(?:@|==|<)(?P<version>[\w.]+)")


@dataclass(frozen=True)
class Found:
    """An agent of the catalog. ``path`` is "" when its program is not on PATH (a remote one has none);
    ``version`` "" when it cannot be told cheaply; ``variables`` are those it needs that are set."""

    name: str
    agent: Agent
    path: str = ""
    version: str = ""
    variables: tuple[str, ...] = ()

    @property
    def here(self) -> bool:
        """Can it be connected to from here, as far as one can see?"""
        return bool(self.path or self.agent.url)


def look(known: Catalog) -> Iterator[Found]:
    """Every agent of the catalog, those that are here first."""
    every = [_look(name, agent) for name, agent in known.agents.items()]
    yield from sorted(every, key=lambda found: not found.here)


def _look(name: str, agent: Agent) -> Found:
    path = (shutil.which(agent.command[0]) or "") if agent.command else ""
    variables = tuple(v for v in agent.variables if os.environ.get(v))
    return Found(name, agent, path, _version(Path(path), agent.install) if path else "", variables)


def _version(program: Path, install: str) -> str:
    """The version of the package that brought ``program``: npm's package.json, or the metadata of pip's environment."""
    match = _PINNED.search(install)
    if match is None:
        return ""
    try:
        real = program.resolve()
        for folder in list(real.parents)[:6]:
            manifest = folder / "package.json"
            if manifest.is_file():
                data = json.loads(manifest.read_text("utf-8"))
                if isinstance(data, dict) and data.get("name") == match["name"]:
                    return str(data.get("version", ""))
        wheel = re.sub(r"[-_.]+", "_", match["name"]).lower()
        for metadata in program.parent.parent.glob(f"lib/python*/site-packages/{wheel}-*.dist-info"):
            return metadata.name.removesuffix(".dist-info").partition("-")[2]
    except (OSError, ValueError):  # a file that is not what it seems: then the version is not told
        return ""
    return ""
