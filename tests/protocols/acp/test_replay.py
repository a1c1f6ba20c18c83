"""A session told again: as earlier turns when loaded, and only what is missing after a lost connection."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hm_jupyter.events import (
    Event,
    LinkChanged,
    MessageUpdated,
    NoticeRaised,
    PlanUpdated,
    SessionUpdated,
    TextAppended,
    ToolCallUpdated,
    ToolOutputAppended,
    TurnEnded,
    TurnStarted,
    Usage,
    UsageReported,
)
from hm_jupyter.protocols.acp.replay import History, Reconcile
from hm_jupyter.session.reducer import reduce
from hm_jupyter.transcript import (
    MessageEntry,
    NoticeEntry,
    PlanEntry,
    ThoughtEntry,
    ToolEntry,
    Transcript,
    TurnEntry,
    UserEntry,
)

# ---- a session, how it is told, and what is seen of it -------------------------------------------------------------

Item = tuple[str, str]  # ("assistant" | "thought", text) or ("call", title)
Session = list[tuple[str, list[Item]]]  # prompts, and what follows each


def show(events: list[Event], t: Transcript | None = None) -> Transcript:
    t = t or Transcript()
    for event in events:
        for op in reduce(t, event, 100.0):
            t.apply(op)
    return t


def seen(t: Transcript) -> list[tuple[str, str]]:
    """What a person sees, in order."""
    found: list[tuple[str, str]] = []
    for e in t.entries.values():
        if isinstance(e, UserEntry):
            found.append(("user", e.text))
        elif isinstance(e, MessageEntry):
            found.append(("assistant", str(e.text)))
        elif isinstance(e, ThoughtEntry):
            found.append(("thought", str(e.text)))
        elif isinstance(e, ToolEntry):
            found.append(("call", f"{e.title}:{e.status}:{e.output}"))
    return found


def words(t: Transcript, role: str) -> list[str]:
    """The words of a role after each prompt, run together."""
    found = [""]
    for kind, text in seen(t):
        if kind == "user":
            found.append("")
        elif kind == role:
            found[-1] += text
    return found


def wanted(session: Session, role: str) -> list[str]:
    return ["", *("".join(text for kind, text in items if kind == role) for _, items in session)]


def told_live(session: Session, cut: Any) -> list[Event]:
    """As it comes while it happens: ``cut(text)`` are the pieces of a text."""
    events: list[Event] = []
    serial = 0
    for prompt, items in session:
        serial += 1
        events += [TurnStarted(f"p{serial}"), MessageUpdated(f"sent:{serial}", "user", prompt, final=True)]
        for kind, text in items:
            serial += 1
            if kind == "call":
                events.append(ToolCallUpdated(f"c{serial}", name="run", title=text, status="running"))
                events.append(ToolOutputAppended(f"c{serial}", "out"))
                events.append(ToolCallUpdated(f"c{serial}", status="completed"))
            else:
                events += [TextAppended(f"{kind[0]}{serial}", piece, kind) for piece in cut(text)]  # type: ignore[arg-type]
                events.append(MessageUpdated(f"{kind[0]}{serial}", kind, final=True))  # type: ignore[arg-type]
        events.append(TurnEnded())
    return events


def told_again(
    session: Session, cut: Any, *, lossy: bool = False, own_ids: bool = False, start: int = 0
) -> list[Event]:
    """As a replay tells it: ids made up anew, in a lossy one no calls and no thoughts, and texts run together."""
    events: list[Event] = []
    serial, live = start, 0
    for prompt, items in session:
        live += 1
        serial += 1
        events.append(MessageUpdated(f"own{serial}", "user", prompt, final=True))
        current = ""
        for kind, text in items:
            live += 1
            if lossy and kind != "assistant":
                continue
            if not (lossy and current):
                serial += 1
                current = f"{kind[0]}{live if own_ids else serial}"
            if kind == "call":
                call_id = f"c{live}"
                events.append(ToolCallUpdated(call_id, name="run", title=text, status="completed", output="out"))
            else:
                events += [TextAppended(current, piece, kind) for piece in cut(text)]  # type: ignore[arg-type]
                if not lossy:
                    events.append(MessageUpdated(current, kind, final=True))  # type: ignore[arg-type]
        if lossy and current:
            events.append(MessageUpdated(current, "assistant", final=True))
    return events


def reconciled(live: list[Event], again: list[Event], *, running: bool = False, ids: bool = False) -> Transcript:
    """What is seen after ``live`` was shown and ``again`` replayed."""
    both = Reconcile(ids=ids)
    both.told(live)
    both.begin()
    out: list[Event] = []
    both.feed(again, out)
    both.end(out, running=running)
    return show(out, show(live))


def letters(text: str) -> list[str]:
    return list(text)


def whole(text: str) -> list[str]:
    return [text]


def cuts(data: st.DataObject, text: str) -> list[str]:
    pieces = []
    while text:
        n = data.draw(st.integers(1, max(1, min(5, len(text)))))
        pieces.append(text[:n])
        text = text[n:]
    return pieces


text_ = st.text(alphabet="ab c", min_size=1, max_size=12).filter(str.strip)
item_ = st.one_of(
    st.tuples(st.just("assistant"), text_),
    st.tuples(st.just("thought"), text_),
    st.tuples(st.just("call"), st.sampled_from(["ls", "cat"])),
)
session_ = st.lists(st.tuples(st.sampled_from(["go on", "and now?", "do it"]), st.lists(item_, max_size=5)), min_size=1, max_size=4)  # fmt: skip
fast = settings(max_examples=60, deadline=None)

# ---- what holds for all sessions -----------------------------------------------------------------------------------


@fast
@given(session_, st.data(), st.booleans(), st.booleans())
def test_any_beginning_shown_and_the_whole_replayed_is_the_whole_once(
    session: Session, data: st.DataObject, ids: bool, lossy: bool
) -> None:
    ids = ids and not lossy  # a message that keeps its id keeps its bounds
    live = told_live(session, lambda text: cuts(data, text))
    shown = live[: data.draw(st.integers(2, len(live)))]
    again = told_again(session, lambda text: cuts(data, text), lossy=lossy, own_ids=ids)
    t = reconciled(shown, again, ids=ids)
    assert words(t, "assistant") == wanted(session, "assistant")
    if not lossy:
        assert seen(t) == seen(show(live))


@fast
@given(session_, st.data())
def test_pieces_lost_on_the_way_are_filled_in(session: Session, data: st.DataObject) -> None:
    live = told_live(session, lambda text: cuts(data, text))
    last = max(n for n, e in enumerate(live) if isinstance(e, TurnStarted))
    firsts = {e.message_id: n for n, e in reversed(list(enumerate(live))) if isinstance(e, TextAppended)}
    shown = [
        e
        for n, e in enumerate(live)
        if not (n > last and isinstance(e, TextAppended) and firsts[e.message_id] != n and data.draw(st.booleans()))
    ]
    t = reconciled(shown, told_again(session, whole))
    for role in ("assistant", "thought"):
        assert words(t, role) == wanted(session, role)


@fast
@given(session_, st.data())
def test_a_replay_that_lags_behind_takes_nothing_away(session: Session, data: st.DataObject) -> None:
    live = told_live(session, whole)
    again = told_again(session, letters)
    behind = again[: data.draw(st.integers(1, len(again)))]
    assert seen(reconciled(live, behind)) == seen(show(live))


@fast
@given(session_, st.data(), st.booleans())
def test_what_comes_after_the_replay_goes_on_where_it_belongs(session: Session, data: st.DataObject, ids: bool) -> None:
    live = told_live(session, letters)
    again = told_again(session, letters, own_ids=ids)
    shown = live[: data.draw(st.integers(2, len(live) - 1))]
    both = Reconcile(ids=ids)
    both.told(shown)
    both.begin()
    at = _same_point(again, live, shown)
    until = data.draw(st.integers(at, len(again)))
    out: list[Event] = []
    both.feed(again[:until], out)
    both.end(out, running=True)
    rest = again[until:]
    both.told(rest)
    t = show(rest, show(out, show(shown)))
    for role in ("assistant", "thought"):
        assert "".join(words(t, role)) == "".join(wanted(session, role))


def _same_point(again: list[Event], live: list[Event], shown: list[Event]) -> int:
    """How much of a replay in the same pieces tells what was shown."""
    texts = sum(isinstance(e, (TextAppended, ToolCallUpdated)) or getattr(e, "role", "") == "user" for e in shown)
    per_call = [e for e in live if isinstance(e, ToolCallUpdated)]
    assert len(per_call) % 2 == 0
    count = at = 0
    for e in again:
        if count >= texts:
            break
        at += 1
        if isinstance(e, ToolCallUpdated):
            count += 2
        elif isinstance(e, TextAppended) or getattr(e, "role", "") == "user":
            count += 1
    return at


@fast
@given(session_, st.data())
def test_a_second_replay_says_nothing_new(session: Session, data: st.DataObject) -> None:
    both = Reconcile(ids=False)
    live = told_live(session, whole)
    both.told(live[: data.draw(st.integers(2, len(live)))])
    for again in range(3):
        both.begin()
        out: list[Event] = []
        both.feed(told_again(session, lambda text: cuts(data, text)), out)
        both.end(out, running=False)
        assert again == 0 or not out


# ---- what is so in particular --------------------------------------------------------------------------------------


def test_a_loaded_session_is_turns_of_before_pitfall_22() -> None:
    history = History()
    out: list[Event] = []
    history.feed([SessionUpdated({"mode": "ask"}), UsageReported(Usage(5, 5))], out)
    history.feed(
        told_again([("one", [("assistant", "1")]), ("two", [("call", "ls"), ("assistant", "2")])], letters), out
    )
    history.end(out)
    t = show(out)
    turns = [e for e in t.entries.values() if isinstance(e, TurnEntry)]
    assert [(e.status, e.started, e.ended) for e in turns] == [("finished", 0.0, 0.0)] * 2, "nobody says when it was"
    assert seen(t) == [
        ("user", "one"),
        ("assistant", "1"),
        ("user", "two"),
        ("call", "ls:completed:out"),
        ("assistant", "2"),
    ]
    assert t.state.usage == Usage(), "its tokens are not counted again"
    assert all(e.earlier for e in out if isinstance(e, TurnStarted))


def test_after_a_loaded_session_new_turns_have_times_again() -> None:
    history = History()
    out: list[Event] = []
    history.feed(told_again([("one", [("assistant", "1")])], whole), out)
    history.end(out)
    t = show([*out, TurnStarted("p1"), TurnEnded()])
    turns = [e for e in t.entries.values() if isinstance(e, TurnEntry)]
    assert [e.started for e in turns] == [0.0, 100.0]


def test_a_turn_that_still_runs_is_left_open() -> None:
    history = History()
    out: list[Event] = []
    history.feed(told_again([("one", [("assistant", "1")])], whole), out)
    history.end(out, running=True)
    assert show(out).state.status == "working"


def test_an_empty_history_is_said_pitfall_21() -> None:
    out: list[Event] = []
    History().end(out)
    assert [type(e) for e in out] == [NoticeRaised]
    both = Reconcile(ids=False)
    both.told(told_live([("one", [("assistant", "1")])], whole))
    both.begin()
    out = []
    found = both.end(out, running=False)
    assert found.empty and not found.reached
    assert [type(e) for e in out] == [NoticeRaised], "what is shown stays, and it is said"


def test_a_prompt_the_agent_never_got_is_told_so() -> None:
    both = Reconcile(ids=False)
    both.told(told_live([("go on", [("assistant", "1")]), ("go on", [])], whole))
    both.begin()
    both.feed(told_again([("go on", [("assistant", "1")])], whole), out := [])
    assert not both.end(out, running=True).reached
    assert not out


@pytest.mark.parametrize(
    "again", ["[@a.py](file:///w/a.py)\nlook at this", "look at this <context ref='a.py'>x</context>"]
)
def test_a_prompt_in_other_words_is_known_by_ours_in_it(again: str) -> None:
    live = told_live([("look at this", [("assistant", "I loo")])], whole)
    t = reconciled(live, told_again([(again, [("assistant", "I looked.")])], whole))
    assert seen(t) == [("user", "look at this"), ("assistant", "I looked.")]


def test_a_prompt_sent_again_because_it_was_lost_is_not_taken_for_the_lost_one() -> None:
    both = Reconcile(ids=False)
    both.told(told_live([("go on", [])], whole)[:-1])
    both.begin()
    assert both.end([], running=True).empty
    second: list[Event] = [TurnStarted("q"), MessageUpdated("sent:q", "user", "go on"), TextAppended("a1", "I wen")]
    both.told(second)
    both.begin()
    both.feed(told_again([("go on", [("assistant", "I went on.")])], whole), out := [])
    assert both.end(out, running=True).reached
    assert [e.text for e in out if isinstance(e, TextAppended)] == ["t on."]


def test_a_prompt_in_wholly_other_words_is_known_by_the_answer() -> None:
    live = told_live([("hello", [("assistant", "I see a cat")])], whole)
    t = reconciled(live, told_again([("[picture]", [("assistant", "I see a cat.")])], whole))
    assert seen(t) == [("user", "hello"), ("assistant", "I see a cat.")]


def test_a_replay_that_begins_later_is_matched_by_its_last_prompts() -> None:
    session: Session = [(f"prompt {n}", [("assistant", f"answer {n}")]) for n in range(20)]
    live = told_live(session, whole)[:-2]
    live[-1] = TextAppended(live[-1].message_id, "ans")  # type: ignore[union-attr]
    t = reconciled(live, told_again(session[12:], whole))
    assert seen(t) == seen(show(told_live(session, whole)))


def test_turns_of_others_while_we_were_away_are_turns() -> None:
    session: Session = [("one", [("assistant", "1")]), ("two", [("assistant", "2")])]
    t = reconciled(told_live(session[:1], whole), told_again(session, whole))
    assert seen(t) == seen(show(told_live(session, whole)))
    turns = [e for e in t.entries.values() if isinstance(e, TurnEntry)]
    assert [(e.status, e.started) for e in turns] == [("finished", 100.0)] * 2


def test_a_call_that_ended_meanwhile_is_ended() -> None:
    live: list[Event] = [
        TurnStarted("p"), MessageUpdated("sent:1", "user", "go"),
        ToolCallUpdated("c1", name="run", title="make", status="running"), ToolOutputAppended("c1", "cc a.c\n"),
    ]  # fmt: skip
    again: list[Event] = [
        MessageUpdated("own1", "user", "go", final=True),
        ToolCallUpdated("c1", name="run", title="make", status="completed", output="cc a.c\ncc b.c\n", exit_code=0),
    ]
    t = reconciled(live, again, running=True)
    call = t.tool("c1")
    assert call is not None
    assert (call.status, str(call.output), call.exit_code) == ("completed", "cc a.c\ncc b.c\n", 0)


def test_a_call_in_the_background_is_ended_too() -> None:
    live = [
        *told_live([("go", [])], whole)[:-1],
        ToolCallUpdated("c1", name="run", title="watch", status="running"),
        TurnEnded(),
        TurnStarted("q"),
        MessageUpdated("sent:9", "user", "next"),
    ]
    again: list[Event] = [
        MessageUpdated("own1", "user", "go", final=True),
        ToolCallUpdated("c1", name="run", title="watch", status="failed"),
        MessageUpdated("own2", "user", "next", final=True),
    ]
    call = reconciled(live, again, running=True).tool("c1")
    assert call is not None
    assert call.status == "failed"


def test_a_call_under_another_id_is_the_same_call() -> None:
    live = told_live([("go", [("call", "ls"), ("assistant", "done")])], whole)
    again = told_again([("go", [("call", "ls"), ("assistant", "done")])], whole)
    for event in again:
        if isinstance(event, ToolCallUpdated):
            event.call_id = "another"
    assert seen(reconciled(live, again)) == seen(show(live))


def test_text_after_a_call_that_the_replay_has_lost_is_a_message_of_its_own() -> None:
    session: Session = [("go", [("assistant", "I run it."), ("call", "ls"), ("assistant", "Done.")])]
    live = told_live(session, whole)[:-3]
    t = reconciled(live, told_again(session, whole, lossy=True))
    assert seen(t) == seen(show(told_live(session, whole)))


def test_a_text_written_down_differently_is_not_shown_twice() -> None:
    live = told_live([("go", [("assistant", "First line\n\nsecond"), ("assistant", "third thing is thi")])], whole)
    t = reconciled(
        live, told_again([("go", [("assistant", "First line\nsecond"), ("assistant", "third  thing is this")])], whole)
    )
    assert words(t, "assistant") == ["", "First line\nsecondthird  thing is this"]


def test_the_plan_is_the_latest_and_is_not_told_again() -> None:
    plan = PlanUpdated([{"text": "Look", "status": "active"}])
    done = PlanUpdated([{"text": "Look", "status": "done"}])
    live = [*told_live([("go", [])], whole)[:-1], plan]
    prompt = MessageUpdated("own1", "user", "go", final=True)
    t = reconciled(live, [prompt, plan, done], running=True)
    assert [e.items for e in t.entries.values() if isinstance(e, PlanEntry)] == [done.items]
    both = Reconcile(ids=False)
    both.told([*live, done])
    both.begin()
    both.feed([prompt, plan, done], out := [])
    both.end(out, running=True)
    assert not out


def test_what_is_no_talk_goes_on_at_once() -> None:
    both = Reconcile(ids=True)
    both.begin()
    out: list[Event] = []
    both.feed([SessionUpdated({"mode": "code"}), LinkChanged(True), TextAppended("a", "x")], out)
    assert out == [SessionUpdated({"mode": "code"}), LinkChanged(True)]


def test_nothing_known_and_a_replay_is_a_history() -> None:
    t = reconciled([], told_again([("one", [("assistant", "1")])], whole))
    assert seen(t) == [("user", "one"), ("assistant", "1")]
    assert not [e for e in t.entries.values() if isinstance(e, NoticeEntry)]
