"""Sub-agents (omp), as far as it was asked to tell of them (``set_subagent_subscription``): a card each, and its calls.

``subagent_lifecycle``, ``subagent_progress`` and ``subagent_event`` carry a ``payload``; one that is ``detached`` goes on after
the turn. A sub-agent's own words are the output of its card.
"""

from __future__ import annotations

from typing import Any

from ...events import (
    Background,
    Event,
    SessionUpdated,
    ToolCallUpdated,
    ToolOutputAppended,
    ToolStatus,
    UnknownReceived,
)
from . import read
from .calls import Calls

_STATUS: dict[str, ToolStatus] = {
    "completed": "completed",
    "failed": "failed",
    "aborted": "interrupted",
    "cancelled": "interrupted",
}


class SubAgents:
    """The sub-agents that were told of."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._known: dict[str, str] = {}  # id -> title
        self._working: dict[str, str] = {}
        self._said: set[str] = set()

    def lifecycle(self, value: dict[str, Any], out: list[Event]) -> None:
        """``subagent_lifecycle``: it begins, or is done."""
        payload = read.fields(value.get("payload"))
        agent = read.text(payload.get("id"))
        if not agent:
            out.append(UnknownReceived("subagent_lifecycle", value))
            return
        card = self._card(agent, payload, out)
        status = read.text(payload.get("status"))
        if status in _STATUS:
            out.append(ToolCallUpdated(card, status=_STATUS[status]))
            self._working.pop(agent, None)
        else:
            self._working[agent] = self._known[agent]
        self._tell(out)

    def progress(self, value: dict[str, Any], out: list[Event]) -> None:
        """``subagent_progress``: what it works on."""
        payload = read.fields(value.get("payload"))
        progress = read.fields(payload.get("progress"))
        agent = read.text(progress.get("id")) or read.text(payload.get("id"))
        if agent:
            self._card(agent, {**progress, **payload, "id": agent}, out)

    def event(self, value: dict[str, Any], out: list[Event]) -> None:
        """``subagent_event``: one of its own events."""
        payload = read.fields(value.get("payload"))
        agent, event = read.text(payload.get("id")), read.fields(payload.get("event"))
        kind = event.get("type")
        if not agent:
            out.append(UnknownReceived("subagent_event", value))
        elif kind == "tool_execution_start":
            self._calls.start(event, out, self._card(agent, payload, out))
        elif kind == "tool_execution_update":
            self._calls.update(event, out, self._card(agent, payload, out))
        elif kind == "tool_execution_end":
            self._calls.end(event, out, self._card(agent, payload, out))
        elif kind == "message_end":
            message = read.fields(event.get("message"))
            said = read.content_text(message.get("content")).strip()
            if message.get("role") == "assistant" and said:
                out.append(ToolOutputAppended(self._card(agent, payload, out), f"{said}\n"))

    def _card(self, agent: str, payload: dict[str, Any], out: list[Event]) -> str:
        card = f"subagent:{agent}"
        said = read.text(payload.get("assignment")) or read.text(payload.get("task"))
        title = " ".join(said.split())[:200] or agent
        parent = read.text(payload.get("parentToolCallId"))
        if agent not in self._known:
            self._known[agent] = title
            name = read.text(payload.get("agent")) or "sub-agent"
            out.append(ToolCallUpdated(card, name, title, "agent", "running", parent=parent or None))
        elif said and self._known[agent] == agent:
            self._known[agent] = title
            out.append(ToolCallUpdated(card, title=title))
        return card

    def _tell(self, out: list[Event]) -> None:
        working = [Background("subagent", agent, title) for agent, title in self._working.items()]
        out.append(SessionUpdated({"background": working}))
