"""Whether somebody can be asked while Python waits for a turn, and how to wait then. A front-end says so.

The session layer knows no front-end; without one nobody can be asked, so a script is refused what needs leave instead of
waiting for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .session import Session
    from .turn import Turn

Attend = Callable[["Session", "Turn"], None]
"""Waits for the end of a turn, asking a person meanwhile. ``KeyboardInterrupt`` has stopped the turn."""

_find: Callable[[], Attend | None] | None = None


def set_front(find: Callable[[], Attend | None]) -> None:
    """``find()`` says, at each prompt, how to wait with a person there; None when nobody is."""
    global _find
    _find = find


def attendant() -> Attend | None:
    """How to wait now, None when nobody can be asked."""
    return _find() if _find is not None else None
