"""Turns with a real agent process at the other end, which is not forgiving: one prompt at a time, cancels that stick."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hm_jupyter.connect import open_session
from hm_jupyter.errors import ApprovalRequired
from hm_jupyter.protocols.acp.adapter import AcpAdapter
from hm_jupyter.session.decider import NOTED, NOTES
from hm_jupyter.session.policy import Policy
from hm_jupyter.session.runtime import runtime
from hm_jupyter.session.session import Session
from hm_jupyter.transcript import (
    MessageEntry,
    NoticeEntry,
    PendingApproval,
    ToolEntry,
    TurnEntry,
    UnknownEntry,
    UserEntry,
)
from hm_jupyter.transports.stdio import StdioTransport

AGENT = Path(__file__).parents[2] / "helpers" / "acp_agent.py"
VERSIONS = ["--v1", "--v2"]

Open = Callable[..., Session]


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Open]:
    opened: list[Session] = []

    def start(*flags: str, **options: Any) -> Session:
        async def open() -> Session:
            transport = StdioTransport([sys.executable, str(AGENT), *flags], cwd=str(tmp_path))
            return await open_session(transport, AcpAdapter(cwd=str(tmp_path), **options), agent="scripted")

        opened.append(runtime().run(open))
        return opened[-1]

    yield start
    for session in opened:
        session.close()


def until(session: Session, condition: Callable[[], Any], seconds: float = 10) -> None:
    """Wait until something is so, looking whenever the session tells of a change."""
    met = threading.Event()

    def look(*_: Any) -> None:
        if condition():
            met.set()

    stop = runtime().call(session.controller.subscribe, look)
    runtime().call(look)
    assert met.wait(seconds), "it never came to that"
    runtime().call(stop)


def turns(session: Session) -> list[TurnEntry]:
    return session.transcript.turns()


def of(session: Session, kind: Any) -> list[Any]:
    return [e for e in session.transcript.entries.values() if isinstance(e, kind)]


def over(session: Session, number: int) -> bool:
    return len(turns(session)) >= number and all(t.status != "running" for t in turns(session))


@pytest.mark.parametrize("version", VERSIONS)
def test_follow_ups_reach_an_agent_that_takes_one_prompt_at_a_time(agent: Open, version: str) -> None:
    s = agent(version, "--busy", "error")
    turn = s.start("drip 10 0.02")
    s.follow_up("say second")
    s.steer("say third")
    turn.wait(10)
    until(s, lambda: over(s, 3))
    assert [str(m.text).strip() for m in of(s, MessageEntry)][1:] == ["second", "third"]
    assert [(u.text, u.status) for u in of(s, UserEntry)] == [
        ("drip 10 0.02", "read"),
        ("say second", "read"),
        ("say third", "read"),
    ]
    assert [t.status for t in turns(s)] == ["finished"] * 3


@pytest.mark.parametrize("version", VERSIONS)
def test_stopping_hits_the_turn_that_runs_and_never_the_next(agent: Open, version: str) -> None:
    """Pitfall 14: this agent keeps a cancel that comes while it is idle for the prompt that follows."""
    s = agent(version, "--sticky")
    s.abort()
    turn = s.start("slow")
    until(s, lambda: of(s, MessageEntry))
    for _ in range(3):
        s.abort()
    assert turn.wait(10).stop_reason == "cancelled"
    s.abort()
    assert s.prompt("say hello", timeout=10).stop_reason == "end_turn"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_stop_while_leave_is_asked_lets_the_agent_end(agent: Open, version: str) -> None:
    """Pitfall 12: the agent waits for its answer, and gets it at once."""
    s = agent(version)
    turn = s.start("ask", approve="ask")
    until(s, lambda: s.pending)
    s.abort()
    assert turn.wait(10).stop_reason == "cancelled"
    assert s.pending == [] and [t.status for t in of(s, ToolEntry)] == ["interrupted"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_note_on_a_denial_is_the_next_message(agent: Open, version: str) -> None:
    s = agent(version)
    turn = s.start("ask", approve="ask")
    until(s, lambda: s.pending)
    s.deny(note="say I see")
    turn.wait(10)
    until(s, lambda: over(s, 2))
    assert [u.text for u in of(s, UserEntry)] == ["ask", "say I see"]
    assert str(of(s, MessageEntry)[-1].text).strip() == "I see"


@pytest.mark.parametrize("how", [{"approve": "deny"}, {"unattended": True}])
def test_a_refusal_by_policy_begins_no_turn_of_its_own(agent: Open, how: dict[str, Any]) -> None:
    """The policy's set phrase is kept with the decision; sent as a message it would begin turn after turn."""
    s = agent("--v1")
    try:
        s.prompt("ask 2", timeout=10, **how)
    except ApprovalRequired:
        pass
    assert [u.text for u in of(s, UserEntry)] == ["ask 2"] and len(turns(s)) == 1
    assert all(t.decision.outcome == "denied" and t.decision.note for t in of(s, ToolEntry))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_that_is_withdrawn_comes_down_and_the_turn_goes_on(agent: Open, version: str) -> None:
    """Pitfall 13."""
    s = agent(version)
    turn = s.start("withdraw 0.05", approve="ask")
    assert turn.wait(10).stop_reason == "end_turn"
    assert s.pending == [] and turn.text.strip() == "Never mind."


@pytest.mark.parametrize(
    "flags", [["--v1", "--early"], ["--v2", "--early"], ["--any-version"], ["--v2", "--draft", "old"]]
)
def test_odd_openings_are_none_to_us(agent: Open, flags: list[str]) -> None:
    """Pitfalls 10, 17, 26: told before it is answered, any number echoed, the older draft."""
    s = agent(*flags)
    assert s.prompt("say hello", timeout=10).text.strip() == "hello"
    assert of(s, (NoticeEntry, UnknownEntry)) == []
    assert [c.name for c in s.state.commands][:1] == ["say"]


def test_nothing_is_lost_and_nothing_is_out_of_order(agent: Open) -> None:
    """Pitfall 9: thousands of pieces, and the end of the turn after the last of them."""
    s = agent("--v1")
    turn = s.prompt("stream 5000", timeout=30)
    assert turn.text.split() == [f"w{n}" for n in range(5000)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("varied", "sent"), [(False, 1), (True, NOTES)])
def test_an_agent_that_asks_again_at_every_note_of_a_policys_is_not_told_for_ever(
    agent: Open, version: str, varied: bool, sent: int
) -> None:
    """Each note is the next message, and this agent takes each for the order to ask once more."""
    s = agent(version)
    asked: list[str] = []

    def policy(request: PendingApproval) -> Any:
        asked.append(request.request_id)
        return {"allow": False, "note": f"ask 1 {len(asked) if varied else ''}".strip()}

    s.controller.decider.policy = Policy(policy)
    for rounds in (1, 2):  # what a person says begins anew
        s.start("ask 1 please")
        until(s, lambda rounds=rounds: over(s, rounds * (sent + 1)) and len(asked) == rounds * (sent + 1))
    assert len(turns(s)) == 2 * (sent + 1)
    assert all(t.decision.outcome == "denied" and t.decision.note for t in of(s, ToolEntry))
    assert [n.text for n in of(s, NoticeEntry)].count(NOTED) == 2, "it is said, once each time"
