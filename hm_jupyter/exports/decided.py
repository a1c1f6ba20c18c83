"""How a call's approval was decided, as sentences with the note quoted: the same in html, markdown and text.

Plain text in, plain text out, as in :mod:`.wording`; whoever writes them down escapes them.
"""

from __future__ import annotations

from ..transcript import Decision, ToolEntry
from . import safe
from .wording import named, number, relative


def decision(tool: ToolEntry) -> str:
    """How its approval was decided, as sentences with the note quoted; "" when none was needed."""
    d = tool.decision
    if d is None:
        return ""
    if d.outcome == "allowed":
        out = _allowed(tool, d)
    elif d.outcome == "denied":
        out = {
            "you": "You denied it",
            "policy": "The session’s policy refused it",
            # also for a stop while it waited, which is no rule: the note says why
            "agent": "The agent’s rules refused it" if d.rule else "The agent refused it",
        }[d.by]
        return (f"{out}: {quoted(d.note)}" if d.note.strip() else out + ".") + _chosen(d)
    elif d.outcome == "chosen":
        out = f"{_chosen(d).strip()} Whether that allows the call, only the agent knows."
    elif d.outcome == "withdrawn":
        out = "The agent withdrew its request before you decided."
    else:
        out = "Not decided: the turn ended first."
    return f"{out} Note: {quoted(d.note)}" if d.note.strip() else out


def asked_of_person(tool: ToolEntry) -> bool:
    """Is its decision worth a sentence in the open? Not when a mode or a policy let it through."""
    d = tool.decision
    return d is not None and (d.outcome != "allowed" or d.by == "you" or bool(d.note.strip()))


def quoted(note: str) -> str:
    """A note in quotation marks."""
    return f"“{note.strip()}”"


def _allowed(tool: ToolEntry, d: Decision) -> str:
    who = {"you": "You allowed", "policy": "The session’s policy allowed", "agent": "The agent’s mode allowed"}[d.by]
    if d.files is not None:
        every = [relative(x.path) for x in tool.diffs]
        chosen = [relative(f) for f in d.files]
        left = [p for p in every if p not in chosen]
        total = len(chosen) + len(left)
        out = f"{who} {len(chosen)} of {number(total, 'file')}." if left else f"{who} {number(total, 'file')}."
        if left:
            out += f" Left alone: {named(left)}."
    else:
        out = f"{who} it."
    if d.option:
        out += _chosen(d)
    elif d.for_session:
        out = out[:-1] + (f" for this session, by the rule {d.rule}." if d.rule else " for this session.")
    if d.edited:
        out += f" You edited {named(d.edited)} first."
    return out


def _chosen(d: Decision) -> str:
    """Which of the agent's options it was, in the agent's words, and that it lasts."""
    if not d.option:
        return ""
    who = "It chose" if d.by == "policy" else "You chose"
    return f" {who}: {quoted(safe.one_line(d.option))}" + (", which lasts beyond this call." if d.for_session else ".")
