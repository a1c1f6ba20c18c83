"""What a person sees of a connection that is lost and made again; and an adapter's alarms."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hm_jupyter.errors import AgentGone, TransportError
from hm_jupyter.events import ApprovalResolved, LinkChanged, TurnEnded
from hm_jupyter.protocols.base import Step, Wake
from hm_jupyter.protocols.hm import HmAdapter
from hm_jupyter.session.runtime import runtime
from hm_jupyter.session.session import Session
from hm_jupyter.transcript import NoticeEntry, TurnEntry
from tests.session.test_session import ASK, END, Agent, open_with, until

WORDS = {"type": "text_delta", "text": "half "}


class Remote(HmAdapter):
    """hm RPC over a connection that can be lost: what a wire for remote agents does at such a time, in small."""

    def link_back(self, fresh: bool) -> Step:
        """A new connection knows nothing of the turn: what waits there is gone, and so is the turn."""
        step = super().link_back(fresh)
        if fresh and self._running:
            step.events.append(ApprovalResolved("k1", "withdrawn"))
            self._end_turn("error", "The connection was lost.", step.events)
        return step


@pytest.fixture
def agent() -> Agent:
    return Agent()


@pytest.fixture
def session(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.setattr("tests.session.test_session.HmAdapter", Remote)
    s = open_with(agent)
    yield s
    s.close()


def test_a_lost_connection_is_shown_as_offline_with_its_reason_and_then_not_any_more(agent: Agent, session: Session):
    agent.peer.link("lost", "The server does not answer.")
    until(lambda: session.state.status == "offline", session)
    assert session.state.link == "The server does not answer."
    agent.peer.link("back")
    until(lambda: session.state.status == "ready", session)
    assert session.state.link == ""


def test_a_turn_goes_on_when_the_same_connection_is_back(agent: Agent, session: Session):
    agent.on["prompt"] = lambda _c: [WORDS]
    turn = session.start("go")
    until(lambda: turn.text == "half ", session)
    agent.peer.link("lost", "cut")
    until(lambda: session.state.status == "offline", session)
    assert not turn.done
    agent.peer.link("back")
    until(lambda: session.state.status == "working", session)
    agent.peer.say({"type": "text_delta", "text": "done"}, END)
    assert turn.wait(5).text == "half done"
    assert not [e for e in turn.entries if isinstance(e, NoticeEntry)], "a connection that comes back is no news"


def test_a_turn_that_the_connection_took_with_it_ends_and_says_so(agent: Agent, session: Session):
    agent.on["prompt"] = lambda _c: [WORDS]
    turn = session.start("go")
    until(lambda: turn.text == "half ", session)
    agent.peer.link("lost", "cut")
    agent.peer.link("fresh")
    assert turn._watch.done.wait(5)
    assert (turn.text, turn.stop_reason, turn.error) == ("half ", "error", "The connection was lost.")
    assert session.state.status == "ready"
    agent.on["prompt"] = lambda _c: [WORDS, END]
    assert session.prompt("again").text == "half ", "the session goes on"


def test_what_waits_for_leave_still_waits_when_the_same_connection_is_back(agent: Agent, session: Session):
    agent.on["prompt"] = lambda _c: ASK
    turn = session.start("go")
    until(lambda: session.pending, session)
    agent.peer.link("lost", "cut")
    until(lambda: session.state.status == "offline", session)
    assert [p.call_id for p in session.pending] == ["k1"], "it is not forgotten"
    agent.peer.link("back")
    until(lambda: session.state.status == "waiting", session)
    agent.on["approve"] = lambda _c: [END]
    session.approve("k1")
    assert turn.wait(5).stop_reason == "end_turn"


def test_what_waits_for_leave_is_taken_down_when_the_connection_is_another(agent: Agent, session: Session):
    agent.on["prompt"] = lambda _c: ASK
    turn = session.start("go")
    until(lambda: session.pending, session)
    agent.peer.link("lost", "cut")
    agent.peer.link("fresh")
    assert turn._watch.done.wait(5)
    assert session.pending == []
    assert turn.tool_calls[0].status == "interrupted"


def test_an_agent_that_is_not_reached_again_has_ended_and_is_not_offline(agent: Agent, session: Session):
    agent.on["prompt"] = lambda _c: [WORDS]
    turn = session.start("go")
    until(lambda: turn.text == "half ", session)
    agent.peer.link("lost", "The server does not answer.")
    agent.peer.end(None)
    with pytest.raises(AgentGone):
        turn.wait(5)
    assert (session.state.status, session.state.link) == ("ended", ""), "nothing is being connected any more"


def test_an_interrupt_while_offline_stops_the_wait_in_bounded_time(
    agent: Agent, session: Session, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("hm_jupyter.session.session.STOP_GRACE", 0.2)
    agent.on["prompt"] = lambda _c: [WORDS]

    def offline_and_interrupted() -> None:
        until(lambda: session.turn is not None and session.turn.text, session)
        agent.peer.link("lost", "cut")
        until(lambda: session.state.status == "offline", session)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=offline_and_interrupted, daemon=True).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        session.prompt("go")
    assert time.monotonic() - began < 5
    assert session.state.status == "offline", "the session is not lost by it"
    agent.peer.link("back")
    agent.peer.say({"type": "turn_end", "stop_reason": "cancelled"})
    until(lambda: session.state.status == "ready", session)
    assert session.turn is not None
    assert session.turn.stop_reason == "cancelled"


@pytest.mark.parametrize(
    "call",
    [lambda s: s.prompt("go"), lambda s: s.start("go"), lambda s: s.set_mode("ask"), lambda s: s.set_model("m"),
     lambda s: s.compact(), lambda s: s.sessions(), lambda s: s.refresh() if hasattr(s, "refresh") else s.prompt("x")],
)  # fmt: skip
def test_what_is_asked_of_an_agent_while_offline_says_that_it_is_being_connected_and_what_to_do(
    agent: Agent, session: Session, call: Callable[[Session], Any]
):
    agent.peer.link("lost", "The server does not answer.")
    until(lambda: session.state.status == "offline", session)
    with pytest.raises(
        TransportError, match=r"being made again \(The server does not answer\)\. Try again.*%hm resume"
    ):
        call(session)
    assert session.transcript.entries == {}, "nothing was sent, and nothing is shown as sent"
    agent.peer.link("back")
    until(lambda: session.state.status == "ready", session)
    agent.on["prompt"] = lambda _c: [WORDS, END]
    assert session.prompt("again").text == "half "


def test_a_cell_that_is_stopped_while_offline_ends_soon_and_says_why(agent: Agent, session: Session):
    from hm_jupyter.notebook import cell

    agent.on["prompt"] = lambda _c: [WORDS]

    def offline_and_interrupted() -> None:
        until(lambda: session.turn is not None and session.turn.text, session)
        agent.peer.link("lost", "cut")
        until(lambda: session.state.status == "offline", session)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    turn = session.start("go", unattended=False)
    threading.Thread(target=offline_and_interrupted, daemon=True).start()
    began = time.monotonic()
    with pytest.raises(cell.TurnStopped, match=r"being made again \(cut\)"):
        cell.attend(session, turn)
    assert time.monotonic() - began < 5
    agent.peer.link("back")
    until(lambda: "abort" in [c["type"] for c in agent.heard], session)


def test_a_session_can_be_closed_while_offline(agent: Agent, session: Session):
    agent.peer.link("lost", "cut")
    until(lambda: session.state.status == "offline", session)
    session.close()
    assert session.state.status == "ended"
    assert session.closed


def test_listeners_are_told_of_a_link_at_once(agent: Agent, session: Session):
    told: list[Any] = []
    runtime().call(session.controller.subscribe, lambda seq, ops: told.extend(ops))
    agent.peer.link("lost", "cut")
    until(lambda: told, session)
    assert told[0].patch == {"link": "cut", "status": "offline"}


# ---- alarms --------------------------------------------------------------------------------------------------------


class Alarmed(Remote):
    """Wants to be called a moment after a prompt, and ends the turn then."""

    seconds = 0.05
    again = False

    def send(self, command: Any) -> Step:
        step = super().send(command)
        if command.type == "prompt":
            step.wakes.append(Wake("tired", self.seconds))
            if self.again:
                step.wakes.append(Wake("tired", 0))
        return step

    def woke(self, key: str) -> Step:
        return Step([TurnEnded("max_steps")] if key == "tired" else [LinkChanged(False)])


@pytest.mark.parametrize("again", [False, True])
def test_an_adapter_is_woken_unless_it_takes_the_alarm_back(agent: Agent, monkeypatch: pytest.MonkeyPatch, again: bool):
    monkeypatch.setattr("tests.session.test_session.HmAdapter", Alarmed)
    monkeypatch.setattr(Alarmed, "again", again)
    s = open_with(agent)
    try:
        turn = s.start("go")
        if again:
            assert not turn._watch.done.wait(0.3)
        else:
            assert turn._watch.done.wait(5)
            assert turn.stop_reason == "max_steps"
    finally:
        s.close()


def test_an_alarm_dies_with_its_session(agent: Agent, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tests.session.test_session.HmAdapter", Alarmed)
    monkeypatch.setattr(Alarmed, "seconds", 60.0)
    s = open_with(agent)
    s.start("go")
    began = time.monotonic()
    s.close()
    assert time.monotonic() - began < 10
    turns = [e for e in s.transcript.entries.values() if isinstance(e, TurnEntry)]
    assert [e.stop_reason for e in turns] != ["max_steps"]
