"""Which files there are below a folder: what Git does not ignore where it can be asked, else all but the usual clutter."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import helper
from .base import ToolError

CLUTTER = {
    ".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", ".ipynb_checkpoints", ".mypy_cache", ".ruff_cache",
    ".pytest_cache", ".tox",
}  # fmt: skip
"""Folders nobody wants to see."""

MOST = 200_000
"""Most files that are looked at."""

SECONDS = 10.0
"""Longest look."""


@dataclass(slots=True)
class Listing:
    """Names relative to the folder, sorted; ``cut``: there are more than were looked at."""

    names: list[str] = field(default_factory=list)
    cut: bool = False


async def listing(top: Path, *, ignored: bool = False) -> Listing:
    """The files below ``top``; with ``ignored`` also those that Git ignores. Links to folders are not followed."""
    found = None if ignored else await _by_git(top)
    return found or await _by_walking(top)


async def _by_git(top: Path) -> Listing | None:
    """What Git knows or would add; None where it cannot say. Nothing a repository's settings name is run for it."""
    if shutil.which("git") is None or not _in_repository(top):
        return None
    command = [
        "git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "ls-files", "-z", "--cached", "--others",
        "--exclude-standard", "--deduplicate",
    ]  # fmt: skip
    try:
        output = await helper.ask(command, str(top), seconds=SECONDS, characters=40_000_000)
    except ToolError:
        return None
    if output.late or (output.code and not output.cut):
        return None
    names = [n for n in output.text.split("\0") if n and not CLUTTER & set(n.split("/")[:-1])]
    there = []
    for number, name in enumerate(names[:MOST]):  # it also names what was removed, and whole submodules
        if number % 500 == 0:
            await asyncio.sleep(0)
        path = os.path.join(top, name)
        if os.path.isfile(path) or os.path.islink(path):
            there.append(name)
    return Listing(_sorted(there), output.cut or len(names) > MOST)


def _in_repository(top: Path) -> bool:
    return any((folder / ".git").exists() for folder in (top, *top.parents))


async def _by_walking(top: Path) -> Listing:
    found: list[str] = []
    deadline = time.monotonic() + SECONDS
    for folder, folders, files in os.walk(top):
        await asyncio.sleep(0)  # a whole disk takes its time: be stopped meanwhile
        folders[:] = [f for f in folders if f not in CLUTTER]
        relative = os.path.relpath(folder, top)
        found += files if relative == "." else [f"{relative}/{f}" for f in files]
        if len(found) > MOST or time.monotonic() > deadline:
            return Listing(_sorted(found[:MOST]), True)
    return Listing(_sorted(found))


def _sorted(names: list[str]) -> list[str]:
    """A folder's files before its folders."""
    return sorted((n.replace(os.sep, "/") for n in names), key=lambda n: (n.count("/") > 0, n.split("/")))
