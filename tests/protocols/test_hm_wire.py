"""The shapes of the hm RPC wire: what a command must look like, and what a line from an agent carries."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hm_jupyter.protocols.hm_wire import (
    COMMANDS,
    NOT_AN_OBJECT,
    NOTHING_TO_SEND,
    TURN_RUNNING,
    HmApprove,
    HmExport,
    HmSetModel,
    command_head,
    event,
    parse_hm_command,
    response,
)

LEAST: dict[str, dict[str, Any]] = {
    "prompt": {"text": "x"},
    "steer": {"text": "x"},
    "follow_up": {"text": "x"},
    "abort": {},
    "approve": {"call_id": "c", "allow": True},
    "answer": {"call_id": "c", "text": "x"},
    "set_mode": {"mode": "auto"},
    "set_model": {"model": "m"},
    "compact": {},
    "get_state": {},
    "list_sessions": {},
    "fork": {},
    "export": {},
}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def test_there_are_thirteen_commands() -> None:
    assert tuple(LEAST) == COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_is_read_with_its_least_fields(name: str) -> None:
    command = parse_hm_command({"type": name, **LEAST[name]})
    assert command.type == name
    assert command.id is None


@pytest.mark.parametrize("id", ["7", 7, 1.5, True, None, [1], {"a": 1}])
def test_any_json_value_is_an_id(id: Any) -> None:
    got = parse_hm_command({"type": "abort", "id": id}).id
    assert got == id
    assert type(got) is type(id)


@pytest.mark.parametrize("name", COMMANDS)
def test_unknown_fields_are_let_be(name: str) -> None:
    assert parse_hm_command({"type": name, **LEAST[name], "shiny": 1}).type == name


@pytest.mark.parametrize("name", ["prompt", "steer", "follow_up"])
def test_a_message_may_be_images_alone_but_not_nothing(name: str) -> None:
    assert parse_hm_command({"type": name, "images": [{"data": "AAAA"}]}).type == name
    with pytest.raises(ValueError, match=NOTHING_TO_SEND):
        parse_hm_command({"type": name})


def test_a_field_left_out_differs_from_an_empty_one() -> None:
    left_out = parse_hm_command({"type": "set_model", "effort": "low"})
    empty = parse_hm_command({"type": "set_model", "effort": "", "model": "", "provider": None})
    assert isinstance(left_out, HmSetModel)
    assert isinstance(empty, HmSetModel)
    assert (left_out.provider, left_out.model, left_out.effort) == (None, None, "low")
    assert (empty.provider, empty.model, empty.effort) == (None, "", "")


def test_no_edits_differ_from_an_empty_list_of_edits() -> None:
    without = parse_hm_command({"type": "approve", "call_id": "c", "allow": True})
    none = parse_hm_command({"type": "approve", "call_id": "c", "allow": True, "edits": []})
    assert isinstance(without, HmApprove)
    assert isinstance(none, HmApprove)
    assert without.edits is None
    assert none.edits == []


def test_an_export_is_html_by_default() -> None:
    command = parse_hm_command({"type": "export"})
    assert isinstance(command, HmExport)
    assert command.format == "html"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (42, NOT_AN_OBJECT),
        (None, NOT_AN_OBJECT),
        ([], NOT_AN_OBJECT),
        ("x", NOT_AN_OBJECT),
        ({"id": 1}, "has no type"),
        ({"type": 3}, "has no type"),
        ({"type": "nope"}, "no command 'nope'"),
        ({"type": "prompt", "text": 3}, "prompt: text should"),
        ({"type": "prompt", "images": "x"}, "prompt: images should"),
        ({"type": "steer", "images": [{}]}, r"steer: images\[0\]\.data is missing"),
        ({"type": "approve", "call_id": "c", "allow": 1}, "approve: allow should"),
        ({"type": "approve", "allow": True}, "approve: call_id is missing"),
        (
            {"type": "approve", "call_id": "c", "allow": True, "edits": [{"path": "a"}]},
            r"edits\[0\]\.content is missing",
        ),
        ({"type": "answer", "call_id": "c"}, "answer: text is missing"),
        ({"type": "set_mode"}, "set_mode: mode is missing"),
        ({"type": "set_model"}, "set_model: give provider, model and/or effort"),
        ({"type": "set_model", "effort": "ultra"}, "set_model: effort should be 'off'"),
        ({"type": "list_sessions", "all": "yes"}, "list_sessions: all should"),
        ({"type": "export", "format": "pdf"}, "export: format should be 'html', 'md' or 'jsonl'"),
    ],
)
def test_what_is_no_command_is_refused_in_words(value: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_hm_command(value)


@settings(deadline=None)
@given(
    json_values
    | st.builds(lambda d, name: {**d, "type": name}, st.dictionaries(st.text(), json_values), st.sampled_from(COMMANDS))
)
def test_nothing_but_a_value_error_comes_of_hostile_input(value: Any) -> None:
    id, name = command_head(value)
    assert isinstance(name, str)
    assert id is None or isinstance(value, dict)
    says = "read"
    try:
        parse_hm_command(value)
    except ValueError as error:
        says = str(error)
    assert says


def test_the_head_of_a_bad_command_keeps_what_could_be_read() -> None:
    assert command_head({"id": [1], "type": "nope"}) == ([1], "nope")
    assert command_head({"id": 1}) == (1, "")
    assert command_head("garbage") == (None, "")


def test_the_refusal_of_a_second_prompt_is_word_for_word() -> None:
    assert TURN_RUNNING == "a turn is running; steer it or queue a follow-up"


def test_every_line_carries_the_header() -> None:
    line = event("text_delta", "S1", "2026-11-06T10:00:00Z", text="hi")
    assert line == {"v": 1, "type": "text_delta", "session": "S1", "time": "2026-11-06T10:00:00Z", "text": "hi"}


def test_a_response_has_error_only_when_it_failed_and_data_only_when_there_is_some() -> None:
    head = {"v": 1, "type": "response", "session": "S1", "time": "T"}
    assert response("S1", "T", id="7", command="prompt") == {**head, "id": "7", "command": "prompt", "ok": True}
    assert response("S1", "T", id=None, command="", error="no") == {
        **head, "id": None, "command": "", "ok": False, "error": "no",
    }  # fmt: skip
    assert response("S1", "T", id=1, command="fork", data={"id": "S2"})["data"] == {"id": "S2"}
