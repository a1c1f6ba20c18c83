"""One command, run for real: in a session of its own under a watchdog, its output read as it comes.

Uses the watchdog of the agents (:mod:`hm_jupyter.transports.child`), so nothing of a command outlives us, and what it
leaves in the background ends when it ends. One pipe takes both streams, so their order is kept; there is no terminal
behind it. Works on the asyncio loop it is started on, with callbacks.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anyio

from ..errors import HmError
from ..transports.child import Child, require_posix
from ..transports.program import Program, exec_error
from ..transports.watchdog import KILL_WAIT
from .output import Output
from .refused import Refused

GRACE = 1.0
"""Seconds a command has after SIGTERM before SIGKILL."""

START_WAIT = 30.0
"""Seconds within which the watchdog must have started it. It takes 0.03; a machine may be busy."""

READ = 64 * 1024
"""Bytes taken at a time."""

PAUSE = 0.002
"""Seconds after a full read in which the loop is the others'. A command that writes for ever gets 30 MB/s."""

SHOW_EVERY = 0.05
"""Seconds between two pieces of output that are shown."""


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit ``code``, or the name of the ``signal`` that ended it; neither: nobody knows."""

    code: int | None = None
    signal: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {"code": self.code, "signal": self.signal}


class Process:
    """A command that runs, or ran. ``ended`` is None while it runs."""

    def __init__(self, limit: int) -> None:
        self.output = Output(limit)
        self.ended: Ended | None = None
        self.stopped = False
        """Was it told to end?"""
        self._child: Child | None = None
        self._code: int | None = None
        self._told = b""
        self._show: Callable[[str], object] | None = None
        self._showing: asyncio.TimerHandle | None = None
        self._resuming: asyncio.TimerHandle | None = None
        self._over = asyncio.Event()

    async def start(self, program: Program) -> None:
        """Start it; its output is read from :meth:`follow` on. Raises :class:`Refused` where it cannot be started."""
        self._loop = loop = asyncio.get_running_loop()
        self._started: asyncio.Future[str] = loop.create_future()
        try:
            require_posix()
            child = self._child = Child(program, GRACE, merged=True)
        except HmError as error:
            raise Refused("failed", str(error)) from None
        child.close_stdin()
        loop.add_reader(child.control, self._on_control)
        try:
            verdict = await asyncio.wait_for(self._started, START_WAIT)
        except asyncio.TimeoutError:
            verdict = "silent"
        except asyncio.CancelledError:
            self.stop()
            raise
        if verdict:
            await self.close()
            if verdict.isdigit():
                raise Refused("failed", str(exec_error(program, int(verdict))))
            raise Refused("failed", f"{program.path!r} could not be started, and why is not known. Try again.")

    def follow(self, show: Callable[[str], object]) -> None:
        """Read its output, and call ``show`` with what is new, some times a second, for the last time before it ends."""
        self._show = show
        if self.ended is not None:  # it was quick
            self._on_show()
        elif self._child is not None:
            self._loop.add_reader(self._child.stdout, self._on_output)

    async def wait(self) -> Ended:
        """Wait for the end, when nothing of it runs any more and all of its output has been read."""
        await self._over.wait()
        assert self.ended is not None
        return self.ended

    def stop(self) -> None:
        """Have it end: SIGTERM to all of it, SIGKILL ``GRACE`` later. Does not wait."""
        if self._child is not None and self.ended is None:
            self.stopped = True
            self._child.hurry()

    async def close(self) -> None:
        """:meth:`stop`, and wait until it is gone: for certain, in bounded time."""
        child = self._child
        if child is None or self.ended is not None:
            return
        self.stop()
        with anyio.CancelScope(shield=True):
            with anyio.move_on_after(GRACE + KILL_WAIT + 1.0):
                await self._over.wait()
            if self.ended is None:
                child.kill()
                self._finish()
            with anyio.move_on_after(1.0):
                while not child.ended():
                    await asyncio.sleep(0.002)

    # ---- callbacks -------------------------------------------------------------------------------------------------

    def _on_control(self) -> None:
        child = self._child
        assert child is not None
        try:
            data = os.read(child.control, 4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        *lines, self._told = (self._told + data).split(b"\n")
        for line in lines:
            word, _, number = line.decode("ascii", "replace").partition(" ")
            if word == "exit":
                self._code = int(number)
                continue
            if word == "started":
                child.agent_pid = int(number)
            if not self._started.done():
                self._started.set_result(number if word == "failed" else "")
        if not data:  # nothing is left (or the watchdog was killed, and Linux has killed the command with it)
            if self._code is None:
                child.kill()
            if not self._started.done():
                self._started.set_result("silent")
            self._finish()

    def _on_output(self) -> None:
        child = self._child
        assert child is not None
        size = self._take(child)
        if size <= 0:
            if size == 0:
                self._loop.remove_reader(child.stdout)
            return
        if self._showing is None:
            self._showing = self._loop.call_later(SHOW_EVERY, self._on_show)
        if size == READ:
            self._loop.remove_reader(child.stdout)
            self._resuming = self._loop.call_later(PAUSE, self._on_resume)

    def _take(self, child: Child) -> int:
        """Read once; how many bytes there were (0: the end, -1: nothing just now)."""
        try:
            data = os.read(child.stdout, READ)
        except BlockingIOError:
            return -1
        self.output.feed(data)
        return len(data)

    def _on_resume(self) -> None:
        self._resuming = None
        if self._child is not None and self.ended is None:
            self._loop.add_reader(self._child.stdout, self._on_output)

    def _on_show(self) -> None:
        self._showing = None
        if self._show is not None and (text := self.output.fresh()):
            self._show(text)

    def _finish(self) -> None:
        child = self._child
        if child is None or self.ended is not None:
            return
        for timer in (self._showing, self._resuming):
            if timer is not None:
                timer.cancel()
        for fd in child.fds():
            self._loop.remove_reader(fd)
        for _ in range(64):  # what is still in the pipe; bounded, in case somebody who got away writes on
            if self._take(child) <= 0:
                break
        self.output.feed(b"", final=True)
        child.release()
        self.ended = _how(self._code)
        self._reap(child, 500)
        try:
            self._on_show()
        finally:
            self._over.set()

    def _reap(self, child: Child, tries: int) -> None:
        """The watchdog ends a moment after its last word; until somebody asks, it stays as a zombie."""
        if not child.ended() and tries:
            self._loop.call_later(0.002, self._reap, child, tries - 1)


def _how(code: int | None) -> Ended:
    if code is None:
        return Ended()
    if code >= 0:
        return Ended(code)
    try:
        return Ended(None, signal.Signals(-code).name)
    except ValueError:
        return Ended(None, f"SIG{-code}")
