"""Waiting for a turn that Python began (``session.prompt``): the cell or the terminal asks, where somebody is there.

Registered when :func:`hm_jupyter.connect` is first used under IPython, so the rest is imported only when something waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..session import presence
from .host import host

if TYPE_CHECKING:
    from ..session.session import Session
    from ..session.turn import Turn


def register() -> None:
    """Let sessions ask the person before this notebook or terminal."""
    presence.set_front(lambda: None if host() == "nobody" else attend)


def attend(session: Session, turn: Turn) -> None:
    """Wait, and ask with ``input()`` what no live view shows."""
    from .cell import TurnStopped
    from .waiting import wait_for

    if wait_for(session, turn) != "finished":
        raise TurnStopped("You stopped the turn; the agent is still there, and the session goes on.")
