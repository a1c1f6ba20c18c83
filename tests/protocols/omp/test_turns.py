"""When a turn begins and when it is over, in each version of each agent."""

from __future__ import annotations

import pytest
from omp_talk import STATE, Talk, read_by_model, said

from hm_jupyter import events as ev
from hm_jupyter.commands import Abort, FollowUp, Prompt, Steer

AGENT_START = {"type": "agent_start"}


def test_the_response_to_a_prompt_is_not_its_end() -> None:
    t = Talk()
    t.says(Prompt(id="p1", text="go"))
    assert ev.CommandAnswered("p1", True) in t.answers("prompt")
    assert t.running


def test_the_first_document_ends_a_run_with_agent_end_and_not_with_turn_end() -> None:
    t = Talk().prompt()
    t.hears({"type": "turn_start"}, {"type": "turn_end", "message": {}, "toolResults": []}, {"type": "turn_start"})
    assert t.running
    t.ends()
    assert (t.running, t.turn.stop_reason) == (False, "end_turn")


def test_omp_goes_on_after_an_agent_end_that_is_not_terminal() -> None:
    t = Talk().prompt()
    t.ends(isTerminal=False)
    assert t.running
    t.hears(AGENT_START)
    t.ends(isTerminal=True)
    assert not t.running


def test_an_omp_that_was_to_go_on_after_a_compaction_and_does_not_is_asked() -> None:
    """Seen of 18.2.3: an answer as long as the context; what is compacted frees too little, and nothing more comes."""
    t = Talk().prompt()
    t.hears({"type": "auto_compaction_start", "reason": "threshold"}, {"type": "auto_compaction_end", "aborted": False})
    t.ends(isTerminal=False)
    t.wake("omp:idle")
    t.answers("get_state", data={"isStreaming": False, "isCompacting": True})
    assert t.running
    t.wake("omp:idle")
    t.answers("get_state", data={"isStreaming": False, "isCompacting": False})
    assert (t.running, t.turn.stop_reason) == (False, "end_turn")
    assert "omp:idle" not in t.wakes


def test_an_omp_that_goes_on_after_a_compaction_is_not_asked() -> None:
    t = Talk().prompt()
    t.hears({"type": "auto_compaction_start", "reason": "threshold"}, {"type": "auto_compaction_end", "aborted": False})
    t.ends(isTerminal=False)
    t.hears(AGENT_START)
    assert "omp:idle" not in t.wakes
    t.ends(isTerminal=True)
    assert not t.running


def test_an_omp_that_tells_results_ends_a_prompt_with_its_prompt_result() -> None:
    t = Talk(state={"isSettled": True}).prompt()
    t.ends(isTerminal=True)
    assert t.running
    t.hears({"type": "prompt_result", "id": "p1", "agentInvoked": True, "status": "completed", "sessionSettled": True})
    assert (t.running, t.turn.stop_reason) == (False, "end_turn")


def test_a_prompt_result_that_never_comes_does_not_keep_the_turn_open() -> None:
    t = Talk(state={"isSettled": True}).prompt()
    t.ends(isTerminal=True)
    t.wake("omp:end")
    assert not t.running


@pytest.mark.parametrize(
    ("status", "reason", "error"),
    [("aborted", "cancelled", ""), ("error", "error", "quota"), ("completed", "end_turn", "")],
)
def test_a_prompt_result_says_how_the_turn_ended(status: str, reason: str, error: str) -> None:
    t = Talk().prompt()
    t.hears(
        {"type": "prompt_result", "id": "p1", "agentInvoked": True, "status": status, "error": {"message": "quota"}}
    )
    assert (t.turn.stop_reason, t.turn.error) == (reason, error)


def test_a_run_that_begins_by_itself_ends_when_the_session_has_settled() -> None:
    t = Talk(state={"isSettled": True})
    t.hears(AGENT_START, said({"type": "text", "text": "the job is done"}))
    t.hears({"type": "agent_end", "isTerminal": False}, {"type": "session_settled"})
    assert (t.running, t.turn.stop_reason) == (False, "end_turn")


def test_pi_1_ends_a_run_when_it_has_settled() -> None:
    t = Talk("pi").prompt()
    t.ends(willRetry=False)
    assert t.running
    t.hears({"type": "agent_settled", "aborted": False})
    assert (t.running, t.turn.stop_reason) == (False, "end_turn")


def test_pi_1_that_retries_is_not_over() -> None:
    t = Talk("pi").prompt()
    t.ends("error", "overloaded", willRetry=True)
    t.hears({"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 2000, "errorMessage": "overloaded"})
    assert t.running and "omp:end" not in t.wakes
    t.hears(AGENT_START, {"type": "auto_retry_end", "success": True, "attempt": 1})
    t.ends(willRetry=False)
    t.hears({"type": "agent_settled", "aborted": False})
    assert t.turn.stop_reason == "end_turn"


def test_pi_0_73_may_go_on_after_an_error_so_a_moment_is_waited() -> None:
    t = Talk("pi").prompt()
    t.ends("error", "overloaded")
    assert t.running
    t.hears({"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 10, "errorMessage": "overloaded"})
    assert "omp:end" not in t.wakes
    t.hears(AGENT_START)
    t.ends()
    assert t.turn.stop_reason == "end_turn"


def test_pi_0_73_that_does_not_go_on_after_an_error_has_failed() -> None:
    t = Talk("pi").prompt()
    t.ends("error", '401 {"error": {"type": "authentication_error", "message": "invalid key"}}')
    t.wake("omp:end")
    assert (t.turn.stop_reason, t.turn.error) == ("error", "invalid key (401)")


def test_a_retry_that_fails_is_the_turns_error() -> None:
    t = Talk("pi").prompt()
    t.ends("error", "overloaded", willRetry=True)
    t.hears({"type": "auto_retry_end", "success": False, "attempt": 3, "finalError": "529 overloaded"})
    t.hears({"type": "agent_settled", "aborted": False})
    assert (t.turn.stop_reason, t.turn.error) == ("error", "529 overloaded")


@pytest.mark.parametrize(
    ("stop", "reason", "status"),
    [("stop", "end_turn", "finished"), ("length", "max_tokens", "failed"), ("aborted", "cancelled", "stopped"),
     ("toolUse", "end_turn", "finished")],
)  # fmt: skip
def test_each_stop_reason_is_an_end_of_its_own(stop: str, reason: str, status: str) -> None:
    t = Talk().prompt()
    t.ends(stop)
    assert (t.turn.stop_reason, t.turn.status) == (reason, status)


def test_events_before_the_response_belong_to_the_prompt() -> None:
    t = Talk()
    t.says(Prompt(id="p1", text="go"))
    events = t.hears(AGENT_START, read_by_model("go"))
    assert events[:2] == [ev.TurnStarted("p1"), ev.CommandAnswered("p1", True)]
    assert t.answers("prompt") == []
    assert len(t.transcript.turns()) == 1


def test_the_persons_own_message_is_not_shown_twice() -> None:
    t = Talk().prompt("hello")
    t.hears({"type": "message_start", "message": {"role": "user", "content": "hello"}})
    assert [(e.text, e.status) for e in t.shown("user")] == [("hello", "read")]


def test_a_template_of_the_agents_is_still_the_message_that_was_sent() -> None:
    t = Talk()
    t.says(Prompt(id="p1", text="/review x"))
    t.answers("prompt")
    t.hears(AGENT_START, read_by_model("Please review x with care."))
    assert [(e.text, e.status) for e in t.shown("user")] == [("/review x", "read")]


def test_a_run_without_a_prompt_is_a_turn_the_agent_began() -> None:
    t = Talk()
    custom = {"role": "custom", "customType": "async-result", "content": "done", "display": True}
    t.hears(AGENT_START, {"type": "message_end", "message": custom}, said({"type": "text", "text": "It is done."}))
    t.hears({"type": "agent_end", "isTerminal": True})
    assert t.of(ev.TurnStarted) == [ev.TurnStarted("")]
    assert [n.detail for n in t.shown("notice")] == ["done"]
    assert t.turn.status == "finished"


def test_a_refused_prompt_is_no_turn() -> None:
    t = Talk()
    t.says(Prompt(id="p1", text="go"))
    assert t.refuses("prompt", "No API key found") == [ev.CommandAnswered("p1", False, error="No API key found")]


def test_a_prompt_that_omp_takes_back_ends_with_the_reason() -> None:
    t = Talk()
    t.says(Prompt(id="p1", text="go"))
    t.answers("prompt")
    t.hears({"type": "response", "id": "p1", "command": "prompt", "success": False, "error": "Agent is busy"})
    assert (t.turn.stop_reason, t.turn.error) == ("error", "Agent is busy")
    assert t.shown("user")[0].status == "dropped"


def test_a_prompt_that_omp_takes_back_for_another_run_does_not_end_that() -> None:
    t = Talk()
    t.hears(AGENT_START)
    t.says(Prompt(id="p1", text="go"))
    t.answers("prompt")
    t.hears({"type": "response", "id": "p1", "command": "prompt", "success": False, "error": "Agent is busy"})
    assert t.running
    assert "did not take the prompt" in t.last().text


def test_a_local_command_of_omps_is_over_with_its_response() -> None:
    t = Talk()
    t.says(Prompt(id="p1", text="/model"))
    t.hears({"type": "command_output", "text": "\x1b[31mCurrent model: acme/big\x1b[0m"})
    t.answers("prompt", data={"agentInvoked": False})
    assert (t.running, str(t.shown("message")[0].text)) == (False, "```\nCurrent model: acme/big\n```")
    assert t.shown("user")[0].status == "read"


def test_a_command_of_an_extensions_is_over_with_its_prompt_result() -> None:
    t = Talk()
    t.says(Prompt(id="p1", text="/uidemo"))
    t.answers("prompt")
    assert t.running
    t.hears({"type": "prompt_result", "id": "p1", "agentInvoked": False})
    assert t.turn.status == "finished"


def test_a_command_of_an_extensions_is_over_with_pis_disposition() -> None:
    t = Talk("pi")
    t.says(Prompt(id="p1", text="/uidemo"))
    t.answers("prompt", data={"disposition": "handled"})
    assert t.turn.status == "finished"


def test_a_command_of_an_extensions_in_pi_0_73_is_over_when_its_state_says_so() -> None:
    t = Talk("pi")
    t.says(Prompt(id="p1", text="/uidemo"))
    t.answers("prompt")
    t.wake("omp:probe")
    t.answers("get_state", data={**STATE, "isStreaming": False})
    assert t.turn.status == "finished"


def test_a_dialog_shows_that_a_prompt_was_taken_up_though_pi_answers_only_after_it() -> None:
    t = Talk("pi")
    t.says(Prompt(id="p1", text="/uidemo"))
    events = t.dialog("d1", "confirm", title="Sure?", message="Really?")
    assert ev.CommandAnswered("p1", True) in events
    assert t.pending[0].request_id == "d1"


def test_a_steer_and_a_follow_up_wait_in_the_run() -> None:
    t = Talk().prompt()
    assert t.says(Steer(id="s1", text="left")) == [{"id": "s1", "type": "steer", "message": "left"}]
    assert t.says(FollowUp(id="f1", text="then")) == [{"id": "f1", "type": "follow_up", "message": "then"}]
    t.answers("steer")
    t.answers("follow_up")
    assert [e.status for e in t.shown("user")] == ["read", "queued", "queued"]
    t.hears(read_by_model("left"))
    assert [e.status for e in t.shown("user")] == ["read", "read", "queued"]


def test_a_follow_up_may_be_a_run_of_its_own() -> None:
    t = Talk().prompt()
    t.says(FollowUp(id="f1", text="then"))
    t.answers("follow_up")
    t.ends()
    t.hears(AGENT_START, read_by_model("then"))
    t.ends()
    assert [e.status for e in t.transcript.turns()] == ["finished", "finished"]
    assert t.shown("user")[1].turn == 2


def test_a_steer_while_nothing_runs_is_a_prompt() -> None:
    t = Talk("pi")
    assert t.says(Steer(id="s1", text="left")) == [{"id": "s1", "type": "prompt", "message": "left"}]
    t.answers("prompt", data={"disposition": "started"})
    assert t.of(ev.TurnStarted) == [ev.TurnStarted("s1")]


def test_a_prompt_into_a_run_we_did_not_see_begin_is_queued() -> None:
    t = Talk()
    t.hears(AGENT_START)
    (line,) = t.says(Prompt(id="p1", text="go"))
    assert line["streamingBehavior"] == "followUp"


def test_a_steer_that_is_refused_is_dropped() -> None:
    t = Talk().prompt()
    t.says(Steer(id="s1", text="left"))
    assert t.refuses("steer", "no") == [ev.CommandAnswered("s1", False, error="no")]


# ---- stopping --------------------------------------------------------------------------------------------------------


def test_stop_sends_abort_and_the_agents_own_events_end_the_turn() -> None:
    t = Talk().prompt()
    t.written()
    assert t.says(Abort(id="a1")) == [{"id": "a1", "type": "abort"}]
    t.ends("aborted", "Interrupted by user")
    assert t.answers("abort") == [ev.CommandAnswered("a1", True)]
    assert (t.turn.stop_reason, t.turn.error) == ("cancelled", "")


def test_the_answer_to_abort_may_come_before_the_end() -> None:
    t = Talk().prompt()
    t.says(Abort(id="a1"))
    t.answers("abort")
    assert t.running
    t.ends("aborted", isTerminal=True)
    assert t.turn.status == "stopped"


def test_a_stop_before_the_agent_began_ends_the_turn_after_a_moment() -> None:
    t = Talk()
    t.says(Prompt(id="p1", text="/uidemo"))
    t.answers("prompt")
    t.says(Abort(id="a1"))
    t.answers("abort")
    t.wake("omp:end")
    assert t.turn.status == "stopped"


def test_a_stop_with_nothing_running_is_answered_and_that_is_all() -> None:
    t = Talk()
    t.says(Abort(id="a1"))
    assert t.answers("abort") == [ev.CommandAnswered("a1", True)]


def test_open_calls_are_interrupted_by_a_stop() -> None:
    t = Talk().prompt()
    t.calls_tool("c1", "bash", command="sleep 9")
    t.runs("c1", "bash", command="sleep 9")
    t.says(Abort())
    t.ran("c1", "bash", "Command aborted", error=True)
    t.ends("aborted")
    assert t.tool("c1").status == "interrupted"


def test_an_agent_that_does_not_stop_is_told_of_and_may_be_left() -> None:
    t = Talk().prompt()
    t.says(Abort(id="a1"))
    t.wake("omp:slow")
    assert "Stop again" in t.last().text
    t.says(Abort(id="a2"))
    assert (t.running, t.turn.status) == (False, "stopped")


def test_a_stop_that_is_refused_stops_nothing() -> None:
    t = Talk().prompt()
    t.says(Abort(id="a1"))
    assert t.refuses("abort", "no") == [ev.CommandAnswered("a1", False, error="no")]
    t.ends()
    assert t.turn.stop_reason == "end_turn"


def test_what_waits_is_taken_back_from_pi_with_a_stop() -> None:
    t = Talk("pi").prompt()
    t.says(FollowUp(id="f1", text="then"))
    t.written()
    assert [line["type"] for line in t.says(Abort(id="a1"))] == ["clear_queue", "abort"]
    t.answers("clear_queue", data={"steering": [], "followUp": ["then"]})
    assert t.shown("user")[1].status == "dropped"


def test_an_omp_that_cannot_take_back_what_waits_is_spoken_of() -> None:
    t = Talk().prompt()
    t.says(FollowUp(id="f1", text="then"))
    t.written()
    lines = t.says(Abort(id="a1"))
    assert lines[0] == {"id": lines[0]["id"], "type": "remove_queued_message", "message": "then", "queue": "followUp"}
    t.refuses("remove_queued_message", "Unknown command: remove_queued_message")
    assert "after your next prompt" in t.last().text
    assert t.shown("user")[1].status == "queued"


def test_a_stop_while_a_retry_waits_ends_the_waiting_too() -> None:
    t = Talk("pi").prompt()
    t.ends("error", "overloaded", willRetry=True)
    t.hears({"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 2000, "errorMessage": "overloaded"})
    t.written()
    assert [line["type"] for line in t.says(Abort())] == ["abort_retry", "abort"]


def test_closing_cancels_what_is_open_before_it_aborts() -> None:
    t = Talk().prompt()
    t.dialog("d1", "input", title="Name?")
    assert [line.get("type") for line in t.adapter.stop().messages] == ["extension_ui_response", "abort"]
