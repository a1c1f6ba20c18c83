"""The terminals of one session, by id: commands that run or ran, until the agent lets go of them.

Knows neither who may run what nor who is shown it.
"""

from __future__ import annotations

import asyncio
from typing import Any

from .command import Command
from .process import Ended, Process
from .refused import Refused

MOST = 64
"""Terminals an agent may hold at once."""


class Terminals:
    """See the module."""

    def __init__(self) -> None:
        self._held: dict[str, Process | None] = {}  # None: about to be started
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False

    async def create(self, terminal_id: str, command: Command) -> Process:
        """Start ``command`` as ``terminal_id``. Raises :class:`Refused`."""
        if terminal_id in self._held:
            raise Refused("invalid", f"There is a terminal {terminal_id!r} already.")
        if len(self._held) >= MOST:
            raise Refused("failed", f"{MOST} terminals are open: release some that are done with.")
        self._refuse_when_closed()
        process = Process(command.limit)
        self._held[terminal_id] = None
        try:
            await process.start(command.program())
        except BaseException:
            del self._held[terminal_id]
            raise
        self._held[terminal_id] = process
        if self._closed:  # meanwhile
            self.release(terminal_id)
            self._refuse_when_closed()
        return process

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise Refused("cancelled", "The session is being closed.")

    def get(self, terminal_id: str) -> Process:
        """A terminal. Raises :class:`Refused` for one that was never made or was released."""
        process = self._held.get(terminal_id)
        if process is None:
            raise Refused("not_found", f"There is no terminal {terminal_id!r}: it was released, or never made.")
        return process

    def output(self, terminal_id: str) -> dict[str, Any]:
        """What it wrote (the end of it), whether that is not all, and how it ended (None while it runs)."""
        process = self.get(terminal_id)
        text, truncated = process.output.kept()
        return {
            "output": text,
            "truncated": truncated,
            "exit": None if process.ended is None else process.ended.to_json(),
        }

    async def wait(self, terminal_id: str) -> Ended:
        """Wait for the command's end."""
        return await self.get(terminal_id).wait()

    def kill(self, terminal_id: str) -> None:
        """Have the command end; what it wrote stays to be asked for."""
        self.get(terminal_id).stop()

    def release(self, terminal_id: str) -> None:
        """Have the command end, and forget the terminal."""
        process = self.get(terminal_id)
        del self._held[terminal_id]
        if process.ended is None:
            task = asyncio.get_running_loop().create_task(process.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    def stop(self) -> None:
        """Have all of them end; no other is started from here on. Does not wait."""
        self._closed = True
        for terminal_id in [name for name, process in self._held.items() if process is not None]:
            self.release(terminal_id)

    async def close(self) -> None:
        """:meth:`stop`, and wait until nothing of them is left (bounded, see :meth:`.process.Process.close`)."""
        self.stop()
        while self._closing:
            await asyncio.wait(list(self._closing))
