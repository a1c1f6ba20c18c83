"""A program of ours or the system's that does one thing for a tool, in a process of its own: bounded in time and size.

What hostile text can make slow (a regular expression, a page's HTML) runs there, so that it can be stopped.
"""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from .base import ToolError
from .process import Process

WORKER = str(Path(__file__).parent / "worker")
"""Our own program: its first argument names what to do, the second is JSON."""


@dataclass(slots=True)
class Output:
    """What a helper wrote: as much as was wanted of it, whether it was ``cut`` there or by ``late``, its exit code."""

    text: str
    cut: bool
    late: bool
    code: int


async def ask(command: list[str], cwd: str, *, seconds: float, characters: int) -> Output:
    """Run ``command`` and read what it writes, at most so long and so much. Raises :class:`ToolError`."""
    env = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8"}
    try:
        process = Process(command, cwd, env, quiet=True)
    except OSError as error:
        raise ToolError(f"{command[0]} could not be started: {error.strerror or error}") from None
    parts: list[str] = []
    size = 0
    enough = asyncio.Event()

    async def take(text: str) -> None:
        nonlocal size
        parts.append(text[: max(0, characters - size)])
        size += len(text)
        if size > characters:
            enough.set()

    reading = asyncio.ensure_future(process.read(take))
    stopping = asyncio.ensure_future(enough.wait())
    try:
        await asyncio.wait({reading, stopping}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        late = not reading.done() and not enough.is_set()
        if reading.done():
            await process.exited()
        else:
            await process.end()
    except asyncio.CancelledError:
        await asyncio.shield(process.end())
        raise
    finally:
        for task in (reading, stopping):
            task.cancel()
        await asyncio.wait({reading, stopping})
        process.close()
    return Output("".join(parts), enough.is_set(), late, process.code)


def worker(what: str, argument: str) -> list[str]:
    """The command line of our own program."""
    return [sys.executable, WORKER, what, argument]
