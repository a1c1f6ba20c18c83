"""A person before a notebook or a terminal, for turns that Python began (``session.prompt``, ``aprompt``).

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
    """Let sessions show turns to the person before this notebook or terminal, and ask."""
    presence.set_front(lambda: None if host() == "nobody" else Here())


class Here:
    """Somebody is here (:class:`hm_jupyter.session.presence.Front`)."""

    def attend(self, session: Session, turn: Turn) -> None:
        """Wait: with a live view in a notebook; what no view shows is asked with ``input()``."""
        from .cell import attend

        attend(session, turn)

    def show(self, session: Session, turn: Turn) -> None:
        """A live view in a notebook, nothing in a terminal."""
        from .cell import show

        show(session, turn)
