"""Fewer wake-ups under a flood of small messages: told apart by whether the next one had to be waited for.

Knows nothing of what is read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Generator
from functools import partial
from typing import Any, Generic, TypeVar

T = TypeVar("T")

PAUSE, SMALL = 0.004, 16 * 1024
"""As in :mod:`.stdio`: after a small read that had to be waited for, the next comes ``PAUSE`` seconds later, so that a
server that flushes each token does not cost a wake-up for each. The first message after a rest is never late."""


class Noting(Generic[T]):
    """An awaitable that notes whether it had to wait. What comes without waiting was read together with what came
    before."""

    def __init__(self, inner: Awaitable[T]) -> None:
        self._inner = inner
        self.waited = False

    def __await__(self) -> Generator[Any, Any, T]:
        steps = self._inner.__await__()
        step = partial(next, steps)
        while True:
            try:
                value = step()
            except StopIteration as done:
                found: T = done.value
                return found
            self.waited = True
            try:
                sent = yield value
            except BaseException as error:
                step = partial(steps.throw, error)
            else:
                step = partial(steps.send, sent)
