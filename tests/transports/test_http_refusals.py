"""What a server refuses over HTTP, told to whoever asked, in words; and what may be tried again, tried again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from acp_server import AcpServer, Reply, Request
from remote import QUICK, Client

from hm_jupyter.transports.backoff import Backoff, Patience, retry_after
from hm_jupyter.transports.http import HttpTransport

pytestmark = pytest.mark.anyio


def open_to(server: AcpServer, **options: Any) -> Client:
    return Client(HttpTransport(server.url, patience=QUICK, **options))


def posts(reply: Reply | None) -> Any:
    return lambda request: reply if request.method == "POST" else None


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (400, b"Mismatched Acp-Session-Id", "did not understand the request (400: Mismatched"),
        (409, b"", "(409)"),
        (413, b"Payload Too Large", "the message is too large for it (413: Payload Too Large). It has 0.1 MB; send less."),
        (415, b"", "does not take JSON (415)"),
        (500, b"oops", "it failed (500: oops)"),
        (502, b"", "(502)"),
        (503, b"", "not available now (503)"),
    ],
)  # fmt: skip
async def test_a_refused_request_is_answered_with_an_error_and_never_sent_again(
    status: int, body: bytes, words: str
) -> None:
    async with AcpServer() as server:
        async with open_to(server) as client:
            await client.begin()
            server.on = posts(Reply(status, body))
            answer = await client.ask("session/prompt", {"sessionId": "s1", "prompt": "x" * 100_000})
            assert words in answer["error"]["message"] and answer["error"]["data"] == {"status": status}
            assert len(server.posted("session/prompt")) == 1
            server.on = posts(None)
            assert "result" in await client.ask("session/prompt", {"sessionId": "s1"})
        assert client.links == []


async def test_too_many_requests_are_repeated_when_the_server_says() -> None:
    async with AcpServer() as server:
        loop = asyncio.get_running_loop()
        times: list[float] = []

        def limited(request: Request) -> Reply | None:
            if request.method == "POST":
                times.append(loop.time())
                return Reply(429, b"", {"Retry-After": "1"}) if len(times) == 1 else None
            return None

        async with open_to(server) as client:
            await client.begin()
            server.on = limited
            assert "result" in await client.ask("session/prompt", {"sessionId": "s1"})
        assert times[1] - times[0] >= 1.0


async def test_a_server_that_always_says_too_many_requests_is_not_asked_forever() -> None:
    async with AcpServer() as server, open_to(server) as client:
        await client.begin()
        server.on = posts(Reply(429))
        answer = await client.ask("session/prompt", {"sessionId": "s1"})
        assert "too many requests (429). It was tried 5 times." in answer["error"]["message"]


async def test_a_refused_notification_or_decision_is_told_as_something_that_went_wrong() -> None:
    async with AcpServer() as server, open_to(server) as client:
        await client.begin()
        server.on = posts(Reply(400, b"no"))
        await client.tell("session/cancel", {"sessionId": "s1"})
        await client.transport.send({"jsonrpc": "2.0", "id": 1, "result": {}})
        await client.until(lambda: len(client.bad) == 2)
        reasons = sorted(b.reason for b in client.bad)
        assert reasons[0].startswith("our answer to one of its requests did not reach the agent: 127.0.0.1:")
        assert reasons[1].startswith("session/cancel did not reach the agent")


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_a_credential_that_is_refused_ends_the_session_and_says_what_to_do(status: int, method: str) -> None:
    token = "Bearer very-secret-token"
    async with AcpServer() as server:
        async with open_to(server, headers={"Authorization": token}) as client:
            await client.begin()
            await server.last.read("s1")
            body = f"token very-secret-token ({token}) expired".encode()
            server.on = lambda request: Reply(status, body) if request.method == method else None
            if method == "POST":
                await client.tell("session/cancel", {"sessionId": "s1"})
            else:
                await server.last.cut("s1")
            await client.until(lambda: client.ended)
        assert client.exit is not None
        assert f"({status}). Pass headers=" in client.exit.reason
        assert "secret" not in client.exit.reason


async def test_a_session_the_server_does_not_know_is_an_error_not_a_lost_connection() -> None:
    """As the Python SDK's server says it."""
    async with AcpServer() as server:
        body = b'{"error": "Unknown session id"}'
        server.on = lambda request: Reply(404, body) if request.session == "s2" else None
        async with open_to(server) as client:
            await client.begin()
            answer = await client.ask("session/prompt", {"sessionId": "s2"})
            assert "Unknown session id" in answer["error"]["message"] and client.links == []


async def test_a_session_to_be_loaded_that_the_server_does_not_know_yet_is_loaded_without_its_header() -> None:
    """As the Python SDK's server wants it: its stream is there only after the load."""
    async with AcpServer() as server:
        loaded = False

        def strict(request: Request) -> Reply | None:
            nonlocal loaded
            if request.session and not loaded:
                return Reply(404, b'{"error": "Unknown session id"}')
            if request.method == "POST" and request.message.get("method") == "session/load":
                loaded = True
                server.last.answer(request.message, {})
                return Reply(202)
            return None

        server.on = strict
        async with open_to(server) as client:
            await client.ask("initialize")
            assert "result" in await client.ask("session/load", {"sessionId": "s1"})
            await server.last.read("s1")
            server.last.update("here")
            await client.until(lambda: client.texts == ["here"])
            assert "result" in await client.ask("session/prompt", {"sessionId": "s1"})
        assert client.links == []


async def test_garbage_in_place_of_a_stream_is_not_read_as_one() -> None:
    async with AcpServer() as server:
        page = Reply(200, b"data: {}\n\n<html>", {"Content-Type": "text/html"})
        server.on = lambda request: page if request.method == "GET" and request.session else None
        async with open_to(server) as client:
            await client.begin()
            await client.until(lambda: client.links == ["lost"])
            server.on = posts(None)
            await client.until(lambda: client.links == ["lost", "back"])
            assert {} not in client.values


# ---- how long to wait --------------------------------------------------------------------------------------------------


def test_delays_grow_to_a_bound_and_are_never_shorter_than_what_the_server_asks() -> None:
    backoff = Backoff(Patience(first=1, longest=8, give_up=30), lambda: 1.0)
    assert [backoff.delay() for _ in range(5)] == [1, 2, 4, 8, 8]
    assert not backoff.exhausted
    assert backoff.delay(20.0) == 20.0 and backoff.exhausted
    backoff.reset()
    assert backoff.delay() == 1 and not backoff.exhausted
    assert Backoff(Patience(first=1), lambda: 0.0).delay() == 0.5


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("5", 5.0), (" 0 ", 0.0), ("99999999999999999999", 999999999.0), (None, None), ("", None), ("soon", None),
        ("-3", None), ("Thu, 01 Jan 1970 00:01:40 GMT", 40.0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("Thu, 99 Foo 1970", None), ("١", None),
    ],
)  # fmt: skip
def test_retry_after_is_seconds_or_a_date_and_anything_else_is_nothing(
    value: str | None, seconds: float | None
) -> None:
    assert retry_after(value, now=60.0) == seconds


@pytest.mark.parametrize("method", ["session/prompt", "session/load", "session/set_mode"])
@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(401, b"expired"), "(401: expired). Pass headers="),
        (Reply(403, b"not this model"), "(403: not this model). Pass headers="),
        (Reply(407), "(407). Pass headers="),
        (Reply(307, b"", {"Location": "http://127.0.0.2:1/acp"}), "another server"),
    ],
)
async def test_what_is_refused_to_one_request_ends_that_request_alone(method: str, reply: Reply, words: str) -> None:
    async with AcpServer() as server:
        async with open_to(server) as client:
            await client.begin()
            server.on = posts(reply)
            error = (await client.ask(method, {"sessionId": "s1"}))["error"]
            assert words in error["message"]
            assert (error["code"] == -32000) == (reply.status == 401), "who is not known is asked to sign in"
            assert len(server.posted(method)) == 1
            server.on = posts(None)
            assert "result" in await client.ask("session/prompt", {"sessionId": "s1"})
        assert client.links == []
