"""Questions one asks of a transcript while reducing: pure look-ups and derivations, nothing is changed here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..transcript import (
    CLOSED,
    CompactionEntry,
    Decision,
    Entry,
    MessageEntry,
    Op,
    Pending,
    PendingApproval,
    Put,
    QuestionEntry,
    SessionState,
    State,
    Status,
    ThoughtEntry,
    ToolEntry,
    Transcript,
    TurnEntry,
    UserEntry,
)


def running_turn(t: Transcript) -> TurnEntry | None:
    """The turn that runs, if one does."""
    entry = t.entries.get(f"turn:{t.state.turn}")
    return entry if isinstance(entry, TurnEntry) and entry.status == "running" else None


def call_entry(t: Transcript, call_id: str) -> ToolEntry | QuestionEntry | None:
    """The tool call or question with that call id: of the running turn, else the newest."""
    entry = t.entries.get(f"t{t.state.turn}:{call_id}")
    if isinstance(entry, (ToolEntry, QuestionEntry)) and entry.call_id == call_id:
        return entry
    return t.call(call_id)


def new_entry_id(t: Transcript, call_id: str) -> str:
    """The id of a new entry for that call. The usual one may be taken, by a call that came to have another call id."""
    entry_id = stem = f"t{t.state.turn}:{call_id}"
    number = 1
    while entry_id in t.entries:
        number += 1
        entry_id = f"{stem}#{number}"
    return entry_id


def pending_request(state: SessionState, request_id: str) -> Pending | None:
    """What waits under that request id, else under that call id.

    In this order: call ids are the agent's to choose, and one that is the id of another request must not be decided with it.
    """
    for p in state.pending:
        if p.request_id == request_id:
            return p
    return next((p for p in state.pending if p.call_id == request_id), None)


def unread(t: Transcript, text: str) -> UserEntry | None:
    """The message of ours the agent has just read: the oldest unread one with that text, else the unread prompt.

    A prompt's wire text can differ from what was typed (attachments are written out in it), so the prompt of the
    running turn also matches without it.
    """
    waiting = t.unread()
    for e in waiting:
        if e.text.strip() == text.strip():
            return e
    for e in waiting:
        if e.turn == t.state.turn and (e.delivery == "prompt" or e.attachments):
            return e
    return None


def status_of(state: SessionState, *, running: bool, pending: list[Pending]) -> Status:
    """The session's status, derived."""
    if state.status == "ended":
        return "ended"
    if state.link:
        return "offline"
    if any(p.state == "waiting" for p in pending):
        return "waiting"
    if running:
        return "working"
    return "starting" if not state.session_id else "ready"


def without(pending: list[Pending], request_id: str) -> list[Pending]:
    """``pending`` less one request."""
    return [p for p in pending if p.request_id != request_id]


def closing(t: Transcript, *, interrupted: bool, now: float) -> list[Op]:
    """Operations that close whatever is still open, for on every ending nothing stays so.

    After an orderly end a call that never began was skipped (hm RPC, "Commands", steer).
    """
    ops: list[Op] = []
    waiting = {p.call_id for p in t.state.pending if isinstance(p, PendingApproval)}
    for entry in t.open():
        closed = _closed(entry, interrupted=interrupted, now=now, undecided=getattr(entry, "call_id", "") in waiting)
        if closed is not None:
            ops.append(Put(closed))
    if t.state.pending:
        ops.append(State({"pending": []}))
    return ops


def _closed(entry: Entry, *, interrupted: bool, now: float, undecided: bool) -> Entry | None:
    if isinstance(entry, MessageEntry) and entry.open:
        return replace(entry, open=False, interrupted=interrupted)
    if isinstance(entry, ThoughtEntry) and entry.open:
        return replace(entry, open=False, ended=now)
    if isinstance(entry, ToolEntry) and entry.status not in CLOSED:
        begun = entry.started is not None
        decision = Decision("interrupted") if undecided and entry.decision is None else entry.decision
        status: Any = "skipped" if not interrupted and not begun else "interrupted"
        return replace(entry, status=status, ended=now, decision=decision)
    if isinstance(entry, QuestionEntry) and entry.status == "waiting":
        return replace(entry, status="interrupted")
    if isinstance(entry, CompactionEntry) and entry.status == "running":
        return replace(entry, status="interrupted")
    return None
