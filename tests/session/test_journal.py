"""The events of a session, kept in order and within bounds."""

from __future__ import annotations

import gc

from hm_jupyter.events import NoticeRaised, TextAppended, TurnEnded
from hm_jupyter.session.journal import RUN, Journal, Record


def test_what_is_read_is_what_was_written():
    journal = Journal()
    written = [
        Record(1.0, 1, TextAppended("a", "x")),
        Record(2.0, 1, TextAppended("a", "y")),
        Record(3.0, 1, NoticeRaised("n")),
        Record(4.0, 1, TextAppended("a", "z")),
        Record(5.0, 1, TextAppended("b", "z", "thought")),
        Record(6.0, 1, TurnEnded()),
        Record(7.0, 2, TextAppended("b", "z")),
    ]
    for r in written:
        journal.write(r.at, r.turn, r.event)
    assert journal.of_turn(1) == written[:-1]
    assert journal.of_turn(2) == written[-1:]


def test_the_oldest_are_let_go_and_counted():
    journal = Journal(keep=100)
    for i in range(250):
        journal.write(float(i), 1, NoticeRaised(str(i)))
    assert [r.at for r in journal.of_turn(1)] == [float(i) for i in range(150, 250)]
    assert journal.dropped == 150


def test_a_long_message_is_let_go_in_portions():
    journal = Journal(keep=2 * RUN)
    for i in range(5 * RUN):
        journal.write(0.0, 1, TextAppended("a", str(i)))
    kept = journal.of_turn(1)
    assert RUN < len(kept) <= 2 * RUN
    assert kept[-1].event == TextAppended("a", str(5 * RUN - 1))
    assert journal.dropped + len(kept) == 5 * RUN


def test_a_streamed_message_gives_the_garbage_collector_nothing_to_do():
    journal = Journal()
    gc.collect()
    before = len(gc.get_objects())
    for i in range(5000):
        journal.write(0.0, 1, TextAppended("a", str(i)))
    assert len(gc.get_objects()) - before < 100
