"""Files and terminals of ours on the wire: what an agent of v1 asks becomes a host call, what became of it an answer."""

from __future__ import annotations

from typing import Any

import pytest
from acp_talk import V1, V2, Talk

from hm_jupyter import commands as cmd
from hm_jupyter.events import ToolCallUpdated, ToolOutputAppended
from hm_jupyter.protocols.base import HostFailure

Json = dict[str, Any]


@pytest.fixture
def talk() -> Talk:
    return Talk(host=True).open(V1)


def result(talk: Talk, rpc_id: Any) -> Any:
    reply = talk.reply(rpc_id)
    assert reply is not None, "nothing was answered"
    return reply.get("result", reply.get("error"))


def terminal(talk: Talk, rpc_id: Any = "t", **more: Any) -> str:
    """The agent makes a terminal, and is told its id."""
    talk.asks(rpc_id, "terminal/create", sessionId="s1", command="make", **more)
    talk.host({})
    return str(result(talk, rpc_id)["terminalId"])


# ---- files -----------------------------------------------------------------------------------------------------------


def test_a_file_is_read_as_asked(talk: Talk) -> None:
    talk.asks(0, "fs/read_text_file", sessionId="s1", path="/shop/a.txt", line=3, limit=2)
    [call] = talk.calls
    assert (call.name, call.args) == ("read_file", {"path": "/shop/a.txt", "line": 3, "limit": 2})
    assert talk.reply(0) is None
    talk.host({"content": "three\nfour\n"})
    assert result(talk, 0) == {"content": "three\nfour\n"}


def test_without_line_and_limit_the_whole_file_is_meant(talk: Talk) -> None:
    talk.asks(0, "fs/read_text_file", path="/a", line=None)
    assert talk.calls[0].args == {"path": "/a", "line": None, "limit": None}


def test_a_file_is_written_as_asked(talk: Talk) -> None:
    talk.asks("w", "fs/write_text_file", sessionId="s1", path="/shop/a.txt", content="")
    assert talk.calls[0].args == {"path": "/shop/a.txt", "content": ""}
    talk.host({})
    assert result(talk, "w") == {}


@pytest.mark.parametrize(
    ("kind", "code"),
    [("not_found", -32002), ("invalid", -32602), ("denied", -32603), ("failed", -32603), ("cancelled", -32800)],
)
def test_every_failure_has_its_code(talk: Talk, kind: Any, code: int) -> None:
    talk.asks(0, "fs/read_text_file", path="/a")
    talk.host(HostFailure(kind, "Because."))
    assert result(talk, 0) == {"code": code, "message": "Because."}


def test_a_missing_file_is_empty_for_an_agent_that_needs_it_so() -> None:
    talk = Talk(host=True, quirks=["missing_file_is_empty"]).open(V1)
    talk.asks(0, "fs/read_text_file", path="/new")
    talk.host(HostFailure("not_found", "no such file"))
    assert result(talk, 0) == {"content": ""}
    talk.asks(1, "fs/read_text_file", path="/secret")
    talk.host(HostFailure("denied", "refused"))
    assert result(talk, 1)["code"] == -32603


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("fs/read_text_file", {}),
        ("fs/read_text_file", {"path": 5}),
        ("fs/read_text_file", {"path": ""}),
        ("fs/read_text_file", {"path": "/a\0b"}),
        ("fs/read_text_file", {"path": "/a", "line": "3"}),
        ("fs/read_text_file", {"path": "/a", "limit": -1}),
        ("fs/read_text_file", {"path": "/a", "line": True}),
        ("fs/write_text_file", {"path": "/a"}),
        ("fs/write_text_file", {"path": "/a", "content": None}),
        ("terminal/create", {}),
        ("terminal/create", {"command": "a", "args": "b"}),
        ("terminal/create", {"command": "a", "args": [1]}),
        ("terminal/create", {"command": "a", "outputByteLimit": "x"}),
        ("terminal/output", {}),
    ],
)
def test_params_that_make_no_sense_are_refused_and_nothing_is_done(talk: Talk, method: str, params: Json) -> None:
    talk.asks(9, method, **params)
    assert result(talk, 9)["code"] == -32602 and talk.calls == []


def test_meta_is_no_argument(talk: Talk) -> None:
    """Pitfall 20."""
    evil = {"path": "/etc/passwd", "content": "x", "command": "rm", "terminalId": "t", "limit": 1}
    talk.asks(0, "fs/read_text_file", path="/shop/a", _meta=evil)
    assert talk.calls[0].args == {"path": "/shop/a", "line": None, "limit": None}
    talk.asks(1, "fs/write_text_file", path="/shop/a", _meta=evil)
    assert result(talk, 1)["code"] == -32602


# ---- terminals -------------------------------------------------------------------------------------------------------


def test_a_terminal_is_made_with_an_id_of_ours(talk: Talk) -> None:
    env = [{"name": "A", "value": "1"}, {"name": 5, "value": "x"}, "rubbish"]
    talk.asks(0, "terminal/create", sessionId="s1", command="ls", args=["-l"], env=env, cwd="/shop", outputByteLimit=99)
    [call] = talk.calls
    wanted = {"command": "ls", "args": ["-l"], "env": {"A": "1"}, "cwd": "/shop", "output_limit": 99, "call_id": ""}
    assert call.name == "terminal_create" and {k: call.args[k] for k in wanted} == wanted
    assert talk.reply(0) is None
    talk.host({})
    assert result(talk, 0) == {"terminalId": call.args["terminal_id"]}


def test_the_life_of_a_terminal(talk: Talk) -> None:
    name = terminal(talk)
    talk.asks(1, "terminal/output", terminalId=name)
    talk.host({"output": "hi\n", "truncated": False, "exit": None})
    assert result(talk, 1) == {"output": "hi\n", "truncated": False}
    talk.asks(2, "terminal/wait_for_exit", terminalId=name)
    assert talk.calls[-1].name == "terminal_wait" and talk.reply(2) is None
    talk.host({"code": 3, "signal": None})
    assert result(talk, 2) == {"exitCode": 3, "signal": None}
    talk.asks(3, "terminal/output", terminalId=name)
    talk.host({"output": "hi\n", "truncated": True, "exit": {"code": None, "signal": "SIGKILL"}})
    exit_status = {"exitCode": None, "signal": "SIGKILL"}
    assert result(talk, 3) == {"output": "hi\n", "truncated": True, "exitStatus": exit_status}
    talk.asks(4, "terminal/kill", terminalId=name)
    talk.host({})
    assert result(talk, 4) == {}
    talk.asks(5, "terminal/release", terminalId=name)
    assert talk.calls[-1].name == "terminal_release"
    talk.host({})
    assert result(talk, 5) == {}


@pytest.mark.parametrize("method", ["output", "wait_for_exit", "kill", "release"])
def test_a_terminal_that_is_not_ours_is_never_passed_on(talk: Talk, method: str) -> None:
    talk.asks(0, f"terminal/{method}", terminalId="made-up")
    assert result(talk, 0)["code"] == -32002 and talk.calls == []
    name = terminal(talk)
    talk.asks(1, "terminal/release", terminalId=name)
    talk.host({})
    before = len(talk.calls)
    talk.asks(2, f"terminal/{method}", terminalId=name)  # released: its id is not valid any more
    assert result(talk, 2)["code"] == -32002 and len(talk.calls) == before


def test_a_terminal_that_could_not_be_made_is_none(talk: Talk) -> None:
    talk.asks(0, "terminal/create", command="rm")
    name = talk.calls[-1].args["terminal_id"]
    talk.host(HostFailure("denied", "The person refused."))
    assert result(talk, 0) == {"code": -32603, "message": "The person refused."}
    talk.asks(1, "terminal/output", terminalId=name)
    assert result(talk, 1)["code"] == -32002


def test_what_a_terminal_writes_is_shown_with_the_call_that_shows_it(talk: Talk) -> None:
    talk.does(cmd.Prompt(text="go"))
    name = terminal(talk)
    talk.take(talk.adapter.host_output(name, "early "))
    content = [{"type": "terminal", "terminalId": name}]
    talk.updates("tool_call", toolCallId="c1", title="make", kind="execute", status="in_progress", content=content)
    talk.take(talk.adapter.host_output(name, "late"))
    shown = ""
    for event in talk.told():
        if isinstance(event, ToolCallUpdated) and event.output is not None:
            shown = event.output
        elif isinstance(event, ToolOutputAppended):
            shown += event.text
    assert shown == "early late"
    talk.asks(2, "terminal/wait_for_exit", terminalId=name)
    talk.host({"code": 2, "signal": None})
    assert [e.exit_code for e in talk.told(ToolCallUpdated)] == [2]


# ---- giving up -------------------------------------------------------------------------------------------------------


def test_a_wait_that_is_taken_back_is_dropped_and_answered(talk: Talk) -> None:
    name = terminal(talk)
    talk.asks("w", "terminal/wait_for_exit", terminalId=name)
    call = talk.calls[-1]
    talk.tells("$/cancel_request", requestId="w")
    assert talk.dropped == [call.id] and result(talk, "w")["code"] == -32800
    talk.host({"code": 0, "signal": None}, call.id)  # it was too late to stop it
    assert sum(1 for m in talk.messages if m.get("id") == "w") == 1
    talk.asks(5, "terminal/kill", terminalId=name)
    assert talk.calls[-1].name == "terminal_kill"  # the terminal itself is still there


def test_ids_0_and_text_0_are_two_calls(talk: Talk) -> None:
    name = terminal(talk)
    talk.asks(0, "terminal/wait_for_exit", terminalId=name)
    talk.asks("0", "terminal/wait_for_exit", terminalId=name)
    talk.tells("$/cancel_request", requestId="0")
    assert result(talk, "0")["code"] == -32800 and talk.reply(0) is None


# ---- not offered -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "talk",
    [Talk().open(V1), Talk(host=True).open(V2), Talk(host=True, fs_read=False).open(V1)],
    ids=["not offered", "v2", "no reading"],
)
def test_what_was_not_offered_is_not_there(talk: Talk) -> None:
    talk.asks(0, "fs/read_text_file", path="/shop/a")
    assert result(talk, 0)["code"] == -32601 and talk.calls == []


def test_an_answer_nobody_waits_for_is_nothing(talk: Talk) -> None:
    step = talk.take(talk.adapter.host_done("h99", {}))
    assert step.messages == [] and step.events == []
