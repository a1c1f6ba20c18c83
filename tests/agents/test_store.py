"""Saved sessions as a client meets them: opened again, listed, forked, interrupted, locked, and in a bad state."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

FIELDS = {
    "id", "title", "mode", "provider", "root", "parent_id", "fork_of", "status", "updated", "turns", "cost",
}  # fmt: skip


@pytest.fixture
def begin(start):
    """Starts agents that save; ``at`` names the workspace."""

    def run(*flags, **more):
        return start(*flags, saved=True, **more)

    return run


@pytest.fixture
def place(tmp_path):
    def make(name):
        (tmp_path / name).mkdir(exist_ok=True)
        return tmp_path / name

    return make


def listed(agent, **fields):
    return agent.call("list_sessions", **fields)["data"]["sessions"]


def told(agent):
    return agent.seen[0]


def talk(agent, *texts):
    """Turns in which it says these, and its end; returns the session's id."""
    for text in texts:
        agent.turn(f"say: {text}")
    assert agent.end() == 0
    return told(agent)["session"]


# ---- opened again ----


def test_a_session_is_opened_again_with_its_conversation(begin):
    """HM-013 HM-143"""
    first = begin("--mode", "auto", "--model", "stress")
    assert first.call("set_model", effort="high")["ok"]
    assert first.state()["session"]["saved"] is True
    first.turn("say: kept")
    before = first.state()["session"]
    assert first.end() == 0

    again = begin("--session", before["id"])
    assert (told(again)["session"], told(again)["resumed"], told(again)["earlier"]) == (before["id"], True, 1)
    assert told(again)["title"] == "say: kept"
    after = again.state()["session"]
    assert after == before
    events = again.turn("say: more")
    assert [e["entry"] for e in events if e["type"] == "message_end"] == ["e3", "e4"], "entries are numbered on"


def test_the_beginning_of_an_id_is_enough_where_it_is_of_one_session(begin):
    """HM-013"""
    id = talk(begin(), "one")
    other = talk(begin(), "two")
    assert told(begin("--session", id[:-1]))["session"] == id
    same = begin("--session", other)
    assert told(same)["resumed"] is True


@pytest.mark.parametrize("name", ["nope", "../../etc/passwd", ".", "*"])
def test_an_unknown_session_is_2_and_says_which_there_are(begin, run_once, tmp_path, name):
    """HM-013 HM-037"""
    id = talk(begin(cwd=tmp_path), "one")
    done = run_once("--rpc", "--session", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert id in done.stderr
    assert done.stderr.count("\n") == 1


def test_continue_opens_the_newest_session_of_this_workspace(begin, place):
    """HM-014"""
    older = talk(begin(cwd=place("here")), "older")
    newer = talk(begin(cwd=place("here")), "newer")
    talk(begin(cwd=place("elsewhere")), "elsewhere")
    again = begin("--continue", cwd=place("here"))
    assert (told(again)["session"], told(again)["resumed"]) == (newer, True)
    assert again.end() == 0
    last = begin("--session", older, cwd=place("here"))
    last.turn("say: again")
    assert last.end() == 0
    assert told(begin("--continue", cwd=place("here")))["session"] == older, "the one that was worked in last"


def test_continue_without_any_begins_a_new_session(begin, place):
    """HM-014"""
    talk(begin(cwd=place("elsewhere")), "x")
    agent = begin("--continue", cwd=place("here"))
    assert (told(agent)["resumed"], told(agent).get("earlier", 0)) == (False, 0)
    agent.turn("say: x")
    assert [s["id"] for s in listed(agent)] == [told(agent)["session"]]


def test_a_session_nothing_was_said_in_leaves_no_file(begin, sessions):
    assert begin().end() == 0
    assert not sessions.exists() or not any(sessions.iterdir())


def test_flags_win_over_what_the_session_had(begin):
    id = talk(begin("--mode", "auto"), "x")
    assert told(begin("--session", id, "--mode", "plan"))["mode"] == "plan"


def test_leave_for_a_session_does_not_outlive_its_process(begin):
    """HM-164: what was allowed is allowed to the agent that runs, not to whoever opens the file."""
    agent = begin()
    asked = agent.ask("run: echo x")
    agent.call("approve", call_id=asked["call_id"], allow=True, for_session=True)
    agent.until("turn_end")
    assert "approval_needed" not in [e["type"] for e in agent.turn("run: echo x")]
    assert agent.end() == 0
    again = begin("--session", told(agent)["session"])
    again.ask("run: echo x")


# ---- the list ----


def test_the_list_has_the_workspaces_sessions_newest_first_with_all_fields(begin, place):
    """HM-113 HM-114 HM-115 HM-116"""
    one = talk(begin("--mode", "auto", cwd=place("here")), "a", "b")
    two = talk(begin(cwd=place("here")), "c")
    three = talk(begin(cwd=place("elsewhere")), "d")
    agent = begin(cwd=place("here"))
    here, everything = listed(agent), listed(agent, all=True)
    assert [s["id"] for s in here] == [two, one]
    assert [s["id"] for s in everything] == [three, two, one]
    assert all(set(s) == FIELDS for s in everything)
    assert [s["updated"] for s in everything] == sorted((s["updated"] for s in everything), reverse=True)
    entry = here[1]
    assert (entry["title"], entry["mode"], entry["provider"], entry["turns"], entry["status"]) == (
        "say: a", "auto", "demo", 2, "idle",
    )  # fmt: skip
    assert entry["root"] == str(place("here"))
    assert entry["fork_of"] == entry["parent_id"] == ""
    assert entry["cost"] > 0


def test_one_that_is_not_saved_is_not_in_the_list(begin, start):
    """HM-015 HM-113"""
    unsaved = start()
    unsaved.turn("say: x")
    assert listed(begin(), all=True) == []


def test_a_running_session_is_in_the_list_as_running(begin):
    """HM-116"""
    agent = begin()
    agent.ask("run: echo x")
    (entry,) = listed(begin())
    assert (entry["id"], entry["status"]) == (told(agent)["session"], "running")


def test_broken_files_do_not_keep_the_others_from_the_list(begin, sessions):
    id = talk(begin(), "x")
    whole = (sessions / f"{id}.jsonl").read_bytes()
    (sessions / "empty.jsonl").write_bytes(b"")
    (sessions / "noise.jsonl").write_bytes(b"\x00\xff\n" * 100)
    (sessions / "list.jsonl").write_bytes(b"[1]\n")
    (sessions / "odd.jsonl").write_bytes(b'{"session":{"root":5,"turns":"x","title":[]}}\n')
    (sessions / "half.jsonl").write_bytes(whole[: len(whole) // 2])
    (sessions / "folder.jsonl").mkdir()
    (sessions / "x y.jsonl").write_bytes(whole)
    found = {s["id"]: s for s in listed(begin(), all=True)}
    assert found[id]["title"] == "say: x"
    assert set(found) <= {id, "half", "odd"}


# ---- forks ----


def test_a_fork_is_a_saved_session_of_its_own_and_the_first_stays_as_it_was(begin):
    """HM-122 HM-128 HM-124"""
    agent = begin()
    agent.turn("say: one")
    agent.turn("say: two")
    first = told(agent)["session"]
    (before,) = listed(agent)
    response = agent.call("fork", entry="e2")
    fork = response["data"]
    assert (fork["saved"], fork["fork_of"], fork["id"] != first) == (True, first, True)
    begun = agent.until("session_start")
    assert (begun["session"], begun["fork_of"], begun["saved"]) == (fork["id"], first, True)
    assert agent.seen.index(begun) < agent.seen.index(response)
    agent.turn("say: other")
    entries = {s["id"]: s for s in listed(agent)}
    assert entries[first] == before
    assert (entries[fork["id"]]["fork_of"], entries[fork["id"]]["turns"]) == (first, 2)
    assert agent.end() == 0
    assert told(begin("--session", first))["earlier"] == 2
    assert told(begin("--session", fork["id"]))["earlier"] == 2


def test_the_session_a_fork_was_made_from_is_free_for_another_process(begin):
    """HM-128"""
    agent = begin()
    agent.turn("say: one")
    first = told(agent)["session"]
    assert agent.call("fork")["ok"]
    other = begin("--session", first)
    assert [e["text"] for e in other.turn("say: two") if e["type"] == "message_end"] == ["say: two", "two"]


def test_an_export_of_all_branches_has_each_fork_also_one_that_is_open_elsewhere(begin):
    """HM-134"""
    agent = begin()
    agent.turn("say: trunk")
    agent.turn("say: first")
    first = told(agent)["session"]
    assert agent.call("fork", entry="e2")["ok"]
    agent.turn("say: second")
    other = begin("--session", first)
    begun = other.call("prompt", text="ask: still here?")
    assert begun["ok"]
    other.until("question")

    def exported(**fields):
        path = agent.call("export", format="jsonl", path="out.jsonl", **fields)["data"]["path"]
        rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
        said = [r["text"] for r in rows if r["type"] == "message_end" and r["role"] == "user"]
        return [r["id"] for r in rows if r["type"] == "session"], said

    fork = agent.state()["session"]["id"]
    assert exported() == ([fork], ["say: trunk", "say: second"])
    ids, said = exported(all_branches=True)
    assert ids == [fork, first]
    assert said == ["say: trunk", "say: second", "say: first", "ask: still here?"]


# ---- two processes, and one that died ----


def test_a_session_that_is_open_elsewhere_is_refused_with_a_way_out(begin, run_once, tmp_path):
    agent = begin(cwd=tmp_path)
    agent.turn("say: x")
    done = run_once("--rpc", "--session", told(agent)["session"])
    assert (done.returncode, done.stdout) == (2, "")
    assert "open" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_session_whose_process_died_in_a_turn_goes_on_with_its_calls_closed(begin):
    agent = begin()
    asked = agent.ask("run: echo x")
    agent.process.send_signal(signal.SIGKILL)
    agent.process.wait(20)
    id = told(agent)["session"]

    looking = begin()
    assert [(s["id"], s["status"]) for s in listed(looking)] == [(id, "interrupted")]
    again = begin("--session", id)
    assert again.state()["session"]["status"] == "idle"
    events = again.call("get_history")["data"]["events"]
    (decided,) = [e for e in events if e["type"] == "approval"]
    assert (decided["call_id"], decided["allow"], decided["by"]) == (asked["call_id"], False, "agent")
    (result,) = [e for e in events if e["type"] == "tool_result"]
    assert (result["call_id"], result["outcome"], result["is_error"]) == (asked["call_id"], "interrupted", True)
    assert events[-1]["type"] == "turn_end"
    assert again.turn("say: on")[-1]["type"] == "turn_end"
    assert again.end() == 0
    assert [s["status"] for s in listed(looking)] == ["idle"]


# ---- the history ----


def test_the_history_is_what_was_told_without_the_deltas(begin):
    agent = begin("--mode", "auto")
    agent.turn("run: echo hello")
    agent.turn("say: later")
    kept = [e for e in agent.seen if e["type"] not in ("text_delta", "tool_output", "message_start", "tool_start")]
    kept = [e for e in kept if e["type"] not in ("response", "session_start")]
    assert agent.end() == 0
    again = begin("--session", told(agent)["session"])
    events = again.call("get_history")["data"]["events"]

    def bare(event):
        return {k: v for k, v in event.items() if k not in ("v", "time", "session")}

    events = [e for e in events if e["type"] not in ("message_start", "tool_start")]
    assert [bare(e) for e in events] == [bare(e) for e in kept]
    assert all(e["time"] for e in events)


def test_the_history_comes_in_pieces_of_whole_turns(begin):
    agent = begin()
    id = talk(agent, *"abcd")
    again = begin("--session", id)

    def prompts(**fields):
        events = again.call("get_history", **fields)["data"]["events"]
        return [e["text"] for e in events if e["type"] == "message_end" and e["role"] == "user"]

    assert prompts() == ["say: a", "say: b", "say: c", "say: d"]
    assert prompts(limit=1) == ["say: d"]
    assert prompts(before=4, limit=2) == ["say: b", "say: c"]
    assert prompts(before=1) == []


# ---- what is in the file ----


def test_a_row_is_written_before_its_event_is_told(begin, sessions):
    agent = begin()
    asked = agent.ask("run: echo x")
    rows = [json.loads(line) for line in (sessions / f"{told(agent)['session']}.jsonl").read_bytes().splitlines()]
    events = [r["event"] for r in rows if "event" in r]
    assert [e["call_id"] for e in events if e["type"] == "approval_needed"] == [asked["call_id"]]


def test_a_torn_last_line_is_repaired_and_the_session_goes_on(begin, sessions):
    id = talk(begin(), "one", "two")
    path = sessions / f"{id}.jsonl"
    path.write_bytes(path.read_bytes() + b'{"message":{"id":"e9","te')
    again = begin("--session", id)
    again.turn("say: three")
    assert again.end() == 0
    assert all(json.loads(line) for line in path.read_bytes().splitlines())


def test_unreadable_rows_are_kept_and_told_of(begin, sessions):
    id = talk(begin(), "one", "two")
    path = sessions / f"{id}.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:-1], b"\xff\xfe no row\n", lines[-1]]))
    again = begin("--session", id)
    assert "1" in again.until("notice", level="warning")["text"]
    again.turn("say: three")
    assert again.end() == 0
    assert b"\xff\xfe no row\n" in path.read_bytes()


def test_a_session_that_can_no_longer_be_saved_goes_on_and_says_so(begin, sessions, tmp_path):
    sessions.write_text("a file where the folder should be")
    agent = begin()
    events = agent.turn("say: x")
    assert "cannot be saved" in next(e["text"] for e in events if e["type"] == "notice")
    assert events[-1]["type"] == "turn_end"
    assert agent.state()["session"]["saved"] is False
