"""Over connections that break, overtake one another and lose what they carry, a session reads as it would over good ones.

The scripted ACP agent behind HTTP and WebSocket, and a proxy in between (``helpers/chaos.py``). A seed is an evening of bad
wireless: ``HM_CHAOS_SEEDS=50`` tries as many (``make interop`` does).
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from acp_remote import AgentServer, AgentSocket
from chaos import Chaos
from remote import QUICK

from hm_jupyter.connect import open_session
from hm_jupyter.protocols.acp.adapter import AcpAdapter
from hm_jupyter.session.policy import Policy
from hm_jupyter.session.runtime import runtime
from hm_jupyter.session.session import Session
from hm_jupyter.transcript import MessageEntry, ThoughtEntry, ToolEntry, UserEntry
from hm_jupyter.transports.http import HttpTransport
from hm_jupyter.transports.websocket import WebSocketTransport

SEEDS = int(os.environ.get("HM_CHAOS_SEEDS", "5"))

PROMPTS = ["think one two three; drip 120 0.001; tool; ask 2; drip 120 0.001", "say hello; fail; stream 150"]


class Loop:
    """A loop in a thread of its own, for the servers: the session's is not to be shared with them."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def call(self, function: Callable[[], Any]) -> Any:
        async def do() -> Any:
            return function()

        return self.run(do())

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


@pytest.fixture
def loop() -> Iterator[Loop]:
    one = Loop()
    yield one
    one.stop()


def connect(port: int, version: int, *, socket: bool, cwd: str) -> Session:
    transport = (
        WebSocketTransport(f"ws://127.0.0.1:{port}/acp", patience=QUICK)
        if socket
        else HttpTransport(f"http://127.0.0.1:{port}/acp", patience=QUICK)
    )

    async def open() -> Session:
        adapter = AcpAdapter(cwd=cwd, version=version)  # type: ignore[arg-type]
        return await open_session(transport, adapter, agent="remote", policy=Policy("all"))

    return runtime().run(open)


def told(session: Session) -> list[Any]:
    """What a person reads, by turns."""
    found: list[Any] = []
    for e in session.transcript.entries.values():
        if isinstance(e, UserEntry):
            found.append(("user", e.text))
        elif isinstance(e, MessageEntry):
            found.append(("message", str(e.text)))
        elif isinstance(e, ThoughtEntry):
            found.append(("thought", str(e.text)))
        elif isinstance(e, ToolEntry):
            found.append(("call", e.title, e.status, str(e.output)))
    return found


def texts(session: Session) -> dict[str, str]:
    """All that was said, thought and done, run together by kind."""
    found: dict[str, str] = {}
    for kind, *rest in told(session):
        found[kind] = found.get(kind, "") + "|".join(rest)
    return found


_undisturbed: dict[Any, Any] = {}


def undisturbed(loop: Loop, flags: tuple[str, ...], *, socket: bool, cwd: str) -> Any:
    key = (flags, socket)
    if key not in _undisturbed:
        server = (AgentSocket if socket else AgentServer)(*flags)
        loop.run(server.__aenter__())
        session = connect(server.port, 2 if "--v2" in flags else 1, socket=socket, cwd=cwd)
        for prompt in PROMPTS:
            session.prompt(prompt)
        _undisturbed[key] = texts(session)
        session.close()
        loop.run(server.__aexit__())
    return _undisturbed[key]


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("wire", ["http-1", "http-2", "socket-1", "socket-2"])
def test_the_text_is_that_of_an_undisturbed_run(wire: str, seed: int, loop: Loop, tmp_path: Any) -> None:
    socket = wire.startswith("socket")
    flags = (f"--v{wire[-1]}", *(["--repeat"] if seed % 2 else []))
    wanted = undisturbed(loop, flags, socket=socket, cwd=str(tmp_path))
    server = (AgentSocket if socket else AgentServer)(*flags)
    proxy: Any = None
    session: Session | None = None
    try:
        loop.run(server.__aenter__())
        proxy = Chaos(seed, server.port)
        loop.run(proxy.__aenter__())
        session = connect(proxy.port, int(wire[-1]), socket=socket, cwd=str(tmp_path))
        for prompt in PROMPTS:
            turn = session.start(prompt)
            assert turn._watch.done.wait(30), f"{session.state.status}: {told(session)}"
        settled(session, wanted)
        assert texts(session) == wanted
        assert proxy.made, "nothing was disturbed"
    finally:
        if session is not None:
            session.close()
        if proxy is not None:
            loop.run(proxy.__aexit__())
        loop.run(server.__aexit__())


def settled(session: Session, wanted: Any) -> None:
    """What trickles in after a turn that a lost connection ended has come."""
    met = threading.Event()

    def look(*_: Any) -> None:
        if texts(session) == wanted:
            met.set()

    stop = runtime().call(session.controller.subscribe, look)
    runtime().call(look)
    met.wait(3)
    runtime().call(stop)
