"""ACP over HTTP when it breaks: streams come back on the same connection, connections come back as new ones, and nothing
is told twice, lost in silence, or sent twice."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from acp_server import AcpServer, Connection, Reply, Request, plain_agent
from remote import QUICK, Client

from hm_jupyter.transports.backoff import Patience
from hm_jupyter.transports.base import Link
from hm_jupyter.transports.http import HttpTransport

pytestmark = pytest.mark.anyio


def open_to(server: AcpServer, patience: Patience = QUICK, **options: Any) -> Client:
    return Client(HttpTransport(server.url, patience=patience, **options))


def streams(server: AcpServer, session: str) -> list[Request]:
    return [
        r for r in server.requests if r.method == "GET" and r.session == session and "acp-connection-id" in r.headers
    ]


@pytest.mark.parametrize("session", ["", "s1"])
async def test_pitfall_25_a_stream_that_ended_is_opened_again_on_the_same_connection(session: str) -> None:
    """Pitfalls 24 and 25: proxies cut streams; the official clients give up here."""
    async with AcpServer() as server:
        async with open_to(server) as client:
            await client.begin()
            server.last.update("one")
            await client.until(lambda: client.texts == ["one"])
            await server.last.cut(session)
            server.last.update("two")
            answer = await client.ask("session/prompt", {"sessionId": "s1"})
            await client.until(lambda: client.texts == ["one", "two"])
            assert "result" in answer and len(server.connections) == 1
            await client.until(lambda: len(streams(server, session)) == 2)
        assert client.links == [], "it was back at once, and nothing can have been lost: nobody needs to know"


async def test_a_stream_that_was_cut_rudely_is_back_and_something_may_have_been_lost() -> None:
    async with AcpServer() as server, open_to(server) as client:
        await client.begin()
        await server.last.cut("s1", rudely=True)
        server.last.update("two")
        await client.until(lambda: client.texts == ["two"])
        assert client.links == ["back"]
        back = client.items.index(Link("back"))
        assert client.items[back + 1 :], "told before what comes on the new stream"


async def test_what_was_sent_while_a_stream_was_away_waits_for_it() -> None:
    away = True

    async with AcpServer() as server:
        async with open_to(server) as client:
            await client.begin()
            await server.last.read("s1")
            server.on = lambda request: Reply(503) if away and request.method == "GET" else None
            await server.last.cut("s1")
            await client.until(lambda: client.links == ["lost"])
            await client.transport.send(
                {"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": {"sessionId": "s1"}}
            )
            away = False
            assert "result" in await client.answer(1)
            assert client.links == ["lost", "back"] and len(server.posted("session/prompt")) == 1
        lost = next(item for item in client.items if isinstance(item, Link))
        assert "503" in lost.reason


async def test_pitfall_24_the_last_event_id_is_sent_where_the_server_numbers_its_events() -> None:
    async with AcpServer() as server, open_to(server) as client:
        await client.begin()
        server.last.raw(b'id: e-5\ndata: {"method": "x"}\n\n', "s1")
        await client.until(lambda: {"method": "x"} in client.values)
        await server.last.cut("s1")
        await server.last.cut("")
        await client.until(lambda: len(streams(server, "s1")) == 2 and len(streams(server, "")) == 2)
        assert streams(server, "s1")[1].headers["last-event-id"] == "e-5"
        assert "last-event-id" not in streams(server, "")[1].headers


async def test_a_server_that_asks_to_wait_before_reconnecting_is_obeyed() -> None:
    async with AcpServer() as server:
        loop = asyncio.get_running_loop()
        async with open_to(server) as client:
            await client.begin()
            server.last.raw(b'retry: 300\ndata: {"method": "x"}\n\n', "s1")
            await client.until(lambda: {"method": "x"} in client.values)
            began = loop.time()
            await server.last.cut("s1")
            await client.until(lambda: len(streams(server, "s1")) == 2)
            assert loop.time() - began >= 0.29


async def test_pitfall_25_a_stream_that_somebody_reads_is_asked_for_one_at_a_time_and_ever_more_seldom() -> None:
    """kaeawc/auto-mobile#1942: a blind reconnect collides with 409."""
    async with AcpServer() as server:
        at_once, most, times = Counter[str](), 0, []
        loop = asyncio.get_running_loop()

        async def taken(request: Request) -> Reply | None:
            nonlocal most
            if request.method == "GET" and request.session:
                at_once["now"] += 1
                most = max(most, at_once["now"])
                times.append(loop.time())
                await asyncio.sleep(0.01)
                at_once["now"] -= 1
                return Reply(409, b"already has a reader") if len(times) < 7 else None
            return None

        server.on = taken
        patience = replace(QUICK, first=0.02, longest=0.3)
        async with open_to(server, patience) as client:
            await client.begin()
            await client.until(lambda: "s1" in server.last.reading)
            server.last.update("here")
            await client.until(lambda: client.texts == ["here"])
        assert most == 1 and len(times) == 7
        gaps = [b - a for a, b in itertools.pairwise(times)]
        assert gaps[-1] > 3 * gaps[0], gaps


async def test_a_stream_that_has_gone_silent_is_opened_anew() -> None:
    async with AcpServer() as server:
        server.keepalive = 0.03
        async with open_to(server, replace(QUICK, keepalive=0.1)) as client:
            await client.begin()
            await asyncio.sleep(0.4)  # more than three intervals
            assert len(streams(server, "s1")) == 1, "comments show that it lives"
            server.keepalive = 0
            await client.until(lambda: len(streams(server, "s1")) == 2)
            server.last.update("still there")
            await client.until(lambda: client.texts == ["still there"])
            assert "lost" not in client.links


async def test_a_server_that_never_sends_comments_may_be_quiet() -> None:
    patience = replace(QUICK, keepalive=0.02)
    async with AcpServer() as server, open_to(server, patience) as client:
        await client.begin()
        await asyncio.sleep(0.15)  # more than three intervals, less than twenty
        server.last.update("here")
        await client.until(lambda: client.texts == ["here"])
        assert len(streams(server, "s1")) == 1


async def resume(client: Client) -> None:
    await client.ask("initialize", {"protocolVersion": 1})
    await client.ask("session/load", {"sessionId": "s1"})


@pytest.mark.parametrize("found_by", ["post", "stream"])
async def test_a_connection_the_server_forgot_comes_back_as_a_new_one(found_by: str) -> None:
    async with AcpServer() as server, open_to(server) as client:
        await client.begin()
        if found_by == "post":
            server.connections["other"] = server.connections.pop("c1")
            await client.tell("session/cancel", {"sessionId": "s1"})
        else:
            server.forget()
        await client.until(lambda: client.links == ["lost", "fresh"])
        await resume(client)
        assert "c2" in server.connections
        server.connections["c2"].update("again")
        await client.until(lambda: client.texts == ["again"])
        await client.ask("session/prompt", {"sessionId": "s1"})


async def test_what_is_sent_before_the_protocol_has_begun_anew_is_dropped() -> None:
    async with AcpServer() as server:
        async with open_to(server) as client:
            await client.begin()
            server.forget()
            await client.until(lambda: "lost" in client.links)
            await client.tell("_a", {"sessionId": "s1"})
            await client.until(lambda: "fresh" in client.links)
            await client.tell("_b", {"sessionId": "s1"})
            await resume(client)
            await client.ask("_c", {"sessionId": "s1"})
        assert [r.message["method"] for r in server.posted()][-3:] == ["initialize", "session/load", "_c"]
        assert not server.posted("_a") and not server.posted("_b")


async def test_a_server_that_is_started_again_is_found_again() -> None:
    async with AcpServer() as server:
        port = server.port
        async with open_to(server) as client:
            await client.begin()
            await server.stop()
            await client.until(lambda: client.links == ["lost"])
            await server.start(port)
            await client.until(lambda: client.links == ["lost", "fresh"])
            await resume(client)
            server.last.update("hello again")
            await client.until(lambda: client.texts == ["hello again"])


async def test_a_proxy_whose_server_is_down_is_not_taken_for_the_server() -> None:
    async with AcpServer() as server, open_to(server) as client:
        await client.begin()
        knocks = 0

        def proxy(request: Request) -> Reply | None:
            nonlocal knocks
            if "acp-connection-id" not in request.headers:
                knocks += 1
                return Reply(502, b"Bad Gateway") if knocks < 4 else None
            return None

        server.on = proxy
        server.forget()
        await client.until(lambda: "fresh" in client.links)
        assert client.links == ["lost", "fresh"] and knocks == 4


async def test_after_long_trying_the_session_ends_and_says_why() -> None:
    async with AcpServer() as server:
        async with open_to(server, replace(QUICK, give_up=0.3)) as client:
            await client.begin()
            await server.stop()
            await client.until(lambda: client.ended)
        assert client.exit is not None
        assert "could not be made again" in client.exit.reason and "nobody listens" in client.exit.reason


async def test_a_server_that_forgets_every_new_connection_is_not_asked_forever() -> None:
    """A load balancer without affinity: each initialize works, and the next request reaches another machine."""
    async with AcpServer() as server:
        server.on = lambda request: Reply(404) if "acp-connection-id" in request.headers else None
        client = open_to(server, replace(QUICK, give_up=0.4))
        client.on_fresh = lambda: client.ask("initialize")
        async with client:
            await client.transport.send({"jsonrpc": "2.0", "id": 1, "method": "initialize"})
            await client.until(lambda: client.ended)
        assert client.exit is not None and "could not be made again" in client.exit.reason
        assert len(server.posted("initialize")) < 30


# ---- what was on its way -----------------------------------------------------------------------------------------------


async def test_a_prompt_that_may_have_arrived_is_never_sent_again() -> None:
    async with AcpServer() as server, open_to(server) as client:
        await client.begin()
        server.on = lambda request: Reply(drop=True) if request.method == "POST" else None
        answer = await client.ask("session/prompt", {"sessionId": "s1"})
        assert "not known whether" in answer["error"]["message"]
        assert len(server.posted("session/prompt")) == 1


async def test_a_decision_that_did_not_arrive_is_sent_again() -> None:
    async with AcpServer() as server:
        tries = 0

        def flaky(request: Request) -> Reply | None:
            nonlocal tries
            if request.method == "POST" and "result" in request.message:
                tries += 1
                return [Reply(drop=True), Reply(502), Reply(503, b"", {"Retry-After": "0"}), None][tries - 1]
            return None

        async with open_to(server) as client:
            await client.begin()
            server.last.say({"id": 3, "method": "session/request_permission", "params": {"sessionId": "s1"}})
            await client.until(lambda: any("method" in v for v in client.values))
            server.on = flaky
            await client.transport.send({"jsonrpc": "2.0", "id": 3, "result": {}})
            await client.until(lambda: tries == 4)
        assert {r.session for r in server.posted() if "result" in r.message} == {"s1"} and client.bad == []


async def test_a_prompt_sent_while_the_server_restarts_ends_with_the_connection_not_with_an_error() -> None:
    async with AcpServer() as server:

        async def die(request: Request) -> Reply | None:
            if request.method == "POST" and request.message.get("method") == "session/prompt":
                server.on = lambda request: None
                server.forget()
                return Reply(drop=True)
            return None

        async with open_to(server) as client:
            await client.begin()
            server.on = die
            await client.transport.send(
                {"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": {"sessionId": "s1"}}
            )
            await client.until(lambda: client.links == ["lost", "fresh"])
            assert not [v for v in client.values if v.get("id") == 1]


TEXTS = [f"{n} é😀" for n in range(24)]


async def disturbed(seed: int) -> list[str]:
    """A turn over a net that cuts streams, splits bytes, delays, and lets nobody back at once. What was told."""
    chance = random.Random(seed)

    async def agent(connection: Connection, message: dict[str, Any]) -> None:
        if message.get("method") != "session/prompt":
            return await plain_agent(connection, message)
        for n, text in enumerate(TEXTS):
            connection.update(text)
            if chance.random() < 0.15:
                connection.queue(chance.choice(["", "s1"])).put_nowait("end")
            if n == 12:
                connection.say({"jsonrpc": "2.0", "id": 1, "method": "ask", "params": {"sessionId": "s1"}})
            if chance.random() < 0.3:
                await asyncio.sleep(chance.random() * 0.01)
        connection.answer(message, {"stopReason": "end_turn"}, chance.choice(["", "s1"]))
        return None

    async def net(request: Request) -> Reply | None:
        await asyncio.sleep(chance.choice([0, 0, 0.01]))
        if request.method == "GET" and "acp-connection-id" in request.headers and chance.random() < 0.3:
            return Reply(chance.choice([409, 429, 502, 503]), b"", chance.choice([{}, {"Retry-After": "0"}]))
        return None

    async with AcpServer() as server:
        server.agent, server.on = agent, net
        server.shape = lambda data: [data[: (cut := chance.randrange(len(data)))] or data[:1], data[cut or 1 :]]
        async with open_to(server, replace(QUICK, taken=2.0)) as client:
            await client.begin()
            await client.ask("session/prompt", {"sessionId": "s1"})
            told = client.texts
            assert len([v for v in client.values if v.get("method") == "ask"]) == 1
            assert client.bad == []
            return told


async def test_whatever_the_net_does_to_streams_nothing_is_lost_doubled_or_out_of_order() -> None:
    for group in range(0, 50, 10):
        seeds = range(group, group + 10)
        for seed, told in zip(seeds, await asyncio.gather(*map(disturbed, seeds)), strict=True):
            assert told == TEXTS, f"seed {seed}"
