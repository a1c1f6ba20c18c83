"""The outbox: however many operations there are, a browser gets few messages and ends up with the same transcript."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hm_jupyter.notebook.outbox import INTERVAL, TAIL, Outbox
from hm_jupyter.transcript import (
    Append,
    MessageEntry,
    Op,
    PendingQuestion,
    Put,
    Rope,
    State,
    ToolEntry,
    Transcript,
    to_json,
)


class Browser:
    """The other end, as the wire's description says it behaves."""

    def __init__(self) -> None:
        self.entries: dict[str, dict[str, Any]] = {}
        self.state: dict[str, Any] = {}
        self.seq: int | None = None
        self.gaps = 0

    def receive(self, message: dict[str, Any]) -> None:
        if message["t"] == "snapshot":
            self.entries = {e["id"]: dict(e) for e in message["entries"]}
            self.state = dict(message["state"])
        elif self.seq is None or message["seq"] != self.seq + 1:
            self.gaps += 1
            return
        else:
            for op in message["ops"]:
                if op["op"] == "put":
                    self.entries[op["entry"]["id"]] = dict(op["entry"])
                elif op["op"] == "append":
                    self.entries[op["id"]][op["field"]] += op["text"]
                else:
                    self.state.update(op["patch"])
        self.seq = message["seq"]


def feed(outbox: Outbox, *ops: Op) -> None:
    for op in ops:
        outbox.transcript.apply(op)
    outbox.offer(ops)


def message(id_: str, text: str = "", turn: int = 1) -> Put:
    return Put(MessageEntry(id_, turn, Rope(text)))


@pytest.fixture
def outbox() -> Outbox:
    return Outbox(Transcript())


def test_the_first_operation_after_a_pause_goes_out_at_once(outbox: Outbox) -> None:
    feed(outbox, message("m", "Hel"))
    assert outbox.due() == 0.0
    sent = outbox.take(100.0)
    assert sent is not None
    assert [op["op"] for op in sent["ops"]] == ["put"]
    feed(outbox, Append("m", "text", "lo"))
    assert outbox.take(100.0 + INTERVAL + 5) is not None


def test_there_is_nothing_to_send_when_nothing_happened(outbox: Outbox) -> None:
    assert outbox.due() is None
    assert outbox.take(1.0) is None


def test_what_follows_waits_for_the_interval_and_is_one_operation(outbox: Outbox) -> None:
    feed(outbox, message("m"))
    outbox.take(10.0)
    for word in ("one ", "two ", "three"):
        feed(outbox, Append("m", "text", word))
        assert outbox.take(10.0 + INTERVAL / 2) is None
    sent = outbox.take(10.0 + INTERVAL)
    assert sent is not None
    assert sent["ops"] == [{"op": "append", "id": "m", "field": "text", "text": "one two three"}]


def test_a_second_of_a_fast_stream_is_at_most_twenty_messages(outbox: Outbox) -> None:
    feed(outbox, message("m"))
    sent, now = [], 0.0
    while now < 10.0:
        feed(outbox, Append("m", "text", "x"))
        if outbox.take(now) is not None:
            sent.append(now)
        now += 0.0005
    assert all(sum(t <= s < t + 1 for s in sent) <= 20 for t in sent)
    assert len(sent) > 150, "and not needlessly few"


def test_appends_to_an_entry_that_goes_out_whole_are_not_sent_twice(outbox: Outbox) -> None:
    feed(outbox, message("m", "a"), Append("m", "text", "b"))
    sent = outbox.take(1.0)
    assert sent is not None
    assert [op["entry"]["text"] for op in sent["ops"]] == ["ab"]


def test_a_repeated_put_keeps_the_last_and_the_place_of_the_first(outbox: Outbox) -> None:
    feed(outbox, message("a"), message("b"), message("a", "again"))
    sent = outbox.take(1.0)
    assert sent is not None
    assert [(op["entry"]["id"], op["entry"]["text"]) for op in sent["ops"]] == [("a", "again"), ("b", "")]


def test_appends_to_two_fields_of_one_entry_stay_apart(outbox: Outbox) -> None:
    feed(outbox, Put(ToolEntry("t", 1, "c")), message("m"))
    outbox.take(1.0)
    feed(outbox, Append("t", "output", "1"), Append("m", "text", "x"), Append("t", "output", "2"))
    sent = outbox.take(2.0)
    assert sent is not None
    assert {(o["id"], o["field"], o["text"]) for o in sent["ops"]} == {("t", "output", "12"), ("m", "text", "x")}


def test_patches_of_the_state_become_one_and_come_last(outbox: Outbox) -> None:
    question = PendingQuestion("q", "q", 1, "which?")
    feed(outbox, State({"status": "working"}), message("m"), State({"status": "waiting", "pending": [question]}))
    sent = outbox.take(1.0)
    assert sent is not None
    assert [op["op"] for op in sent["ops"]] == ["put", "state"]
    assert sent["ops"][1]["patch"] == {"status": "waiting", "pending": [to_json(question)]}


def test_a_view_of_a_later_turn_sees_neither_entries_nor_appends_of_earlier_ones() -> None:
    outbox = Outbox(Transcript(), turn=2)
    feed(outbox, message("old", turn=1), Append("old", "text", "x"))
    assert outbox.due() is None
    feed(outbox, message("new", turn=2), Append("old", "text", "y"), State({"turn": 2}))
    sent = outbox.take(1.0)
    assert sent is not None
    assert [op["op"] for op in sent["ops"]] == ["put", "state"]
    assert [e["id"] for e in outbox.snapshot(2.0, 0.0)["entries"]] == ["new"]


def test_an_entry_that_moves_into_the_view_appears() -> None:
    outbox = Outbox(Transcript(), turn=2)
    feed(outbox, message("m", "queued", turn=1))
    feed(outbox, message("m", "read", turn=2))
    sent = outbox.take(1.0)
    assert sent is not None
    assert sent["ops"][0]["entry"]["text"] == "read"


def test_a_snapshot_replaces_what_was_not_sent_yet_and_takes_a_number(outbox: Outbox) -> None:
    feed(outbox, message("m", "a"))
    first = outbox.take(1.0)
    feed(outbox, Append("m", "text", "b"))
    snapshot = outbox.snapshot(1.01, 1234.5)
    assert first is not None
    assert snapshot["seq"] == first["seq"] + 1
    assert snapshot["entries"][0]["text"] == "ab"
    assert snapshot["now"] == 1234.5
    assert not outbox.waiting
    feed(outbox, Append("m", "text", "c"))
    following = outbox.take(2.0)
    assert following is not None
    assert following["seq"] == snapshot["seq"] + 1
    assert following["ops"][0]["text"] == "c"


def test_an_empty_message_follows_the_last_one_so_that_its_loss_is_noticed(outbox: Outbox) -> None:
    feed(outbox, message("m"))
    sent = outbox.take(5.0)
    assert sent is not None
    assert outbox.due() == 5.0 + TAIL
    tail = outbox.take(5.0 + TAIL)
    assert tail is not None
    assert (tail["ops"], tail["seq"]) == ([], sent["seq"] + 1)
    assert outbox.due() is None, "and it is not followed by another"


def test_nothing_an_agent_sends_makes_a_message_that_cannot_be_carried(outbox: Outbox) -> None:
    odd = {"nan": float("nan"), "big": 2**70, "half \ud800": ["\udfff", float("-inf"), True, None]}
    feed(outbox, Put(ToolEntry("t", 1, "c", input=odd)), Append("t", "output", "x\ud83d"))
    sent = outbox.take(1.0)
    text = json.dumps(sent, ensure_ascii=False, allow_nan=False).encode("utf-8").decode("utf-8")
    entry = json.loads(text)["ops"][0]["entry"]
    assert entry["input"] == {"nan": "nan", "big": str(2**70), "half \ufffd": ["\ufffd", "-inf", True, None]}
    assert entry["output"] == "x\ufffd"


OPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 4), st.integers(1, 3), st.text("ab", max_size=3)),
        st.tuples(st.just("append"), st.integers(0, 4), st.just(0), st.text("cd", min_size=1, max_size=3)),
        st.tuples(st.just("state"), st.integers(0, 4), st.just(0), st.sampled_from(["working", "ready"])),
        st.tuples(st.just("take"), st.integers(0, 4), st.just(0), st.just("")),
        st.tuples(st.just("snapshot"), st.just(0), st.just(0), st.just("")),
    ),
    max_size=60,
)


@settings(max_examples=200, deadline=None)
@given(OPS, st.integers(0, 2))
def test_the_browser_ends_up_with_what_the_transcript_holds(script: list[Any], turn: int) -> None:
    outbox, browser, now = Outbox(Transcript(), turn=turn), Browser(), 0.0
    browser.receive(outbox.snapshot(now, 0.0))
    for what, which, in_turn, text in script:
        now += 0.02
        id_ = f"m{which}"
        if what == "put":  # an entry's turn never goes back
            known = outbox.transcript.entries.get(id_)
            feed(outbox, message(id_, text, max(in_turn, known.turn if known else 0)))
        elif what == "append" and id_ in outbox.transcript.entries:
            feed(outbox, Append(id_, "text", text))
        elif what == "state":
            feed(outbox, State({"status": text}))
        elif what == "take" and (sent := outbox.take(now)) is not None:
            browser.receive(sent)
        elif what == "snapshot":
            browser.receive(outbox.snapshot(now, 0.0))
    if (sent := outbox.take(now + 1)) is not None:
        browser.receive(sent)
    assert browser.gaps == 0
    shown = {k: to_json(e) for k, e in outbox.transcript.entries.items() if e.turn >= turn}
    assert browser.entries == shown
    assert browser.state["status"] == outbox.transcript.state.status
