"""Turns of ACP v2: the agent says by ``state_update`` whether it works; both generations of the draft (pitfall 26)."""

from __future__ import annotations

from typing import Any

import pytest
from acp_talk import V2, Talk

from hm_jupyter import commands as cmd
from hm_jupyter.events import (
    Background,
    CommandAnswered,
    MessagesDropped,
    MessageUpdated,
    SessionUpdated,
    TextAppended,
    TurnEnded,
    TurnStarted,
    Usage,
    UsageReported,
)

END = {"stopReason": "end_turn"}


@pytest.fixture
def talk() -> Talk:
    return Talk().open(V2)


def prompt(talk: Talk, text: str = "hi") -> cmd.Prompt:
    command = cmd.Prompt(text=text)
    talk.does(command)
    return command


def taken(talk: Talk, result: Any = None) -> None:
    talk.answers("session/prompt", {"messageId": "m1"} if result is None else result)


def ended(talk: Talk) -> list[str]:
    return [e.stop_reason for e in talk.told(TurnEnded)]


def prompts(talk: Talk) -> list[str]:
    return [m["params"]["prompt"][0]["text"] for m in talk.messages if m.get("method") == "session/prompt"]


# ---- from the prompt to idle -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("result", [{}, {"messageId": "m1"}, {"messageId": None}])
def test_the_answer_to_a_prompt_is_no_end(talk: Talk, result: Any) -> None:
    """Pitfall 26: ``{}`` in the older draft, ``{"messageId"}`` in the newer."""
    command = prompt(talk)
    taken(talk, result)
    talk.state("running")
    events = talk.told()
    assert TurnStarted(command.id) in events and CommandAnswered(command.id, True) in events
    assert not any(isinstance(e, TurnEnded) for e in events)
    talk.state("idle", **END)
    assert ended(talk) == ["end_turn"]


def test_running_may_come_before_the_answer_and_idle_too(talk: Talk) -> None:
    prompt(talk)
    talk.state("running")
    talk.state("idle", **END)
    assert ended(talk) == ["end_turn"]
    taken(talk)
    assert talk.told(TurnEnded) == [] and talk.wakes == {}


def test_the_prompt_is_read_when_the_agent_says_so_and_shown_once(talk: Talk) -> None:
    """Pitfall 22: the answer and the echo are one reading."""
    prompt(talk)
    assert talk.told(MessageUpdated) == []
    taken(talk)
    talk.updates("user_message", messageId="m1", content=[{"type": "text", "text": "hi"}])
    assert [e.text for e in talk.told(MessageUpdated)] == ["hi"]


def test_a_message_that_carries_attachments_is_read_as_it_is_shown(talk: Talk) -> None:
    """Its words on the wire are not those that are shown: the echo is recognised all the same."""
    talk.does(cmd.Prompt(text="look: [data]", shown="look", attachments=["data"]))
    taken(talk)
    talk.updates("user_message", messageId="m1", content=[{"type": "text", "text": "look: [data]"}])
    assert [e.text for e in talk.told(MessageUpdated)] == ["look"]


def test_waiting_for_a_person_is_work(talk: Talk) -> None:
    prompt(talk)
    taken(talk)
    for state in ("running", "requires_action", "running", "something_new", "unknown"):
        talk.state(state)
    assert ended(talk) == []
    talk.state("idle", **END)
    assert ended(talk) == ["end_turn"]


def test_an_unknown_state_is_work_not_the_end(talk: Talk) -> None:
    prompt(talk)
    talk.state("hibernating", stopReason="end_turn")
    assert ended(talk) == []


def test_repeated_snapshots_end_nothing_twice(talk: Talk) -> None:
    prompt(talk)
    talk.state("running")
    for _ in range(3):
        talk.state("idle", **END)
    assert ended(talk) == ["end_turn"]
    prompt(talk, "again")
    assert [type(e) for e in talk.told() if isinstance(e, (TurnStarted, TurnEnded))] == [TurnStarted]


def test_an_idle_of_before_does_not_end_the_new_turn(talk: Talk) -> None:
    """An old snapshot may be told again after our prompt was taken and before the work begins."""
    prompt(talk)
    talk.state("idle", **END, background=[])
    taken(talk)
    talk.state("idle", **END, background=[])
    assert ended(talk) == []
    talk.state("running")
    assert talk.wakes == {}
    talk.state("idle", stopReason="max_tokens")
    assert ended(talk) == ["max_tokens"]


def test_a_prompt_that_needed_no_work_is_over_after_a_while(talk: Talk) -> None:
    prompt(talk, "/clear")
    taken(talk)
    talk.state("idle", **END)
    assert ended(talk) == []
    [alarm] = talk.wakes
    assert talk.wakes[alarm] == 3
    talk.rings(alarm)
    assert ended(talk) == ["end_turn"]


def test_an_idle_told_before_the_prompt_was_taken_counts_once_it_is(talk: Talk) -> None:
    prompt(talk)
    talk.state("idle", **END)
    assert talk.wakes == {}
    taken(talk)
    [alarm] = talk.wakes
    talk.rings(alarm)
    assert ended(talk) == ["end_turn"]


@pytest.mark.parametrize(
    ("said", "ours"),
    [({"stopReason": r}, r) for r in ("end_turn", "cancelled", "max_tokens", "refusal")]
    + [({"stopReason": "max_turn_requests"}, "max_steps"), ({}, "end_turn"), ({"stopReason": "_vendor"}, "end_turn")],
)
def test_stop_reasons(talk: Talk, said: dict[str, Any], ours: str) -> None:
    prompt(talk)
    talk.state("running")
    talk.state("idle", **said)
    assert ended(talk) == [ours]


@pytest.mark.parametrize("error", [{"code": -32603, "message": "no model"}, "no model", None])
def test_a_turn_that_failed_says_why(talk: Talk, error: Any) -> None:
    prompt(talk)
    talk.state("running")
    talk.state("idle", stopReason="error", error=error)
    [end] = talk.told(TurnEnded)
    assert end.stop_reason == "error" and ("no model" in end.error or error is None)


def test_what_comes_while_idle_is_told_and_begins_no_turn(talk: Talk) -> None:
    """Pitfall 8."""
    prompt(talk)
    talk.state("running")
    talk.state("idle", **END)
    talk.told()
    talk.updates("agent_message_chunk", messageId="m9", content={"type": "text", "text": "late"})
    events = talk.told()
    assert [e.text for e in events if isinstance(e, TextAppended)] == ["late"]
    assert not any(isinstance(e, TurnStarted) for e in events)


def test_a_turn_the_agent_begins_itself(talk: Talk) -> None:
    talk.state("running")
    talk.updates("agent_message", messageId="m1", content=[{"type": "text", "text": "I woke up"}])
    talk.state("idle", **END)
    turns = [e for e in talk.told() if isinstance(e, (TurnStarted, TurnEnded))]
    assert turns == [TurnStarted(""), TurnEnded("end_turn")]
    assert prompts(talk) == []


def test_the_tokens_of_a_turn_are_told(talk: Talk) -> None:
    prompt(talk)
    talk.state("running")
    talk.state("idle", **END, usage={"inputTokens": 7, "outputTokens": 2, "totalTokens": 9})
    assert talk.told(UsageReported) == [UsageReported(Usage(7, 2))]


# ---- failing -------------------------------------------------------------------------------------------------------


def test_a_prompt_refused_before_it_was_taken_ends_its_turn(talk: Talk) -> None:
    prompt(talk)
    talk.answers("session/prompt", error={"code": -32602, "message": "bad content"})
    [end] = talk.told(TurnEnded)
    assert end.stop_reason == "error" and "bad content" in end.error


def test_a_prompt_refused_while_the_agent_works_ends_with_that_work(talk: Talk) -> None:
    prompt(talk)
    talk.state("running")
    talk.answers("session/prompt", error={"code": -32600, "message": "busy"})
    assert ended(talk) == []
    talk.state("idle", **END)
    [end] = [e for e in talk.events if isinstance(e, TurnEnded)]
    assert end.stop_reason == "error" and "busy" in end.error


def test_a_prompt_refused_by_an_agent_that_never_says_idle_ends_all_the_same(talk: Talk) -> None:
    prompt(talk)
    talk.state("running")
    talk.answers("session/prompt", error={"code": -32600, "message": "busy"})
    [alarm] = talk.wakes
    talk.rings(alarm)
    assert ended(talk) == ["error"]


# ---- stopping ------------------------------------------------------------------------------------------------------


def test_stopping_is_confirmed_by_idle(talk: Talk) -> None:
    """Pitfall 14."""
    prompt(talk)
    taken(talk)
    talk.state("running")
    talk.does(cmd.Abort())
    talk.does(cmd.FollowUp(text="next"))
    assert len(talk.sent("session/cancel")) == 1
    assert ended(talk) == [] and prompts(talk) == ["hi"]
    talk.state("idle", stopReason="cancelled")
    assert ended(talk)[0] == "cancelled"
    assert prompts(talk) == ["hi", "next"]


def test_a_prompt_stopped_before_any_work_began_is_over_at_once(talk: Talk) -> None:
    """The TypeScript SDK's v2 agent then says idle without ever having said running; three seconds were waited."""
    prompt(talk)
    talk.does(cmd.Abort())
    taken(talk)
    talk.state("idle", stopReason="cancelled")
    assert ended(talk) == ["cancelled"]


def test_a_prompt_that_was_never_taken_is_cancelled_by_its_error(talk: Talk) -> None:
    """ACP v2: prompts that were not inserted get -32800."""
    prompt(talk)
    talk.does(cmd.Abort())
    talk.answers("session/prompt", error={"code": -32800, "message": "cancelled"})
    assert ended(talk) == ["cancelled"]


@pytest.mark.parametrize("said", [{"stopReason": "end_turn"}, {"stopReason": "error", "error": {"message": "x"}}, {}])
def test_however_the_agent_ends_what_was_stopped_it_was_stopped(talk: Talk, said: dict[str, Any]) -> None:
    prompt(talk)
    talk.state("running")
    talk.does(cmd.Abort())
    talk.state("idle", **said)
    assert talk.told(TurnEnded) == [TurnEnded("cancelled")]


def test_steers_and_follow_ups_wait_and_are_dropped_by_stopping(talk: Talk) -> None:
    prompt(talk)
    talk.state("running")
    steer = cmd.Steer(text="also")
    talk.does(steer)
    assert prompts(talk) == ["hi"]
    talk.does(cmd.Abort())
    assert talk.told(MessagesDropped) == [MessagesDropped([steer.id])]


def test_requests_for_leave_are_answered_cancelled_or_taken_back(talk: Talk) -> None:
    """Pitfall 12 in the older draft; in the newer the agent takes them back, and finds them answered."""
    prompt(talk)
    talk.state("running")
    options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
    subject = {"type": "tool_call", "toolCall": {"toolCallId": "c1", "title": "rm"}}
    talk.asks(0, "session/request_permission", sessionId="s1", title="Run?", subject=subject, options=options)
    talk.does(cmd.Abort())
    reply = talk.reply(0)
    assert reply is not None and reply["result"] == {"outcome": {"outcome": "cancelled"}}
    talk.tells("$/cancel_request", requestId=0)
    assert sum(1 for m in talk.messages if m.get("id") == 0) == 1


# ---- background work -----------------------------------------------------------------------------------------------


def test_work_that_outlives_the_turn_is_shown_and_can_be_stopped(talk: Talk) -> None:
    """Pitfall 27."""
    prompt(talk)
    talk.state("running")
    talk.updates("tool_call_update", toolCallId="c1", title="Watch files", capabilities={"cancel": {}})
    talk.updates("terminal_update", terminalId="t1", command="npm run dev", capabilities={"cancel": {}})
    items = [{"type": "tool_call", "toolCallId": "c1"}, {"type": "terminal", "terminalId": "t1"}, {"type": "_x"}, 5]
    talk.state("idle", **END, background=items)
    [told] = [e.changes["background"] for e in talk.told(SessionUpdated) if "background" in e.changes]
    assert told == [
        Background("tool", "c1", "Watch files", True),
        Background("terminal", "t1", "npm run dev", True),
        Background("other", "", "_x", False),
    ]
    talk.does(cmd.CancelWork(kind="tool", work="c1"))
    assert talk.last("tool_call/cancel")["params"] == {"sessionId": "s1", "toolCallId": "c1"}
    talk.answers("tool_call/cancel", {})
    talk.does(cmd.CancelWork(kind="terminal", work="t1"))
    assert talk.last("terminal/cancel")["params"] == {"sessionId": "s1", "terminalId": "t1"}
    talk.answers("terminal/cancel", error={"code": -32602, "message": "ended already"})
    assert [e.ok for e in talk.told(CommandAnswered)] == [True, False]


def test_background_that_is_not_told_of_stays_and_an_empty_list_ends_it(talk: Talk) -> None:
    talk.state("idle", background=[{"type": "terminal", "terminalId": "t1"}])
    talk.state("idle")
    talk.state("idle", background=None)
    talk.state("idle", background=[])
    told = [e.changes["background"] for e in talk.told(SessionUpdated) if "background" in e.changes]
    assert told == [[Background("terminal", "t1", "terminal", False)], []]
    assert talk.told(TurnStarted) == []


# ---- taking up -----------------------------------------------------------------------------------------------------


def test_a_state_told_before_the_session_is_answered_counts(talk: Talk) -> None:
    """Pitfall 10, and: the result of session/new does not mean idle."""
    talk = Talk()
    talk.answers("initialize", V2)
    talk.state("running")
    talk.answers("session/new", {"sessionId": "s1"})
    assert talk.told(TurnStarted) == [TurnStarted("")]


def test_a_session_taken_up_shows_its_history_and_goes_on_with_what_runs() -> None:
    talk = Talk(resume="s1")
    talk.answers("initialize", V2)
    talk.updates("user_message", messageId="u1", content=[{"type": "text", "text": "earlier"}])
    talk.updates("agent_message", messageId="a1", content=[{"type": "text", "text": "before"}])
    talk.state("running")
    talk.answers("session/resume", {})
    turns = [e for e in talk.told() if isinstance(e, (TurnStarted, TurnEnded))]
    assert turns[0].earlier and not any(isinstance(e, TurnEnded) for e in turns)
    talk.state("idle", **END)
    assert ended(talk) == ["end_turn"]
