"""One scenario, told by three wires, looks the same: hm RPC, ACP v1, ACP v2. What differs is declared here, with its reason.

The agents are programs of ours (``helpers/scripted_agent.py``, ``helpers/acp_agent.py``) over real pipes.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hm_jupyter.connect import open_session
from hm_jupyter.protocols.acp.adapter import AcpAdapter
from hm_jupyter.protocols.base import Adapter
from hm_jupyter.protocols.hm import HmAdapter
from hm_jupyter.session.runtime import runtime
from hm_jupyter.session.session import Session
from hm_jupyter.transcript import MessageEntry, ToolEntry, TurnEntry, UserEntry
from hm_jupyter.transports.stdio import StdioTransport

HELPERS = Path(__file__).parent / "helpers"
WIRES = ["hm", "acp1", "acp2", "acp2-old"]

# What a wire tells otherwise, and why. A line here is a promise that nothing else differs.
DIFFERENCES = {
    "name": "hm tells a tool's name (shell), ACP a kind of work (execute)",
    "input": "our ACP agent says where a command runs, too",
    "output": "what a refused call says: hm's agent repeats the note, which ACP has no place for",
    "stopped": "hm's agent says that the call which waited was denied, ACP's that the work was stopped",
}


def open_on(wire: str, tmp_path: Path) -> Session:
    adapter: Adapter
    if wire == "hm":
        command, adapter = [str(HELPERS / "scripted_agent.py")], HmAdapter()
    else:
        flags = {"acp1": ["--v1"], "acp2": ["--v2"], "acp2-old": ["--v2", "--draft", "old"]}[wire]
        command = [str(HELPERS / "acp_agent.py"), *flags]
        adapter = AcpAdapter(cwd=str(tmp_path), version=1 if wire == "acp1" else 2, host=True)

    async def open() -> Session:
        transport = StdioTransport([sys.executable, *command], cwd=str(tmp_path))
        return await open_session(transport, adapter, agent="scripted")

    return runtime().run(open)


@pytest.fixture(params=WIRES)
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    s = open_on(request.param, tmp_path)
    yield s
    s.close()


def until(session: Session, condition: Callable[[], Any], timeout: float = 10) -> None:
    met = threading.Event()
    stop = runtime().call(session.controller.subscribe, lambda *_: condition() and met.set())
    if condition():
        met.set()
    assert met.wait(timeout), session.transcript
    runtime().call(stop)


def seen(session: Session) -> list[Any]:
    """The transcript but for ids, times and the declared differences."""
    found: list[Any] = []
    for e in session.transcript.entries.values():
        if isinstance(e, TurnEntry):
            found.append(("turn", e.turn, e.status, e.stop_reason, e.error))
        elif isinstance(e, UserEntry):
            found.append(("user", e.turn, e.text, e.delivery, e.status))
        elif isinstance(e, MessageEntry):
            found.append(("message", e.turn, str(e.text), e.open, e.interrupted))
        elif isinstance(e, ToolEntry):
            decision = e.decision and (e.decision.outcome, e.decision.by, e.decision.via)
            output = str(e.output) if e.status == "completed" else ""
            found.append(
                ("tool", e.turn, e.category, e.status, e.input["command"], output, decision, e.ended is not None)
            )
        else:
            found.append((type(e).__name__, e))
    return found


def test_words(session: Session):
    session.prompt("stream 50")
    words = "".join(f"w{n} " for n in range(50))
    assert seen(session) == [
        ("turn", 1, "finished", "end_turn", ""),
        ("user", 1, "stream 50", "prompt", "read"),
        ("message", 1, words, False, False),
    ]
    assert session.state.status == "ready"


def test_a_call_that_is_allowed_and_one_that_is_denied(session: Session):
    turn = session.start("ask 2")
    for allow in (True, False):
        until(session, lambda: session.pending)
        pending = session.pending[0]
        assert (pending.category, pending.command) == ("shell", f"echo {0 if allow else 1}")
        assert session.state.status == "waiting"
        session.approve(pending.call_id) if allow else session.deny(pending.call_id)
    turn.wait(10)
    assert seen(session) == [
        ("turn", 1, "finished", "end_turn", ""),
        ("user", 1, "ask 2", "prompt", "read"),
        ("tool", 1, "shell", "completed", "echo 0", "0\n", ("allowed", "you", "python"), True),
        ("tool", 1, "shell", "denied", "echo 1", "", ("denied", "you", "python"), True),
    ]


def test_a_turn_that_is_stopped_while_it_waits_for_leave(session: Session):
    turn = session.start("ask 1")
    until(session, lambda: session.pending)
    session.abort()
    turn._watch.done.wait(10)
    assert session.pending == []
    stopped = "denied" if session.controller.adapter.name == "hm" else "interrupted"
    assert seen(session) == [
        ("turn", 1, "stopped", "cancelled", ""),
        ("user", 1, "ask 1", "prompt", "read"),
        ("tool", 1, "shell", stopped, "echo 0", "", (stopped, "agent", ""), True),
    ]


def test_a_turn_that_is_stopped_while_it_talks(session: Session):
    turn = session.start("drip 500 0.02")
    until(session, lambda: len(turn.text) > 8)
    session.abort()
    turn._watch.done.wait(10)
    first, user, message = seen(session)
    assert first == ("turn", 1, "stopped", "cancelled", "")
    assert user == ("user", 1, "drip 500 0.02", "prompt", "read")
    assert message[2].startswith("w0 w1 w2 ")
    assert message[3] is False, "it is closed"


def test_policies_decide_alike(session: Session):
    turn = session.prompt("ask 1", approve="all")
    assert [(e.status, e.decision and e.decision.by) for e in turn.tool_calls] == [("completed", "policy")]
    turn = session.prompt("ask 1", approve="deny")
    assert [(e.status, e.decision and e.decision.by) for e in turn.tool_calls] == [("denied", "policy")]


def test_an_agent_that_dies_is_told_alike(session: Session):
    turn = session.start("drip 500 0.02")
    until(session, lambda: len(turn.text) > 8)
    pid = getattr(session.controller.transport, "pid", None)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    turn._watch.done.wait(10)
    assert (turn.stop_reason, session.state.status) == ("agent_exited", "ended")


def test_every_declared_difference_is_one(tmp_path: Path):
    """What stands in the list and is no difference any more is to be struck out."""
    told: dict[str, ToolEntry] = {}
    for wire in ("hm", "acp1", "acp2"):
        s = open_on(wire, tmp_path)
        told[wire] = s.prompt("ask 1", approve="deny").tool_calls[0]
        s.close()
    for name in ("title", "category", "status"):
        assert len({getattr(entry, name) for entry in told.values()}) == 1, name
    assert {(e.decision.outcome, e.decision.by) for e in told.values() if e.decision} == {("denied", "policy")}
    for name in set(DIFFERENCES) - {"stopped"}:
        values = {wire: str(getattr(entry, name)) for wire, entry in told.items()}
        assert values["acp1"] == values["acp2"] != values["hm"], values
