"""Which session a message belongs to: what ACP over HTTP has to know of messages (ACP reference 10). Sans-I/O.

``Acp-Session-Id`` is wanted on whatever has a ``sessionId``, and on our answers to what came for a session: those name
none themselves, so it is remembered here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

REMEMBERED = 10_000
"""Requests of the agent, and of ours, that are remembered until they are answered."""

ATTACH = ("session/load", "session/resume", "session/fork")
"""Requests that name a session the server may not know yet."""


@dataclass(eq=False)
class Post:
    """A message on its way. ``id`` is None for notifications; ``session`` goes into the header; ``lane``: it goes behind
    those of the same."""

    body: bytes
    kind: Literal["request", "notification", "response"]
    method: str
    id: Any
    session: str
    lane: str


@dataclass
class Answered:
    """An answer to a request of ours: what it was, for which session, and the session it brings ("" if none)."""

    method: str = ""
    session: str = ""
    brings: str = ""


class Routes:
    """One connection's requests in both directions that wait for their answers."""

    def __init__(self) -> None:
        self._theirs: dict[tuple[type, Any], str] = {}  # by id, in which 1 and "1" are two -> session
        self._ours: dict[str, tuple[str, str]] = {}  # by id as text, since some echo another type -> method, session

    def outgoing(self, value: Any, body: bytes) -> Post:
        """What has to be known of a message of ours to send it."""
        if not isinstance(value, dict):
            return Post(body, "notification", "", None, "", "")
        method = value.get("method")
        if not isinstance(method, str):
            session = self._theirs.pop(_key(value.get("id")), "")
            return Post(body, "response", "", value.get("id"), session, session)
        session = lane = session_of(value)
        params = value.get("params")
        if method == "$/cancel_request" and isinstance(params, dict):
            lane = self._ours.get(str(params.get("requestId")), ("", ""))[1]  # behind the request it is about
        if "id" not in value:
            return Post(body, "notification", method, None, session, lane)
        _limit(self._ours)
        self._ours[str(value["id"])] = (method, session)
        return Post(body, "request", method, value["id"], session, lane)

    def asked(self, value: dict[str, Any], stream: str) -> str:
        """A request of the agent's that came on this stream; its session, which our answer will have to name."""
        session = session_of(value) or stream
        if session:
            _limit(self._theirs)
            self._theirs[_key(value["id"])] = session
        return session

    def answered(self, value: dict[str, Any]) -> Answered:
        """An answer of the agent's."""
        method, session = self._ours.pop(str(value["id"]), ("", ""))
        result = value.get("result")
        brings = result.get("sessionId") if isinstance(result, dict) and method.startswith("session/") else None
        return Answered(method, session, _usable(brings))


def session_of(value: dict[str, Any]) -> str:
    """The session that a message names, "" if none (or none that a header could name)."""
    params = value.get("params")
    return _usable(params.get("sessionId")) if isinstance(params, dict) else ""


def fits_a_header(text: str) -> bool:
    """May this, from elsewhere, be sent back in a header?"""
    return 0 < len(text) <= 1024 and text.isascii() and text.isprintable() and text == text.strip()


def _usable(session: Any) -> str:
    return session if isinstance(session, str) and fits_a_header(session) else ""


def _key(rpc_id: Any) -> tuple[type, Any]:
    return type(rpc_id), rpc_id if isinstance(rpc_id, (int, str, float)) else repr(rpc_id)


def _limit(remembered: dict[Any, Any]) -> None:
    while len(remembered) >= REMEMBERED:
        del remembered[next(iter(remembered))]
