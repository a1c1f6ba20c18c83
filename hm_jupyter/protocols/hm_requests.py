"""What the hm wire asks a person: approvals and questions, and what we said to them.

:class:`Requests` remembers what waits, which decisions and answers we sent (the wire tells of them only in part) and
puts together all that a person must see. The calls themselves are :mod:`hm_jupyter.protocols.hm_calls`; who may decide
what, and how, is not known here.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

from ..commands import Answer, Approve
from ..events import (
    ApprovalRequested,
    ApprovalResolved,
    Event,
    FileDiff,
    NoticeRaised,
    QuestionRequested,
    QuestionResolved,
    UnknownReceived,
)
from . import hm_read as read
from .hm_calls import Call, Calls

_EXTENDED = ("rule", "reason", "cwd", "files", "auto")
_BY: dict[str, Literal["you", "agent"]] = {"user": "you", "flag": "agent", "rule": "agent", "agent": "agent"}

LOST = "What the agent wrote about this did not arrive here; deny it, or answer so, if you cannot tell what it is."
"""Shown for what ``get_state`` says is waiting and we know nothing else of."""


class Requests:
    """The approvals and questions of the running turn.

    Args:
        calls: the turn's tool calls; every request belongs to one.
        agent_approve: the agent's own ``--approve``: "all" and "edits" mark the approvals it decides itself.
    """

    def __init__(self, calls: Calls, agent_approve: str = "ask") -> None:
        self.agent_approve = agent_approve
        self.extended = False  # the agent writes our extensions, so that a missing one says something
        self._calls = calls
        self._approvals: dict[str, ApprovalRequested] = {}
        self._questions: dict[str, QuestionRequested] = {}
        self._decisions: dict[str, list[Approve]] = {}
        self._answers: dict[str, list[Answer]] = {}

    # ---- what we sent -----------------------------------------------------------------------------------------------

    def sent(self, command: Approve | Answer) -> None:
        """A decision or an answer is on its way."""
        if isinstance(command, Approve):
            self._decisions.setdefault(command.request_id, []).append(command)
        else:
            self._answers.setdefault(command.request_id, []).append(command)

    def refused(self, command: Approve | Answer) -> None:
        """The agent did not take it (too late, or twice): it decided nothing."""
        kept = self._decisions if isinstance(command, Approve) else self._answers
        kept[command.request_id] = [c for c in kept.get(command.request_id, []) if c.id != command.id]  # type: ignore[misc]

    def accepted(self, answer: Answer, out: list[Event]) -> None:
        """The agent took our answer; hm writes no event that says so."""
        if answer.request_id in self._questions:
            del self._questions[answer.request_id]
            out.append(_answered(answer))

    # ---- what the agent says ----------------------------------------------------------------------------------------

    def approval_needed(self, value: dict[str, Any], out: list[Event]) -> None:
        """``approval_needed``: everything a person must see to decide, from the event or else from its call."""
        call_id = read.text(value.get("call_id"))
        if not call_id:
            out.append(
                NoticeRaised(
                    "The agent asks for approval of a call but does not name it, so it cannot be decided; "
                    "stop the turn if it does not go on.",
                    detail=read.text(value.get("command")) or read.text(value.get("summary")),
                )
            )
            return
        call = self._calls.known(call_id, value, out)
        self.extended = self.extended or any(name in value for name in _EXTENDED)
        given = value.get("category")
        category = call.category if given is None else read.category(call.tool, given)
        arguments = call.input if call.input is not None else value.get("input")
        files = read.file_changes(value.get("files"))
        if files:
            call.planned = files
        elif category != "shell" and not call.planned:
            call.planned = read.planned_changes(arguments)
        rule = read.text(value.get("rule"))
        auto = value.get("auto")
        if not isinstance(auto, bool):
            auto = self.agent_approve == "all" or (self.agent_approve == "edits" and category == "edit")
        call.asked = True
        self._calls.set_status(call_id, call, "pending", out)
        self._approvals[call_id] = ApprovalRequested(
            call_id,
            call_id,
            tool=read.text(value.get("tool")) or call.tool,
            category=category,
            summary=read.text(value.get("summary")) or call.title,
            command=read.text(value.get("command")) or read.command_line(arguments),
            cwd=read.text(value.get("cwd")) or read.working_folder(arguments),
            paths=read.texts(value.get("paths")) or read.touched_paths(arguments, call.planned),
            diffs=list(call.planned),
            input=arguments,
            rule=rule,
            reason=read.text(value.get("reason")),
            # hm does not say which calls allow it; an agent that names rules offers it only with one.
            for_session=bool(rule) or not self.extended,
            auto=auto,
        )
        out.append(self._approvals[call_id])

    def approval(self, value: dict[str, Any], out: list[Event]) -> None:
        """``approval``: decided, by whomever (hm RPC, "Approvals"): with ``edits`` and ``all`` without our approve."""
        call_id = read.text(value.get("call_id"))
        if not call_id:
            out.append(UnknownReceived("approval", value))
            return
        call = self._calls.known(call_id, value, out)
        allow = value.get("allow")
        if not isinstance(allow, bool):
            sent = self._decisions.get(call_id)
            allow = sent[0].allow if sent else False
        self._resolve(call_id, call, allow, value, out)
        self._calls.set_status(call_id, call, "running" if allow else "denied", out)

    def question(self, value: dict[str, Any], out: list[Event]) -> None:
        """``question``: the agent asks and waits for an answer (hm RPC, "Questions")."""
        call_id, text = read.text(value.get("call_id")), read.text(value.get("text"))
        if not call_id:
            out.append(
                NoticeRaised(
                    "The agent asks a question but does not say for which call, so it cannot be answered; "
                    "stop the turn if it does not go on.",
                    detail=text,
                )
            )
            return
        call = self._calls.known(call_id, {"tool": "ask_user", **value}, out)
        self._calls.set_status(call_id, call, "running", out)
        self._questions[call_id] = QuestionRequested(
            call_id,
            call_id,
            text,
            read.choices(value.get("choices")),
            value.get("multi") is True,
            value.get("free") is not False,
        )
        out.append(self._questions[call_id])

    def result(self, value: dict[str, Any], out: list[Event]) -> None:
        """``tool_result``: what of its call still waits is settled by it; then the call is over."""
        call_id = read.text(value.get("call_id"))
        if call_id in self._approvals:
            self._resolve(call_id, self._calls.known(call_id, value, out), not read.failed(value), {}, out)
        if call_id in self._questions:
            del self._questions[call_id]
            answers = self._answers.get(call_id)
            out.append(_answered(answers[0]) if answers else QuestionResolved(call_id, "withdrawn", by="agent"))
        self._calls.result(value, out)

    # ---- what else happens ------------------------------------------------------------------------------------------

    def restore(self, data: dict[str, Any], out: list[Event]) -> None:
        """``get_state`` names what waits (hm RPC, "Commands"): ask again for what we missed, take down what is gone."""
        approvals, questions = data.get("pending_approvals"), data.get("pending_questions")
        if isinstance(approvals, list):
            for call_id in read.texts(approvals):
                if call_id and call_id not in self._approvals:
                    self.approval_needed({"call_id": call_id, "summary": self._calls.title(call_id) or LOST}, out)
            for call_id in set(self._approvals).difference(read.texts(approvals)):
                if not self._decisions.get(call_id):  # else its ``approval`` is on its way
                    del self._approvals[call_id]
                    out.append(ApprovalResolved(call_id, "withdrawn"))
        if isinstance(questions, list):
            for call_id in read.texts(questions):
                if call_id and call_id not in self._questions:
                    self.question({"call_id": call_id, "text": LOST}, out)
            for call_id in set(self._questions).difference(read.texts(questions)):
                if not self._answers.get(call_id):
                    del self._questions[call_id]
                    out.append(QuestionResolved(call_id, "withdrawn", by="agent"))

    def end(self, out: list[Event], *, aborted: bool, going_on: Collection[str] = ()) -> list[Event]:
        """The turn is over: what still waits can no longer be decided, and nothing of it is remembered.

        What sub-agents that go on wait for is returned, to be asked again after the turn's end, which closes everything.
        """
        outcome: Literal["interrupted", "withdrawn"] = "interrupted" if aborted else "withdrawn"
        lasting = {i for i in (*self._approvals, *self._questions) if self._calls.agent(i) in (going_on or ())}
        out.extend(ApprovalResolved(call_id, outcome) for call_id in sorted({*self._approvals} - lasting))
        out.extend(QuestionResolved(call_id, outcome, by="agent") for call_id in sorted({*self._questions} - lasting))
        for kept in (self._approvals, self._questions, self._decisions, self._answers):
            for call_id in [i for i in kept if i not in lasting]:
                del kept[call_id]
        return [*self._approvals.values(), *self._questions.values()]

    # ---- within ------------------------------------------------------------------------------------------------------

    def _resolve(self, call_id: str, call: Call, allow: bool, value: dict[str, Any], out: list[Event]) -> None:
        """Tell a decision, with what we said ourselves when it was ours."""
        self._approvals.pop(call_id, None)
        call.asked = False
        ours = next((d for d in self._decisions.get(call_id, ()) if d.allow is allow), None)
        said = value.get("by")
        by = _BY.get(said) if isinstance(said, str) else None
        if by is None:
            by = "you" if ours else "agent"
        elif by == "agent":
            ours = None
        note, for_session, files = value.get("note"), value.get("for_session"), value.get("files")
        edits = ours.edits if ours and allow else None
        applied = read.texts(files) if isinstance(files, list) else None
        edited = None
        if edits is not None:
            whole = {diff.path: diff for diff in call.planned if not diff.partial}
            call.applied = [FileDiff(e.path, whole[e.path].old if e.path in whole else None, e.content) for e in edits]
            applied = [e.path for e in edits] if applied is None else applied
            edited = [e.path for e in edits if e.path not in whole or whole[e.path].new != e.content]
        out.append(
            ApprovalResolved(
                call_id,
                "allowed" if allow else "denied",
                by,
                note=note if isinstance(note, str) else (ours.note if ours else ""),
                for_session=for_session if isinstance(for_session, bool) else bool(ours and ours.for_session),
                files=applied,
                edited=edited,
            )
        )


def _answered(answer: Answer) -> QuestionResolved:
    if answer.skip:
        return QuestionResolved(answer.request_id, "skipped")
    return QuestionResolved(answer.request_id, "answered", answer.text)
