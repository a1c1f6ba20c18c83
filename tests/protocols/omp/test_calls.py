"""Tool calls: told many times, shown once."""

from __future__ import annotations

from omp_talk import Talk, said, update

from hm_jupyter import events as ev

CALL = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}


def output(call_id: str, text: str) -> dict[str, object]:
    content = [{"type": "text", "text": text}]
    return {
        "type": "tool_execution_update", "toolCallId": call_id, "toolName": "bash", "args": {"command": "ls"},
        "partialResult": {"content": content, "details": {}},
    }  # fmt: skip


def test_a_call_is_one_card_however_often_it_is_told() -> None:
    t = Talk().prompt()
    t.hears(update("toolcall_start", contentIndex=0, partial={"content": [{"id": "c1", "name": "bash"}]}))
    assert t.tool("c1").status == "drafting"
    t.hears(update("toolcall_delta", contentIndex=0, delta='{"com'), update("toolcall_end", toolCall=CALL), said(CALL))
    assert (t.tool("c1").status, t.tool("c1").input) == ("pending", {"command": "ls"})
    t.runs("c1", "bash", command="ls")
    assert t.tool("c1").status == "running"
    t.ran("c1", "bash", "README.md")
    t.hears(
        {
            "type": "message_end",
            "message": {"role": "toolResult", "toolCallId": "c1", "toolName": "bash", "content": []},
        }
    )
    (card,) = t.shown("tool")
    assert (card.status, str(card.output), card.title) == ("completed", "README.md", "ls")


def test_pi_names_a_call_when_it_begins() -> None:
    t = Talk("pi").prompt()
    t.hears(update("toolcall_start", contentIndex=1, id="c1", toolName="write"))
    assert (t.tool("c1").name, t.tool("c1").category) == ("write", "edit")


def test_a_draft_nobody_names_becomes_its_call() -> None:
    t = Talk().prompt()
    t.hears(update("toolcall_start", contentIndex=0), update("toolcall_end", contentIndex=0, toolCall=CALL))
    assert [e.call_id for e in t.shown("tool")] == ["c1"]


def test_output_so_far_replaces_and_is_never_doubled() -> None:
    t = Talk().prompt()
    t.runs("c1", "bash", command="ls")
    assert t.hears(output("c1", "a\n"))[-1] == ev.ToolCallUpdated("c1", output="a\n")
    assert t.hears(output("c1", "a\nb\n")) == [ev.ToolOutputAppended("c1", "b\n")]
    assert t.hears(output("c1", "a\nb\n")) == []
    assert t.hears(output("c1", "[cut]\nb\n")) == [ev.ToolCallUpdated("c1", output="[cut]\nb\n")]
    assert str(t.tool("c1").output) == "[cut]\nb\n"


def test_calls_side_by_side_are_told_apart_by_their_ids() -> None:
    t = Talk().prompt()
    t.runs("c1", "bash", command="a")
    t.runs("c2", "bash", command="b")
    t.ran("c2", "bash", "B")
    t.ran("c1", "bash", "A")
    assert [str(e.output) for e in t.shown("tool")] == ["A", "B"]


def test_a_failure_and_its_exit_code_are_shown_from_either_agent() -> None:
    t = Talk().prompt()
    t.runs("c1", "bash", command="false")
    t.ran("c1", "bash", "oops", error=True, exitCode=3)
    assert (t.tool("c1").status, t.tool("c1").exit_code) == ("failed", 3)
    t.hears({"type": "tool_execution_end", "toolCallId": "c2", "toolName": "bash", "isError": False,
             "result": {"content": [], "structuredContent": {"exit_code": 0}}})  # fmt: skip
    assert (t.tool("c2").status, t.tool("c2").exit_code) == ("completed", 0)


def test_pictures_of_a_result_are_shown() -> None:
    t = Talk().prompt()
    t.hears({"type": "tool_execution_end", "toolCallId": "c2", "toolName": "read", "isError": False,
             "result": {"content": [{"type": "image", "data": "iVBOR", "mimeType": "image/png"}]}})  # fmt: skip
    assert t.tool("c2").images == [ev.Image("iVBOR")]


def test_an_edit_shows_whole_files_where_the_agent_tells_them_and_the_passages_where_not() -> None:
    t = Talk().prompt()
    t.runs("c1", "edit", path="app.py", old_string="a", new_string="b")
    t.ran("c1", "edit", "ok", path="/home/me/app/app.py", oldText="xa", newText="xb")
    assert t.tool("c1").diffs == [ev.FileDiff("app.py", "xa", "xb")]
    t.runs("c2", "edit", path="app.py", edits=[{"oldText": "a", "newText": "b"}])
    t.ran("c2", "edit", "ok")
    assert t.tool("c2").diffs == [ev.FileDiff("app.py", "a", "b", partial=True)]
    assert t.tool("c2").locations == ["app.py"]


def test_an_edit_whose_arguments_show_no_change_shows_the_one_omp_streams() -> None:
    t = Talk().prompt()
    t.calls_tool("c1", "edit", input="[app.py#1566]\nPUT 2.=2:\n+b")
    diff = " 1|def main():\n-2|    a\n+2|    b\n 3|"
    t.hears(
        {
            "type": "tool_stream_update",
            "toolCallId": "c1",
            "toolName": "edit",
            "update": {"files": [{"path": "app.py", "diff": diff}]},
        }
    )
    t.ran("c1", "edit", "ok")
    old, new = "def main():\n    a\n", "def main():\n    b\n"
    assert t.tool("c1").diffs == [ev.FileDiff("app.py", old, new, partial=True)]


def test_a_call_that_a_steer_made_needless_is_skipped() -> None:
    t = Talk().prompt()
    t.calls_tool("c1", "bash", command="ls")
    t.ran("c1", "bash", "Skipped due to queued user message.", error=True)
    assert t.tool("c1").status == "skipped"


def test_a_call_that_never_ran_is_closed_with_its_turn() -> None:
    t = Talk().prompt()
    t.calls_tool("c1", "bash", command="ls")
    t.ends()
    assert t.tool("c1").status == "skipped"


def test_a_result_told_only_as_a_message_ends_its_call() -> None:
    t = Talk().prompt()
    t.calls_tool("c1", "bash", command="ls")
    t.hears({"type": "message_end", "message": {"role": "toolResult", "toolCallId": "c1", "toolName": "bash",
             "content": [{"type": "text", "text": "x"}], "isError": False}})  # fmt: skip
    assert (t.tool("c1").status, str(t.tool("c1").output)) == ("completed", "x")


def test_the_details_of_a_todo_tool_are_the_plan() -> None:
    t = Talk().prompt()
    t.runs("c1", "todo", op="init")
    phases = [
        {
            "name": "Work",
            "tasks": [{"content": "Read", "status": "in_progress"}, {"content": "Fix", "status": "pending"}],
        }
    ]
    t.ran("c1", "todo", "2 left", phases=phases)
    assert t.shown("plan")[0].items == [{"text": "Read", "status": "active"}, {"text": "Fix", "status": "pending"}]


def test_a_call_without_an_id_is_kept_as_it_is() -> None:
    t = Talk().prompt()
    (kept,) = t.hears({"type": "tool_execution_start", "toolName": "bash", "args": {}})
    assert isinstance(kept, ev.UnknownReceived)
