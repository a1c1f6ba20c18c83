"""A command in a process group of its own: started, read as it writes, waited for, ended for certain.

Not asyncio's subprocess: in several Python versions its ``wait`` lasts until every grandchild has let go of the pipe,
and its child watcher may be a thread.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable

from . import strays
from .lifeline import LIFELINE

_GRACE = 0.5
"""Seconds between asking a group to end and ending it."""


class Process:
    """One running command; its stdout and stderr are one stream."""

    def __init__(self, command: str, cwd: str, env: dict[str, str]) -> None:
        strays.adopt()
        self._popen = subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        LIFELINE.watch(self._popen.pid)

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
        return strays.end(LIFELINE.pids) or left

    async def end(self) -> None:
        """Ask all of it to end, then end it."""
        self._signal(signal.SIGTERM)
        strays.ask({*LIFELINE.pids, self._popen.pid})
        with contextlib.suppress(asyncio.TimeoutError):  # 3.10: not the builtin TimeoutError
            await asyncio.wait_for(self.exited(), _GRACE)
        self._signal(signal.SIGKILL)
        await self.exited()
        strays.end(LIFELINE.pids)

    def close(self) -> None:
        """Forget it. Its group is gone by now."""
        LIFELINE.forget(self._popen.pid)
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
