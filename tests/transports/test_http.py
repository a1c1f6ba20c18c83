"""ACP over HTTP while all is well: the ids on every message, the streams before the messages, the order."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import socket
from dataclasses import replace
from typing import Any

import httpx
import pytest
from acp_server import AcpServer, Connection, Reply, Request, plain_agent
from remote import QUICK, Client

from hm_jupyter.errors import AgentGone, TransportError, UsageError
from hm_jupyter.transports.backoff import Patience
from hm_jupyter.transports.endpoint import Endpoint
from hm_jupyter.transports.http import HttpTransport

pytestmark = pytest.mark.anyio


def open_to(server: AcpServer, patience: Patience = QUICK, **options: Any) -> Client:
    return Client(HttpTransport(server.url, patience=patience, **options))


async def test_a_session_from_initialize_to_goodbye() -> None:
    async def agent(connection: Connection, message: dict[str, Any]) -> None:
        if message.get("method") == "session/prompt":
            connection.update("Hello")
            connection.update(" there")
            connection.answer(message, {"stopReason": "end_turn"}, "s1")
        else:
            await plain_agent(connection, message)

    async with AcpServer() as server:
        server.agent = agent
        async with open_to(server) as client:
            answer = await client.ask("initialize", {"protocolVersion": 1}, 0)
            assert answer["result"] == {"protocolVersion": 1}
            await client.ask("session/new", {"cwd": "/"}, "one")
            answer = await client.ask("session/prompt", {"sessionId": "s1", "prompt": []})
            assert answer["result"] == {"stopReason": "end_turn"}
            assert client.texts == ["Hello", " there"]
        assert client.links == [] and client.bad == []
        assert client.exit is not None and client.exit.reason == ""
        goodbye = server.requests[-1]
        assert goodbye.method == "DELETE" and goodbye.headers["acp-connection-id"] == "c1"
        with pytest.raises(AgentGone):
            await client.transport.send({"jsonrpc": "2.0", "method": "x"})


async def test_the_connection_id_is_on_all_that_follows_initialize_and_the_query_on_everything() -> None:
    async with AcpServer() as server:
        server.path = "/acp?projectId=p1"
        async with open_to(server) as client:
            await client.begin()
            await client.ask("_vendor/thing", {"sessionId": "s1"})
        first = [r for r in server.requests if "acp-connection-id" not in r.headers]
        assert [r.method for r in first] == ["GET", "POST"] and first[1].message["method"] == "initialize"
        assert {r.path for r in server.requests} == {"/acp?projectId=p1"}
        assert server.posted("_vendor/thing")[0].session == "s1"


async def test_pitfall_24_the_stream_of_a_session_is_open_before_the_first_message_for_it() -> None:
    async with AcpServer() as server:

        async def slowly(request: Request) -> Reply | None:
            if request.method == "GET" and request.session:
                await asyncio.sleep(0.15)
            return None

        server.on = slowly
        async with open_to(server) as client:
            await client.ask("initialize")
            await client.ask("session/load", {"sessionId": "s9"})
        order = [(r.method, r.session) for r in server.requests if r.session]
        assert order[:2] == [("GET", "s9"), ("POST", "s9")]
        streams = [r for r in server.requests if r.method == "GET" and "acp-connection-id" in r.headers]
        assert [r.session for r in streams] == ["", "s9"], "the connection's stream is the first, and one for each"


async def test_a_server_that_shows_no_stream_until_there_is_something_on_it_is_not_waited_for_forever() -> None:
    async with AcpServer() as server:

        async def stuck(request: Request) -> Reply | None:
            if request.method == "GET" and request.session:
                await asyncio.sleep(30)
            return None

        server.on = stuck
        async with open_to(server) as client:
            await client.begin()
            await client.tell("session/cancel", {"sessionId": "s1"})
            await client.until(lambda: server.posted("session/cancel"))


async def test_measured_our_answer_to_a_request_of_a_session_carries_its_session_else_it_is_lost() -> None:
    """Measured: permission answers over HTTP without Acp-Session-Id are lost (400)."""
    async with AcpServer() as server:
        async with open_to(server) as client:
            await client.begin()
            ask = {"jsonrpc": "2.0", "id": 0, "method": "session/request_permission", "params": {"sessionId": "s1"}}
            server.last.say(ask)
            server.last.say({**ask, "id": "0"}, "s1")
            server.last.say({"jsonrpc": "2.0", "id": 5, "method": "elicitation/create", "params": {}}, "")
            server.last.say({"jsonrpc": "2.0", "id": 6, "method": "fs/read_text_file", "params": {}}, "s1")
            await client.until(lambda: len([v for v in client.values if "method" in v]) == 4)
            for rpc_id in (0, "0", 5, 6):
                await client.transport.send({"jsonrpc": "2.0", "id": rpc_id, "result": {}})
            await client.until(lambda: len([r for r in server.posted() if "result" in r.message]) == 4)
        answers = {json.dumps(r.message["id"]): r.session for r in server.posted() if "result" in r.message}
        assert answers == {"0": "s1", '"0"': "s1", "5": "", "6": "s1"}


async def test_measured_an_answer_may_precede_its_202_and_come_on_any_stream() -> None:
    """Measured: the answer may precede its 202."""
    async with AcpServer() as server:

        async def answer_first(request: Request) -> Reply | None:
            if request.method == "POST" and request.message.get("method") == "session/prompt":
                server.last.answer(request.message, {"stopReason": "end_turn"}, "")
                return Reply(202, after=0.5)
            return None

        async with open_to(server) as client:
            await client.begin()
            server.on = answer_first
            answer = await client.ask("session/prompt", {"sessionId": "s1"})
            assert answer["result"]["stopReason"] == "end_turn"


@pytest.mark.parametrize("method", ["session/load", "session/resume", "session/prompt"])
async def test_an_answer_on_the_connections_stream_does_not_overtake_what_comes_before_it_on_the_sessions(
    method: str,
) -> None:
    """A history is replayed on one stream, and the answer that ends it comes on another."""

    async def agent(connection: Connection, message: dict[str, Any]) -> None:
        if message.get("method") != method:
            return await plain_agent(connection, message)
        connection.answer(message, {}, "")
        for n in range(20):
            connection.update(str(n))
            await asyncio.sleep(0.01)
        return None

    async with AcpServer() as server:
        server.agent = agent
        async with open_to(server, patience=replace(QUICK, taken=2.0)) as client:
            await client.begin()
            answer = await client.ask(method, {"sessionId": "s1"})
            assert client.texts == [str(n) for n in range(20)]
            assert client.values[-1] == answer


async def test_a_server_may_answer_in_the_body_as_well() -> None:
    async with AcpServer() as server, open_to(server) as client:
        await client.begin()
        body = b'{"jsonrpc": "2.0", "id": 55, "result": {"direct": true}}'
        server.on = lambda request: Reply(200, body) if request.method == "POST" else None
        assert (await client.ask("session/list", {}, 55))["result"] == {"direct": True}


async def test_messages_of_one_session_arrive_in_the_order_in_which_they_were_sent() -> None:
    heard: list[Any] = []

    async def agent(connection: Connection, message: dict[str, Any]) -> None:
        if message.get("method") == "_n":
            heard.append(message["params"]["n"])
        await plain_agent(connection, message)

    async with AcpServer() as server:
        server.agent = agent
        delays = iter([0.05, 0.0, 0.03, 0.0] * 10)

        async def unevenly(request: Request) -> Reply | None:
            if request.method == "POST":
                await asyncio.sleep(next(delays, 0))
            return None

        async with open_to(server) as client:
            await client.begin()
            server.on = unevenly
            for n in range(20):
                await client.tell("_n", {"sessionId": "s1", "n": n})
            await client.until(lambda: len(heard) == 20)
        assert heard == list(range(20))


async def test_a_prompt_whose_post_is_not_answered_holds_up_neither_a_decision_nor_a_cancel() -> None:
    async with AcpServer() as server:

        async def at_the_end(request: Request) -> Reply | None:
            if request.method == "POST" and request.message.get("method") == "session/prompt":
                server.last.say({"jsonrpc": "2.0", "id": 1, "method": "ask", "params": {"sessionId": "s1"}})
                return Reply(202, after=60)
            return None

        async with open_to(server) as client:
            await client.begin()
            server.on = at_the_end
            await client.transport.send(
                {"jsonrpc": "2.0", "id": 9, "method": "session/prompt", "params": {"sessionId": "s1"}}
            )
            await client.until(lambda: any(v.get("method") == "ask" for v in client.values))
            await client.transport.send({"jsonrpc": "2.0", "id": 1, "result": {}})
            await client.tell("session/cancel", {"sessionId": "s1"})
            await client.until(lambda: server.posted("session/cancel"))
            assert [r for r in server.posted() if "result" in r.message]
            methods = [r.message.get("method") for r in server.posted()]
            assert methods.index("session/prompt") < methods.index("session/cancel")


async def test_a_decision_waits_for_no_other_message() -> None:
    async with AcpServer() as server:

        def never(request: Request) -> Reply | None:
            return Reply(202, after=60) if request.method == "POST" and "method" in request.message else None

        async with open_to(server, patience=replace(QUICK, taken=30.0)) as client:
            await client.begin()
            server.last.say({"jsonrpc": "2.0", "id": 1, "method": "ask", "params": {"sessionId": "s1"}})
            await client.until(lambda: any(v.get("method") == "ask" for v in client.values))
            server.on = never
            prompt = {"jsonrpc": "2.0", "id": 9, "method": "session/prompt", "params": {"sessionId": "s1"}}
            await client.transport.send(prompt)
            await client.transport.send({"jsonrpc": "2.0", "id": 1, "result": {}})
            await client.until(lambda: [r for r in server.posted() if "result" in r.message])


async def test_the_cancel_of_a_request_does_not_overtake_it() -> None:
    async with AcpServer() as server:

        async def slowly(request: Request) -> Reply | None:
            if request.method == "GET" and request.session:
                await asyncio.sleep(0.1)
            return None

        server.on = slowly
        async with open_to(server) as client:
            await client.ask("initialize")
            load = {"jsonrpc": "2.0", "id": 7, "method": "session/load", "params": {"sessionId": "s1"}}
            await client.transport.send(load)
            await client.tell("$/cancel_request", {"requestId": 7})
            await client.until(lambda: server.posted("$/cancel_request"))
        methods = [r.message["method"] for r in server.posted()]
        assert methods == ["initialize", "session/load", "$/cancel_request"]


async def test_the_stream_of_a_closed_session_ends_and_is_not_opened_again() -> None:
    async with AcpServer() as server:
        async with open_to(server) as client:
            await client.begin()
            await client.until(lambda: "s1" in server.last.reading)
            await client.ask("session/close", {"sessionId": "s1"})
            await client.until(lambda: "s1" not in server.last.reading)
            await client.ask("session/list")
        assert len([r for r in server.requests if r.method == "GET" and r.session == "s1"]) == 1
        assert client.links == []


async def test_a_second_initialize_makes_another_connection() -> None:
    async with AcpServer() as server, open_to(server) as client:
        await client.ask("initialize", {"protocolVersion": 2})
        await client.ask("initialize", {"protocolVersion": 1})
        await client.ask("session/new", {"cwd": "/"})
        assert list(server.connections) == ["c2"] and client.links == []


async def test_cookies_are_kept_and_sent_on_every_request() -> None:
    async with AcpServer() as server:

        def cookie(request: Request) -> Reply | None:
            if request.method == "POST" and request.message.get("method") == "initialize":
                server._made += 1
                connection = server.connections["c1"] = Connection(server, "c1")
                body = json.dumps({"jsonrpc": "2.0", "id": request.message["id"], "result": {}}).encode()
                headers = {"Acp-Connection-Id": connection.name, "Set-Cookie": "aff=abc; Path=/; HttpOnly"}
                return Reply(200, body, headers)
            if "acp-connection-id" in request.headers and "aff=abc" not in request.headers.get("cookie", ""):
                return Reply(421, b"no affinity cookie")
            return None

        server.on = cookie
        async with open_to(server, cookies={"mine": "1"}) as client:
            await client.begin()
            await server.last.cut("")
            await client.ask("session/list")
        assert all("mine=1" in r.headers["cookie"] for r in server.requests)


async def test_headers_of_a_function_are_asked_for_each_request_and_once_more_when_refused() -> None:
    tokens = iter([f"Bearer t{n}" for n in range(100)])
    current = ["Bearer t-old"]

    async with AcpServer() as server:

        def fresh_only(request: Request) -> Reply | None:
            if request.method == "POST" and request.headers["authorization"] == "Bearer t-old":
                current[0] = next(tokens)
                return Reply(401)
            return None

        async with open_to(server, headers=lambda: {"Authorization": current[0]}) as client:
            await client.begin()
            server.on = fresh_only
            answer = await client.ask("session/prompt", {"sessionId": "s1"})
            assert "result" in answer
        assert server.requests[-1].headers["authorization"] == "Bearer t0"


@pytest.mark.parametrize("cut", [1, 2, 5, 13])
async def test_characters_and_events_split_over_chunks_come_out_whole(cut: int) -> None:
    async with AcpServer() as server:
        server.shape = lambda data: [data[at : at + cut] for at in range(0, len(data), cut)]
        async with open_to(server) as client:
            await client.begin()
            server.last.update("Grüße 😀 漢字")
            server.last.raw(b': comment\r\n\r\nid: 4\r\ndata: {"method": "session/update",\r\n', "s1")
            server.last.raw('data: "params": {"text": "é"}}\r\n\r\n'.encode(), "s1")
            await client.until(lambda: len(client.texts) == 2)
            assert client.texts == ["Grüße 😀 漢字", "é"]


async def test_a_message_that_is_too_large_or_no_json_is_told_and_the_stream_goes_on() -> None:
    async with AcpServer() as server, open_to(server, max_message=10_000) as client:
        await client.begin()
        server.last.update("x" * 20_000)
        server.last.raw(b"data: <oops>\n\n", "s1")
        server.last.raw(b"data: 5\n\n", "s1")
        server.last.raw(b"data: [1, {}]\n\n", "s1")
        server.last.update("after")
        await client.until(lambda: client.values[-1:] and client.values[-1] not in (5, [1, {}]) and client.bad)
        await client.until(lambda: isinstance(client.values[-1], dict) and client.values[-1].get("method"))
        assert client.values[-1]["params"]["text"] == "after"
        assert ["longer" in b.reason for b in client.bad] == [True, False]


async def test_ids_that_no_header_can_carry_are_not_sent_in_one() -> None:
    async with AcpServer() as server:

        async def agent(connection: Connection, message: dict[str, Any]) -> None:
            if message.get("method") == "session/new":
                connection.answer(message, {"sessionId": "é\r\nX: 1"})
            else:
                await plain_agent(connection, message)

        server.agent = agent
        async with open_to(server) as client:
            await client.ask("initialize")
            answer = await client.ask("session/new")
            server.last.raw(b'id: \xc3\xa9\x01\ndata: {"method": "x"}\n\n', "")
            await client.until(lambda: {"method": "x"} in client.values)
            await server.last.cut("")
            server.on = lambda request: Reply(400, b"Missing Acp-Session-Id") if request.method == "POST" else None
            answer = await client.ask("session/prompt", {"sessionId": answer["result"]["sessionId"]})
            assert "(400" in answer["error"]["message"] and client.links == [] and not client.ended


async def test_a_flood_arrives_whole_and_in_order() -> None:
    async with AcpServer() as server, open_to(server) as client:
        await client.begin()
        for n in range(3000):
            server.last.update(str(n))
        await client.until(lambda: len(client.texts) == 3000)
        assert client.texts == [str(n) for n in range(3000)]


# ---- starting --------------------------------------------------------------------------------------------------------


async def test_where_nobody_listens_open_says_so() -> None:
    async with AcpServer() as server:
        url = server.url
    transport = HttpTransport(url, patience=QUICK)
    with pytest.raises(
        TransportError, match=r"^No connection: nobody listens at http://127\S+\. Is it .* does it run\?$"
    ):
        await transport.open()
    assert await transport.close() is not None


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(404, b"Not Found"), r"nothing at this address \(404: Not Found\).*address of an ACP endpoint"),
        (
            Reply(404, b'{"error": "no such path"}'),
            r"nothing at this address .*no such path.*address of an ACP endpoint",
        ),
        (
            Reply(404, b'{"error": {"message": "no such path"}, "id": "req-1"}'),
            "nothing at this address .*no such path",
        ),
        (Reply(200, b'{"error": {"message": "no such path"}}'), "does not speak ACP"),
        (Reply(401, b'{"error": {"message": "no key"}}'), "who you are"),
        (Reply(500, b'{"error": {"message": "oops"}}'), r"it failed \(500: .*oops"),
        (Reply(200, b"<html>"), "does not speak ACP"),
        (Reply(200, b'{"jsonrpc": "2.0", "id": 1, "result": {}}'), "without Acp-Connection-Id"),
        (Reply(403, b""), r"does not let you in \(403\). Pass headers"),
        (Reply(429, b"", {"Retry-After": "60"}), r"too many requests \(429\). Try again in 60 s"),
        (Reply(503, b"busy"), r"not available now \(503: busy\)"),
    ],
)
async def test_a_server_that_does_not_take_initialize_ends_it_with_the_reason(reply: Reply, words: str) -> None:
    async with AcpServer() as server:
        server.on = lambda request: reply if request.method == "POST" else None
        async with open_to(server) as client:
            await client.transport.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
            await client.until(lambda: client.ended)
        assert client.exit is not None
        assert re.search(words, client.exit.reason), client.exit.reason


async def test_an_error_as_answer_to_initialize_is_the_agents_word_whatever_the_status() -> None:
    async with AcpServer() as server:
        body = b'{"jsonrpc": "2.0", "id": 1, "error": {"code": -32022, "message": "version"}}'
        server.on = lambda request: Reply(500, body) if request.method == "POST" else None
        async with open_to(server) as client:
            answer = await client.ask("initialize", {}, 1)
            assert answer["error"]["code"] == -32022
            server.on = lambda request: None
            assert "result" in await client.ask("initialize", {}, 2)


async def test_a_proxy_of_the_environment_is_used_for_other_machines_and_never_for_this_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with AcpServer() as proxy, AcpServer() as here:
        for name in (
            "http_proxy",
            "https_proxy",
            "all_proxy",
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "NO_PROXY",
            "no_proxy",
        ):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/acp"))
        async with Client(HttpTransport("http://agents.invalid/acp", patience=QUICK)) as client:
            await client.begin()
            for n in range(100):
                proxy.last.update(str(n))
            await client.until(lambda: client.texts == [str(n) for n in range(100)])
            await proxy.last.cut("s1")
            proxy.last.update("after")
            await client.until(lambda: client.texts[-1] == "after")
        assert {r.path for r in proxy.requests} == {"http://agents.invalid/acp"}
        asked = len(proxy.requests)
        async with open_to(here) as client:
            await client.begin()
        assert len(proxy.requests) == asked


async def test_http2_without_its_package_says_what_to_install() -> None:
    try:
        import h2  # noqa: F401
    except ImportError:
        async with AcpServer() as server:
            with pytest.raises(TransportError, match=r"pip install 'httpx\[http2\]'"):
                await HttpTransport(server.url, http2=True, patience=QUICK).open()
    else:
        pytest.skip("h2 is installed here")


async def test_a_server_that_compresses_is_understood() -> None:
    async with AcpServer() as server, open_to(server) as client:
        await client.begin()
        body = gzip.compress(b'data: {"method": "session/update", "params": {"text": "zipped"}}\n\n')
        page = Reply(200, body, {"Content-Type": "text/event-stream", "Content-Encoding": "gzip"})
        await server.last.read("s1")
        server.on = lambda request: page if request.method == "GET" and "zipped" not in client.texts else None
        await server.last.cut("s1")
        await client.until(lambda: client.texts[:1] == ["zipped"])
        broken = Reply(200, b"no gzip", page.headers)
        server.on = lambda request: broken if request.method == "GET" else None
        await server.last.cut("")
        await client.until(lambda: "lost" in client.links)
        server.on = lambda request: None
        await client.until(lambda: client.links[-1] == "back")


async def test_it_is_opened_once_and_only_used_when_open() -> None:
    async with AcpServer() as server:
        transport = HttpTransport(server.url, patience=QUICK)
        with pytest.raises(UsageError):
            await transport.send({})
        await transport.open()
        with pytest.raises(UsageError):
            await transport.open()
        with pytest.raises(ValueError):
            await transport.send({"x": float("nan")})
        await transport.close()
        await transport.close()


def test_a_host_that_is_not_known_is_said_so() -> None:
    endpoint = Endpoint("http://no-such-machine.invalid/acp", ("http", "https"))
    try:  # nothing is looked up here: a resolver may take its time
        raise httpx.ConnectError("[Errno -2] …") from socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    except httpx.ConnectError as error:
        said = endpoint.not_reached(endpoint.explain(error))
    assert said == (
        "No connection to http://no-such-machine.invalid/acp: no-such-machine.invalid was not found "
        "(name or service not known). Is it the address of an ACP endpoint, and does it run?"
    )
