"""A conversation with an adapter, for tests that read as one."""

from __future__ import annotations

from typing import Any

import pytest

from hm_jupyter.commands import Command, Prompt
from hm_jupyter.events import Event
from hm_jupyter.protocols.hm import HmAdapter


class Talk:
    """Both directions of one hm session: what the agent writes, and what we send."""

    def __init__(self, adapter: HmAdapter) -> None:
        self.adapter = adapter

    def hears(self, *lines: Any) -> list[Event]:
        """The agent wrote these lines; the events they led to."""
        events: list[Event] = []
        for line in lines:
            step = self.adapter.receive(line)
            assert step.messages == []
            events += step.events
        return events

    def sends(self, command: Command) -> dict[str, Any]:
        """The one line a command became."""
        step = self.adapter.send(command)
        assert step.events == []
        (line,) = step.messages
        assert isinstance(line, dict)
        return line

    def ok(self, line: dict[str, Any], **more: Any) -> list[Event]:
        """The agent answers a line of ours: done."""
        return self.hears({"type": "response", "id": line["id"], "command": line["type"], "ok": True, **more})

    def refuses(self, line: dict[str, Any], error: str = "no") -> list[Event]:
        """The agent answers a line of ours: not done."""
        return self.hears({"type": "response", "id": line["id"], "command": line["type"], "ok": False, "error": error})

    def in_a_turn(self) -> Talk:
        """A prompt was accepted and read."""
        self.hears({"type": "session_start", "session": "S1"})
        self.ok(self.sends(Prompt(id="p0", text="go")))
        self.hears({"type": "message_end", "role": "user", "text": "go"})
        return self


@pytest.fixture
def talk() -> Talk:
    """A conversation that has not begun."""
    return Talk(HmAdapter())


@pytest.fixture
def turn(talk: Talk) -> Talk:
    """A conversation in which a turn runs."""
    return talk.in_a_turn()
