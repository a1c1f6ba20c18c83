"""Terminals, ours and the agent's, shown with the call that embeds them (ACP reference, section 6)."""

from __future__ import annotations

import base64
import itertools
import time
from typing import Any

import pytest
from acp_scene import Scene, output
from hypothesis import given
from hypothesis import strategies as st

from hm_jupyter import events as ev
from hm_jupyter.commands import CancelWork
from hm_jupyter.errors import NotSupported

SHOWN = [{"type": "terminal", "terminalId": "t"}]


def b64(data: bytes | str) -> str:
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


def writes(scene: Scene, data: bytes | str, terminal: str = "t") -> list[ev.Event]:
    return scene.hears("terminal_output_chunk", terminalId=terminal, data=b64(data))


# ---- v2: the agent's own -------------------------------------------------------------------------------------------


def test_v2_a_terminal_is_shown_as_the_output_of_the_call_that_embeds_it(v2: Scene) -> None:
    v2.hears("terminal_update", terminalId="t")
    v2.call("c", title="ls", kind="execute", content=SHOWN)
    v2.hears("terminal_update", terminalId="t", command="ls", cwd="/w")
    assert writes(v2, "a.txt\n") == [ev.ToolOutputAppended("c", "a.txt\n")]
    v2.hears("terminal_update", terminalId="t", exitStatus={"exitCode": 2})
    call = v2.tool("c")
    assert (str(call.output), call.exit_code) == ("a.txt\n", 2)
    assert len(v2.tools()) == 1


def test_v2_what_a_terminal_wrote_before_it_was_embedded_is_not_lost(v2: Scene) -> None:
    v2.hears("terminal_update", terminalId="t", output={"data": b64("early")}, exitStatus={"exitCode": 0})
    call = v2.call("c", kind="execute", content=[output("before"), *SHOWN])
    assert (str(call.output), call.exit_code) == ("before\nearly", 0)


def test_v2_a_terminal_told_of_before_its_call_is_one_call_with_it(v2: Scene) -> None:
    """codex-acp 2.6 tells of the terminal, then of the call that embeds it; it was shown twice, once as interrupted."""
    v2.hears("terminal_update", terminalId="t", command="ls", cwd="/w")
    assert [call.title for call in v2.tools()] == ["ls"]  # until then it is shown by itself
    v2.call("c", title="ls -l", kind="execute", status="in_progress", content=SHOWN)
    writes(v2, "a.txt\n")
    assert [(call.call_id, call.title, str(call.output)) for call in v2.tools()] == [("c", "ls -l", "a.txt\n")]


def test_v2_a_terminal_told_of_between_its_call_and_the_word_that_it_shows_it_is_one_call_with_it(v2: Scene) -> None:
    v2.call("c", title="make", kind="execute")
    v2.hears("terminal_update", terminalId="t", command="make")
    v2.call("c", status="in_progress", content=[{"type": "terminal", "terminalId": "t"}])
    v2.hears("terminal_output_chunk", terminalId="t", data=b64("made"))
    v2.hears("terminal_update", terminalId="t", exitStatus={"exitCode": 0})
    assert [(tool.call_id, str(tool.output), tool.exit_code) for tool in v2.tools()] == [("c", "made", 0)]


def test_v2_a_terminal_that_was_a_call_of_its_own_when_another_took_it_ends_with_it(v2: Scene) -> None:
    v2.call("c", title="look", kind="read")
    v2.hears("terminal_update", terminalId="t", command="make")
    assert len(v2.tools()) == 2
    v2.call("c", content=[{"type": "terminal", "terminalId": "t"}])
    v2.hears("terminal_update", terminalId="t", exitStatus={"exitCode": 0})
    assert v2.tools()[1].status == "completed"


@given(st.text(min_size=1), st.lists(st.integers(0, 200), max_size=6))
def test_v2_characters_and_escape_sequences_may_be_split_anywhere(text: str, cuts: list[int]) -> None:
    data = ("\x1b[31m" + text + "\x1b[0m").encode("utf-8", "replace")
    scene = Scene(2).turn()
    scene.call("c", content=SHOWN)
    edges = [0, *sorted({min(cut, len(data)) for cut in cuts}), len(data)]
    for start, end in itertools.pairwise(edges):
        writes(scene, data[start:end])
    assert str(scene.tool("c").output) == data.decode()


def test_v2_a_snapshot_replaces_and_chunks_follow_it(v2: Scene) -> None:
    v2.call("c", content=SHOWN)
    writes(v2, "old")
    v2.hears("terminal_update", terminalId="t", output={"data": b64("new")})
    writes(v2, "er")
    assert str(v2.tool("c").output) == "newer"


@pytest.mark.parametrize(("given", "left"), [({}, "kept"), ({"output": None}, ""), ({"output": {"data": "%"}}, "kept")])
def test_v2_left_out_keeps_null_clears_and_nonsense_says_nothing(v2: Scene, given: dict[str, Any], left: str) -> None:
    v2.call("c", content=SHOWN)
    writes(v2, "kept")
    v2.hears("terminal_update", terminalId="t", **given)
    assert str(v2.tool("c").output) == left
    assert v2.notices() == []


def test_v2_a_character_cut_off_by_the_end_is_shown_as_such(v2: Scene) -> None:
    v2.call("c", content=SHOWN)
    writes(v2, "é".encode()[:1])
    v2.hears("terminal_update", terminalId="t", exitStatus={"signal": "KILL"})
    assert str(v2.tool("c").output) == "\N{REPLACEMENT CHARACTER}"


def test_v2_a_chunk_that_is_not_base64_is_one_notice(v2: Scene) -> None:
    v2.hears("terminal_output_chunk", terminalId="t", data="§§")
    v2.hears("terminal_output_chunk", terminalId="t")
    assert len(v2.notices()) == 2


def test_v2_a_terminal_no_call_embeds_is_a_call_of_its_own(v2: Scene) -> None:
    v2.hears("terminal_update", terminalId="t", command="make", cwd="/w")
    writes(v2, "done\n")
    call = v2.tool("terminal:t")
    assert (call.title, call.category, call.status, call.input) == (
        "make",
        "shell",
        "running",
        {"command": "make", "cwd": "/w"},
    )
    v2.hears("terminal_update", terminalId="t", exitStatus={"exitCode": 1})
    call = v2.tool("terminal:t")
    assert (str(call.output), call.status, call.exit_code) == ("done\n", "failed", 1)


def test_v2_background_terminals_and_calls_can_be_stopped_where_the_agent_says_so_pitfall_27(v2: Scene) -> None:
    v2.hears("terminal_update", terminalId="t", command="sleep", capabilities={"cancel": {}})
    v2.call("c", capabilities={"cancel": {}})
    v2.hears("subagent_update", sessionId="kid", capabilities={"cancel": {}})
    v2.ends()
    stop = v2.updates.cancel_work
    assert stop(CancelWork(kind="terminal", work="t"), "s") == (
        "terminal/cancel",
        {"sessionId": "s", "terminalId": "t"},
        True,
    )
    assert stop(CancelWork(kind="tool", work="c"), "s") == (
        "tool_call/cancel",
        {"sessionId": "s", "toolCallId": "c"},
        True,
    )
    assert stop(CancelWork(kind="subagent", work="sub:kid"), "s") == ("session/cancel", {"sessionId": "kid"}, False)
    v2.hears("terminal_update", terminalId="t", exitStatus={})
    v2.call("c", status="completed")
    v2.hears("subagent_update", sessionId="kid", capabilities=None)
    for kind, work in (("terminal", "t"), ("tool", "c"), ("subagent", "kid"), ("tool", "never heard of")):
        with pytest.raises(NotSupported):
            stop(CancelWork(kind=kind, work=work), "s")  # type: ignore[arg-type]


# ---- v1: those we run, and those in _meta --------------------------------------------------------------------------


def host_writes(scene: Scene, text: str) -> None:
    out: list[ev.Event] = []
    scene.updates.host_output("t", text, out)
    scene.feed(out)


def test_v1_what_our_terminal_writes_is_shown_with_the_call_that_embeds_it(v1: Scene) -> None:
    host_writes(v1, "early ")
    v1.hears("tool_call", toolCallId="c", title="ls", kind="execute", content=SHOWN)
    host_writes(v1, "late")
    out: list[ev.Event] = []
    v1.updates.host_exit("t", 3, out)
    v1.feed(out)
    call = v1.tool("c")
    assert (str(call.output), call.exit_code) == ("early late", 3)
    assert v1.updates.calls.of_terminal("t") == "c"
    assert v1.updates.calls.of_terminal("other") == ""


def test_v1_an_update_that_embeds_the_same_terminal_again_keeps_what_it_wrote(v1: Scene) -> None:
    v1.hears("tool_call", toolCallId="c", title="ls", content=SHOWN)
    host_writes(v1, "text")
    events = v1.hears("tool_call_update", toolCallId="c", status="completed", content=SHOWN)
    assert events == [ev.ToolCallUpdated("c", status="completed")]
    assert str(v1.tool("c").output) == "text"


def test_v1_a_terminal_the_client_never_made_has_its_output_in_meta(v1: Scene) -> None:
    v1.hears("tool_call", toolCallId="c", title="ls", kind="execute", content=SHOWN)
    for piece in ("a\n", "b\n"):
        v1.hears(
            "tool_call_update", toolCallId="c", _meta={"terminal_output_delta": {"terminal_id": "t", "data": piece}}
        )
    v1.hears(
        "tool_call_update",
        toolCallId="c",
        _meta={"terminal_exit": {"terminal_id": "t", "exit_code": 4, "signal": None}},
    )
    call = v1.tool("c")
    assert (str(call.output), call.exit_code) == ("a\nb\n", 4)


def test_meta_is_merged_into_nothing_else(v1: Scene) -> None:
    call = v1.call(
        "c", title="t", _meta={"title": "evil", "rawInput": {"a": 1}, "terminal_output": "text", "status": "failed"}
    )
    assert (call.title, call.input, call.status, str(call.output)) == ("t", None, "pending", "")


def test_20_000_pieces_of_output_cost_no_more_than_their_length(v2: Scene) -> None:
    """Time that grew with the square of the length would be a hundred times the bound."""
    v2.call("c", content=SHOWN)
    v2.hears("subagent_update", sessionId="kid")
    begun = time.process_time()
    out: list[ev.Event] = []
    text = {"type": "text", "text": "x" * 50}
    for _ in range(20_000):
        v2.updates.update(
            "s", {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": b64("x" * 50)}, out
        )
        v2.updates.update(
            "s", {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "d", "content": output("x" * 50)}, out
        )
        v2.updates.update("kid", {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": text}, out)
    assert time.process_time() - begun < 5
    assert len(out) >= 60_000
