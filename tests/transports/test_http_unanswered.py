"""A request whose POST is never answered: told in time to whoever waits, and never sent a second time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from acp_server import AcpServer, Reply, Request
from remote import QUICK, Client

from hm_jupyter.transports.http import HttpTransport
from hm_jupyter.transports.lines import encode

pytestmark = pytest.mark.anyio


def open_to(server: AcpServer) -> Client:
    return Client(HttpTransport(server.url, patience=replace(QUICK, unanswered=0.3)))


def never_confirmed(method: str) -> Any:
    def on(request: Request) -> Reply | None:
        return Reply(202, after=60) if request.method == "POST" and request.message.get("method") == method else None

    return on


@pytest.mark.parametrize("method", ["session/prompt", "session/load"])
async def test_a_post_that_is_never_confirmed_fails_its_request_and_later_ones_go_through(method: str) -> None:
    async with AcpServer() as server, open_to(server) as client:
        await client.begin()
        server.on = never_confirmed(method)
        error = (await client.ask(method, {"sessionId": "s1"}))["error"]
        assert f"has not confirmed {method}" in error["message"] and "%hm resume" in error["message"]
        assert len(server.posted(method)) == 1, "it may have been received"
        server.on = lambda request: None
        assert "result" in await client.ask("session/prompt", {"sessionId": "s1"})
        assert client.links == []


async def test_a_server_that_answers_a_prompts_post_at_the_end_of_the_turn_may_take_its_time() -> None:
    async with AcpServer() as server, open_to(server) as client:
        await client.begin()

        def at_the_end(request: Request) -> Reply | None:
            if request.method == "POST" and request.message.get("method") == "session/prompt":
                server.last.say({"jsonrpc": "2.0", "method": "at work", "params": {"sessionId": "s1"}})
                body = encode({"jsonrpc": "2.0", "id": request.message["id"], "result": {"stopReason": "end_turn"}})
                return Reply(200, body, after=1.0)  # longer than a post may be unanswered where nothing is heard
            return None

        server.on = at_the_end
        assert "result" in await client.ask("session/prompt", {"sessionId": "s1"})
        assert len(server.posted("session/prompt")) == 1
