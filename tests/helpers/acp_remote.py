"""The scripted ACP agent over Streamable HTTP and WebSocket: one server for both, in a thread of its own.

::

    with RemoteAgent("--v1", token="hush") as remote:
        remote.http, remote.ws          # addresses

The HTTP server is ``acp_server``'s; the agent behind is ``acp_agent``'s, one for each connection, one store for all.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from acp_agent import Agent
from acp_options import parser
from acp_server import AcpServer, Connection, Reply, Request
from acp_sessions import Store
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

OF_THE_CONNECTION = {"initialize", "session/new", "session/load", "session/list", "session/fork"}


class RemoteAgent:
    """``flags`` as ``acp_agent.py`` takes them; ``token``: the bearer token without which nothing is answered."""

    def __init__(self, *flags: str, token: str = "") -> None:
        self._args = parser().parse_args(list(flags))
        self._store = Store(self._args.store and Path(self._args.store))
        self._token = token
        self._agents: dict[str, Agent] = {}
        self._sockets: set[ServerConnection] = set()
        self.http = self.ws = ""

    def __enter__(self) -> RemoteAgent:
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run(ready)), daemon=True)
        self._thread.start()
        assert ready.wait(10)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)

    def admit(self, token: str) -> None:
        """From now on it is this bearer token that is let in."""
        self._token = token

    def forget(self) -> None:
        """As a server that was started again: no connection is known any more. (Its sessions are; any thread.)"""

        async def forget() -> None:
            self.server.forget()
            for socket in list(self._sockets):
                await socket.close(1001)

        asyncio.run_coroutine_threadsafe(forget(), self._loop).result(10)

    def cut(self, rudely: bool = False) -> None:
        """End all event streams, as a proxy may. What is said meanwhile is kept. (HTTP; any thread.)"""

        async def cut() -> None:
            for connection in self.server.connections.values():
                for session in list(connection.reading):
                    await connection.cut(session, rudely=rudely)

        asyncio.run_coroutine_threadsafe(cut(), self._loop).result(10)

    async def _run(self, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        server = self.server = AcpServer()
        server.on = self._asked
        server.agent = self._told
        async with server, serve(self._socket, "127.0.0.1", 0, process_request=self._knock) as sockets:
            self.http = server.url
            self.ws = f"ws://127.0.0.1:{next(iter(sockets.sockets)).getsockname()[1]}/acp"
            ready.set()
            await self._over.wait()
            sockets.close()

    def _later(self, call: Callable[..., Any], *args: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody listens to an agent that still talks
            self._loop.call_soon_threadsafe(call, *args)

    # ---- HTTP ------------------------------------------------------------------------------------------------------

    def _asked(self, request: Request) -> Reply | None:
        """Who may come in; and initialize, which makes a connection and an agent for it."""
        if self._token and request.headers.get("authorization") != f"Bearer {self._token}":
            return Reply(401, b"Unauthorized")
        if request.method != "POST" or request.message.get("method") != "initialize":
            return None
        if request.headers.get("acp-connection-id"):
            return None
        name = f"c{len(self._agents) + 1}"
        connection = self.server.connections[name] = Connection(self.server, name)
        answers: list[dict[str, Any]] = []
        streams: dict[Any, str] = {}

        def write(value: dict[str, Any]) -> None:
            if not answers:  # the answer to initialize, which is the POST's own
                answers.append(value)
                return
            stream = streams.pop(value["id"], "") if "method" not in value else None
            self._later(connection.say, _now(value), stream)

        agent = self._agents[name] = Agent(self._args, write, self._store)
        agent.streams = streams  # type: ignore[attr-defined]
        agent.receive(request.message)
        return Reply(200, json.dumps(answers[0]).encode(), {"Acp-Connection-Id": name})

    async def _told(self, connection: Connection, message: dict[str, Any]) -> None:
        agent = self._agents[connection.name]
        session = (message.get("params") or {}).get("sessionId")
        if "method" in message and "id" in message and session and message["method"] not in OF_THE_CONNECTION:
            agent.streams[message["id"]] = session  # type: ignore[attr-defined]
        agent.receive(message)

    # ---- WebSocket -------------------------------------------------------------------------------------------------

    def _knock(self, connection: ServerConnection, request: Any) -> Any:
        if self._token and request.headers.get("Authorization") != f"Bearer {self._token}":
            return connection.respond(401, "Unauthorized\n")
        return None

    async def _socket(self, socket: ServerConnection) -> None:
        outgoing: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        agent = Agent(self._args, lambda value: self._later(outgoing.put_nowait, _now(value)), self._store)

        async def send() -> None:
            while True:
                await socket.send(json.dumps(await outgoing.get(), ensure_ascii=False))

        self._sockets.add(socket)
        sending = asyncio.ensure_future(send())
        try:
            async for frame in socket:
                agent.receive(json.loads(frame))
        except ConnectionClosed:
            pass
        finally:
            self._sockets.discard(socket)
            sending.cancel()


def _now(value: dict[str, Any]) -> dict[str, Any]:
    """As it is now: what the agent remembers of it may grow before it is sent."""
    copy: dict[str, Any] = json.loads(json.dumps(value))
    return copy
