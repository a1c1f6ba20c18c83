"""Plans, settings, usage, notices and compaction; what is not known, and what cannot be read (ACP reference, section 6)."""

from __future__ import annotations

from typing import Any

import pytest
from acp_scene import Scene, text_block

from hm_jupyter import events as ev
from hm_jupyter.events import Choice, ConfigOption, SlashCommand
from hm_jupyter.transcript import CompactionEntry, NoticeEntry

MODE_V1 = {
    "type": "select",
    "id": "mode",
    "name": "Mode",
    "category": "mode",
    "currentValue": "ask",
    "options": [{"value": "ask", "name": "Ask"}, {"value": "auto", "name": "Auto", "description": "Never asks"}],
}


# ---- plans ---------------------------------------------------------------------------------------------------------


def test_v1_a_plan_replaces_the_plan_before(v1: Scene) -> None:
    v1.hears("plan", entries=[{"content": "old", "status": "pending", "priority": "low"}])
    v1.hears(
        "plan",
        entries=[
            {"content": "a", "status": "completed", "priority": "high"},
            {"content": "b", "status": "in_progress", "priority": "urgent"},
            {"content": "c", "status": "_odd"},
            {"content": 7},
            "no",
        ],
    )
    (plan,) = v1.plans()
    assert plan.items == [
        {"text": "a", "status": "done", "priority": "high"},
        {"text": "b", "status": "active"},
        {"text": "c", "status": "pending"},
    ]


def test_several_plans_are_told_apart_and_removed(v2: Scene) -> None:
    v2.hears("plan_update", plan={"type": "items", "planId": "a", "entries": [{"content": "x", "status": "cancelled"}]})
    v2.hears("plan_update", plan={"type": "markdown", "planId": "b", "content": "# Plan"})
    v2.hears("plan_update", plan={"type": "file", "planId": "c", "uri": "file:///plan.md"})
    v2.hears("plan_removed", planId="a")
    first, second, third = v2.plans()
    assert (first.items[0]["status"], first.removed) == ("cancelled", True)
    assert second.markdown == "# Plan"
    assert "file:///plan.md" in third.markdown


def test_a_plan_of_a_kind_to_come_is_kept_raw(v2: Scene) -> None:
    v2.hears("plan_update", plan={"type": "_gantt", "planId": "a"})
    assert v2.unknown() == ["plan_update/_gantt"]
    assert v2.notices() == []


# ---- settings ------------------------------------------------------------------------------------------------------


def test_v1_commands_have_a_hint(v1: Scene) -> None:
    v1.hears(
        "available_commands_update",
        availableCommands=[
            {"name": "review", "description": "Reviews", "input": {"hint": "which branch"}},
            {"name": "init", "description": "Begins", "input": None},
            {"description": "no name"},
        ],
    )
    assert v1.transcript.state.commands == [
        SlashCommand("review", "Reviews", "which branch"),
        SlashCommand("init", "Begins"),
    ]


def test_v2_commands_of_both_generations(v2: Scene) -> None:
    v2.hears(
        "available_commands_update",
        availableCommands=[
            {"name": "old", "description": "d", "input": {"type": "text", "hint": "h"}},
            {"type": "command", "name": "new", "description": "d"},
            {"type": "_other", "name": "x", "description": "d"},
        ],
    )
    assert [command.name for command in v2.transcript.state.commands] == ["old", "new"]


def test_v1_the_current_mode_changes(v1: Scene) -> None:
    out: list[ev.Event] = []
    modes = {
        "currentModeId": "ask",
        "availableModes": [{"id": "ask", "name": "Ask first"}, {"id": "auto", "name": "Auto"}],
    }
    v1.updates.result({"modes": modes}, out)
    v1.feed(out)
    state = v1.transcript.state
    assert (state.mode, state.modes, state.labels["mode:ask"]) == ("ask", ["ask", "auto"], "Ask first")
    v1.hears("current_mode_update", currentModeId="auto")
    assert v1.transcript.state.mode == "auto"


@pytest.mark.parametrize(("version", "name", "group"), [(1, "id", "group"), (2, "configId", "groupId")])
def test_options_flat_and_grouped_and_boolean(version: int, name: str, group: str) -> None:
    scene = Scene(version).turn()
    scene.hears(
        "config_option_update",
        configOptions=[
            {
                "type": "select",
                name: "model",
                "name": "Model",
                "category": "model",
                "currentValue": "big",
                "description": "Which",
                "options": [
                    {group: "g", "name": "Group", "options": [{"value": "big", "name": "Big", "description": "slow"}]},
                    {group: "h", "options": [{"value": "small", "name": "Small"}]},
                ],
            },
            {"type": "boolean", name: "web", "name": "Web", "currentValue": True},
            {"type": "_slider", name: "x", "name": "X", "currentValue": 3},
            {"type": "select", "name": "no id", "currentValue": "a", "options": []},
        ],
    )
    state = scene.transcript.state
    assert state.options == [
        ConfigOption(
            "model",
            "Model",
            "select",
            "big",
            "Which",
            "model",
            [Choice("big", "Big", "slow", "Group"), Choice("small", "Small", "", "h")],
        ),
        ConfigOption("web", "Web", "boolean", True),
    ]
    assert (state.model, state.models) == ("big", ["big", "small"])


def test_where_options_are_given_modes_are_ignored() -> None:
    scene = Scene(1)
    out: list[ev.Event] = []
    scene.updates.result(
        {
            "modes": {"currentModeId": "other", "availableModes": [{"id": "other", "name": "O"}]},
            "configOptions": [MODE_V1],
        },
        out,
    )
    scene.feed(out)
    assert (scene.transcript.state.mode, scene.transcript.state.modes) == ("ask", ["ask", "auto"])


def test_the_older_list_of_models_is_read() -> None:
    scene = Scene(1)
    out: list[ev.Event] = []
    models = {
        "currentModelId": "m",
        "availableModels": [{"modelId": "m", "name": "M 1"}, {"modelId": "n", "name": "N"}, {}],
    }
    scene.updates.result({"models": models}, out)
    scene.feed(out)
    state = scene.transcript.state
    assert (state.model, state.models, state.labels["model:m"]) == ("m", ["m", "n"], "M 1")


@pytest.mark.parametrize("result", [None, {}, {"modes": None, "configOptions": None}, [], "ok"])
def test_a_result_that_says_nothing_of_settings_changes_none(result: Any) -> None:
    scene = Scene(1)
    out: list[ev.Event] = []
    scene.updates.result({"configOptions": [MODE_V1]}, out)
    scene.updates.result(result, out)
    scene.feed(out)
    assert scene.transcript.state.mode == "ask"


def test_v2_commands_in_a_result_are_read() -> None:
    scene = Scene(2)
    out: list[ev.Event] = []
    scene.updates.result({"availableCommands": [{"type": "command", "name": "n", "description": ""}]}, out)
    scene.feed(out)
    assert [command.name for command in scene.transcript.state.commands] == ["n"]


# ---- session and usage ---------------------------------------------------------------------------------------------


def test_the_title_is_a_patch(v1: Scene) -> None:
    v1.hears("session_info_update", title="Named", updatedAt="2026-01-01T00:00:00Z")
    v1.hears("session_info_update", updatedAt=None)
    assert v1.transcript.state.title == "Named"
    v1.hears("session_info_update", title=None)
    assert v1.transcript.state.title == ""


def test_usage_is_the_context_and_what_was_spent(v1: Scene) -> None:
    v1.hears("usage_update", used=100, size=2000, cost={"amount": 0.0024, "currency": "USD"})
    state = v1.transcript.state
    assert (state.context, state.context_size, state.spent) == (100, 2000, "$0.0024")
    v1.hears("usage_update", used=101, size=2000, cost={"amount": 1.5, "currency": "EUR"})
    assert v1.transcript.state.spent == "1.50 EUR"


@pytest.mark.parametrize(("version", "spent"), [(1, "$1.00"), (2, "")])
def test_a_cost_of_null_clears_in_v2_alone(version: int, spent: str) -> None:
    scene = Scene(version).turn()
    scene.hears("usage_update", used=1, size=2, cost={"amount": 1, "currency": "USD"})
    scene.hears("usage_update", used=1, size=2)
    assert scene.transcript.state.spent == "$1.00"
    scene.hears("usage_update", used=1, size=2, cost=None)
    assert scene.transcript.state.spent == spent


@pytest.mark.parametrize(
    ("severity", "level"), [("info", "info"), ("warning", "warning"), ("error", "error"), ("_x", "info")]
)
def test_a_notice_is_shown(v1: Scene, severity: str, level: str) -> None:
    v1.hears("notice", severity=severity, title="Careful", description="of this")
    (entry,) = [e for e in v1.transcript.entries.values() if isinstance(e, NoticeEntry)]
    assert (entry.text, entry.level, entry.detail) == ("Careful", level, "of this")


# ---- compaction ----------------------------------------------------------------------------------------------------


def compactions(scene: Scene) -> list[tuple[str, str, str]]:
    entries = [e for e in scene.transcript.entries.values() if isinstance(e, CompactionEntry)]
    return [(e.status, e.summary, e.error) for e in entries]


def test_a_compaction_begins_and_ends_with_its_summary(v2: Scene) -> None:
    v2.hears("compaction_update", compactionId="k", status="in_progress")
    v2.hears("compaction_update", compactionId="k", status="_later")
    assert compactions(v2) == [("running", "", "")]
    for piece in ("Much ", "said."):
        v2.hears("compaction_summary_chunk", compactionId="k", content=text_block(piece))
    v2.hears("compaction_update", compactionId="k", status="completed")
    v2.hears("compaction_update", compactionId="k", status="completed")
    assert compactions(v2) == [("done", "Much said.", "")]


def test_a_chunk_may_be_the_first_of_a_compaction(v2: Scene) -> None:
    v2.hears("compaction_summary_chunk", compactionId="k", content=text_block("x"))
    assert compactions(v2) == [("running", "", "")]


@pytest.mark.parametrize(
    ("status", "given", "error"),
    [
        ("failed", {"error": "no room"}, "no room"),
        ("failed", {}, "The agent does not say why."),
        ("cancelled", {}, "It was cancelled."),
    ],
)
def test_a_compaction_that_fails_says_why(v2: Scene, status: str, given: dict[str, Any], error: str) -> None:
    v2.hears("compaction_update", compactionId="k", status="in_progress")
    v2.hears("compaction_update", compactionId="k", status=status, **given)
    assert compactions(v2) == [("failed", "", error)]


def test_a_summary_that_comes_after_the_end_is_not_lost(v2: Scene) -> None:
    v2.hears("compaction_update", compactionId="k", status="completed")
    v2.hears("compaction_summary_chunk", compactionId="k", content=text_block("late"))
    v2.ends()
    assert ("done", "late", "") in compactions(v2)


# ---- what is not known, and what cannot be read --------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("kind", ["_vendor_thing", "hologram_update", "tool_call_hologram", ""])
def test_a_kind_nobody_knows_is_kept_raw_and_nothing_fails_pitfall_11(version: int, kind: str) -> None:
    scene = Scene(version).turn()
    (event,) = scene.hears(kind, data={"a": 1})
    assert event == ev.UnknownReceived(kind, {"sessionUpdate": kind, "data": {"a": 1}})
    scene.says("on", "m")
    assert ("message", "on") in scene.seen()
    assert scene.notices() == []


def test_the_usage_that_broke_other_clients_is_understood_pitfall_11(v1: Scene) -> None:
    v1.hears("usage_update", used=1, size=2)
    assert (v1.unknown(), v1.notices(), v1.transcript.state.context) == ([], [], 1)


@pytest.mark.parametrize(
    "update",
    [
        None,
        7,
        [],
        {},
        {"sessionUpdate": 7},
        {"sessionUpdate": "agent_message_chunk"},
        {"sessionUpdate": "agent_message_chunk", "content": "text"},
        {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text"}},
        {"sessionUpdate": "user_message_chunk", "content": 7},
        {"sessionUpdate": "user_message_chunk", "content": {}},
        {"sessionUpdate": "agent_message", "content": []},
        {"sessionUpdate": "user_message", "messageId": 7, "content": []},
        {"sessionUpdate": "tool_call", "title": "t"},
        {"sessionUpdate": "tool_call_update", "toolCallId": 7},
        {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": 7},
        {"sessionUpdate": "terminal_update"},
        {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": 7},
        {"sessionUpdate": "plan"},
        {"sessionUpdate": "plan_update", "plan": {"planId": "p"}},
        {"sessionUpdate": "plan_update", "plan": {"type": "markdown", "planId": "p"}},
        {"sessionUpdate": "plan_removed"},
        {"sessionUpdate": "available_commands_update", "availableCommands": 7},
        {"sessionUpdate": "current_mode_update"},
        {"sessionUpdate": "config_option_update", "configOptions": {}},
        {"sessionUpdate": "usage_update", "used": "many"},
        {"sessionUpdate": "notice", "severity": "info"},
        {"sessionUpdate": "compaction_update", "status": "completed"},
        {"sessionUpdate": "compaction_summary_chunk", "compactionId": "k"},
        {"sessionUpdate": "subagent_update"},
        {"sessionUpdate": "session_message"},
        {"sessionUpdate": "session_message_chunk", "messageId": "m"},
    ],
    ids=lambda update: str(update)[:70],
)
def test_a_known_kind_that_cannot_be_read_is_one_notice(update: Any) -> None:
    scene = Scene(2).turn()
    scene.raw(update)
    assert len(scene.notices()) == 1
    assert "The session goes on." in scene.notices()[0]
    scene.says("on", "m")
    assert ("message", "on") in scene.seen()


def test_a_notice_does_not_repeat_two_megabytes(v1: Scene) -> None:
    (event,) = v1.hears("tool_call", title="x" * 2_000_000)
    assert isinstance(event, ev.NoticeRaised)
    assert len(event.detail) < 3000
