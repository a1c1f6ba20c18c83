"""A session's rows in a file: JSON lines, only ever added to, so that a crash costs at most the line being written.

A saved session's file belongs to one process at a time (a lock that the system drops when that process dies). One that
is not saved has a file without a name, gone with the process: it keeps memory flat all the same. Knows no session.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TAIL = 64 * 1024
"""Bytes at the end of a file that are looked through for its newest summary."""

PIECE = 256 * 1024
"""Bytes read at a time."""

PATIENCE = 0.3
"""Seconds to wait for a file that somebody has: whoever lists the sessions has each one for an instant."""


class Busy(Exception):
    """Another process writes that session."""


class Journal:
    """The rows of one session.

    Args:
        path: the file, made with the first row if it is not there; None: a nameless one.

    Raises:
        Busy: another process has it open.
        OSError: it cannot be opened.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._fd = -1
        self.unreadable = 0
        """Rows that could not be read; they stay in the file."""
        if path is not None and path.exists():
            self._open()

    @property
    def saved(self) -> bool:
        return self.path is not None

    def append(self, row: dict[str, Any]) -> None:
        """Add a row. It is with the system when this returns. Raises ``OSError``: the disk is full, or the like."""
        if self._fd < 0:
            self._open()
        data = json.dumps(row, separators=(",", ":")).encode("ascii") + b"\n"
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]

    def rows(self) -> Iterator[dict[str, Any]]:
        """All rows, oldest first."""
        self.unreadable = 0
        position, rest = 0, b""
        while self._fd >= 0:  # no second descriptor: a reader that is not done must not keep the lock
            piece = os.pread(self._fd, PIECE, position)
            if not piece:
                return
            position += len(piece)
            *lines, end = piece.split(b"\n")
            for line in lines:
                row = parsed(rest + line)
                rest = b""
                if row is None:
                    self.unreadable += 1
                else:
                    yield row
            rest += end

    def close(self) -> None:
        """Let go of the file. Harmless when repeated."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _open(self) -> None:
        if self.path is None:
            with tempfile.TemporaryFile(prefix="hm-session-") as file:
                self._fd = os.dup(file.fileno())
            return
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
        fd = os.open(self.path, flags, 0o600)
        try:
            lock(fd)
            repair(fd)
        except BlockingIOError:
            os.close(fd)
            raise Busy(str(self.path)) from None
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd


def lock(fd: int) -> None:
    """Have the file for oneself. Raises ``BlockingIOError``: somebody else has it."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.005)


def parsed(line: bytes) -> dict[str, Any] | None:
    """The row in a line, or None when there is none to read."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file that may be another process's: read as it is, neither locked nor repaired. Raises ``OSError``."""
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n") and (row := parsed(line)) is not None:
                yield row


def repair(fd: int) -> None:
    """Cut off an unfinished last line: its process died while it wrote."""
    end = os.lseek(fd, 0, os.SEEK_END)
    at = end
    while at > 0:
        begin = max(0, at - TAIL)
        piece = os.pread(fd, at - begin, begin)
        found = piece.rfind(b"\n")
        if found >= 0:
            at = begin + found + 1
            break
        at = begin
    if at < end:
        os.ftruncate(fd, at)


def peek(path: Path, wanted: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None, bool]:
    """The first row of a file, its newest row that has the key ``wanted``, and whether a process has it open.

    Looks at the ends of the file only, and at all of it where they do not have what is wanted. Raises ``OSError``.
    """
    mark = f'{{"{wanted}":'.encode("ascii")
    with open(path, "rb") as file:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.flock(file.fileno(), fcntl.LOCK_UN)
            busy = False
        except BlockingIOError:
            busy = True
        first = parsed(file.readline())
        size = file.seek(0, os.SEEK_END)
        for begin in (max(0, size - TAIL), 0):
            file.seek(begin)
            newest = None
            for line in file:
                if line.startswith(mark) and line.endswith(b"\n"):
                    newest = parsed(line) or newest
            if newest is not None or begin == 0:
                break
    return first, newest, busy
