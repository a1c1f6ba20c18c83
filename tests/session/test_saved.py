"""Saved sessions of the built-in agent as a client has them: taken up again, forked, listed. Real processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import hm_jupyter as hm
from hm_jupyter.errors import UsageError
from hm_jupyter.session.session import Session
from hm_jupyter.transcript import MessageEntry, ToolEntry, TurnEntry, UserEntry


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Session]]:
    monkeypatch.setenv("HM_SESSIONS", str(tmp_path / "saved"))
    monkeypatch.setenv("HM_DEMO_SPEED", "0")
    opened: list[Session] = []
    yield opened
    for session in opened:
        session.close()


def opened(sessions: list[Session], folder: Path, **more: object) -> Session:
    sessions.append(hm.connect("demo", cwd=folder, approve="all", **more))  # type: ignore[arg-type]
    return sessions[-1]


def shown(session: Session) -> list[str]:
    """What a person reads of the session, entry by entry."""
    out = []
    for entry in session.transcript.entries.values():
        if isinstance(entry, UserEntry):
            out.append(f"you: {entry.text}")
        elif isinstance(entry, MessageEntry):
            out.append(f"agent: {entry.text}")
        elif isinstance(entry, ToolEntry):
            out.append(f"{entry.name} {entry.status}: {entry.title} -> {str(entry.output).strip()}")
        elif isinstance(entry, TurnEntry):
            out.append(f"turn {entry.turn} {entry.status}")
    return out


def test_a_session_taken_up_again_shows_its_earlier_turns_as_they_were(sessions: list[Session], tmp_path: Path):
    """HM-013 HM-014"""
    first = opened(sessions, tmp_path)
    first.prompt("run: echo hello").wait()
    first.prompt("say: and then").wait()
    before, usage = shown(first), first.state.usage
    first.close()
    for how in ({"session": first.state.session_id}, {"resume": True}):
        again = opened(sessions, tmp_path, **how)
        assert shown(again) == before
        assert again.state.usage == usage
        assert [t.started for t in again.transcript.turns()] == [0.0, 0.0]
        again.close()


def test_what_comes_next_follows_the_earlier_turns(sessions: list[Session], tmp_path: Path):
    first = opened(sessions, tmp_path)
    first.prompt("say: one").wait()
    first.close()
    again = opened(sessions, tmp_path, resume=True)
    turn = again.prompt("say: one")  # the same words are a message of their own
    turn.wait()
    assert turn.number == 2
    assert shown(again) == [
        "turn 1 finished",
        "you: say: one",
        "agent: one",
        "turn 2 finished",
        "you: say: one",
        "agent: one",
    ]
    assert [s["turns"] for s in again.sessions()] == [2]


def test_a_session_of_another_folder_is_taken_up_there_unless_somebody_says_where(
    sessions: list[Session], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    first = opened(sessions, tmp_path / "a")
    first.prompt("say: one").wait()
    first.close()
    monkeypatch.chdir(tmp_path / "b")
    again = hm.connect("demo", session=first.state.session_id)
    sessions.append(again)
    assert again.state.root == str(tmp_path / "a")
    again.close()
    assert opened(sessions, tmp_path / "c", session=first.state.session_id).state.root == str(tmp_path / "c")


def test_a_fork_from_a_turn_goes_on_after_it(sessions: list[Session], tmp_path: Path):
    """HM-118 HM-121 HM-122 HM-128"""
    session = opened(sessions, tmp_path)
    one = session.prompt("say: one")
    one.wait()
    session.prompt("say: two").wait()
    old = session.state.session_id
    made = session.fork(one)
    assert session.state.session_id == made["id"] != old
    session.prompt("say: three").wait()
    by_id = {s["id"]: s for s in session.sessions()}
    assert (by_id[old]["turns"], by_id[made["id"]]["turns"], by_id[made["id"]]["fork_of"]) == (2, 2, old)
    session.close()
    fork = opened(sessions, tmp_path, session=made["id"])
    assert [line for line in shown(fork) if line.startswith("agent")] == ["agent: one", "agent: three"]


@pytest.mark.parametrize("where", [1, "1", -2])
def test_a_turn_is_named_by_its_number_too(sessions: list[Session], tmp_path: Path, where: object):
    session = opened(sessions, tmp_path)
    session.prompt("say: one").wait()
    session.prompt("say: two").wait()
    assert session.fork(where)["context"] < 640  # type: ignore[arg-type]


@pytest.mark.parametrize("where", [0, 3, -3, "7", True, 1.5])
def test_a_turn_that_is_not_there_cannot_be_forked_from(sessions: list[Session], tmp_path: Path, where: object):
    session = opened(sessions, tmp_path)
    session.prompt("say: one").wait()
    session.prompt("say: two").wait()
    with pytest.raises(UsageError, match="turn"):
        session.fork(where)  # type: ignore[arg-type]
