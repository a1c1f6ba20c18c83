"""The scripted ACP agent behind a server: over HTTP (on ``acp_server``) and over WebSocket, in the test's own loop.

Sessions belong to the server, not to a connection: whoever comes back and loads one finds it as it is, its turn still
running, and what it wants decided is asked again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import acp_agent
from acp_options import parser
from acp_server import AcpServer, Connection, Reply, Request
from acp_sessions import Store
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed


class AgentServer(AcpServer):
    """Over HTTP. ``flags`` are the agent's (``--v2``, …)."""

    def __init__(self, *flags: str) -> None:
        super().__init__()
        self.args = parser().parse_args(flags)
        self.store = Store()
        self.agents: dict[str, acp_agent.Agent] = {}
        self.agent = self._take
        self._routes: dict[tuple[str, str], str] = {}  # whose request -> the stream its answer goes on

    def _handle(self, request: Request) -> Reply | Connection:
        found = super()._handle(request)
        if isinstance(found, Reply) and found.status == 200:
            connection, loop = self.last, asyncio.get_running_loop()
            first: list[Any] = []

            def write(value: dict[str, Any]) -> None:
                if not first:
                    first.append(value)
                else:
                    _soon(loop, self._say, connection, value)

            agent = self.agents[connection.name] = acp_agent.Agent(self.args, write, self.store)
            agent.receive(request.message)
            found.body = json.dumps(first[0]).encode()
        return found

    async def _take(self, connection: Connection, message: dict[str, Any]) -> None:
        method = message.get("method", "")
        if "id" in message and method and method != "session/load":
            session = (message.get("params") or {}).get("sessionId", "")
            self._routes[connection.name, repr(message["id"])] = session
        self.agents[connection.name].receive(message)

    def _say(self, connection: Connection, value: dict[str, Any]) -> None:
        if "method" in value:
            connection.say(value)
        else:
            connection.say(value, self._routes.pop((connection.name, repr(value.get("id"))), ""))


class AgentSocket:
    """Over WebSocket: ``async with AgentSocket("--v2") as server: … server.url``."""

    def __init__(self, *flags: str) -> None:
        self.args = parser().parse_args(flags)
        self.store = Store()

    async def __aenter__(self) -> AgentSocket:
        self._server = await serve(self._client, "127.0.0.1", 0, max_size=None, compression=None)
        self.port = next(iter(self._server.sockets)).getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close(close_connections=True)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/acp"

    async def _client(self, socket: ServerConnection) -> None:
        loop = asyncio.get_running_loop()
        said: asyncio.Queue[str] = asyncio.Queue()
        agent = acp_agent.Agent(
            self.args, lambda value: _soon(loop, said.put_nowait, json.dumps(value, ensure_ascii=False)), self.store
        )

        async def speak() -> None:
            while True:
                await socket.send(await said.get())

        speaking = asyncio.ensure_future(speak())
        try:
            async for frame in socket:
                agent.receive(json.loads(frame))
        except ConnectionClosed:
            pass
        finally:
            speaking.cancel()
            await asyncio.gather(speaking, return_exceptions=True)


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[..., Any], *args: Any) -> None:
    try:
        loop.call_soon_threadsafe(call, *args)
    except RuntimeError:  # the test is over
        pass
