"""The agent's command line: what each flag does, and what bad ones do."""

from __future__ import annotations

import json

import pytest

from hm_jupyter.agents import main


def first(result):
    return json.loads(result.stdout.splitlines()[0])


def test_the_workspace_is_the_folder_given(run_once, tmp_path):
    """HM-009"""
    (tmp_path / "there").mkdir()
    assert first(run_once("--rpc", "--cwd", "there"))["root"] == str((tmp_path / "there").resolve())


def test_mode_provider_and_model_show_in_session_start(run_once):
    """HM-010 HM-011 HM-012"""
    start = first(run_once("--rpc", "--mode", "plan", "--provider", "demo", "--model", "approvals"))
    assert (start["mode"], start["provider"], start["model"]) == ("plan", "demo", "approvals")


def test_without_flags_the_model_is_the_configured_one_and_nothing_is_resumed(run_once):
    """HM-001 HM-179 HM-180"""
    start = first(run_once("--rpc"))
    assert {k: start[k] for k in ("v", "type", "mode", "model", "resumed", "prompt")} == {
        "v": 1, "type": "session_start", "mode": "ask", "model": "", "resumed": False, "prompt": "",
    }  # fmt: skip


def test_no_session_saves_nothing(start, tmp_path):
    """HM-015"""
    agent = start(cwd=tmp_path)
    before = sorted(tmp_path.rglob("*"))
    agent.turn("say: hello")
    assert agent.state()["session"]["saved"] is False
    assert agent.end() == 0
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--session", "x", "--continue"], "not allowed with"),
        (["--session", "x", "--no-session"], "not allowed with"),
        (["--continue", "--no-session"], "not allowed with"),
        (["--approve", "some"], "--approve"),
        (["--max-steps", "0"], "at least 1"),
        (["--max-steps", "many"], "--max-steps"),
        (["--mode", "nope"], "the modes are ask"),
        (["--provider", "nope"], "there is no provider"),
        (["--model", "nope"], "quickstart"),
        (["--model", "./nope.toml"], "cannot be read"),
        (["--model", "/dev/zero"], "no regular file"),
        (["--cwd", "/no/such/folder"], "no folder"),
        (["--no-such-flag"], "--no-such-flag"),
        (["run the tests"], "run the tests"),
        (["--session", "20260101-000000-abcdef"], "no saved session"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_a_bad_flag_is_2_and_writes_nothing_but_a_message_for_people(capfd, flags, says):
    """HM-016 HM-018 HM-019 HM-037"""
    assert main(["--rpc", *flags]) == 2
    written = capfd.readouterr()
    assert written.out == ""
    assert says in written.err
    assert written.err.count("\n") == 1, "one line: a person sees it, who typed none of this"


def test_the_process_exits_with_2_without_a_line_of_output(run_once):
    """HM-037"""
    result = run_once("--rpc", "--approve", "some")
    assert (result.returncode, result.stdout) == (2, "")
    assert "--approve" in result.stderr
    assert "Traceback" not in result.stderr


def test_without_rpc_it_says_how_it_is_driven(run_once):
    result = run_once()
    assert (result.returncode, result.stdout) == (2, "")
    assert "--rpc" in result.stderr


def test_max_steps_ends_the_turn_and_says_so(start):
    """HM-017"""
    agent = start("--max-steps", "1", "--mode", "auto")
    events = agent.turn("run: echo one")
    assert [e["type"] for e in events].count("message_start") == 1
    assert any(e["type"] == "tool_result" and e["text"] == "one\n" for e in events)
    assert events[-1]["stop_reason"] == "max_steps"
    assert "--max-steps" in events[-1]["error"]
