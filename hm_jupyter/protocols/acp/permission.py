"""``session/request_permission``: what a person is asked before a call runs, and what is answered (ACP reference, section 5).

A dialog belongs to its JSON-RPC request, never to the tool call: agents ask about calls they have not announced, and some
give all requests one tool call id. Deny selects the agent's own way to refuse; ``cancelled`` means that the work is
cancelled. An option of a kind that is not known is shown and never chosen by us; a person who takes it has neither allowed
nor denied the call. Who decides, and on what grounds, is not
known here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, cast

from ...commands import Approve
from ...errors import NotSupported, NotWaiting, UsageError
from ...events import ApprovalOption, ApprovalRequested, ApprovalResolved, Event, FileDiff, NoticeRaised
from .. import hm_read
from . import lenient as read
from .call import Call, content_of
from .calls import Calls
from .lenient import Malformed
from .tickets import MOST, TOO_MANY, Tickets, same_id

_OURS = {
    "allow_once": "allow_once",
    "allow_always": "allow_session",
    "reject_once": "deny_once",
    "reject_always": "deny_session",
}
CANCELLED: dict[str, Any] = {"outcome": {"outcome": "cancelled"}}
_CWD_ECHO = re.compile(r"\[current working directory [^\n]*?\](?=\s*(?:[(\[]|\Z))")
"""How gemini-cli begins the words for a command, with its purpose in parentheses behind. It says nothing of why."""

RpcId = Any  # int, str or None


@dataclass(slots=True)
class _Waiting:
    rpc_id: RpcId
    request_id: str
    call: Call | None
    call_id: str
    options: list[ApprovalOption]


class Permissions:
    """The requests for leave that wait for an answer.

    Args:
        version: 1 or 2, as negotiated.
        calls: the tool calls they are about.
        tickets: the ids used so far in this session.
    """

    def __init__(self, version: int, calls: Calls, tickets: Tickets | None = None) -> None:
        self._version = version
        self._calls = calls
        self.tickets = tickets or Tickets("p")
        self._waiting: dict[str, _Waiting] = {}
        self._decided: set[str] = set()  # calls about which something was decided

    def request(self, rpc_id: RpcId, params: Any, out: list[Event]) -> str | None:
        """A request for leave came. The text returned, if any, says why it cannot be asked (answer it with -32602)."""
        if not isinstance(params, dict):
            return "params is not an object"
        try:
            request = self._read(rpc_id, params, out)
        except Malformed as error:
            return str(error)
        out.append(request)
        return None

    def decide(self, command: Approve, out: list[Event]) -> tuple[RpcId, dict[str, Any]]:
        """The JSON-RPC id and the result a decision comes to.

        Raises ``NotWaiting`` when it is too late, ``UsageError`` for an option that does not fit, ``NotSupported`` for
        edits."""
        waiting = self._waiting.get(command.request_id)
        if waiting is None:
            raise NotWaiting("That request does not wait for a decision any more; nothing was sent.")
        if command.edits is not None:
            raise NotSupported("ACP cannot apply edits to a call; deny it, and say in a note what to do instead.")
        option = _chosen(waiting.options, command)
        outcome = _outcome(option, command)
        del self._waiting[command.request_id]
        self._decided.add(waiting.call_id)
        if waiting.call is not None:
            waiting.call.allowed, waiting.call.denied = outcome == "allowed", outcome == "denied"
        lasting = option is not None and option.kind in ("allow_session", "deny_session")
        out.append(
            ApprovalResolved(
                command.request_id,
                outcome,
                "you",
                note=command.note,
                for_session=lasting,
                option=option.name if option is not None else "",
            )
        )
        if option is None:
            out.append(
                NoticeRaised(
                    "The agent offers no way to refuse this call, so it was told that the request is cancelled. "
                    "Stop the turn if it goes on with it.",
                )
            )
            return waiting.rpc_id, CANCELLED
        return waiting.rpc_id, {"outcome": {"outcome": "selected", "optionId": option.id}}

    def withdraw(self, rpc_id: RpcId, out: list[Event]) -> dict[str, Any] | None:
        """The agent takes its request back (``$/cancel_request``): the result to answer with; None if none waits."""
        waiting = next((w for w in self._waiting.values() if same_id(w.rpc_id, rpc_id)), None)
        if waiting is None:
            return None
        del self._waiting[waiting.request_id]
        out.append(ApprovalResolved(waiting.request_id, "withdrawn"))
        return CANCELLED

    @property
    def waits(self) -> bool:
        """Does anything wait for a person?"""
        return bool(self._waiting)

    def cancel_all(self, out: list[Event]) -> list[tuple[RpcId, dict[str, Any]]]:
        """The work is cancelled: every request that waits is answered so, at once (ACP, session/cancel)."""
        answers = [(waiting.rpc_id, CANCELLED) for waiting in self._waiting.values()]
        out.extend(ApprovalResolved(request_id, "interrupted") for request_id in self._waiting)
        self._waiting.clear()
        return answers

    # ---- within ------------------------------------------------------------------------------------------------------

    def _read(self, rpc_id: RpcId, params: dict[str, Any], out: list[Event]) -> ApprovalRequested:
        session = self._calls.session_of(params.get("sessionId"))
        subject = read.fields(params.get("subject"))
        told = params.get("toolCall") if self._version == 1 else subject.get("toolCall")
        if self._version == 1 and not isinstance(told, dict):
            raise Malformed("toolCall is not an object" if "toolCall" in params else "toolCall is missing")
        if len(self._waiting) >= MOST:
            raise Malformed(TOO_MANY)
        request_id = self.tickets.next(rpc_id)
        is_command = subject.get("type") == "command"
        told = dict(read.fields(told))
        if is_command and isinstance(subject.get("toolCallId"), str):
            told = {"toolCallId": subject["toolCallId"]}
        if not isinstance(told.get("toolCallId"), str) or not told["toolCallId"]:
            told["toolCallId"] = f"request:{request_id}"
        if is_command and told["toolCallId"].startswith("request:"):
            told |= {"kind": "execute", "title": read.text(subject.get("command"))}
        call = self._call(session, told, out)
        call.denied = False
        options = _options(params.get("options"))
        self._waiting[request_id] = _Waiting(rpc_id, request_id, call, call.key, options)
        summary = read.text(params.get("title")) or read.text(told.get("title")) or call.title
        diffs = content_of(told["content"], call.input).diffs if isinstance(told.get("content"), list) else []
        diffs = diffs or list(call.diffs) or _planned(call)
        unknown = subject if subject and not is_command and subject.get("type") != "tool_call" else None
        category = "shell" if is_command else "other" if unknown is not None else call.category
        command = read.text(subject.get("command")) if is_command else ""
        if not command and category == "shell":
            command = hm_read.command_line(call.input) or read.text(told.get("title")) or call.title
        kinds = [option.kind for option in options]
        return ApprovalRequested(
            request_id,
            call.key,
            tool=call.name or call.kind,
            category=category,
            summary=summary,
            command=command,
            cwd=read.text(subject.get("cwd")) if is_command else hm_read.working_folder(call.input),
            paths=list(call.locations) or hm_read.touched_paths(call.input, diffs),
            diffs=diffs,
            input=unknown if unknown is not None else call.input,
            reason=read.text(params.get("description"))
            or _words(told)
            or read.text(read.fields(call.input).get("description")),
            for_session="allow_session" in kinds,
            options=options,
        )

    def _call(self, session: str, told: dict[str, Any], out: list[Event]) -> Call:
        known = self._calls.find(session, told["toolCallId"])
        anew = known is not None and (
            known.key in self._decided or any(waiting.call_id == known.key for waiting in self._waiting.values())
        )
        return self._calls.asked(session, told, out, anew=anew)


def _options(given: Any) -> list[ApprovalOption]:
    """The options in the agent's order and words; a kind that is not known is kept as it is."""
    found = []
    for item in read.objects(given):
        option_id, kind = item.get("optionId"), item.get("kind")
        if isinstance(option_id, str) and isinstance(kind, str):
            name = read.text(item.get("name")) or option_id
            found.append(ApprovalOption(option_id, name, cast(Any, _OURS.get(kind, kind))))
    return found


def _chosen(options: list[ApprovalOption], command: Approve) -> ApprovalOption | None:
    """The option a decision means; None: refuse, and there is no option for it. Raises ``UsageError``.

    An id that two options of different kinds share means neither: an agent could take a refusal for the other."""
    kinds: dict[str, set[str]] = {}
    for offered in options:
        kinds.setdefault(offered.id, set()).add(offered.kind)
    options = [option for option in options if len(kinds[option.id]) == 1]
    if command.option_id:
        option = next((option for option in options if option.id == command.option_id), None)
        if option is None:
            raise UsageError(f"There is no option {command.option_id!r}; there are {_names(options)}.")
        if command.allow != (option.kind in ("allow_once", "allow_session")):
            raise UsageError(f"The option {option.name!r} does not {'allow' if command.allow else 'refuse'} the call.")
        return option
    if command.allow:
        wanted = ["allow_session", "allow_once"] if command.for_session else ["allow_once"]
    else:
        wanted = ["deny_session", "deny_once"] if command.for_session else ["deny_once"]
        wanted.append("deny_session")
    for kind in wanted:
        for option in options:
            if option.kind == kind:
                return option
    if command.allow:
        raise UsageError(f"The agent offers no way to allow this once; choose one of its options: {_names(options)}.")
    return None


def _outcome(option: ApprovalOption | None, command: Approve) -> Literal["allowed", "denied", "chosen"]:
    """What a decision comes to. What an option of another kind means, only its agent knows."""
    if option is not None and option.kind not in _OURS.values():
        return "chosen"
    return "allowed" if command.allow else "denied"


def _names(options: list[ApprovalOption]) -> str:
    return ", ".join(f"{option.id!r} ({read.one_line(option.name)})" for option in options) or "none"


def _words(told: dict[str, Any]) -> str:
    """What the request's content says in words: with agents that have no description this is the explanation."""
    if not isinstance(told.get("content"), list):
        return ""
    said = "\n".join(part for part in content_of(told["content"], None).parts if isinstance(part, str) and part)
    echo = _CWD_ECHO.match(said)
    if echo is None:
        return said
    rest = said[echo.end() :].strip()
    return rest[1:-1].strip() if rest.startswith("(") and rest.endswith(")") else rest


def _planned(call: Call) -> list[FileDiff]:
    return hm_read.planned_changes(call.input) if call.category == "edit" else []
