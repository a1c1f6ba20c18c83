"""Those who wait for an agent's answers, by command id; the newest are remembered, so that a repeat changes nothing."""

from __future__ import annotations

from collections import OrderedDict

import anyio

from ..errors import AgentError
from ..events import CommandAnswered

REMEMBERED = 1000  # command ids whose answers are kept


class Waiter:
    """Somebody who waits for the answer to a command."""

    def __init__(self) -> None:
        self._done = anyio.Event()
        self._answer: CommandAnswered | None = None
        self._error: Exception | None = None

    def answer(self, answer: CommandAnswered) -> None:
        if not self._done.is_set():
            self._answer = answer
            self._done.set()

    def fail(self, error: Exception) -> None:
        if not self._done.is_set():
            self._error = error
            self._done.set()

    async def wait(self) -> CommandAnswered:
        await self._done.wait()
        if self._error is not None:
            raise self._error
        assert self._answer is not None
        return self._answer


class Waiters:
    """The waiters of one session."""

    def __init__(self) -> None:
        self._by_id: OrderedDict[str, Waiter] = OrderedDict()

    def get(self, command_id: str) -> Waiter | None:
        return self._by_id.get(command_id)

    def add(self, command_id: str) -> Waiter:
        waiter = self._by_id[command_id] = Waiter()
        while len(self._by_id) > REMEMBERED:
            self._by_id.popitem(last=False)[1].fail(AgentError("The agent never answered."))
        return waiter

    def fail_all(self, error: Exception) -> None:
        """Nobody answers any more: whoever still waits gets ``error``."""
        for waiter in self._by_id.values():
            waiter.fail(error)
