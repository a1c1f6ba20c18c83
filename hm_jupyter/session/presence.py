"""Whether somebody can be asked while Python waits for a turn, and how the turn is shown then. A front-end says so.

The session layer knows no front-end; without one nobody can be asked, so a script is refused what needs leave instead of
waiting for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .session import Session
    from .turn import Turn


class Front(Protocol):
    """A person before a notebook or a terminal."""

    def attend(self, session: Session, turn: Turn) -> None:
        """Wait for the end of a turn, showing it and asking. ``KeyboardInterrupt`` has stopped the turn."""

    def show(self, session: Session, turn: Turn) -> None:
        """Show a running turn, and return at once."""


_find: Callable[[], Front | None] | None = None


def set_front(find: Callable[[], Front | None]) -> None:
    """``find()`` says, at each prompt, who is there; None when nobody is."""
    global _find
    _find = find


def front() -> Front | None:
    """Who is there now, None when nobody can be asked."""
    return _find() if _find is not None else None
