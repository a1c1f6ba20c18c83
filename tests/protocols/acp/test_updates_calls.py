"""Tool calls: upserted from whatever comes first, in both versions (ACP reference, section 6)."""

from __future__ import annotations

from typing import Any

import pytest
from acp_scene import Scene, output

from hm_jupyter import events as ev

PNG = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}


# ---- first sight ---------------------------------------------------------------------------------------------------


def test_a_call_is_made_by_tool_call(v1: Scene) -> None:
    v1.hears(
        "tool_call",
        toolCallId="c",
        title="Read a.txt",
        kind="read",
        status="in_progress",
        name="Read",
        rawInput={"path": "a.txt"},
        locations=[{"path": "/w/a.txt", "line": 3}, {"path": "/w/b.txt"}],
    )
    call = v1.tool("c")
    assert (call.title, call.name, call.category, call.status) == ("Read a.txt", "Read", "read", "running")
    assert (call.input, call.locations) == ({"path": "a.txt"}, ["/w/a.txt:3", "/w/b.txt"])


@pytest.mark.parametrize("version", [1, 2])
def test_an_update_of_a_call_nobody_announced_makes_it_pitfalls_5_and_7(version: int) -> None:
    scene = Scene(version).turn()
    call = scene.call("c", status="completed", title="ls", kind="execute")
    assert (call.title, call.category, call.status) == ("ls", "shell", "completed")
    assert scene.notices() == []


def test_a_tool_call_after_its_update_is_an_update_pitfall_5(v1: Scene) -> None:
    v1.call("c", status="in_progress", title="ls")
    v1.hears("tool_call", toolCallId="c", title="ls -l", status="in_progress", kind="execute")
    (call,) = v1.tools()
    assert (call.title, call.category, call.status) == ("ls -l", "shell", "running")


def test_several_tool_calls_with_one_id_are_one_call_pitfall_6(v1: Scene) -> None:
    for given in ({}, {"command": "ls"}, {"command": "ls", "why": "to see"}):
        v1.hears("tool_call", toolCallId="c", title="Terminal", kind="execute", status="pending", rawInput=given)
    (call,) = v1.tools()
    assert call.input == {"command": "ls", "why": "to see"}


def test_an_input_that_is_empty_at_first_is_filled_later_pitfall_6(v1: Scene) -> None:
    v1.hears("tool_call", toolCallId="c", title="t", rawInput={})
    assert v1.call("c", rawInput={"a": 1}).input == {"a": 1}


def test_an_id_used_again_in_a_later_turn_is_another_call(v1: Scene) -> None:
    v1.hears("tool_call", toolCallId="c", title="first", status="completed")
    v1.ends().turn("again", "p2")
    v1.hears("tool_call", toolCallId="c", title="second", status="pending")
    assert [call.title for call in v1.tools()] == ["first", "second"]


# ---- three-state fields --------------------------------------------------------------------------------------------

FULL: dict[str, Any] = {
    "title": "t",
    "name": "n",
    "kind": "edit",
    "status": "in_progress",
    "content": [output("text"), {"type": "diff", "path": "/a", "oldText": "x", "newText": "y"}],
    "locations": [{"path": "/a"}],
    "rawInput": {"a": 1},
    "rawOutput": "raw",
}


def told(scene: Scene) -> tuple[Any, ...]:
    call = scene.tool("c")
    return (
        call.title,
        call.name,
        call.category,
        call.status,
        str(call.output),
        len(call.diffs),
        call.locations,
        call.input,
    )


@pytest.mark.parametrize("name", list(FULL))
def test_v1_null_leaves_a_field_as_it_is(v1: Scene, name: str) -> None:
    v1.call("c", **FULL)
    before = told(v1)
    v1.call("c", **{name: None})
    assert told(v1) == before


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", list(FULL))
def test_a_field_left_out_and_a_malformed_one_leave_it_as_it_is(version: int, name: str) -> None:
    scene = Scene(version).turn()
    scene.call("c", **FULL)
    before = told(scene)
    scene.call("c")
    if not name.startswith("raw"):  # which may be anything
        scene.call("c", **{name: 7})
    assert told(scene) == before
    assert scene.notices() == []


@pytest.mark.parametrize(
    ("name", "at", "cleared"),
    [
        ("title", 0, ""),
        ("name", 1, ""),
        ("kind", 2, "other"),
        ("status", 3, "pending"),
        ("locations", 6, []),
        ("rawInput", 7, {}),
    ],
)
def test_v2_null_clears_a_field(v2: Scene, name: str, at: int, cleared: Any) -> None:
    v2.call("c", **{**FULL, "name": "n"})
    v2.call("c", **{name: None})
    assert told(v2)[at] == cleared


def test_v2_null_clears_content_and_then_the_raw_output(v2: Scene) -> None:
    v2.call("c", **FULL)
    call = v2.call("c", content=None)
    assert (str(call.output), call.diffs) == ("raw", [])
    assert str(v2.call("c", rawOutput=None).output) == ""


@pytest.mark.parametrize("version", [1, 2])
def test_a_bad_item_of_a_list_is_dropped_and_the_others_are_kept(version: int) -> None:
    scene = Scene(version).turn()
    call = scene.call(
        "c",
        content=[7, output("good"), {"type": "content"}, {"type": "diff", "path": 1}, {}],
        locations=[{"line": 3}, "no", {"path": "/a", "line": "x"}],
    )
    assert (str(call.output), call.locations) == ("good", ["/a"])
    assert scene.notices() == []


# ---- status and kind -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("pending", "pending"),
        ("in_progress", "running"),
        ("paused", "paused"),
        ("completed", "completed"),
        ("failed", "failed"),
        ("cancelled", "interrupted"),
        ("_vendor_thing", "running"),
    ],
)
def test_every_status_is_shown_and_one_that_is_not_known_is_in_progress(v2: Scene, said: str, shown: str) -> None:
    assert v2.call("c", status=said).status == shown


@pytest.mark.parametrize(
    ("kind", "category"),
    [
        ("read", "read"),
        ("edit", "edit"),
        ("delete", "edit"),
        ("move", "edit"),
        ("search", "search"),
        ("execute", "shell"),
        ("fetch", "fetch"),
        ("think", "other"),
        ("switch_mode", "other"),
        ("other", "other"),
        ("_vendor", "other"),
    ],
)
def test_every_kind_has_its_category(v1: Scene, kind: str, category: str) -> None:
    assert v1.call("c", kind=kind).category == category


def test_without_a_kind_the_tools_name_tells(v1: Scene) -> None:
    assert v1.call("c", kind="other", name="Bash").category == "shell"


# ---- output --------------------------------------------------------------------------------------------------------


def test_content_replaces_and_what_only_grows_is_appended(v1: Scene) -> None:
    v1.call("c", content=[output("one\n")])
    events = v1.hears("tool_call_update", toolCallId="c", content=[output("one\ntwo\n")])
    assert events == [ev.ToolOutputAppended("c", "two\n")]
    assert str(v1.call("c", content=[output("else")]).output) == "else"


def test_several_contents_stand_below_one_another(v1: Scene) -> None:
    assert str(v1.call("c", content=[output("a"), output("b")]).output) == "a\nb"


def test_an_output_that_is_one_fence_is_shown_without_it(v1: Scene) -> None:
    assert str(v1.call("c", content=[output("```console\nhi\nyou\n```")]).output) == "hi\nyou"
    assert str(v1.call("c", content=[output("```\na\n```\nand\n```\nb\n```")]).output).startswith("```\na")


@pytest.mark.parametrize(
    ("raw", "shown", "code"),
    [
        ("plain", "plain", None),
        ("hi\n\n[Exit code: 3]", "hi\n\n[Exit code: 3]", 3),
        ({"output": "o", "metadata": {"exit": 1}}, "o", 1),
        ({"stdout": "out", "stderr": "err", "exit_code": 2}, "out\nerr", 2),
        ({"formatted_output": "f", "exitCode": 0}, "f", 0),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb", None),
        ({"error": "refused"}, "refused", None),
        ({"n": 1}, '{\n  "n": 1\n}', None),
        (0, "0", None),
        ({}, "", None),
    ],
)
def test_an_output_only_in_rawoutput_is_shown_with_its_exit_code(
    v1: Scene, raw: Any, shown: str, code: int | None
) -> None:
    call = v1.call("c", rawOutput=raw)
    assert (str(call.output), call.exit_code) == (shown, code)


def test_content_goes_before_the_raw_output(v1: Scene) -> None:
    call = v1.call("c", content=[output("content")], rawOutput={"output": "raw", "exit_code": 1})
    assert (str(call.output), call.exit_code) == ("content", 1)


def test_pictures_and_embedded_files_are_output_too(v1: Scene) -> None:
    call = v1.call(
        "c",
        content=[
            {"type": "content", "content": PNG},
            {"type": "content", "content": {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}}},
        ],
    )
    assert call.images == [ev.Image("iVBORw0KGgo=", "image/png")]
    assert str(call.output) == "[Embedded, file:///a, 6 bytes]\ninside"


def test_v2_content_arrives_in_chunks_and_a_chunk_may_be_the_first_of_its_call(v2: Scene) -> None:
    for piece in ("Hel", "lo"):
        v2.hears("tool_call_content_chunk", toolCallId="c", content=output(piece))
    v2.hears("tool_call_content_chunk", toolCallId="c", content={"type": "content", "content": PNG})
    call = v2.tool("c")
    assert (str(call.output), len(call.images)) == ("Hello", 1)


def test_v2_a_chunk_of_a_diff_adds_it(v2: Scene) -> None:
    change = {"type": "diff", "changes": [{"operation": "delete", "path": "/gone"}]}
    v2.hears("tool_call_content_chunk", toolCallId="c", content=change)
    assert [diff.path for diff in v2.tool("c").diffs] == ["/gone"]


def test_v2_a_call_that_can_be_stopped_by_itself_says_so_pitfall_27(v2: Scene) -> None:
    assert v2.call("c", capabilities={"cancel": {}}).cancelable
    assert v2.call("c", title="x").cancelable
    assert not v2.call("c", capabilities=None).cancelable
    assert not v2.call("c", capabilities={"cancel": None}).cancelable


# ---- changes to files ----------------------------------------------------------------------------------------------


def test_v1_a_diff_holds_old_and_new_text(v1: Scene) -> None:
    call = v1.call("c", kind="edit", content=[{"type": "diff", "path": "/a", "oldText": None, "newText": "new\n"}])
    assert call.diffs == [ev.FileDiff("/a", None, "new\n")]


def test_v1_a_diff_of_the_passage_in_the_input_is_a_passage(v1: Scene) -> None:
    given = {"file_path": "/a", "old_string": "x", "new_string": "y"}
    call = v1.call("c", rawInput=given, content=[{"type": "diff", "path": "/a", "oldText": "x", "newText": "y"}])
    assert call.diffs == [ev.FileDiff("/a", "x", "y", partial=True)]


def test_v1_a_diff_outlives_the_words_that_take_its_place(v1: Scene) -> None:
    """opencode shows the change while it asks, and then says that it was made."""
    v1.call("c", kind="edit", content=[{"type": "diff", "path": "/a", "oldText": "x", "newText": "y"}])
    call = v1.call("c", status="completed", content=[output("Wrote file successfully.")])
    assert (call.diffs, str(call.output)) == ([ev.FileDiff("/a", "x", "y")], "Wrote file successfully.")


def test_v2_a_diff_that_is_replaced_is_gone(v2: Scene) -> None:
    v2.call("c", kind="edit", content=[{"type": "diff", "changes": [{"operation": "add", "path": "/a"}]}])
    assert v2.call("c", content=[output("no")]).diffs == []


# ---- sub-agents ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_a_sub_agent_is_a_call_and_what_it_writes_its_output(version: int) -> None:
    scene = Scene(version).turn()
    scene.hears("subagent_update", sessionId="kid", title="Researcher", description="finds out")
    scene.hears("user_message_chunk", "kid", messageId="u", content={"type": "text", "text": "look it up"})
    for message_id, text in (("a", "One"), ("a", " more."), ("b", "Two.")):
        scene.hears("agent_message_chunk", "kid", messageId=message_id, content={"type": "text", "text": text})
    call = scene.tool("sub:kid")
    assert (call.category, call.title, call.status) == ("agent", "Researcher", "running")
    assert (call.input, str(call.output)) == ({"prompt": "look it up"}, "One more.\n\nTwo.")


def test_v2_a_whole_message_of_a_sub_agent_replaces_it_in_its_output(v2: Scene) -> None:
    v2.hears("subagent_update", sessionId="kid")
    for message_id in "ab":
        v2.hears("agent_message_chunk", "kid", messageId=message_id, content={"type": "text", "text": message_id})
    v2.hears("agent_message", "kid", messageId="a", content=[{"type": "text", "text": "A"}])
    assert str(v2.tool("sub:kid").output) == "A\n\nb"


def test_a_sub_agents_calls_carry_it_as_their_parent_and_do_not_mix_with_others(v1: Scene) -> None:
    v1.hears("subagent_update", sessionId="kid", title="Kid")
    v1.hears("tool_call", "s", toolCallId="c", title="mine")
    v1.hears("tool_call", "kid", toolCallId="c", title="kid's", status="completed")
    v1.hears("tool_call_update", "s", toolCallId="c", status="failed")
    assert [(call.call_id, call.title, call.parent, call.status) for call in v1.tools()[1:]] == [
        ("c", "mine", "", "failed"),
        ("kid/c", "kid's", "sub:kid", "completed"),
    ]


def test_a_sub_agent_of_a_sub_agent_belongs_to_it(v1: Scene) -> None:
    v1.hears("subagent_update", sessionId="kid")
    v1.hears("subagent_update", "kid", sessionId="grandkid")
    assert v1.tool("sub:grandkid").parent == "sub:kid"


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ({"state": "running"}, "running"),
        ({"state": "requires_action"}, "running"),
        ({"state": "idle", "stopReason": "end_turn"}, "completed"),
        ({"state": "idle", "stopReason": "cancelled"}, "interrupted"),
        ({"state": "idle", "stopReason": "error"}, "failed"),
        ({"state": "_new"}, "running"),
    ],
)
def test_a_sub_agents_state_is_that_of_its_call(v2: Scene, state: dict[str, Any], status: str) -> None:
    v2.hears("subagent_update", sessionId="kid", state=state)
    assert v2.tool("sub:kid").status == status
    v2.hears("state_update", "kid", state="running")
    assert v2.tool("sub:kid").status == "running"
    v2.hears("state_update", "kid", **state)
    assert v2.tool("sub:kid").status == status


def test_messages_between_sessions_are_a_sub_agents_task_and_result(v2: Scene) -> None:
    v2.hears("subagent_update", sessionId="kid")
    v2.hears("session_message_chunk", messageId="m1", content={"type": "text", "text": "Look "})
    v2.hears("session_message", messageId="m1", senderSessionId="s", recipientSessionId="kid")
    v2.hears("session_message_chunk", messageId="m1", content={"type": "text", "text": "it up."})
    v2.hears(
        "session_message",
        messageId="m2",
        senderSessionId="kid",
        recipientSessionId="s",
        content=[{"type": "text", "text": "Found."}],
    )
    v2.hears(
        "session_message", "kid", messageId="k2", senderSessionId="kid", content=[{"type": "text", "text": "Found."}]
    )
    call = v2.tool("sub:kid")
    assert (call.input, str(call.output)) == ({"prompt": "Look it up."}, "Found.")


def test_a_message_between_sessions_nobody_knows_is_kept_raw(v2: Scene) -> None:
    v2.hears("session_message", messageId="m", senderSessionId="x", recipientSessionId="y", content=[])
    assert v2.unknown() == ["session_message"]


def test_what_a_sub_agent_tells_of_itself_does_not_change_the_session(v1: Scene) -> None:
    v1.hears("subagent_update", sessionId="kid")
    v1.hears("usage_update", "kid", used=1, size=2)
    v1.hears("current_mode_update", "kid", currentModeId="yolo")
    v1.hears("session_info_update", "kid", title="other")
    v1.hears("plan", "kid", entries=[{"content": "its own", "status": "pending"}])
    v1.hears("plan", entries=[{"content": "mine", "status": "pending"}])
    state = v1.transcript.state
    assert (state.context, state.mode, state.title) == (None, "", "")
    assert [[item["text"] for item in plan.items] for plan in v1.plans()] == [["its own"], ["mine"]]
