"""Deciding with ``input()``: what to print, what to ask, and what the line that came back means.

For front-ends with no widget and for kernels that hear no click while a cell runs. Pure text and meaning; ``waiting.py``
does the asking. Everything shown was written by an agent, so it is shown exactly: hidden characters are written out.
"""

from __future__ import annotations

import re
from typing import Union

from ..commands import Answer, Approve
from ..events import ApprovalOption
from ..exports.diffs import unified
from ..exports.safe import plain
from ..transcript import Pending, PendingApproval, PendingQuestion

YES = frozenset({"y", "yes", "allow"})
SESSION = frozenset({"s", "session"})
NO = frozenset({"n", "no", "deny"})
SKIP = "/skip"

Meaning = Union[Approve, Answer, str]
"""A command, or a sentence that says why the line is none and asks again."""


def describe(request: Pending) -> str:
    """What is to be decided, whole: the text printed above the input line."""
    return "\n".join(_approval(request) if isinstance(request, PendingApproval) else _question(request))


def prompt(request: Pending) -> str:
    """The input line's own text."""
    if isinstance(request, PendingQuestion):
        if request.url:
            return "y = agree (open it yourself), n = decline: "
        return f"Your answer ({SKIP} to leave it open): "
    session = ", s = allow for this session" if request.for_session else ""
    number = "a number, " if request.options else ""
    return f"{number}y = allow once{session}, n = deny, or write what to do instead: "


def meaning(request: Pending, line: str) -> Meaning:
    """What ``line`` decides. An empty line decides nothing, and only the plain words allow anything."""
    line = line.strip()
    if not line:
        return "Nothing was decided: an empty line is no answer."
    if isinstance(request, PendingQuestion):
        return _answer(request, line)
    word = line.lower()
    if request.options and word.isdecimal():
        return _option(request, int(word))
    if word in YES:
        return Approve(request_id=request.request_id, allow=True)
    if word in SESSION:
        if not request.for_session:
            return "This call cannot be allowed for the session: answer y or n."
        return Approve(request_id=request.request_id, allow=True, for_session=True)
    if word in NO:
        return Approve(request_id=request.request_id, allow=False)
    note = re.sub(r"(?i)^n(o)?[:,]?\s+", "", line)
    return Approve(request_id=request.request_id, allow=False, note=note)


def _option(request: PendingApproval, number: int) -> Meaning:
    """The agent's own way to decide with that number, as it was shown."""
    if not 1 <= number <= len(request.options):
        return f"There is no option {number}: choose 1 to {len(request.options)}."
    option = request.options[number - 1]
    return Approve(
        request_id=request.request_id,
        allow=option.kind in ("allow_once", "allow_session"),
        for_session=option.kind == "allow_session",
        option_id=option.id,
    )


def _answer(request: PendingQuestion, line: str) -> Meaning:
    if line == SKIP:
        return Answer(request_id=request.request_id, skip=True)
    if request.url:
        if line.lower() in YES:
            return Answer(request_id=request.request_id, text="yes")
        if line.lower() in NO:
            return Answer(request_id=request.request_id, skip=True)
        return "Answer y or n."
    if not request.choices:
        return Answer(request_id=request.request_id, text=line)
    parts = [p.strip() for p in line.split(",")] if request.multi else [line]
    chosen = [_choice(request, p) for p in parts]
    known = [c for c in chosen if c is not None]
    if len(known) == len(chosen):
        return Answer(request_id=request.request_id, text=", ".join(known))
    if request.free:
        return Answer(request_id=request.request_id, text=line)
    several = " (several: 1, 3)" if request.multi else ""
    return f"Choose by number, 1 to {len(request.choices)}{several}."


def _choice(request: PendingQuestion, part: str) -> str | None:
    if part.isdecimal() and 1 <= int(part) <= len(request.choices):
        return request.choices[int(part) - 1].value
    return next((c.value for c in request.choices if part in (c.value, c.label)), None)


def _approval(request: PendingApproval) -> list[str]:
    tool = plain(request.tool or request.category or "a tool", exact=True)
    if request.diffs:
        files = len(request.diffs)
        lines = [f"The agent wants to change {files} file{'s' if files != 1 else ''}:"]
        for diff in request.diffs:
            found = unified(diff)
            lines += ["", f"  {plain(diff.path, exact=True)}  (+{found.added} -{found.removed})"]
            lines += [f"  | {plain(str(line), exact=True)}" for line in found.lines]
    elif request.command:
        lines = ["The agent wants to run:", ""]
        lines += [
            f"  {'$' if i == 0 else '>'} {plain(t, exact=True)}" for i, t in enumerate(request.command.split("\n"))
        ]
    else:
        lines = [f"The agent wants to use {tool}:", ""]
        given = request.summary if request.input is None else f"{request.summary}\n{_json(request.input)}"
        lines += [f"  {plain(t, exact=True)}" for t in given.strip().split("\n")]
    touched = ", ".join(p for p in request.paths if p != request.cwd)
    # An agent with options of its own writes its own words there; else it is the rule or the mode that had it ask.
    why = "agent says" if request.options else "asks because"
    facts = [("in", request.cwd), ("touches", touched), (why, request.reason)]
    if request.for_session:
        facts.append(("for the session allows", request.rule))
    shown = [f"  {name}: {plain(value, exact=True)}" for name, value in facts if value]
    if shown:
        lines += ["", *shown]
    if request.options:
        lines += ["", *(f"  {i}. {option_text(o)}" for i, o in enumerate(request.options, 1))]
    return lines


def option_text(option: ApprovalOption) -> str:
    """An option in the agent's words, and in ours what it amounts to where it lasts or refuses."""
    means = {
        "allow_once": "allows once",
        "allow_session": "allows, and lasts",
        "deny_once": "denies",
        "deny_session": "denies, and lasts",
    }
    said = means.get(option.kind, "a kind not known here: what it does is the agent's to say")
    return f"{plain(option.name or option.id, exact=True)}  ({said})"


def _question(request: PendingQuestion) -> list[str]:
    who = f" ({plain(request.source, exact=True)})" if request.source else ""
    lines = [f"The agent asks{who}:", ""]
    lines += [f"  {plain(t, exact=True)}" for t in request.text.split("\n")]
    if request.url:
        lines += ["", "  It wants you to open this page in your browser:", f"  {plain(request.url, exact=True)}"]
    if request.form:
        lines += [
            "",
            f"  A form of {len(request.form)}; {SKIP} leaves it unanswered, an empty line takes what is in [ ].",
        ]
    for i, choice in enumerate(request.choices, 1):
        text = choice.label or choice.value
        lines.append(
            f"  {i}. {plain(text, exact=True)}" + (f"  ({plain(choice.help, exact=True)})" if choice.help else "")
        )
    return lines


def _json(value: object) -> str:
    import json

    return json.dumps(value, indent=2, ensure_ascii=False, default=str)
