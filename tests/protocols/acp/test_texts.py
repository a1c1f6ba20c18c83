"""Streamed text goes a short way, many pieces at once; what is told is what the long way would have told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hm_jupyter.commands import Prompt
from hm_jupyter.events import Event, TextAppended
from tests.helpers.acp_talk import V1, V2, Json, Talk


def talking(version: int) -> Talk:
    talk = Talk()
    talk.answers("initialize", {1: V1, 2: V2}[version])
    talk.answers("session/new", {"sessionId": "s1"})
    talk.does(Prompt(text="go"))
    if version == 2:
        talk.state("running")
    return talk


def update(kind: str, session: str = "s1", /, **fields: Any) -> Json:
    params = {"sessionId": session, "update": {"sessionUpdate": kind, **fields}}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def chunk(text: Any, kind: str = "agent_message_chunk", /, **fields: Any) -> Json:
    return update(kind, content={"type": "text", "text": text}, **fields)


def in_one_read(talk: Talk, values: list[Any]) -> tuple[list[Event], list[int]]:
    """What the controller is told of values that came together, each piece by itself; and how many came at once."""
    events: list[Event] = []
    runs = []
    at = 0
    while at < len(values):
        found = talk.adapter.texts(values, at)
        if found is None:
            events += talk.take(talk.adapter.receive(values[at])).events
            at += 1
        else:
            assert found.pieces
            events += [TextAppended(found.message_id, text, found.role) for text in found.pieces]
            runs.append(len(found.pieces))
            at += len(found.pieces)
    return events, runs


IDS = st.sampled_from([{}, {"messageId": "m1"}, {"messageId": "m2"}, {"messageId": None}, {"messageId": ["m1"]}])
KINDS = st.sampled_from(
    ["agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "agent_message", "nonsense"]
)
TEXTS = st.sampled_from(["a", "go", "", "\u2028", None, 7, ["x"]])
CHUNKS = st.builds(lambda text, kind, ids: chunk(text, kind, **ids), TEXTS, KINDS, IDS)
OTHERS = st.sampled_from(
    [
        update("agent_message_chunk", content={"type": "image", "data": "aGk=", "mimeType": "image/png"}),
        update("agent_message_chunk", content="text"),
        update("agent_message_chunk"),
        update("agent_message_chunk", "another", content={"type": "text", "text": "b"}),
        update("agent_message", messageId="m1", content=[{"type": "text", "text": "whole"}]),
        update("tool_call", toolCallId="c", title="run"),
        update("tool_call_update", toolCallId="c", title="run", status="completed"),
        update("plan", entries=[{"content": "think", "priority": "high", "status": "pending"}]),
        update("state_update", state="idle", stopReason="end_turn"),
        {**chunk("asked"), "id": 5},
        {**chunk("elsewhere"), "method": "session/else"},
        {"jsonrpc": "2.0", "method": "session/update", "params": []},
        {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": "agent_message_chunk"}},
        [chunk("in a batch")],
        None,
        "agent_message_chunk",
    ]
)


@pytest.mark.parametrize("version", [1, 2])
@given(
    values=st.lists(
        st.one_of(CHUNKS, CHUNKS.map(lambda value: [value] * 3), OTHERS).map(
            lambda found: found if isinstance(found, list) and len(found) == 3 else [found]
        ),
        max_size=14,
    ).map(lambda found: [value for values in found for value in values])
)
def test_the_short_way_tells_what_the_long_way_tells(version: int, values: list[Any]) -> None:
    long, short = talking(version), talking(version)
    expected = [event for value in values for event in long.take(long.adapter.receive(value)).events]
    assert in_one_read(short, values)[0] == expected
    assert short.messages == long.messages


@pytest.mark.parametrize("kind", ["agent_message_chunk", "agent_thought_chunk"])
@pytest.mark.parametrize(("version", "fields"), [(1, {}), (1, {"messageId": "m"}), (2, {"messageId": "m"}), (2, {})])
def test_text_and_thoughts_take_it_from_their_second_piece_on(version: int, kind: str, fields: Json) -> None:
    values = [chunk(f"{n} ", kind, **fields) for n in range(100)]
    assert in_one_read(talking(version), values)[1] == [99]


def test_what_is_no_piece_of_the_same_message_ends_a_run_and_the_next_begins_behind_it() -> None:
    usage = update("usage_update", used=5, size=10)
    values = [chunk("a"), chunk("b"), chunk("c"), usage, chunk("d"), chunk("e"), chunk("f", "agent_thought_chunk")]
    assert in_one_read(talking(1), values)[1] == [2, 2]
