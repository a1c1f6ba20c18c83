"""The clock of an outbox: sends its messages from the session loop, at once after a pause, else at the session's pace.

Runs on the session loop's thread only and holds no task: a listener of the controller and at most one timer. Knows
neither comms nor sockets, only a function that takes a message.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..transcript import Op
from .outbox import INTERVAL, Message, Outbox

if TYPE_CHECKING:
    from ..session.controller import Controller

_feeds: dict[int, list[Feed]] = {}  # by the identity of the controller they follow


class Feed:
    """One view's stream of messages: subscribes to ``controller`` and calls ``send`` with each message."""

    def __init__(self, controller: Controller, send: Callable[[Message], None], *, turn: int = 0) -> None:
        self.controller = controller
        self.outbox = Outbox(controller.transcript, turn=turn)
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.Handle | None = None
        self._tail = False  # is the timer only for the empty message after the last one?
        self._closed = False
        self._unsubscribe = controller.subscribe(self._listen)
        _feeds.setdefault(id(controller), []).append(self)
        self._share()

    def snapshot(self) -> Message:
        """Everything the view shows now, numbered; the caller sends it."""
        return self.outbox.snapshot(time.monotonic(), time.time())

    def close(self) -> None:
        """Stop. Harmless when repeated."""
        if self._closed:
            return
        self._closed = True
        self._unsubscribe()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        siblings = _feeds[id(self.controller)]
        siblings.remove(self)
        if not siblings:
            del _feeds[id(self.controller)]
        self._share()

    def _share(self) -> None:
        """Divide the session's 20 messages a second among its views."""
        siblings = _feeds.get(id(self.controller), [])
        for feed in siblings:
            feed.outbox.interval = INTERVAL * len(siblings)

    def _listen(self, seq: int, ops: list[Op]) -> None:
        self.outbox.offer(ops)
        if self._timer is None or self._tail:
            self._schedule()

    def _schedule(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self.outbox.due()
        if due is None or self._closed:
            return
        self._tail = not self.outbox.waiting
        delay = due - time.monotonic()
        # call_soon, not at once: what else the same read brought goes into the same message.
        self._timer = self._loop.call_soon(self._flush) if delay <= 0 else self._loop.call_later(delay, self._flush)

    def _flush(self) -> None:
        self._timer = None
        message = self.outbox.take(time.monotonic())
        if message is not None:
            self._send(message)
        self._schedule()
