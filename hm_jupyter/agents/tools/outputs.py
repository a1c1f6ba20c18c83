"""Long outputs, kept whole beside the session so that a model can see more of them than it was given.

Each has an id such as ``output:shell-3``, which read_file and search take for a path. A saved session's are files in a
folder beside its own; those of one that is not saved are in a file without a name, gone with the process however it ends.
Bounded: the oldest make room for new ones.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from pathlib import Path
from typing import BinaryIO

PREFIX = "output:"

SUFFIX = ".outputs"
"""The end of the name of a saved session's folder, beside its file."""

LONGEST = 10_000_000
"""Most characters that are kept of one output."""

MOST_BYTES = 200_000_000
"""Most that is kept of one session."""

_ID = re.compile(r"output:([a-z_]{1,40}-\d{1,9})")


def is_output(path: str) -> bool:
    """Whether a path that a model gives is the id of a kept output."""
    return path.startswith(PREFIX)


class Outputs:
    """The kept outputs of a session. ``folder``: where, made when needed (None: nowhere that has a name); ``earlier``:
    where those of the session it was forked from are."""

    def __init__(self, folder: Path | None, earlier: Path | None = None) -> None:
        self._store: _Folder | _Nameless = _Nameless() if folder is None else _Folder(folder)
        self._earlier = None if earlier is None else _Folder(earlier)

    @classmethod
    def of(cls, journal: Path | None, fork_of: str = "") -> Outputs:
        """Those of the session whose journal that is (None: it is not saved)."""
        if journal is None:
            return cls(None)
        earlier = journal.with_name(f"{fork_of}{SUFFIX}") if fork_of else None
        return cls(journal.with_name(f"{journal.stem}{SUFFIX}"), earlier)

    def keep(self, name: str, text: str) -> str:
        """Store ``text``; returns its id, "" where that was not possible. ``name``: lower case letters (a tool's)."""
        name = re.sub(r"[^a-z_]", "", name)[:40] or "text"
        try:
            earlier = self._earlier.newest() if self._earlier is not None else 0
            number = max(self._store.newest(), earlier) + 1
            self._store.put(f"{name}-{number}", text[:LONGEST].encode("utf-8", "replace"))
        except OSError:  # a full disk: the text is cut all the same
            return ""
        return f"{PREFIX}{name}-{number}"

    def text(self, id: str) -> str | None:
        """What is kept under ``id``; None: nothing (any more)."""
        found = _ID.fullmatch(id)
        if found is None:
            return None
        data = self._store.get(found[1])
        if data is None and self._earlier is not None:
            data = self._earlier.get(found[1])
        return None if data is None else data.decode("utf-8", "replace")


class _Folder:
    """A file for each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sizes: dict[str, int] | None = None

    def newest(self) -> int:
        return max(map(_number, self._known()), default=0)

    def put(self, key: str, data: bytes) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(self._folder / key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        sizes = self._known()
        sizes[key] = len(data)
        while sum(sizes.values()) > MOST_BYTES and len(sizes) > 1:
            oldest = min(sizes, key=_number)
            del sizes[oldest]
            with contextlib.suppress(OSError):
                os.unlink(self._folder / oldest)

    def get(self, key: str) -> bytes | None:
        try:
            return (self._folder / key).read_bytes()
        except OSError:
            return None

    def _known(self) -> dict[str, int]:
        if self._sizes is None:
            self._sizes = {}
            with contextlib.suppress(FileNotFoundError):
                names = [p for p in self._folder.iterdir() if _ID.fullmatch(PREFIX + p.name)]
                self._sizes = {p.name: p.stat().st_size for p in names}
        return self._sizes


class _Nameless:
    """All in one file; when that is half of what may be kept, in a new one, and the one before the last is let go."""

    def __init__(self) -> None:
        self._files: list[tuple[BinaryIO, dict[str, tuple[int, int]]]] = []
        self._newest = 0

    def newest(self) -> int:
        return self._newest

    def put(self, key: str, data: bytes) -> None:
        if not self._files or self._files[-1][0].seek(0, os.SEEK_END) + len(data) > MOST_BYTES // 2:
            self._files.append((tempfile.TemporaryFile(), {}))  # noqa: SIM115  (lives as long as the session)
            for file, _ in self._files[:-2]:
                file.close()
            del self._files[:-2]
        file, places = self._files[-1]
        begin = file.seek(0, os.SEEK_END)
        file.write(data)
        file.flush()
        places[key] = (begin, len(data))
        self._newest = _number(key)

    def get(self, key: str) -> bytes | None:
        for file, places in self._files:
            if key in places:
                begin, length = places[key]
                return os.pread(file.fileno(), length, begin)
        return None


def _number(key: str) -> int:
    return int(key.rpartition("-")[2])
