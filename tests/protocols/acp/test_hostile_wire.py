"""Whatever an agent sends, in whatever order: nothing raises, nothing is answered twice, nothing is taken for leave."""

from __future__ import annotations

import json
from typing import Any

import pytest
from acp_talk import OPTIONS, V1, V2, Talk, can
from hypothesis import given, settings
from hypothesis import strategies as st

from hm_jupyter import commands as cmd
from hm_jupyter.errors import HmError
from hm_jupyter.events import ApprovalResolved, TurnEnded, TurnStarted
from hm_jupyter.session.reducer import reduce
from hm_jupyter.transcript import Transcript

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=5,
)
_ids = st.sampled_from([0, 1, 2, "0", "a", None, 1.5]) | _json
_sessions = st.sampled_from(["s1", "s2", ""]) | _json
_kinds = st.sampled_from(
    "agent_message_chunk agent_thought_chunk user_message_chunk agent_message user_message tool_call tool_call_update"
    " tool_call_content_chunk terminal_update terminal_output_chunk plan plan_update plan_removed state_update"
    " available_commands_update current_mode_update config_option_update session_info_update usage_update notice"
    " compaction_update compaction_summary_chunk subagent_update session_message _vendor".split()
)
_words = st.sampled_from(["running", "idle", "requires_action", "completed", "pending", "c1", "end_turn", "error"])
_block = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image", "x"])}, optional={"text": st.text(max_size=5)}
)
_update = st.fixed_dictionaries(
    {"sessionUpdate": _kinds | _json},
    optional={
        **dict.fromkeys(
            ("content", "entries", "background", "availableCommands", "configOptions"), _json | st.lists(_block)
        ),
        **dict.fromkeys(("toolCallId", "messageId", "terminalId", "status", "state", "stopReason"), _words | _json),
        **dict.fromkeys(("title", "kind", "rawInput", "error", "usage", "locations", "capabilities"), _json),
    },
)
_params = st.fixed_dictionaries(
    {},
    optional={
        "sessionId": _sessions,
        "update": _update | _json,
        "toolCall": st.fixed_dictionaries({"toolCallId": _words | _json}) | _json,
        "options": st.just(OPTIONS) | _json,
        "requestId": _ids,
        "_meta": _json,
        **dict.fromkeys(
            ("path", "content", "command", "terminalId", "title", "subject", "mode", "message"), _json | _words
        ),
    },
)
_methods = st.sampled_from(
    "session/update session/update session/update session/request_permission elicitation/create elicitation/complete"
    " fs/read_text_file fs/write_text_file terminal/create terminal/output terminal/release terminal/wait_for_exit"
    " $/cancel_request $/x _auth/status_update".split()
)
_message = st.fixed_dictionaries({"method": _methods, "params": _params | _json}, optional={"id": _ids})
_answer = st.fixed_dictionaries({"id": st.integers(1, 9) | _ids}, optional={"result": _json | _params, "error": _json})
_ours = st.sampled_from(["prompt", "steer", "abort", "allow", "deny", "wake", "host", "fresh", "back", "stop"])


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([1, 2]), st.lists(_message | _answer | _ours, max_size=25))
def test_any_conversation_is_survived(version: int, steps: list[Any]) -> None:
    talk = Talk(host=True, version=version).open(V2 if version == 2 else can(loadSession=True))
    for step in steps:
        if isinstance(step, str):
            _do(talk, step)
        else:
            talk.hears(step)
    json.dumps(talk.messages)
    answered = [repr(m["id"]) for m in talk.messages if "method" not in m and "error" not in m]
    asked = [repr(s.get("id")) for s in steps if isinstance(s, dict) and "method" in s and "id" in s]
    assert all(answered.count(i) <= asked.count(i) for i in answered)
    allowed = [e for e in talk.events if isinstance(e, ApprovalResolved) and e.outcome == "allowed"]
    assert len(allowed) <= steps.count("allow")
    _reduced(talk)


def _do(talk: Talk, what: str) -> None:
    try:
        if what == "prompt":
            talk.does(cmd.Prompt(text="hi"))
        elif what == "steer":
            talk.does(cmd.Steer(text="more"))
        elif what == "abort":
            talk.does(cmd.Abort())
        elif what in ("allow", "deny"):
            waiting = [e.request_id for e in talk.events if type(e).__name__ == "ApprovalRequested"]
            talk.does(cmd.Approve(request_id=waiting[-1] if waiting else "p0", allow=what == "allow", note="n"))
        elif what == "wake" and talk.wakes:
            talk.rings(next(iter(talk.wakes)))
        elif what == "host" and talk.calls:
            talk.host({"content": "x", "output": "", "truncated": False, "exit": None})
        elif what == "fresh":
            talk.take(talk.adapter.link_back(fresh=True))
        elif what == "back":
            talk.answers("initialize", V1 if talk.adapter.capabilities.cancel_work is False else V2)
        elif what == "stop":
            talk.take(talk.adapter.stop())
    except HmError:  # what a command may raise
        pass


def _reduced(talk: Talk) -> Transcript:
    """It can be shown; and turns begin and end in turn."""
    shown = Transcript()
    for event in talk.events:
        for op in reduce(shown, event, 0.0):
            shown.apply(op)
    began = [e for e in talk.events if isinstance(e, (TurnStarted, TurnEnded))]
    ended = sum(isinstance(e, TurnEnded) for e in began)
    assert ended <= len(began) - ended
    return shown


@pytest.mark.parametrize("outcome", ["", "yes", None, 5, "allow"])
def test_a_session_update_never_stands_for_a_decision(outcome: Any) -> None:
    """A tool call that says it runs, completes or was allowed decides nothing that waits for a person."""
    talk = Talk().open(V1)
    talk.does(cmd.Prompt(text="hi"))
    talk.asks_leave(0)
    talk.updates("tool_call_update", toolCallId="c1", status="completed", outcome=outcome)
    talk.hears({"id": 0, "result": {"outcome": {"outcome": "selected", "optionId": "yes"}}})
    assert talk.reply(0) is None
    assert not any(isinstance(e, ApprovalResolved) for e in talk.events)
