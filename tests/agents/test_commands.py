"""Command lines and responses: one each, whatever the line holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys

COMMANDS = [
    {"type": "steer", "text": "x"}, {"type": "follow_up", "text": "x"}, {"type": "abort"},
    {"type": "approve", "call_id": "x", "allow": True}, {"type": "answer", "call_id": "x", "text": "y"},
    {"type": "set_mode", "mode": "ask"}, {"type": "set_model", "model": ""}, {"type": "compact"}, {"type": "get_state"},
    {"type": "list_sessions"}, {"type": "fork"}, {"type": "export", "format": "md", "path": "out.md"},
    {"type": "prompt", "text": "say: hello"},
]  # fmt: skip


def test_each_of_the_thirteen_commands_has_one_response_that_names_it(start):
    """HM-003 HM-043 HM-048 HM-049 HM-051"""
    agent = start()
    for command in COMMANDS:
        response = agent.call(**command)
        assert response["command"] == command["type"]
        assert response["v"] == 1
        assert response["session"]
        assert response["time"]
        assert ("error" in response) is not response["ok"]
        assert response["ok"] is (command["type"] not in ("approve", "answer"))
        assert ("data" in response) is (command["type"] in ("get_state", "list_sessions", "fork", "export"))
        if command["type"] in ("prompt", "follow_up"):
            agent.until("turn_end")
    agent.end()
    assert [e["id"] for e in agent.seen if e["type"] == "response"] == list(range(1, 14))


IDS = ["7", "", 7, 1.5, 1e300, 2**70, True, None, [1, "a"], {"a": {"b": 1}}, "\u2028\ud800"]


def test_an_id_may_be_any_json_value_and_comes_back_unchanged(start):
    """HM-045 HM-046"""
    agent = start()
    for id in IDS:
        agent.raw(json.dumps({"id": id, "type": "get_state"}).encode() + b"\n")
        back = agent.until("response")["id"]
        assert back == id
        assert type(back) is type(id)


def test_a_command_without_an_id_is_carried_out_and_answered_with_null(start):
    """HM-044"""
    agent = start()
    agent.raw(b'{"type":"set_mode","mode":"plan"}\n')
    response = agent.until("response")
    assert response["id"] is None
    assert response["ok"] is True
    assert agent.state()["session"]["mode"] == "plan"


NOT_COMMANDS = [
        b"garbage", b"", b"42", b"[]", b'"x"', b"null", b"{", b'{"a":NaN}', b"\xff\xfe", b'{"id":1e999,"type":"abort"}',
        b"[" * 100_000,
    ]  # fmt: skip


def test_a_line_that_is_no_command_is_refused_with_a_null_id_and_it_reads_on(start):
    """HM-054 HM-055 HM-058"""
    agent = start()
    for line in NOT_COMMANDS:
        agent.raw(line + b"\n")
        response = agent.until("response")
        assert (response["id"], response["command"], response["ok"]) == (None, "", False)
        assert response["error"]
        assert agent.call("get_state")["ok"]


UNKNOWN = [({"type": "nope"}, "nope"), ({}, ""), ({"type": 7}, ""), ({"type": None}, "")]


def test_an_unknown_or_missing_type_is_refused_with_the_id_echoed(start):
    """HM-056 HM-057"""
    agent = start()
    for command, name in UNKNOWN:
        agent.raw(json.dumps({"id": "x", **command}).encode() + b"\n")
        response = agent.until("response")
        assert (response["id"], response["command"], response["ok"]) == ("x", name, False)
        assert "get_state" in response["error"]
        assert agent.call("get_state")["ok"]


WRONG_FIELDS = [
    {"type": "prompt", "text": 7}, {"type": "prompt", "text": "x", "images": {}},
    {"type": "prompt", "text": "x", "images": ["a"]}, {"type": "steer"}, {"type": "approve", "call_id": "c"},
    {"type": "approve", "call_id": "c", "allow": 1}, {"type": "answer", "call_id": "c"}, {"type": "set_mode"},
    {"type": "set_model"}, {"type": "export", "format": "pdf"}, {"type": "fork", "entry": 3},
    {"type": "approve", "call_id": "c", "allow": True, "edits": [{"path": "a"}]},
]  # fmt: skip


def test_a_field_of_the_wrong_kind_fails_that_command_only(start):
    """HM-061 HM-130"""
    agent = start()
    for command in WRONG_FIELDS:
        response = agent.call(**command)
        assert response["ok"] is False, command
        assert response["error"].startswith(command["type"])
        assert agent.state()["running"] is False


def test_an_empty_prompt_is_refused(start):
    """HM-066"""
    agent = start()
    response = agent.call("prompt", text="")
    assert response["ok"] is False
    assert "nothing to send" in response["error"]


def test_commands_come_in_any_pieces(start):
    """HM-003"""
    agent = start()
    for byte in b'{"id":1,"type":"get_state"}\r\n{"id":2,"ty':
        agent.raw(bytes([byte]))
    agent.until("response", id=1)
    agent.raw(b'pe":"get_state"}\n{"id":3,"type":"get_state"}\n{"id":4,"type":"get_state"}')
    agent.close_input()
    agent.exit_code()
    assert [e["id"] for e in agent.seen if e["type"] == "response"] == [1, 2, 3, 4]


def test_a_line_that_is_too_long_is_refused_and_the_next_one_read(start):
    agent = start()
    piece = b"x" * 2**20
    for _ in range(65):
        agent.raw(piece)
    agent.raw(b"\n")
    response = agent.until("response")
    assert (response["id"], response["ok"]) == (None, False)
    assert "64 MiB" in response["error"]
    assert agent.call("get_state")["ok"]


def test_fields_nobody_knows_are_let_be(start):
    agent = start()
    assert agent.call("get_state", colour="blue")["ok"]


def test_the_session_goes_on_in_a_file_as_input(run_once, tmp_path):
    """HM-001"""

    file = tmp_path / "commands.jsonl"
    file.write_text('{"id":1,"type":"prompt","text":"say: a\\nb"}\n', encoding="utf-8")
    with open(file, "rb") as input:
        result = subprocess.run(
            [sys.executable, "-m", "hm_jupyter.agents", "--rpc"], stdin=input, capture_output=True, timeout=20,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "HM_DEMO_SPEED": "0"}, cwd=tmp_path,
        )  # fmt: skip
    assert result.returncode == 0
    assert json.loads(result.stdout.splitlines()[-1])["answer"] == "a\nb"


def test_a_pipe_is_not_waited_for(start, tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    agent = start(cwd=tmp_path)
    for response in (
        agent.call("export", format="md", path="pipe.toml"),
        agent.call("set_model", model=str(tmp_path / "pipe.toml")),
    ):
        assert not response["ok"]
        assert "no regular file" in response["error"]
