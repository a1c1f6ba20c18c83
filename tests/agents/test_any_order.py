"""Whatever is sent to a running turn, and whenever: the wire stays legal, the agent comes to rest, and what is saved
agrees with what was told."""

from __future__ import annotations

import shutil
import time

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from ..helpers import hm_grammar
from ..helpers.saved_session import check, closed, opened
from .conftest import WAIT, Peer

SCRIPT = """
[[prompt]]
match = "go"
  [[prompt.step]]
  text = "Beginning."
    [[prompt.step.call]]
    tool = "read_file"
    path = "nothing.txt"
    [[prompt.step.call]]
    tool = "write_file"
    path = "made.txt"
    content = "made"
    [[prompt.step.call]]
    tool = "ask_user"
    question = "which?"
    [[prompt.step.call]]
    tool = "shell"
    command = "echo one"
  [[prompt.step]]
    [[prompt.step.call]]
    tool = "write_file"
    path = "made.txt"
    content = "again"
  [[prompt.step]]
  text = "Done."
"""

ACTIONS = st.sampled_from(
    ["steer", "follow_up", "abort", "allow", "refuse", "answer", "stray approve", "stray answer", "prompt", "set_mode",
     "get_state", "compact", "fork", "read on", "read on", "read on"]
)  # fmt: skip


NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
"""An agent that hangs makes every smaller example wait as long: the first one that fails is told at once."""


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("any")
    (folder / "script.toml").write_text(SCRIPT)
    agent = Peer(
        folder, "--model", str(folder / "script.toml"), env={"HM_SESSIONS": str(folder / "sessions")}, saved=True
    )
    agent.until("session_start")
    yield agent
    agent.stop()


class Play:
    """One conversation with an agent at rest, until it is at rest again."""

    def __init__(self, agent):
        self.agent = agent
        self.begin = len(agent.seen)
        self.sent = []

    def send(self, type, **fields):
        self.sent.append(self.agent.send(type, **fields))

    def call(self, type, **fields):
        response = self.agent.call(type, **fields)
        self.sent.append(response["id"])
        return response

    def waiting(self, kind, end):
        done = {e["call_id"] for e in self.agent.seen[self.begin :] if e["type"] == end}
        asked = [e["call_id"] for e in self.agent.seen[self.begin :] if e["type"] == kind]
        return [c for c in asked if c not in done] or ["call_none"]

    def do(self, action):
        if action in ("steer", "follow_up", "prompt"):
            self.send(action, text="go" if action == "prompt" else action)
        elif action in ("allow", "refuse"):
            call_id = self.waiting("approval_needed", "approval")[0]
            self.send("approve", call_id=call_id, allow=action == "allow", note="because")
        elif action == "answer":
            self.send("answer", call_id=self.waiting("question", "tool_result")[0], text="this")
        elif action.startswith("stray"):
            self.send(
                action.split()[1], call_id="call_none", **({"text": ""} if "answer" in action else {"allow": True})
            )
        elif action == "set_mode":
            self.send("set_mode", mode="edit")
        elif action == "read on":  # a round trip: what the agent could do by itself, it has done
            self.call("get_state")
        else:
            self.send(action)

    def rest(self):
        """Give leave and answers until nothing runs; then drop what waits for a next prompt."""
        ends = time.monotonic() + WAIT
        while (state := self.call("get_state")["data"])["running"] or state["session"]["status"] != "idle":
            told = [(e["type"], e.get("call_id") or e.get("id")) for e in self.agent.seen[self.begin :]]
            assert time.monotonic() < ends, (state, [t for t in told if t[0] != "response"][-30:])
            for call_id in state["pending_approvals"]:
                self.call("approve", call_id=call_id, allow=True)
            for call_id in state["pending_questions"]:
                self.call("answer", call_id=call_id, text="that")
        self.call("abort")
        self.call("set_mode", mode="ask")
        assert (state["pending_approvals"], state["pending_questions"]) == ([], [])
        return self.agent.seen[self.begin :]


@settings(
    max_examples=40, deadline=None, phases=NO_SHRINKING, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(ACTIONS, max_size=14))
@example(["read on", "steer", "allow", "abort"])
@example(["read on", "abort", "follow_up", "prompt", "steer"])
@example(["read on", "allow", "read on", "answer", "follow_up", "abort", "prompt"])
def test_any_order_of_commands_leaves_a_legal_wire(peer, actions):
    """HM-003 HM-025 HM-027 HM-030 HM-110 HM-156 HM-173"""
    play = Play(peer)
    play.send("prompt", text="go")
    for action in actions:
        play.do(action)
    events = play.rest()
    hm_grammar.check(events, play.sent)
    _saved(peer, events)


KEPT = ("message_end", "tool_call", "approval_needed", "approval", "question", "tool_result", "usage", "turn_end")


def _saved(peer, events):
    """The file as another process would find it now has the conversation, and what was told since the last fork."""
    name = f"{events[-1]['session']}.jsonl"
    shutil.copy(peer.cwd / "sessions" / name, peer.cwd / name)
    session, kept = opened(peer.cwd / name, peer.cwd)
    check(session, kept)
    closed(kept)
    told = [e for e in events if e["type"] in KEPT and e["session"] == session.id]
    kept = [e for e in kept if e["type"] in KEPT]

    def bare(event):
        return {k: v for k, v in event.items() if k not in ("v", "time", "session")}

    assert [bare(e) for e in kept[len(kept) - len(told) :]] == [bare(e) for e in told]


@settings(
    max_examples=10, deadline=None, phases=NO_SHRINKING, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, 6))
def test_an_abort_is_the_end_wherever_it_comes(peer, reads):
    """HM-079 HM-082: the question nobody answers keeps the turn running until then."""
    play = Play(peer)
    play.send("prompt", text="go")
    for _ in range(reads):
        play.do("read on")
        play.do("allow")
    play.send("follow_up", text="never heard")
    play.send("abort")
    events = play.rest()
    hm_grammar.check(events, play.sent)
    assert "never heard" not in [e.get("text") for e in events if e["type"] == "message_end"]
    assert [e["stop_reason"] for e in events if e["type"] == "turn_end"] == ["cancelled"]
