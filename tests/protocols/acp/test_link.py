"""A connection that is lost and comes back: the session is taken up again, no text twice and none missing."""

from __future__ import annotations

from typing import Any

import pytest
from acp_talk import V1, V2, Talk, can

from hm_jupyter import commands as cmd
from hm_jupyter.errors import NotSupported, NotWaiting, TransportError
from hm_jupyter.events import (
    ApprovalRequested,
    ApprovalResolved,
    CommandAnswered,
    Event,
    LinkChanged,
    MessagesDropped,
    NoticeRaised,
    SessionStarted,
    SessionUpdated,
    TurnEnded,
    TurnStarted,
)
from hm_jupyter.session.reducer import reduce
from hm_jupyter.transcript import MessageEntry, ToolEntry, Transcript, TurnEntry, UserEntry

LOADS = can(loadSession=True, session={"list": {}})


def transcript(talk: Talk) -> Transcript:
    """What a person sees after all of it."""
    shown = Transcript()
    for event in talk.events:
        for op in reduce(shown, event, 0.0):
            shown.apply(op)
    return shown


def words(talk: Talk, kind: Any = MessageEntry) -> list[str]:
    return [str(e.text) for e in transcript(talk).entries.values() if isinstance(e, kind)]


def lose(talk: Talk, hello: dict[str, Any]) -> None:
    """The connection breaks, a fresh one is there, and the agent says hello on it."""
    talk.take(talk.adapter.link_lost("broken pipe"))
    talk.take(talk.adapter.link_back(fresh=True))
    talk.answers("initialize", hello)


def replay_v1(talk: Talk, *texts: str) -> None:
    """The agent tells the session again: a prompt, and what it said to it."""
    talk.updates("user_message_chunk", content={"type": "text", "text": texts[0]})
    for text in texts[1:]:
        talk.says(text)


# ---- v1 ----------------------------------------------------------------------------------------------------------------


def test_a_lost_session_is_loaded_again_and_only_what_is_missing_is_told() -> None:
    talk = Talk().open(LOADS)
    talk.does(cmd.Prompt(text="hi"))
    talk.says("one ")
    talk.says("two ")
    talk.told()
    lose(talk, LOADS)
    assert talk.last("session/load")["params"] == {"sessionId": "s1", "cwd": "/shop", "mcpServers": []}
    assert talk.told(LinkChanged) == [LinkChanged(False, "broken pipe")]
    replay_v1(talk, "hi", "one two three")
    talk.answers("session/load", None)
    assert words(talk) == ["one two three"]
    assert words(talk, UserEntry) == ["hi"]
    events = talk.told()
    assert LinkChanged(True) in events and not any(isinstance(e, SessionStarted) for e in events)


def test_the_turn_ends_after_what_was_missing_was_told() -> None:
    """v1 has no word for the end of a turn but the prompt's answer, and that went with the connection."""
    talk = Talk().open(LOADS)
    talk.does(cmd.Prompt(text="hi"))
    talk.says("one ")
    lose(talk, LOADS)
    assert talk.told(TurnEnded) == []
    replay_v1(talk, "hi", "one two")
    talk.answers("session/load", {})
    events = talk.told()
    [end] = [n for n, e in enumerate(events) if isinstance(e, TurnEnded)]
    assert "connection was lost" in events[end].error and "send it again" not in events[end].error
    assert words(talk) == ["one two"]


def test_a_prompt_the_agent_never_had_is_to_be_sent_again() -> None:
    talk = Talk().open(LOADS)
    talk.does(cmd.Prompt(text="first"))
    talk.says("done")
    talk.answers("session/prompt", {"stopReason": "end_turn"})
    talk.does(cmd.Prompt(text="second thing"))
    talk.told()
    lose(talk, LOADS)
    replay_v1(talk, "first", "done")
    talk.answers("session/load", {})
    [end] = talk.told(TurnEnded)
    assert "send it again" in end.error
    assert words(talk) == ["done"]


def test_after_it_the_session_goes_on_as_before() -> None:
    talk = Talk().open(LOADS)
    talk.does(cmd.Prompt(text="hi"))
    talk.says("one")
    talk.answers("session/prompt", {"stopReason": "end_turn"})
    lose(talk, LOADS)
    replay_v1(talk, "hi", "one")
    talk.answers("session/load", {})
    talk.does(cmd.Prompt(text="more"))
    talk.says("two")
    talk.answers("session/prompt", {"stopReason": "end_turn"})
    assert words(talk) == ["one", "two"]
    turns = [e for e in transcript(talk).entries.values() if isinstance(e, TurnEntry)]
    assert [t.status for t in turns] == ["finished", "finished"]


def test_losing_it_twice_is_no_harder() -> None:
    talk = Talk().open(LOADS)
    talk.does(cmd.Prompt(text="hi"))
    talk.says("one ")
    for heard in ("one two ", "one two three"):
        lose(talk, LOADS)
        replay_v1(talk, "hi", heard)
        talk.answers("session/load", {})
    assert words(talk) == ["one two three"]


def test_a_loss_while_it_is_being_taken_up_begins_anew() -> None:
    talk = Talk().open(LOADS)
    talk.does(cmd.Prompt(text="hi"))
    lose(talk, LOADS)
    replay_v1(talk, "hi", "lost half-way")
    lose(talk, LOADS)
    events = talk.told()
    assert not any(isinstance(e, (TurnEnded, NoticeRaised)) for e in events) and LinkChanged(True) not in events
    replay_v1(talk, "hi", "whole")
    talk.answers("session/load", {})
    assert words(talk) == ["whole"]
    assert len(talk.told(TurnEnded)) == 1


@pytest.mark.parametrize("when", ["initialize", "settings"])
def test_a_loss_at_any_step_of_taking_it_up_begins_anew(when: str) -> None:
    modes = {"currentModeId": "auto", "availableModes": [{"id": m, "name": m} for m in ("ask", "auto")]}
    talk = Talk(mode="ask")
    talk.answers("initialize", LOADS)
    talk.answers("session/new", {"sessionId": "s1", "modes": modes})
    talk.answers("session/set_mode", {})
    talk.told()
    if when == "initialize":
        talk.take(talk.adapter.link_back(fresh=True))
    else:
        lose(talk, LOADS)
        talk.answers("session/load", {"modes": modes})
    talk.take(talk.adapter.link_back(fresh=True))
    assert not talk.told(NoticeRaised)
    talk.answers("initialize", LOADS)
    talk.answers("session/load", {"modes": modes})
    talk.answers("session/set_mode", {})
    assert talk.told(LinkChanged)[-1] == LinkChanged(True)
    talk.does(cmd.Prompt(text="on"))


def test_tool_calls_that_ended_meanwhile_are_ended() -> None:
    talk = Talk().open(LOADS)
    talk.does(cmd.Prompt(text="hi"))
    talk.updates("tool_call", toolCallId="c1", title="ls", kind="execute", status="in_progress")
    lose(talk, LOADS)
    replay_v1(talk, "hi")
    talk.updates("tool_call", toolCallId="c1", title="ls", kind="execute", status="completed")
    talk.answers("session/load", {})
    [call] = [e for e in transcript(talk).entries.values() if isinstance(e, ToolEntry)]
    assert call.status == "completed"


def test_what_waited_for_a_person_comes_down_and_is_taken_up_when_it_is_asked_again() -> None:
    talk = Talk().open(LOADS)
    talk.does(cmd.Prompt(text="hi"))
    talk.asks_leave(0)
    [old] = talk.told(ApprovalRequested)
    lose(talk, LOADS)
    assert [e.outcome for e in talk.told(ApprovalResolved)] == ["withdrawn"]
    assert talk.reply(0) is None  # nobody is there to hear it
    with pytest.raises((NotWaiting, NotSupported)):
        talk.does(cmd.Approve(request_id=old.request_id, allow=True))
    talk.answers("session/load", {})
    talk.told()
    talk.asks_leave(0)
    [new] = talk.told(ApprovalRequested)
    talk.does(cmd.Approve(request_id=new.request_id, allow=True))
    reply = talk.reply(0)
    assert reply is not None and reply["result"]["outcome"]["optionId"] == "yes"


@pytest.mark.parametrize("end", ["decided", "taken back", "stopped", "lost again"])
def test_what_is_asked_again_while_the_session_is_taken_up_keeps_the_turn_of_v1_open(end: str) -> None:
    """The agent waits, so it works: nothing is answered for the person, and the cell goes on showing what waits."""
    talk = Talk().open(LOADS)
    talk.does(cmd.Prompt(text="hi"))
    talk.asks_leave(0)
    lose(talk, LOADS)
    talk.updates("user_message_chunk", content={"type": "text", "text": "hi"})
    talk.asks_leave(7)
    talk.answers("session/load", {})
    assert talk.told(TurnEnded) == [] and talk.reply(7) is None
    [tool] = [e for e in transcript(talk).entries.values() if isinstance(e, ToolEntry)]
    assert tool.status == "pending"
    [request] = transcript(talk).state.pending
    if end == "decided":
        talk.does(cmd.Approve(request_id=request.request_id, allow=True))
        reply = talk.reply(7)
        assert reply is not None and reply["result"]["outcome"]["optionId"] == "yes"
        assert talk.told(TurnEnded) == []
        talk.says("done")
        talk.rings("acp:unseen")
        assert words(talk) == ["done"]
    elif end == "taken back":
        talk.tells("$/cancel_request", requestId=7)
        talk.rings("acp:unseen")
    elif end == "stopped":
        talk.does(cmd.Abort())
        assert len(talk.sent("session/cancel")) == 1
        assert [e.stop_reason for e in talk.told(TurnEnded)] == ["cancelled"]
        return
    else:
        lose(talk, LOADS)
        replay_v1(talk, "hi", "done")
        talk.answers("session/load", {})
    [ended] = talk.told(TurnEnded)
    assert "may still be at work" in ended.error
    talk.does(cmd.Prompt(text="next"))
    assert len(talk.sent("session/prompt")) == 2


def test_requests_of_ours_that_were_open_fail() -> None:
    talk = Talk().open(LOADS)
    command = cmd.ListSessions()
    talk.does(command)
    talk.take(talk.adapter.link_back(fresh=True))
    [answer] = talk.told(CommandAnswered)
    assert not answer.ok and "connection was lost" in answer.error


def test_settings_somebody_chose_are_made_again() -> None:
    modes = {"currentModeId": "auto", "availableModes": [{"id": m, "name": m} for m in ("ask", "auto", "plan")]}
    talk = Talk(mode="ask")
    talk.answers("initialize", LOADS)
    talk.answers("session/new", {"sessionId": "s1", "modes": modes})
    talk.answers("session/set_mode", {})
    talk.does(cmd.SetMode(mode="plan"))
    talk.answers("session/set_mode", {})
    talk.sent()
    lose(talk, LOADS)
    talk.answers("session/load", {"modes": modes})
    assert [m["params"]["modeId"] for m in talk.sent("session/set_mode")] == ["plan"]
    talk.answers("session/set_mode", {})
    assert transcript(talk).state.mode == "plan"


def test_while_it_is_away_only_stopping_is_possible_and_it_holds() -> None:
    talk = Talk().open(LOADS)
    talk.does(cmd.Prompt(text="hi"))
    waiting = cmd.FollowUp(text="next")
    talk.does(waiting)
    talk.take(talk.adapter.link_back(fresh=True))
    with pytest.raises(TransportError, match="made again"):
        talk.does(cmd.Prompt(text="now?"))
    talk.does(cmd.Abort())
    assert talk.told(MessagesDropped) == [MessagesDropped([waiting.id])]
    talk.answers("initialize", LOADS)
    talk.answers("session/load", {})
    assert [e.stop_reason for e in talk.told(TurnEnded)] == ["cancelled"]
    assert len(talk.sent("session/prompt")) == 1


def test_a_second_stop_while_it_is_away_ends_the_turn_here_and_the_agent_is_told_when_it_is_back() -> None:
    """Somebody may be away for good: a cell must not wait for that."""
    talk = Talk().open(LOADS)
    talk.does(cmd.Prompt(text="hi"))
    talk.says("one")
    talk.take(talk.adapter.link_back(fresh=True))
    talk.does(cmd.Abort())
    assert talk.told(TurnEnded) == []
    talk.does(cmd.Abort())
    assert [e.stop_reason for e in talk.told(TurnEnded)] == ["cancelled"]
    talk.does(cmd.Abort())
    talk.answers("initialize", LOADS)
    replay_v1(talk, "hi", "one two")
    talk.answers("session/load", {})
    assert talk.told(TurnEnded) == [] and len(talk.sent("session/cancel")) == 1
    talk.does(cmd.Prompt(text="next"))
    assert len(talk.sent("session/prompt")) == 1


@pytest.mark.parametrize("when", ["before it is back", "while it is taken up", "afterwards"])
def test_a_turn_of_v1_that_is_stopped_around_a_loss_is_stopped_there_too(when: str) -> None:
    """It has no more end that could be waited for, but the agent may well go on with it."""
    talk = Talk().open(LOADS)
    talk.does(cmd.Prompt(text="hi"))
    talk.says("one")
    talk.take(talk.adapter.link_lost("broken pipe"))
    if when == "before it is back":
        talk.does(cmd.Abort())
    talk.take(talk.adapter.link_back(fresh=True))
    if when == "while it is taken up":
        talk.does(cmd.Abort())
    talk.sent()
    talk.answers("initialize", LOADS)
    replay_v1(talk, "hi", "one two")
    talk.answers("session/load", {})
    if when == "afterwards":
        [end] = talk.told(TurnEnded)
        assert "may still be at work" in end.error and "%hm abort" in end.error
        assert talk.sent("session/cancel") == []
        talk.does(cmd.Abort())
    assert len(talk.sent("session/cancel")) == 1
    talk.does(cmd.Abort())
    assert talk.sent("session/cancel") == [], "once is enough: agents take a second one for the next prompt"


def test_a_stop_of_what_the_agent_never_read_is_no_business_of_its() -> None:
    talk = Talk().open(LOADS)
    talk.does(cmd.Prompt(text="first"))
    talk.says("done")
    talk.answers("session/prompt", {"stopReason": "end_turn"})
    talk.does(cmd.Prompt(text="second thing"))
    talk.take(talk.adapter.link_back(fresh=True))
    talk.does(cmd.Abort())
    talk.answers("initialize", LOADS)
    replay_v1(talk, "first", "done")
    talk.answers("session/load", {})
    assert talk.sent("session/cancel") == []


def test_nothing_told_of_a_session_in_which_nothing_was_said_is_no_news() -> None:
    talk = Talk().open(LOADS)
    talk.does(cmd.Prompt(text="hi"))
    lose(talk, LOADS)
    talk.answers("session/load", {})
    assert [e for e in talk.told() if isinstance(e, NoticeRaised)] == []


def test_an_agent_that_forgets_gets_a_new_session_and_the_person_is_told() -> None:
    for hello, answer in ((V1, None), (LOADS, {"code": -32002, "message": "no such session"})):
        talk = Talk().open(hello)
        talk.does(cmd.Prompt(text="hi"))
        waiting = cmd.FollowUp(text="go on with that")
        talk.does(waiting)
        talk.says("one")
        lose(talk, hello)
        if answer:
            talk.answers("session/load", error=answer)
        talk.answers("session/new", {"sessionId": "s2"})
        events: list[Event] = talk.told()
        assert any(isinstance(e, NoticeRaised) and "remembers nothing" in e.text for e in events)
        [end] = [e for e in events if isinstance(e, TurnEnded)]
        assert end.stop_reason == "error" and "has forgotten" in end.error
        assert MessagesDropped([waiting.id]) in events, "it was meant for somebody who knew what it is about"
        assert SessionUpdated({"session_id": "s2"}) in events
        talk.does(cmd.Prompt(text="again"))
        assert talk.last("session/prompt")["params"]["sessionId"] == "s2"
        talk.says("two", "s2")
        assert words(talk) == ["one", "two"]


@pytest.mark.parametrize("fault", ["initialize", "sign in"])
def test_an_agent_that_opens_nothing_any_more_says_why(fault: str) -> None:
    talk = Talk().open(LOADS)
    talk.does(cmd.Prompt(text="hi"))
    talk.take(talk.adapter.link_back(fresh=True))
    if fault == "initialize":
        talk.answers("initialize", error={"code": 1, "message": "out of order"})
    else:
        talk.answers("initialize", LOADS)
        talk.answers("session/load", error={"code": -32000, "message": "out of order"})
    events = talk.told()
    assert any(isinstance(e, NoticeRaised) and "out of order" in e.text for e in events)
    assert any(isinstance(e, TurnEnded) for e in events)
    with pytest.raises(NotSupported, match=r"out of order.*Start another"):
        talk.does(cmd.Prompt(text="x"))


def test_a_loss_before_the_session_was_open_begins_from_the_start() -> None:
    talk = Talk()
    talk.answers("initialize", V1)
    talk.take(talk.adapter.link_back(fresh=True))
    talk.answers("initialize", V1)
    talk.answers("session/new", {"sessionId": "s1"})
    assert len(talk.told(SessionStarted)) == 1


def test_terminals_of_ours_are_released_for_nobody_uses_them() -> None:
    talk = Talk(host=True).open(LOADS)
    talk.asks(0, "terminal/create", command="make")
    talk.host({})
    talk.asks(1, "terminal/wait_for_exit", terminalId=talk.calls[0].args["terminal_id"])
    waiting = talk.calls[-1].id
    talk.take(talk.adapter.link_back(fresh=True))
    assert talk.dropped == [waiting]
    assert talk.calls[-1].name == "terminal_release"


def test_the_same_connection_goes_on_as_it_was_and_what_was_lost_is_asked_for_at_the_turns_end() -> None:
    talk = Talk().open(LOADS)
    talk.does(cmd.Prompt(text="hi"))
    talk.says("one ")
    talk.take(talk.adapter.link_lost("stream closed"))
    talk.sent()
    talk.take(talk.adapter.link_back(fresh=False))
    assert talk.sent() == [] and talk.told(LinkChanged)[-1] == LinkChanged(True)
    talk.says("four")
    talk.answers("session/prompt", {"stopReason": "end_turn"})
    assert talk.told(TurnEnded) == [], "something of it may be missing"
    replay_v1(talk, "hi", "one two three four")
    talk.answers("session/load", {})
    assert talk.told(TurnEnded) == [TurnEnded("end_turn")]
    assert words(talk) == ["one two three four"]
    talk.does(cmd.Prompt(text="and now?"))
    talk.says("five")
    talk.answers("session/prompt", {"stopReason": "end_turn"})
    assert words(talk) == ["one two three four", "five"]
    assert len(talk.told(TurnEnded)) == 1, "nothing was lost of this one"


def test_a_turn_ends_even_where_nothing_can_be_told_again() -> None:
    talk = Talk().open(LOADS)
    talk.does(cmd.Prompt(text="hi"))
    talk.says("one ")
    talk.take(talk.adapter.link_back(fresh=False))
    talk.answers("session/prompt", {"stopReason": "end_turn"})
    talk.answers("session/load", error={"code": -32603, "message": "busy"})
    *_, notice, ended = talk.told()
    assert ended == TurnEnded("end_turn")
    assert "may be missing" in notice.text


def test_an_agent_that_tells_nothing_again_is_not_asked_to() -> None:
    talk = Talk().open(can())
    talk.does(cmd.Prompt(text="hi"))
    talk.take(talk.adapter.link_back(fresh=False))
    talk.answers("session/prompt", {"stopReason": "end_turn"})
    *_, notice, ended = talk.told()
    assert ended == TurnEnded("end_turn")
    assert "may be missing" in notice.text


def test_a_loss_while_something_is_told_again_ends_the_turn_once() -> None:
    talk = Talk().open(LOADS)
    talk.does(cmd.Prompt(text="hi"))
    talk.says("one ")
    talk.take(talk.adapter.link_back(fresh=False))
    talk.answers("session/prompt", {"stopReason": "end_turn"})
    lose(talk, LOADS)
    replay_v1(talk, "hi", "one two")
    talk.answers("session/load", {})
    assert len(talk.told(TurnEnded)) == 1
    assert words(talk) == ["one two"]


def test_by_streams_that_overtake_one_another_the_history_is_waited_for() -> None:
    """Over HTTP the answer to session/load comes on another stream than the history (ACP reference 10)."""
    talk = Talk(resume="s1", streams=True)
    talk.answers("initialize", LOADS)
    talk.answers("session/load", {})
    replay_v1(talk, "hi", "one")
    assert not any(isinstance(e, SessionStarted) for e in talk.events)
    talk.answers("_hm_jupyter/told", error={"code": -32601, "message": "Method not found"})
    assert words(talk) == ["one"]
    assert len(talk.told(TurnStarted)) == 1


# ---- v2 ----------------------------------------------------------------------------------------------------------------


def told_again(talk: Talk, *texts: str) -> None:
    talk.updates("user_message", messageId="u1", content=[{"type": "text", "text": "hi"}])
    for n, text in enumerate(texts):
        talk.updates("agent_message", messageId=f"a{n}", content=[{"type": "text", "text": text}])


@pytest.fixture
def working() -> Talk:
    talk = Talk().open(V2)
    talk.does(cmd.Prompt(text="hi"))
    talk.answers("session/prompt", {"messageId": "u1"})
    talk.state("running")
    talk.updates("agent_message_chunk", messageId="a0", content={"type": "text", "text": "one "})
    talk.told()
    lose(talk, V2)
    return talk


def test_a_turn_of_v2_that_still_runs_goes_on(working: Talk) -> None:
    assert working.last("initialize")["params"]["protocolVersion"] == 2
    assert working.last("session/resume")["params"]["replayFrom"] == {"type": "start"}
    told_again(working, "one two ")
    working.state("running")
    working.answers("session/resume", {})
    assert working.told(TurnEnded) == []
    working.updates("agent_message_chunk", messageId="a0", content={"type": "text", "text": "three"})
    working.state("idle", stopReason="end_turn")
    assert working.told(TurnEnded) == [TurnEnded("end_turn")]
    assert words(working) == ["one two three"] and words(working, UserEntry) == ["hi"]


def test_a_turn_of_v2_that_ended_meanwhile_ends_with_its_own_reason(working: Talk) -> None:
    told_again(working, "one two")
    working.state("idle", stopReason="max_tokens")
    working.answers("session/resume", {})
    assert [e.stop_reason for e in working.told(TurnEnded)] == ["max_tokens"]
    assert words(working) == ["one two"]


def test_a_turn_of_v2_of_which_nothing_is_told_ends(working: Talk) -> None:
    told_again(working, "one two")
    working.answers("session/resume", {})
    [end] = working.told(TurnEnded)
    assert end.stop_reason == "error" and "connection was lost" in end.error


def test_a_turn_of_v2_stopped_while_it_was_away_is_stopped_when_it_is_back(working: Talk) -> None:
    working.does(cmd.Abort())
    assert working.sent("session/cancel") == []
    told_again(working, "one two")
    working.state("running")
    working.answers("session/resume", {})
    assert len(working.sent("session/cancel")) == 1
    working.state("idle", stopReason="cancelled")
    assert working.told(TurnEnded) == [TurnEnded("cancelled")]


def test_after_a_break_the_end_of_the_turn_before_is_not_taken_for_the_next_ones(working: Talk) -> None:
    told_again(working, "one two")
    working.answers("session/resume", {})
    working.told()
    working.does(cmd.Prompt(text="more"))
    working.state("running")  # of the turn before, which ended by the break
    working.state("idle", stopReason="end_turn")
    assert working.told(TurnEnded) == []
    working.answers("session/prompt", {"messageId": "u2"})
    working.state("running")
    working.updates("agent_message_chunk", messageId="a9", content={"type": "text", "text": "here it is"})
    assert working.told(TurnEnded) == []
    working.state("idle", stopReason="end_turn")
    assert working.told(TurnEnded) == [TurnEnded("end_turn")]


def test_after_a_break_an_agent_that_does_not_answer_prompts_ends_its_turn_all_the_same(working: Talk) -> None:
    told_again(working, "one two")
    working.answers("session/resume", {})
    working.told()
    working.does(cmd.Prompt(text="more"))
    working.state("running")
    working.state("idle", stopReason="max_tokens")
    assert working.told(TurnEnded) == []
    working.rings("acp:idle")
    assert [e.stop_reason for e in working.told(TurnEnded)] == ["max_tokens"]


def test_a_turn_the_agent_began_while_it_was_away_is_a_turn() -> None:
    talk = Talk().open(V2)
    lose(talk, V2)
    talk.state("running")
    talk.answers("session/resume", {})
    assert talk.told(TurnStarted) == [TurnStarted("")]


def test_a_loss_before_the_session_is_open_is_over_when_it_is() -> None:
    talk = Talk()
    talk.answers("initialize", LOADS)
    lose(talk, LOADS)
    talk.answers("session/new", {"sessionId": "s1"})
    links = [e for e in talk.events if isinstance(e, (LinkChanged, SessionStarted))]
    assert [type(e) for e in links] == [LinkChanged, SessionStarted, LinkChanged]
    assert links[-1] == LinkChanged(True)


def test_an_agent_that_forgets_in_the_middle_of_its_answer_had_read_the_prompt() -> None:
    """To send it again would have the work done twice."""
    talk = Talk().open(V1)
    talk.does(cmd.Prompt(text="go"))
    talk.says("half of ")
    lose(talk, V1)
    talk.answers("session/new", {"sessionId": "s2"})
    (end,) = talk.told(TurnEnded)
    assert "has forgotten" in end.error and "send it again" not in end.error
