"""A conversation with the ACP adapter, for tests that read as one: no process, no loop, no waiting."""

from __future__ import annotations

from typing import Any

from hm_jupyter.commands import Command
from hm_jupyter.events import Event, TextAppended
from hm_jupyter.protocols.acp.adapter import AcpAdapter
from hm_jupyter.protocols.base import HostCall, HostFailure, Step, Wake

Json = dict[str, Any]

V1: Json = {"protocolVersion": 1, "agentCapabilities": {}, "agentInfo": {"name": "scripted", "version": "1"}}
V2: Json = {"protocolVersion": 2, "info": {"name": "scripted", "version": "2"}, "capabilities": {"session": {}}}
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


class Talk:
    """Both directions of one connection. What has been looked at by :meth:`told` and :meth:`sent` is not told again."""

    def __init__(self, **options: Any) -> None:
        self.adapter = AcpAdapter(**{"cwd": "/shop", **options})
        self.messages: list[Json] = []
        self.events: list[Event] = []
        self.calls: list[HostCall] = []
        self.dropped: list[str] = []
        self.wakes: dict[str, float] = {}
        self.hasty = True  # nothing of a session's history comes after the answer, so that is not waited for
        self._seen = 0
        self._read = 0
        self.take(self.adapter.start())

    # ---- what happens ------------------------------------------------------------------------------------------------

    def take(self, step: Step) -> Step:
        self.messages += step.messages
        self.events += step.events
        self.calls += step.calls
        self.dropped += step.dropped
        for wake in step.wakes:
            self._wake(wake)
        return step

    def _wake(self, wake: Wake) -> None:
        if wake.seconds > 0:
            self.wakes[wake.key] = wake.seconds
        else:
            self.wakes.pop(wake.key, None)

    def does(self, command: Command) -> Step:
        """We send a command."""
        return self.take(self.adapter.send(command))

    def hears(self, value: Any) -> Step:
        """The agent wrote this, and nothing more yet."""
        texts = self.adapter.texts([value], 0)
        if texts is None:
            return self.take(self.adapter.receive(value))
        return self.take(Step([TextAppended(texts.message_id, text, texts.role) for text in texts.pieces]))

    def answers(self, method: str, result: Any = None, *, error: Json | None = None, id: Any = ...) -> Step:
        """The agent answers the latest request of that method; of a session it takes up it has told all by then."""
        rpc_id = self.last(method)["id"] if id is ... else id
        step = self.hears({"jsonrpc": "2.0", "id": rpc_id, **({"error": error} if error else {"result": result})})
        if self.hasty and "acp:quiet" in self.wakes:
            more = self.rings("acp:quiet")
            step.events += more.events
            step.messages += more.messages
        return step

    def asks(self, rpc_id: Any, method: str, /, **params: Any) -> Step:
        """The agent sends a request."""
        return self.hears({"jsonrpc": "2.0", "id": rpc_id, "method": method, "params": params})

    def tells(self, method: str, /, **params: Any) -> Step:
        """The agent sends a notification."""
        return self.hears({"jsonrpc": "2.0", "method": method, "params": params})

    def updates(self, update: str, session: str = "s1", /, **fields: Any) -> Step:
        """The agent sends a session/update."""
        return self.tells("session/update", sessionId=session, update={"sessionUpdate": update, **fields})

    def says(self, text: str, session: str = "s1") -> Step:
        """The agent says a piece of a message (v1)."""
        return self.updates("agent_message_chunk", session, content={"type": "text", "text": text})

    def state(self, state: str, **fields: Any) -> Step:
        """The agent says whether it works (v2)."""
        return self.updates("state_update", state=state, **fields)

    def asks_leave(self, rpc_id: Any, call: str = "c1", session: str = "s1") -> Step:
        """The agent asks whether a command may run (v1)."""
        about = {"toolCallId": call, "title": "rm -r build", "kind": "execute", "rawInput": {"command": "rm -r build"}}
        return self.asks(rpc_id, "session/request_permission", sessionId=session, toolCall=about, options=OPTIONS)

    def host(self, result: Json | HostFailure, call_id: str = "") -> Step:
        """Our side has carried out a host call, the latest one unless another is named."""
        return self.take(self.adapter.host_done(call_id or self.calls[-1].id, result))

    def rings(self, key: str) -> Step:
        """A time that was asked for has come."""
        del self.wakes[key]
        return self.take(self.adapter.woke(key))

    # ---- what was said -----------------------------------------------------------------------------------------------

    def last(self, method: str) -> Json:
        """The latest message of a method."""
        return next(m for m in reversed(self.messages) if m.get("method") == method)

    def sent(self, method: str = "") -> list[Json]:
        """What was sent since this was last asked; of one method alone if it is named."""
        new, self._read = self.messages[self._read :], len(self.messages)
        return [m for m in new if not method or m.get("method") == method]

    def told(self, kind: type | None = None) -> list[Any]:
        """The events since this was last asked; of one kind alone if it is named."""
        new, self._seen = self.events[self._seen :], len(self.events)
        return [e for e in new if kind is None or isinstance(e, kind)]

    def reply(self, rpc_id: Any) -> Json | None:
        """What we answered to a request of the agent's; None: nothing yet."""
        return next(
            (m for m in self.messages if "method" not in m and m["id"] == rpc_id and type(m["id"]) is type(rpc_id)),
            None,
        )

    # ---- openings ----------------------------------------------------------------------------------------------------

    def open(self, hello: Json = V1, **result: Any) -> Talk:
        """The agent answers initialize and session/new, and what that led to has been looked at."""
        self.answers("initialize", hello)
        self.answers("session/new", {"sessionId": "s1", **result})
        self.told()
        self.sent()
        return self


def can(*, prompt: Json | None = None, session: Json | None = None, **more: Any) -> Json:
    """A hello of v1 with capabilities."""
    told = {"promptCapabilities": prompt or {}, "sessionCapabilities": session or {}, **more}
    return {**V1, "agentCapabilities": told}
