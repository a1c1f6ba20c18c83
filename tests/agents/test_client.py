"""The agent as our own client understands it: its real output through the client's adapter."""

from __future__ import annotations

import pytest

from hm_jupyter import commands, events
from hm_jupyter.protocols.hm import HmAdapter


class Client:
    """Drives an agent by the adapter and gathers what it makes of the lines."""

    def __init__(self, agent, **options):
        self.agent = agent
        self.adapter = HmAdapter(**options)
        self.events = []
        for line in agent.seen:
            self.events += self.adapter.receive(line).events

    def send(self, command):
        import json

        for message in self.adapter.send(command).messages:
            self.agent.raw(json.dumps(message).encode() + b"\n")

    def until(self, kind):
        while True:
            for event in self.events[getattr(self, "_at", 0) :]:
                self._at = self.events.index(event) + 1
                if isinstance(event, kind):
                    return event
            self._at = len(self.events)
            line = self.agent.until(lambda e: True)
            self.events += self.adapter.receive(line).events

    def statuses(self, name):
        """The last status of every call of a tool, by call id."""
        ids = {e.call_id for e in self.events if isinstance(e, events.ToolCallUpdated) and e.name == name}
        last = {}
        for e in self.events:
            if isinstance(e, events.ToolCallUpdated):
                ids |= {e.call_id} if e.replaces in ids else set()
                if e.replaces:
                    ids.discard(e.replaces)
                    last.pop(e.replaces, None)
                if e.status:
                    last[e.call_id] = e.status
        return {i: last.get(i) for i in sorted(ids)}


@pytest.fixture
def client(start):
    def run(*flags, **options):
        return Client(start(*flags, **options))

    return run


def strange(client):
    return [e for e in client.events if isinstance(e, (events.NoticeRaised, events.UnknownReceived))]


def test_a_turn_with_an_approval_and_a_note_is_understood_whole(client):
    it = client()
    it.send(commands.Prompt(text="run: touch ran"))
    asked = it.until(events.ApprovalRequested)
    assert (asked.command, asked.cwd, asked.rule) == ("touch ran", str(it.agent.cwd), "shell: touch ran")
    it.send(commands.Approve(request_id=asked.request_id, allow=False, note="no"))
    assert it.until(events.ApprovalResolved).outcome == "denied"
    assert it.until(events.TurnEnded).stop_reason == "end_turn"
    assert list(it.statuses("shell").values()) == ["denied"]
    assert strange(it) == []


def test_calls_skipped_by_a_steer_are_shown_as_skipped(client):
    script = """
[[prompt]]
match = ""
  [[prompt.step]]
    [[prompt.step.call]]
    tool = "shell"
    command = "echo one; while [ ! -e go ]; do sleep 0.02; done"
    [[prompt.step.call]]
    tool = "shell"
    command = "touch two"
"""
    it = client("--mode", "auto", script=script)
    it.send(commands.Prompt(text="x"))
    it.until(events.ToolOutputAppended)
    it.send(commands.Steer(text="stop that"))
    it.until(events.CommandAnswered)
    (it.agent.cwd / "go").touch()
    it.until(events.TurnEnded)
    assert list(it.statuses("shell").values()) == ["completed", "skipped"]
    assert strange(it) == []


def test_a_call_stopped_by_an_abort_is_shown_as_interrupted(client):
    it = client("--mode", "auto")
    it.send(commands.Prompt(text="run: echo one; sleep 1000"))
    it.until(events.ToolOutputAppended)
    it.send(commands.Abort())
    assert it.until(events.TurnEnded).stop_reason == "cancelled"
    assert list(it.statuses("shell").values()) == ["interrupted"]
    assert strange(it) == []


def test_a_question_a_fork_and_a_compaction_are_understood(client):
    it = client()
    it.send(commands.Prompt(text="ask: which?"))
    question = it.until(events.QuestionRequested)
    it.send(commands.Answer(request_id=question.request_id, text="this"))
    it.until(events.TurnEnded)
    it.send(commands.Compact(focus="f"))
    assert it.until(events.CompactionEnded).summary
    it.send(commands.Fork())
    assert it.until(events.SessionStarted).session_id
    assert strange(it) == []


def test_what_a_mode_refuses_is_shown_as_denied(client):
    it = client("--mode", "plan")
    it.send(commands.Prompt(text="run: touch ran"))
    it.until(events.TurnEnded)
    assert list(it.statuses("shell").values()) == ["denied"]
    assert strange(it) == []


def test_a_follow_up_while_idle_is_a_turn_the_agent_began(client):
    """HM-077"""
    it = client()
    it.send(commands.FollowUp(text="say: hello"))
    it.until(events.TurnStarted)
    it.until(events.TurnEnded)
    assert "hello" in "".join(e.text for e in it.events if isinstance(e, events.TextAppended))
    assert strange(it) == []
