"""Text files of the workspace: read whole or by lines, written in one step and only over what was read.

Every function here may block on a disk: call it from a thread. Paths have been resolved (:mod:`.roots`) before.
"""

from __future__ import annotations

import io
import os
import stat
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from .refused import Refused

MAX_FILE = 20 * 2**20
"""Largest file taken as text, in bytes."""


def read(path: Path, line: int | None = None, limit: int | None = None) -> str:
    """A file's text, line ends as they are: all of it, or from ``line`` (1-based) at most ``limit`` lines.

    A line beyond the end gives "". Raises :class:`Refused` (``not_found`` where there is no such file).
    """
    for name, value in (("line", line), ("limit", limit)):
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            raise Refused("invalid", f"{name}={value!r}: give a whole number, {name} 1 or more.")
    text = text_of(path)
    if text is None:
        raise Refused("not_found", f"There is no file {str(path)!r}.")
    if line in (None, 0, 1) and limit is None:
        return text
    lines = text.split("\n")
    first = max((line or 1) - 1, 0)
    end = len(lines) if limit is None else first + limit
    piece = "\n".join(lines[first:end])
    return piece + "\n" if first < end < len(lines) else piece


def text_of(path: Path) -> str | None:
    """The whole text of a file, None when there is none.

    Raises :class:`Refused` for what is no regular file (a pipe would be waited for, a device never ends), is too large,
    is no UTF-8, may not be read, or has become a link since it was resolved.
    """
    shown = repr(str(path))
    try:
        # Asked of the open file, not of the name: it may be another by now. O_NONBLOCK: not waiting for a pipe's writer.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC), "rb", buffering=0) as file:
            _still_there(path)
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Refused("invalid", f"{shown} is no regular file (a pipe or a device), so it is not opened.")
            data = _bytes(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except IsADirectoryError:
        raise Refused("invalid", f"{shown} is a folder: name a file in it.") from None
    except OSError as error:
        raise Refused("failed", f"{shown} cannot be read: {error.strerror or error}.") from None
    if len(data) > MAX_FILE:
        raise Refused("invalid", f"{shown} is larger than {MAX_FILE // 2**20} MiB: look at it with a command.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("invalid", f"{shown} is not UTF-8 text: look at it with a command.") from None


def _bytes(file: io.FileIO) -> bytes:
    """Not by the size a file says it has: those of /proc say none."""
    data = bytearray()
    while len(data) <= MAX_FILE:
        piece = file.read(2**20)
        if not piece:  # None: it says it is regular and would have to be waited for
            break
        data += piece
    return bytes(data)


def _still_there(path: Path) -> None:
    """Raise :class:`Refused` where a folder on the way has become a link since the path was resolved."""
    if Path(os.path.realpath(path)) != path:
        raise Refused("denied", f"{str(path)!r} leads somewhere else than it did a moment ago: try again.")


def write(path: Path, content: str, before: str | None) -> None:
    """Make ``content`` the file's text, if it still has the text ``before`` (None: if there is still none).

    Folders on the way are made, the file's mode is kept. It is replaced in one step; one with other names (hard links),
    or in a folder that takes no new file, is written over. Raises :class:`Refused`, and then nothing was written.
    """
    shown = repr(str(path))
    try:
        data = content.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("invalid", f"The new text of {shown} is not valid Unicode (a lone surrogate).") from None
    if len(data) > MAX_FILE:
        raise Refused("invalid", f"The new text of {shown} is larger than {MAX_FILE // 2**20} MiB.")
    _still_there(path)
    now = text_of(path)
    if now != before:
        what = "has been made" if before is None else "is gone" if now is None else "has changed"
        raise Refused("failed", f"{shown} {what} since this was asked for; nothing was written. Read it again.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _still_there(path)
        found = path.stat() if now is not None else None
        if found is not None and not os.access(path, os.W_OK):
            raise Refused("failed", f"{shown} is read-only; nothing was written.")
        if found is not None and found.st_nlink > 1:
            _over(path, data)
        else:
            _replace(path, data, None if found is None else stat.S_IMODE(found.st_mode))
    except OSError as error:
        raise Refused("failed", f"{shown} cannot be written: {error.strerror or error}.") from None


def _replace(path: Path, data: bytes, mode: int | None) -> None:
    temporary = path.parent / f".{path.name[:40]}.{uuid4().hex[:8]}"
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)  # less the umask
    except PermissionError:
        if mode is None:
            raise
        _over(path, data)
        return
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        if mode is not None:
            temporary.chmod(mode)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _over(path: Path, data: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC), "wb") as file:
        file.write(data)
