"""Every command as the line it becomes, and what its answer changes."""

from __future__ import annotations

from typing import Any

import pytest
from omp_talk import MODELS, STATE, Talk

from hm_jupyter import events as ev
from hm_jupyter.commands import (
    Abort,
    CallAgent,
    Command,
    Compact,
    Export,
    FollowUp,
    Fork,
    GetState,
    ImageData,
    ListSessions,
    Prompt,
    SetModel,
    SetOption,
    Steer,
)
from hm_jupyter.errors import NotSupported, UsageError

PICTURE = [ImageData(data="iVBOR", mime="image/png")]
SENT_PICTURE = [{"type": "image", "data": "iVBOR", "mimeType": "image/png"}]

LINES: list[tuple[str, Command, dict[str, Any]]] = [
    ("omp", Prompt(id="x", text="go"), {"type": "prompt", "message": "go"}),
    ("omp", Prompt(id="x", text="see", images=PICTURE), {"type": "prompt", "message": "see", "images": SENT_PICTURE}),
    ("omp", Abort(id="x"), {"type": "abort"}),
    ("omp", GetState(id="x"), {"type": "get_state"}),
    ("omp", Compact(id="x"), {"type": "compact"}),
    ("omp", Compact(id="x", focus="files"), {"type": "compact", "customInstructions": "files"}),
    ("omp", Export(id="x"), {"type": "export_html"}),
    ("omp", Export(id="x", format="html", path="a.html"), {"type": "export_html", "outputPath": "a.html"}),
    ("omp", Fork(id="x", entry="e1"), {"type": "branch", "entryId": "e1"}),
    ("pi", Fork(id="x", entry="e1"), {"type": "fork", "entryId": "e1"}),
    ("pi", Fork(id="x"), {"type": "clone"}),
    ("omp", SetModel(id="x", model="acme/blind"), {"type": "set_model", "provider": "acme", "modelId": "blind"}),
    ("omp", SetModel(id="x", effort="high"), {"type": "set_thinking_level", "level": "high"}),
    ("omp", SetOption(id="x", option="steering_mode", value="one-at-a-time"),
     {"type": "set_steering_mode", "mode": "one-at-a-time"}),
    ("omp", SetOption(id="x", option="follow_up_mode", value="all"), {"type": "set_follow_up_mode", "mode": "all"}),
    ("omp", SetOption(id="x", option="interrupt_mode", value="wait"), {"type": "set_interrupt_mode", "mode": "wait"}),
    ("omp", SetOption(id="x", option="auto_compaction", value=False), {"type": "set_auto_compaction", "enabled": False}),
    ("omp", SetOption(id="x", option="auto_retry", value=True), {"type": "set_auto_retry", "enabled": True}),
    ("omp", SetOption(id="x", option="thinking", value="low"), {"type": "set_thinking_level", "level": "low"}),
    ("omp", SetOption(id="x", option="model", value="zeta/big"), {"type": "set_model", "provider": "zeta", "modelId": "big"}),
]  # fmt: skip

# Every command of the wire that has none of ours, with fields it takes.
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("new_session", {}), ("new_session", {"parentSession": "/s/1.jsonl"}), ("get_messages", {}), ("cycle_model", {}),
    ("get_available_models", {}), ("cycle_thinking_level", {}), ("abort_retry", {}), ("bash", {"command": "ls"}),
    ("abort_bash", {}), ("get_session_stats", {}), ("switch_session", {"sessionPath": "/s/2.jsonl"}),
    ("get_branch_messages", {}), ("get_last_assistant_text", {}), ("set_session_name", {"name": "mine"}),
    ("abort_and_prompt", {"message": "else"}), ("open_session", {"sessionDir": "/s"}), ("get_entries", {"since": "e1"}),
    ("get_tree", {}), ("get_messages_page", {"cursor": "c", "limit": 10}), ("handoff", {"customInstructions": "x"}),
    ("set_todos", {"phases": []}), ("get_available_commands", {}), ("get_commands", {}), ("get_subagents", {}),
    ("get_subagent_messages", {"subagentId": "a"}), ("set_subagent_subscription", {"level": "events"}),
    ("set_event_filter", {"events": None}), ("get_login_providers", {}), ("login", {"providerId": "acme"}),
    ("set_host_tools", {"tools": []}), ("set_host_uri_schemes", {"schemes": []}), ("set_fast_mode", {"enabled": True}),
    ("get_fork_messages", {}), ("clear_queue", {}), ("get_available_thinking_levels", {}), ("cancel_subagent", {"subagentId": "a"}),
    ("steer_subagent", {"subagentId": "a", "message": "x"}), ("remove_queued_message", {"message": "x", "queue": "steering"}),
    ("promote_queued_message", {"message": "x"}), ("set_cache_warming", {"mode": "off"}), ("set_ask_dialog", {"enabled": True}),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "command", "line"), LINES, ids=lambda value: getattr(value, "type", None))
def test_each_command_is_the_line_of_its_document(dialect: str, command: Command, line: dict[str, Any]) -> None:
    assert Talk(dialect).says(command) == [{"id": "x", **line}]


@pytest.mark.parametrize(("method", "params"), CALLS, ids=lambda value: value if isinstance(value, str) else "")
def test_every_other_command_is_sent_as_it_is_and_its_data_comes_back(method: str, params: dict[str, Any]) -> None:
    t = Talk()
    (line,) = t.says(CallAgent(id="x", method=method, params=params))
    assert line == {"id": "x", "type": method, **params}
    data = {"value": 1}
    t.answers(method, data=data)
    if t.written()[:1] == [{"id": "hm-4", "type": "get_state"}]:  # it may be another session now
        t.hears({"type": "response", "id": "hm-4", "command": "get_state", "success": True, "data": STATE})
    assert t.events[-1] == ev.CommandAnswered("x", True, data)


def test_each_line_has_an_id_of_its_own() -> None:
    t = Talk()
    ids = [t.says(GetState(id="same"))[0]["id"] for _ in range(3)]
    assert ids == ["same", "same~2", "same~3"]


def test_a_response_is_matched_by_its_id_and_else_by_its_command() -> None:
    t = Talk()
    t.call("get_tree")
    t.call("get_entries")
    (answered,) = t.hears({"type": "response", "command": "get_entries", "success": False, "error": "Unknown command"})
    assert (answered.ok, answered.error) == (False, "Unknown command")
    assert t.hears({"type": "response", "command": "get_tree", "success": True, "data": {}})[0].ok


def test_a_line_the_agent_could_not_parse_keeps_nobody_waiting() -> None:
    t = Talk()
    t.says(CallAgent(id="x", method="get_tree"))
    failure = {"type": "response", "command": "parse", "success": False, "error": "Failed to parse command: x"}
    assert t.hears(failure) == [ev.CommandAnswered("x", False, error="Failed to parse command: x")]
    (notice,) = t.hears(failure)
    assert isinstance(notice, ev.NoticeRaised)


def test_a_failure_is_told_with_its_text_and_without_data() -> None:
    t = Talk()
    t.says(SetModel(id="x", model="none/none"))
    line = {
        "type": "response",
        "id": "x",
        "command": "set_model",
        "success": False,
        "error": "Model not found",
        "data": 1,
    }
    assert t.hears(line) == [ev.CommandAnswered("x", False, None, "Model not found")]
    assert t.transcript.state.model == "acme/big"


def test_an_answer_to_nothing_of_ours_is_said_and_no_more() -> None:
    (notice,) = Talk().hears({"type": "response", "id": "who", "command": "abort", "success": True})
    assert (notice.level, "did not send" in notice.text) == ("info", True)


@pytest.mark.parametrize("method", ["prompt", "steer", "follow_up", "abort"])
def test_what_a_session_keeps_account_of_is_not_sent_past_it(method: str) -> None:
    with pytest.raises(UsageError, match=r"is sent by s\."):
        Talk().call(method, message="x")


def test_the_lines_own_fields_cannot_be_given() -> None:
    with pytest.raises(UsageError):
        Talk().call("get_state", id="mine")


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (Export(format="md"), r"s\.export"),
        (Export(all_branches=True), r"s\.export"),
        (ListSessions(), "list sessions"),
    ],
)
def test_what_the_wire_has_no_word_for_is_refused(command: Command, says: str) -> None:
    with pytest.raises(NotSupported, match=says):
        Talk().adapter.send(command)


def test_omp_forks_before_a_message_and_says_how_to_name_it() -> None:
    with pytest.raises(UsageError, match="get_branch_messages"):
        Talk().adapter.send(Fork())


def test_a_steer_with_pictures_goes_as_a_prompt_to_be_queued() -> None:
    t = Talk().prompt()
    assert t.says(Steer(id="s", text="see", images=PICTURE)) == [
        {"id": "s", "type": "prompt", "message": "see", "images": SENT_PICTURE, "streamingBehavior": "steer"}
    ]
    (line,) = t.says(FollowUp(id="f", text="see", images=PICTURE))
    assert line["streamingBehavior"] == "followUp"


def test_a_model_that_takes_no_pictures_is_sent_none() -> None:
    t = Talk(state={"model": MODELS[1]})
    with pytest.raises(NotSupported, match="acme/blind takes no images"):
        t.says(Prompt(text="see", images=PICTURE))


def test_a_prompt_in_the_place_of_what_runs_cancels_what_is_open_first() -> None:
    t = Talk().prompt()
    t.dialog("d1", "confirm", title="Sure?")
    t.written()
    assert [line["type"] for line in t.call("abort_and_prompt", message="else")] == [
        "extension_ui_response",
        "abort_and_prompt",
    ]


# ---- what an answer changes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["switch_session", "new_session", "branch", "fork", "clone", "open_session"])
def test_another_session_in_the_same_process_is_asked_for_its_state(method: str) -> None:
    t = Talk()
    t.call(method)
    t.answers(method, data={"cancelled": False, "text": "the message" if method == "branch" else None})
    t.answers("get_state", data={**STATE, "sessionId": "s-2", "sessionName": "other"})
    assert (t.transcript.state.session_id, t.transcript.state.title) == ("s-2", "other")
    details = [n.detail for n in t.shown("notice")]
    assert details == (["the message", ""] if method == "branch" else [""])


def test_a_session_that_was_switched_to_shows_what_was_said_in_it() -> None:
    t = Talk()
    t.call("switch_session", sessionPath="/s/2.jsonl")
    t.answers("switch_session", data={"cancelled": False})
    t.answers("get_state", data={**STATE, "sessionId": "s-2", "messageCount": 1})
    assert not t.of(ev.CommandAnswered)
    t.answers("get_messages", data={"messages": [{"role": "user", "content": "earlier"}]})
    assert [e.text for e in t.shown("user")] == ["earlier"]
    assert t.of(ev.CommandAnswered)[-1].ok


def test_what_was_said_in_a_session_that_was_switched_to_does_not_end_a_turn_that_has_begun() -> None:
    t = Talk()
    t.call("switch_session", sessionPath="/s/2.jsonl")
    t.answers("switch_session", data={"cancelled": False})
    t.answers("get_state", data={**STATE, "sessionId": "s-2", "messageCount": 1})
    t.prompt("go on")
    t.answers("get_messages", data={"messages": [{"role": "user", "content": "earlier"}]})
    assert t.running
    assert "are not shown" in t.last().text


def test_a_move_that_an_extension_stopped_changes_nothing() -> None:
    t = Talk()
    t.call("branch", entryId="e1")
    (notice, answered) = t.answers("branch", data={"cancelled": True, "text": "the message"})
    assert "stays as it is" in notice.text
    assert answered.ok
    assert t.written() == []


def test_a_name_is_shown_from_either_side() -> None:
    t = Talk()
    t.call("set_session_name", name="mine ü")
    t.answers("set_session_name")
    assert t.transcript.state.title == "mine ü"
    t.hears({"type": "session_info_changed", "name": "theirs"})
    assert t.transcript.state.title == "theirs"
    t.hears({"type": "session_info_update", "title": "again", "sessionId": "s-1"})
    assert t.transcript.state.title == "again"


def test_an_empty_name_is_refused_with_the_agents_words() -> None:
    t = Talk()
    t.call("set_session_name", name="  ")
    assert t.refuses("set_session_name", "Session name cannot be empty")[0].error == "Session name cannot be empty"
    assert t.transcript.state.title == ""


def test_stats_tell_what_the_session_has_cost() -> None:
    t = Talk()
    t.call("get_session_stats")
    stats = {"totalMessages": 22, "tokens": {"input": 1, "total": 105000}, "cost": 0.45}
    answered = t.answers("get_session_stats", data=stats)[-1]
    assert (answered.data, t.transcript.state.spent) == (stats, "$0.45")


def test_todos_that_were_set_are_the_plan() -> None:
    t = Talk().prompt()
    t.call("set_todos", phases=[])
    phases = [
        {"name": "A", "tasks": [{"content": "x", "status": "completed"}]},
        {"name": "B", "tasks": [{"content": "y"}]},
    ]
    t.answers("set_todos", data={"todoPhases": phases})
    assert t.shown("plan")[0].items == [{"text": "A: x", "status": "done"}, {"text": "B: y", "status": "pending"}]


def test_nothing_said_yet_is_none_and_no_text() -> None:
    t = Talk()
    t.call("get_last_assistant_text")
    assert t.answers("get_last_assistant_text", data={"text": None})[-1].data == {"text": None}


def test_the_state_the_person_asks_for_also_puts_ours_right() -> None:
    t = Talk()
    t.says(GetState(id="x"))
    t.answers("get_state", data={**STATE, "thinkingLevel": "high", "contextUsage": {"tokens": 7}})
    assert (t.transcript.state.effort, t.transcript.state.context) == ("high", 7)
