"""The reducer's share of tool calls, approvals and questions. Pure, like the rest of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .. import events as ev
from ..transcript import (
    CLOSED,
    Append,
    Decision,
    Op,
    Pending,
    PendingApproval,
    PendingQuestion,
    Put,
    QuestionEntry,
    Rope,
    State,
    ToolEntry,
    Transcript,
)
from .state import call_entry, new_entry_id, pending_request, running_turn, status_of, without


def tool_updated(t: Transcript, e: ev.ToolCallUpdated, now: float) -> list[Op]:
    known = call_entry(t, e.replaces) if e.replaces else None
    known = known or call_entry(t, e.call_id)
    if isinstance(known, QuestionEntry):
        return _question_closed(t, known, e)
    if known is None or (known.status in CLOSED and known.turn != t.state.turn and e.name is not None):
        # an id used again in a later turn is another call
        known = ToolEntry(new_entry_id(t, e.call_id), t.state.turn, e.call_id)
    changes: dict[str, Any] = {"call_id": e.call_id}
    for name in (
        "name",
        "title",
        "category",
        "input",
        "diffs",
        "images",
        "exit_code",
        "parent",
        "locations",
        "cancelable",
    ):
        value = getattr(e, name)
        if value is not None:
            changes[name] = value
    if e.output is not None:
        changes["output"] = Rope(e.output)
    if e.status is not None:
        changes |= _status_change(known, e.status, now)
    ops: list[Op] = [Put(replace(known, **changes))]
    if changes.get("status") in CLOSED:
        ops += _dropped(t, e.call_id)
    return ops


def _status_change(known: ToolEntry, status: ev.ToolStatus, now: float) -> dict[str, Any]:
    if known.status == "denied":  # what an agent tells of a call it was refused; it stays denied
        return {"ended": now} if status in CLOSED else {}
    changes: dict[str, Any] = {"status": status}
    if status == "running" and known.started is None:
        changes["started"] = now
    if status in CLOSED:
        changes["ended"] = now
        if known.started is None and status in ("completed", "failed"):
            changes["started"] = now
    return changes


def tool_output(t: Transcript, e: ev.ToolOutputAppended, now: float) -> list[Op]:
    known = call_entry(t, e.call_id)
    if isinstance(known, ToolEntry):
        return [Append(known.id, "output", e.text)]
    if known is not None:
        return []
    return [Put(ToolEntry(new_entry_id(t, e.call_id), t.state.turn, e.call_id, output=Rope(e.text)))]


def approval_requested(t: Transcript, e: ev.ApprovalRequested, now: float) -> list[Op]:
    known = call_entry(t, e.call_id)
    if not isinstance(known, ToolEntry):
        known = ToolEntry(new_entry_id(t, e.call_id), t.state.turn, e.call_id, e.tool, e.summary)
    known = replace(
        known,
        name=known.name or e.tool,
        title=known.title or e.summary,
        category=e.category or known.category,
        diffs=e.diffs or known.diffs,
    )
    if e.auto:
        return [Put(known)]
    request = PendingApproval(
        e.request_id, e.call_id, t.state.turn, e.tool, e.category or known.category, e.summary, e.command, e.cwd,
        list(e.paths), list(e.diffs), e.input if e.input is not None else known.input, e.rule, e.reason,
        e.for_session, list(e.options), since=now, deny_note=e.deny_note,
    )  # fmt: skip
    return [
        Put(replace(known, status="pending", started=None)),
        _pending(t, [*without(t.state.pending, e.request_id), request]),
    ]


def approval_resolved(t: Transcript, e: ev.ApprovalResolved, now: float) -> list[Op]:
    request = pending_request(t.state, e.request_id)
    ops: list[Op] = []
    known = call_entry(t, request.call_id if request else e.request_id)
    if isinstance(known, ToolEntry):
        approval = request if isinstance(request, PendingApproval) else None
        rule = approval.rule if approval and e.for_session else ""
        way = approval.deny_note if approval else ""
        decision = Decision(e.outcome, e.by, e.via, e.note, e.for_session, rule, e.files, e.edited, e.option, way)
        changes: dict[str, Any] = {"decision": decision}
        if known.status not in CLOSED:
            if e.outcome == "allowed":
                changes |= {"status": "running", "started": now}
            elif e.outcome != "chosen":  # what becomes of it then, the agent will tell
                changes |= {"status": "denied" if e.outcome == "denied" else "interrupted", "ended": now}
        ops.append(Put(replace(known, **changes)))
    if request is not None:
        ops.append(_pending(t, without(t.state.pending, request.request_id)))
    return ops


def question_requested(t: Transcript, e: ev.QuestionRequested, now: float) -> list[Op]:
    known = call_entry(t, e.call_id)
    # the question takes the place of the call that asks it
    entry_id = known.id if known is not None else new_entry_id(t, e.call_id)
    entry = QuestionEntry(
        entry_id, t.state.turn, e.call_id, e.text, list(e.choices), form=e.form, url=e.url, source=e.source
    )
    request = PendingQuestion(
        e.request_id,
        e.call_id,
        t.state.turn,
        e.text,
        list(e.choices),
        e.multi,
        e.free,
        e.form,
        e.url,
        e.source,
        since=now,
    )
    return [Put(entry), _pending(t, [*without(t.state.pending, e.request_id), request])]


def question_resolved(t: Transcript, e: ev.QuestionResolved, now: float) -> list[Op]:
    request = pending_request(t.state, e.request_id)
    ops: list[Op] = []
    known = call_entry(t, request.call_id if request else e.request_id)
    if isinstance(known, QuestionEntry) and known.status == "waiting":
        ops.append(Put(replace(known, status=e.outcome, answer=e.answer, by=e.by, via=e.via)))
    if request is not None:
        ops.append(_pending(t, without(t.state.pending, request.request_id)))
    return ops


def decision_sent(t: Transcript, e: ev.DecisionSent, now: float) -> list[Op]:
    request = pending_request(t.state, e.request_id)
    if request is None:
        return []
    changed = replace(request, state="sending" if e.sent else "waiting")
    return [_pending(t, [changed if p is request else p for p in t.state.pending])]


def _question_closed(t: Transcript, known: QuestionEntry, e: ev.ToolCallUpdated) -> list[Op]:
    """The asking call came to its end: whatever still waits for an answer does so no more."""
    if known.status != "waiting" or e.status not in CLOSED:
        return []
    outcome: Any = "answered" if e.status == "completed" else "interrupted"
    return [Put(replace(known, status=outcome, answer=known.answer or (e.output or ""))), *_dropped(t, e.call_id)]


def _dropped(t: Transcript, call_id: str) -> list[Op]:
    """The call is over, and with it what waits for a decision on it."""
    left = [p for p in t.state.pending if p.call_id != call_id]
    return [_pending(t, left)] if len(left) < len(t.state.pending) else []


def _pending(t: Transcript, pending: list[Pending]) -> State:
    running = running_turn(t) is not None
    return State({"pending": pending, "status": status_of(t.state, running=running, pending=pending)})
