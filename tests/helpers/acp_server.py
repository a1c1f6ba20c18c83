"""A small ACP server over HTTP, in the test's own loop, that a test can make misbehave. Written by us, no agent inside.

::

    async with AcpServer() as server:
        server.agent = my_agent              # async def my_agent(connection, message): what it does with a message
        … HttpTransport(server.url) …
        server.on = lambda request: Reply(503) if request.method == "POST" else None     # instead of what it would do
        await server.last.cut("s1")          # drop a stream
        server.forget()                      # no connection is known any more

As the reference server does (ACP reference 10), it keeps what is said while a stream is not open.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

Shape = Callable[[bytes], list[bytes]]


@dataclass
class Request:
    """What was asked for; ``headers`` by lower-case name."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""

    @property
    def message(self) -> Any:
        return json.loads(self.body) if self.body else None

    @property
    def session(self) -> str:
        return self.headers.get("acp-session-id", "")


@dataclass
class Reply:
    """An answer; with ``hang`` none at all, with ``drop`` the connection is cut instead."""

    status: int = 202
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    after: float = 0.0
    drop: bool = False


class Connection:
    """One client's, by its Acp-Connection-Id."""

    def __init__(self, server: AcpServer, name: str) -> None:
        self.server = server
        self.name = name
        self.queues: dict[str, asyncio.Queue[bytes | str]] = {}
        self.reading: dict[str, asyncio.StreamWriter] = {}

    def queue(self, session: str) -> asyncio.Queue[bytes | str]:
        return self.queues.setdefault(session, asyncio.Queue())

    def say(self, value: Any, session: str | None = None) -> None:
        """A message, on the stream of its session (or the one named)."""
        if session is None:
            params = value.get("params")
            session = params.get("sessionId", "") if isinstance(params, dict) else ""
        self.raw(b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n", session)

    def raw(self, data: bytes, session: str = "") -> None:
        """Bytes of a stream, as they are."""
        self.queue(session).put_nowait(data)

    def update(self, text: str, session: str = "s1") -> None:
        self.say({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "text": text}})

    def answer(self, request: dict[str, Any], result: Any, session: str = "") -> None:
        self.say({"jsonrpc": "2.0", "id": request["id"], "result": result}, session)

    async def read(self, session: str = "") -> None:
        """Wait until the stream is open."""
        for _ in range(5000):
            if session in self.reading:
                return
            await asyncio.sleep(0.001)
        raise AssertionError(f"nobody opened the stream of {session!r}")

    async def cut(self, session: str = "", *, rudely: bool = False) -> None:
        """End a stream: properly, or in the middle of a chunk."""
        await self.read(session)
        writer = self.reading[session]
        self.queue(session).put_nowait("reset" if rudely else "end")
        while self.reading.get(session) is writer:
            await asyncio.sleep(0.001)


Agent = Callable[[Connection, dict[str, Any]], Awaitable[None]]


async def plain_agent(connection: Connection, message: dict[str, Any]) -> None:
    """Answers everything with ``{}``; session/new with s1."""
    if "id" not in message or "method" not in message:
        return
    session = message.get("params", {}).get("sessionId", "")
    if message["method"] == "session/new":
        connection.answer(message, {"sessionId": "s1"})
    else:
        connection.answer(message, {}, session)


def whole(data: bytes) -> list[bytes]:
    """An event in one piece."""
    return [data]


class AcpServer:
    def __init__(self) -> None:
        self.agent: Agent = plain_agent
        self.on: Callable[[Request], Reply | Awaitable[Reply | None] | None] = lambda request: None
        self.requests: list[Request] = []
        self.connections: dict[str, Connection] = {}
        self.shape: Shape = whole
        self.keepalive = 0.0  # seconds between comments; 0: none
        self.path = "/acp"
        self.tls: Any = None
        self._made = 0
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}{self.path}"

    @property
    def last(self) -> Connection:
        """The newest connection."""
        return list(self.connections.values())[-1]

    def posted(self, method: str | None = None) -> list[Request]:
        """The POSTs of messages (with this method)."""
        return [
            r for r in self.requests if r.method == "POST" and (method is None or r.message.get("method") == method)
        ]

    def forget(self) -> None:
        """As after its restart: no connection is known, all streams end."""
        for connection in self.connections.values():
            for writer in list(connection.reading.values()):
                writer.close()
        self.connections.clear()

    async def __aenter__(self) -> AcpServer:
        await self.start()
        return self

    async def start(self, port: int = 0) -> None:
        self._server = await asyncio.start_server(self._client, "127.0.0.1", port, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Nobody listens any more, nothing is left."""
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.connections.clear()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    # ---- HTTP ------------------------------------------------------------------------------------------------------

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        request = Request(method, path, headers, body)
        self.requests.append(request)
        reply = self.on(request)
        if isinstance(reply, Awaitable):
            reply = await reply
        if reply is None:
            reply = self._handle(request)
        if isinstance(reply, Connection):
            await self._stream(reply, request.session, reader, writer)
            return False
        await asyncio.sleep(reply.after)
        if reply.drop:
            writer.transport.abort()
            return False
        fields = {"Content-Length": str(len(reply.body)), **reply.headers}
        writer.write(f"HTTP/1.1 {reply.status} X\r\n".encode())
        writer.write("".join(f"{k}: {v}\r\n" for k, v in fields.items()).encode() + b"\r\n" + reply.body)
        await writer.drain()
        return True

    def _handle(self, request: Request) -> Reply | Connection:
        name = request.headers.get("acp-connection-id", "")
        if request.method == "POST" and request.message.get("method") == "initialize":
            if name:
                return Reply(400, b"Initialize not allowed on existing connection")
            self._made += 1
            connection = self.connections[f"c{self._made}"] = Connection(self, f"c{self._made}")
            result = {"jsonrpc": "2.0", "id": request.message["id"], "result": {"protocolVersion": 1}}
            return Reply(200, json.dumps(result).encode(), {"Acp-Connection-Id": connection.name})
        if request.method == "GET" and "text/event-stream" not in request.headers.get("accept", ""):
            return Reply(406, b"Not Acceptable")
        if not name:
            return Reply(400, b"Missing Acp-Connection-Id")
        known = self.connections.get(name)
        if known is None:
            return Reply(404, b"Unknown Acp-Connection-Id")
        if request.method == "DELETE":
            del self.connections[name]
            for writer in known.reading.values():
                writer.close()
            return Reply(202)
        if request.method == "GET":
            return Reply(409, b"already has a reader") if request.session in known.reading else known
        message = request.message
        params = message.get("params")
        named = params.get("sessionId") if isinstance(params, dict) else None
        if named and request.session != named:
            return Reply(400, b"Missing or mismatched Acp-Session-Id")
        task = asyncio.ensure_future(self.agent(known, message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return Reply(202)

    async def _stream(
        self, connection: Connection, session: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        connection.reading[session] = writer
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        queue = connection.queue(session)
        left = asyncio.ensure_future(reader.read(1))  # the client says no more, so this is its end
        try:
            while not writer.is_closing():
                taking = asyncio.ensure_future(queue.get())
                await asyncio.wait({left, taking}, timeout=self.keepalive or None, return_when=asyncio.FIRST_COMPLETED)
                if taking.done():
                    data = taking.result()
                else:
                    taking.cancel()
                    if left.done():
                        return
                    data = b": keepalive\n\n"
                if data == "end":
                    writer.write(b"0\r\n\r\n")
                    await writer.drain()
                    return
                if data == "reset":
                    writer.write(b"1000\r\nda")
                    await writer.drain()
                    return
                assert isinstance(data, bytes)
                for part in self.shape(data):
                    writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
                    if self.shape is not whole:
                        await writer.drain()
                        await asyncio.sleep(0)
        finally:
            left.cancel()
            if connection.reading.get(session) is writer:
                del connection.reading[session]
