"""A saved session taken up again (an extension): its earlier turns are asked for before anybody hears that it is there.

``session_start`` with ``earlier`` says how many there are; ``get_history`` gives their events, which are read by an
adapter of their own and told as turns that were before we came. Nothing of them can be decided any more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..events import (
    ApprovalRequested,
    CommandAnswered,
    Event,
    MessageUpdated,
    NoticeRaised,
    TextAppended,
    TurnEnded,
    TurnStarted,
)
from . import hm_read as read
from .base import Adapter

TURNS = 100
"""Earlier turns that are shown; the agent knows them all."""

ID = "history"
"""The id of our request. Ours alone: a command's id is a long random one."""

_NOT_THEN = frozenset({"session_start", "session_end", "response", "question", "text_delta", "thinking_delta"})


class History:
    """What is held back until the earlier turns have come.

    Args:
        adapter: makes the adapter that reads them.
    """

    def __init__(self, adapter: Callable[[], Adapter]) -> None:
        self._adapter = adapter
        self._held: list[Event] | None = None
        self._over = False

    def wanted(self, start: dict[str, Any], told: list[Event]) -> dict[str, Any] | None:
        """The request to send where the first ``session_start`` tells of earlier turns; ``told`` is then held back."""
        first, self._over = not self._over, True
        if not first or not read.count(start.get("earlier")):
            return None
        self._held = list(told)
        return {"id": ID, "type": "get_history", "limit": TURNS}

    def answered(self, value: dict[str, Any], out: list[Event]) -> bool:
        """Whether ``value`` answers the request; then all that was held back is told, with the earlier turns."""
        if self._held is None or value.get("id") != ID:
            return False
        held, self._held = self._held, None
        out.extend(held)
        data = value.get("data")
        events = data.get("events") if isinstance(data, dict) else None
        if value.get("ok") is not True or not isinstance(events, list):
            why = read.text(value.get("error"))[:300] or "it gave none"
            out.append(NoticeRaised(f"The agent has this session, but its earlier turns cannot be shown here ({why})."))
            return True
        first = read.count(data.get("first")) if isinstance(data, dict) else None
        if first and first > 1:
            text = f"Of this session's turns the latest are shown; the {first - 1} before them are with the agent."
            out.append(NoticeRaised(text, "info"))
        out.extend(self._replayed(events))
        return True

    def held_back(self) -> list[Event]:
        """What is still held, when the agent ends without an answer."""
        held, self._held = self._held or [], None
        return held

    def _replayed(self, values: list[Any]) -> list[Event]:
        adapter, out, running = self._adapter(), [], False
        for value in values:
            if not isinstance(value, dict) or value.get("type") in _NOT_THEN:
                continue
            for event in adapter.receive(value).events:
                running = isinstance(event, TurnStarted) or (running and not isinstance(event, TurnEnded))
                out.append(_earlier(event))
        if running:
            out.append(TurnEnded("agent_exited", "The agent was gone before this turn was over."))
        return [e for e in out if not isinstance(e, CommandAnswered)]


def _earlier(event: Event) -> Event:
    if isinstance(event, TurnStarted):
        return replace(event, earlier=True)
    if isinstance(event, (MessageUpdated, TextAppended)):  # ids of its own: the live ones are numbered anew
        return replace(event, message_id=f"h{event.message_id}")
    if isinstance(event, ApprovalRequested):
        return replace(event, auto=True)  # decided long ago
    return event
