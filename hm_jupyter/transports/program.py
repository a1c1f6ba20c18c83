"""Finding the program an agent is: argv, working folder and environment to what can be executed, or a helpful error.

Starts nothing and knows no pipes.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import AgentNotFound, HmError, TransportError, UsageError


@dataclass(slots=True)
class Program:
    """What to execute: ``path`` (absolute), ``argv`` as the program sees it, the whole ``env``, ``cwd`` (absolute)."""

    path: str
    argv: list[str]
    env: dict[str, str]
    cwd: str


def find_program(
    argv: Sequence[str | os.PathLike[str]],
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str | None] | None = None,
) -> Program:
    """Resolve a command. ``env`` is laid over this process's environment (``None`` removes a variable).

    Raises ``UsageError`` for a command that cannot be one, ``AgentNotFound`` when program or folder is not there.
    """
    if isinstance(argv, (str, bytes)) or not argv or not os.fspath(argv[0]):
        raise UsageError(f"An agent's command is a list such as ['hm', 'agent', '--rpc'], not {argv!r}.")
    args = [os.fspath(arg) for arg in argv]
    environment = dict(os.environ)
    for name, value in (env or {}).items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = value
    if any("\0" in text for text in [*args, *environment, *environment.values()]):
        raise UsageError("A command or an environment variable of an agent contains a NUL character; remove it.")

    folder = Path(cwd if cwd is not None else os.curdir).expanduser().absolute()
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise AgentNotFound(f"The agent's working folder {str(folder)!r} {what}. Create it, or pass another cwd=.")
    return Program(_locate(args[0], folder, environment), args, environment, str(folder))


def _locate(name: str, folder: Path, env: Mapping[str, str]) -> str:
    if os.sep in name:
        path = folder / Path(name).expanduser()
        if not path.exists():
            raise AgentNotFound(f"There is no program at {str(path)!r}. Check the path of the agent's command.")
        if path.is_dir():
            raise AgentNotFound(f"{str(path)!r} is a folder, not a program. Name the program inside it.")
        if not os.access(path, os.X_OK):
            raise AgentNotFound(f"{str(path)!r} is not executable. Try: chmod +x {str(path)!r}")
        return str(path)
    found = shutil.which(name, path=env.get("PATH", os.defpath))
    if found is None:
        folders = env.get("PATH", os.defpath)
        raise AgentNotFound(
            f"The program {name!r} is not on this kernel's PATH. Install it, pass its full path, or start Jupyter "
            f"from a shell in which `which {name}` finds it. PATH is: {folders}"
        )
    return os.path.abspath(found)


def exec_error(program: Program, number: int) -> HmError:
    """The error for a program that is there but could not be executed; ``number`` is the errno."""
    why = os.strerror(number)
    if number == errno.ENOENT:
        return AgentNotFound(
            f"{program.path!r} could not be started: the interpreter its first line (#!) names, or a loader it needs, "
            "is not there. Install it, or start the agent through an interpreter you have."
        )
    if number == errno.ENOEXEC:
        return AgentNotFound(
            f"{program.path!r} is not a program for this machine ({why}). A script needs a first line such as "
            "#!/usr/bin/env python3; or name its interpreter in the command."
        )
    if number == errno.EACCES:
        return AgentNotFound(f"{program.path!r} may not be executed ({why}). Check its permissions.")
    return TransportError(f"{program.path!r} could not be started: {why}. Check memory and process limits.")
