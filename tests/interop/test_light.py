"""Agents built on the official SDKs, TypeScript and Python, with our client: the part of `make interop` for every day."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import hm_jupyter
from hm_jupyter.session.session import Session
from hm_jupyter.session.turn import Turn
from hm_jupyter.transcript import NoticeEntry, PlanEntry, UnknownEntry, UserEntry
from tests.interop.drive.table import verdict
from tests.interop.install import node

HERE = Path(__file__).parent
EXAMPLES = HERE.parent.parent / "js" / "node_modules" / "@agentclientprotocol" / "sdk" / "dist" / "examples"
PYTHON = [sys.executable, str(HERE / "sdk_agent.py")]


def example(name: str, *options: str) -> list[str]:
    """The command of one of the TypeScript SDK's example agents, quicker than they are."""
    program = node()
    if program is None or not (EXAMPLES / name).exists():
        pytest.skip("Node.js or js/node_modules is not here: `make bundle` brings both")
    return [program, *options, str(EXAMPLES / name)]


def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


def decide(session: Session, turn: Turn, **decision: object) -> Turn:
    """Decide the one thing that will wait, then see the turn to its end."""
    until(lambda: turn.done or session.pending)
    session.approve(**decision)
    until(lambda: turn.done)
    return turn


def clean(session: Session) -> bool:
    """Nothing was misunderstood, nothing was left waiting."""
    odd = [e for e in session.transcript.entries.values() if isinstance(e, (NoticeEntry, UnknownEntry))]
    return not odd and not session.pending


def test_the_typescript_agent_is_allowed_refused_and_stopped_while_it_asks() -> None:
    with hm_jupyter.connect(example("agent.js", "--require", str(HERE / "quick.cjs"))) as session:
        assert session.state.session_id
        allowed = decide(session, session.start("go", unattended=False))
        assert allowed.stop_reason == "end_turn"
        assert [(c.category, c.status) for c in allowed.tool_calls] == [("read", "completed"), ("edit", "completed")]
        assert "updated the configuration" in allowed.text

        refused = decide(session, session.start("go", unattended=False), allow=False)
        assert refused.stop_reason == "end_turn"
        assert refused.tool_calls[1].status == "denied"
        assert "prefer not to make that change" in refused.text  # it was told "reject", not "cancelled"

        stopped = session.start("go", unattended=False)
        until(lambda: session.pending)
        session.abort()
        until(lambda: stopped.done)
        assert stopped.stop_reason == "cancelled"
        assert stopped.tool_calls[1].status == "interrupted"
        assert clean(session)


@pytest.mark.parametrize(("protocol", "says"), [("acp", "v2"), ("acp1", "v1")])
def test_the_typescript_agent_for_both_versions_is_spoken_to_in_the_newest_it_is_offered(
    protocol: str, says: str
) -> None:
    with hm_jupyter.connect(example("dual-version-agent.js"), protocol=protocol) as session:
        turn = session.prompt("hello", timeout=20)
        assert turn.text == f"Hello from the {says} implementation."
        assert len([e for e in turn.entries if isinstance(e, UserEntry)]) == 1  # v2 echoes the prompt
        session.start("again").wait(20)
        assert clean(session)


def test_the_v2_agent_is_stopped_and_the_next_prompt_is_its_own() -> None:
    with hm_jupyter.connect(example("dual-version-agent.js")) as session:
        stopped = session.start("hello")
        until(lambda: session.running)
        session.abort()
        until(lambda: stopped.done)
        assert stopped.stop_reason == "cancelled"
        assert session.prompt("hello", timeout=20).stop_reason == "end_turn"


def test_the_python_agent_plans_asks_streams_and_is_stopped() -> None:
    with hm_jupyter.connect(PYTHON) as session:
        allowed = decide(session, session.start("go", unattended=False))
        assert allowed.text == "It was allowed."
        assert [str(c.output) for c in allowed.tool_calls] == ["noted"]
        plans = [e for e in allowed.entries if isinstance(e, PlanEntry)]
        assert [(i["text"], i["status"]) for i in plans[0].items] == [("look", "done"), ("write", "active")]
        assert decide(session, session.start("go", unattended=False), allow=False).text == "It was refused."

        waiting = session.start("wait")
        until(lambda: waiting.text)
        session.follow_up("go")
        session.abort()
        until(lambda: waiting.done)
        assert waiting.stop_reason == "cancelled"
        dropped = [e for e in waiting.entries if isinstance(e, UserEntry) and e.delivery == "follow_up"]
        assert [e.status for e in dropped] == ["dropped"]
        assert clean(session)


def test_an_outcome_nobody_wrote_down_differs() -> None:
    assert verdict("end_turn", "end_turn") == verdict("b", ["a", "b"]) == "ok"
    assert verdict("end_turn", None) == verdict("end_turn", "cancelled") == "DIFFERS"
    assert verdict("n.a.", "end_turn") == "n.a."
