"""The words of a finished turn, the same in html, markdown and text: verbs, facts, decisions as sentences, endings.

Plain text in, plain text out; whoever writes them down escapes them. (ui reference, "Wording" and "Frozen output".)
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from ..events import FileDiff, Usage
from ..transcript import (
    Decision,
    Entry,
    PlanEntry,
    QuestionEntry,
    SessionState,
    ThoughtEntry,
    ToolEntry,
    UserEntry,
    to_json,
)  # fmt: skip
from . import diffs, safe
from .view import TurnView

VERBS = {
    "shell": "Shell",
    "read": "Read",
    "edit": "Edit",
    "search": "Search",
    "fetch": "Fetch",
    "ask": "Ask",
    "plan": "Plan",
    "agent": "Sub-agent",
}
_LABELS = {
    "completed": "finished", "failed": "failed", "denied": "denied", "skipped": "skipped", "interrupted": "interrupted",
    "running": "running", "paused": "paused", "pending": "not started", "drafting": "not started",
}  # fmt: skip
_EXIT = re.compile(
    r"^\W{0,8}(?:command )?(?:exit(?:ed)?(?: with)?(?: code| status)?)[ :=]{1,3}(-?\d{1,10})\W{0,8}$", re.I
)


def number(n: int, one: str, many: str = "") -> str:
    """ "1 file", "3 files"."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def tokens(n: int) -> str:
    """A count of tokens in at most four figures: 812, 41.2k, 1.3M."""
    if n < 1_000:
        return f"{n} tokens"
    return f"{n / 1_000:.1f}k tokens" if n < 999_950 else f"{n / 1_000_000:.1f}M tokens"


def cost(dollars: float | None) -> str:
    """``$0.18``; more places where two would say nothing."""
    if dollars is None:
        return ""
    return f"${dollars:.2f}" if dollars >= 0.01 or dollars == 0 else f"${dollars:.4f}"


def duration(seconds: float) -> str:
    """0.9 s, 42 s, 1:48, 1:02:03."""
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return (
        f"{whole // 60}:{whole % 60:02d}"
        if whole < 3600
        else f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
    )


def spent(entry: Any) -> str:
    """How long it took, or ""."""
    started, ended = getattr(entry, "started", None), getattr(entry, "ended", None)
    return duration(ended - started) if started and ended else ""


# ---- tools -----------------------------------------------------------------------------------------------------------


def _field(value: Any, *names: str) -> str:
    if isinstance(value, dict):
        for name in names:
            if isinstance(value.get(name), str) and value[name]:
                return str(value[name])
    return ""


def relative(path: str) -> str:
    """A path inside the session's folder without its leading ``./``."""
    return path[2:] if path.startswith("./") and len(path) > 2 else path


def pretty(value: Any) -> str:
    """An agent's JSON for people."""
    if isinstance(value, str):
        return value
    return json.dumps(to_json(value), ensure_ascii=False, indent=2, default=str)


def verb(tool: ToolEntry) -> str:
    """What kind of thing it did; a tool of no known kind is called by its own name."""
    return VERBS.get(tool.category) or safe.one_line(tool.name, 24) or "Tool"


def command(tool: ToolEntry) -> str:
    """The exact text a shell call ran, "" for other tools."""
    if tool.category != "shell":
        return ""
    if isinstance(tool.input, str):
        return tool.input
    given = tool.input.get("command") if isinstance(tool.input, dict) else None
    if isinstance(given, list) and all(isinstance(a, str) for a in given):
        return " ".join(given)
    return _field(tool.input, "command", "cmd", "script") or tool.title


def _bare(title: str, verb: str) -> str:
    """A title without the verb that stands before it, and without the marks of code around the whole of it."""
    if not verb or title.lower() == verb.lower():
        return "" if verb else title
    if title.lower().startswith(verb.lower() + " "):
        title = title[len(verb) + 1 :].strip()
    return title[1:-1] if len(title) > 2 and title[0] == title[-1] == "`" and "`" not in title[1:-1] else title


def target(tool: ToolEntry) -> str:
    """What it did it to: command, path, pattern, address; else the agent's title for it."""
    if tool.category == "shell":
        first, _, more = command(tool).strip().partition("\n")
        return f"{first} …" if more else first
    if tool.category == "edit" and tool.diffs:
        return ", ".join(relative(d.path) for d in applied(tool)[:20])
    given = tool.input
    if tool.category in ("read", "edit"):
        found = relative(_field(given, "path", "file_path", "filename", "file"))
    elif tool.category == "search":
        found = _field(given, "pattern", "query", "regex", "glob", "path")
    elif tool.category == "fetch":
        found = _field(given, "url", "uri")
    else:
        found = ""
    title = relative(_bare(tool.title, VERBS.get(tool.category, "")))
    if not found and title in ("", tool.name) and tool.locations:
        return _named(tool.locations)
    if found or (title and title != tool.name):
        return found or title
    if isinstance(given, str):
        return given
    if not given:
        return tool.name if tool.category in VERBS else ""
    if isinstance(given, dict) and len(given) == 1 and isinstance(next(iter(given.values())), str):
        return relative(str(next(iter(given.values()))))
    return json.dumps(to_json(given), ensure_ascii=False, default=str)[:2_000]


def exit_code(tool: ToolEntry) -> int | None:
    """A command's exit code: the entry's own, else what the last line of its output says."""
    if tool.exit_code is not None:
        return tool.exit_code
    if tool.category != "shell":
        return None
    for at in (-1, 0):
        lines = str(tool.output).strip().split("\n")
        m = _EXIT.match(lines[at].strip()[:80])
        if m:
            return int(m[1])
    return None


def label(tool: ToolEntry) -> str:
    """How it ended, in one or two words."""
    decision = tool.decision
    if decision is not None and decision.outcome == "withdrawn":
        return "withdrawn by the agent"
    if decision is not None and decision.outcome == "interrupted":
        return "not decided"
    return _LABELS.get(tool.status, str(tool.status))


@dataclass(slots=True)
class Change:
    """What an edit changed: its diffs and their sum."""

    files: list[diffs.Unified]

    @property
    def added(self) -> int:
        return sum(f.added for f in self.files)

    @property
    def removed(self) -> int:
        return sum(f.removed for f in self.files)


def applied(tool: ToolEntry) -> list[FileDiff]:
    """The changes that were made (without the files the person left out), or would have been if it was refused."""
    d = tool.decision
    if d is None or d.files is None or d.outcome != "allowed":
        return tool.diffs
    names = {relative(f) for f in d.files}
    return [x for x in tool.diffs if relative(x.path) in names]


def change(tool: ToolEntry) -> Change:
    """The files an edit changed, as diffs."""
    kept = applied(tool)
    return Change([diffs.unified(FileDiff(relative(d.path), d.old, d.new, d.partial)) for d in kept])


def quoted(note: str) -> str:
    """A note in quotation marks."""
    return f"“{note.strip()}”"


def _named(paths: list[str]) -> str:
    shown = ", ".join(relative(p) for p in paths[:10])
    return shown + (f" and {len(paths) - 10} more" if len(paths) > 10 else "")


def _allowed(tool: ToolEntry, d: Decision) -> str:
    who = {"you": "You allowed", "policy": "The session’s policy allowed", "agent": "The agent’s mode allowed"}[d.by]
    if d.files is not None:
        every = [relative(x.path) for x in tool.diffs]
        chosen = [relative(f) for f in d.files]
        left = [p for p in every if p not in chosen]
        total = len(chosen) + len(left)
        out = f"{who} {len(chosen)} of {number(total, 'file')}." if left else f"{who} {number(total, 'file')}."
        if left:
            out += f" Left alone: {_named(left)}."
    else:
        out = f"{who} it."
    if d.option:
        out += _chosen(d)
    elif d.for_session:
        out = out[:-1] + (f" for this session, by the rule {d.rule}." if d.rule else " for this session.")
    if d.edited:
        out += f" You edited {_named(d.edited)} first."
    return out


def _chosen(d: Decision) -> str:
    """Which of the agent's options it was, in the agent's words, and that it lasts."""
    if not d.option:
        return ""
    who = "It chose" if d.by == "policy" else "You chose"
    return f" {who}: {quoted(safe.one_line(d.option))}" + (", which lasts beyond this call." if d.for_session else ".")


def places(tool: ToolEntry) -> list[str]:
    """Where it was at work, as far as its row does not say so."""
    said, paths = target(tool), [relative(d.path) for d in tool.diffs]
    where = [relative(at) for at in tool.locations[:50]]
    return [at for at in where if at not in said and not any(at == p or at.startswith(p + ":") for p in paths)]


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
    elif d.outcome == "withdrawn":
        out = "The agent withdrew its request before you decided."
    else:
        out = "Not decided: the turn ended first."
    return f"{out} Note: {quoted(d.note)}" if d.note.strip() else out


def asked_of_person(tool: ToolEntry) -> bool:
    """Is its decision worth a sentence in the open? Not when a mode or a policy let it through."""
    d = tool.decision
    return d is not None and (d.outcome != "allowed" or d.by == "you" or bool(d.note.strip()))


# ---- questions, messages ------------------------------------------------------------------------------------------------


def answer(question: QuestionEntry) -> str:
    """What became of a question, without the answer's text."""
    if question.url and question.by == "you" and question.status in ("answered", "skipped"):
        return "You agreed to open it" if question.status == "answered" else "You declined"
    if question.status == "answered":
        return {
            "you": "You answered",
            "policy": "Answered by the session’s policy",
            "agent": "The agent answered it itself",
        }[question.by]
    return {
        "skipped": "You skipped it" if question.by == "you" else "Skipped: nobody could be asked",
        "withdrawn": "The agent withdrew its question",
        "interrupted": "Not answered: the turn ended first",
    }.get(question.status, "Not answered yet")


def reply(question: QuestionEntry) -> str:
    """The answer's text, by the label of the choice where it is one; "" where there is none to show."""
    if question.status != "answered" or (question.url and question.answer == question.url):
        return ""
    return {c.value: c.label or c.value for c in question.choices}.get(question.answer, question.answer)


def asked_for(question: QuestionEntry) -> str:
    """What a form that was not answered asked for; the answer names the fields itself."""
    if question.status == "answered" or not question.form:
        return ""
    return "Asked for: " + ", ".join(safe.one_line(f.title or f.name, 80) for f in question.form[:50]) + "."


# ---- plans ---------------------------------------------------------------------------------------------------------------


def plan_head(plan: PlanEntry) -> str:
    """ "2 of 4 done", and that it was withdrawn; "" for one in prose."""
    kept = [i for i in plan.items if i.get("status") != "cancelled"]
    done = sum(i.get("status") == "done" for i in kept)
    parts = [f"{done} of {len(kept)} done" if kept else "", "withdrawn by the agent" if plan.removed else ""]
    return ", ".join(p for p in parts if p)


def plan_note(item: dict[str, str]) -> str:
    """What is to be said of an item behind its text: that it was cancelled, or how urgent it is while it is open."""
    status, priority = item.get("status"), item.get("priority")
    if status == "cancelled":
        return "cancelled"
    return f"{priority} priority" if priority in ("high", "low") and status != "done" else ""


def sent(message: UserEntry) -> str:
    """How a message of the person was delivered."""
    what = {"prompt": "You asked", "steer": "You steered", "follow_up": "You queued"}.get(message.delivery, "You wrote")
    if message.delivery == "prompt":
        return what
    return what + {"read": ", read by the agent", "dropped": ", never read by the agent"}.get(message.status, "")


# ---- the turn ------------------------------------------------------------------------------------------------------------


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
