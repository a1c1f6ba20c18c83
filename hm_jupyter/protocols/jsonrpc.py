"""A JSON-RPC 2.0 peer, sans-I/O: which answer belongs to which request, in both directions, and what became of each.

It knows no method but ``$/cancel_request``, no transport and no clock: deadlines are asked for as :class:`Wake` and come
back by :meth:`Peer.woke`. It trusts nothing it is sent: ids of any scalar type, errors of any shape, arrays and
rubbish are taken as far as they can be understood, and never raise. Batches are read and never written (ACP v2).
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Union

from ..events import NoticeRaised, UnknownReceived
from .base import Step, Wake

RpcId = Union[int, float, str, None]

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
CANCELLED = -32800
TIMED_OUT = 0  # ours, never on the wire: nothing was answered in time
LINK_LOST = 1  # ours, never on the wire: the connection the request was sent on is gone

DEADLINE = 60.0  # seconds an answer may take where nothing else is said
LONGEST = 2000  # characters of an agent's error text that are kept
_WAKE = "rpc:"


@dataclass(slots=True)
class RpcError:
    """Why a request failed: ``code`` as the peer gave it (0 where it gave none), ``text`` for people, ``data`` raw."""

    code: int
    text: str
    data: Any = None

    @classmethod
    def read(cls, value: Any) -> RpcError:
        """An ``error`` member of any shape."""
        if not isinstance(value, dict):
            return cls(0, value[:LONGEST] if isinstance(value, str) and value else "no reason given")
        code = value.get("code")
        code = int(code) if isinstance(code, (int, float)) and code == code and abs(code) < 2**53 else 0
        text = value.get("message")
        text = text.strip() if isinstance(text, str) else ""
        detail = _detail(value.get("data"))
        if detail and detail not in text:
            text = f"{text}: {detail}" if text else detail
        return cls(code, text[:LONGEST] or "no reason given", value.get("data"))


Then = Callable[[Any, Union[RpcError, None], Step], None]


class Handler(ABC):
    """Who is told what the other side asks and says."""

    @abstractmethod
    def on_request(self, rpc_id: RpcId, method: str, params: dict[str, Any], step: Step) -> None:
        """It asks; to be answered now or later by :meth:`Peer.answer` or :meth:`Peer.fail`."""

    @abstractmethod
    def on_notification(self, method: str, params: dict[str, Any], raw: Any, step: Step) -> None:
        """It tells something that wants no answer."""

    @abstractmethod
    def on_cancelled(self, rpc_id: RpcId, step: Step) -> None:
        """It does not wait any more for the answer to a request of its own that is still open."""


@dataclass(slots=True)
class _Sent:
    method: str
    then: Then
    timed: bool


class Peer:
    """One connection's two conversations."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._next = 1
        self._sent: dict[int, _Sent] = {}
        self._open: dict[str, tuple[RpcId, Any]] = {}  # requests of theirs that wait for our answer, as they came

    # ---- out -------------------------------------------------------------------------------------------------------

    def request(self, step: Step, method: str, params: dict[str, Any], then: Then, *, seconds: float = DEADLINE) -> int:
        """Send a request and return its id; ``then(result, error, step)`` is called once, when it is answered or never
        will be. ``seconds`` 0: it may take as long as it likes."""
        rpc_id = self._next
        self._next += 1
        self._sent[rpc_id] = _Sent(method, then, seconds > 0)
        step.messages.append({"jsonrpc": "2.0", "id": rpc_id, "method": method, "params": params})
        if seconds > 0:
            step.wakes.append(Wake(f"{_WAKE}{rpc_id}", seconds))
        return rpc_id

    def notify(self, step: Step, method: str, params: dict[str, Any]) -> None:
        """Send a notification."""
        step.messages.append({"jsonrpc": "2.0", "method": method, "params": params})

    def answer(self, step: Step, rpc_id: RpcId, result: Any) -> bool:
        """Answer a request of theirs, with its id as it came. False: it is not open (any more); nothing is sent."""
        if self._open.pop(_key(rpc_id), None) is None:
            return False
        step.messages.append({"jsonrpc": "2.0", "id": rpc_id, "result": result})
        return True

    def fail(self, step: Step, rpc_id: RpcId, code: int, text: str, data: Any = None) -> bool:
        """Answer a request of theirs with an error. False: it is not open (any more); nothing is sent."""
        if self._open.pop(_key(rpc_id), None) is None:
            return False
        self._refuse(step, rpc_id, code, text, data)
        return True

    def cancel(self, step: Step, rpc_id: int) -> None:
        """Ask that a request of ours be given up. It is answered all the same (``$/cancel_request``)."""
        if rpc_id in self._sent:
            self.notify(step, "$/cancel_request", {"requestId": rpc_id})

    def is_open(self, rpc_id: RpcId) -> bool:
        """Does this request of theirs still wait for an answer of ours?"""
        return _key(rpc_id) in self._open

    # ---- in --------------------------------------------------------------------------------------------------------

    def receive(self, value: Any, step: Step) -> None:
        """One JSON value arrived: a message, or an array of them, which are taken one by one."""
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, dict):
                self._message(item, step)
            else:
                text = "The agent wrote a line that is no message; it was left out. If this goes on, check what you started."
                step.events.append(NoticeRaised(text, "info", brief(item)))

    def woke(self, key: str, step: Step) -> bool:
        """A deadline has come. False: the alarm is not one of ours."""
        if not key.startswith(_WAKE):
            return False
        number = key[len(_WAKE) :]
        rpc_id = int(number) if number.isdigit() else 0
        sent = self._sent.get(rpc_id)
        if sent is not None:
            self.cancel(step, rpc_id)
            del self._sent[rpc_id]
            sent.then(None, RpcError(TIMED_OUT, f"the agent did not answer {sent.method} in time"), step)
        return True

    def lost(self, step: Step) -> None:
        """The connection is gone, and with it every open request of either side."""
        for one in self.forget(step):
            one(None, RpcError(LINK_LOST, "the connection was lost before the agent answered"), step)

    def forget(self, step: Step) -> list[Then]:
        """Like :meth:`lost`, but nobody is told: returns who waited for answers of theirs."""
        self._open.clear()
        sent, self._sent = self._sent, {}
        step.wakes.extend(Wake(f"{_WAKE}{rpc_id}", 0) for rpc_id, one in sent.items() if one.timed)
        return [one.then for one in sent.values()]

    def _message(self, value: dict[str, Any], step: Step) -> None:
        method = value.get("method")
        if not isinstance(method, str) or not method:
            if "result" in value or "error" in value:
                self._answered(value, step)
            else:
                step.events.append(UnknownReceived("message", value))
            return
        params = value.get("params")
        params = params if isinstance(params, dict) else {}
        if "id" in value:
            self._asked(value, method, params, step)
        elif method == "$/cancel_request":
            self._withdrawn(params, step)
        elif not method.startswith("$/"):
            self._handler.on_notification(method, params, value, step)

    def _asked(self, value: dict[str, Any], method: str, params: dict[str, Any], step: Step) -> None:
        rpc_id = value["id"]
        if isinstance(rpc_id, (dict, list)):
            self._refuse(step, None, INVALID_REQUEST, "A request's id is a number or a text.")
            return
        key = _key(rpc_id)
        known = self._open.get(key)
        if known is None:
            self._open[key] = (rpc_id, value)
            self._handler.on_request(rpc_id, method, params, step)
        elif known[1] != value:  # the very same again is a delivery too many, which the one answer serves
            self._refuse(step, rpc_id, INVALID_REQUEST, "A request with this id still waits for its answer.")

    def _withdrawn(self, params: dict[str, Any], step: Step) -> None:
        known = self._open.get(_key(params.get("requestId"))) if "requestId" in params else None
        if known is not None:
            self._handler.on_cancelled(known[0], step)

    def _answered(self, value: dict[str, Any], step: Step) -> None:
        rpc_id = value.get("id")
        error = RpcError.read(value["error"]) if value.get("error") is not None else None
        number = _ours(rpc_id)
        sent = self._sent.pop(number, None)
        if sent is not None:
            if sent.timed:
                step.wakes.append(Wake(f"{_WAKE}{number}", 0))
            sent.then(None if error else value.get("result"), error, step)
        elif 0 < number < self._next:
            pass  # answered before, given up, or of an earlier connection
        elif rpc_id is None and error is not None:
            said = f"The agent could not use something we sent ({error.text[:300]})."
            text = f"{said} If something you did had no effect, do it again."
            step.events.append(NoticeRaised(text, "info", brief(value)))
        else:
            text = "The agent answered something we did not ask. It was left out; the session goes on."
            step.events.append(NoticeRaised(text, "info", brief(value)))

    def _refuse(self, step: Step, rpc_id: RpcId, code: int, text: str, data: Any = None) -> None:
        error: dict[str, Any] = {"code": code, "message": text}
        if data is not None:
            error["data"] = data
        step.messages.append({"jsonrpc": "2.0", "id": rpc_id, "error": error})


def _key(rpc_id: Any) -> str:
    """An id of theirs as a key: 0, "0", 0.0, false and null are five ids."""
    return f"{type(rpc_id).__name__}:{rpc_id!r}"


def _ours(rpc_id: Any) -> int:
    """The number of a request of ours, also where it comes back as a text or with a fraction; 0: none of ours."""
    if isinstance(rpc_id, bool):
        return 0
    if isinstance(rpc_id, float) and rpc_id.is_integer():
        return int(rpc_id)
    if isinstance(rpc_id, str) and len(rpc_id) <= 18 and rpc_id.isascii() and rpc_id.isdigit():
        return int(rpc_id)
    return rpc_id if isinstance(rpc_id, int) else 0


def _detail(data: Any) -> str:
    """What an error's ``data`` adds for people, in the shapes agents use."""
    if isinstance(data, dict):
        for name in ("details", "detail", "message", "reason"):
            if isinstance(data.get(name), str):
                return str(data[name]).strip()
        return ""
    return data.strip() if isinstance(data, str) else ""


def brief(value: Any) -> str:
    """A value as JSON, the first 500 characters."""
    try:
        return json.dumps(value, ensure_ascii=False)[:500]
    except (TypeError, ValueError, RecursionError):
        return ""
