"""A session over a memory transport with an agent that does what the test says, and an IPython shell to talk to it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from hm_jupyter.connect import open_session
from hm_jupyter.protocols.hm import HmAdapter
from hm_jupyter.session.runtime import runtime
from hm_jupyter.session.session import Session
from hm_jupyter.transports.memory import MemoryPeer, memory_transport

START = {
    "type": "session_start",
    "session": "S1",
    "root": "/w",
    "mode": "ask",
    "modes": ["ask", "plan", "auto"],
    "provider": "p",
    "model": "m",
    "models": ["small", "large"],
}
END = {"type": "turn_end"}
ASK = [
    {"type": "tool_call", "tool": "shell", "call_id": "call_1", "summary": "ls", "input": {"command": "ls"}},
    {
        "type": "approval_needed",
        "call_id": "call_1",
        "tool": "shell",
        "category": "shell",
        "command": "ls",
        "cwd": "/w",
    },
]
QUESTION = [{"type": "question", "call_id": "q_1", "text": "Which database?"}]


class FakeAgent:
    """The other end of the wire: ``on`` maps a command's type to what is said after its ok."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []
        self.on: dict[str, Callable[[dict[str, Any]], list[Any]]] = {}
        self.data: dict[str, Any] = {}
        self._changed = threading.Condition()
        transport, self.peer = memory_transport(self._handle)
        self.peer: MemoryPeer
        self.transport = transport

    def open(self, name: str = "fake", **options: Any) -> Session:
        self.peer.say(START)

        async def open() -> Session:
            return await open_session(self.transport, HmAdapter(), agent="fake", name=name, **options)

        return runtime().run(open)

    def says(self, *after: Any) -> None:
        """What follows every prompt."""
        self.on["prompt"] = lambda command: list(after)

    def _handle(self, command: dict[str, Any]) -> list[Any]:
        with self._changed:
            self.heard.append(command)
            self._changed.notify_all()
        response = {"type": "response", "id": command["id"], "command": command["type"], "ok": True}
        if command["type"] in self.data:
            response["data"] = self.data[command["type"]]
        return [response, *self.on.get(command["type"], lambda _: [])(command)]

    def heard_first(self, kind: str, timeout: float = 5) -> dict[str, Any]:
        """The first command of that type, once it has come."""
        with self._changed:
            assert self._changed.wait_for(lambda: any(c["type"] == kind for c in self.heard), timeout), self.heard
            return next(c for c in self.heard if c["type"] == kind)

    def kinds(self) -> list[str]:
        return [c["type"] for c in self.heard]


def reply(text: str = "done") -> list[Any]:
    return [{"type": "message_end", "role": "assistant", "text": text}, END]
