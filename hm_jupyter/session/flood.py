"""How much noise of an agent a turn shows: lines that are no events, events nobody knows. The rest is counted and kept.

Without a limit a program that prints its log to standard output makes a notebook of hundreds of megabytes.
"""

from __future__ import annotations

from .. import events as ev

LIMIT = 200
"""Notices and unknown events of one turn that are shown."""


class Flood:
    """Counts them, turn by turn."""

    def __init__(self) -> None:
        self._turn = -1
        self._count = 0

    def admit(self, turn: int, event: ev.NoticeRaised | ev.UnknownReceived) -> ev.Event | None:
        """What to show for ``event``: itself, for the first too many a notice, then nothing. Errors always show."""
        if isinstance(event, ev.NoticeRaised) and event.level == "error":
            return event
        if turn != self._turn:
            self._turn, self._count = turn, 0
        self._count += 1
        if self._count <= LIMIT:
            return event
        if self._count > LIMIT + 1:
            return None
        return ev.NoticeRaised(
            f"More than {LIMIT} lines and events of this turn could not be used; the others are not shown. "
            "They are in the turn's events: t.events. Does the agent print its log to standard output?",
            "warning",
        )
