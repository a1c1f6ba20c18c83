"""Changes to files: read whole before, written whole after, and only over what was read."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class Change:
    """One file's text before (None: there is none) and after. ``name`` is its path for people."""

    path: Path
    name: str
    old: str | None
    new: str

    def to_json(self) -> dict[str, Any]:
        return {"path": self.name, "old": self.old, "new": self.new}


class FileProblem(Exception):
    """A file cannot be read or written as text. The text says why."""


MAX_SIZE = 20 * 2**20
"""Largest file the tools take as text, in bytes."""


def read_text(path: Path, name: str) -> str | None:
    """The whole text of a file, line ends as they are; None when there is none.

    Raises:
        FileProblem: it is no regular file (a pipe would block us, a device never end), too large, or no text.
    """
    data = read_bytes(path, name)
    if data is None:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise FileProblem(f"{name} is not UTF-8 text") from None


def read_bytes(path: Path, name: str) -> bytes | None:
    """The whole content of a file; None when there is none. Raises :class:`FileProblem` as :func:`read_text`."""
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise FileProblem(f"{name} is a folder; list it with list_files")
        if not stat.S_ISREG(status.st_mode):
            raise FileProblem(f"{name} is no regular file")
        # It may be another by now, and some files of /proc say they are regular, have no size, and block or never end.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise FileProblem(f"{name} is no regular file")
            data = _read(file, MAX_SIZE + 1)
        if len(data) > MAX_SIZE:
            raise FileProblem(f"{name} is larger than {MAX_SIZE // 2**20} MiB; look at it with a command")
        return data
    except FileNotFoundError:
        return None
    except BlockingIOError:
        raise FileProblem(f"{name} is no regular file: it would have to be waited for") from None
    except OSError as error:
        raise FileProblem(f"{name} cannot be read: {error.strerror or error}") from None


def _read(file: io.FileIO, most: int) -> bytes:
    """At most ``most`` bytes. Raises ``BlockingIOError`` where there is nothing just now."""
    data = bytearray()
    while len(data) < most:
        piece = file.read(min(2**20, most - len(data)))
        if piece is None:
            raise BlockingIOError
        if not piece:
            break
        data += piece
    return bytes(data)


def apply(change: Change) -> None:
    """Write the new text in one step. Raises :class:`FileProblem` when the file is not any more what it was."""
    if change.path.resolve() != change.path:
        raise FileProblem(f"{change.name} now leads somewhere else; nothing was written. Read it again")
    now = read_text(change.path, change.name)
    if now != change.old:
        what = "was made" if change.old is None else "was removed" if now is None else "changed"
        raise FileProblem(f"{change.name} {what} while this call waited; nothing was written. Read it again")
    try:
        data = change.new.encode("utf-8")
    except UnicodeEncodeError:
        raise FileProblem(f"the new text of {change.name} is not valid Unicode (a lone surrogate)") from None
    try:
        change.path.parent.mkdir(parents=True, exist_ok=True)
        _replace(change.path, data)
    except OSError as error:
        raise FileProblem(f"{change.name} cannot be written: {error.strerror or error}") from None


def _replace(path: Path, data: bytes) -> None:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        mode = 0o666 & ~mask
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
