"""The saved sessions of omp and pi, read from the folders in which the real programs leave them."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from hm_jupyter.errors import UsageError
from hm_jupyter.omp_sessions import HEAD, SavedSessions

HERE = "/home/me/my app"


def prompt(text: Any) -> dict[str, Any]:
    return {"type": "message", "id": "m", "message": {"role": "user", "content": text}}


def pi_rows(session: str, cwd: str = HERE, *more: dict[str, Any]) -> list[dict[str, Any]]:
    """As pi 1.6.0 and 0.73.1 write them."""
    return [
        {"type": "session", "version": 3, "id": session, "timestamp": "2026-12-01T02:43:35.300Z", "cwd": cwd},
        {"type": "model_change", "id": "a", "parentId": None, "provider": "mock", "modelId": "mock-1"},
        prompt([{"type": "text", "text": "Plot the\nsales "}]),
        *more,
    ]


def omp_rows(session: str, title: str = "", cwd: str = HERE) -> list[dict[str, Any]]:
    """As omp 18.2.3 writes them."""
    return [
        {"type": "title", "v": 1, "title": title, "updatedAt": "2026-12-01T02:44:01.742Z", "pad": " " * 100},
        {"type": "session", "version": 3, "id": session, "timestamp": "2026-12-01T02:43:59.970Z", "cwd": cwd},
        {"type": "model_change", "id": "a", "parentId": None, "model": "mock/mock-1"},
        prompt("Hello"),
        {"type": "title_change", "id": "b", "title": title, "source": "user"},
    ]


def save(folder: Path, session: str, rows: list[dict[str, Any]], *, age: float = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"2026-12-01T02-43-35-300Z_{session}.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(file, (time.time() - age,) * 2)
    return file


def shelf(home: Path, dialect: str = "pi", cwd: str = HERE, **env: str) -> SavedSessions:
    return SavedSessions(dialect, cwd, {"HOME": str(home), **env})


def test_sessions_of_the_folder_come_newest_first_with_what_a_list_shows(tmp_path: Path) -> None:
    folder = tmp_path / ".pi/agent/sessions/--home-me-my app--"
    save(folder, "old", pi_rows("old"), age=100)
    file = save(folder, "new", pi_rows("new", HERE, {"type": "session_info", "name": "Sales"}, prompt("again")))
    save(tmp_path / ".pi/agent/sessions/--other--", "far", pi_rows("far", "/home/me/other"), age=50)
    new, old = shelf(tmp_path).sessions()
    assert (new["id"], new["title"], new["turns"], new["model"]) == ("new", "Sales", 2, "mock/mock-1")
    assert new["path"] == str(file)
    assert (old["id"], old["title"]) == ("old", "Plot the sales")
    assert new["updated"] > old["updated"]
    assert [s["id"] for s in shelf(tmp_path).sessions(all=True)] == ["new", "far", "old"]


def test_omps_layout_is_read_too(tmp_path: Path) -> None:
    save(tmp_path / ".omp/agent/sessions/-my app", "named", omp_rows("named", "My name"))
    save(tmp_path / ".omp/agent/sessions/-my app", "plain", omp_rows("plain"), age=9)
    named, plain = shelf(tmp_path, "omp").sessions()
    assert (named["title"], named["model"], plain["title"]) == ("My name", "mock/mock-1", "Hello")
    assert shelf(tmp_path, "pi").sessions(all=True) == []


def test_the_programs_own_variables_say_where_they_are(tmp_path: Path) -> None:
    save(tmp_path / "a/sessions/x", "one", pi_rows("one"))
    save(tmp_path / "b", "two", pi_rows("two"))
    assert [s["id"] for s in shelf(tmp_path, PI_CODING_AGENT_DIR=str(tmp_path / "a")).sessions()] == ["one"]
    there = shelf(tmp_path, PI_CODING_AGENT_SESSION_DIR=str(tmp_path / "b"))
    assert [s["id"] for s in there.sessions()] == ["two"]


def test_a_long_session_is_read_at_both_ends_only(tmp_path: Path) -> None:
    rows = pi_rows("long", HERE, *[prompt("x" * 1000) for _ in range(2 * HEAD // 1000)])
    rows += [{"type": "session_info", "name": "Renamed"}, {"type": "model_change", "provider": "p", "modelId": "later"}]
    save(tmp_path / ".pi/agent/sessions/x", "long", rows)
    (found,) = shelf(tmp_path).sessions()
    assert (found["title"], found["model"]) == ("Renamed", "p/later")
    assert "turns" not in found


@pytest.mark.parametrize(
    "text",
    ["", "no json\n", "[]\n", '{"type":"session"}\n', '{"type":"session","id":1,"cwd":[]}\n', "\0" * 500, "[" * 9999],
)
def test_a_file_that_is_no_session_is_left_out(text: str, tmp_path: Path) -> None:
    folder = tmp_path / ".pi/agent/sessions/x"
    save(folder, "good", pi_rows("good"))
    (folder / "2026_bad.jsonl").write_text(text)
    assert [s["id"] for s in shelf(tmp_path).sessions(all=True)] == ["good"]


def test_where_there_is_no_folder_there_are_no_sessions(tmp_path: Path) -> None:
    assert shelf(tmp_path).sessions(all=True) == []
    assert shelf(tmp_path).find("x") == ""


def test_a_session_is_found_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    folder = tmp_path / ".pi/agent/sessions/x"
    file = save(folder, "abc-1", pi_rows("abc-1"))
    save(folder, "abc-2", pi_rows("abc-2"))
    assert shelf(tmp_path).find("abc-1") == str(file)
    assert shelf(tmp_path).find("/some/where.jsonl") == "/some/where.jsonl"
    with pytest.raises(UsageError, match="beginning of 2"):
        shelf(tmp_path).find("abc")


def test_a_session_is_deleted_for_good_and_nothing_else_ever_is(tmp_path: Path) -> None:
    folder = tmp_path / ".pi/agent/sessions/x"
    file = save(folder, "abc", pi_rows("abc"))
    precious = tmp_path / "data.jsonl"
    precious.write_text("{}")
    for name in ("nosuch", str(precious), ""):
        with pytest.raises(UsageError, match="no saved session"):
            shelf(tmp_path).delete(name)
    shelf(tmp_path).delete("abc")
    assert not file.exists()
    assert precious.exists()
