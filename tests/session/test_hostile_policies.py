"""Policies as people get them wrong: they raise, talk nonsense, never return. The session and all others live on."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from hm_jupyter.errors import ApprovalRequired, UsageError
from hm_jupyter.session.policy import Policy
from hm_jupyter.session.session import Session
from hm_jupyter.transcript import NoticeEntry

from .test_session import ASK, END, Agent, open_with, until

QUESTION = {"type": "question", "call_id": "q1", "text": "which?"}


def leave(error: type[BaseException]) -> Any:
    def policy(_request: Any) -> Any:
        raise error

    return policy


@pytest.fixture
def agent() -> Agent:
    return Agent()


@pytest.fixture
def other() -> Iterator[Session]:
    """A session that has nothing to do with it."""
    bystander = Agent()
    bystander.on["prompt"] = lambda _c: [END]
    with open_with(bystander) as s:
        yield s


def notices(session: Session) -> list[str]:
    return [e.text for e in session.transcript.entries.values() if isinstance(e, NoticeEntry)]


@pytest.mark.parametrize(
    "policy",
    [
        *[leave(e) for e in (ZeroDivisionError, SystemExit, KeyboardInterrupt, StopIteration, GeneratorExit)],
        lambda r: 5,
        lambda r: {"allow": True, "files": 5},
        lambda r: {"allow": "yes"},
        [5],
        [{"allow": True, "files": 5}],
        [{"allow": True, "files": ["nowhere"]}],
        [{"allow": True, "edits": 5}],
        [{"allow": True, "edits": [{"path": 1}]}],
    ],
)
def test_a_policy_that_is_wrong_leaves_it_to_the_person_and_ends_nothing(agent: Agent, other: Session, policy: Any):
    agent.on["prompt"] = lambda _c: ASK
    agent.on["approve"] = lambda c: [{"type": "approval", "call_id": "k1", "allow": c["allow"]}, END]
    with open_with(agent, policy=Policy(policy)) as s:
        turn = s.start("go")
        until(lambda: notices(s), s)
        assert "policy failed on k1" in notices(s)[0]
        s.approve("k1")
        assert turn.wait(5).tool_calls[0].decision.by == "you"  # type: ignore[union-attr]
    assert other.prompt("still there?").stop_reason == "end_turn"


@pytest.mark.parametrize(
    "answers", [lambda q: 5, lambda q: sys.exit(1), lambda q: 1 / 0, [5], [object()], {"which": 5}]
)
def test_answers_that_are_none_leave_it_to_the_person_and_end_nothing(agent: Agent, other: Session, answers: Any):
    agent.on["prompt"] = lambda _c: [QUESTION]
    agent.on["answer"] = lambda _c: [END]
    with open_with(agent, policy=Policy(answers=answers)) as s:
        turn = s.start("go")
        until(lambda: notices(s), s)
        s.answer("q1", "that one")
        turn.wait(5)
    assert other.prompt("still there?").stop_reason == "end_turn"


@pytest.mark.parametrize("pattern", ["(", 5, None])
def test_an_answer_for_what_is_no_pattern_is_refused_when_it_is_given(pattern: Any):
    with pytest.raises(UsageError, match="no regular expression"):
        Policy(answers={pattern: "x"})


def test_functions_that_never_return_hold_up_neither_a_decision_by_hand_nor_the_others_nor_the_end():
    never = threading.Event()  # set at the very end, so that this test leaves no thread behind
    sessions = []
    try:
        for _ in range(50):
            agent = Agent()
            agent.on["prompt"] = lambda _c: ASK
            agent.on["approve"] = lambda c: [{"type": "approval", "call_id": "k1", "allow": c["allow"]}, END]
            sessions.append((agent, open_with(agent, policy=Policy(lambda r: never.wait()))))
        for _, s in sessions:
            turn = s.start("go")
            until(lambda s=s: s.pending, s)  # type: ignore[misc]
            s.approve()
            turn.wait(5)
        quick = Agent()
        quick.on = sessions[0][0].on
        with open_with(quick, policy=Policy(lambda r: True)) as s:
            assert s.prompt("go", timeout=5).tool_calls[0].decision.by == "policy"  # type: ignore[union-attr]
        for _, s in sessions:
            s.close()
    finally:
        never.set()


def test_a_policy_may_use_the_session_it_decides_for():
    agent = Agent()
    agent.on["prompt"] = lambda _c: ASK
    agent.on["approve"] = lambda c: [{"type": "approval", "call_id": "k1", "allow": c["allow"]}, END]
    box: list[Session] = []
    with open_with(agent, policy=Policy(lambda r: box[0].approve(r.call_id, note="from inside"))) as s:
        box.append(s)
        s.prompt("go", timeout=5)
    assert agent.wait_heard("approve")["note"] == "from inside"


def test_unattended_a_decision_the_agent_refuses_is_followed_by_a_refusal(agent: Agent):
    agent.on["prompt"] = lambda _c: ASK
    agent.on["approve"] = lambda c: (
        [None, {"type": "response", "id": c["id"], "command": "approve", "ok": False, "error": "no edits here"}]
        if c["allow"]
        else [{"type": "approval", "call_id": "k1", "allow": False}, END]
    )
    with open_with(agent) as s, pytest.raises(ApprovalRequired, match="ls"):
        s.prompt("go", unattended=True, when_alone={"approve": [{"allow": True, "edits": {"a": "b"}}]}, timeout=5)
    assert any("no edits here" in text for text in notices(s))


def test_unattended_an_agent_that_refuses_every_decision_is_stopped(agent: Agent):
    agent.on["prompt"] = lambda _c: ASK
    agent.on["approve"] = lambda c: [
        None, {"type": "response", "id": c["id"], "command": "approve", "ok": False, "error": "never"},
    ]  # fmt: skip
    agent.on["abort"] = lambda _c: [{"type": "turn_end", "stop_reason": "cancelled"}]
    with open_with(agent) as s, pytest.raises(ApprovalRequired):
        s.prompt("go", unattended=True, timeout=5)
    assert agent.kinds().count("abort") == 1
