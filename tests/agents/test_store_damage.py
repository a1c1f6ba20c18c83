"""A saved session's file cut off at any byte or damaged anywhere: it opens, and the conversation is one a model takes."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hm_jupyter.agents import saved
from hm_jupyter.agents.journal import Journal

from ..helpers.saved_session import check, closed, opened
from .conftest import Peer

SCRIPT = """
[[prompt]]
match = "go"
  [[prompt.step]]
  text = "Two calls."
    [[prompt.step.call]]
    tool = "shell"
    command = "echo one"
    [[prompt.step.call]]
    tool = "write_file"
    path = "made.txt"
    content = "made"
  [[prompt.step]]
  text = "Done."
"""

EASY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a session with asked calls, a compaction, a steer, an abort, and a turn after all that."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "script.toml").write_text(SCRIPT)
    agent = Peer(folder, "--model", str(folder / "script.toml"), env={"HM_SESSIONS": str(folder / "s")}, saved=True)
    try:
        id = agent.until("session_start")["session"]
        asked = agent.ask("go")
        agent.call("steer", text="also")
        agent.call("approve", call_id=asked["call_id"], allow=True)
        agent.until("turn_end")
        assert agent.call("compact")["ok"]
        agent.ask("go")
        agent.call("abort")
        agent.until("turn_end")
        asked = agent.ask("go")
        agent.call("approve", call_id=asked["call_id"], allow=True)
        asked = agent.until("approval_needed")
        agent.call("approve", call_id=asked["call_id"], allow=False)
        agent.until("turn_end")
        assert agent.end() == 0
    finally:
        agent.stop()
    return (folder / "s" / f"{id}.jsonl").read_bytes()


def told_whole(session, events):
    """Whoever reads what was told sees each message that the model sees."""
    told = {e["entry"]: e["text"] for e in events if "entry" in e}
    unheard = {m.id for m in session.history if m.role == "tool" and m.outcome in ("interrupted", "skipped")}
    seen = {m.id: m.text for m in session.history if m.role != "summary" and m.id not in unheard}
    assert seen.items() <= told.items()


def cut(whole, at, folder):
    path = folder / "cut.jsonl"
    path.write_bytes(whole[:at])
    return path


def test_killed_after_any_row_it_goes_on_legally(whole, tmp_path):
    ends = [n + 1 for n, byte in enumerate(whole) if byte == 10]
    assert len(ends) > 60
    for end in ends:
        path = cut(whole, end, tmp_path)
        session, events = opened(path, tmp_path)
        check(session, events)
        closed(events)
        told_whole(session, events)
        again, same = opened(path, tmp_path)
        assert (again.history, same) == (session.history, events), "repaired once, not at every opening"
        assert path.read_bytes().startswith(whole[:end]), "only added to"


@EASY
@given(st.data())
def test_killed_within_a_row_only_that_one_is_lost(whole, tmp_path, data):
    at = data.draw(st.integers(0, len(whole)))
    session, events = opened(cut(whole, at, tmp_path), tmp_path)
    check(session, events)
    closed(events)
    full = cut(whole, whole.rfind(b"\n", 0, at) + 1, tmp_path)
    assert [m.text for m in opened(full, tmp_path)[0].history] == [m.text for m in session.history]


@EASY
@given(st.data())
def test_any_row_gone_or_garbled_is_no_end_of_the_session(whole, tmp_path, data):
    lines = whole.splitlines(keepends=True)
    for at in data.draw(st.sets(st.integers(0, len(lines) - 1), max_size=4)):
        lines[at] = data.draw(st.sampled_from([b"", b"\x00\n", b"{}\n", b"[]\n", lines[at][:40] + b"\n"]))
    path = tmp_path / "garbled.jsonl"
    path.write_bytes(b"".join(lines))
    session, events = opened(path, tmp_path)
    check(session, [])
    assert all(isinstance(e["type"], str) for e in events)


@EASY
@given(st.data())
def test_values_of_another_kind_are_no_end_of_the_session(whole, tmp_path, data):
    """A file of another version, or one somebody edited."""
    rows = [json.loads(line) for line in whole.splitlines()]
    for at in data.draw(st.sets(st.integers(0, len(rows) - 1), min_size=1, max_size=3)):
        table = rows[at]
        inner = next(iter(table.values()))
        if isinstance(inner, dict) and data.draw(st.booleans()):
            table = inner
        key = data.draw(st.sampled_from(sorted(table)))
        table[key] = data.draw(st.sampled_from([None, 5, "x", [], [1], ["x"], {}, {"a": 1}, True]))
    path = tmp_path / "other.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    session, _ = opened(path, tmp_path)
    check(session, [])
    session.journal = Journal(path)
    try:
        session.told(None, 100)
        for message in session.history[:3]:
            try:
                session.forked(message.id).journal.close()
            except KeyError:
                pass  # of a message that was made for one that cannot be read
    finally:
        session.journal.close()


def test_damaged_files_are_listed_or_left_out_and_never_in_the_way(whole, tmp_path, monkeypatch):
    monkeypatch.setenv("HM_SESSIONS", str(tmp_path))
    for at in range(0, len(whole), 97):
        (tmp_path / f"s{at}.jsonl").write_bytes(whole[:at])
    listed = saved.listed()
    assert 0 < len(listed) <= len(whole) // 97 + 1
    assert {e["status"] for e in listed} == {"idle", "interrupted"}
