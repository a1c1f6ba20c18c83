"""Tool calls, approvals and questions on the hm wire."""

from __future__ import annotations

from typing import Any

import pytest

from hm_jupyter.commands import Abort, Answer, Approve, FileEdit, GetState, Steer
from hm_jupyter.events import (
    ApprovalRequested,
    ApprovalResolved,
    Choice,
    CommandAnswered,
    FileDiff,
    NoticeRaised,
    QuestionRequested,
    QuestionResolved,
    ToolCallUpdated,
    ToolOutputAppended,
    TurnStarted,
    UnknownReceived,
)
from hm_jupyter.protocols.hm import HmAdapter
from hm_jupyter.protocols.hm_requests import LOST
from hm_jupyter.protocols.hm_send import SKIPPED

END = {"type": "turn_end"}
FILES = [{"path": "a.py", "old": "x = 1\n", "new": "x = 2\n"}, {"path": "b.py", "old": None, "new": "y = 1\n"}]


def call(call_id: str = "c1", tool: str = "shell", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "tool": tool, "call_id": call_id, "summary": f"{tool} it", "input": arguments}


def starts(tool: str) -> dict[str, Any]:
    return {"type": "tool_start", "tool": tool}


def needs(call_id: str = "c1", tool: str = "shell", **fields: Any) -> dict[str, Any]:
    return {"type": "approval_needed", "call_id": call_id, "tool": tool, **fields}


def decided(allow: Any, call_id: str = "c1", **fields: Any) -> dict[str, Any]:
    return {"type": "approval", "call_id": call_id, "tool": "shell", "allow": allow, **fields}


def result(call_id: str = "c1", text: Any = "ok", is_error: Any = False, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool": "shell", "call_id": call_id, "text": text, "is_error": is_error, **fields}


def only(events: list[Any], kind: type) -> Any:
    (event,) = [event for event in events if isinstance(event, kind)]
    return event


# ---- calls -----------------------------------------------------------------------------------------------------------


def test_a_draft_is_joined_with_the_call_of_the_same_tool(turn: Any) -> None:
    draft, joined = turn.hears(starts("shell"), call())
    assert (draft.call_id, draft.name, draft.status) == ("draft:1", "shell", "drafting")
    assert (joined.call_id, joined.replaces, joined.status) == ("c1", "draft:1", "running")


def test_several_drafts_are_joined_in_order_tool_by_tool(turn: Any) -> None:
    turn.hears(starts("shell"), starts("read_file"), starts("shell"))
    events = turn.hears(call("r", "read_file"), call("s1"), call("s2"), call("s3"))
    assert [event.replaces for event in events] == ["draft:2", "draft:1", "draft:3", None]


def test_a_draft_that_names_its_call_needs_no_joining(turn: Any) -> None:
    draft, known = turn.hears({**starts("shell"), "call_id": "c1"}, call())
    assert (draft.call_id, known.call_id, known.replaces) == ("c1", "c1", None)


def test_a_draft_that_became_no_call_ends_when_the_model_writes_anew(turn: Any) -> None:
    turn.hears(starts("shell"))
    again = turn.hears({"type": "message_start", "role": "assistant"}, starts("shell"), call())
    assert again[0] == ToolCallUpdated("draft:1", status="interrupted")
    assert again[-1].replaces == "draft:2"


def test_calls_that_name_no_id_are_told_apart(turn: Any) -> None:
    first, second = turn.hears({**call(), "call_id": None}, {**call(), "call_id": 7})
    assert first.call_id != second.call_id


def test_a_call_is_told_with_its_arguments_and_category(turn: Any) -> None:
    (event,) = turn.hears(call(command="go test ./..."))
    assert event == ToolCallUpdated("c1", "shell", "shell it", "shell", "running", {"command": "go test ./..."})


@pytest.mark.parametrize(
    ("tool", "category"),
    [("shell", "shell"), ("read_file", "read"), ("write_file", "edit"), ("edit_file", "edit"), ("list_files", "read"),
     ("ask_user", "ask"), ("grep", "search"), ("teleport", "other")],
)  # fmt: skip
def test_a_calls_category_follows_from_its_tool(turn: Any, tool: str, category: str) -> None:
    assert turn.hears(call(tool=tool))[0].category == category


def test_the_calls_of_a_batch_run_one_after_the_other(turn: Any) -> None:
    first, second, third = turn.hears(call("c1"), call("c2"), call("c3"))
    assert (first.status, second.status, third.status) == ("running", "pending", "pending")
    assert turn.hears(result("c1"))[1:] == [ToolCallUpdated("c2", status="running")]


def test_a_call_that_puts_something_out_runs(turn: Any) -> None:
    turn.hears(call("c1"), call("c2"))
    events = turn.hears({"type": "tool_output", "call_id": "c2", "text": "a"})
    assert events == [ToolCallUpdated("c2", status="running"), ToolOutputAppended("c2", "a")]


def test_a_draft_of_an_earlier_turn_becomes_no_call_of_this_one(turn: Any) -> None:
    turn.hears(starts("shell"), END)
    assert turn.hears(call())[-1].replaces is None


def test_what_trickles_in_while_idle_holds_up_no_later_call(turn: Any) -> None:
    turn.hears(END, {"type": "tool_output", "call_id": "old", "text": "still going"})
    assert turn.hears(call())[-1].status == "running"


def test_calls_that_a_steer_will_skip_are_not_said_to_run(turn: Any) -> None:
    turn.hears(call("c1"), call("c2"))
    turn.ok(turn.sends(Steer(text="stop that")))
    assert [event.call_id for event in turn.hears(result("c1"))] == ["c1"]


def test_a_result_completes_its_call(turn: Any) -> None:
    turn.hears(call())
    assert turn.hears(result(text="fine\n")) == [ToolCallUpdated("c1", status="completed", output="fine\n")]


def test_an_error_result_is_a_failed_call(turn: Any) -> None:
    turn.hears(call())
    assert turn.hears(result(text="boom", is_error=True))[0].status == "failed"


def test_an_exit_code_tells_failure_where_is_error_is_missing(turn: Any) -> None:
    turn.hears(call())
    assert turn.hears(result(is_error=None, exit_code=2))[0].status == "failed"


def test_a_call_that_a_rule_refused_was_denied(turn: Any) -> None:
    turn.hears(call())
    assert turn.hears(result(text="guard.yaml: no", is_error=True, refused=True))[0].status == "denied"


@pytest.mark.parametrize("outcome", ["skipped", "interrupted"])
def test_a_result_may_say_that_the_call_never_came_to_an_end(turn: Any, outcome: str) -> None:
    turn.hears(call())
    assert turn.hears(result(text="", is_error=True, outcome=outcome))[0].status == outcome


def test_a_call_that_waits_for_leave_is_not_the_next_to_run(turn: Any) -> None:
    turn.hears(call("c1"), call("c2"), needs("c2"))
    assert [event.call_id for event in turn.hears(result("c1"))] == ["c1"]
    turn.hears(call("c3"), decided(True, "c2"))
    assert turn.hears(result("c2"))[-1] == ToolCallUpdated("c3", status="running")


@pytest.mark.parametrize("how", ["read", "refused", "aborted", "the turn ended"])
def test_calls_run_again_when_no_steer_is_on_its_way_any_more(turn: Any, how: str) -> None:
    line = turn.sends(Steer(id="s", text="stop that"))
    if how == "read":
        turn.hears({"type": "message_end", "role": "user", "text": "stop that"})
    elif how == "refused":
        turn.refuses(line)
    elif how == "aborted":
        turn.ok(line)
        turn.ok(turn.sends(Abort()))
    else:
        turn.hears(END, {"type": "message_end", "role": "user", "text": "stop that"})
    assert turn.hears(call())[-1].status == "running"


def test_a_call_that_is_told_only_to_be_skipped_is_not_said_to_run(turn: Any) -> None:
    turn.ok(turn.sends(Steer(text="stop that")))
    assert turn.hears(call())[0].status == "pending"


def test_a_call_that_a_plain_agent_refused_unasked_failed_with_its_words(turn: Any) -> None:
    turn.hears(call())
    (event,) = turn.hears(result(text="refused by guard.yaml", is_error=True))
    assert (event.status, event.output) == ("failed", "refused by guard.yaml")


def test_a_result_with_no_call_before_it_still_shows(turn: Any) -> None:
    made_up, done = turn.hears(result("c9"))
    assert (made_up.call_id, made_up.name, done.status) == ("c9", "shell", "completed")


def test_output_comes_as_it_is_written_and_the_result_has_the_last_word(turn: Any) -> None:
    turn.hears(call())
    line = {"type": "tool_output", "call_id": "c1", "text": "a\n"}
    assert turn.hears(line) == [ToolOutputAppended("c1", "a\n")]
    assert turn.hears(result(text="a\nb\n"))[0].output == "a\nb\n"


def test_an_empty_result_does_not_wipe_out_what_was_streamed(turn: Any) -> None:
    turn.hears(call(), {"type": "tool_output", "call_id": "c1", "text": "a\n"})
    assert turn.hears(result(text=""))[0].output is None


def test_the_changes_a_result_names_are_the_calls_changes(turn: Any) -> None:
    turn.hears(call(tool="edit_file"))
    assert turn.hears(result(files=FILES[:1]))[0].diffs == [FileDiff("a.py", "x = 1\n", "x = 2\n")]


def test_the_changes_of_an_edit_follow_from_its_arguments_when_the_result_names_none(turn: Any) -> None:
    turn.hears(call(tool="write_file", path="n.txt", content="hi"))
    assert turn.hears(result())[0].diffs == [FileDiff("n.txt", new="hi")]


def test_a_failed_edit_changed_nothing(turn: Any) -> None:
    turn.hears(call(tool="write_file", path="n.txt", content="hi"))
    assert turn.hears(result(is_error=True))[0].diffs is None


@pytest.mark.parametrize("kind", ["tool_result", "tool_output", "approval"])
def test_what_names_no_call_is_kept_raw(turn: Any, kind: str) -> None:
    line = {"type": kind, "call_id": 7, "text": "x", "allow": True}
    assert turn.hears(line) == [UnknownReceived(kind, line)]


# ---- approvals -------------------------------------------------------------------------------------------------------


def test_an_approval_shows_exactly_what_will_run(turn: Any) -> None:
    turn.hears(call(command="go test ./..."))
    event = only(
        turn.hears(
            needs(category="shell", summary="run the tests", command="go test ./... -v", paths=["/home/me/app"],
                  cwd="/home/me/app", rule="go test *", reason="it runs a program")
        ),
        ApprovalRequested,
    )  # fmt: skip
    assert event == ApprovalRequested(
        "c1", "c1", tool="shell", category="shell", summary="run the tests", command="go test ./... -v",
        cwd="/home/me/app", paths=["/home/me/app"], input={"command": "go test ./..."}, rule="go test *",
        reason="it runs a program", for_session=True,
    )  # fmt: skip


def test_an_approval_that_leaves_out_what_it_may_is_filled_from_its_call(turn: Any) -> None:
    turn.hears(call(command="go test ./...", cwd="/srv"))
    event = only(turn.hears({"type": "approval_needed", "call_id": "c1"}), ApprovalRequested)
    assert (event.tool, event.category, event.summary) == ("shell", "shell", "shell it")
    assert (event.command, event.cwd) == ("go test ./...", "/srv")


def test_an_approval_may_bring_what_its_call_left_out(turn: Any) -> None:
    event = only(
        turn.hears(needs(tool="teleport", category="edit", input={"path": "a", "content": "b"})), ApprovalRequested
    )
    assert (event.category, event.diffs, event.paths) == ("edit", [FileDiff("a", new="b")], ["a"])


def test_a_command_is_no_change_of_a_file(turn: Any) -> None:
    turn.hears(call(command="tee a", path="a", content="b"))
    assert only(turn.hears(needs()), ApprovalRequested).diffs == []


def test_a_command_in_words_is_shown_as_a_shell_would_read_it(turn: Any) -> None:
    turn.hears(call(command=["rm", "a file"]))
    assert only(turn.hears(needs()), ApprovalRequested).command == "rm 'a file'"


def test_an_approval_with_no_call_before_it_still_shows(turn: Any) -> None:
    made_up, event = turn.hears(needs("c9", summary="rm -r build", command="rm -r build"))
    assert (made_up.call_id, made_up.title, made_up.status) == ("c9", "rm -r build", "pending")
    assert (event.request_id, event.command) == ("c9", "rm -r build")


def test_an_approval_of_no_call_is_said_to_be_undecidable(turn: Any) -> None:
    (event,) = turn.hears({"type": "approval_needed", "command": "rm -r /"})
    assert isinstance(event, NoticeRaised)
    assert event.detail == "rm -r /"


def test_an_edits_whole_files_are_shown_as_the_agent_gives_them(turn: Any) -> None:
    turn.hears(call(tool="edit_file", path="a.py", old_text="1", new_text="2"))
    event = only(turn.hears(needs(tool="edit_file", category="edit", files=FILES)), ApprovalRequested)
    assert event.diffs == [FileDiff("a.py", "x = 1\n", "x = 2\n"), FileDiff("b.py", None, "y = 1\n")]
    assert event.paths == ["a.py", "b.py"]


def test_an_empty_list_of_files_hides_nothing(turn: Any) -> None:
    turn.hears(call(tool="write_file", path="a", content="hi"))
    assert only(turn.hears(needs(files=[])), ApprovalRequested).diffs == [FileDiff("a", new="hi")]


@pytest.mark.parametrize(
    ("arguments", "diffs"),
    [
        ({"path": "n.txt", "content": "hi"}, [FileDiff("n.txt", new="hi")]),
        ({"file_path": "n.txt", "content": "hi"}, [FileDiff("n.txt", new="hi")]),
        ({"path": "a", "old_text": "1", "new_text": "2"}, [FileDiff("a", "1", "2", partial=True)]),
        ({"path": "a", "old_string": "1", "new_string": "2"}, [FileDiff("a", "1", "2", partial=True)]),
        (
            {"path": "a", "edits": [{"old": "1", "new": "2"}, {"path": "b", "old": "3", "new": ""}, 7]},
            [FileDiff("a", "1", "2", partial=True), FileDiff("b", "3", "", partial=True)],
        ),
        ({"path": "a"}, []),
        ({"content": "hi"}, []),
        ("nonsense", []),
    ],
)
def test_an_edits_changes_are_read_from_its_arguments(turn: Any, arguments: Any, diffs: list[FileDiff]) -> None:
    turn.hears({**call(tool="edit_file"), "input": arguments})
    assert only(turn.hears(needs(tool="edit_file")), ApprovalRequested).diffs == diffs


def test_for_session_is_offered_by_a_plain_agent_for_every_call(turn: Any) -> None:
    turn.hears(call())
    assert only(turn.hears(needs()), ApprovalRequested).for_session is True


def test_for_session_is_offered_only_with_a_rule_by_an_agent_that_names_rules(turn: Any) -> None:
    turn.hears(call("c1"), call("c2"))
    assert only(turn.hears(needs("c1", reason="a program")), ApprovalRequested).for_session is False
    assert only(turn.hears(needs("c2", rule="ls *")), ApprovalRequested).for_session is True


def test_a_like_call_may_be_asked_again_after_allow_for_session(turn: Any) -> None:
    turn.hears(call("c1"), needs("c1"))
    turn.ok(turn.sends(Approve(request_id="c1", allow=True, for_session=True)))
    resolved = only(turn.hears(decided(True)), ApprovalResolved)
    assert resolved == ApprovalResolved("c1", "allowed", "you", for_session=True)
    turn.hears(result("c1"), call("c2"))
    assert only(turn.hears(needs("c2")), ApprovalRequested).request_id == "c2"


def test_our_decision_is_told_as_ours_with_its_note(turn: Any) -> None:
    turn.hears(call(), needs())
    turn.ok(turn.sends(Approve(request_id="c1", allow=False, note="only the store")))
    assert turn.hears(decided(False), result(is_error=True)) == [
        ApprovalResolved("c1", "denied", "you", note="only the store"),
        ToolCallUpdated("c1", status="denied"),
        ToolCallUpdated("c1", status="denied", output="ok"),
    ]


def test_an_allowed_call_runs(turn: Any) -> None:
    turn.hears(call(), needs())
    turn.ok(turn.sends(Approve(request_id="c1", allow=True)))
    assert turn.hears(decided(True)) == [
        ApprovalResolved("c1", "allowed", "you"),
        ToolCallUpdated("c1", status="running"),
    ]


def test_the_approval_may_come_before_the_response_to_approve(turn: Any) -> None:
    turn.hears(call(), needs())
    line = turn.sends(Approve(id="a", request_id="c1", allow=True))
    assert turn.hears(decided(True))[0].by == "you"
    assert turn.ok(line) == [CommandAnswered("a", True)]


def test_edits_say_which_files_were_applied_and_which_we_changed(turn: Any) -> None:
    turn.hears(call(tool="edit_file"), needs(tool="edit_file", files=FILES))
    edits = [FileEdit(path="a.py", content="x = 3\n"), FileEdit(path="b.py", content="y = 1\n")]
    turn.ok(turn.sends(Approve(request_id="c1", allow=True, edits=edits)))
    resolved = only(turn.hears(decided(True)), ApprovalResolved)
    assert (resolved.files, resolved.edited) == (["a.py", "b.py"], ["a.py"])
    assert turn.hears(result())[0].diffs == [FileDiff("a.py", "x = 1\n", "x = 3\n"), FileDiff("b.py", None, "y = 1\n")]


def test_a_file_left_out_of_the_edits_is_not_among_the_changes(turn: Any) -> None:
    turn.hears(call(tool="edit_file"), needs(tool="edit_file", files=FILES))
    turn.ok(turn.sends(Approve(request_id="c1", allow=True, edits=[FileEdit(path="b.py", content="y = 1\n")])))
    resolved = only(turn.hears(decided(True, files=["b.py"])), ApprovalResolved)
    assert (resolved.files, resolved.edited) == (["b.py"], [])
    assert [diff.path for diff in turn.hears(result())[0].diffs] == ["b.py"]


def test_approvals_that_the_agent_decides_are_marked_and_close_without_us(talk: Any) -> None:
    talk.adapter = HmAdapter(agent_approve="all")
    talk.in_a_turn()
    talk.hears(call())
    assert only(talk.hears(needs()), ApprovalRequested).auto is True
    assert talk.hears(decided(True))[0] == ApprovalResolved("c1", "allowed", "agent")


def test_with_edits_only_file_edits_are_the_agents(talk: Any) -> None:
    talk.adapter = HmAdapter(agent_approve="edits")
    talk.in_a_turn()
    assert only(talk.hears(call("c1"), needs("c1")), ApprovalRequested).auto is False
    talk.hears(call("c2", "write_file"))
    assert only(talk.hears(needs("c2", category="edit")), ApprovalRequested).auto is True


@pytest.mark.parametrize("auto", [True, False])
def test_an_agent_that_says_itself_who_decides_is_believed(talk: Any, auto: bool) -> None:
    talk.adapter = HmAdapter(agent_approve="all" if not auto else "ask")
    talk.in_a_turn()
    assert only(talk.hears(call(), needs(auto=auto)), ApprovalRequested).auto is auto


@pytest.mark.parametrize(
    ("by", "who"), [("user", "you"), ("flag", "agent"), ("rule", "agent"), ("agent", "agent"), ("?", "agent")]
)
def test_who_decided_is_told(turn: Any, by: str, who: str) -> None:
    turn.hears(call(), needs())
    assert only(turn.hears(decided(True, by=by)), ApprovalResolved).by == who


def test_what_we_said_is_told_only_where_we_decided(turn: Any) -> None:
    for call_id, by in (("c1", "user"), ("c2", "rule")):
        turn.hears(call(call_id), needs(call_id))
        turn.sends(Approve(request_id=call_id, allow=True, note="mine"))
        resolved = only(turn.hears(decided(True, call_id, by=by)), ApprovalResolved)
        assert resolved.note == ("mine" if by == "user" else "")


def test_a_decision_that_cannot_be_read_is_ours_or_else_a_refusal(turn: Any) -> None:
    turn.hears(call("c1"), needs("c1"), call("c2"), needs("c2"))
    turn.sends(Approve(request_id="c1", allow=True))
    assert only(turn.hears(decided("yes", "c1")), ApprovalResolved).outcome == "allowed"
    assert only(turn.hears(decided("yes", "c2")), ApprovalResolved).outcome == "denied"


def test_a_decision_against_ours_is_not_ours(turn: Any) -> None:
    turn.hears(call(), needs())
    turn.sends(Approve(request_id="c1", allow=True, note="go"))
    assert turn.hears(decided(False))[0] == ApprovalResolved("c1", "denied", "agent")


def test_a_second_decision_that_fails_is_answered_and_nothing_more(turn: Any) -> None:
    turn.hears(call(), needs())
    first = turn.sends(Approve(id="a1", request_id="c1", allow=True, note="first"))
    second = turn.sends(Approve(id="a2", request_id="c1", allow=True, note="second"))
    turn.ok(first)
    assert turn.refuses(second, "not waiting") == [CommandAnswered("a2", False, error="not waiting")]
    assert only(turn.hears(decided(True)), ApprovalResolved).note == "first"


def test_a_refused_decision_decided_nothing(turn: Any) -> None:
    turn.hears(call(), needs())
    turn.refuses(turn.sends(Approve(request_id="c1", allow=True, note="mine")))
    assert turn.hears(decided(True))[0] == ApprovalResolved("c1", "allowed", "agent")


def test_a_result_closes_an_approval_whose_decision_was_never_told(turn: Any) -> None:
    turn.hears(call(), needs())
    turn.ok(turn.sends(Approve(request_id="c1", allow=True)))
    assert turn.hears(result())[0] == ApprovalResolved("c1", "allowed", "you")


def test_an_approval_still_open_at_the_turns_end_is_withdrawn(turn: Any) -> None:
    turn.hears(call(), needs())
    assert turn.hears(END)[0] == ApprovalResolved("c1", "withdrawn")


# ---- questions -------------------------------------------------------------------------------------------------------


def asks(call_id: str = "c1", text: str = "Which database?", **fields: Any) -> dict[str, Any]:
    return {"type": "question", "call_id": call_id, "text": text, **fields}


def test_a_question_is_asked_and_its_answer_told_when_the_agent_took_it(turn: Any) -> None:
    turn.hears(call(tool="ask_user"))
    assert turn.hears(asks()) == [QuestionRequested("c1", "c1", "Which database?")]
    line = turn.sends(Answer(id="a", request_id="c1", text="sqlite"))
    assert line == {"id": "a", "type": "answer", "call_id": "c1", "text": "sqlite"}
    assert turn.ok(line) == [QuestionResolved("c1", "answered", "sqlite"), CommandAnswered("a", True)]
    assert turn.hears(result(text="sqlite")) == [ToolCallUpdated("c1", status="completed", output="sqlite")]


def test_the_calls_result_tells_the_answer_when_it_is_first(turn: Any) -> None:
    turn.hears(call(tool="ask_user"), asks())
    line = turn.sends(Answer(id="a", request_id="c1", text="sqlite"))
    assert turn.hears(result())[0] == QuestionResolved("c1", "answered", "sqlite")
    assert turn.ok(line) == [CommandAnswered("a", True)]


def test_a_skipped_question_is_answered_with_a_plain_sentence(turn: Any) -> None:
    turn.hears(call(tool="ask_user"), asks())
    line = turn.sends(Answer(request_id="c1", skip=True))
    assert line["text"] == SKIPPED
    assert turn.ok(line)[0] == QuestionResolved("c1", "skipped")


def test_an_answer_that_comes_too_late_is_answered_and_nothing_more(turn: Any) -> None:
    turn.hears(call(tool="ask_user"), asks())
    turn.ok(turn.sends(Answer(request_id="c1", text="first")))
    events = turn.refuses(turn.sends(Answer(id="b", request_id="c1", text="second")), "not waiting")
    assert events == [CommandAnswered("b", False, error="not waiting")]


def test_a_questions_choices_are_read(turn: Any) -> None:
    choices = [{"value": "a", "label": "A", "help": "first"}, {"value": "b"}, "c", 7, {"label": "no value"}]
    event = only(turn.hears(asks(choices=choices, multi=True, free=False)), QuestionRequested)
    assert event.choices == [Choice("a", "A", "first"), Choice("b", "b"), Choice("c", "c")]
    assert (event.multi, event.free) == (True, False)


def test_a_question_of_no_call_is_said_to_be_unanswerable(turn: Any) -> None:
    (event,) = turn.hears({"type": "question", "text": "Which?"})
    assert isinstance(event, NoticeRaised)
    assert event.detail == "Which?"


def test_a_question_nobody_answered_is_withdrawn_by_its_result_or_the_turns_end(turn: Any) -> None:
    turn.hears(asks("c1"), asks("c2"))
    assert only(turn.hears(result("c1")), QuestionResolved) == QuestionResolved("c1", "withdrawn", by="agent")
    assert only(turn.hears(END), QuestionResolved) == QuestionResolved("c2", "withdrawn", by="agent")


# ---- after a gap -----------------------------------------------------------------------------------------------------


def state(turn: Any, **data: Any) -> list[Any]:
    events: list[Any] = turn.ok(turn.sends(GetState()), data=data)
    return events


def test_the_state_asks_again_for_what_we_missed(turn: Any) -> None:
    turn.hears(call(command="ls"))
    events = state(turn, running=True, pending_approvals=["c1"], pending_questions=["c7"])
    assert only(events, ApprovalRequested).command == "ls"
    assert only(events, QuestionRequested).request_id == "c7"


def test_what_waits_and_is_not_known_otherwise_says_so(turn: Any) -> None:
    events = state(turn, running=True, pending_approvals=["c7"], pending_questions=["c8"])
    assert only(events, ApprovalRequested).summary == LOST
    assert only(events, QuestionRequested).text == LOST


def test_the_state_takes_down_what_waits_no_longer(turn: Any) -> None:
    turn.hears(call(), needs(), asks("c2"))
    events = state(turn, running=True, pending_approvals=[], pending_questions=[])
    assert only(events, ApprovalResolved) == ApprovalResolved("c1", "withdrawn")
    assert only(events, QuestionResolved) == QuestionResolved("c2", "withdrawn", by="agent")
    assert [type(event).__name__ for event in turn.hears(END)] == ["TurnEnded"]


def test_what_the_state_says_is_waiting_waits_in_a_turn(talk: Any) -> None:
    assert state(talk, pending_approvals=["c1", ""], pending_questions=["", 7])[0] == TurnStarted("")
    assert [type(event).__name__ for event in talk.hears(END)] == ["ApprovalResolved", "TurnEnded"]


def test_the_state_leaves_alone_what_was_decided_a_moment_ago(turn: Any) -> None:
    turn.hears(call(), needs())
    turn.ok(turn.sends(Approve(request_id="c1", allow=True)))
    assert [type(e) for e in state(turn, running=True, pending_approvals=[])] == [CommandAnswered]
    assert turn.hears(decided(True))[0].outcome == "allowed"


def test_the_state_says_nothing_new_about_what_we_know(turn: Any) -> None:
    turn.hears(call(), needs())
    assert [type(e) for e in state(turn, running=True, pending_approvals=["c1"])] == [CommandAnswered]
