"""The adapter under the controller, with an agent made of one function: what a person sees when things change under way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from acp_talk import V1, V2, can

from hm_jupyter.connect import open_session
from hm_jupyter.protocols.acp.adapter import AcpAdapter
from hm_jupyter.session.runtime import runtime
from hm_jupyter.session.session import Session
from hm_jupyter.transcript import MessageEntry, UserEntry
from hm_jupyter.transports.memory import MemoryPeer, memory_transport

Json = dict[str, Any]


class Agent:
    """Answers each method as told by ``results``; what is not there waits."""

    def __init__(self, hello: Json) -> None:
        self.results: dict[str, Any] = {"initialize": hello, "session/new": {"sessionId": "s1"}}
        self.before: dict[str, list[Json]] = {}  # what is said before an answer
        self.heard: list[Json] = []
        self.peer: MemoryPeer

    def handle(self, message: Json) -> list[Json]:
        self.heard.append(message)
        method = message.get("method")
        if method not in self.results:
            return []
        return [*self.before.get(method, []), {"id": message["id"], "result": self.results[method]}]

    def open(self) -> Session:
        transport, self.peer = memory_transport(self.handle)

        async def open() -> Session:
            return await open_session(transport, AcpAdapter(cwd="/shop"), agent="fake")

        return runtime().run(open)

    def updates(self, kind: str, /, **fields: Any) -> None:
        self.peer.say(update(kind, **fields))


def update(kind: str, /, **fields: Any) -> Json:
    return {"method": "session/update", "params": {"sessionId": "s1", "update": {"sessionUpdate": kind, **fields}}}


def says(role: str, text: str) -> Json:
    return update(f"{role}_message_chunk", content={"type": "text", "text": text})


@pytest.fixture
def agent() -> Iterator[Callable[[Json], tuple[Agent, Session]]]:
    opened: list[Session] = []

    def start(hello: Json) -> tuple[Agent, Session]:
        agent = Agent(hello)
        opened.append(agent.open())
        return agent, opened[-1]

    yield start
    for session in opened:
        session.close()


def until(session: Session, condition: Callable[[], Any], seconds: float = 5) -> None:
    """Wait until something is so, looking whenever the session tells of a change."""
    met = threading.Event()

    def look(*_: Any) -> None:
        if condition():
            met.set()

    stop = runtime().call(session.controller.subscribe, look)
    runtime().call(look)
    assert met.wait(seconds), "it never came to that"
    runtime().call(stop)


def words(session: Session, kind: Any = MessageEntry) -> list[str]:
    return [str(e.text) for e in session.transcript.entries.values() if isinstance(e, kind)]


def test_settings_that_are_told_late_can_be_changed_and_are_shown(agent: Any) -> None:
    fake, session = agent(V1)
    assert not session.state.capabilities["set_mode"]
    choices = [{"value": v, "name": v} for v in ("ask", "auto")]
    option = {
        "id": "mode",
        "name": "Mode",
        "category": "mode",
        "type": "select",
        "currentValue": "auto",
        "options": choices,
    }
    fake.updates("config_option_update", configOptions=[option])
    until(session, lambda: session.state.capabilities["set_mode"])
    assert session.state.modes == ["ask", "auto"] and session.state.capabilities["options"]
    fake.results["session/set_config_option"] = {"configOptions": [{**option, "currentValue": "ask"}]}
    session.set_mode("ask")
    assert session.state.mode == "ask"


def test_a_person_sees_that_the_connection_is_away_and_then_all_that_was_said(agent: Any) -> None:
    """No text twice, none missing, and the state says "offline" meanwhile."""
    fake, session = agent(can(loadSession=True))
    turn = session.start("hi")
    fake.peer.say(says("agent", "one "), says("agent", "two "))
    until(session, lambda: words(session) == ["one two "])
    fake.peer.link("lost", "the wire was cut")
    until(session, lambda: session.state.status == "offline")
    assert session.state.link == "the wire was cut"
    fake.before["session/load"] = [says("user", "hi"), says("agent", "one two three")]
    fake.results["session/load"] = None
    fake.peer.link("fresh")
    turn._watch.done.wait(5)
    assert words(session) == ["one two three"] and words(session, UserEntry) == ["hi"]
    assert session.state.link == "" and session.state.status == "ready"
    assert "connection was lost" in turn.error
    fake.results["session/prompt"] = {"stopReason": "end_turn"}
    fake.before["session/prompt"] = [says("agent", "more")]
    assert session.prompt("on", timeout=5).text == "more"


# ---- whose policy decides ---------------------------------------------------------------------------------------------

LEAVE = {
    "id": 0,
    "method": "session/request_permission",
    "params": {
        "sessionId": "s1",
        "toolCall": {"toolCallId": "c", "title": "rm -r ~", "kind": "execute", "rawInput": {"command": "rm -r ~"}},
        "options": [
            {"optionId": "y", "name": "Yes", "kind": "allow_once"},
            {"optionId": "n", "name": "No", "kind": "reject_once"},
        ],
    },
}
LEAVE_V2 = {**LEAVE, "params": {**LEAVE["params"], "subject": {"type": "command", "command": "rm -r ~"}}}


def test_what_is_asked_after_a_turn_is_not_decided_by_the_policy_of_that_turn(agent: Any) -> None:
    fake, session = agent(V1)
    fake.results["session/prompt"] = {"stopReason": "end_turn"}
    session.prompt("go", approve="all", unattended=False)
    fake.peer.say(LEAVE)
    until(session, lambda: session.pending)
    assert session.pending[0].state == "waiting" and not any(m.get("id") == 0 for m in fake.heard)


@pytest.mark.parametrize("unattended", [False, True])
def test_a_turn_that_an_agent_begins_by_itself_has_not_the_policy_of_the_one_before(
    agent: Any, unattended: bool
) -> None:
    fake, session = agent(V2)
    fake.results["session/prompt"] = {}
    turn = session.start("go", approve="all", unattended=unattended)
    fake.peer.say(
        update("state_update", state="running"),
        update("state_update", state="idle", stopReason="end_turn"),
        update("state_update", state="running"),  # … nobody asked for this
        LEAVE_V2,
    )
    until(session, lambda: session.state.turn == 2 and (session.pending or any(m.get("id") == 0 for m in fake.heard)))
    assert turn.done and session.turn is not None and session.turn.number == 2
    if unattended:
        until(session, lambda: any(m.get("id") == 0 for m in fake.heard))
        [answer] = [m for m in fake.heard if m.get("id") == 0 and "method" not in m]
        assert answer["result"]["outcome"]["optionId"] == "n"
    else:
        assert session.pending[0].state == "waiting"
