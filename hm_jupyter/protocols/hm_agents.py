"""Sub-agents on the hm wire (an extension): ``agent_start``, ``agent_end``, and events that carry an ``agent``.

Each is shown as one call of category "agent": the ``sub_agent`` call it works for, or, where it works in the background
while that call is over, a card of its own. What it writes is that card's output; its calls carry it as their parent,
and are decided like any other. What it thinks is left out. Knows no turns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..events import Background, Event, SessionUpdated, ToolCallUpdated, ToolOutputAppended, ToolStatus
from . import hm_read as read

_OUTCOMES: dict[str, ToolStatus] = {"interrupted": "interrupted", "skipped": "skipped", "denied": "denied"}


@dataclass(slots=True)
class _SubAgent:
    card: str
    title: str
    background: bool
    said: bool = False
    gap: bool = False


class SubAgents:
    """The sub-agents at work.

    Args:
        handlers: what to do with their calls, approvals and questions: by the name of the event.
    """

    def __init__(self, handlers: dict[str, Callable[[dict[str, Any], list[Event]], None]]) -> None:
        self._handlers = handlers
        self._all: dict[str, _SubAgent] = {}

    def start(self, value: dict[str, Any], out: list[Event]) -> None:
        """``agent_start``."""
        name = read.text(value.get("agent"))
        background, call_id = value.get("background") is True, read.text(value.get("call_id"))
        card = call_id if call_id and not background else f"sub:{name}"
        agent = self._all[name] = _SubAgent(card, read.text(value.get("title")), background)
        out.append(ToolCallUpdated(card, "sub_agent", agent.title or None, "agent", "running"))
        if background:
            self._tell(out)

    def end(self, value: dict[str, Any], out: list[Event]) -> None:
        """``agent_end``: done. What it ended with is the result of its call, or, in the background, told here."""
        agent = self._all.pop(read.text(value.get("agent")), None)
        if agent is None:
            return
        if agent.background:
            outcome = value.get("outcome")
            known = _OUTCOMES.get(outcome) if isinstance(outcome, str) else None
            status: ToolStatus = known or ("failed" if value.get("is_error") is True else "completed")
            text = read.text(value.get("text"))
            out.append(ToolCallUpdated(agent.card, status=status, output=text if text and not agent.said else None))
            self._tell(out)

    def event(self, name: str, value: dict[str, Any], out: list[Event]) -> None:
        """An event of the sub-agent called ``name``."""
        if value["type"] == "agent_start":
            self.start(value, out)
            return
        agent = self._all.get(name)
        if agent is None:
            agent = self._all[name] = _SubAgent(f"sub:{name}", "", True)
            out.append(ToolCallUpdated(agent.card, "sub_agent", name, "agent", "running"))
        kind = value["type"]
        if kind == "agent_end":
            self.end(value, out)
            return
        if kind == "text_delta":
            self._say(agent, read.text(value.get("text")), out)
        elif kind == "message_end" and value.get("role") == "assistant":
            agent.gap = agent.said
        elif kind in self._handlers:
            self._handlers[kind]({**value, "parent": agent.card}, out)

    def going_on(self, *, aborted: bool = False) -> set[str]:
        """Who works on in the background when the turn ends; an abort ends them too (hm RPC, "Commands", abort)."""
        return set() if aborted else {name for name, agent in self._all.items() if agent.background}

    def turn_ended(self, going_on: set[str], out: list[Event]) -> None:
        """The main agent's turn is over, and with it every sub-agent but those. (Its end closed their cards too.)"""
        changed = any(agent.background for name, agent in self._all.items() if name not in going_on)
        self._all = {name: agent for name, agent in self._all.items() if name in going_on}
        out.extend(ToolCallUpdated(agent.card, status="running") for agent in self._all.values())
        if changed:
            self._tell(out)

    def _say(self, agent: _SubAgent, text: str, out: list[Event]) -> None:
        if text:
            out.append(ToolOutputAppended(agent.card, "\n\n" + text if agent.gap else text))
            agent.said, agent.gap = True, False

    def _tell(self, out: list[Event]) -> None:
        at_work = [Background("subagent", a.card, a.title or n) for n, a in self._all.items() if a.background]
        out.append(SessionUpdated({"background": at_work}))
