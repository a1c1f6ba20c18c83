"""The context made shorter: by itself near its end, when the model says it is too long, and what must survive it."""

from __future__ import annotations

import asyncio
import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hm_jupyter.agents.compaction import KEEP, compact, due, parted
from hm_jupyter.agents.loop import Host, Settings, Turn
from hm_jupyter.agents.messages import Message, ToolCall, Usage, size, tokens
from hm_jupyter.agents.modes import modes
from hm_jupyter.agents.providers import Call, ContextTooLong, Finished, Model, ModelError, Text
from hm_jupyter.agents.session import SYSTEM_TOKENS, Session
from hm_jupyter.agents.tools.workspace import Workspace

from ..helpers.saved_session import check

# ---- what stays ----

TURN = st.tuples(
    st.integers(0, 3000),  # characters of the prompt
    st.lists(st.lists(st.integers(0, 4000), min_size=1, max_size=3), max_size=3),  # results of each batch
)


def conversation(turns):
    history, n = [], 0
    for prompt, batches in turns:
        history.append(Message(f"e{len(history)}", "user", "p" * prompt))
        for batch in batches:
            made = [ToolCall(f"c{n + i}", "shell", {"command": "x"}) for i in range(len(batch))]
            n += len(batch)
            history.append(Message(f"e{len(history)}", "assistant", "", calls=made))
            for call, length in zip(made, batch, strict=True):
                history.append(Message(f"e{len(history)}", "tool", "r" * length, call_id=call.id))
        history.append(Message(f"e{len(history)}", "assistant", "said"))
    return history


@settings(max_examples=200, deadline=None)
@given(st.lists(TURN, max_size=6), st.integers(0, 4000), st.integers(0, 8))
def test_calls_and_results_stay_together_with_the_newest_prompt(turns, room, dropped):
    history = conversation(turns)
    history = history[: len(history) - dropped] if dropped < len(history) else history
    while history and history[-1].role == "assistant" and history[-1].calls:
        history.pop()  # a step is asked for between batches only
    if history and history[-1].role == "tool":
        batch = next(m for m in reversed(history) if m.calls)
        if history[-1].call_id != batch.calls[-1].id:
            return
    older, newer = parted(history, room)
    assert sorted(m.id for m in older + newer) == sorted(m.id for m in history), "nothing gets lost"
    assert [m for m in history if m in older] == older
    for part in (older, newer):
        called = [c.id for m in part for c in m.calls]
        assert called == [m.call_id for m in part if m.role == "tool"]
    if room > SYSTEM_TOKENS and older:
        assert tokens(sum(size(m) for m in newer[1:])) <= room
        prompt = [m for m in history if m.role == "user"][-1]
        assert prompt in newer or tokens(size(prompt)) > room


# ---- the turn ----


class Short(Model):
    """A model of 8,000 tokens: each step wants a command, or says done; it may find that too long, or not summarise."""

    name = "short"
    context_size = 8000

    def __init__(self, steps, too_long=(), failing=False, length=8000):
        self.length, self.steps, self.too_long, self.failing = length, steps, set(too_long), failing
        self.asked = 0
        self.seen = []
        self.summaries = 0

    async def step(self, history, *, tools, effort, system=""):
        self.asked += 1
        self.seen.append(list(history))
        if self.asked in self.too_long:
            raise ContextTooLong("the conversation is too long")
        if self.asked <= self.steps:
            yield Call("shell", {"command": f"printf %0{self.length}d {self.asked}"})
        else:
            yield Text("done")
        yield Finished(Usage(1, 1), None)

    async def summarize(self, history, focus):
        self.summaries += 1
        if self.failing:
            raise ModelError("no words")
        return f"summary {self.summaries} of {len(history)}"


@pytest.fixture
def play(tmp_path):
    """One turn on a model; gives the session and all events."""

    def run(model, at=0.8):
        session = Session(Workspace(tmp_path), "auto", "demo")
        events = []

        def emit(type, /, **fields):
            session.record({"type": type, **fields})
            events.append({"type": type, **fields})

        async def drained():
            pass

        host = Host(session, emit, drained)
        turn = Turn(host, Settings("auto", model, "", "all", compact_at=at), Message("", "user", "begin"))
        asyncio.run(turn.run())
        return session, events

    assert "auto" in modes({})
    return run


def kinds(events, *wanted):
    return [e["type"] for e in events if e["type"] in wanted]


def test_near_its_end_the_context_is_made_shorter_and_the_turn_goes_on(play):
    model = Short(steps=8)
    session, events = play(model)
    assert model.summaries >= 2
    assert (
        kinds(events, "compaction_start", "compaction_end") == ["compaction_start", "compaction_end"] * model.summaries
    )
    assert "stop_reason" not in events[-1]
    assert session.answer == "done"
    for history in model.seen:
        assert tokens(sum(size(m) for m in history)) + SYSTEM_TOKENS < model.context_size
        assert "begin" in [m.text for m in history], "it still knows what it was asked"
    check(session, [])


def test_what_was_summarised_is_still_in_the_session(play):
    session, _ = play(Short(steps=8))
    told = [e["call_id"] for e in session.events() if e["type"] == "tool_result" and e["text"]]
    assert len(set(told)) == 8
    assert len([m for m in session.history if m.role == "tool"]) < 8


def test_with_0_it_is_never_made_shorter_by_itself(play):
    model = Short(steps=8)
    play(model, at=0)
    assert model.summaries == 0


def test_too_long_for_the_model_is_summarised_and_asked_again_once(play):
    model = Short(steps=2, too_long=[3])
    _, events = play(model, at=0)
    assert (model.asked, model.summaries) == (4, 1)
    assert "stop_reason" not in events[-1]
    assert kinds(events, "compaction_start", "compaction_end") == ["compaction_start", "compaction_end"]


def test_too_long_once_more_ends_the_turn(play):
    model = Short(steps=2, too_long=[3, 4])
    _, events = play(model, at=0)
    assert (model.asked, model.summaries) == (4, 1)
    assert (events[-1]["stop_reason"], events[-1]["error"]) == ("error", "the conversation is too long")


def test_a_compaction_that_fails_leaves_all_as_it_was_and_is_not_tried_at_every_step(play):
    model = Short(steps=32, failing=True, length=1000)
    session, events = play(model)
    assert 1 <= model.summaries <= 4, "of nine steps"
    assert len(session.history) == 2 + 2 * 32
    assert all("no words" in e["error"] for e in events if e["type"] == "compaction_end")
    assert session.answer == "done"


def test_a_compaction_that_is_stopped_leaves_all_as_it_was(play):
    session, _ = play(Short(steps=1))
    before = list(session.history)

    class Slow(Short):
        async def summarize(self, history, focus):
            await asyncio.Event().wait()

    async def stopped():
        told = []
        task = asyncio.ensure_future(compact(session, Slow(0), lambda type, **f: told.append((type, f))))
        while not told:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return told

    told = asyncio.run(stopped())
    assert [kind for kind, _ in told] == ["compaction_start", "compaction_end"]
    assert told[1][1]["error"]
    assert session.history == before


def test_a_session_taken_up_after_a_compaction_has_the_short_history(tmp_path, play):
    model = Short(steps=8)
    session, _ = play(model)
    again = Session(Workspace(tmp_path), "auto", "demo", journal=session.journal)
    again.read()
    assert again.history == session.history
    assert again.context == session.context


def test_the_share_that_is_kept_leaves_room_to_go_on():
    assert KEEP < 0.5
    session = Session(Workspace("."), "ask", "demo", history=[Message("e1", "user", "x" * 9000)] * 3)
    assert due(session, Short(0), 0.8)
    assert not due(session, Short(0), 0)


# ---- memory ----


class Loud(Short):
    """Each step calls for 100 kB of output."""

    context_size = 100_000

    async def step(self, history, *, tools, effort, system=""):
        self.asked += 1
        if self.asked % 2:
            yield Call("shell", {"command": "head -c 100000 /dev/zero | tr '\\0' x"})
        else:
            yield Text("done")
        yield Finished(Usage(1, 1), None)


def test_memory_does_not_grow_with_the_turns(tmp_path):
    """Forty turns of 100 kB; the second twenty need no more than the first. (benchmarks/long_session.py does 500.)"""
    session = Session(Workspace(tmp_path), "auto", "demo")
    model = Loud(0)

    async def drained():
        pass

    def emit(type, /, **fields):
        session.record({"type": type, **fields})

    def turns(count):
        for _ in range(count):
            settings = Settings("auto", model, "", "all", compact_at=0.8)
            asyncio.run(Turn(Host(session, emit, drained), settings, Message("", "user", "go")).run())
        held = sum(size(m) for m in session.history)
        return held, tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        turns(20)
        held, used = turns(4)
        later, more = turns(16)
    finally:
        tracemalloc.stop()
    assert max(held, later) <= 4 * model.context_size
    assert more - used < 600_000, "of 1.6 MB of output"
    assert model.summaries >= 1


def test_a_session_of_2000_turns_is_read_once_and_listed_by_its_ends(tmp_path, monkeypatch):
    """Counted, not timed: every row once to open it, two reads to list it."""
    from hm_jupyter.agents import journal, saved

    monkeypatch.setenv("HM_SESSIONS", str(tmp_path))
    session = Session(Workspace(tmp_path), "auto", "demo", id="long", journal=saved.journal("long", save=True))
    for n in range(2000):
        session.turn_began()
        session.append(Message(session.new_entry(), "user", f"prompt {n}"))
        session.record({"type": "turn_end"})
    session.journal.close()
    rows = len((tmp_path / "long.jsonl").read_bytes().splitlines())
    read = []
    parsed = journal.parsed
    monkeypatch.setattr(journal, "parsed", lambda line: read.append(1) or parsed(line))
    (entry,) = saved.listed()
    assert (entry["turns"], entry["title"]) == (2000, "")
    assert len(read) < 600
    read.clear()
    again = Session(Workspace(tmp_path), "auto", "demo", id="long", journal=journal.Journal(tmp_path / "long.jsonl"))
    again.read()
    again.journal.close()
    assert (again.turns, len(again.history)) == (2000, 2000)
    assert len(read) == rows
    assert json.loads((tmp_path / "long.jsonl").read_bytes().splitlines()[-1])["summary"]["status"] == "idle"
