"""ACP over a WebSocket: text frames both ways, and connections that come back as new ones."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from remote import QUICK, Client
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from hm_jupyter.errors import AgentGone, TransportError, UsageError
from hm_jupyter.transports.base import Link
from hm_jupyter.transports.websocket import WebSocketTransport

pytestmark = pytest.mark.anyio

QUIET = logging.Logger("quiet", logging.CRITICAL + 1)


class Peer:
    """A WebSocket server: answers each request with ``{}``, keeps what it heard."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.requests: list[Request] = []
        self.sockets: list[ServerConnection] = []
        self.refuse: Callable[[Request], Response | None] = lambda request: None
        self.headers: dict[str, str] = {"Acp-Connection-Id": "c1"}
        self.on: Callable[[ServerConnection, Any], Any] | None = None
        self.max_size = 1 << 20

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/acp?projectId=p1"

    @property
    def methods(self) -> list[str]:
        return [m.get("method") for m in self.heard]

    async def start(self, port: int = 0) -> None:
        def process_request(connection: Any, request: Request) -> Response | None:
            self.requests.append(request)
            return self.refuse(request)

        def process_response(connection: Any, request: Request, response: Response) -> None:
            for name, value in self.headers.items():
                response.headers[name] = value

        self.server: Server = await serve(
            self._client, "127.0.0.1", port, process_request=process_request, process_response=process_response,
            max_size=self.max_size, logger=QUIET, close_timeout=1,
        )  # fmt: skip
        self.port = self.server.sockets[0].getsockname()[1]

    async def _client(self, socket: ServerConnection) -> None:
        self.sockets.append(socket)
        try:
            async for frame in socket:
                message = json.loads(frame)
                self.heard.append(message)
                if self.on is not None and await self.on(socket, message):
                    continue
                if "id" in message and "method" in message:
                    await self.say({"jsonrpc": "2.0", "id": message["id"], "result": {}})
        except ConnectionClosed:
            pass

    async def say(self, value: Any) -> None:
        await self.sockets[-1].send(json.dumps(value, ensure_ascii=False))

    async def update(self, text: str) -> None:
        await self.say({"method": "session/update", "params": {"sessionId": "s1", "text": text}})

    async def stop(self) -> None:
        self.server.close()
        await self.server.wait_closed()


@asynccontextmanager
async def peer() -> AsyncIterator[Peer]:
    found = Peer()
    await found.start()
    try:
        yield found
    finally:
        await found.stop()


def open_to(server: Peer, **options: Any) -> Client:
    options.setdefault("patience", QUICK)
    return Client(WebSocketTransport(server.url, **options))


def status(code: int, body: bytes = b"", **headers: str) -> Response:
    return Response(code, "X", Headers({k.replace("_", "-"): v for k, v in headers.items()}), body)


async def test_messages_go_and_come_as_text_frames_in_order() -> None:
    async with peer() as server:
        async with open_to(server, headers={"X-Api-Key": "k1"}) as client:
            assert "result" in await client.ask("initialize", {"protocolVersion": 1})
            for n in range(200):
                await client.tell("_n", {"n": n})
                await server.update(f"{n} é😀")
            await client.until(lambda: len(client.texts) == 200 and len(server.heard) == 201)
            assert [m["params"]["n"] for m in server.heard[1:]] == list(range(200))
            assert client.texts == [f"{n} é😀" for n in range(200)]
            assert getattr(client.transport, "connection", "") == "c1"
        assert server.requests[0].path == "/acp?projectId=p1" and server.requests[0].headers["X-Api-Key"] == "k1"
        assert client.exit is not None and client.exit.reason == "" and client.links == []
        await server.sockets[0].wait_closed()
        assert server.sockets[0].close_code == 1000
        with pytest.raises(AgentGone):
            await client.transport.send({"jsonrpc": "2.0", "method": "x"})


async def test_a_server_that_names_no_connection_id_will_do_too() -> None:
    async with peer() as server:
        server.headers = {}
        async with open_to(server) as client:
            assert "result" in await client.ask("initialize")


async def test_binary_frames_mean_nothing_and_what_is_not_json_is_told() -> None:
    async with peer() as server, open_to(server) as client:
        await client.ask("initialize")
        await server.sockets[-1].send(b'{"binary": 1}')
        await server.sockets[-1].send("<oops>")
        await server.sockets[-1].send("5")
        await server.sockets[-1].send('{"method": "x", "n": NaN, "s": "\\ud800"}')
        await client.until(lambda: any(isinstance(v, dict) and v.get("method") == "x" for v in client.values))
        assert client.values[-2:] == [5, {"method": "x", "n": None, "s": "\ufffd"}]
        assert [b.text for b in client.bad] == ["<oops>"] and {"binary": 1} not in client.values


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (1001, "the server shuts down (1001)"), (1002, "a fault in how we speak"), (1008, "for a limit or a rule"),
        (1011, "the server failed (1011: oh)"), (1000, "the server closed the connection"), (4000, "(4000: oh)"),
    ],
)  # fmt: skip
async def test_a_closed_socket_is_told_in_words_and_comes_back_as_a_new_connection(code: int, words: str) -> None:
    async with peer() as server, open_to(server) as client:
        await client.ask("initialize")
        await server.sockets[-1].close(code, "oh" if code != 1001 else "")
        await client.tell("_lost", {})
        await client.until(lambda: client.links == ["lost", "fresh"])
        lost = next(item for item in client.items if isinstance(item, Link))
        assert words in lost.reason
        await client.tell("_too_early", {})
        assert "result" in await client.ask("initialize")
        await client.tell("_now", {})
        await client.until(lambda: "_now" in server.methods)
        assert server.methods == ["initialize", "initialize", "_now"]


async def test_a_server_that_is_started_again_is_found_again() -> None:
    async with peer() as server, open_to(server) as client:
        await client.ask("initialize")
        await server.stop()
        await client.until(lambda: client.links == ["lost"])
        await server.start(server.port)
        await client.until(lambda: client.links == ["lost", "fresh"])
        assert "result" in await client.ask("initialize")


async def test_a_connection_that_breaks_without_a_word_comes_back() -> None:
    async with peer() as server, open_to(server) as client:
        await client.ask("initialize")
        server.sockets[-1].transport.abort()
        await client.until(lambda: client.links == ["lost", "fresh"])
        assert next(i for i in client.items if isinstance(i, Link)).reason == "the connection broke"


async def test_a_message_too_large_for_the_server_is_an_error_for_whoever_sent_it() -> None:
    async with peer() as server, open_to(server) as client:
        await client.ask("initialize")
        answer = await client.ask("session/prompt", {"text": "x" * (1 << 20)})
        assert "too large for the server: 1.0 MB" in answer["error"]["message"]
        await client.until(lambda: client.links == ["lost", "fresh"])
        assert server.methods.count("session/prompt") == 0


async def test_a_message_too_large_for_us_ends_the_socket_and_is_said() -> None:
    async with peer() as server, open_to(server, max_message=10_000) as client:
        await client.ask("initialize")
        await server.update("x" * 20_000)
        await client.until(lambda: "fresh" in client.links)
        assert "larger than" in next(i for i in client.items if isinstance(i, Link)).reason


async def test_cookies_are_kept_across_connections() -> None:
    async with peer() as server:
        server.headers["Set-Cookie"] = "aff=abc; Path=/; HttpOnly"
        async with open_to(server, cookies={"mine": "1"}) as client:
            await client.ask("initialize")
            await server.sockets[-1].close(1001)
            await client.until(lambda: "fresh" in client.links)
        cookies = [set(r.headers["Cookie"].split("; ")) for r in server.requests]
        assert cookies == [{"mine=1"}, {"mine=1", "aff=abc"}]


async def test_a_second_initialize_takes_another_socket() -> None:
    async with peer() as server, open_to(server) as client:
        await client.ask("initialize", {"protocolVersion": 2})
        await client.ask("initialize", {"protocolVersion": 1})
        await client.ask("session/new")
        assert len(server.sockets) == 2 and client.links == []
        await server.update("on the new one")
        await client.until(lambda: client.texts == ["on the new one"])


@pytest.mark.parametrize(
    ("code", "words"), [(401, "who you are (401). Pass headers"), (403, "(403)"), (404, "(404"), (503, "(503")]
)
async def test_a_server_that_does_not_let_us_in_is_said_at_once(code: int, words: str) -> None:
    async with peer() as server:
        server.refuse = lambda request: status(code)
        with pytest.raises(TransportError) as caught:
            await WebSocketTransport(server.url, headers={"X-Api-Key": "s3cr3t-k3y"}, patience=QUICK).open()
        assert words in str(caught.value) and "s3cr3t" not in str(caught.value)


async def test_where_nobody_listens_is_said() -> None:
    async with peer() as server:
        url = server.url
    with pytest.raises(
        TransportError, match=r"^No connection: nobody listens at ws://127\S+\. Is it .* does it run\?$"
    ):
        await WebSocketTransport(url, patience=QUICK).open()


async def test_a_credential_that_is_not_taken_any_more_ends_it_a_busy_server_does_not() -> None:
    async with peer() as server:
        busy = [status(503, Retry_After="0"), status(429), None]
        async with open_to(server) as client:
            await client.ask("initialize")
            server.refuse = lambda request: busy.pop(0)
            await server.sockets[-1].close(1001)
            await client.until(lambda: client.links == ["lost", "fresh"])
            server.refuse = lambda request: status(401)
            await server.sockets[-1].close(1008, "token expired")
            await client.until(lambda: client.ended)
        assert client.exit is not None and "(401). Pass headers" in client.exit.reason


async def test_after_long_trying_the_session_ends_and_says_why() -> None:
    async with peer() as server:
        async with open_to(server, patience=replace(QUICK, give_up=0.3)) as client:
            await client.ask("initialize")
            await server.stop()
            await client.until(lambda: client.ended)
        assert client.exit is not None and "could not be made again" in client.exit.reason


async def test_a_server_that_closes_every_new_socket_is_not_asked_forever() -> None:
    async with peer() as server:

        async def close(socket: ServerConnection, message: Any) -> bool:
            await socket.close(1002, "no")
            return True

        server.on = close
        client = open_to(server, patience=replace(QUICK, give_up=0.4))
        client.on_fresh = lambda: client.transport.send({"jsonrpc": "2.0", "id": 2, "method": "initialize"})
        async with client:
            await client.transport.send({"jsonrpc": "2.0", "id": 1, "method": "initialize"})
            await client.until(lambda: client.ended)
        assert len(server.sockets) < 30


async def test_a_server_that_answers_no_ping_is_given_up() -> None:
    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        import base64
        import hashlib

        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        key = next(line.split(": ")[1] for line in head.split("\r\n") if line.lower().startswith("sec-websocket-key"))
        accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        writer.write(b"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept)
        writer.write(b"\r\n\r\n")
        await reader.read()
        writer.close()

    server = await asyncio.start_server(deaf, "127.0.0.1", 0)
    url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    async with Client(WebSocketTransport(url, patience=replace(QUICK, keepalive=0.05, leave=0.1))) as client:
        await client.until(lambda: "lost" in client.links)
        assert "nothing was heard" in next(i for i in client.items if isinstance(i, Link)).reason
    server.close()


async def test_it_is_opened_once_and_only_used_when_open() -> None:
    async with peer() as server:
        transport = WebSocketTransport(server.url, patience=QUICK)
        with pytest.raises(UsageError):
            await transport.send({})
        await transport.open()
        with pytest.raises(UsageError):
            await transport.open()
        await transport.send({"jsonrpc": "2.0", "method": "before_initialize"})
        await transport.end_input()
        with pytest.raises(AgentGone):
            await transport.send({})
        await transport.close()
        await transport.close()
        assert server.heard == []


async def test_a_proxy_of_the_environment_is_for_other_machines_only(monkeypatch: pytest.MonkeyPatch) -> None:
    async with peer() as server:
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        async with open_to(server) as client:
            assert "result" in await client.ask("initialize")
        with pytest.raises(TransportError):
            await WebSocketTransport("wss://agents.invalid/acp", patience=QUICK).open()
