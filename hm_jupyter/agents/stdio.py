"""The agent's end of the pipes: lines in, lines out, on one asyncio loop without threads.

Neither end is switched to non-blocking mode: that flag belongs to the open file, which a terminal or a parent may
share. Reads happen only when something is there, writes only in pieces that a writable pipe takes whole. Knows
nothing of the protocol but that a message is one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
from collections.abc import Callable
from typing import Any

MAX_LINE = 64 * 2**20
"""Longest line we read, in bytes."""

_PIECE = getattr(select, "PIPE_BUF", 512)
_HIGH = 256 * 1024


class LineReader:
    """Calls ``on_line`` with each line of a file descriptor (None for one too long), then ``on_end``."""

    def __init__(self, fd: int, on_line: Callable[[bytes | None], None], on_end: Callable[[], None]) -> None:
        self._fd = fd
        self._on_line = on_line
        self._on_end = on_end
        self._parts: list[bytes] = []
        self._size = 0
        self._too_long = False
        self._watching = False

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to read. A regular file or /dev/null cannot be watched, and need not be: it is always ready."""
        self._loop = loop
        try:
            loop.add_reader(self._fd, self._ready)
            self._watching = True
        except (OSError, ValueError):
            loop.call_soon(self._drain_file)

    def stop(self) -> None:
        if self._watching:
            self._watching = False
            self._loop.remove_reader(self._fd)

    def _ready(self) -> None:
        try:
            data = os.read(self._fd, 65536)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if data:
            self._feed(data)
        else:
            self.stop()
            self._end()

    def _drain_file(self) -> None:
        try:
            data = os.read(self._fd, 65536)
        except OSError:
            data = b""
        if data:
            self._feed(data)
            self._loop.call_soon(self._drain_file)
        else:
            self._end()

    def _feed(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._keep(line)
            self._finish_line()
        self._keep(rest)

    def _keep(self, piece: bytes) -> None:
        if self._too_long or not piece:
            return
        self._size += len(piece)
        if self._size > MAX_LINE:
            self._too_long = True
            self._parts.clear()
        else:
            self._parts.append(piece)

    def _finish_line(self) -> None:
        line = None if self._too_long else b"".join(self._parts)
        self._parts = []
        self._size = 0
        self._too_long = False
        self._on_line(line)

    def _end(self) -> None:
        if self._parts or self._too_long:
            self._finish_line()
        self._on_end()


class LineWriter:
    """Writes JSON values as lines, in order. ``send`` never waits; ``drained`` does while the reader is slow."""

    def __init__(self, fd: int, on_gone: Callable[[], None]) -> None:
        self._fd = fd
        self._on_gone = on_gone
        self._buffer = bytearray()
        self._scheduled = False
        self._watching = False
        self._waiters: list[asyncio.Future[None]] = []
        self.gone = False
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def send(self, value: Any) -> None:
        """Queue one JSON value. Pure ASCII, so that no reader's decoding can go wrong (lone surrogates included)."""
        if self.gone:
            return
        self._buffer += json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")
        self._buffer += b"\n"
        if not self._scheduled and not self._watching:
            self._scheduled = True
            self._loop.call_soon(self._flush)

    async def drained(self) -> None:
        """Wait while more than a quarter of a megabyte has not been read yet."""
        while len(self._buffer) > _HIGH and not self.gone:
            await self._wait()

    async def flushed(self) -> None:
        """Wait until all is written."""
        while self._buffer and not self.gone:
            await self._wait()

    async def _wait(self) -> None:
        waiter = self._loop.create_future()
        self._waiters.append(waiter)
        await waiter

    def _flush(self) -> None:
        self._scheduled = False
        sent = 0
        try:
            view = memoryview(self._buffer)
            while sent < len(view) and self._poll.poll(0):
                sent += os.write(self._fd, view[sent : sent + _PIECE])
        except BlockingIOError:
            pass
        except OSError:  # nobody reads any more
            self.gone = True
        finally:
            view.release()
        del self._buffer[:sent]
        if self.gone:
            self._buffer.clear()
        self._watch(bool(self._buffer))
        if len(self._buffer) <= _HIGH:
            waiters, self._waiters = self._waiters, []
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)
        if self.gone:
            self._on_gone()

    def _watch(self, wanted: bool) -> None:
        if wanted and not self._watching:
            try:
                self._loop.add_writer(self._fd, self._flush)
                self._watching = True
            except (OSError, ValueError):  # a regular file: always writable
                self._loop.call_soon(self._flush)
        elif not wanted and self._watching:
            self._watching = False
            self._loop.remove_writer(self._fd)


def _reject(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is too large")
    return value


def parse_line(line: bytes) -> Any:
    """The JSON value in a line. Raises ``ValueError`` (also for NaN, infinities, bad UTF-8 and absurd nesting)."""
    try:
        return json.loads(line.decode("utf-8"), parse_constant=_reject, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None
