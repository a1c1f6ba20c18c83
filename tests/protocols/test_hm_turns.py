"""Turns and sessions on the hm wire: when one begins, when it is over, and what ends with it."""

from __future__ import annotations

from typing import Any

import pytest

from hm_jupyter.commands import Abort, FollowUp, Prompt, Steer
from hm_jupyter.events import (
    ApprovalResolved,
    CommandAnswered,
    CompactionEnded,
    CompactionStarted,
    MessagesDropped,
    NoticeRaised,
    QuestionResolved,
    SessionEnded,
    SessionStarted,
    SessionUpdated,
    TextAppended,
    TurnEnded,
    TurnStarted,
    UnknownReceived,
    UsageReported,
)

END = {"type": "turn_end"}
SHELL = {"type": "tool_call", "tool": "shell", "call_id": "c1", "summary": "ls", "input": {"command": "ls"}}
ASKS = {"type": "approval_needed", "call_id": "c1", "tool": "shell"}
QUESTION = {"type": "question", "call_id": "c2", "text": "which?"}


def user(text: str) -> dict[str, Any]:
    return {"type": "message_end", "role": "user", "text": text}


def test_there_is_nothing_to_send_first_and_session_start_is_readiness(talk: Any) -> None:
    step = talk.adapter.start()
    assert (step.events, step.messages) == ([], [])
    events = talk.hears(
        {"v": 1, "type": "session_start", "session": "S1", "time": "T", "root": "/app", "mode": "auto",
         "provider": "demo", "model": "m", "resumed": True, "prompt": ""}
    )  # fmt: skip
    assert events == [SessionStarted("S1", "/app", "auto", "demo", "m", True)]


def test_the_extensions_of_session_start_update_the_session(talk: Any) -> None:
    _, event = talk.hears(
        {"type": "session_start", "session": "S1", "modes": ["auto", 3, "plan"], "models": [], "title": "x"}
    )
    assert event == SessionUpdated({"modes": ["auto", "plan"], "models": [], "title": "x"})


def test_a_second_session_start_is_a_fork_and_no_second_start(turn: Any) -> None:
    turn.hears(END)
    assert turn.hears({"type": "session_start", "session": "S2"}) == [SessionStarted("S2")]
    assert turn.ok(turn.sends(Prompt(id="p", text="on")))[0] == TurnStarted("p")


def test_a_turn_starts_with_its_prompts_response_and_ends_only_with_turn_end(talk: Any) -> None:
    line = talk.sends(Prompt(id="p", text="go"))
    assert talk.ok(line) == [TurnStarted("p"), CommandAnswered("p", True)]
    assert talk.hears({"type": "text_delta", "text": "late"})[-1].text == "late"
    assert talk.hears(END) == [TurnEnded("end_turn")]


def test_a_refused_second_prompt_disturbs_nothing(turn: Any) -> None:
    line = turn.sends(Prompt(id="p2", text="me too"))
    why = "a turn is running; steer it or queue a follow-up"
    assert turn.refuses(line, why) == [MessagesDropped(["p2"]), CommandAnswered("p2", False, error=why)]
    assert turn.hears({"type": "text_delta", "text": "on"}) == [TextAppended("m2", "on")]
    assert turn.hears(END) == [TurnEnded("end_turn")]
    assert turn.ok(turn.sends(Prompt(id="p3", text="now")))[0] == TurnStarted("p3")


def test_a_follow_up_inside_the_turn_starts_no_new_one(turn: Any) -> None:
    turn.ok(turn.sends(FollowUp(id="f", text="report")))
    events = turn.hears(user("report"), {"type": "text_delta", "text": "done"}, END)
    assert [type(event).__name__ for event in events] == ["MessageUpdated", "TextAppended", "TurnEnded"]


@pytest.mark.parametrize(
    "line",
    [
        user("report"),
        {"type": "message_start", "role": "assistant"},
        {"type": "message_end", "role": "assistant", "text": "hi"},
        {"type": "text_delta", "text": "hi"},
        {"type": "thinking_delta", "text": "hm"},
        {"type": "tool_start", "tool": "shell"},
        SHELL,
        ASKS,
        QUESTION,
    ],
)
def test_what_comes_after_turn_end_is_a_turn_of_its_own(turn: Any, line: Any) -> None:
    turn.ok(turn.sends(FollowUp(id="f", text="report")))
    turn.hears(END)
    assert turn.hears(line)[0] == TurnStarted("")
    assert turn.hears(END)[-1] == TurnEnded("end_turn")


@pytest.mark.parametrize(
    "line",
    [
        {"type": "usage", "input": 1},
        {"type": "tool_result", "call_id": "c9", "text": "late"},
        {"type": "compaction_start"},
        {"type": "weather_changed"},
        {"type": "message_end", "role": "assistant", "text": ""},
    ],
)
def test_what_may_come_while_idle_starts_no_turn(turn: Any, line: Any) -> None:
    turn.hears(END)
    assert not any(isinstance(event, TurnStarted) for event in turn.hears(line))


def test_a_turn_whose_prompts_response_is_late_starts_once(talk: Any) -> None:
    line = talk.sends(Prompt(id="p", text="go"))
    assert talk.hears(user("go"))[0] == TurnStarted("p")
    assert talk.ok(line) == [CommandAnswered("p", True)]
    assert talk.hears(END) == [TurnEnded("end_turn")]


def test_a_prompts_response_even_after_the_turns_end_starts_nothing(talk: Any) -> None:
    line = talk.sends(Prompt(id="p", text="go"))
    talk.hears(user("go"), END)
    assert talk.ok(line) == [CommandAnswered("p", True)]


def test_an_accepted_prompt_says_that_a_turn_of_the_agents_own_is_over(talk: Any) -> None:
    talk.hears({"type": "text_delta", "text": "by myself"})
    events = talk.ok(talk.sends(Prompt(id="p", text="go")))
    assert events == [TurnEnded("end_turn"), TurnStarted("p"), CommandAnswered("p", True)]


def test_a_turn_end_while_none_runs_is_nothing(talk: Any) -> None:
    assert talk.hears(END) == []


def test_a_turn_that_was_aborted_ends_as_cancelled_and_takes_down_what_waits(turn: Any) -> None:
    turn.hears(SHELL, ASKS, QUESTION)
    turn.ok(turn.sends(Steer(id="s", text="a")))
    turn.ok(turn.sends(FollowUp(id="f", text="b")))
    line = turn.sends(Abort(id="a"))
    assert line == {"id": "a", "type": "abort"}
    assert turn.ok(line) == [MessagesDropped(["s", "f"]), CommandAnswered("a", True)]
    assert turn.hears(END) == [
        ApprovalResolved("c1", "interrupted"),
        QuestionResolved("c2", "interrupted", by="agent"),
        TurnEnded("cancelled"),
    ]


def test_the_turn_after_an_aborted_one_ends_as_usual(turn: Any) -> None:
    turn.ok(turn.sends(Abort(id="a")))
    assert turn.hears(END) == [TurnEnded("cancelled")]
    turn.ok(turn.sends(Prompt(id="p", text="again")))
    assert turn.hears(END) == [TurnEnded("end_turn")]


def test_an_abort_answered_after_the_turns_end_cancelled_it_all_the_same(turn: Any) -> None:
    line = turn.sends(Abort(id="a"))
    assert turn.hears(END) == [TurnEnded("cancelled")]
    assert turn.ok(line) == [CommandAnswered("a", True)]


def test_an_abort_while_idle_harms_no_later_turn(talk: Any) -> None:
    talk.ok(talk.sends(Abort(id="a")))
    talk.ok(talk.sends(Prompt(id="p", text="go")))
    assert talk.hears(END) == [TurnEnded("end_turn")]


def test_a_second_abort_that_is_refused_takes_nothing_back(turn: Any) -> None:
    turn.ok(turn.sends(Abort(id="a1")))
    turn.refuses(turn.sends(Abort(id="a2")))
    assert turn.hears(END) == [TurnEnded("cancelled")]


def test_an_abort_that_is_refused_cancels_nothing(turn: Any) -> None:
    turn.refuses(turn.sends(Abort(id="a")))
    assert turn.hears(END) == [TurnEnded("end_turn")]


def test_an_abort_behind_a_prompt_that_is_refused_harms_no_later_turn(talk: Any) -> None:
    prompt, abort = talk.sends(Prompt(id="p", text="go")), talk.sends(Abort(id="a"))
    talk.refuses(prompt)
    talk.ok(abort)
    talk.ok(talk.sends(Prompt(id="p2", text="again")))
    assert talk.hears(END) == [TurnEnded("end_turn")]


def test_an_abort_right_behind_a_prompt_cancels_its_turn(talk: Any) -> None:
    prompt, abort = talk.sends(Prompt(id="p", text="go")), talk.sends(Abort(id="a"))
    talk.ok(prompt)
    talk.ok(abort)
    assert talk.hears(END) == [TurnEnded("cancelled")]


def test_an_abort_drops_only_what_was_queued_before_it_and_not_yet_read(turn: Any) -> None:
    turn.ok(turn.sends(Steer(id="read", text="a")))
    turn.hears(user("a"))
    turn.ok(turn.sends(Steer(id="queued", text="b")))
    abort = turn.sends(Abort(id="a"))
    turn.sends(Steer(id="later", text="c"))
    assert turn.ok(abort)[0] == MessagesDropped(["queued"])


def test_a_message_that_comes_back_word_for_word_is_that_one(turn: Any) -> None:
    turn.ok(turn.sends(Steer(id="first", text="a")))
    turn.ok(turn.sends(Steer(id="second", text="b")))
    turn.hears(user("b"))
    assert turn.ok(turn.sends(Abort(id="x")))[0] == MessagesDropped(["first"])


def test_a_prompt_that_never_came_back_is_not_waited_for_after_its_turn(talk: Any) -> None:
    talk.ok(talk.sends(Prompt(id="p", text="go")))
    talk.hears(END)
    talk.ok(talk.sends(Steer(id="s", text="a")))
    talk.hears(user("the person says: a"))
    assert talk.ok(talk.sends(Abort(id="x"))) == [CommandAnswered("x", True)]


def test_a_prompt_refused_in_an_aborted_turn_takes_nothing_back(turn: Any) -> None:
    turn.ok(turn.sends(Abort(id="a")))
    turn.refuses(turn.sends(Prompt(id="p2", text="too early")))
    assert turn.hears(END) == [TurnEnded("cancelled")]


def test_a_message_that_comes_back_in_other_words_is_the_oldest_unread_one(turn: Any) -> None:
    turn.ok(turn.sends(Steer(id="first", text="a")))
    turn.ok(turn.sends(Steer(id="second", text="b")))
    turn.hears(user("the person says: a"))
    assert turn.ok(turn.sends(Abort(id="x")))[0] == MessagesDropped(["second"])


def test_a_steer_the_agent_refuses_never_reaches_the_model(turn: Any) -> None:
    events = turn.refuses(turn.sends(Steer(id="s", text="a")), "not a picture")
    assert events == [MessagesDropped(["s"]), CommandAnswered("s", False, error="not a picture")]


def test_a_turn_end_may_say_why(turn: Any) -> None:
    assert turn.hears({**END, "stop_reason": "max_steps"}) == [TurnEnded("max_steps")]


def test_a_turn_end_with_an_error_says_it(turn: Any) -> None:
    assert turn.hears({**END, "error": "no credit"}) == [TurnEnded("error", "no credit")]


def test_a_stop_reason_nobody_knows_is_an_ordinary_end(turn: Any) -> None:
    assert turn.hears({**END, "stop_reason": "tired"}) == [TurnEnded("end_turn")]


def test_stopping_at_once_is_an_abort(turn: Any) -> None:
    step = turn.adapter.stop()
    assert [line["type"] for line in step.messages] == ["abort"]
    assert turn.hears(END) == [TurnEnded("cancelled")]


def test_the_goodbye_tells_its_sum_but_does_not_add_it_up_again(turn: Any) -> None:
    turn.hears(END)
    events = turn.hears(
        {"type": "session_end", "answer": "ok", "exit_code": 0, "refused": [{"any": "json"}],
         "usage": {"input": 9, "output": 1, "cache_read": 0, "cache_write": 0, "cost": 0.1}}
    )  # fmt: skip
    assert not any(isinstance(event, UsageReported) for event in events)
    (end,) = events
    assert isinstance(end, SessionEnded)
    assert (end.exit_code, end.answer, end.refused) == (0, "ok", [{"any": "json"}])
    assert end.usage is not None
    assert end.usage.input == 9


def test_a_goodbye_in_mid_turn_ends_the_turn_first(turn: Any) -> None:
    ended, goodbye = turn.hears({"type": "session_end", "exit_code": 130})
    assert ended.stop_reason == "agent_exited"
    assert "start it again" in ended.error
    assert goodbye.exit_code == 130


def test_a_compaction_is_told_whatever_its_fields(talk: Any) -> None:
    assert talk.hears({"type": "compaction_start"}, {"type": "compaction_end"}) == [
        CompactionStarted(),
        CompactionEnded(),
    ]
    assert talk.hears({"type": "compaction_start", "focus": 3}, {"type": "compaction_end", "error": "no"}) == [
        CompactionStarted(),
        CompactionEnded(error="no"),
    ]


def test_a_compaction_may_say_what_is_left(talk: Any) -> None:
    events = talk.hears({"type": "compaction_end", "summary": "short", "context": 120})
    assert events == [CompactionEnded("short"), SessionUpdated({"context": 120})]


def test_an_event_nobody_knows_is_kept_and_the_session_goes_on(turn: Any) -> None:
    line = {"type": "weather_changed", "wind": "NW"}
    assert turn.hears(line) == [UnknownReceived("weather_changed", line)]
    assert turn.hears(END) == [TurnEnded("end_turn")]


@pytest.mark.parametrize("value", [42, None, [], "noise", {}, {"type": 3}, {"type": None}, {"type": []}, {"type": ""}])
def test_what_is_no_event_at_all_is_a_notice(turn: Any, value: Any) -> None:
    (event,) = turn.hears(value)
    assert isinstance(event, NoticeRaised)
    assert turn.hears(END) == [TurnEnded("end_turn")]
