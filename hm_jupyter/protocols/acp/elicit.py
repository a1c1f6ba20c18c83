"""``elicitation/create`` and ``elicitation/complete``: the agent asks the person by a form or a page (reference, section 5).

Like any request of the agent's, a question belongs to its JSON-RPC id. What was answered is checked before it is sent. A
page is named, never fetched and never opened by us; to accept one means consent, not that it is done.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ...commands import Answer
from ...errors import NotWaiting, UsageError
from ...events import Event, FormField, NoticeRaised, QuestionRequested, QuestionResolved
from ...forms import YES, checked, told
from . import lenient as read
from .forms import form_of
from .lenient import Malformed
from .tickets import MOST, TOO_MANY, Tickets, same_id

RpcId = Any  # int, str or None
CONSENT = YES | {""}  # "": by a button; a policy has none, and must say yes


@dataclass(slots=True)
class _Waiting:
    rpc_id: RpcId
    request_id: str
    form: list[FormField] = field(default_factory=list)
    url: str = ""


class Elicitations:
    """The questions that wait for an answer.

    Args:
        version: 1 or 2, as negotiated; the two do not differ here.
        source: the agent's name, for the person must see who asks.
        tickets: the ids used so far in this session.
    """

    def __init__(self, version: int = 1, source: str = "", tickets: Tickets | None = None) -> None:
        self._version = version
        self.tickets = tickets or Tickets("e")
        self.source = source
        self._waiting: dict[str, _Waiting] = {}
        self._pages: dict[str, str] = {}  # elicitationId to URL

    def request(self, rpc_id: RpcId, params: Any, out: list[Event]) -> str | None:
        """A question came. The text returned, if any, says why it cannot be asked (answer it with -32602)."""
        try:
            waiting, question = self._read(rpc_id, read.fields(params))
        except Malformed as error:
            return str(error)
        self._waiting[waiting.request_id] = waiting
        out.append(question)
        return None

    def answer(self, command: Answer, out: list[Event]) -> tuple[RpcId, dict[str, Any]]:
        """The JSON-RPC id and the result an answer comes to.

        Raises ``NotWaiting`` when it is too late, ``UsageError`` naming the field that is not right; it waits on, then."""
        waiting = self._waiting.get(command.request_id)
        if waiting is None:
            raise NotWaiting("That question does not wait for an answer any more; nothing was sent.")
        if command.skip:
            result: dict[str, Any] = {"action": "decline"}
            resolved = QuestionResolved(command.request_id, "skipped")
        elif waiting.url:
            if command.text.strip().lower() not in CONSENT:
                raise UsageError("A page is agreed to with 'yes'; skip the question to decline it.")
            result = {"action": "accept"}
            resolved = QuestionResolved(command.request_id, "answered", waiting.url)
        else:
            content = checked(waiting.form, _given(waiting.form, command))
            result = {"action": "accept", "content": content}
            resolved = QuestionResolved(command.request_id, "answered", told(waiting.form, content))
        del self._waiting[command.request_id]
        out.append(resolved)
        return waiting.rpc_id, result

    def withdraw(self, rpc_id: RpcId, out: list[Event]) -> dict[str, Any] | None:
        """The agent takes its question back (``$/cancel_request``): the result to answer with; None if none waits."""
        waiting = next((w for w in self._waiting.values() if same_id(w.rpc_id, rpc_id)), None)
        if waiting is None:
            return None
        del self._waiting[waiting.request_id]
        out.append(QuestionResolved(waiting.request_id, "withdrawn", by="agent"))
        return {"action": "cancel"}

    @property
    def waits(self) -> bool:
        """Does anything wait for a person?"""
        return bool(self._waiting)

    def cancel_all(self, out: list[Event]) -> list[tuple[RpcId, dict[str, Any]]]:
        """The work is cancelled: every question that waits is answered so."""
        answers: list[tuple[RpcId, dict[str, Any]]] = [(w.rpc_id, {"action": "cancel"}) for w in self._waiting.values()]
        out.extend(QuestionResolved(request_id, "interrupted", by="agent") for request_id in self._waiting)
        self._waiting.clear()
        return answers

    def complete(self, elicitation_id: Any, out: list[Event]) -> None:
        """``elicitation/complete``: what a page was for is done. Ids that are not known are ignored."""
        url = self._pages.pop(elicitation_id, None) if isinstance(elicitation_id, str) else None
        if url is not None:
            out.append(NoticeRaised("The agent says that what its page was for is done.", "info", _where(url)))

    # ---- within ------------------------------------------------------------------------------------------------------

    def _read(self, rpc_id: RpcId, params: dict[str, Any]) -> tuple[_Waiting, QuestionRequested]:
        message = params.get("message")
        if not isinstance(message, str):
            raise Malformed("message is not a text" if "message" in params else "message is missing")
        if len(self._waiting) >= MOST:
            raise Malformed(TOO_MANY)
        waiting = _Waiting(rpc_id, request_id := self.tickets.next(rpc_id))
        mode = params.get("mode")
        if mode == "form":
            schema = params.get("requestedSchema")
            waiting.form = form_of(schema)
            more = (read.text(read.fields(schema).get(name)) for name in ("title", "description"))
            message = "\n\n".join(dict.fromkeys(part for part in (message, *more) if part))
        elif mode == "url":
            waiting.url = read.need_text(params, "url")
            self._pages[read.need_text(params, "elicitationId")] = waiting.url
        else:
            raise Malformed(f"the mode {read.one_line(mode)[:60]!r} is not offered here; form and url are")
        # An id of its own, for a question takes the place of the call whose id it bears, and that call goes on.
        return waiting, QuestionRequested(
            request_id, request_id, message, free=False, form=waiting.form, url=waiting.url, source=self.source
        )


def _where(url: str) -> str:
    """Where a page is, without what may be a secret in its address: notices are kept and exported."""
    at = re.match(r"([A-Za-z][A-Za-z0-9+.-]*://)(?:[^/?#\s]*@)?([^/?#\s]*)([^?#\s]*)", url)
    return "".join(at.groups()) if at else ""


def _given(form: list[FormField], command: Answer) -> dict[str, Any]:
    """The fields of an answer; a text alone answers a form of one field."""
    if command.fields is not None:
        return command.fields
    if not command.text or not form:
        return {}
    if len(form) > 1:
        names = ", ".join(repr(made.name) for made in form)
        raise UsageError(f"This question is a form of several fields; answer with all it requires by name: {names}.")
    return {form[0].name: command.text}
