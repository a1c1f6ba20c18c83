"""Our commands on the hm wire, and the responses that belong to them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hm_jupyter.commands import (
    Abort,
    Answer,
    Approve,
    Command,
    Compact,
    Export,
    FileEdit,
    FollowUp,
    Fork,
    GetState,
    ImageData,
    ListSessions,
    Prompt,
    SetMode,
    SetModel,
    Steer,
)
from hm_jupyter.events import CommandAnswered, NoticeRaised, SessionUpdated, Usage
from hm_jupyter.protocols.hm_wire import COMMANDS, parse_hm_command

PICTURE = ImageData(data="iVBORw0KGgo=", mime="image/png")
LINES: list[tuple[Command, dict[str, Any]]] = [
    (Prompt(text="a\n{b}"), {"type": "prompt", "text": "a\n{b}"}),
    (Prompt(text="a", images=[PICTURE]), {"type": "prompt", "text": "a", "images": [{"data": "iVBORw0KGgo="}]}),
    (Prompt(images=[PICTURE]), {"type": "prompt", "images": [{"data": "iVBORw0KGgo="}]}),
    (Prompt(text="a", attachments=["df"]), {"type": "prompt", "text": "a"}),
    (Steer(text="a"), {"type": "steer", "text": "a"}),
    (Steer(images=[PICTURE]), {"type": "steer", "images": [{"data": "iVBORw0KGgo="}]}),
    (FollowUp(text="a"), {"type": "follow_up", "text": "a"}),
    (FollowUp(text="a", images=[PICTURE]), {"type": "follow_up", "text": "a", "images": [{"data": "iVBORw0KGgo="}]}),
    (Abort(), {"type": "abort"}),
    (Approve(request_id="c", allow=True), {"type": "approve", "call_id": "c", "allow": True}),
    (
        Approve(request_id="c", allow=False, note="no"),
        {"type": "approve", "call_id": "c", "allow": False, "note": "no"},
    ),
    (
        Approve(request_id="c", allow=True, for_session=True),
        {"type": "approve", "call_id": "c", "allow": True, "for_session": True},
    ),
    (
        Approve(request_id="c", allow=True, edits=[FileEdit(path="main.go", content="package main\n")]),
        {"type": "approve", "call_id": "c", "allow": True, "edits": [{"path": "main.go", "content": "package main\n"}]},
    ),
    (Approve(request_id="c", allow=True, edits=[]), {"type": "approve", "call_id": "c", "allow": True, "edits": []}),
    (Answer(request_id="c", text="x"), {"type": "answer", "call_id": "c", "text": "x"}),
    (SetMode(mode="plan"), {"type": "set_mode", "mode": "plan"}),
    (SetModel(effort="low"), {"type": "set_model", "effort": "low"}),
    (SetModel(provider="", model="", effort=""), {"type": "set_model", "provider": "", "model": "", "effort": ""}),
    (SetModel(provider="p", model="m"), {"type": "set_model", "provider": "p", "model": "m"}),
    (Compact(), {"type": "compact"}),
    (Compact(focus="joins"), {"type": "compact", "focus": "joins"}),
    (GetState(), {"type": "get_state"}),
    (ListSessions(), {"type": "list_sessions"}),
    (ListSessions(all=True), {"type": "list_sessions", "all": True}),
    (Fork(), {"type": "fork"}),
    (Fork(entry="e1"), {"type": "fork", "entry": "e1"}),
    (Export(), {"type": "export"}),
    (
        Export(format="md", path="o.md", all_branches=True),
        {"type": "export", "format": "md", "path": "o.md", "all_branches": True},
    ),
]


@pytest.mark.parametrize(("command", "line"), LINES, ids=lambda v: v.type if hasattr(v, "type") else "")
def test_each_command_is_one_line_with_its_documented_fields(talk: Any, command: Command, line: dict[str, Any]) -> None:
    sent = talk.sends(command)
    assert sent == {"id": command.id, **line}
    assert "\n" not in json.dumps(sent)
    assert parse_hm_command(sent).type == command.type


def test_all_thirteen_commands_are_sent() -> None:
    assert {command.type for command, _ in LINES} == set(COMMANDS)


def test_ids_differ_while_they_are_open_even_when_a_command_is_sent_twice(talk: Any) -> None:
    first, second, third = (talk.sends(GetState(id="g")) for _ in range(3))
    assert len({first["id"], second["id"], third["id"]}) == 3
    for line in (third, first, second):
        assert talk.ok(line) == [CommandAnswered("g", True)]
    assert talk.sends(GetState(id="g"))["id"] == "g"


def test_responses_are_matched_by_id_in_whatever_order(turn: Any) -> None:
    lines = [turn.sends(ListSessions(id=f"l{n}")) for n in range(3)]
    answered = [turn.ok(line, data={"n": line["id"]})[-1] for line in reversed(lines)]
    assert [(event.command_id, event.data["n"]) for event in answered] == [("l2", "l2"), ("l1", "l1"), ("l0", "l0")]


def test_a_response_of_the_least_fields_is_taken(talk: Any) -> None:
    line = talk.sends(GetState(id="g"))
    assert talk.hears({"type": "response", "id": line["id"], "ok": True}) == [CommandAnswered("g", True)]


def test_a_failure_without_a_reason_still_says_what_failed(talk: Any) -> None:
    line = talk.sends(Compact(id="c"))
    (event,) = talk.hears({"type": "response", "id": line["id"], "ok": False})
    assert (event.ok, event.error) == (False, "The agent refused compact and gave no reason.")


def test_the_reason_of_a_failure_reaches_whoever_waits(talk: Any) -> None:
    line = talk.sends(Compact(id="c"))
    assert talk.refuses(line, "a turn is running") == [CommandAnswered("c", False, error="a turn is running")]


def test_a_response_to_no_id_completes_nothing_and_is_a_notice(talk: Any) -> None:
    line = talk.sends(GetState(id="g"))
    (event,) = talk.hears({"type": "response", "id": None, "command": "", "ok": False, "error": "not JSON"})
    assert isinstance(event, NoticeRaised)
    assert event.level == "warning"
    assert "not JSON" in event.text
    assert talk.ok(line) == [CommandAnswered("g", True)]


@pytest.mark.parametrize("id", ["who", 7, True, [1], {"a": 1}])
def test_a_response_to_an_id_we_never_sent_is_a_notice(talk: Any, id: Any) -> None:
    (event,) = talk.hears({"type": "response", "id": id, "command": "steer", "ok": True})
    assert isinstance(event, NoticeRaised)
    assert event.level == "info"


def test_a_notice_tells_a_line_that_was_not_read_from_a_command_that_is_not_ours(talk: Any) -> None:
    (lost,) = talk.hears({"type": "response", "id": None, "command": "", "ok": False, "error": "not JSON"})
    (strange,) = talk.hears({"type": "response", "id": "who", "command": "steer", "ok": False, "error": "no"})
    assert "do it again" in lost.text
    assert "did not send" in strange.text


def test_a_second_response_to_one_command_is_a_notice(talk: Any) -> None:
    line = talk.sends(GetState())
    talk.ok(line)
    assert isinstance(talk.ok(line)[0], NoticeRaised)


def test_a_mode_that_was_set_is_shown(talk: Any) -> None:
    assert talk.ok(talk.sends(SetMode(id="m", mode="plan"))) == [
        SessionUpdated({"mode": "plan"}),
        CommandAnswered("m", True),
    ]


def test_a_mode_that_was_refused_is_not_shown(talk: Any) -> None:
    assert talk.refuses(talk.sends(SetMode(id="m", mode="nope"))) == [CommandAnswered("m", False, error="no")]


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        (SetModel(effort="low"), {"effort": "low"}),
        (SetModel(provider="p", model="m"), {"provider": "p", "model": "m"}),
        (SetModel(provider="", model="", effort=""), {"model": "", "effort": ""}),
    ],
)
def test_a_model_that_was_set_is_shown_as_far_as_it_was_given(
    talk: Any, command: SetModel, changes: dict[str, Any]
) -> None:
    assert talk.ok(talk.sends(command))[0] == SessionUpdated(changes)


SESSION = {
    "id": "S2", "title": "t", "root": "/app", "mode": "plan", "provider": "demo", "model": "m", "effort": "high",
    "status": "idle", "running": False, "saved": True, "context": 100,
    "usage": {"input": 1, "output": 2, "cache_read": 3, "cache_write": 4, "cost": 0.5},
}  # fmt: skip
CHANGES = {
    "session_id": "S2", "title": "t", "root": "/app", "mode": "plan", "provider": "demo", "model": "m",
    "effort": "high", "context": 100, "usage": Usage(1, 2, 3, 4, 0.5),
}  # fmt: skip


def test_the_state_updates_the_session_and_is_handed_over_whole(talk: Any) -> None:
    data = {"session": SESSION, "running": False, "pending_approvals": [], "pending_questions": []}
    events = talk.ok(talk.sends(GetState(id="g")), data=data)
    assert events == [SessionUpdated(CHANGES), CommandAnswered("g", True, data)]


def test_a_session_without_effort_has_none_set(talk: Any) -> None:
    plain = {name: value for name, value in SESSION.items() if name != "effort"}
    (updated, _) = talk.ok(talk.sends(GetState()), data={"session": plain})
    assert updated.changes["effort"] == ""


def test_a_fork_updates_the_session_with_its_data(talk: Any) -> None:
    assert talk.ok(talk.sends(Fork(id="f")), data=SESSION) == [
        SessionUpdated(CHANGES),
        CommandAnswered("f", True, SESSION),
    ]


@pytest.mark.parametrize(
    ("command", "data"),
    [
        (ListSessions(id="x"), {"sessions": [{"id": "S1"}]}),
        (Export(id="x"), {"path": "/home/me/o.html", "redacted": ["2 anthropic key"]}),
    ],
)
def test_what_a_command_returns_is_handed_over(talk: Any, command: Command, data: Any) -> None:
    assert talk.ok(talk.sends(command), data=data) == [CommandAnswered("x", True, data)]


def test_a_compaction_may_take_as_long_as_it_takes(talk: Any) -> None:
    line = talk.sends(Compact(id="c"))
    for n in range(500):
        talk.hears({"type": "usage", "input": n})
    assert talk.ok(line) == [CommandAnswered("c", True)]


def test_an_hm_can_do_everything_we_have_a_button_for(talk: Any) -> None:
    capabilities = talk.adapter.capabilities
    assert capabilities.deny_note == "native"
    for name in ("steer", "follow_up", "edits", "for_session", "images", "set_mode", "set_model", "effort", "compact",
                 "list_sessions", "fork", "export", "state"):  # fmt: skip
        assert getattr(capabilities, name) is True, name
