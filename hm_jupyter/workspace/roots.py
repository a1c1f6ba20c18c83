"""Where an agent may reach on our side: the workspace's folders. What a path really means, with every link resolved.

Decides nothing but inside or outside (what a name says of its file: ``credentials``). Opens nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ..credentials import guarded, secret
from .refused import Refused

__all__ = ["Roots", "guarded", "secret"]


class Roots:
    """The folders of a workspace, the first of which is its working folder."""

    def __init__(self, folders: Iterable[str | os.PathLike[str]]) -> None:
        self.folders = [Path(folder).resolve() for folder in folders]

    @property
    def cwd(self) -> Path:
        """The working folder. Raises :class:`Refused` where the workspace has none."""
        if not self.folders:
            raise Refused("denied", "This session has no workspace folder, so nothing is done in it.")
        return self.folders[0]

    def locate(self, path: object) -> Path:
        """``path`` with every link and ``..`` resolved. Raises :class:`Refused` unless it is absolute and inside."""
        if not isinstance(path, str) or not path or "\0" in path:
            raise Refused("invalid", "The path is empty, no text, or holds a NUL character.")
        if not os.path.isabs(path):
            raise Refused("invalid", f"{path!r} is not absolute: give the whole path, under {self.cwd}.")
        try:
            found = Path(path).resolve()
        except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a lone surrogate
            raise Refused("invalid", f"{path!r} leads nowhere: {error}.") from None
        if not self.inside(found):
            leads = "" if os.path.normpath(path) == str(found) else f" (it leads to {str(found)!r})"
            within = ", ".join(str(folder) for folder in self.folders) or "nothing"
            raise Refused("denied", f"{path!r} is outside the workspace{leads}. The workspace is {within}.")
        return found

    def inside(self, path: Path) -> bool:
        """Whether the resolved ``path`` is one of the folders or in one."""
        return any(path == folder or folder in path.parents for folder in self.folders)

    def name(self, path: Path) -> str:
        """``path`` for people: relative to the working folder when in it."""
        if self.folders and self.folders[0] in path.parents:
            return path.relative_to(self.folders[0]).as_posix()
        return str(path)
