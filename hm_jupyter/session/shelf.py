"""Saved sessions where the agent's wire has no word for them: they are read from where the agent keeps them.

What a :class:`Shelf` reads is not known here; ``connect`` gives the session one. It reads files, so it is asked in a
thread of its own, away from the sessions' loop.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

from .. import commands as cmd
from ..errors import HmError
from ..events import CommandAnswered
from .runtime import beside


class Shelf(Protocol):
    """Where an agent keeps its sessions."""

    def sessions(self, *, all: bool = False) -> list[dict[str, Any]]:
        """Those of the working folder, or of ``all``, newest first."""

    def delete(self, session: str) -> None:
        """Delete one, for good. Raises ``HmError`` where there is none."""


def taken(shelf: Shelf | None, command: cmd.Command) -> bool:
    """Is it the shelf that carries the command out?"""
    return shelf is not None and isinstance(command, (cmd.ListSessions, cmd.DeleteSession))


async def carry_out(shelf: Shelf, command: cmd.Command) -> CommandAnswered:
    """List or delete; a failure is an answer too."""
    try:
        if isinstance(command, cmd.DeleteSession):
            await beside(shelf.delete, command.session)
            return CommandAnswered(command.id, True)
        all = isinstance(command, cmd.ListSessions) and command.all
        found = await beside(partial(shelf.sessions, all=all))
        return CommandAnswered(command.id, True, {"sessions": found})
    except (HmError, OSError) as error:
        return CommandAnswered(command.id, False, error=str(error))
