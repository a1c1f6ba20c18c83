"""Long outputs, kept whole beside the session so that a model can see more of them than it was given.

Each has an id such as ``output:shell-3``, which read_file and search take for a path. A saved session's are in a folder
beside its file; those of one that is not saved go with the process. Bounded: the oldest make room for new ones.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from pathlib import Path

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
    """The kept outputs of a session. ``folder``: where, made when needed (None: one that goes with the process);
    ``earlier``: where those of the session it was forked from are."""

    def __init__(self, folder: Path | None, earlier: Path | None = None) -> None:
        self._folder = folder
        self._earlier = earlier
        self._temporary = folder is None
        self._sizes: dict[str, int] | None = None

    @classmethod
    def of(cls, journal: Path | None, fork_of: str = "") -> Outputs:
        """Those of the session whose journal that is (None: it is not saved)."""
        if journal is None:
            return cls(None)
        earlier = journal.with_name(f"{fork_of}{SUFFIX}") if fork_of else None
        return cls(journal.with_name(f"{journal.stem}{SUFFIX}"), earlier)

    def keep(self, name: str, text: str) -> str:
        """Store ``text``; returns its id, "" where that was not possible. ``name``: lower case letters (a tool's)."""
        try:
            folder = self._made()
            sizes = self._known(folder)
            number = 1 + max((int(n.rpartition("-")[2]) for n in sizes), default=0)
            key = f"{re.sub(r'[^a-z_]', '', name)[:40] or 'text'}-{number}"
            data = text[:LONGEST].encode("utf-8", "replace")
            fd = os.open(folder / key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(data)
        except OSError:
            return ""
        sizes[key] = len(data)
        while sum(sizes.values()) > MOST_BYTES and len(sizes) > 1:
            oldest = min(sizes, key=lambda n: int(n.rpartition("-")[2]))
            del sizes[oldest]
            with contextlib.suppress(OSError):
                os.unlink(folder / oldest)
        return PREFIX + key

    def text(self, id: str) -> str | None:
        """What is kept under ``id``; None: nothing (any more)."""
        found = _ID.fullmatch(id)
        for folder in (self._folder, self._earlier):
            if found and folder is not None:
                with contextlib.suppress(OSError):
                    return (folder / found[1]).read_bytes().decode("utf-8", "replace")
        return None

    def clear(self) -> None:
        """Forget those that go with the process."""
        if self._temporary and self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = self._sizes = None

    def _made(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="hm-outputs-"))
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._folder

    def _known(self, folder: Path) -> dict[str, int]:
        if self._sizes is None:
            names = [p for p in folder.iterdir() if _ID.fullmatch(PREFIX + p.name)]
            self._sizes = {p.name: p.stat().st_size for p in names}
        return self._sizes
