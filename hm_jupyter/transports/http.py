"""An agent behind HTTP: ACP's Streamable HTTP transport (ACP reference 10), with connections that come back.

A connection is made and left at the door (:mod:`.http_door`). Messages go out as POSTs (:mod:`.http_posts`) and come in
on event streams (:mod:`.http_streams`), one for the connection and one for each session; here they are held together. Of
ACP it knows what the transport itself needs: ``initialize``, ``sessionId`` and which answers bring one. Works on the
asyncio loop it is opened on.

When a stream breaks it is opened again on the same connection, and the server delivers what it kept: ``Link("back")``,
with a ``Link("lost")`` before it if that took more than a second. When the connection itself is gone (404, 410, a server
that was started anew), ``Link("lost")`` and, as soon as the server answers again, ``Link("fresh")``: what is sent is
dropped until ``initialize`` is sent again.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import AsyncIterator, Coroutine, Mapping
from typing import Any

import anyio
import httpx

from ..errors import AgentGone, TransportError, UsageError
from .backoff import Backoff, Patience
from .base import Exit, Link, Message, Received, Transport
from .endpoint import AUTH_HINT, Endpoint, Headers, status_words
from .http_door import Door, unavailable
from .http_posts import Posts
from .http_routes import ATTACH, Post, Routes, session_of
from .http_streams import Stream
from .inbox import Inbox
from .lines import MAX_LINE, encode
from .web import Web

log = logging.getLogger("hm_jupyter")

STREAMS = 64
"""Sessions whose streams are kept open; a server that names more of them is not followed."""

QUIET, LOOKS = 0.1, 10
"""Seconds (and how many looks at it) without a word on a session's stream after which an answer that came on another
one is not early."""


class HttpTransport(Transport):
    """``url``: of the endpoint, with its query if it needs one (``https://host/acp?projectId=…``).

    ``headers``: a mapping, or a function that gives one (asked before each request: a token may be renewed);
    ``cookies``: to begin with; ``insecure``: send both unencrypted to another machine; ``tls``: an
    ``ssl.SSLContext`` of your own; ``http2``: HTTP/2 (needs ``httpx[http2]``); ``max_message``: cap of one message in
    bytes; ``patience``: how long to wait for what.

    Raises ``UsageError`` for what cannot be right.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Headers = None,
        cookies: Mapping[str, str] | None = None,
        insecure: bool = False,
        tls: ssl.SSLContext | None = None,
        http2: bool = False,
        max_message: int = MAX_LINE,
        patience: Patience | None = None,
    ) -> None:
        self._endpoint = Endpoint(url, ("http", "https"), headers=headers, cookies=cookies, insecure=insecure, tls=tls)
        self.patience = patience or Patience()
        self.max_message = max_message
        self.web = Web(self._endpoint, http2)
        self.connection = ""
        self.comments_seen = False
        self._state = "closed"  # new, starting, up, recovering, fresh, ended
        self._reason = ""
        self._inbox: Inbox | None = None
        self._tasks: set[asyncio.Task[Any]] = set()  # of the whole transport
        self._work: set[asyncio.Task[Any]] = set()  # of this connection
        self._recovery: Backoff = Backoff(self.patience)
        self._since = 0.0  # (loop's clock) when this connection was made
        self._input_ended = False
        self._closing: asyncio.Task[Exit] | None = None
        self._begin()

    def _begin(self) -> None:
        """Forget everything that belonged to a connection."""
        self.connection = ""
        self._streams: dict[str, tuple[Stream, asyncio.Task[Any]]] = {}
        self._routes = Routes()
        self._down: dict[str, str] = {}  # streams that broke -> why
        self._lossy = False
        self._shown = False
        self._show: asyncio.TimerHandle | None = None

    def __repr__(self) -> str:
        return f"<HttpTransport {self._endpoint.place}>"

    # ---- life ------------------------------------------------------------------------------------------------------

    async def open(self) -> None:
        """See that the server answers. Raises ``TransportError`` with the reason if it does not."""
        if self._state != "closed" or self._inbox is not None:
            raise UsageError("This transport was opened before; make a new one.")
        self._inbox = Inbox()
        self._loop = asyncio.get_running_loop()
        self._linked = asyncio.Event()
        self._client = self.web.client()
        self._posts = Posts(self, self._client, self._spawn)
        self._door = Door(self._endpoint, self.web, self._client, self.patience, self.max_message, self.wall_clock)
        try:
            status, _ = await self._door.knock()
        except (httpx.RequestError, TransportError, OSError) as error:
            await self._client.aclose()
            self._state = "ended"
            if isinstance(error, TransportError):
                raise
            raise TransportError(self._endpoint.not_reached(self._endpoint.explain(error))) from None
        if status in (401, 407) or unavailable(status):
            await self._client.aclose()
            self._state = "ended"
            hint = AUTH_HINT if status in (401, 407) else "Try again later."
            raise TransportError(f"{self._endpoint.place}: {status_words(status)} ({status}). {hint}")
        self._state = "new"
        self._tasks.add(self._loop.create_task(self._watch()))

    async def receive(self) -> AsyncIterator[list[Received]]:
        """What arrives on all streams, in order of arrival; ends when the connection cannot be made again."""
        async for batch in self._opened().batches():
            yield batch

    async def send(self, value: Any) -> None:
        """Hand a message over; returns at once, and what becomes of it is told among what arrives.

        Raises ``AgentGone`` after the end, ``ValueError`` or ``TypeError`` for what is not JSON."""
        body = encode(value)[:-1]
        self._opened()
        if self._state == "ended":
            raise AgentGone(self._reason or "The connection was closed. Start a new session.")
        if self._input_ended:
            raise AgentGone("The connection's input was closed. Start a new session.")
        post = self._routes.outgoing(value, body)
        if post.kind == "request" and post.method == "initialize":
            if self._state == "up":
                await self._leave()
            if self._state in ("new", "fresh", "up"):
                self._state = "starting"
                self._spawn(self._initialize(post))
        elif self._state in ("starting", "up"):
            self._posts.put(post)
        # else the connection is gone, and what belonged to it too

    async def end_input(self) -> None:
        self._input_ended = True

    async def close(self) -> Exit:
        """Send what waits and say goodbye (DELETE), each for at most ``Patience.leave`` seconds."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())
        with anyio.CancelScope(shield=True):
            await asyncio.shield(self._closing)
        return self._closing.result()

    async def _close(self) -> Exit:
        self._input_ended = True
        if self._inbox is None:
            self._state = "ended"
            return Exit()
        if self._state == "up":
            with anyio.move_on_after(self.patience.leave):
                await self._posts.idle()
            await self._leave()
        self._state = "ended"
        self._stop(self._work | self._tasks)
        with anyio.move_on_after(self.patience.leave):
            await asyncio.gather(*self._work, *self._tasks, return_exceptions=True)
        await self._client.aclose()
        self._inbox.end()
        return Exit(None, reason=self._reason)

    async def _leave(self) -> None:
        """DELETE the connection, and forget it."""
        connection = self.connection
        self._stop(self._work)
        self._begin()
        await self._door.leave(connection)

    def fail(self, reason: str) -> None:
        """There is no way to go on: end, with this reason."""
        if self._state != "ended":
            self._state = "ended"
            self._reason = reason
            self._stop(self._work)
            self._opened().end()

    # ---- initialize ------------------------------------------------------------------------------------------------

    async def _initialize(self, post: Post) -> None:
        try:
            connection, value = await self._door.initialize(post.body, once=self._recovery.attempts == 0)
        except TransportError as error:
            self.fail(str(error))
        else:
            self._connected(connection, value)

    def _connected(self, connection: str, value: dict[str, Any]) -> None:
        if connection:
            self.connection = connection
            self._state = "up"
            self._since = self._loop.time()
            self._linked.set()
            self._want("")
        else:
            self._state = "fresh"  # refused; another initialize may be better
        self.arrived("", [Message(value)])

    # ---- what the streams and posts tell us (Hub, Desk) ------------------------------------------------------------

    def arrived(self, session: str, items: list[Received]) -> None:
        """Note what the transport itself must know of it, and pass it on."""
        late: list[int] = []
        if items:
            self._posts.heard(session)
        for at, item in enumerate(items):
            if isinstance(item, Message) and isinstance(item.value, dict):
                value = item.value
                if (told_of := session_of(value)) and told_of != session:
                    self._posts.heard(told_of)
                if "id" not in value:
                    if not session and (named := session_of(value)) and named not in self._streams:
                        self._want(named)
                elif "method" in value:
                    if named := self._routes.asked(value, session):
                        self._want(named)
                elif (stream := self._answered(session, value)) is not None:
                    late.append(at)
                    self._spawn(self._after(stream, item))
        for at in reversed(late):
            del items[at]
        self._opened().put(items)

    def _answered(self, session: str, value: dict[str, Any]) -> Stream | None:
        """An answer to a request of ours. If it overtook what is on its session's own stream, that stream."""
        found = self._routes.answered(value)
        if found.session != session:
            self._posts.heard(found.session)
        if found.brings:
            self._want(found.brings)
        if found.method in ("session/close", "session/delete") and "error" not in value:
            self._drop(found.session)
            return None
        stream = self._streams[found.session][0] if found.session in self._streams else None
        if stream is not None and found.method in ATTACH:
            stream.again()
        return stream if session != found.session else None

    async def _after(self, stream: Stream, item: Received) -> None:
        """Pass an answer on when nothing comes on its session's stream any more. A history is replayed there, and the
        answer that ends it comes on the connection's stream (ACP reference 10), which may be quicker."""
        waited, quiet, heard = 0, 0, stream.heard
        while waited < self.patience.taken / QUIET * LOOKS and quiet < LOOKS:
            if stream.settled.is_set() and not stream.open:  # the server knows no such stream
                break
            await asyncio.sleep(QUIET / LOOKS)
            # Counted in looks, not in seconds: when this machine is busy, what has come may still have to be read.
            quiet = quiet + 1 if stream.open and stream.heard == heard else 0
            heard = stream.heard
            if stream.session not in self._down:  # else it is being opened again, and has more to tell
                waited += 1
        self._opened().put([item])

    async def room(self) -> None:
        await self._opened().room()

    async def settled(self, session: str) -> None:
        """Wait (not for long) until the streams on which the answer will come are open (pitfall 24)."""
        with anyio.move_on_after(self.patience.stream):
            await self._linked.wait()
            for name in {"", session}:
                stream = self._want(name)
                if stream is not None:
                    await stream.settled.wait()

    async def linked(self) -> None:
        """Wait until it is clear whether the connection holds: at least a moment, and while a stream is being reopened."""
        await asyncio.sleep(min(0.2, self.patience.show))
        while self._down:
            await asyncio.sleep(0.05)

    def stream_up(self, stream: Stream, lossy: bool) -> None:
        self._lossy = self._lossy or lossy
        if self._down.pop(stream.session, None) is not None and not self._down:
            if self._show is not None:
                self._show.cancel()
                self._show = None
            if self._shown or self._lossy:
                self._opened().put([Link("back")])
            self._shown = self._lossy = False

    def stream_down(self, stream: Stream, reason: str) -> None:
        self._down[stream.session] = reason
        if self._show is None and not self._shown:
            self._show = self._loop.call_later(self.patience.show, self._show_lost)

    def _show_lost(self) -> None:
        self._show = None
        if self._down and self._state == "up":
            self._shown = True
            self._opened().put([Link("lost", next(iter(self._down.values())))])

    def gone(self, reason: str) -> None:
        """The connection is no more: make another, for which the protocol begins anew."""
        if self._state not in ("up", "starting"):
            return
        shown = self._shown
        if self._show is not None:
            self._show.cancel()
        self._state = "recovering"
        self._linked.clear()
        self._stop(self._work)
        lived = self._loop.time() - self._since
        self._begin()
        self._posts = Posts(self, self._client, self._spawn)
        if lived > self.patience.stable:
            self._recovery.reset()
        if not shown:
            self._opened().put([Link("lost", reason)])
        self._tasks.add(self._loop.create_task(self._recover(reason)))

    async def _recover(self, reason: str) -> None:
        wait: float | None = None
        while True:
            if self._recovery.exhausted:
                minutes = self.patience.give_up / 60
                self.fail(f"The connection could not be made again within {minutes:.3g} minutes: {reason}.")
                return
            await asyncio.sleep(self._recovery.delay(wait))
            try:
                status, wait = await self._door.knock()
            except httpx.RequestError as error:
                reason, wait = self._endpoint.explain(error), None
                continue
            except TransportError as error:
                self.fail(str(error))
                return
            if not unavailable(status):
                break
            reason = f"{status_words(status)} ({status})"
        self._state = "fresh"
        self._opened().put([Link("fresh")])

    def wall_clock(self) -> float:
        """Seconds since 1970."""
        return time.time()

    # ---- the parts -------------------------------------------------------------------------------------------------

    def _want(self, session: str) -> Stream | None:
        """The stream of a session, opened if it is not there; None if there are too many."""
        known = self._streams.get(session)
        if known is not None:
            return known[0]
        if len(self._streams) > STREAMS or self._state != "up":
            return None
        stream = Stream(self, session)
        self._streams[session] = (stream, self._spawn(stream.run()))
        return stream

    def _drop(self, session: str) -> None:
        found = self._streams.pop(session, None)
        if found is not None and session:
            found[1].cancel()
            self.stream_up(found[0], False)

    async def _watch(self) -> None:
        """Look for streams that have gone silent."""
        while True:
            await asyncio.sleep(self.patience.keepalive / 3)
            for stream, _ in list(self._streams.values()):
                stream.check_silence(self._loop.time())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._work.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("the connection to %s failed", self._endpoint.place, exc_info=error)
            self.fail(f"The connection failed: {self._endpoint.scrub(str(error))} ({type(error).__name__}).")

    def _stop(self, tasks: set[asyncio.Task[Any]]) -> None:
        me = asyncio.current_task()
        for task in list(tasks):
            if task is not me:
                task.cancel()

    def _opened(self) -> Inbox:
        if self._inbox is None:
            raise UsageError("This transport is not open; call open() first.")
        return self._inbox
