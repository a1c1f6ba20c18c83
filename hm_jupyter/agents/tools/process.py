"""A command in a process group of its own: started, read as it writes, waited for, ended for certain.

Not asyncio's subprocess: in several Python versions its ``wait`` lasts until every grandchild has let go of the pipe,
and its child watcher may be a thread.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import secrets
import signal
import subprocess
from collections.abc import Awaitable, Callable

from . import strays
from .lifeline import LIFELINE

_GRACE = 0.5
"""Seconds between asking a group to end and ending it."""

_running: dict[int, str] = {}
"""What runs now: sub-agents have commands of their own."""


class Process:
    """One running command: a shell's line, or a program with its arguments. Unless ``quiet`` (then nobody reads its
    errors) its stdout and stderr are one stream. ``mark`` tells what gets away from it from what others left."""

    def __init__(self, command: str | list[str], cwd: str, env: dict[str, str], *, quiet: bool = False) -> None:
        strays.adopt()
        self.mark = secrets.token_hex(8)
        self._popen = subprocess.Popen(
            ["/bin/sh", "-c", command] if isinstance(command, str) else command,
            cwd=cwd,
            env={**env, strays.VARIABLE: self.mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if quiet else subprocess.STDOUT,
            start_new_session=True,
        )
        LIFELINE.watch(self._popen.pid)
        _running[self._popen.pid] = self.mark

    def _others(self) -> tuple[set[int], set[str]]:
        """What runs besides: its processes, and the marks of what got away from these."""
        others = {pid: mark for pid, mark in _running.items() if pid != self._popen.pid}
        return LIFELINE.pids | set(others), set(others.values())

    @property
    def code(self) -> int:
        """The exit code; negative: ended by that signal."""
        code = self._popen.poll()
        return -1 if code is None else code

    async def read(self, output: Callable[[str], Awaitable[None]]) -> None:
        """Hand on what it writes, until everybody in the group has let go of the pipe."""
        assert self._popen.stdout is not None
        fd = self._popen.stdout.fileno()
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while True:
            await _readable(fd)
            data = os.read(fd, 65536)
            text = decoder.decode(data, not data)
            if text:
                await output(text)
            if not data:
                return

    async def exited(self) -> None:
        """Wait until the command itself has ended, whatever it left behind."""
        try:
            fd = os.pidfd_open(self._popen.pid)  # type: ignore[attr-defined,unused-ignore]  # Linux only
        except (AttributeError, OSError):
            delay = 0.002
            while self._popen.poll() is None:
                await asyncio.sleep(delay)
                delay = min(delay * 2, 0.05)
            return
        try:
            await _readable(fd)
        finally:
            os.close(fd)
        self._popen.wait()

    def kill_group(self) -> bool:
        """End whatever is left of the group and of what got away from it; False when nothing was.

        Called when the command itself has ended.
        """
        left = self._signal(signal.SIGKILL)
        return strays.end(*self._others()) or left

    async def end(self) -> None:
        """Ask all of it to end, then end it."""
        self._signal(signal.SIGTERM)
        keep, marks = self._others()
        strays.ask({*keep, self._popen.pid}, marks)
        with contextlib.suppress(asyncio.TimeoutError):  # 3.10: not the builtin TimeoutError
            await asyncio.wait_for(self.exited(), _GRACE)
        self._signal(signal.SIGKILL)
        await self.exited()
        strays.end(*self._others())

    def close(self) -> None:
        """Forget it. Its group is gone by now."""
        LIFELINE.forget(self._popen.pid)
        _running.pop(self._popen.pid, None)
        if self._popen.stdout is not None:
            self._popen.stdout.close()

    def _signal(self, number: int) -> bool:
        try:
            os.killpg(self._popen.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True


async def _readable(fd: int) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(fd, wake)
    try:
        await ready
    finally:
        loop.remove_reader(fd)
