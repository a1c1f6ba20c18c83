"""One event stream of an ACP connection over HTTP, kept open: read, and opened anew whenever it ends.

Knows statuses and silence (ACP reference 10), not what the messages mean. It tells a :class:`Hub` what happens.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol

import anyio
import httpx

from ..errors import TransportError
from .backoff import Backoff, Patience, retry_after
from .base import Received
from .endpoint import AUTH_HINT, status_words
from .pacing import PAUSE, SMALL, Noting
from .sse import SseDecoder
from .web import Web, read_some

CONNECTION, SESSION = "Acp-Connection-Id", "Acp-Session-Id"


UNTIL_KNOWN = -1.0
"""Instead of a wait: the server does not know the session, so there is nothing to open before it does."""


class Hub(Protocol):
    """What a stream needs of the connection it belongs to."""

    web: Web
    patience: Patience
    max_message: int
    connection: str
    comments_seen: bool

    def arrived(self, session: str, items: list[Received]) -> None: ...
    async def room(self) -> None: ...
    def stream_up(self, stream: Stream, lossy: bool) -> None: ...
    def stream_down(self, stream: Stream, reason: str) -> None: ...
    def gone(self, reason: str) -> None: ...
    def fail(self, reason: str) -> None: ...
    def wall_clock(self) -> float: ...


class Stream:
    """The stream of ``session``, or of the connection itself ("").

    ``settled`` is set while it is open, and also when the server does not know the session (yet): then there is nothing
    to wait for. ``heard`` is when (by the loop's clock) something came last. One reader a stream: the next request begins
    when the one before is closed (pitfall 25).
    """

    def __init__(self, hub: Hub, session: str) -> None:
        self.session = session
        self.settled = asyncio.Event()
        self.open = False
        self._hub = hub
        self._client = hub.web.client(streams=True)
        self._backoff = Backoff(hub.patience)
        self._known = False  # it was open before, so the server knows the session
        self._was_open = self._progress = False  # in this round; … and something came
        self._lossy = False  # it was cut, not ended
        self._again = asyncio.Event()
        self.heard = asyncio.get_running_loop().time()
        self._scope: anyio.CancelScope | None = None
        self._last_id = ""
        self._retry: float | None = None

    def again(self) -> None:
        """The session is known now; try to open its stream (if it waits for that)."""
        self._again.set()

    def check_silence(self, now: float) -> None:
        """Open it anew if it has been silent for too long: three missed keepalives, or where the server never sent
        any, twenty times their interval."""
        limit = self._hub.patience.keepalive * (3 if self._hub.comments_seen else 20)
        if self._scope is not None and now - self.heard > limit:
            self._scope.cancel()

    async def run(self) -> None:
        """Until it is cancelled, or the connection turned out to be gone."""
        try:
            while await self._round():
                pass
        finally:
            with anyio.CancelScope(shield=True):
                await self._client.aclose()

    async def _round(self) -> bool:
        """Open it, read it to its end, and wait as long as is right then. Is it to be opened again?"""
        self._progress = False
        began = asyncio.get_running_loop().time()
        with anyio.CancelScope() as self._scope:
            reason, wait = await self._once()
        silent, self._scope = self._scope.cancelled_caught, None
        if silent:
            reason, wait = "nothing was heard of the server", None
        if not reason:
            return False
        if wait == UNTIL_KNOWN:
            self._again.clear()
            self.settled.set()
            await self._again.wait()
            self.settled.clear()
            return True
        self.open = False
        self.settled.clear()
        self._hub.stream_down(self, reason)
        lived = asyncio.get_running_loop().time() - began > self._hub.patience.show
        if self._progress or (self._was_open and lived):
            self._backoff.reset()
            await asyncio.sleep(self._retry or 0.0)
            return True
        if self._backoff.exhausted:
            minutes = self._hub.patience.give_up / 60
            self._hub.fail(f"The connection could not be made again within {minutes:.3g} minutes: {reason}.")
            return False
        await asyncio.sleep(self._backoff.delay(wait if wait is not None else self._retry))
        return True

    async def _once(self) -> tuple[str, float | None]:
        """One request, to its end. Returns why it ended ("": for good), and how long to wait at least."""
        hub = self._hub
        self.heard = asyncio.get_running_loop().time()
        self._was_open = False
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-cache", CONNECTION: hub.connection}
        if self.session:
            headers[SESSION] = self.session
        if self._last_id:
            headers["Last-Event-ID"] = self._last_id
        timeout = httpx.Timeout(None, connect=hub.patience.connect)
        try:
            async with hub.web.request(self._client, "GET", headers, timeout=timeout) as response:
                kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
                if response.status_code == 200 and kind == "text/event-stream":
                    return await self._read(response)
                return await self._refused(response, kind)
        except httpx.RequestError as error:
            return hub.web.endpoint.explain(error), None
        except TransportError as error:  # a redirect to elsewhere
            hub.fail(str(error))
            return "", None

    async def _read(self, response: httpx.Response) -> tuple[str, float | None]:
        hub = self._hub
        decoder = SseDecoder(hub.max_message, self._last_id)
        self._known = self._was_open = self.open = True
        self.settled.set()
        hub.stream_up(self, self._lossy)
        loop = asyncio.get_running_loop()
        self._lossy = True  # until it ends as it should
        try:
            chunks = _chunks(response)
            while chunk := await (step := Noting(anext(chunks, b""))):
                self.heard = loop.time()
                items = decoder.feed(chunk)
                if decoder.comments:
                    hub.comments_seen = True
                if items:
                    self._progress = True
                    hub.arrived(self.session, items)
                    await hub.room()
                if step.waited and len(chunk) < SMALL:
                    await asyncio.sleep(PAUSE)
            self._lossy = False
        except httpx.RequestError:
            hub.arrived(self.session, decoder.end())
            raise
        finally:
            self._last_id, self._retry = decoder.last_id, decoder.retry
        hub.arrived(self.session, decoder.end())
        return "the server ended the stream", None

    async def _refused(self, response: httpx.Response, kind: str) -> tuple[str, float | None]:
        """Any other answer than an event stream."""
        hub, status = self._hub, response.status_code
        endpoint = hub.web.endpoint
        if status == 200:
            return f"{endpoint.host} answered with {endpoint.scrub(kind) or 'no event stream'}", None
        text = endpoint.scrub((await read_some(response, 2000)).decode("utf-8", "replace"))
        reason = f"{status_words(status)} ({status})"
        if status in (401, 403, 407):
            hub.fail(f"{endpoint.place}: {reason}. {AUTH_HINT}")
            return "", None
        if status in (400, 404, 410) and self.session and names_the_session(text):
            # (Yet: a load is to come. So says the Python SDK's server.)
            known, self._known = self._known, False
            return reason, None if known else UNTIL_KNOWN
        if status in (400, 404, 410):
            hub.gone(f"the server does not know this connection any more ({status})")
            return "", None
        return reason, retry_after(response.headers.get("retry-after"), hub.wall_clock())


def names_the_session(text: str) -> bool:
    """Is it the session, and not the connection, that a 404 is about? Both reference servers say so in words."""
    text = text.lower()
    return "session" in text and "connection" not in text


async def _chunks(response: httpx.Response) -> AsyncIterator[bytes]:
    source = response.aiter_bytes() if response.headers.get("content-encoding") else response.aiter_raw()
    async for chunk in source:
        if chunk:
            yield chunk
