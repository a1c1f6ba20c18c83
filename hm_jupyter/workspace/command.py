"""A command an agent wants run, understood: what is executed, what a person reads, and whether two are the same.

Pure but for finding the program. Starts nothing.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..transports.program import Program
from .output import DEFAULT_LIMIT, MAX_LIMIT
from .refused import Refused
from .roots import Roots

SHELL = "/bin/sh"

_SHELLS = {f"{folder}{name}" for folder in ("", "/bin/", "/usr/bin/") for name in ("sh", "bash", "zsh", "dash")}
_BY_SHELL = re.compile(r"[$`\\*?\[\]{}~;&|<>()#!\n=]")
# A list of what changes commands would never be whole: make, tar, rg, zsh and a thousand others have theirs.
_HARMLESS = re.compile(
    r"CI|TERM|COLORTERM|NO_COLOR|FORCE_COLOR|CLICOLOR(_FORCE)?|COLUMNS|LINES|LANG|LANGUAGE|LC_[A-Z]+|TZ|DEBIAN_FRONTEND"
    r"|AGENT|AI_AGENT|[A-Z]+_CLI|CLAUDE_?CODE(_[A-Z]+)?|OPENCODE|QWEN_CODE|GOOSE_TERMINAL"
)
_PLAIN = re.compile(r"[\w.:@+,=-]{0,60}", re.ASCII)  # no path, nothing a shell reads
_SWITCHES = re.compile(r"GIT_TERMINAL_PROMPT|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PIP_NO_INPUT|UV_NO_PROGRESS")
_PAGERS = re.compile(r"PAGER|GIT_PAGER|MANPAGER|GH_PAGER|SYSTEMD_PAGER")


@dataclass(frozen=True)
class Command:
    """``line`` is what a person reads: the shell line, or program and arguments, quoted. ``argv`` is what is executed.

    ``env`` is laid over ours, ``risky`` are the names in it that may make the line do something else than it says: all but
    those that are known not to.
    """

    line: str
    argv: tuple[str, ...]
    cwd: Path
    env: dict[str, str] = field(default_factory=dict)
    limit: int = DEFAULT_LIMIT
    risky: tuple[str, ...] = ()

    @property
    def direct(self) -> bool:
        """Is a program executed as it is, with no shell to read the line?"""
        return not (len(self.argv) == 3 and self.argv[0] in _SHELLS and self.argv[1] in ("-c", "-lc"))

    @property
    def key(self) -> tuple[str, str]:
        """Equal for the same words in the same folder."""
        return plain(self.line), str(self.cwd)

    def is_shown_by(self, text: str) -> bool:
        """Whether somebody who read ``text`` read this command.

        The very line; or the words of it, where no shell would make something else of them.
        """
        if plain(text) == plain(self.line):
            return True
        return self.direct and not _BY_SHELL.search(text) and _words(text) == list(self.argv)

    def program(self) -> Program:
        """What to execute, with our environment under it. Raises :class:`Refused` where the program is not there."""
        env = {**os.environ, **self.env}
        if not self.cwd.is_dir():
            raise Refused("not_found", f"The folder {str(self.cwd)!r} is not there: make it, or give another cwd.")
        name = self.argv[0]
        if os.sep in name:
            path: str | None = str(self.cwd / name)
        else:
            path = shutil.which(name, path=env.get("PATH", os.defpath))
        if path is None or not os.path.exists(path):
            raise Refused(
                "not_found", f"There is no program {name!r}: install it, or give a whole shell line, no args."
            )
        if os.path.isdir(path) or not os.access(path, os.X_OK):
            raise Refused("failed", f"{path!r} is no program that may be executed.")
        return Program(os.path.abspath(path), list(self.argv), env, str(self.cwd))


def plain(text: str) -> str:
    """A line without what does not change it: the space around it, and the shell it is handed to (``sh -c '…'``)."""
    text = text.strip()
    words = _words(text)
    if len(words) == 3 and words[0] in _SHELLS and words[1] in ("-c", "-lc"):
        return words[2].strip()
    return text


def joined(value: Any) -> str:
    """A command given as text or as a list of words, as one line; "" for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and value and all(isinstance(word, str) for word in value):
        return shlex.join(value)
    return ""


def understand(roots: Roots, args: dict[str, Any]) -> Command:
    """The command of a ``terminal_create`` (:class:`hm_jupyter.protocols.base.HostCall`).

    Without args ``command`` is a line for the shell, with them a program that is executed with no shell in between.
    Raises :class:`Refused` for one that cannot be, or whose folder is outside the workspace.
    """
    command, words = args.get("command"), args.get("args") or []
    if not isinstance(command, str) or not command.strip():
        raise Refused("invalid", "The command is empty: give a shell line, or a program and its args.")
    if not isinstance(words, Sequence) or isinstance(words, str) or not all(isinstance(word, str) for word in words):
        raise Refused("invalid", "args is no list of texts.")
    env = args.get("env") or {}
    if not isinstance(env, dict) or not all(isinstance(k, str) and isinstance(v, str) for k, v in env.items()):
        raise Refused("invalid", "env does not map names to texts.")
    if any(not name or "=" in name for name in env):
        raise Refused("invalid", "A name in env is empty or holds '='.")
    texts = [command, *words, *env, *env.values()]
    if any("\0" in text or not _encodes(text) for text in texts):
        raise Refused("invalid", "The command holds a NUL character or a lone surrogate.")
    argv = (command, *words) if words else (SHELL, "-c", command)
    cwd = roots.cwd if args.get("cwd") is None else roots.locate(args["cwd"])
    risky = tuple(sorted(name for name, value in env.items() if not _harmless(name, value)))
    return Command(
        shlex.join(argv) if words else command, argv, cwd, dict(env), _limit(args.get("output_limit")), risky
    )


def _harmless(name: str, value: str) -> bool:
    if _PAGERS.fullmatch(name):
        return value in ("", "cat")
    if _SWITCHES.fullmatch(name):
        return value in ("", "0", "1", "true", "false")
    return bool(_HARMLESS.fullmatch(name) and _PLAIN.fullmatch(value))


def _limit(value: Any) -> int:
    if value is None:
        return DEFAULT_LIMIT
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Refused("invalid", f"output_limit={value!r}: give a number of bytes, 0 or more.")
    return min(value, MAX_LIMIT)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # an open quote
        return []


def _encodes(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True
