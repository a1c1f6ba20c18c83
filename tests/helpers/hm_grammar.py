"""What any wire of an hm RPC agent keeps to, whatever was sent and when. Knows the lines, not the agent.

Source: hm RPC, "Life of a session", "Approvals", "A session", "Order".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

Event = dict[str, Any]


def check(events: Sequence[Event], sent: Sequence[Any]) -> None:
    """Raise ``AssertionError`` unless ``events`` (from an idle agent to an idle agent) are legal.

    Args:
        events: all lines of that time, responses included.
        sent: the ids of the commands sent in it.
    """
    answers = Counter(e["id"] for e in events if e["type"] == "response")
    assert answers == Counter(sent), f"responses once each: {answers} to {list(sent)}"
    _turns([e for e in events if e["type"] not in ("response", "session_start")])


def _turns(events: Sequence[Event]) -> None:
    turn: list[Event] = []
    compacting = False
    for event in events:
        if event["type"] in ("compaction_start", "compaction_end"):
            assert compacting == (event["type"] == "compaction_end"), "compaction_start and _end take turns"
            compacting = not compacting
            if not turn:
                continue  # asked for, between two turns
        turn.append(event)
        if event["type"] == "turn_end":
            _turn(turn)
            turn = []
    assert not compacting, "a compaction that never ended"
    assert not turn, f"after the last turn_end: {[e['type'] for e in turn]}"
    entries = Counter(e["entry"] for e in events if "entry" in e)
    assert all(n == 1 for n in entries.values()), f"an entry id twice: {entries}"


def _turn(events: Sequence[Event]) -> None:
    first = events[0]
    assert (first["type"], first.get("role")) == ("message_end", "user"), "a turn begins with what the person said"
    speaking = False
    calls: dict[str, list[str]] = {}
    for event in events:
        kind = event["type"]
        if kind == "message_start":
            assert not speaking, "a message within a message"
            speaking = True
        elif kind == "message_end" and event["role"] == "assistant":
            assert speaking, "a message that never began"
            speaking = False
        elif kind in ("text_delta", "thinking_delta", "tool_start", "usage"):
            assert speaking, f"{kind} outside of a message"
        else:
            assert not speaking, f"{kind} within a message"
        if kind == "tool_call":
            assert event["call_id"] not in calls, "a call twice"
            calls[event["call_id"]] = []
        elif kind in ("approval_needed", "approval", "question", "tool_result"):
            assert event["call_id"] in calls, f"{kind} without its call"
            calls[event["call_id"]].append(kind)
    assert not speaking, "a message that never ended"
    for call_id, told in calls.items():
        assert told[-1:] == ["tool_result"], f"{call_id} ends with {told}"
        assert told.count("tool_result") == 1, f"{call_id} has more than one result"
        if "approval_needed" in told:
            assert told[:2] == ["approval_needed", "approval"], f"{call_id}: {told}"
            assert told.count("approval_needed") == told.count("approval") == 1
