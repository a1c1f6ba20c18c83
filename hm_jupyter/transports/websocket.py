"""An agent behind a WebSocket: JSON-RPC messages as text frames (ACP reference 10), with connections that come back.

Works on the asyncio loop it is opened on. A socket that is closed takes the server's state with it, so coming back is
always ``Link("lost")`` and then ``Link("fresh")``; what is sent in between, before ``initialize`` is sent again, is
dropped. Some servers name no ``Acp-Connection-Id``; nothing depends on it.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

import anyio
import httpx
from pydantic_core import from_json
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, InvalidURI, WebSocketException

from ..errors import AgentGone, TransportError, UsageError
from .backoff import Backoff, Patience, retry_after
from .base import BadLine, Exit, Link, Message, Received, Transport
from .endpoint import AUTH_HINT, Endpoint, Headers, status_words
from .inbox import Inbox
from .lines import MAX_LINE, decode, encode
from .pacing import PAUSE, SMALL, Noting

log = logging.getLogger("hm_jupyter")

QUEUE = 256
"""Frames the library reads ahead."""

_SILENT = logging.Logger("hm_jupyter.websocket", logging.CRITICAL + 1)
"""The library's own log would show headers, and so the token."""


class WebSocketTransport(Transport):
    """``url``: ``wss://host/acp?projectId=…``. The other options are those of
    :class:`~hm_jupyter.transports.http.HttpTransport`. Raises ``UsageError`` for what cannot be right."""

    def __init__(
        self,
        url: str,
        *,
        headers: Headers = None,
        cookies: Mapping[str, str] | None = None,
        insecure: bool = False,
        tls: ssl.SSLContext | None = None,
        max_message: int = MAX_LINE,
        patience: Patience | None = None,
    ) -> None:
        self._endpoint = Endpoint(url, ("ws", "wss"), headers=headers, cookies=cookies, insecure=insecure, tls=tls)
        self.patience = patience or Patience()
        self.max_message = max_message
        self.connection = ""
        self._state = "closed"  # up (initialize may be sent), greeted (it was), recovering, ended
        self._reason = ""
        self._inbox: Inbox | None = None
        self._socket: ClientConnection | None = None
        self._reader: asyncio.Task[None] | None = None
        self._last: tuple[Any, int] | None = None  # the request sent last: its id and size
        self._input_ended = False
        self._closing: asyncio.Task[Exit] | None = None

    def __repr__(self) -> str:
        return f"<WebSocketTransport {self._endpoint.place}>"

    # ---- life ------------------------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Connect. Raises ``TransportError`` with the reason if that fails."""
        if self._inbox is not None:
            raise UsageError("This transport was opened before; make a new one.")
        self._inbox = Inbox()
        try:
            self._socket = await self._connect()
        except _Failed as failed:
            self._state = "ended"
            raise TransportError(self._endpoint.not_reached(str(failed), advised=failed.final)) from None
        self._state = "up"
        self._reader = asyncio.get_running_loop().create_task(self._run(self._socket))

    async def receive(self) -> AsyncIterator[list[Received]]:
        """What arrives, in order; ends when the connection cannot be made again."""
        async for batch in self._opened().batches():
            yield batch

    async def send(self, value: Any) -> None:
        """Send one message; returns when the socket has taken it. Dropped while the connection is being made again.

        Raises ``AgentGone`` after the end, ``ValueError`` or ``TypeError`` for what is not JSON."""
        text = encode(value)[:-1].decode("ascii")
        self._opened()
        if self._state == "ended":
            raise AgentGone(self._reason or "The connection was closed. Start a new session.")
        if self._input_ended:
            raise AgentGone("The connection's input was closed. Start a new session.")
        request = isinstance(value, dict) and "method" in value and "id" in value
        if request and value["method"] == "initialize":
            if self._state == "greeted":  # a socket takes one (ACP reference 10)
                await self._renew()
            if self._state == "up":
                self._state = "greeted"
        if self._state != "greeted" or self._socket is None:
            return
        self._last = (value["id"], len(text)) if request else None
        with suppress(ConnectionClosed):  # the reader sees it too, and says why
            await self._socket.send(text)

    async def end_input(self) -> None:
        self._input_ended = True

    async def close(self) -> Exit:
        """Close the socket, within ``Patience.leave`` seconds."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())
        with anyio.CancelScope(shield=True):
            await asyncio.shield(self._closing)
        return self._closing.result()

    async def _close(self) -> Exit:
        self._input_ended = True
        self._state = "ended"
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
        if self._socket is not None:
            with anyio.move_on_after(self.patience.leave + 1):
                await self._socket.close()
        if self._inbox is not None:
            self._inbox.end()
        return Exit(None, reason=self._reason)

    def _fail(self, reason: str) -> None:
        if self._state != "ended":
            self._state = "ended"
            self._reason = reason
            self._opened().end()

    # ---- connecting ------------------------------------------------------------------------------------------------

    async def _connect(self) -> ClientConnection:
        """A connected socket. Raises :class:`_Failed`."""
        endpoint = self._endpoint
        # The jar's rules are for http(s); so is what shows it a request.
        request = httpx.Request("GET", "http" + endpoint.url[2:], headers=endpoint.headers())
        jar = httpx.Cookies(endpoint.cookies())
        jar.set_cookie_header(request)
        given = endpoint.headers()
        if "cookie" in request.headers:
            given = {name: value for name, value in given.items() if name.lower() != "cookie"}
            given["Cookie"] = request.headers["cookie"]
        try:
            socket = await _Connect(
                endpoint,
                additional_headers=given,
                user_agent_header="hm_jupyter",
                proxy=None if endpoint.loopback else True,
                compression=None,
                open_timeout=self.patience.connect,
                ping_interval=self.patience.keepalive,
                ping_timeout=2 * self.patience.keepalive,
                close_timeout=self.patience.leave,
                max_size=self.max_message,
                max_queue=QUEUE,
                logger=_SILENT,
                ssl=endpoint.tls() if endpoint.secure else None,
            )
        except InvalidStatus as error:
            response = error.response
            status = response.status_code
            text = endpoint.scrub(bytes(response.body or b"")[:2000].decode("utf-8", "replace"))
            said = f": {text}" if text and "<" not in text else ""
            reason = f"{status_words(status)} ({status}{said})"
            if status in (401, 403, 407):
                raise _Failed(f"{reason}. {AUTH_HINT.rstrip('.')}", final=True) from None
            wait = retry_after(response.headers.get("Retry-After"), time.time())
            raise _Failed(reason, wait=wait) from None
        except TransportError as error:
            raise _Failed(str(error).rstrip("."), final=True) from None
        except ImportError:
            reason = "a package for the proxy is missing. Run: pip install 'websockets[socks]' python-socks"
            raise _Failed(reason, final=True) from None
        except (OSError, asyncio.TimeoutError, WebSocketException) as error:
            raise _Failed(endpoint.explain(error)) from None
        if socket.response is not None:
            self.connection = socket.response.headers.get("Acp-Connection-Id", "")
            cookies = [("set-cookie", value) for value in socket.response.headers.get_all("Set-Cookie")]
            jar.extract_cookies(httpx.Response(101, headers=cookies, request=request))
        return socket

    async def _renew(self) -> None:
        """Another socket instead of this one, without a word."""
        old = self._socket
        try:
            self._socket = await self._connect()
        except _Failed as failed:
            self._fail(f"{self._endpoint.place}: {failed}.")
            return
        self._state = "up"
        if old is not None:
            await old.close()

    # ---- reading ---------------------------------------------------------------------------------------------------

    async def _run(self, socket: ClientConnection) -> None:
        try:
            backoff = Backoff(self.patience)
            loop = asyncio.get_running_loop()
            while True:
                began = loop.time()
                reason = await self._read(socket)
                if self._socket is not None and self._socket is not socket:  # renewed
                    socket = self._socket
                    continue
                if loop.time() - began > self.patience.stable:
                    backoff.reset()
                self._state = "recovering"
                self._socket = None
                self._opened().put([Link("lost", reason)])
                found = await self._again(backoff, reason)
                if found is None:
                    return
                socket = self._socket = found
                self._state = "up"
                self._opened().put([Link("fresh")])
        except Exception as error:  # a fault of ours must end the session in words
            log.exception("reading from %s failed", self._endpoint.place)
            self._fail(f"Reading from {self._endpoint.place} failed ({type(error).__name__}).")

    async def _again(self, backoff: Backoff, reason: str) -> ClientConnection | None:
        wait: float | None = None
        while not backoff.exhausted:
            await asyncio.sleep(backoff.delay(wait))
            try:
                return await self._connect()
            except _Failed as failed:
                reason, wait = str(failed), failed.wait
                if failed.final:
                    self._fail(f"{self._endpoint.place}: {reason}.")
                    return None
        minutes = self.patience.give_up / 60
        self._fail(f"The connection could not be made again within {minutes:.3g} minutes: {reason}.")
        return None

    async def _read(self, socket: ClientConnection) -> str:
        """Read until it is closed; returns why."""
        inbox = self._opened()
        try:
            while True:
                step = Noting(socket.recv())
                frame = await step
                if isinstance(frame, str):  # binary frames mean nothing (ACP reference 10)
                    inbox.put([_decode(frame)])
                    await inbox.room()
                if step.waited and len(frame) < SMALL:
                    await asyncio.sleep(PAUSE)
        except ConnectionClosed as closed:
            return self._why(closed)

    def _why(self, closed: ConnectionClosed) -> str:
        if closed.rcvd is None:
            if closed.sent is not None and closed.sent.code == 1009:
                return f"the agent sent a message larger than {self.max_message / 1e6:.0f} MB"
            return "nothing was heard of the server" if closed.sent is not None else "the connection broke"
        code = closed.rcvd.code
        said = self._endpoint.scrub(closed.rcvd.reason)
        if closed.sent is not None and closed.sent.code == 1009 and not closed.rcvd_then_sent:
            return f"the agent sent a message larger than {self.max_message / 1e6:.0f} MB"
        reason = f"{CLOSED.get(code, 'the server closed the connection')} ({code}{': ' + said if said else ''})"
        if code == 1009 and self._last is not None:
            rpc_id, size = self._last
            text = f"The message was too large for the server: {size / 1e6:.1f} MB. Send less."
            error = {"code": -32603, "message": text, "data": {"close": code}}
            self._opened().put([Message({"jsonrpc": "2.0", "id": rpc_id, "error": error})])
        return reason

    def _opened(self) -> Inbox:
        if self._inbox is None:
            raise UsageError("This transport is not open; call open() first.")
        return self._inbox


CLOSED = {
    1000: "the server closed the connection",
    1001: "the server shuts down",
    1002: "the server found a fault in how we speak to it",
    1003: "the server does not take such messages",
    1007: "the server could not read a message",
    1008: "the server closed the connection for a limit or a rule of its own",
    1009: "a message was too large for the server",
    1011: "the server failed",
    1012: "the server is being restarted",
    1013: "the server is overloaded",
}
"""Close codes in words (RFC 6455, 7.4.1, and ACP reference 10)."""


class _Failed(Exception):
    """No socket came about, for this reason; ``final``: nor will it; ``wait``: seconds the server asks to wait."""

    def __init__(self, reason: str, *, final: bool = False, wait: float | None = None) -> None:
        super().__init__(reason)
        self.final = final
        self.wait = wait


class _Connect(connect):
    """Follows redirects within the origin only: the headers would go along."""

    def __init__(self, endpoint: Endpoint, **options: Any) -> None:
        super().__init__(endpoint.url, **options)
        self._endpoint = endpoint

    def process_redirect(self, exc: Exception) -> Exception | str:
        try:
            found = super().process_redirect(exc)
            if isinstance(found, str):
                return self._endpoint.same_origin(found)
        except InvalidURI:
            return TransportError(f"{self._endpoint.place} redirects to something that is no WebSocket.")
        except TransportError as error:
            return error
        if found is not exc:
            return TransportError(f"{self._endpoint.place} redirects to another server.")
        return found


def _decode(frame: str) -> Message | BadLine:
    try:
        return Message(from_json(frame, allow_inf_nan=False))
    except ValueError:
        found = decode(frame.encode("utf-8", "replace"))
        if isinstance(found, BadLine):
            return BadLine(found.reason.replace("the line", "the message", 1), found.text)
        return found
