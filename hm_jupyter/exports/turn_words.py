"""The words of a turn as a whole: its header line, how it ended, several small steps as one.

Plain text in, plain text out, as in :mod:`.wording`; whoever writes them down escapes them.
"""

from __future__ import annotations

from ..events import Usage
from ..transcript import Entry, SessionState, ThoughtEntry, ToolEntry, UserEntry
from . import safe
from .decided import asked_of_person
from .view import TurnView
from .wording import cost, number, spent, tokens


def headline(view: TurnView, state: SessionState, *, times: bool = False) -> list[str]:
    """The header line's parts: how it ended, agent, model, calls, approvals, tokens, cost."""
    turn, tools = view.turn, view.tools
    head = {"finished": "Finished", "stopped": "Stopped", "failed": "Failed"}.get(
        turn.status if turn else "", "Working"
    )
    parts = [head, state.agent, (turn.model if turn and turn.model else state.model)]
    if times and turn:
        parts.append(spent(turn))
    if tools:
        failed = sum(t.status == "failed" for t in tools)
        parts.append(number(len(tools), "tool call") + (f", {failed} failed" if failed else ""))
    asked = sum(t.decision is not None and t.decision.by == "you" for t in tools)
    if asked:
        parts.append(number(asked, "approval"))
    usage = turn.usage if turn else Usage()
    if usage.input + usage.output:
        parts.append(tokens(usage.input + usage.output))
    if usage.cost is not None:
        parts.append(cost(usage.cost))
    if turn is not None and turn.turn == state.turn:  # what is known is how it stands now
        parts += standing(state)
    return [safe.one_line(p, 80) for p in parts if p]


def standing(state: SessionState) -> list[str]:
    """How full the context is and what the session has cost, where the agent says so."""
    parts = []
    if state.context is not None and state.context_size:
        percent = min(100, max(0, round(100 * state.context / state.context_size)))
        if percent:  # less is no news
            parts.append(f"context {percent} % of {tokens(state.context_size).replace('.0', '')}")
    if state.spent:
        parts.append(f"{safe.one_line(state.spent, 24)} spent")
    return parts


def ending(view: TurnView) -> tuple[str, str]:
    """The ending line of a turn that did not just finish: what happened, then what it left behind; or two empty texts."""
    turn = view.turn
    if (
        turn is None
        or turn.status == "running"
        or (turn.status == "finished" and turn.stop_reason in (None, "end_turn"))
    ):
        return "", ""
    first = {
        "cancelled": "This turn was stopped." if turn.error else "You stopped this turn.",
        "max_steps": "The agent stopped at its limit of steps. Send another message to let it go on.",
        "max_tokens": "The model stopped at its limit of tokens. Send another message to let it go on.",
        "refusal": "The model refused to go on.",
        "error": "This turn failed.",
        "agent_exited": "The agent stopped.",
    }.get(turn.stop_reason or "", "This turn failed." if turn.status == "failed" else "This turn was stopped.")
    undecided = sum(t.decision is not None and t.decision.outcome == "interrupted" for t in view.tools)
    cut = sum(t.status == "interrupted" for t in view.tools) - undecided
    dropped = sum(isinstance(e, UserEntry) and e.status == "dropped" for e in view.entries)
    rest = [
        f"{number(cut, 'tool call')} interrupted" if cut > 0 else "",
        f"{number(undecided, 'approval')} not decided" if undecided else "",
        f"{number(dropped, 'message')} never read" if dropped else "",
    ]
    after = ", ".join(r for r in rest if r)
    return first, " ".join(s for s in (turn.error.strip(), after + "." if after else "") if s)


# ---- several small steps in one row -----------------------------------------------------------------------------------------


def small(entry: Entry) -> bool:
    """A step that may share a row with its neighbours: a thought, or a read or search that went well unasked."""
    if isinstance(entry, ThoughtEntry):
        return True
    return (
        isinstance(entry, ToolEntry) and entry.category in ("read", "search") and entry.status == "completed"
        and not asked_of_person(entry) and not entry.images and not entry.diffs
    )  # fmt: skip


def summary(entries: list[Entry]) -> str:
    """ "Thought, read 3 files, searched twice"."""
    thoughts = sum(isinstance(e, ThoughtEntry) for e in entries)
    reads = sum(isinstance(e, ToolEntry) and e.category == "read" for e in entries)
    searches = sum(isinstance(e, ToolEntry) and e.category == "search" for e in entries)
    times = {1: "searched once", 2: "searched twice"}.get(searches, f"searched {searches} times")
    parts = ["thought" if thoughts else "", f"read {number(reads, 'file')}" if reads else "", times if searches else ""]
    out = ", ".join(p for p in parts if p)
    return out[:1].upper() + out[1:]
