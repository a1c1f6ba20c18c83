"""Who may do what: mode, flag and rules judge a planned call; what is left open waits for the person.

Source: hm RPC, "Approvals". :func:`judge` is pure. :class:`Desk` holds what waits; it knows no wire. A workspace's
guard.yaml comes with a later issue: its deny rules belong at the top of :func:`judge`, its allow rules beside the
session's.
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from .tools.base import Plan
from .tools.workspace import Workspace

MODES: dict[str, str] = {
    "ask": "every command and every edit needs your leave",
    "edit": "edits in the workspace are free; every command needs your leave",
    "auto": "commands, and edits in the workspace, are free",
    "plan": "read only: commands and edits are refused",
}
"""The modes, and what each means."""

DEFAULT_MODE = "ask"


@dataclass(slots=True)
class Verdict:
    """What is to happen to a call. ``flag``: it asks, and ``--approve`` answers. ``rule``: which rule let it run, or,
    when it asks, which rule "allow for session" would make ("" offers none)."""

    what: Literal["run", "ask", "flag", "refuse"]
    reason: str = ""
    rule: str = ""


def judge(plan: Plan, *, mode: str, approve: str, rules: set[str], workspace: Workspace) -> Verdict:
    """What mode, ``--approve`` and the session's rules say about ``plan``."""
    if mode == "plan" and plan.risk in ("shell", "edit"):
        return Verdict("refuse", 'mode is "plan", which only reads: say what you would do instead')
    rule = _rule(plan, workspace)
    if rule and rule in rules:
        return Verdict("run", rule=rule)
    reason = _why_ask(plan, mode, workspace)
    if not reason:
        return Verdict("run")
    by_flag = approve == "all" or (approve == "edits" and plan.risk == "edit" and not plan.outside)
    return Verdict("flag" if by_flag else "ask", reason, rule)


def _why_ask(plan: Plan, mode: str, workspace: Workspace) -> str:
    if plan.outside:
        return f"outside the workspace: {', '.join(str(p) for p in plan.outside)}"
    if plan.risk == "shell":
        if hidden_characters(plan.command):
            return "the command holds characters that are invisible or change its direction"
        if mode in ("ask", "edit"):
            return f'mode is "{mode}": every command needs your leave'
    if plan.risk == "edit" and mode == "ask":
        return 'mode is "ask": every edit needs your leave'
    return ""


def _rule(plan: Plan, workspace: Workspace) -> str:
    """What "allow for session" would allow, verbatim. No rule for what leaves the workspace or hides something."""
    if plan.outside:
        return ""
    if plan.risk == "shell":
        return "" if hidden_characters(plan.command) else f"shell: {plan.command}"
    if plan.risk == "edit":
        return f"edit: {workspace.root}/**"
    return ""


def hidden_characters(text: str) -> bool:
    """Whether ``text`` holds characters nobody sees or takes for a space, that turn it around or drive a terminal."""
    return any(unicodedata.category(c) in ("Cf", "Cc", "Cs", "Zl", "Zp", "Zs") and c not in " \n\t" for c in text)


@dataclass(slots=True)
class EditedFile:
    """A file as the person wants it: its path as sent, its whole new content."""

    path: str
    content: str


@dataclass(slots=True)
class Decision:
    """What was decided. ``by`` is ``user``, ``flag``, ``rule`` or ``agent`` (an abort; nobody there to answer)."""

    allow: bool
    by: Literal["user", "flag", "rule", "agent"] = "user"
    note: str = ""
    for_session: bool = False
    edits: Sequence[EditedFile] | None = None


@dataclass(slots=True)
class Edited:
    """A plan as the person wants it: ``skipped`` files are left out, ``changed`` ones have the person's text."""

    plan: Plan
    skipped: list[str]
    changed: list[str]


def with_edits(plan: Plan, edits: Sequence[EditedFile], workspace: Workspace) -> Edited:
    """``plan`` reduced to the files in ``edits`` with their content; files it did not plan are ignored."""
    wanted: dict[str, str] = {}
    for edit in edits:
        try:
            wanted[str(workspace.locate(edit.path))] = edit.content
        except ValueError:
            continue
    kept, skipped, changed = [], [], []
    for change in plan.changes:
        content = wanted.get(str(change.path))
        if content is None:
            skipped.append(change.name)
            continue
        if content != change.new:
            changed.append(change.name)
        kept.append(replace(change, new=content))
    return Edited(replace(plan, changes=kept), skipped, changed)


class Desk:
    """What waits for the person: approvals and questions by call id. ``close`` when nobody can answer any more."""

    def __init__(self) -> None:
        self._approvals: dict[str, tuple[asyncio.Future[Decision], Plan]] = {}
        self._questions: dict[str, asyncio.Future[str | None]] = {}
        self.closed = False

    @property
    def approvals(self) -> list[str]:
        return [c for c, (f, _) in self._approvals.items() if not f.done()]

    @property
    def questions(self) -> list[str]:
        return [c for c, f in self._questions.items() if not f.done()]

    def planned(self, call_id: str) -> Plan | None:
        """The plan that waits under ``call_id``, if one does."""
        return self._approvals[call_id][1] if call_id in self.approvals else None

    def decide(self, call_id: str, decision: Decision) -> bool:
        """Hand in a decision; False when that call waits for none."""
        if call_id not in self.approvals:
            return False
        self._approvals[call_id][0].set_result(decision)
        return True

    def answer(self, call_id: str, text: str) -> bool:
        """Hand in an answer; False when that call waits for none."""
        if call_id not in self.questions:
            return False
        self._questions[call_id].set_result(text)
        return True

    def close(self) -> None:
        """Nobody can answer any more: refuse what waits, and whatever will."""
        self.closed = True
        for decision, _ in self._approvals.values():
            if not decision.done():
                decision.set_result(_nobody())
        for answer in self._questions.values():
            if not answer.done():
                answer.set_result(None)

    async def decision(self, call_id: str, plan: Plan) -> Decision:
        """Wait for the person, however long."""
        if self.closed:
            return _nobody()
        future: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._approvals[call_id] = (future, plan)
        try:
            return await future
        finally:
            del self._approvals[call_id]

    async def reply(self, call_id: str) -> str | None:
        """Wait for an answer, however long; None when there will be none."""
        if self.closed:
            return None
        future: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._questions[call_id] = future
        try:
            return await future
        finally:
            del self._questions[call_id]


def _nobody() -> Decision:
    return Decision(False, "agent", "Nobody can answer: the input of this session is closed.")
