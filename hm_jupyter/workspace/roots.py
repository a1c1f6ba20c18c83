"""Where an agent may reach on our side: the workspace's folders. What a path really means, with every link resolved.

Decides nothing but inside or outside, and whether a name looks like that of a secret. Opens nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from .refused import Refused

_SECRET_FILE = re.compile(
    r"\.env(\..+)?|\.envrc|id_(rsa|dsa|ecdsa|ed25519)(_sk)?|.+\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk)"
    r"|[._]netrc|\.pgpass|\.npmrc|\.pypirc|\.git-credentials|\.htpasswd|\.vault-token|\.my\.cnf|\.boto"
    r"|credentials(\.json|\.toml|\.ya?ml)?|secrets?\.(json|toml|ya?ml|env)|service[-_]account.*\.json",
    re.IGNORECASE,
)
_HARMLESS = re.compile(r"\.env\.(example|sample|template|dist|defaults?)", re.IGNORECASE)
_SECRET_FOLDERS = {".ssh", ".aws", ".gnupg", ".kube", ".azure", ".docker", "gcloud", ".password-store"}


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


def secret(path: str | Path) -> bool:
    """Whether a file of that name mostly holds credentials (a dotenv, a private key, an account of a tool)."""
    path = Path(path)
    if any(part.lower() in _SECRET_FOLDERS for part in path.parts[:-1]):
        return True
    return bool(_SECRET_FILE.fullmatch(path.name)) and not _HARMLESS.fullmatch(path.name)


def guarded(path: str | Path) -> bool:
    """Whether what is in a file of that name is mostly secret, or run by other programs (hooks, in ``.git``): no rule for
    edits in general allows to write it."""
    return secret(path) or any(part.casefold() == ".git" for part in Path(path).parts)
