"""What a session looks like after events: the reducer, and the operations that any copy can apply."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hm_jupyter import events as ev
from hm_jupyter.session import state
from hm_jupyter.session.reducer import reduce
from hm_jupyter.session.state import pending_request
from hm_jupyter.transcript import (
    Append,
    CompactionEntry,
    MessageEntry,
    NoticeEntry,
    PendingApproval,
    Put,
    QuestionEntry,
    State,
    ThoughtEntry,
    ToolEntry,
    Transcript,
    TurnEntry,
    UserEntry,
    to_json,
)


def play(*events: ev.Event, on: Transcript | None = None) -> Transcript:
    t = on or Transcript()
    for i, event in enumerate(events):
        for op in reduce(t, event, 100.0 + i):
            t.apply(op)
    return t


STARTED = ev.SessionStarted("S1", "/w", "ask", "demo", "m1")
PROMPT = ev.MessageSent("c1", "fix it")


def only(t: Transcript, kind: type) -> Any:
    found = [e for e in t.entries.values() if isinstance(e, kind)]
    assert len(found) == 1, found
    return found[0]


def test_a_session_is_starting_until_its_agent_says_hello():
    t = Transcript()
    assert t.state.status == "starting"
    play(STARTED, on=t)
    assert (t.state.status, t.state.root, t.state.model) == ("ready", "/w", "m1")


def test_a_prompt_opens_a_turn_and_its_end_closes_it():
    t = play(STARTED, PROMPT, ev.TurnStarted("c1"))
    assert t.state.status == "working"
    assert [type(e) for e in t.of_turn(1)] == [TurnEntry, UserEntry]
    play(ev.TurnEnded(), on=t)
    assert t.state.status == "ready"
    assert (only(t, TurnEntry).status, only(t, TurnEntry).stop_reason) == ("finished", "end_turn")


def test_text_is_appended_to_its_message_and_the_final_text_does_not_double_it():
    t = play(STARTED, PROMPT, *(ev.TextAppended("m1", x) for x in "hello"))
    play(ev.MessageUpdated("m1", text="hello", final=True), on=t)
    assert str(only(t, MessageEntry).text) == "hello"
    assert not only(t, MessageEntry).open


def test_an_appended_token_is_one_small_operation():
    t = play(STARTED, PROMPT, ev.TextAppended("m1", "a"))
    assert reduce(t, ev.TextAppended("m1", "b"), 0) == [Append("m:m1", "text", "b")]


def test_an_empty_message_leaves_no_trace():
    t = play(STARTED, PROMPT, ev.MessageUpdated("m1", text="", final=True))
    assert not [e for e in t.entries.values() if isinstance(e, MessageEntry)]


def test_the_echo_of_our_own_message_marks_it_read_and_adds_nothing():
    t = play(STARTED, PROMPT, ev.MessageUpdated("x", role="user", text="fix it", final=True))
    assert (only(t, UserEntry).text, only(t, UserEntry).status) == ("fix it", "read")


def test_a_prompt_whose_wire_text_carries_attachments_is_still_recognised():
    t = play(STARTED, ev.MessageSent("c1", "plot", attachments=["df"]))
    play(ev.MessageUpdated("x", role="user", text="plot\n\ndf:\n```\n1\n```", final=True), on=t)
    assert (only(t, UserEntry).text, only(t, UserEntry).status) == ("plot", "read")


def test_a_steer_waits_until_the_agent_reads_it_and_then_belongs_to_that_turn():
    t = play(STARTED, ev.MessageSent("s1", "use a log axis", "steer"))
    assert only(t, UserEntry).status == "queued"
    play(PROMPT, ev.MessageUpdated("y", role="user", text="use a log axis", final=True), on=t)
    steer = t.entries["u:s1"]
    assert (steer.status, steer.turn) == ("read", 1)


def test_dropped_messages_say_so_and_the_prompt_is_not_among_them():
    t = play(STARTED, PROMPT, ev.MessageSent("f1", "then plot", "follow_up"), ev.MessagesDropped())
    assert (t.entries["u:c1"].status, t.entries["u:f1"].status) == ("sent", "dropped")


CALL = ev.ToolCallUpdated("k1", "shell", "go test", "shell", "pending", {"command": "go test"})
ASK = ev.ApprovalRequested("k1", "k1", "shell", "shell", "go test", "go test ./...", rule="shell: go test")


def test_an_approval_waits_in_the_state_and_shows_what_will_run():
    t = play(STARTED, PROMPT, CALL, ASK)
    assert t.state.status == "waiting"
    assert t.state.pending[0].command == "go test ./..."
    assert only(t, ToolEntry).status == "pending"


def test_an_allowed_call_runs_and_remembers_who_allowed_it():
    t = play(STARTED, PROMPT, CALL, ASK, ev.DecisionSent("k1"))
    assert t.state.status == "working"
    play(ev.ApprovalResolved("k1", "allowed", "you", "widget", for_session=True), on=t)
    tool = only(t, ToolEntry)
    assert (tool.status, t.state.pending, tool.decision.by, tool.decision.rule) == (
        "running",
        [],
        "you",
        "shell: go test",
    )


def test_a_denied_call_stays_denied_when_its_result_says_error():
    t = play(STARTED, PROMPT, CALL, ASK, ev.ApprovalResolved("k1", "denied", "you", note="no"))
    play(ev.ToolCallUpdated("k1", status="failed", output="refused: no"), on=t)
    tool = only(t, ToolEntry)
    assert (tool.status, str(tool.output), tool.decision.note) == ("denied", "refused: no", "no")


def test_a_decision_that_could_not_be_sent_waits_again():
    t = play(STARTED, PROMPT, CALL, ASK, ev.DecisionSent("k1"), ev.DecisionSent("k1", sent=False))
    assert t.state.status == "waiting"


def test_a_call_the_agent_decides_itself_never_waits():
    t = play(STARTED, PROMPT, CALL, ev.ApprovalRequested("k1", "k1", "shell", auto=True))
    assert t.state.pending == []
    play(ev.ApprovalResolved("k1", "allowed", "agent"), on=t)
    assert only(t, ToolEntry).decision.by == "agent"


def test_a_result_without_a_decision_takes_the_request_down():
    t = play(STARTED, PROMPT, CALL, ASK, ev.ToolCallUpdated("k1", status="completed", output="ok"))
    assert (t.state.pending, t.state.status) == ([], "working")


def test_of_two_requests_of_one_call_the_one_that_is_named_is_meant():
    """The agent asks for leave to run a call, and what runs asks for a file on our side, on the same card. An id of one
    may be the call id of another."""
    asks = [ev.ApprovalRequested("host:7", "a", summary="ours"), ev.ApprovalRequested("a", "a", summary="theirs")]
    for order in (asks, asks[::-1]):
        t = play(STARTED, PROMPT, ev.TurnStarted("c1"), ev.ToolCallUpdated("a", "bash"), *order)
        assert {p.request_id for p in t.state.pending} == {"host:7", "a"}
        named = pending_request(t.state, "a")
        assert isinstance(named, PendingApproval) and named.summary == "theirs"
        play(ev.ApprovalResolved("a", "allowed", "you"), on=t)
        assert [p.request_id for p in t.state.pending] == ["host:7"]
        assert pending_request(t.state, "a") is t.state.pending[0], "a call id still finds what waits under it"


def test_a_draft_and_its_call_are_one_entry():
    t = play(STARTED, PROMPT, ev.ToolCallUpdated("draft:1", "shell", status="drafting"))
    play(ev.ToolCallUpdated("k1", "shell", status="pending", replaces="draft:1"), on=t)
    assert only(t, ToolEntry).call_id == "k1"
    play(ev.ToolOutputAppended("k1", "ok"), on=t)
    assert str(only(t, ToolEntry).output) == "ok"


def test_an_id_that_is_free_again_because_its_call_came_to_have_another_is_a_new_call():
    """fast-agent asks about every call under the id "pending" and then runs it under its own."""
    t = play(STARTED, PROMPT, ev.TurnStarted("c1"))
    for real in ("a", "b"):
        play(ev.ApprovalRequested(f"p{real}", "pending", "shell", command=real), on=t)
        play(ev.ApprovalResolved(f"p{real}", "allowed", "you"), ev.ToolCallUpdated(real, replaces="pending"), on=t)
        play(ev.ToolOutputAppended(real, real), ev.ToolCallUpdated(real, status="completed"), on=t)
    tools = [e for e in t.entries.values() if isinstance(e, ToolEntry)]
    assert [(e.call_id, str(e.output), e.status) for e in tools] == [("a", "a", "completed"), ("b", "b", "completed")]


def test_a_question_takes_the_place_of_the_call_that_asks_it():
    t = play(STARTED, PROMPT, ev.ToolCallUpdated("q1", "ask_user", status="running"))
    play(ev.QuestionRequested("q1", "q1", "which db?"), on=t)
    assert not [e for e in t.entries.values() if isinstance(e, ToolEntry)]
    play(ev.QuestionResolved("q1", "answered", "sqlite"), ev.ToolCallUpdated("q1", status="completed"), on=t)
    question = only(t, QuestionEntry)
    assert (question.status, question.answer, t.state.pending) == ("answered", "sqlite", [])


def test_every_ending_closes_what_is_open_as_interrupted_not_failed():
    for ending in (ev.TurnEnded("cancelled"), ev.TurnEnded("error", "x"), ev.AgentExited(1, "gone")):
        t = play(STARTED, PROMPT, ev.TextAppended("m1", "hal"), ev.TextAppended("t1", "hm", "thought"), CALL, ASK)
        play(ev.QuestionRequested("q1", "q1", "?"), ev.CompactionStarted(), ending, on=t)
        assert t.state.pending == []
        assert only(t, MessageEntry).interrupted
        assert not only(t, ThoughtEntry).open
        assert (only(t, ToolEntry).status, only(t, ToolEntry).decision.outcome) == ("interrupted", "interrupted")
        assert only(t, QuestionEntry).status == "interrupted"
        assert only(t, CompactionEntry).status == "interrupted"
        assert only(t, TurnEntry).status in ("stopped", "failed")


def test_a_call_skipped_by_a_steer_is_closed_at_the_end_of_the_turn():
    t = play(STARTED, PROMPT, CALL, ev.TurnEnded())
    assert only(t, ToolEntry).status == "skipped"


def test_a_call_id_used_again_in_a_later_turn_is_another_call():
    t = play(STARTED, PROMPT, CALL, ev.ToolCallUpdated("k1", status="completed"), ev.TurnEnded())
    play(ev.MessageSent("c2", "again"), CALL, on=t)
    assert [e.turn for e in t.entries.values() if isinstance(e, ToolEntry)] == [1, 2]


def test_usage_adds_up_for_the_turn_and_the_session():
    t = play(STARTED, PROMPT, ev.UsageReported(ev.Usage(10, 2, cost=0.5)), ev.UsageReported(ev.Usage(1, 1)))
    assert only(t, TurnEntry).usage == ev.Usage(11, 3, cost=0.5)
    play(ev.TurnEnded(), ev.MessageSent("c2", "x"), ev.UsageReported(ev.Usage(1)), on=t)
    assert t.state.usage.input == 12
    assert t.turns()[1].usage.input == 1


def test_a_second_session_start_is_a_fork_and_says_so():
    t = play(STARTED, ev.SessionStarted("S2", "/w"))
    assert t.state.session_id == "S2"
    assert "fork of S1" in only(t, NoticeEntry).text


def test_an_unexpected_end_is_told_with_what_the_agent_said_last():
    t = play(STARTED, ev.AgentExited(3, "It ended with exit code 3.", "boom"))
    assert (t.state.status, only(t, NoticeEntry).detail) == ("ended", "boom")
    assert not [
        e for e in play(STARTED, ev.AgentExited(0, expected=True)).entries.values() if isinstance(e, NoticeEntry)
    ]


def test_unknown_messages_are_kept_raw():
    t = play(STARTED, ev.UnknownReceived("weather", {"sunny": True}))
    assert next(iter(t.entries.values())).raw == {"sunny": True}


IDS = st.sampled_from(["a", "b", "c"])
TEXT = st.text(max_size=4)
SOME_EVENT = st.one_of(
    st.builds(ev.SessionStarted, IDS),
    st.builds(ev.AgentExited, st.none(), TEXT),
    st.builds(ev.TurnStarted, IDS),
    st.builds(ev.TurnEnded, st.sampled_from(["end_turn", "cancelled", "error"]), TEXT),
    st.builds(ev.MessageSent, IDS, TEXT, st.sampled_from(["prompt", "steer", "follow_up"])),
    st.builds(ev.MessagesDropped),
    st.builds(ev.TextAppended, IDS, TEXT, st.sampled_from(["assistant", "thought"])),
    st.builds(
        ev.MessageUpdated, IDS, st.sampled_from(["user", "assistant", "thought"]), st.none() | TEXT, st.booleans()
    ),
    st.builds(
        ev.ToolCallUpdated,
        IDS,
        st.none() | TEXT,
        status=st.none() | st.sampled_from(["drafting", "pending", "running", "completed", "failed"]),
        output=st.none() | TEXT,
        replaces=st.none() | IDS,
    ),
    st.builds(ev.ToolOutputAppended, IDS, TEXT),
    st.builds(ev.ApprovalRequested, IDS, IDS, auto=st.booleans()),
    st.builds(ev.ApprovalResolved, IDS, st.sampled_from(["allowed", "denied", "withdrawn"])),
    st.builds(ev.QuestionRequested, IDS, IDS, TEXT),
    st.builds(ev.QuestionResolved, IDS, st.sampled_from(["answered", "skipped"]), TEXT),
    st.builds(ev.DecisionSent, IDS, st.booleans()),
    st.builds(ev.CompactionStarted),
    st.builds(ev.CompactionEnded, TEXT, TEXT),
    st.builds(ev.UsageReported, st.builds(ev.Usage, st.integers(0, 9))),
)


@given(st.lists(SOME_EVENT, max_size=40))
def test_any_copy_that_applies_the_operations_as_json_agrees(events: list[ev.Event]):
    t = Transcript()
    copied: dict[str, Any] = {"state": to_json(t.state), "entries": {}}
    for event in events:
        for op in reduce(t, event, 1.0):
            wire = copy.deepcopy(to_json(op))
            t.apply(op)
            if wire["op"] == "put":
                copied["entries"][wire["entry"]["id"]] = wire["entry"]
            elif wire["op"] == "append":
                copied["entries"][wire["id"]][wire["field"]] += wire["text"]
            else:
                copied["state"] |= wire["patch"]
    assert copied["state"] == to_json(t.state)
    assert list(copied["entries"].items()) == [(k, to_json(e)) for k, e in t.entries.items()]


@given(st.lists(SOME_EVENT, max_size=40))
def test_after_the_agent_is_gone_nothing_is_open_and_nothing_waits(events: list[ev.Event]):
    t = play(*events, ev.AgentExited(1, "gone"))
    assert t.state.pending == []
    assert t.state.status == "ended"
    for entry in t.entries.values():
        assert not getattr(entry, "open", False)
        assert getattr(entry, "status", "") not in ("running", "pending", "drafting", "waiting")


def test_reducing_changes_nothing_by_itself():
    t = play(STARTED, PROMPT, CALL)
    before = to_json(t.state), [to_json(e) for e in t.entries.values()]
    ops = reduce(t, ASK, 5.0)
    assert before == (to_json(t.state), [to_json(e) for e in t.entries.values()])
    assert any(isinstance(op, State) for op in ops)
    assert any(isinstance(op, Put) for op in ops)


def test_which_of_the_agents_options_was_chosen_is_kept():
    asked = ev.ApprovalRequested(
        "p1", "c1", "shell", options=[ev.ApprovalOption("x", "Always allow git", "allow_session")]
    )
    t = play(
        STARTED, PROMPT, asked, ev.ApprovalResolved("p1", "allowed", "you", for_session=True, option="Always allow git")
    )
    assert only(t, ToolEntry).decision.option == "Always allow git"


def test_what_an_agent_offers_reaches_the_state():
    offers = {"labels": {"a": "Ask"}, "options": [ev.ConfigOption("t", "Thinking")], "commands": [ev.SlashCommand("init")],
              "background": [ev.Background("terminal", "1")], "context_size": 5, "spent": "$1"}  # fmt: skip
    t = play(STARTED, ev.SessionUpdated(offers))
    assert {name: getattr(t.state, name) for name in offers} == offers


def test_a_call_that_was_refused_stays_so_whatever_the_agent_tells_of_it():
    asked = ev.ApprovalRequested("p1", "c1", "shell")
    told = [ev.ToolCallUpdated("c1", status=status) for status in ("running", "failed")]
    t = play(STARTED, PROMPT, asked, ev.ApprovalResolved("p1", "denied", "you"), *told)
    assert only(t, ToolEntry).status == "denied"


def test_what_a_turns_end_closes_is_found_at_once_however_long_the_session(monkeypatch):
    looked = []
    real = state._closed
    monkeypatch.setattr(state, "_closed", lambda entry, **more: looked.append(entry.id) or real(entry, **more))
    t = Transcript()
    for n in range(300):
        for event in (ev.TurnStarted(), ev.ToolCallUpdated(f"c{n}", "shell", status="running"), ev.TurnEnded()):
            for op in reduce(t, event, 1.0):
                t.apply(op)
    assert len(looked) == 300
    assert t.open() == []
