"""Turns of ACP v1: as long as the prompt is unanswered; one at a time; stopped once, and everything that waits with them."""

from __future__ import annotations

from typing import Any

import pytest
from acp_talk import OPTIONS, V1, Talk

from hm_jupyter import commands as cmd
from hm_jupyter.errors import NotWaiting
from hm_jupyter.events import (
    ApprovalRequested,
    ApprovalResolved,
    CommandAnswered,
    MessagesDropped,
    MessageUpdated,
    NoticeRaised,
    QuestionResolved,
    TextAppended,
    TurnEnded,
    TurnStarted,
    Usage,
    UsageReported,
)

CANCELLED = {"outcome": {"outcome": "cancelled"}}


@pytest.fixture
def talk() -> Talk:
    return Talk().open(V1)


def prompt(talk: Talk, text: str = "hi") -> cmd.Prompt:
    command = cmd.Prompt(text=text)
    talk.does(command)
    return command


def ends(talk: Talk, reason: Any = "end_turn", **more: Any) -> None:
    talk.answers("session/prompt", {"stopReason": reason, **more})


def prompts(talk: Talk) -> list[str]:
    return [m["params"]["prompt"][0]["text"] for m in talk.messages if m.get("method") == "session/prompt"]


# ---- from the prompt to its answer ---------------------------------------------------------------------------------


def test_a_prompt_begins_its_turn_and_its_answer_ends_it(talk: Talk) -> None:
    command = prompt(talk)
    assert talk.last("session/prompt")["params"] == {"sessionId": "s1", "prompt": [{"type": "text", "text": "hi"}]}
    events = talk.told()
    assert events[:2] == [CommandAnswered(command.id, True), TurnStarted(command.id)]
    assert any(isinstance(e, MessageUpdated) and e.role == "user" and e.text == "hi" for e in events)
    ends(talk)
    assert talk.told()[-1] == TurnEnded("end_turn")


def test_a_prompt_may_take_as_long_as_it_likes(talk: Talk) -> None:
    prompt(talk)
    assert talk.wakes == {}


@pytest.mark.parametrize(
    ("said", "ours"),
    [
        ("end_turn", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("max_turn_requests", "max_steps"),
        ("refusal", "refusal"),
        ("cancelled", "cancelled"),
        (None, "end_turn"),
        (5, "end_turn"),
    ],
)
def test_every_stop_reason_has_a_meaning(talk: Talk, said: Any, ours: str) -> None:
    prompt(talk)
    ends(talk, said)
    assert [e.stop_reason for e in talk.told(TurnEnded)] == [ours]


def test_a_stop_reason_nobody_knows_ends_the_turn_and_is_said(talk: Talk) -> None:
    prompt(talk)
    ends(talk, "budget_spent")
    events = talk.told()
    assert events[-1] == TurnEnded("end_turn")
    assert any(isinstance(e, NoticeRaised) and "budget_spent" in e.text for e in events)


def test_a_null_answer_ends_the_turn(talk: Talk) -> None:
    prompt(talk)
    talk.answers("session/prompt", None)
    assert talk.told(TurnEnded) == [TurnEnded("end_turn")]


def test_a_prompt_that_fails_says_why(talk: Talk) -> None:
    prompt(talk)
    talk.answers("session/prompt", error={"code": 500, "message": "Internal error", "data": {"details": "no model"}})
    [ended] = talk.told(TurnEnded)
    assert ended.stop_reason == "error" and "no model" in ended.error


def test_a_prompt_that_wants_a_sign_in_says_so(talk: Talk) -> None:
    prompt(talk)
    talk.answers("session/prompt", error={"code": -32000, "message": "token expired"})
    assert "sign in" in talk.told(TurnEnded)[0].error


def test_the_answer_ends_the_turn_after_all_that_came_before_it(talk: Talk) -> None:
    """Pitfall 9: what was said before the answer is told before the end, in its order."""
    prompt(talk)
    for n in range(50):
        talk.says(f"{n} ")
    ends(talk)
    events = talk.told()
    assert "".join(e.text for e in events if isinstance(e, TextAppended)) == "".join(f"{n} " for n in range(50))
    assert isinstance(events[-1], TurnEnded)


def test_what_comes_after_the_answer_is_still_told(talk: Talk) -> None:
    """Pitfall 8: updates after the prompt's answer are legal, and begin no turn of their own."""
    prompt(talk)
    ends(talk)
    talk.told()
    talk.says("one more thing")
    talk.updates("usage_update", used=1, size=2)
    events = talk.told()
    assert any(isinstance(e, TextAppended) and e.text == "one more thing" for e in events)
    assert not any(isinstance(e, (TurnStarted, TurnEnded)) for e in events)


def test_the_tokens_of_a_turn_are_told(talk: Talk) -> None:
    prompt(talk)
    usage = {"inputTokens": 10, "outputTokens": 4, "cachedReadTokens": 3, "cachedWriteTokens": None, "totalTokens": 17}
    ends(talk, usage=usage)
    assert talk.told(UsageReported) == [UsageReported(Usage(10, 4, 3, 0))]


@pytest.mark.parametrize(
    "usage", [None, 5, {}, {"inputTokens": "x", "outputTokens": -1}, {"inputTokens": float("nan")}]
)
def test_tokens_that_cannot_be_read_are_none(talk: Talk, usage: Any) -> None:
    prompt(talk)
    ends(talk, usage=usage)
    assert talk.told(UsageReported) == []


# ---- one at a time -------------------------------------------------------------------------------------------------


def test_steers_and_follow_ups_wait_and_go_one_after_the_other(talk: Talk) -> None:
    prompt(talk, "first")
    steer, follow = cmd.Steer(text="second"), cmd.FollowUp(text="third")
    talk.does(steer)
    talk.does(follow)
    assert prompts(talk) == ["first"]
    assert CommandAnswered(steer.id, True) in talk.told()
    ends(talk)
    assert prompts(talk) == ["first", "second"]
    events = talk.told()
    assert [type(e) for e in events if isinstance(e, (TurnEnded, TurnStarted))] == [TurnEnded, TurnStarted]
    assert TurnStarted(steer.id) in events
    assert [e.text for e in events if isinstance(e, MessageUpdated) and e.role == "user"] == ["second"]
    ends(talk)
    assert prompts(talk) == ["first", "second", "third"]


@pytest.mark.parametrize("reason", ["cancelled", "refusal", "max_tokens"])
def test_what_waits_goes_on_after_a_turn_that_the_agent_ended(talk: Talk, reason: str) -> None:
    prompt(talk, "first")
    talk.does(cmd.FollowUp(text="second"))
    ends(talk, reason)
    assert prompts(talk) == ["first", "second"]


def test_a_steer_while_idle_is_a_prompt(talk: Talk) -> None:
    talk.does(cmd.Steer(text="go"))
    assert prompts(talk) == ["go"]


# ---- stopping ------------------------------------------------------------------------------------------------------


def test_stopping_sends_one_cancel_and_the_agents_answer_ends_the_turn(talk: Talk) -> None:
    """Pitfall 14: one cancel a turn, however often Stop is pressed."""
    prompt(talk)
    for _ in range(3):
        talk.does(cmd.Abort())
    assert [m["params"] for m in talk.sent("session/cancel")] == [{"sessionId": "s1"}]
    ends(talk, "cancelled")
    assert [e.stop_reason for e in talk.told(TurnEnded)] == ["cancelled"]


def test_nothing_is_stopped_where_nothing_runs(talk: Talk) -> None:
    """Pitfall 14: a late cancel would hit the next prompt."""
    command = cmd.Abort()
    talk.does(command)
    prompt(talk)
    ends(talk)
    talk.does(cmd.Abort())
    assert talk.sent("session/cancel") == []
    assert CommandAnswered(command.id, True) in talk.told()


@pytest.mark.parametrize("answer", ["error", "end_turn", "null"])
def test_however_the_agent_ends_what_was_stopped_it_was_stopped(talk: Talk, answer: str) -> None:
    prompt(talk)
    talk.does(cmd.Abort())
    if answer == "error":
        talk.answers("session/prompt", error={"code": -32603, "message": "aborted"})
    else:
        talk.answers("session/prompt", {"stopReason": answer} if answer != "null" else None)
    assert talk.told(TurnEnded) == [TurnEnded("cancelled")]


def test_what_waits_is_dropped_by_stopping(talk: Talk) -> None:
    prompt(talk)
    steer, follow = cmd.Steer(text="a"), cmd.FollowUp(text="b")
    talk.does(steer)
    talk.does(follow)
    talk.does(cmd.Abort())
    assert talk.told(MessagesDropped) == [MessagesDropped([steer.id, follow.id])]
    ends(talk, "cancelled")
    assert len(prompts(talk)) == 1


def test_every_request_for_leave_is_answered_cancelled_at_once(talk: Talk) -> None:
    """Pitfall 12: agents wait for ever for an answer that never comes."""
    prompt(talk)
    talk.asks_leave(0, "c1")
    talk.asks_leave("uuid", "c2")
    talk.does(cmd.Abort())
    for rpc_id in (0, "uuid"):
        reply = talk.reply(rpc_id)
        assert reply is not None and reply["result"] == CANCELLED
    assert [e.outcome for e in talk.told(ApprovalResolved)] == ["interrupted", "interrupted"]


def test_a_request_that_comes_while_stopping_is_answered_and_never_shown(talk: Talk) -> None:
    """Pitfall 12."""
    prompt(talk)
    talk.does(cmd.Abort())
    talk.told()
    talk.asks_leave(7)
    talk.asks(8, "elicitation/create", sessionId="s1", message="?", mode="form", requestedSchema={"type": "object"})
    assert [(talk.reply(n) or {})["result"] for n in (7, 8)] == [CANCELLED, {"action": "cancel"}]
    assert talk.told() == []


def test_a_turn_that_ends_with_a_request_open_takes_it_down(talk: Talk) -> None:
    """Pitfall 13: a decision belongs to its turn."""
    prompt(talk)
    talk.asks_leave(1)
    [asked] = talk.told(ApprovalRequested)
    ends(talk)
    reply = talk.reply(1)
    assert reply is not None and reply["result"] == CANCELLED
    with pytest.raises(NotWaiting):
        talk.does(cmd.Approve(request_id=asked.request_id, allow=True))
    assert sum(1 for m in talk.messages if m.get("id") == 1 and "result" in m) == 1


def test_a_slow_agent_is_said_to_be_slow_and_left_behind_on_request(talk: Talk) -> None:
    """Pitfall 14: the next prompt waits until the agent has ended the cancelled turn."""
    prompt(talk, "first")
    talk.does(cmd.Abort())
    [alarm] = talk.wakes
    talk.rings(alarm)
    assert "Stop again" in talk.told(NoticeRaised)[0].text
    talk.does(cmd.Abort())
    assert talk.told(TurnEnded) == [TurnEnded("cancelled")]
    prompt(talk, "second")
    assert prompts(talk) == ["first"]
    ends(talk, "cancelled")
    assert prompts(talk) == ["first", "second"]
    assert [type(e) for e in talk.told() if isinstance(e, (TurnStarted, TurnEnded))] == [TurnStarted]
    ends(talk)
    assert talk.told(TurnEnded) == [TurnEnded("end_turn")]


def test_a_prompt_that_waits_for_a_slow_agent_can_be_stopped_too(talk: Talk) -> None:
    prompt(talk, "first")
    talk.does(cmd.Abort())
    talk.does(cmd.Abort())
    talk.told()
    second = prompt(talk, "second")
    talk.does(cmd.Abort())
    events = talk.told()
    assert MessagesDropped([second.id]) in events and TurnEnded("cancelled") in events
    ends(talk, "cancelled")
    assert prompts(talk) == ["first"] and len(talk.sent("session/cancel")) == 1


def test_the_alarm_goes_with_the_turn(talk: Talk) -> None:
    prompt(talk)
    talk.does(cmd.Abort())
    ends(talk, "cancelled")
    assert talk.wakes == {}


def test_closing_stops_the_turn_and_answers_what_waits(talk: Talk) -> None:
    prompt(talk)
    talk.asks_leave(1)
    step = talk.take(talk.adapter.stop())
    assert step.messages[0]["method"] == "session/cancel"
    reply = talk.reply(1)
    assert reply is not None and reply["result"] == CANCELLED
    assert talk.adapter.stop().messages == []  # stopped already


def test_what_is_asked_while_idle_is_answered_by_stopping(talk: Talk) -> None:
    """Work that outlived its turn may ask; Stop refuses it, and no cancel is sent where no turn runs."""
    talk.asks_leave(1)
    talk.does(cmd.Abort())
    reply = talk.reply(1)
    assert reply is not None and reply["result"] == CANCELLED
    assert talk.sent("session/cancel") == []


def test_idle_there_is_nothing_to_stop(talk: Talk) -> None:
    assert talk.adapter.stop().messages == []
    assert Talk().adapter.stop().messages == []


# ---- decisions -----------------------------------------------------------------------------------------------------


def test_a_denial_selects_the_option_that_rejects_and_never_cancels(talk: Talk) -> None:
    """Pitfall 15: "cancelled" is for work that is cancelled."""
    prompt(talk)
    talk.asks_leave(0)
    [asked] = talk.told(ApprovalRequested)
    talk.does(cmd.Approve(request_id=asked.request_id, allow=False))
    reply = talk.reply(0)
    assert reply is not None and reply["result"] == {"outcome": {"outcome": "selected", "optionId": "no"}}


def test_a_note_on_a_denial_goes_as_the_next_message(talk: Talk) -> None:
    prompt(talk, "first")
    talk.does(cmd.FollowUp(text="later"))
    talk.asks_leave(0)
    [asked] = talk.told(ApprovalRequested)
    talk.does(cmd.Approve(request_id=asked.request_id, allow=False, note="use mv"))
    assert prompts(talk) == ["first"]
    ends(talk, "cancelled")  # several agents end the turn when a call is refused
    assert prompts(talk) == ["first", "use mv"]
    ends(talk)
    assert prompts(talk) == ["first", "use mv", "later"]


def test_an_approval_sends_no_message(talk: Talk) -> None:
    prompt(talk, "first")
    talk.asks_leave(0)
    [asked] = talk.told(ApprovalRequested)
    talk.does(cmd.Approve(request_id=asked.request_id, allow=True, note="fine"))
    ends(talk)
    assert prompts(talk) == ["first"]


def test_a_request_the_agent_takes_back_comes_down_and_a_late_decision_is_not_sent(talk: Talk) -> None:
    """Pitfall 13: ``$/cancel_request`` for a request for leave."""
    prompt(talk)
    talk.asks_leave("a-1")
    [asked] = talk.told(ApprovalRequested)
    talk.tells("$/cancel_request", requestId="a-1")
    assert [e.outcome for e in talk.told(ApprovalResolved)] == ["withdrawn"]
    reply = talk.reply("a-1")
    assert reply is not None and reply["result"] == CANCELLED
    with pytest.raises(NotWaiting):
        talk.does(cmd.Approve(request_id=asked.request_id, allow=True))
    talk.tells("$/cancel_request", requestId="a-1")
    assert sum(1 for m in talk.messages if m.get("id") == "a-1") == 1


def test_a_question_the_agent_takes_back_comes_down(talk: Talk) -> None:
    """Pitfall 13."""
    prompt(talk)
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    talk.asks(3, "elicitation/create", sessionId="s1", message="?", mode="form", requestedSchema=schema)
    talk.tells("$/cancel_request", requestId=3)
    assert [e.outcome for e in talk.told(QuestionResolved)] == ["withdrawn"]
    assert talk.reply(3) is not None


def test_two_requests_about_one_call_are_two_decisions(talk: Talk) -> None:
    """Pitfall 13: a decision is bound to its request, not to the call it is about."""
    prompt(talk)
    talk.asks_leave(1, "same")
    talk.asks_leave(2, "same")
    first, second = talk.told(ApprovalRequested)
    assert first.request_id != second.request_id
    talk.does(cmd.Approve(request_id=second.request_id, allow=True))
    assert talk.reply(2) is not None and talk.reply(1) is None


@pytest.mark.parametrize("params", [{}, {"toolCall": 5, "options": OPTIONS}])
def test_a_request_that_cannot_be_asked_is_answered_with_an_error(talk: Talk, params: dict[str, Any]) -> None:
    prompt(talk)
    talk.asks(4, "session/request_permission", sessionId="s1", **params)
    reply = talk.reply(4)
    assert reply is not None and reply["error"]["code"] == -32602
    assert talk.told(ApprovalRequested) == []


def test_one_cancel_stops_this_session_alone() -> None:
    """Pitfall 16: an agent may cancel all its sessions on one cancel, so every session of ours has an agent to itself:
    another adapter's turn knows nothing of it."""
    first, second = Talk().open(V1), Talk().open(V1, sessionId="s2")
    prompt(first)
    second.does(cmd.Prompt(text="hi"))
    first.does(cmd.Abort())
    assert first.sent("session/cancel") and not second.sent("session/cancel")
    assert not second.told(TurnEnded)


def test_content_the_agent_does_not_take_is_said_and_the_rest_is_sent(talk: Talk) -> None:
    """Pitfall 23."""
    talk.does(cmd.Prompt(text="look", images=[cmd.ImageData(data="aGk=")]))
    assert talk.last("session/prompt")["params"]["prompt"] == [{"type": "text", "text": "look"}]
    assert "picture" in talk.told(NoticeRaised)[0].text


def test_a_session_the_agent_took_up_and_does_not_know_is_told_as_what_it_is() -> None:
    """Pitfall 21: load answered as success for an id nobody knows, then the prompt is refused."""
    talk = Talk(resume="nope")
    talk.answers("initialize", {**V1, "agentCapabilities": {"loadSession": True}})
    talk.answers("session/load", {})
    assert any("told nothing" in e.text for e in talk.told(NoticeRaised))
    prompt(talk)
    ends(talk, "refusal")
    assert [e.stop_reason for e in talk.told(TurnEnded)] == ["refusal"]
