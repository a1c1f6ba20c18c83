"""A saved session's file: what a crash leaves of it, who may write it, what is read at its ends."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hm_jupyter.agents.journal import PIECE, TAIL, Busy, Journal, peek

from .conftest import ROOT

ROWS = [{"session": {"id": "s"}}, {"message": {"text": 'é\n\u2028 "}{'}}, {"event": {"type": "turn_end"}}]


def written(path, rows):
    journal = Journal(path)
    for row in rows:
        journal.append(row)
    journal.close()
    return path.read_bytes()


def read(path):
    journal = Journal(path)
    try:
        return list(journal.rows())
    finally:
        journal.close()


def test_a_write_that_ends_at_any_byte_loses_at_most_its_own_row(tmp_path):
    whole = written(tmp_path / "whole.jsonl", ROWS)
    path = tmp_path / "cut.jsonl"
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        complete = whole[:cut].count(b"\n")
        journal = Journal(path)
        assert list(journal.rows()) == ROWS[:complete]
        assert journal.unreadable == 0
        journal.append({"after": cut})
        journal.close()
        assert read(path) == [*ROWS[:complete], {"after": cut}]


def test_an_unfinished_row_longer_than_what_is_looked_through_at_once_is_cut_off(tmp_path):
    path = tmp_path / "long.jsonl"
    whole = written(path, [ROWS[0], {"text": "x" * (3 * TAIL)}])
    path.write_bytes(whole[:-1])
    assert read(path) == [ROWS[0]]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=120))
def test_rows_that_cannot_be_read_are_passed_over_counted_and_kept(tmp_path, noise):
    path = tmp_path / "noise.jsonl"
    path.unlink(missing_ok=True)
    first = written(path, ROWS[:1])
    path.write_bytes(first + noise + b"\n" + first)
    journal = Journal(path)
    rows = list(journal.rows())
    journal.append(ROWS[2])
    journal.close()
    assert rows[0] == rows[-1] == ROWS[0]
    lines = path.read_bytes().split(b"\n")[:-1]
    assert len(rows) + journal.unreadable == len(lines) - 1
    assert path.read_bytes().startswith(first + noise + b"\n" + first), "what cannot be read may be read some day"


def test_deep_nesting_is_one_unreadable_row(tmp_path):
    path = tmp_path / "deep.jsonl"
    first = written(path, ROWS[:1])
    path.write_bytes(first + b"[" * 200_000 + b"\n" + first)
    assert read(path) == [ROWS[0], ROWS[0]]


def test_the_file_and_its_folder_are_the_users_alone(tmp_path):
    old = os.umask(0)
    try:
        written(tmp_path / "sessions" / "s.jsonl", ROWS)
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "sessions").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "sessions" / "s.jsonl").stat().st_mode) == 0o600


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path):
    (tmp_path / "target").write_text("mine\n")
    (tmp_path / "s.jsonl").symlink_to(tmp_path / "target")
    with pytest.raises(OSError):
        Journal(tmp_path / "s.jsonl")
    assert (tmp_path / "target").read_text() == "mine\n"


def test_one_that_is_not_saved_holds_its_rows_and_has_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    journal = Journal(None)
    for row in ROWS:
        journal.append(row)
    assert list(journal.rows()) == ROWS
    assert not any(tmp_path.iterdir())
    journal.close()


def test_rows_are_added_while_others_are_read(tmp_path):
    journal = Journal(tmp_path / "s.jsonl")
    journal.append({"n": 0})
    seen = []
    for row in journal.rows():
        seen.append(row["n"])
        if row["n"] < 5:
            journal.append({"n": row["n"] + 1})
    assert seen == [0, 1, 2, 3, 4, 5]
    journal.close()


def test_a_reader_that_is_not_done_does_not_keep_the_file(tmp_path):
    path = tmp_path / "s.jsonl"
    written(path, ROWS)
    journal = Journal(path)
    rows = journal.rows()
    assert next(rows) == ROWS[0]
    journal.close()
    Journal(path).close()


def test_rows_longer_than_a_piece_are_read_whole(tmp_path):
    rows = [{"n": n, "text": "y" * length} for n, length in enumerate((PIECE, 3 * PIECE, 0, PIECE - 20))]
    written(tmp_path / "s.jsonl", rows)
    assert read(tmp_path / "s.jsonl") == rows


def test_two_writers_exclude_each_other_until_one_lets_go(tmp_path):
    path = tmp_path / "s.jsonl"
    first = Journal(path)
    first.append(ROWS[0])
    with pytest.raises(Busy):
        Journal(path)
    first.close()
    assert read(path) == ROWS[:1]


HOLDER = """
import sys, pathlib
from hm_jupyter.agents.journal import Journal
journal = Journal(pathlib.Path(sys.argv[1]))
n = 0
while True:
    journal.append({"n": n, "text": "x" * 5000})
    n += 1
    if n == 3:
        print("here", flush=True)
"""


def test_a_killed_writer_leaves_whole_rows_and_no_lock(tmp_path):
    path = tmp_path / "s.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"here\n"
    with pytest.raises(Busy):
        Journal(path)
    process.send_signal(signal.SIGKILL)
    process.wait(20)
    process.stdout.close()
    numbers = [row["n"] for row in read(path)]
    assert len(numbers) >= 3
    assert numbers == list(range(len(numbers)))


def test_the_ends_of_a_file_are_found_without_its_middle(tmp_path):
    path = tmp_path / "s.jsonl"
    middle = [{"summary": {"n": 1}}, *({"message": {"text": "x" * 1000}} for _ in range(200)), {"summary": {"n": 2}}]
    written(path, [ROWS[0], *middle, {"event": {}}])
    assert peek(path, "summary") == (ROWS[0], {"summary": {"n": 2}}, False)
    with path.open("ab") as file:
        file.write(b'{"summary":{"n":3')
    assert peek(path, "summary")[1] == {"summary": {"n": 2}}, "a row that is being written is none yet"
    written(path, [{"message": {"text": "x" * (2 * TAIL)}}])
    assert peek(path, "summary")[1] == {"summary": {"n": 2}}, "far from the end"


def test_looking_at_a_file_keeps_nobody_from_opening_it(tmp_path):
    path = tmp_path / "s.jsonl"
    written(path, ROWS)
    over = threading.Event()

    def look():
        while not over.is_set():
            peek(path, "summary")

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for _ in range(300):
            Journal(path).close()
    finally:
        over.set()
        thread.join()
