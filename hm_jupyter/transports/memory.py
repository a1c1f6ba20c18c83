"""A transport with nothing behind it but you: the other end is driven by a test, or by a function that plays the agent.

For our tests and for users who want to test their notebooks. What goes through it is encoded and decoded like on a real
pipe, so a value that JSON cannot hold fails here, too. Knows no protocol.

::

    transport, agent = memory_transport()
    agent.say({"type": "session_start", …})          # it arrives in a batch
    command = await agent.next()                      # what was sent to it (from another thread: agent.wait())
    agent.link("lost", "the wire was cut")            # the connection itself changes, as that of a remote agent does
    agent.end(0)                                      # it ends
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from typing import Any, Literal

from ..errors import AgentGone, UsageError
from .base import BadLine, Exit, Link, Received, Transport
from .lines import MAX_LINE, LineDecoder, decode, encode


class MemoryPeer:
    """The agent's end. Every method may be called from any thread, also before the transport is opened.

    ``sent`` holds everything that was sent to it; ``input_ended`` and ``closed`` say whether its input was closed and
    whether the transport was.
    """

    def __init__(self, handler: Callable[[Any], Iterable[Any] | None] | None = None) -> None:
        self.sent: list[Any] = []
        self.input_ended = False
        self.closed = False
        self._handler = handler
        self._changed = threading.Condition()
        self._read = 0
        self._to_client: deque[bytes | Link] = deque()
        self._exit: Exit | None = None
        self._wake: Callable[[], None] = lambda: None

    def say(self, *values: Any) -> None:
        """Send values to the client; they arrive in one batch."""
        self.say_raw(b"".join(encode(value) for value in values))

    def say_raw(self, data: bytes) -> None:
        """Send bytes as they are: noise, half lines, whatever an agent may write."""
        with self._changed:
            self._to_client.append(data)
        self._wake()

    def link(self, state: Literal["lost", "back", "fresh"], reason: str = "") -> None:
        """Tell the client of its connection (see :class:`~.base.Link`)."""
        with self._changed:
            self._to_client.append(Link(state, reason))
        self._wake()

    def end(self, code: int | None = 0, stderr: str = "") -> None:
        """End, as a process with that exit code and those last words would."""
        with self._changed:
            self._exit = self._exit or Exit(code, stderr)
            self._changed.notify_all()
        self._wake()

    async def next(self, timeout: float = 5.0) -> Any:
        """The next value that was sent, waiting up to ``timeout`` seconds (on the loop). Raises ``TimeoutError``."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        while self._read >= len(self.sent):
            if loop.time() > deadline:
                raise TimeoutError(f"nothing was sent to the agent within {timeout} s")
            await asyncio.sleep(0.001)
        return self._take()

    def wait(self, timeout: float = 5.0) -> Any:
        """The same, for a thread other than the loop's."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._read < len(self.sent), timeout):
                raise TimeoutError(f"nothing was sent to the agent within {timeout} s")
            return self._take()

    def _take(self) -> Any:
        value = self.sent[self._read]
        self._read += 1
        return value

    def _hear(self, value: Any) -> None:
        with self._changed:
            self.sent.append(value)
            self._changed.notify_all()
        if self._handler is not None:
            for answer in self._handler(value) or ():
                self.say(answer)


class MemoryTransport(Transport):
    """The client's end. See :func:`memory_transport`."""

    def __init__(self, peer: MemoryPeer, max_line: int = MAX_LINE) -> None:
        self._peer = peer
        self._decoder = LineDecoder(max_line)
        self._ready: asyncio.Event | None = None

    @property
    def stderr(self) -> str:
        return self._peer._exit.stderr if self._peer._exit else ""

    async def open(self) -> None:
        if self._ready is not None:
            raise UsageError("This transport was opened before; make a new one.")
        loop = asyncio.get_running_loop()
        ready = self._ready = asyncio.Event()
        ready.set()  # something may have been said already

        def wake() -> None:
            with suppress(RuntimeError):  # the loop is closed; nobody listens
                loop.call_soon_threadsafe(ready.set)

        self._peer._wake = wake

    async def receive(self) -> AsyncIterator[list[Received]]:
        ready = self._opened()
        peer = self._peer
        while True:
            await ready.wait()
            ready.clear()
            ended = peer._exit is not None  # asked before the queue: what was said before the end is not lost
            while peer._to_client:
                data = peer._to_client.popleft()
                if isinstance(data, Link):
                    yield [data]
                elif batch := self._decoder.feed(data):
                    yield batch
            if ended:
                break
        if batch := self._decoder.end():
            yield batch

    async def send(self, value: Any) -> None:
        self._opened()
        if (end := self._peer._exit) is not None:
            text = f"The agent has ended (exit code {end.code}). Start a new session."
            raise AgentGone(text, code=end.code, stderr=end.stderr)
        if self._peer.input_ended:
            raise AgentGone("The agent's input was closed. Start a new session.")
        heard = decode(encode(value))
        if isinstance(heard, BadLine):
            raise ValueError(f"an agent could not read this: {heard.reason}")
        self._peer._hear(heard.value)

    async def end_input(self) -> None:
        self._peer.input_ended = True

    async def close(self) -> Exit:
        peer = self._peer
        peer.input_ended = peer.closed = True
        peer.end()
        assert peer._exit is not None
        return peer._exit

    def _opened(self) -> asyncio.Event:
        if self._ready is None:
            raise UsageError("This transport is not open; call open() first.")
        return self._ready


def memory_transport(
    handler: Callable[[Any], Iterable[Any] | None] | None = None, *, max_line: int = MAX_LINE
) -> tuple[MemoryTransport, MemoryPeer]:
    """A transport and the agent's end of it. ``handler``, if given, is called (on the loop) with every value that is
    sent and returns the values to answer with; a generator function does nicely."""
    peer = MemoryPeer(handler)
    return MemoryTransport(peer, max_line), peer
