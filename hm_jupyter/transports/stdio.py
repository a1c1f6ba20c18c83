"""An agent as a local process: JSON lines over its stdin and stdout.

Knows no protocol. How the process is started and brought to its end is :mod:`.child` and :mod:`.watchdog`; what a line
is, :mod:`.lines`. Works on the asyncio loop it is opened on, with callbacks and no task or thread of its own, so it
needs no task group, and a flood on one stream never stops another.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import anyio

from ..errors import AgentGone, TransportError, UsageError
from .base import Exit, Received, Transport
from .child import Child, require_posix
from .lines import MAX_LINE, LineDecoder, encode
from .program import exec_error, find_program
from .ring import Ring
from .watchdog import KILL_WAIT

GRACE = 2.0
"""Default seconds an agent has on each of the first two rungs of the ladder."""

READ = 24 * 1024
"""Bytes asked for at a time, less than half of what a pipe of Linux holds. Fewer messages are alive at once then, and
Python's garbage collector has less to walk over: 20,000 small messages of hm RPC cost 0.06 s instead of 0.08, and of ACP,
whose messages are four objects deep, 0.10 s instead of 0.13 with 32 KiB (which is enough for a whole collection)."""

PAUSE, SMALL = 0.004, 16 * 1024
"""After a read of fewer than ``SMALL`` bytes the next one comes ``PAUSE`` seconds later at the earliest. An agent that
flushes each token, 10,000 a second, would else cost 50 us of CPU for each (measured: 1.0 s against 0.06 s for 20,000).
The first line after a rest is never late."""

KEEP = 4 * 1024 * 1024
"""Bytes kept of what an agent still says while it is closed and its reader is busy elsewhere."""

START_WAIT = 30.0
"""Seconds within which the watchdog must have started the agent. It takes 0.03; a machine may be busy."""


class StdioTransport(Transport):
    """Runs ``argv`` and talks JSON lines with it.

    ``cwd``: its working folder; ``env``: laid over the inherited environment (``None`` removes a variable);
    ``max_line``: cap of one line in bytes; ``grace``: seconds it has to end after its stdin closed, and again after
    SIGTERM; ``glued``: others write to its stdout too (:class:`~hm_jupyter.transports.lines.LineDecoder`).
    """

    def __init__(
        self,
        argv: Sequence[str | os.PathLike[str]],
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str | None] | None = None,
        *,
        max_line: int = MAX_LINE,
        grace: float = GRACE,
        glued: bool = False,
    ) -> None:
        self._command = (argv, cwd, env)
        self._grace = grace
        self._decoder = LineDecoder(max_line, glued=glued)
        self._ring = Ring()
        self._child: Child | None = None
        self._told = b""  # of the control socket, the unfinished line
        self._code: int | None = None
        self._out: deque[_Line] = deque()
        self._input_ended = False
        self._receivers = 0  # iterators of receive() that are not finished
        self._reading = False  # … one of them waits for something to read
        self._collecting = False  # closing reads instead of them, into _tail
        self._tail = bytearray()
        self._not_before = 0.0  # (the loop's clock) for the next read
        self._stdout_ready: asyncio.Future[None] | None = None
        self._closing: asyncio.Task[Exit] | None = None

    @property
    def stderr(self) -> str:
        """The last lines of its stderr (at most 200 lines, 64 KiB)."""
        return self._ring.text()

    @property
    def pid(self) -> int | None:
        """The agent's process id, or None before it was started."""
        return (self._child.agent_pid or None) if self._child else None

    @property
    def _name(self) -> str:
        return PurePath(self._command[0][0]).name

    async def open(self) -> None:
        """Start the program. Raises ``UsageError``, ``AgentNotFound`` or ``TransportError``."""
        if self._child is not None or self._closing is not None:
            raise UsageError("This transport was opened before; make a new one.")
        require_posix()
        program = find_program(*self._command)
        self._loop = loop = asyncio.get_running_loop()
        self._exited = asyncio.Event()  # the agent has ended, whatever it left running
        self._gone = asyncio.Event()  # nothing is left (or nobody watches any more)
        self._released = asyncio.Event()  # closed, the descriptors too
        started: asyncio.Future[str] = loop.create_future()
        self._started = started
        child = self._child = Child(program, self._grace)
        loop.add_reader(child.control, self._on_control)
        loop.add_reader(child.stderr, self._on_stderr)
        try:
            verdict = await asyncio.wait_for(started, START_WAIT)
        except asyncio.TimeoutError:
            await self.close()
            raise TransportError(f"{self._name} could not be started within {START_WAIT:.0f} s. Try again.") from None
        except asyncio.CancelledError:
            await self.close()
            raise
        if verdict == "":
            return
        end = await self.close()
        if verdict.isdigit():
            raise exec_error(program, int(verdict))
        raise TransportError(f"The watchdog of {self._name} ended before it started anything. It said: {end.stderr}")

    # ---- from the agent --------------------------------------------------------------------------------------------

    async def receive(self) -> AsyncIterator[list[Received]]:
        """Batches of what the agent wrote, one per read; ends when the agent has ended or closed its stdout."""
        child = self._opened()
        self._receivers += 1
        try:
            while True:
                self._reading = True
                try:
                    data = await self._read(child)
                finally:
                    self._reading = False
                if not data:
                    break
                if batch := self._decoder.feed(data):
                    yield batch
            with anyio.move_on_after(0.2):  # its streams close a moment before it is dead; then senders get told
                await self._exited.wait()
            if batch := self._decoder.end():
                yield batch
        finally:
            self._receivers -= 1

    async def _read(self, child: Child) -> bytes:
        """The next bytes of stdout; b"" at its end.

        It always goes through the loop, so that a flood leaves the others their turn. Once the agent is dead its stdout
        may be held open by a process it left behind, so then what is there is all there is.
        """
        if self._collecting:
            await self._released.wait()
        pause = self._not_before - self._loop.time()
        if pause > 0:
            await asyncio.sleep(pause)
        while child.stdout >= 0:
            ended = self._exited.is_set()
            if pause > 0:  # very likely there is something: try at once
                pause = 0.0
            elif ended:
                await asyncio.sleep(0)
            else:
                await self._readable(child)
            if child.stdout < 0:
                break
            try:
                data = os.read(child.stdout, READ)
            except BlockingIOError:
                if ended:
                    return b""
                continue
            self._not_before = self._loop.time() + PAUSE if len(data) < SMALL else 0.0
            return data
        tail, self._tail = bytes(self._tail), bytearray()
        return tail

    async def _readable(self, child: Child) -> None:
        ready = self._stdout_ready = self._loop.create_future()
        self._loop.add_reader(child.stdout, _set, ready)
        try:
            await ready
        finally:
            self._stdout_ready = None
            if child.stdout >= 0:  # else closed meanwhile, and its number may be another's
                self._loop.remove_reader(child.stdout)

    def _wake_reader(self) -> None:
        if self._stdout_ready is not None:
            _set(self._stdout_ready)

    def _on_stderr(self) -> None:
        self._drain("stderr", self._ring.append)

    def _on_unread(self) -> None:
        self._drain("stdout", self._keep)

    def _keep(self, data: bytes) -> None:
        if self._receivers and len(self._tail) < KEEP:
            self._tail += data

    def _drain(self, stream: str, take: Callable[[bytes], None]) -> bool:
        """Take one portion of a stream; is there perhaps more?"""
        child = self._opened()
        fd: int = getattr(child, stream)
        try:
            data = os.read(fd, READ)
        except BlockingIOError:
            return False
        if data:
            take(data)
        else:
            self._loop.remove_reader(fd)
        return bool(data)

    def _drain_all(self, stream: str, take: Callable[[bytes], None]) -> None:
        """Take what is there; bounded, in case somebody who got away still writes."""
        for _ in range(64):
            if not self._drain(stream, take):
                break

    # ---- from the watchdog -----------------------------------------------------------------------------------------

    def _on_control(self) -> None:
        child = self._opened()
        try:
            data = os.read(child.control, 4096)
        except BlockingIOError:
            return
        except OSError:  # it was killed with a word of ours unread
            data = b""
        *lines, self._told = (self._told + data).split(b"\n")
        for line in lines:
            word, _, number = line.decode("ascii", "replace").partition(" ")
            if word == "exit":
                self._code = int(number)
                self._on_exit()
            else:
                if word == "started":
                    child.agent_pid = int(number)
                if not self._started.done():
                    self._started.set_result(number if word == "failed" else "")
        if not data:
            self._loop.remove_reader(child.control)
            if not self._exited.is_set():  # the watchdog was killed; Linux has killed the agent with it
                child.kill()
                self._on_exit()
            if not self._started.done():
                self._started.set_result("silent")
            child.ended()
            self._gone.set()

    def _on_exit(self) -> None:
        self._exited.set()
        self._wake_reader()
        self._refuse()

    # ---- to the agent ----------------------------------------------------------------------------------------------

    async def send(self, value: Any) -> None:
        """Write one JSON value, in the order of the calls; returns when the pipe has taken it.

        A call that is cancelled takes its line back if not a byte of it was written, else the line is still finished.
        Raises ``AgentGone`` when the agent reads no more, ``ValueError`` or ``TypeError`` for what is not JSON.
        """
        line = _Line(encode(value), asyncio.get_running_loop().create_future())
        child = self._opened()
        if child.stdin < 0 or self._input_ended or self._exited.is_set():
            raise await self._gone_error()
        self._out.append(line)
        if len(self._out) == 1:
            self._on_writable()
        try:
            await line.done
        except asyncio.CancelledError:
            if line.untouched and line in self._out:
                self._out.remove(line)
            raise
        except BrokenPipeError:
            raise await self._gone_error() from None

    def _on_writable(self) -> None:
        """Write what the pipe takes."""
        child = self._opened()
        try:
            while self._out:
                line = self._out[0]
                written = os.write(child.stdin, line.rest)
                line.untouched = False
                line.rest = line.rest[written:]
                if not line.rest:
                    self._out.popleft()
                    _set(line.done)
        except BlockingIOError:
            self._loop.add_writer(child.stdin, self._on_writable)
            return
        except OSError:
            self._refuse()
            return
        self._loop.remove_writer(child.stdin)
        if self._input_ended:
            child.close_stdin()

    def _refuse(self) -> None:
        """Nobody reads any more: what waits to be written never will be."""
        child = self._opened()
        if child.stdin >= 0:
            self._loop.remove_writer(child.stdin)
            child.close_stdin()
        while self._out:
            line = self._out.popleft()
            if not line.done.done():
                line.done.set_exception(BrokenPipeError())

    async def _gone_error(self) -> AgentGone:
        """What to raise; waits a moment for how it ended."""
        if self._input_ended and not self._exited.is_set():
            return AgentGone(f"The input of {self._name} was closed. Start a new session.", stderr=self.stderr)
        with anyio.move_on_after(0.5):
            await self._exited.wait()
        if not self._exited.is_set():
            return AgentGone(f"{self._name} has closed its input. Start a new session.", stderr=self.stderr)
        text = f"{self._name} has ended ({_how(self._code)}). Start a new session."
        return AgentGone(text, code=self._code, stderr=self.stderr)

    # ---- the end ---------------------------------------------------------------------------------------------------

    async def end_input(self) -> None:
        """Close its stdin, behind what is still to be written."""
        self._input_ended = True
        if self._child is not None and not self._out and self._child.stdin >= 0:
            self._loop.remove_writer(self._child.stdin)
            self._child.close_stdin()

    async def close(self) -> Exit:
        """The ladder (:mod:`.watchdog`): takes at most ``2 * grace + 4`` s, cancelled or not. A reader that still
        iterates gets the rest of what the agent wrote."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())
        cancelled: asyncio.CancelledError | None = None
        with anyio.CancelScope(shield=True):
            while not self._closing.done():
                try:
                    await asyncio.shield(self._closing)
                except asyncio.CancelledError as error:  # ours: carry on; the loop's, at its end: give up
                    cancelled = error
        if cancelled is not None:
            raise cancelled
        return self._closing.result()

    async def _close(self) -> Exit:
        child = self._child
        if child is None:
            return Exit()
        try:
            await self.end_input()
            child.ask_to_end()
            if not self._reading:  # it may have to write before it can end
                self._collecting = True
                self._loop.add_reader(child.stdout, self._on_unread)
            with anyio.move_on_after(2 * self._grace + KILL_WAIT + 1.0):
                await self._gone.wait()
            if not self._gone.is_set():
                child.kill()
            with anyio.move_on_after(1.0):
                while not child.ended():
                    await asyncio.sleep(0.002)
            self._drain_all("stderr", self._ring.append)
            self._drain_all("stdout", self._keep)
        finally:
            self._on_exit()
            self._gone.set()
            self._released.set()
            for fd in child.fds():
                self._loop.remove_reader(fd)
            child.release()
        return Exit(self._code, self.stderr)

    def _opened(self) -> Child:
        if self._child is None:
            raise UsageError("This transport is not open; call open() first.")
        return self._child


class _Line:
    """A line on its way out."""

    __slots__ = ("done", "rest", "untouched")

    def __init__(self, data: bytes, done: asyncio.Future[None]) -> None:
        self.rest = memoryview(data)
        self.done = done
        self.untouched = True


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _how(code: int | None) -> str:
    if code is None:
        return "how is not known"
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"
