"""Events in, operations out: the one place that decides what a session looks like.

``reduce`` reads the transcript and changes nothing; applying the operations it returns does. The time is handed in.
Tool calls, approvals and questions have a file of their own, ``reduce_calls``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .. import events as ev
from ..transcript import (
    Append,
    CompactionEntry,
    MessageEntry,
    NoticeEntry,
    Op,
    PlanEntry,
    Put,
    Rope,
    State,
    ThoughtEntry,
    Transcript,
    TurnEntry,
    UnknownEntry,
    UserEntry,
)
from . import reduce_calls
from .state import closing, running_turn, status_of, unread

STATE_FIELDS = frozenset(
    {
        "session_id", "root", "title", "mode", "modes", "provider", "model", "models", "effort", "context", "usage",
        "protocol", "labels", "options", "commands", "auth", "background", "context_size", "spent",
    }
)  # fmt: skip


def appended(t: Transcript, event: ev.TextAppended) -> Append | None:
    """The hot path, one token: what it leads to where its message is there already, else None (:func:`reduce` knows)."""
    entry = t.entries.get("m:" + event.message_id)
    return None if entry is None else Append(entry.id, "text", event.text)


def reduce(t: Transcript, event: ev.Event, now: float) -> list[Op]:
    """The operations ``event`` leads to. ``now``: seconds since the epoch."""
    if type(event) is ev.TextAppended and (op := appended(t, event)) is not None:
        return [op]
    turn = running_turn(t)
    if turn is not None and not turn.started:
        now = 0.0  # an earlier turn, told again: nothing in it has a time
    return _REDUCERS[type(event)](t, event, now)


# ---- the session ---------------------------------------------------------------------------------------------------


def _session_started(t: Transcript, e: ev.SessionStarted, now: float) -> list[Op]:
    patch: dict[str, Any] = {
        "session_id": e.session_id,
        "root": e.root,
        "mode": e.mode,
        "provider": e.provider,
        "model": e.model,
    }
    ops: list[Op] = []
    if t.state.session_id and t.state.session_id != e.session_id:
        ops.append(_notice(t, f"The session goes on as {e.session_id}, a fork of {t.state.session_id}.", "info"))
    if t.state.status == "starting":
        patch["status"] = "ready"
    return [*ops, State(patch)]


def _start_refused(t: Transcript, e: ev.StartRefused, now: float) -> list[Op]:
    return [State({"auth": list(e.sign_in)})] if e.sign_in else []  # whoever waits for the start raises the reason


def _session_updated(t: Transcript, e: ev.SessionUpdated, now: float) -> list[Op]:
    patch = {k: v for k, v in e.changes.items() if k in STATE_FIELDS and getattr(t.state, k) != v}
    return [State(patch)] if patch else []


def _session_ended(t: Transcript, e: ev.SessionEnded, now: float) -> list[Op]:
    return []  # AgentExited follows and says how it ended


def _agent_exited(t: Transcript, e: ev.AgentExited, now: float) -> list[Op]:
    ops = _messages_dropped(t, ev.MessagesDropped(), now)
    if running_turn(t) is not None:
        ops += _turn_ended(t, ev.TurnEnded("agent_exited", e.reason), now)
    else:
        ops += closing(t, interrupted=True, now=now)
    if not e.expected:
        ops.append(_notice(t, e.reason or "The agent ended.", "error", e.stderr))
    ended = {"status": "ended", "ended": e.reason or "The agent ended.", "pending": [], "link": ""}
    ops.append(State(ended))
    return ops


# ---- turns and messages --------------------------------------------------------------------------------------------


def _begin_turn(t: Transcript, now: float) -> tuple[int, list[Op]]:
    number = t.state.turn + 1
    entry = TurnEntry(f"turn:{number}", number, model=t.state.model, mode=t.state.mode, started=now)
    return number, [State({"turn": number, "status": "working"}), Put(entry)]


def _turn_started(t: Transcript, e: ev.TurnStarted, now: float) -> list[Op]:
    return [] if running_turn(t) is not None else _begin_turn(t, 0.0 if e.earlier else now)[1]


def _turn_ended(t: Transcript, e: ev.TurnEnded, now: float) -> list[Op]:
    turn = running_turn(t)
    if turn is None:
        return []
    status: Any = {"end_turn": "finished", "cancelled": "stopped"}.get(e.stop_reason, "failed")
    ops = closing(t, interrupted=status != "finished", now=now)
    ops.append(Put(replace(turn, status=status, stop_reason=e.stop_reason, error=e.error, ended=now)))
    ops.append(State({"status": status_of(t.state, running=False, pending=[])}))
    return ops


def _message_sent(t: Transcript, e: ev.MessageSent, now: float) -> list[Op]:
    ops: list[Op] = []
    number = t.state.turn
    if (
        e.delivery == "prompt" and running_turn(t) is None
    ):  # else the agent began a turn just before: it is part of that
        number, ops = _begin_turn(t, now)
    status: Any = "sent" if e.delivery == "prompt" else "queued"
    entry = UserEntry(
        f"u:{e.command_id}", number, e.text, e.delivery, status, list(e.images), list(e.attachments), at=now
    )
    return [*ops, Put(entry)]


def _messages_dropped(t: Transcript, e: ev.MessagesDropped, now: float) -> list[Op]:
    return [
        Put(replace(entry, status="dropped"))
        for entry in t.unread()
        if (entry.delivery != "prompt" if e.command_ids is None else entry.id[2:] in e.command_ids)
    ]


def _text_appended(t: Transcript, e: ev.TextAppended, now: float) -> list[Op]:
    entry_id = "m:" + e.message_id
    if entry_id in t.entries:
        return [Append(entry_id, "text", e.text)]
    if e.role == "thought":
        return [Put(ThoughtEntry(entry_id, t.state.turn, Rope(e.text), started=now))]
    return [Put(MessageEntry(entry_id, t.state.turn, Rope(e.text)))]


def _message_updated(t: Transcript, e: ev.MessageUpdated, now: float) -> list[Op]:
    if e.role == "user":
        return _user_read(t, e, now)
    entry = t.entries.get("m:" + e.message_id)
    text = None if e.text is None else Rope(e.text)
    if isinstance(entry, ThoughtEntry):
        ended = now if e.final and entry.ended is None else entry.ended
        return [Put(replace(entry, text=entry.text if text is None else text, open=not e.final, ended=ended))]
    if isinstance(entry, MessageEntry):
        images = entry.images if e.images is None else e.images
        text = entry.text if text is None else text
        return [Put(replace(entry, text=text, open=not e.final, images=images, entry=e.entry or entry.entry))]
    if not text and not e.images:
        return []  # an empty message leaves no trace
    if e.role == "thought":
        ended = now if e.final else None
        return [Put(ThoughtEntry("m:" + e.message_id, t.state.turn, text or Rope(), not e.final, now, ended))]
    images = list(e.images or [])
    return [
        Put(MessageEntry("m:" + e.message_id, t.state.turn, text or Rope(), not e.final, images=images, entry=e.entry))
    ]


def _user_read(t: Transcript, e: ev.MessageUpdated, now: float) -> list[Op]:
    ours = unread(t, e.text or "")
    if ours is not None:
        return [Put(replace(ours, status="read", turn=t.state.turn, entry=e.entry))]
    if not e.text and not e.images:
        return []
    entry_id = "u:" + e.message_id
    images = list(e.images or [])
    return [Put(UserEntry(entry_id, t.state.turn, e.text or "", "prompt", "read", images, at=now, entry=e.entry))]


# ---- the rest ------------------------------------------------------------------------------------------------------


def _usage(t: Transcript, e: ev.UsageReported, now: float) -> list[Op]:
    ops: list[Op] = [State({"usage": t.state.usage + e.usage})]
    turn = running_turn(t)
    if turn is not None:
        ops.append(Put(replace(turn, usage=turn.usage + e.usage)))
    return ops


def _plan(t: Transcript, e: ev.PlanUpdated, now: float) -> list[Op]:
    return [Put(PlanEntry(_plan_id(t, e.plan_id), t.state.turn, e.items, e.markdown))]


def _plan_id(t: Transcript, plan_id: str) -> str:
    return f"plan:{t.state.turn}:{plan_id}" if plan_id else f"plan:{t.state.turn}"


def _plan_removed(t: Transcript, e: ev.PlanRemoved, now: float) -> list[Op]:
    entry = t.entries.get(_plan_id(t, e.plan_id))
    return [Put(replace(entry, removed=True))] if isinstance(entry, PlanEntry) else []


def _link(t: Transcript, e: ev.LinkChanged, now: float) -> list[Op]:
    if t.state.status == "ended":
        return []
    state = replace(t.state, link="" if e.up else e.reason or "The connection was lost.")
    running = running_turn(t) is not None
    return [State({"link": state.link, "status": status_of(state, running=running, pending=state.pending)})]


def _compaction_started(t: Transcript, e: ev.CompactionStarted, now: float) -> list[Op]:
    return [Put(CompactionEntry(f"c:{len(t.entries)}", t.state.turn))]


def _compaction_ended(t: Transcript, e: ev.CompactionEnded, now: float) -> list[Op]:
    status: Any = "failed" if e.error else "done"
    for entry in reversed(t.entries.values()):
        if isinstance(entry, CompactionEntry) and entry.status == "running":
            return [Put(replace(entry, status=status, summary=e.summary, error=e.error))]
    return [Put(CompactionEntry(f"c:{len(t.entries)}", t.state.turn, status, e.summary, e.error))]


def _notice(t: Transcript, text: str, level: ev.Level, detail: str = "") -> Put:
    return Put(NoticeEntry(f"n:{len(t.entries)}", t.state.turn, text, level, detail))


def _notice_raised(t: Transcript, e: ev.NoticeRaised, now: float) -> list[Op]:
    return [_notice(t, e.text, e.level, e.detail)]


def _unknown(t: Transcript, e: ev.UnknownReceived, now: float) -> list[Op]:
    return [Put(UnknownEntry(f"x:{len(t.entries)}", t.state.turn, e.name, e.raw))]


def _command_answered(t: Transcript, e: ev.CommandAnswered, now: float) -> list[Op]:
    return []


_REDUCERS: dict[type, Callable[[Transcript, Any, float], list[Op]]] = {
    ev.SessionStarted: _session_started,
    ev.StartRefused: _start_refused,
    ev.SessionUpdated: _session_updated,
    ev.SessionEnded: _session_ended,
    ev.AgentExited: _agent_exited,
    ev.LinkChanged: _link,
    ev.TurnStarted: _turn_started,
    ev.TurnEnded: _turn_ended,
    ev.MessageSent: _message_sent,
    ev.MessagesDropped: _messages_dropped,
    ev.TextAppended: _text_appended,
    ev.MessageUpdated: _message_updated,
    ev.ToolCallUpdated: reduce_calls.tool_updated,
    ev.ToolOutputAppended: reduce_calls.tool_output,
    ev.ApprovalRequested: reduce_calls.approval_requested,
    ev.ApprovalResolved: reduce_calls.approval_resolved,
    ev.QuestionRequested: reduce_calls.question_requested,
    ev.QuestionResolved: reduce_calls.question_resolved,
    ev.DecisionSent: reduce_calls.decision_sent,
    ev.UsageReported: _usage,
    ev.PlanUpdated: _plan,
    ev.PlanRemoved: _plan_removed,
    ev.CompactionStarted: _compaction_started,
    ev.CompactionEnded: _compaction_ended,
    ev.NoticeRaised: _notice_raised,
    ev.UnknownReceived: _unknown,
    ev.CommandAnswered: _command_answered,
}
