"""Tens of thousands of calls, requests and messages of an agent: the time they take grows as their number does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from acp_scene import Scene, text_block

from hm_jupyter.transcript import Transcript, UserEntry

MANY = 15_000
BOUND = 15.0  # seconds; it takes about one, and took minutes where each was looked for among all


def call(scene: Scene, number: int) -> None:
    scene.hears("tool_call", toolCallId=f"c{number}", title="ls", kind="execute", rawInput={"command": "ls"})


def terminal(scene: Scene, number: int) -> None:
    scene.hears("terminal_update", toolCallId="c", terminalId=f"t{number}", command="ls")


def own_message(scene: Scene, number: int) -> None:
    scene.hears("user_message_chunk", messageId=f"m{number}", content=text_block(f"say {number}"))
    scene.says("so be it")


def leave(scene: Scene, number: int) -> None:
    """Every request about one and the same call id, taken back at once."""
    scene.asks(number, toolCall={"toolCallId": "c"}, options=[])
    out: list[Any] = []
    assert scene.permissions.withdraw(number, out)
    scene.feed(out)


@pytest.mark.parametrize(("version", "one"), [(1, call), (2, terminal), (1, own_message), (1, leave)])
def test_many_take_no_longer_each_than_few(version: int, one: Callable[[Scene, int], None]) -> None:
    scene = Scene(version).turn()
    began = time.monotonic()
    for number in range(MANY):
        one(scene, number)
        assert time.monotonic() - began < BOUND, f"{number} took that long"


def test_what_is_found_at_once_is_what_a_search_finds() -> None:
    """The index of a transcript, also where its entries were put in by other ways."""
    scene = Scene().turn()
    for turn in range(3):
        for number in range(4):
            scene.call(f"c{number}", title=str(turn))
        scene.ends().turn(f"again {turn}", f"q{turn}")
    t = scene.transcript
    for told in (t, Transcript(t.state, dict(t.entries))):
        for number in range(4):
            newest = [e for e in t.entries.values() if getattr(e, "call_id", "") == f"c{number}"][-1]
            assert told.tool(f"c{number}") is newest is told.call(f"c{number}")
        assert told.tool("nothing") is None
        assert told.unread() == [
            e for e in t.entries.values() if isinstance(e, UserEntry) and e.status in ("sent", "queued")
        ]
