"""What we send over HTTP: one POST a message, in order for each session, none of them twice if it could do harm.

Knows how a server may answer a POST (ACP reference 10), not what the messages mean. It tells a :class:`Desk`.

Order: a message goes when the one before it in its lane (its session, or the connection) was answered, or was written
and not answered for ``Patience.taken`` seconds: some servers answer a prompt's POST only at the end of the turn, and a
cancel must not wait for that. Our answers to the agent's requests wait for nobody.

A request whose POST is not answered for ``Patience.unanswered`` seconds, while nothing of its session comes either, counts
as unanswered: whoever waits for it is told so. What is refused to one request ends that request; whether the connection
still lives is for its streams to say.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from typing import Any, Protocol

import anyio
import httpx
from pydantic_core import from_json

from ..errors import TransportError
from .backoff import Backoff, Patience, retry_after
from .base import BadLine, Message, Received
from .endpoint import AUTH_HINT, status_words
from .http_routes import ATTACH, Post
from .http_streams import CONNECTION, SESSION, names_the_session
from .web import Web, read_some

TRIES = 5
"""Of a message that may be sent again. A request that may have arrived never is."""

AUTH_REQUIRED = -32000
"""ACP's error code for "sign in first"."""

SILENT = (
    "{place} has not confirmed {what} within {minutes:.3g} minutes, and nothing came from the agent. It may have got it, so "
    "it is not sent again. %hm resume shows what the agent knows of it."
)


class Desk(Protocol):
    """What posting needs of the connection it belongs to."""

    web: Web
    patience: Patience
    max_message: int
    connection: str

    async def settled(self, session: str) -> None: ...
    async def linked(self) -> None: ...
    def arrived(self, session: str, items: list[Received]) -> None: ...
    def gone(self, reason: str) -> None: ...
    def fail(self, reason: str) -> None: ...
    def wall_clock(self) -> float: ...


class _Unanswered(Exception):
    """A request's POST has waited too long."""


class Posts:
    """The lanes of one connection. Start each task it asks for with ``spawn`` (which ends them with the connection)."""

    def __init__(self, desk: Desk, client: httpx.AsyncClient, spawn: Any) -> None:
        self._desk = desk
        self._client = client
        self._spawn = spawn
        self._lanes: dict[str, deque[Post]] = {}
        self._busy: set[Post] = set()
        self._silent: dict[Post, anyio.CancelScope] = {}  # requests on the way, of whose session nothing has come since
        self._idle = asyncio.Event()
        self._idle.set()

    def put(self, post: Post) -> None:
        """Send it when its turn has come."""
        self._busy.add(post)
        self._idle.clear()
        if post.kind == "response":
            self._spawn(self._deliver(post))
            return
        lane = self._lanes.get(post.lane)
        if lane is None:
            self._lanes[post.lane] = lane = deque()
            self._spawn(self._run(post.lane, lane))
        lane.append(post)

    def heard(self, session: str) -> None:
        """Something of a session came: the server has what was sent to it, and may answer a POST as late as it likes."""
        for post in [post for post in self._silent if post.session == session]:
            self._silent.pop(post).deadline = math.inf

    async def idle(self) -> None:
        """Wait until everything was sent (a request: written; its POST may be answered late)."""
        await self._idle.wait()

    async def _run(self, name: str, lane: deque[Post]) -> None:
        while lane:
            post = lane.popleft()
            await self._desk.settled(post.session)
            written = asyncio.Event()
            task = self._spawn(self._deliver(post, written))
            signal = asyncio.ensure_future(written.wait())
            try:
                await asyncio.wait({task, signal}, return_when=asyncio.FIRST_COMPLETED)
                await asyncio.wait({task}, timeout=self._desk.patience.taken)
            finally:
                signal.cancel()
        del self._lanes[name]

    async def _deliver(self, post: Post, written: asyncio.Event | None = None) -> None:
        try:
            await self._try(post, written)
        finally:
            self._sent(post)

    def _sent(self, post: Post) -> None:
        self._busy.discard(post)
        if not self._busy:
            self._idle.set()

    async def _try(self, post: Post, written: asyncio.Event | None) -> None:
        desk = self._desk
        endpoint = desk.web.endpoint
        backoff = Backoff(desk.patience)
        renewed = False
        while True:
            wait: float | None = None
            try:
                status, headers, body = await self._post(post, written)
            except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError, httpx.PoolTimeout) as error:
                reason = endpoint.explain(error)  # nothing was sent, so it may be sent again
                if backoff.exhausted:
                    return self._failed(post, f"{reason}. Try again later.")
                await asyncio.sleep(backoff.delay())
                await desk.linked()
                continue
            except httpx.RequestError as error:
                reason = endpoint.explain(error)
                if post.kind == "request":
                    await desk.linked()  # if the connection is gone too, that is told instead
                    return self._failed(post, f"{reason}, and it is not known whether the agent got this. Look first.")
            except _Unanswered:
                minutes = desk.patience.unanswered / 60
                told = SILENT.format(place=endpoint.place, what=post.method or "a request", minutes=minutes)
                return self._failed(post, told)
            except TransportError as error:  # a redirect to elsewhere
                return self._failed(post, str(error)) if post.kind == "request" else desk.fail(str(error))
            else:
                text = endpoint.scrub(body[:2000].decode("utf-8", "replace"))
                reason = f"{endpoint.host}: {status_words(status)} ({status}{': ' + text if text else ''})"
                wait = retry_after(headers.get("retry-after"), desk.wall_clock())
                if 200 <= status < 300:
                    return self._answered(post, body)
                if status == 401 and endpoint.renews and not renewed:
                    renewed = True
                    continue
                if status in (401, 403, 407) and post.kind == "request":
                    return self._failed(post, f"{reason}. {AUTH_HINT}", status)
                if status in (401, 403, 407):
                    return desk.fail(f"{endpoint.place}: {status_words(status)} ({status}). {AUTH_HINT}")
                if status in (404, 410):
                    if not (post.session and names_the_session(text)):
                        return desk.gone(f"the server does not know this connection any more ({status})")
                    if post.method not in ATTACH:
                        return self._failed(post, reason, status)
                    post.session = ""  # (the Python SDK's server takes it so)
                    continue
                again = status in (429, 503) and (wait is not None or status == 429)
                if not again and (status < 500 or post.kind == "request"):
                    size = f" It has {len(post.body) / 1e6:.1f} MB; send less." if status == 413 else ""
                    return self._failed(post, f"{reason}.{size}", status)
            if backoff.attempts >= TRIES - 1:
                return self._failed(post, f"{reason}. It was tried {TRIES} times.")
            await asyncio.sleep(backoff.delay(wait))

    async def _post(self, post: Post, written: asyncio.Event | None) -> tuple[int, httpx.Headers, bytes]:
        if post.kind != "request":
            return await self._exchange(post, written)
        with anyio.move_on_after(self._desk.patience.unanswered) as scope:
            self._silent[post] = scope
            try:
                return await self._exchange(post, written)
            finally:
                self._silent.pop(post, None)
        raise _Unanswered

    async def _exchange(self, post: Post, written: asyncio.Event | None) -> tuple[int, httpx.Headers, bytes]:
        async def trace(event: str, _info: Any) -> None:
            if written is not None and event.endswith("send_request_body.complete"):
                written.set()
                if post.kind == "request":
                    self._sent(post)

        desk = self._desk
        headers = {"Content-Type": "application/json", "Accept": "application/json", CONNECTION: desk.connection}
        if post.session:
            headers[SESSION] = post.session
        seconds = None if post.kind == "request" else 4 * desk.patience.keepalive
        timeout = httpx.Timeout(seconds, connect=desk.patience.connect, write=4 * desk.patience.keepalive)
        async with desk.web.request(
            self._client, "POST", headers, content=post.body, timeout=timeout, trace=trace
        ) as response:
            return response.status_code, response.headers, await read_some(response, desk.max_message)

    def _answered(self, post: Post, body: bytes) -> None:
        """A server may answer in the response's body instead of on a stream."""
        if not body.strip():
            return
        try:
            value = from_json(body)
        except ValueError:
            return
        if isinstance(value, dict) and "jsonrpc" in value:
            self._desk.arrived(post.session, [Message(value)])

    def _failed(self, post: Post, reason: str, status: int | None = None) -> None:
        """Say so: to whoever waits for the answer to a request, else as something that went wrong."""
        if post.kind == "request":
            code = AUTH_REQUIRED if status == 401 else -32603
            error = {"code": code, "message": reason, "data": {"status": status} if status else None}
            self._desk.arrived(post.session, [Message({"jsonrpc": "2.0", "id": post.id, "error": error})])
        else:
            what = post.method or "our answer to one of its requests"
            self._desk.arrived(post.session, [BadLine(f"{what} did not reach the agent: {reason}", "")])
