"""A transcript of what was told: the events of a session, as its journal keeps them, become what exports write down.

The same shapes a client has, made without a client: the events are our own, whole, and in order. Knows no files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Literal

from ..events import Choice, FileDiff, Image, Usage
from ..transcript import (
    CompactionEntry,
    Decision,
    Entry,
    MessageEntry,
    NoticeEntry,
    PlanEntry,
    QuestionEntry,
    Rope,
    SessionState,
    ThoughtEntry,
    ToolEntry,
    Transcript,
    TurnEntry,
    UserEntry,
)  # fmt: skip

Event = dict[str, Any]

_PLAN = {"in_progress": "active", "completed": "done", "cancelled": "cancelled"}
_FAILED = ("error", "max_steps", "max_tokens", "refusal", "agent_exited")


def transcript(events: Iterable[Event], state: SessionState, category: Callable[[str], str]) -> Transcript:
    """The transcript of a session; ``category`` gives a tool's. ``state`` is taken as it is, with the turns counted."""
    return _Teller(state, category).tell(events)


class _Teller:
    def __init__(self, state: SessionState, category: Callable[[str], str]) -> None:
        self.out = Transcript(state)
        self._category = category
        self._turn: TurnEntry | None = None
        self._number = 0
        self._count = 0
        self._agents: dict[str, str] = {}  # a sub-agent's id, and the call it works for
        self._shown: PlanEntry | None = None

    def tell(self, events: Iterable[Event]) -> Transcript:
        for event in events:
            handler = _HANDLERS.get(str(event.get("type")))
            if handler is not None:
                handler(self, event)
        self.out.state.turn = self._number
        return self.out

    def _put(self, entry: Entry) -> None:
        self.out.entries[entry.id] = entry

    def _id(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"

    # ---- turns and messages ----

    def _message_end(self, event: Event) -> None:
        if event.get("agent"):
            return  # a sub-agent's words to itself: what came of them is the result of its call
        role, text, at = event.get("role"), _text(event, "text"), _time(event)
        if role == "user":
            delivery: Literal["prompt", "steer"] = "steer" if self._turn is not None else "prompt"
            if self._turn is None:
                self._begin(at)
            pictures = [
                Image(p["data"], str(p.get("mime") or ""))
                for p in event.get("images") or () if isinstance(p, dict) and isinstance(p.get("data"), str)
            ]  # fmt: skip
            self._put(UserEntry(self._id("user"), self._number, text, delivery, "read", pictures, at=at))
        elif role == "assistant":
            thinking = _text(event, "thinking")
            if thinking:
                self._put(ThoughtEntry(self._id("thought"), self._number, Rope(thinking), False))
            if text:
                cut = event.get("interrupted") is True
                self._put(MessageEntry(self._id("message"), self._number, Rope(text), False, cut))

    def _begin(self, at: float) -> None:
        self._number += 1
        self._shown = None
        self._turn = TurnEntry(f"turn{self._number}", self._number, started=at)
        self._put(self._turn)

    def _usage(self, event: Event) -> None:
        def count(name: str) -> int:
            value = event.get(name)
            return value if isinstance(value, int) else 0

        cost = event.get("cost")
        used = Usage(
            count("input"), count("output"), count("cache_read"), count("cache_write"),
            float(cost) if isinstance(cost, (int, float)) else None,
        )  # fmt: skip
        if self._turn is not None:
            self._turn.usage = self._turn.usage + used

    def _turn_end(self, event: Event) -> None:
        turn = self._turn
        reason: Any = event.get("stop_reason") or "end_turn"
        if turn is None:
            return
        turn.ended, turn.error, turn.stop_reason = _time(event), _text(event, "error"), reason
        turn.status = "stopped" if reason == "cancelled" else "failed" if reason in _FAILED else "finished"
        self._turn = None

    # ---- calls ----

    def _tool_call(self, event: Event) -> None:
        name = _text(event, "tool")
        self._put(
            ToolEntry(
                f"tool:{event.get('call_id')}",
                self._number,
                _text(event, "call_id"),
                name,
                _text(event, "summary"),
                self._category(name),
                "running",
                event.get("input"),
                started=_time(event),
                parent=self._agents.get(_text(event, "agent"), ""),
            )
        )

    def _approval_needed(self, event: Event) -> None:
        tool = self._tool(event)
        if tool is not None and not tool.diffs:
            tool.diffs = _diffs(event)

    def _approval(self, event: Event) -> None:
        tool = self._tool(event)
        if tool is None:
            return
        files = event.get("files")
        tool.decision = Decision(
            "allowed" if event.get("allow") is True else "denied", "you" if event.get("by") == "user" else "agent",
            note=_text(event, "note"), for_session=event.get("for_session") is True, rule=_text(event, "rule"),
            files=[f for f in files if isinstance(f, str)] if isinstance(files, list) else None,
        )  # fmt: skip

    def _tool_result(self, event: Event) -> None:
        asked = self.out.entries.get(f"question:{event.get('call_id')}")
        if isinstance(asked, QuestionEntry):
            answered = not event.get("is_error")
            asked.status, asked.answer = ("answered", _text(event, "text")) if answered else ("skipped", "")
        tool = self._tool(event)
        if tool is None:
            return
        tool.output, tool.ended = Rope(_text(event, "text")), _time(event)
        tool.exit_code = event.get("exit_code") if isinstance(event.get("exit_code"), int) else None
        tool.diffs = _diffs(event) or tool.diffs
        outcome = event.get("outcome")
        denied = event.get("refused") is True or (tool.decision is not None and tool.decision.outcome == "denied")
        if outcome in ("skipped", "interrupted"):
            tool.status = outcome
        elif denied:
            tool.status = "denied"
        else:
            tool.status = "failed" if event.get("is_error") is True else "completed"

    def _question(self, event: Event) -> None:
        choices = [
            Choice(_text(c, "value"), _text(c, "label"), _text(c, "help"))
            for c in event.get("choices") or ()
            if isinstance(c, dict)
        ]
        call = _text(event, "call_id")
        self._put(QuestionEntry(f"question:{call}", self._number, call, _text(event, "text"), choices))

    def _tool(self, event: Event) -> ToolEntry | None:
        found = self.out.entries.get(f"tool:{event.get('call_id')}")
        return found if isinstance(found, ToolEntry) else None

    # ---- everything else ----

    def _agent_start(self, event: Event) -> None:
        self._agents[_text(event, "agent")] = _text(event, "call_id")

    def _plan(self, event: Event) -> None:
        given = event.get("items")
        items = [
            {"text": _text(i, "text"), "status": _PLAN.get(_text(i, "status"), "pending")}
            for i in (given if isinstance(given, list) else ()) if isinstance(i, dict)
        ]  # fmt: skip
        if self._shown is None:
            self._shown = PlanEntry(self._id("plan"), self._number)
            self._put(self._shown)
        self._shown.items, self._shown.removed = items or self._shown.items, not items

    def _notice(self, event: Event) -> None:
        level = event.get("level")
        shown: Any = level if level in ("info", "warning", "error") else "warning"
        self._put(NoticeEntry(self._id("notice"), self._number, _text(event, "text"), shown))

    def _retry(self, event: Event) -> None:
        text = f"The model did not answer ({_text(event, 'reason')}) and was asked again."
        self._put(NoticeEntry(self._id("notice"), self._number, text, "info"))

    def _compaction_end(self, event: Event) -> None:
        error = _text(event, "error")
        self._put(
            CompactionEntry(
                self._id("compaction"), self._number, "failed" if error else "done", _text(event, "summary"), error
            )
        )


_HANDLERS: dict[str, Callable[[_Teller, Event], None]] = {
    "message_end": _Teller._message_end,
    "usage": _Teller._usage,
    "turn_end": _Teller._turn_end,
    "tool_call": _Teller._tool_call,
    "approval_needed": _Teller._approval_needed,
    "approval": _Teller._approval,
    "tool_result": _Teller._tool_result,
    "question": _Teller._question,
    "agent_start": _Teller._agent_start,
    "plan": _Teller._plan,
    "notice": _Teller._notice,
    "retry": _Teller._retry,
    "compaction_end": _Teller._compaction_end,
}


def _text(event: Event, name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""


def _time(event: Event) -> float:
    try:
        return datetime.fromisoformat(_text(event, "time").replace("Z", "+00:00")).timestamp()
    except ValueError:
        return 0.0


def _diffs(event: Event) -> list[FileDiff]:
    files = event.get("files")
    return [
        FileDiff(f["path"], f.get("old"), f.get("new"))
        for f in (files if isinstance(files, list) else ()) if isinstance(f, dict) and isinstance(f.get("path"), str)
    ]  # fmt: skip
