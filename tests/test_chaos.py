"""Over connections that break, overtake one another and lose what they carry, a session reads as it would over good ones.

The scripted ACP agent behind HTTP and WebSocket, and a proxy in between (``helpers/chaos.py``). A seed is an evening of bad
wireless: ``HM_CHAOS_SEEDS=50`` tries as many (``make interop`` does).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from acp_remote import RemoteAgent
from chaos import Chaos
from remote import QUICK

from hm_jupyter.connect import open_session
from hm_jupyter.errors import TransportError
from hm_jupyter.protocols.acp.adapter import AcpAdapter
from hm_jupyter.session.policy import Policy
from hm_jupyter.session.runtime import runtime
from hm_jupyter.session.session import Session
from hm_jupyter.transcript import MessageEntry, ThoughtEntry, ToolEntry, UserEntry
from hm_jupyter.transports.http import HttpTransport
from hm_jupyter.transports.websocket import WebSocketTransport

WIRES = ["http-1", "http-2", "socket-1", "socket-2"]  # and the version of ACP
SEEDS = int(os.environ.get("HM_CHAOS_SEEDS", "0"))
CASES = [(wire, seed) for wire in WIRES for seed in range(SEEDS)] or [(WIRES[seed % 4], seed) for seed in range(5)]

PROMPTS = ["think one two three; drip 120 0.001; tool; ask 2; drip 120 0.001", "say hello; fail; stream 150"]


def connect(url: str, version: int, cwd: str, **options: Any) -> Session:
    transport = (WebSocketTransport if url.startswith("ws") else HttpTransport)(url, patience=QUICK)

    async def open() -> Session:
        adapter = AcpAdapter(cwd=cwd, version=version, streams=url.startswith("http"), **options)  # type: ignore[arg-type]
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


def texts(session: Session) -> dict[str, Any]:
    """All that was said and thought, run together, and what was done: a call that was lost comes after what is shown."""
    found: dict[str, Any] = {"calls": sorted(e for e in told(session) if e[0] == "call")}
    for kind in ("message", "thought"):
        found[kind] = "".join(e[1] for e in told(session) if e[0] == kind)
    found["user"] = list(dict.fromkeys(e[1] for e in told(session) if e[0] == "user"))
    return found


_undisturbed: dict[str, Any] = {}


def undisturbed(wire: str, cwd: str) -> Any:
    """What reads over good connections: the same on all wires but for v2's pieces of output."""
    if wire not in _undisturbed:
        with RemoteAgent(f"--v{wire[-1]}") as remote:
            session = connect(remote.ws if wire.startswith("socket") else remote.http, int(wire[-1]), cwd)
            for prompt in PROMPTS:
                session.prompt(prompt)
            _undisturbed[wire] = texts(session)
            session.close()
    return _undisturbed[wire]


@pytest.mark.parametrize(("wire", "seed"), CASES)
def test_the_text_is_that_of_an_undisturbed_run(wire: str, seed: int, tmp_path: Any) -> None:
    wanted = undisturbed(wire, str(tmp_path))
    flags = (f"--v{wire[-1]}", *(["--repeat"] if seed % 2 else []), *(["--replay", "chunks"] if seed % 3 else []))
    with RemoteAgent(*flags) as remote, Chaos(seed, remote.ws if wire.startswith("socket") else remote.http) as proxy:
        session = connect(proxy.url, int(wire[-1]), str(tmp_path))
        try:
            for prompt in PROMPTS:
                run(session, prompt, remote)
            wait_for(session, lambda: texts(session) == wanted)
            for kind, value in texts(session).items():
                assert value == wanted[kind], told(session)
            assert proxy.made, "nothing was disturbed"
        finally:
            session.close()


def run(session: Session, prompt: str, remote: RemoteAgent) -> None:
    """Send it as soon as there is somebody to send it to, and again where the agent never had it. An agent of v1 whose turn
    a lost connection ended goes on with it: wait, as a person would."""
    while True:
        wait_for(session, lambda: session.state.status == "ready")
        try:
            turn = session.start(prompt)
        except TransportError:  # gone again, just now
            continue
        assert turn._watch.done.wait(30), f"{session.state.status}: {told(session)}"
        there = remote._store.sessions[session.state.session_id]
        wait_for(session, lambda there=there: there.turn is None, 3)
        if any(item.get("role") == "user" and item["blocks"][0]["text"] == prompt for item in there.items):
            return
        assert "send it again" in turn.error


def wait_for(session: Session, condition: Callable[[], object], timeout: float = 5) -> None:
    """… for what trickles in after a turn that a lost connection ended; or as long as that takes at most."""
    met = threading.Event()
    stop = runtime().call(session.controller.subscribe, lambda *_: condition() and met.set())
    ends = time.monotonic() + timeout
    while not runtime().call(condition) and time.monotonic() < ends:
        met.wait(0.05)
    runtime().call(stop)
