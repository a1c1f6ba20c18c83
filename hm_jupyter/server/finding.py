"""Finding a kernel's control socket by its id, trusting nothing: neither the id a browser sent nor the files on disk.

Knows no web framework. The kernel's side of the same files is ``hm_jupyter/notebook/control.py``.
"""

from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

_ID = re.compile(r"[0-9a-f]{32}")
_FILE_CAP = 4096


class NotFound(Exception):
    """There is no such control socket, or it is not one to be trusted."""


@dataclass(frozen=True)
class Found:
    """A control socket; ``token`` is a secret and stays out of the repr."""

    socket: str
    token: str = field(repr=False)


def find(control_id: str, runtime_dir: str) -> Found:
    """The socket of the kernel called ``control_id`` (32 hex digits). Raises :class:`NotFound`.

    Everything on the way must belong to this user and be closed to everybody else.
    """
    if not _ID.fullmatch(control_id):
        raise NotFound("not a control id")
    folder = Path(runtime_dir) / "hm_jupyter"
    try:
        _ours(os.lstat(folder), stat.S_ISDIR)
        # The folder is ours and nobody else can write there; O_NOFOLLOW is for the file itself.
        fd = os.open(folder / f"{control_id}.json", os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(fd, "rb") as f:
            _ours(os.fstat(fd), stat.S_ISREG)
            value = json.loads(f.read(_FILE_CAP))
        found = Found(value["socket"], value["token"])
        if not (isinstance(found.socket, str) and isinstance(found.token, str) and os.path.isabs(found.socket)):
            raise NotFound("not a connection file")
        _ours(os.lstat(found.socket), stat.S_ISSOCK)
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise NotFound(type(e).__name__) from None
    return found


def _ours(found: os.stat_result, kind: object) -> None:
    if not kind(found.st_mode):  # type: ignore[operator]
        raise NotFound("not the kind of file it should be")
    if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise NotFound("open to other users")
