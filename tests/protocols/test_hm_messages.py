"""Messages on the hm wire: told once, in one piece, and no empty ones."""

from __future__ import annotations

from typing import Any

import pytest

from hm_jupyter.commands import GetState, Steer
from hm_jupyter.events import MessageUpdated, TextAppended, UnknownReceived, UsageReported


def delta(text: Any) -> dict[str, Any]:
    return {"type": "text_delta", "text": text}


def thinks(text: str) -> dict[str, Any]:
    return {"type": "thinking_delta", "text": text}


def starts() -> dict[str, Any]:
    return {"type": "message_start", "role": "assistant"}


def ends(text: Any, role: str = "assistant") -> dict[str, Any]:
    return {"type": "message_end", "role": role, "text": text}


def test_streamed_text_is_not_told_again_at_its_end(turn: Any) -> None:
    first, second, end = turn.hears(starts(), delta("All "), delta("pass."), ends("All pass."))
    assert first == TextAppended(first.message_id, "All ")
    assert second == TextAppended(first.message_id, "pass.")
    assert end == MessageUpdated(first.message_id, text=None, final=True)


def test_text_without_deltas_is_told_whole(turn: Any) -> None:
    (end,) = turn.hears(starts(), ends("All pass."))
    assert (end.role, end.text, end.final) == ("assistant", "All pass.", True)


def test_an_end_that_differs_from_the_deltas_puts_them_right(turn: Any) -> None:
    piece, end = turn.hears(starts(), delta("half"), ends("half and more"))
    assert end == MessageUpdated(piece.message_id, text="half and more", final=True)


def test_an_end_that_leaves_the_text_out_keeps_what_was_streamed(turn: Any) -> None:
    piece, end = turn.hears(starts(), delta("kept"), {"type": "message_end", "role": "assistant"})
    assert end == MessageUpdated(piece.message_id, text=None, final=True)


def test_a_message_of_tool_calls_only_leaves_nothing(turn: Any) -> None:
    assert turn.hears(starts(), delta(""), ends("")) == []


def test_the_end_of_a_batch_of_tool_results_leaves_nothing(turn: Any) -> None:
    assert turn.hears(ends("", role="tool")) == []


def test_each_message_has_an_id_of_its_own(turn: Any) -> None:
    events = turn.hears(starts(), delta("a"), ends("a"), starts(), delta("b"), ends("b"), starts(), ends("c"))
    ids = [event.message_id for event in events]
    assert ids[0] == ids[1] != ids[2] == ids[3]
    assert len(set(ids)) == 3


def test_a_message_that_never_ended_is_closed_by_the_next(turn: Any) -> None:
    first, closed, second = turn.hears(starts(), delta("a"), starts(), delta("b"))
    assert closed == MessageUpdated(first.message_id, final=True)
    assert second.message_id != first.message_id


def test_deltas_with_no_start_are_a_message_too(turn: Any) -> None:
    piece, end = turn.hears(delta("hi"), ends("hi"))
    assert end.message_id == piece.message_id


def test_a_response_between_two_deltas_does_not_split_the_text(turn: Any) -> None:
    line = turn.sends(GetState(id="g"))
    first = turn.hears(starts(), delta("one "))
    turn.ok(line, data={})
    second = turn.hears({"type": "weather_changed"}, delta("text"), ends("one text"))
    assert first[0].message_id == second[1].message_id == second[2].message_id
    assert second[2].text is None


def test_a_message_that_was_cut_off_is_left_open_for_its_turns_end(turn: Any) -> None:
    assert len(turn.hears(starts(), delta("I wi"), {**ends("I wi"), "interrupted": True})) == 1
    (untold,) = turn.hears(starts(), {**ends("half"), "interrupted": True})
    assert (untold.text, untold.final) == ("half", False)


def test_our_own_message_comes_back_as_read_and_not_as_a_new_text(turn: Any) -> None:
    turn.ok(turn.sends(Steer(id="s", text="log axis")))
    (read,) = turn.hears(ends("log axis", role="user"))
    assert (read.role, read.text, read.final) == ("user", "log axis", True)


def test_thinking_is_a_thought_that_ends_where_the_text_begins(turn: Any) -> None:
    thought, more, closed, text = turn.hears(starts(), thinks("hm"), thinks(", yes"), delta("Yes."))
    assert thought == TextAppended(thought.message_id, "hm", "thought")
    assert more.message_id == thought.message_id
    assert closed == MessageUpdated(thought.message_id, "thought", final=True)
    assert text.role == "assistant"


@pytest.mark.parametrize(
    "line", [{"type": "tool_start", "tool": "shell"}, starts(), ends(""), {"type": "turn_end"}], ids=lambda v: v["type"]
)
def test_a_thought_ends_where_anything_else_begins(turn: Any, line: dict[str, Any]) -> None:
    (thought,) = turn.hears(thinks("hm"))
    assert turn.hears(line)[0] == MessageUpdated(thought.message_id, "thought", final=True)


def test_a_new_turn_writes_a_new_message(turn: Any) -> None:
    (cut_off,) = turn.hears(delta("I wi"))
    events = turn.hears({"type": "turn_end"}, delta("Next"), ends("Next"))
    assert events[-1] == MessageUpdated(events[-2].message_id, final=True)
    assert events[-2].message_id != cut_off.message_id


def test_text_before_and_after_a_thought_is_one_message(turn: Any) -> None:
    events = turn.hears(starts(), delta("a"), thinks("t"), delta("b"), ends("ab"))
    assert [type(event).__name__ for event in events] == [
        "TextAppended", "TextAppended", "MessageUpdated", "TextAppended", "MessageUpdated",
    ]  # fmt: skip
    texts = [event for event in events if isinstance(event, TextAppended) and event.role == "assistant"]
    assert texts[0].message_id == texts[1].message_id == events[-1].message_id
    assert events[-1].text is None


@pytest.mark.parametrize("text", [None, 5, ["x"], {"a": 1}])
def test_a_delta_that_is_no_text_is_kept_raw(turn: Any, text: Any) -> None:
    assert turn.hears(delta(text)) == [UnknownReceived("text_delta", delta(text))]


def test_a_message_of_an_unheard_of_role_is_kept_raw(turn: Any) -> None:
    line = ends("psst", role="oracle")
    assert turn.hears(line) == [UnknownReceived("message_end", line)]


def test_the_usage_of_each_model_call_is_reported(turn: Any) -> None:
    (event,) = turn.hears({"type": "usage", "input": 5, "output": 2, "cache_read": 1, "cache_write": 0, "cost": 0.5})
    assert isinstance(event, UsageReported)
    assert (event.usage.input, event.usage.output, event.usage.cache_read, event.usage.cost) == (5, 2, 1, 0.5)


def test_usage_with_no_cost_leaves_the_cost_unknown(turn: Any) -> None:
    (event,) = turn.hears({"type": "usage", "input": 5, "output": "many"})
    assert (event.usage.input, event.usage.output, event.usage.cost) == (5, 0, None)
