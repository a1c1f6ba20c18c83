"""JSON-RPC as the scripted ACP agent speaks it: numbered requests from 0, answers that wake the thread which waits.

Knows nothing of ACP.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]


class Refused(Exception):
    """The other side answered a request with an error; or, raised by a handler of ours, the error to answer with."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data

    def to_json(self) -> Json:
        """The ``error`` member of an answer."""
        error: Json = {"code": self.code, "message": str(self)}
        if self.data is not None:
            error["data"] = self.data
        return error


class Waiting:
    """A request of ours that is not answered yet."""

    def __init__(self) -> None:
        self.id = -1
        self._done = threading.Event()
        self._answer: Json = {}

    def settle(self, answer: Json) -> None:
        """The answer came."""
        self._answer = answer
        self._done.set()

    @property
    def done(self) -> bool:
        """Is it answered?"""
        return self._done.is_set()

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the result; ``timeout`` in seconds. Raises ``Refused``, or ``TimeoutError``."""
        if not self._done.wait(timeout):
            raise TimeoutError(f"request {self.id} is not answered")
        error = self._answer.get("error")
        if error is not None:
            raise Refused(error.get("code", 0), error.get("message", ""), error.get("data"))
        return self._answer.get("result")


class Peer:
    """Our end of a connection. ``write`` takes one JSON object, from any thread, and keeps them apart."""

    def __init__(self, write: Callable[[Json], None]) -> None:
        self.write = write
        self._next = 0
        self._waiting: dict[Any, Waiting] = {}
        self._lock = threading.Lock()

    def notify(self, method: str, params: Json) -> None:
        """Send a notification."""
        self.write({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: Json, waiting: Waiting | None = None) -> Waiting:
        """Send a request; ``waiting`` is one sent before, by a connection that is lost."""
        waiting = waiting or Waiting()
        with self._lock:
            waiting.id, self._next = self._next, self._next + 1
            self._waiting[waiting.id] = waiting
        self.write({"jsonrpc": "2.0", "id": waiting.id, "method": method, "params": params})
        return waiting

    def withdraw(self, waiting: Waiting) -> None:
        """We want no answer to that request any more (it has to be answered all the same)."""
        self.notify("$/cancel_request", {"requestId": waiting.id})

    def answer(self, rpc_id: Any, result: Any) -> None:
        """Answer a request of theirs."""
        self.write({"jsonrpc": "2.0", "id": rpc_id, "result": result})

    def refuse(self, rpc_id: Any, error: Refused) -> None:
        """Answer a request of theirs with an error."""
        self.write({"jsonrpc": "2.0", "id": rpc_id, "error": error.to_json()})

    def settle(self, value: Json) -> bool:
        """An answer came. False when nothing waits for it."""
        waiting = self._waiting.pop(value.get("id"), None)
        if waiting is None:
            return False
        waiting.settle(value)
        return True
