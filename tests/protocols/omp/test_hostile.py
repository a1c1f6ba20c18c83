"""Whatever an agent writes, ``receive`` never raises, a transcript can be made of it, and nothing of it is read as leave."""

from __future__ import annotations

from typing import Any, get_args

from hypothesis import given, settings
from hypothesis import strategies as st
from omp_talk import Talk

from hm_jupyter import events as ev
from hm_jupyter.commands import Abort, Answer, Approve, CallAgent, Compact, FollowUp, Prompt, SetOption, Steer
from hm_jupyter.errors import HmError

KINDS = [
    "response", "rpc_chunk", "ready", "agent_start", "agent_end", "agent_settled", "session_settled", "prompt_result",
    "message_start", "message_end", "message_update", "tool_execution_start", "tool_execution_update", "tool_execution_end",
    "tool_stream_update", "extension_ui_request", "auto_retry_start", "auto_retry_end", "auto_compaction_start",
    "auto_compaction_end", "compaction_start", "compaction_end", "retry_fallback_applied", "notice", "extension_error",
    "session_info_update", "session_info_changed", "todo_reminder", "todo_auto_clear", "goal_updated", "irc_message",
    "rpc_frame_error", "command_output", "available_commands_update", "bash_execution_update", "model_changed",
    "config_update", "thinking_level_changed", "subagent_lifecycle", "subagent_progress", "subagent_event", "host_tool_call",
    "host_uri_request", "host_tool_cancel", "host_uri_cancel", "queue_update", "turn_end", "hologram",
]  # fmt: skip
FIELDS = [
    "id", "command", "success", "data", "error", "chunkId", "index", "count", "byteLength", "supportedProtocolVersions",
    "isTerminal", "willRetry", "aborted", "agentInvoked", "status", "message", "assistantMessageEvent", "toolCallId",
    "toolName", "args", "partialResult", "result", "isError", "update", "method", "title", "options", "optionDetails", "timeout",
    "prefill", "targetId", "statusKey", "statusText", "widgetKey", "widgetLines", "text", "questions", "url", "attempt",
    "maxAttempts", "delayMs", "errorMessage", "success", "finalError", "level", "extensionPath", "event", "name", "todos",
    "commands", "delta", "model", "thinkingLevel", "payload", "arguments", "operation", "content", "reason", "willRetry",
]  # fmt: skip
INNER = [
    "type", "role", "content", "text", "thinking", "id", "name", "arguments", "stopReason", "errorMessage", "usage", "cost",
    "total", "contentIndex", "delta", "partial", "toolCall", "details", "diff", "path", "oldText", "newText", "edits", "files",
    "status", "agent", "parentToolCallId", "progress", "event", "toolCallId", "toolName", "args", "result", "label", "question",
    "multi", "phases", "tasks", "command", "data", "mimeType", "source", "input", "output", "summary", "tokensBefore",
]  # fmt: skip
WORDS = [
    "p1", "c1", "c2", "d1", "d2", "Helper", "user", "assistant", "toolResult", "custom", "bash", "edit", "text", "thinking",
    "toolCall", "text_delta", "text_end", "thinking_delta", "toolcall_start", "toolcall_end", "stop", "error", "aborted",
    "select", "confirm", "input", "editor", "ask", "notify", "setStatus", "setWidget", "cancel", "open_url", "read", "write",
    "Allow tool: bash\nCommand: ls", "Allow tool: bash\nCall: c1\nInput: {}", "Approve", "Deny", "prompt", "abort", "get_state",
    "hm-1", "a\ud800b", "\x1b[31mred", "\u2028", "", "x" * 300,
]  # fmt: skip

atoms = st.none() | st.booleans() | st.integers(-5, 2**70) | st.floats() | st.sampled_from(WORDS) | st.text(max_size=6)
values = st.recursive(
    atoms,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(INNER), inner, max_size=5),
    max_leaves=10,
)
lines = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS)}, optional=dict.fromkeys(dict.fromkeys(FIELDS), values)
) | st.builds(lambda **fields: fields, type=st.just("extension_ui_request"), id=st.sampled_from(["d1", "d2"]),
    method=st.just("select"), title=st.sampled_from(WORDS), options=st.just(["Approve", "Deny"]))  # fmt: skip
KNOWN = get_args(ev.Event)


def busy(dialect: str) -> Talk:
    """A session with something of everything open."""
    t = Talk(dialect, gate=dialect == "pi").prompt()
    t.says(Steer(id="s1", text="left"))
    t.says(FollowUp(id="f1", text="then"))
    t.delta("hel")
    t.calls_tool("c1", "bash", command="ls")
    t.runs("c1", "bash", command="ls")
    t.dialog("d1", "select", title="Allow tool: bash\nCommand: ls", options=["Approve", "Deny"])
    t.dialog("d2", "input", title="Name?", timeout=1000)
    t.says(CallAgent(id="b1", method="bash", params={"command": "x"}))
    t.says(Compact(id="k1"))
    t.written()
    return t


@settings(max_examples=80, deadline=None)
@given(st.lists(lines | values, max_size=12), st.sampled_from(["omp", "pi"]))
def test_no_line_breaks_it_and_none_is_leave(said: list[Any], dialect: str) -> None:
    t = busy(dialect)
    for line in said:
        t.hears(line)
    assert all(isinstance(event, KNOWN) for event in t.events)
    assert all(line.get("value") != "Approve" and line.get("confirmed") is not True for line in t.written())
    for key in list(t.wakes):
        t.wake(key)
    allowed = [e for e in t.of(ev.ApprovalResolved) if e.outcome == "allowed"]
    assert not allowed


COMMANDS = [
    Prompt(text="x"), Steer(text="x"), FollowUp(text="x"), Abort(), Approve(request_id="d1", allow=False),
    Answer(request_id="d2", text="x"), SetOption(option="auto_retry", value=True), CallAgent(method="get_tree"), Compact(),
]  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(st.lists(lines | st.sampled_from(COMMANDS), max_size=14))
def test_no_order_of_lines_and_commands_breaks_it(story: list[Any]) -> None:
    t = busy("omp")
    for item in story:
        if isinstance(item, dict):
            t.hears(item)
        else:
            try:
                t.says(item.model_copy(update={"id": f"k{len(t.events)}"}))
            except HmError:
                pass
    t.adapter.stop()


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "", "cd"]), max_size=8), st.integers(0, 3))
def test_the_short_way_of_text_tells_what_the_long_one_does(deltas: list[str], index: int) -> None:
    line = {"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "contentIndex": index}}
    wire = [{**line, "assistantMessageEvent": {**line["assistantMessageEvent"], "delta": d}} for d in deltas]  # type: ignore[dict-item]
    long, short = Talk().prompt(), Talk().prompt()
    long.delta("x", index=index)
    short.delta("x", index=index)
    long.hears(*wire)
    at, pieces = 0, []
    while at < len(wire):
        texts = short.adapter.texts(wire, at)
        if texts is None:
            short.hears(wire[at])
            at += 1
        else:
            pieces += texts.pieces
            at += len(texts.pieces)
    assert "".join(e.text for e in long.of(ev.TextAppended)) == "x" + "".join(pieces)
