"""Who may do what: guard rules, mode, flag and session rules judge a planned call; what is left open waits for the person.

Source: hm RPC, "Approvals". :func:`judge` decides, in this order: deny rules; what the mode refuses; ask rules and what
asks in every mode (outside the workspace, credentials, hidden characters); allow rules and those of the session; the
mode. :class:`Desk` holds what waits; it knows no wire.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from .guard.judge import Guard, careful, hidden_characters, session_host
from .modes import BUILT_IN, DEFAULT_MODE, Leave, Mode, mode_help, modes
from .tools.base import Plan
from .tools.workspace import Workspace

MODES: dict[str, str] = mode_help(modes())
"""The modes built in, and what each means."""

__all__ = ["DEFAULT_MODE", "MODES", "Decision", "Desk", "Edited", "EditedFile", "Verdict", "judge", "with_edits"]


@dataclass(slots=True)
class Verdict:
    """What is to happen to a call. ``flag``: it asks, and ``--approve`` answers. ``rule``: which rule let it run or refused
    it, or, when it asks, which rule "allow for session" would make ("" offers none)."""

    what: Literal["run", "ask", "flag", "refuse"]
    reason: str = ""
    rule: str = ""


def judge(
    plan: Plan,
    *,
    mode: Mode | str,
    approve: str,
    rules: set[str],
    workspace: Workspace,
    guard: Guard | None = None,
    tool: str = "",
) -> Verdict:
    """What all of them say about ``plan``, a call of ``tool``. ``rules`` are the session's. An unknown mode asks."""
    if isinstance(mode, str):
        mode = modes().get(mode) or BUILT_IN[0]
    said = (guard or Guard()).judge(plan, workspace, tool=tool)
    if said.what == "deny":
        return Verdict(
            "refuse", f"a guard rule forbids it: {said.rule}{f'; {said.reason}' if said.reason else ''}", said.rule
        )
    leave = _leave(plan, mode)
    if leave == "refuse":
        what = "only reads" if mode.edits == mode.commands == "refuse" else f"refuses {_kind(plan)}"
        return Verdict("refuse", f'mode is "{mode.name}", which {what}: say what you would do instead')
    reason = said.reason if said.what == "ask" and said.must else careful(plan, workspace)
    if not reason and plan.risk == "shell" and hidden_characters(plan.command):
        reason = "the command holds characters that are invisible or change its direction"
    if reason:
        return _asks(plan, approve, reason)
    rule = _rule(plan, workspace)
    if said.what == "allow":
        return Verdict("run", rule=said.rule)
    if rule and rule in rules:
        return Verdict("run", rule=rule)
    if said.what == "ask":
        return _asks(plan, approve, said.reason, rule)
    if leave == "allow":
        return Verdict("run")
    why = f'mode is "{mode.name}": every {_kind(plan)[:-1]} needs your leave'
    return _asks(plan, approve, f"{why}; {said.reason}" if said.reason else why, rule)


def _asks(plan: Plan, approve: str, reason: str, rule: str = "") -> Verdict:
    free = plan.risk == "edit" and (rule != "")  # --approve edits is for the work at hand, not for what is careful
    by_flag = approve == "all" or (approve == "edits" and free)
    return Verdict("flag" if by_flag else "ask", reason, rule)


def _leave(plan: Plan, mode: Mode) -> Leave:
    if plan.risk == "edit":
        return mode.edits
    if plan.risk == "shell":
        return mode.commands
    return "allow"


def _kind(plan: Plan) -> str:
    return "commands" if plan.risk == "shell" else "edits"


def _rule(plan: Plan, workspace: Workspace) -> str:
    """What "allow for session" would allow, verbatim: this very command, edits in the workspace, this host."""
    if plan.risk == "shell":
        return f"shell: {plan.command}"
    if plan.risk == "edit":
        return f"edit: {workspace.root}/**"
    if plan.risk == "fetch":
        host = session_host(plan.url)
        return f"fetch: {host}" if host else ""
    return ""


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
