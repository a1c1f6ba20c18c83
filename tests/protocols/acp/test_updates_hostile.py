"""Nothing an agent sends is fatal, and nothing that is not an approval is read as one."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from acp_scene import Scene, output, text_block
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hm_jupyter import events as ev
from hm_jupyter.commands import Answer, Approve
from hm_jupyter.errors import UsageError
from hm_jupyter.protocols.acp.elicit import Elicitations
from hm_jupyter.protocols.acp.updates import Updates
from hm_jupyter.transcript import to_json

bounded = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))

TEXT = text_block("text")
DIFF = {
    "type": "diff",
    "changes": [{"operation": "modify", "path": "/a"}, {"operation": "move", "path": "/b", "oldPath": "/c"}],
    "patch": {"format": "git_patch", "text": "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n"},
}
CALL = {
    "toolCallId": "c",
    "title": "t",
    "kind": "execute",
    "status": "in_progress",
    "content": [output("o"), DIFF, {"type": "terminal", "terminalId": "t"}],
    "locations": [{"path": "/a", "line": 1}],
    "rawInput": {"command": "ls"},
    "rawOutput": {"output": "o", "exit_code": 0},
    "capabilities": {"cancel": {}},
    "_meta": {
        "terminal_output": {"terminal_id": "t", "data": "x"},
        "terminal_exit": {"terminal_id": "t", "exit_code": 1},
    },
}
EXAMPLES: list[dict[str, Any]] = [
    *(
        {"sessionUpdate": f"{who}_chunk", "messageId": "a", "content": TEXT}
        for who in ("agent_message", "agent_thought", "user_message")
    ),
    *(
        {"sessionUpdate": who, "messageId": "a", "content": [TEXT]}
        for who in ("agent_message", "agent_thought", "user_message")
    ),
    {"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "data": "AAAA", "mimeType": "image/png"}},
    {"sessionUpdate": "agent_message_chunk", "content": {"type": "resource", "resource": {"uri": "a:b", "text": "x"}}},
    {"sessionUpdate": "user_message_chunk", "content": {"type": "resource_link", "uri": "a:b", "name": "n", "size": 3}},
    {"sessionUpdate": "tool_call", **CALL},
    {"sessionUpdate": "tool_call_update", **CALL},
    {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "c",
        "content": [{"type": "diff", "path": "/a", "oldText": "", "newText": ""}],
    },
    {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": output("o")},
    {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": DIFF},
    {
        "sessionUpdate": "terminal_update",
        "terminalId": "t",
        "command": "ls",
        "output": {"data": "w6k="},
        "exitStatus": {"exitCode": 1, "signal": None},
        "capabilities": {"cancel": {}},
    },
    {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": "w6k="},
    {"sessionUpdate": "plan", "entries": [{"content": "x", "priority": "low", "status": "pending"}]},
    {
        "sessionUpdate": "plan_update",
        "plan": {"type": "items", "planId": "p", "entries": [{"content": "x", "status": "pending"}]},
    },
    {"sessionUpdate": "plan_update", "plan": {"type": "markdown", "planId": "p", "content": "x"}},
    {"sessionUpdate": "plan_removed", "planId": "p"},
    {
        "sessionUpdate": "available_commands_update",
        "availableCommands": [{"name": "n", "description": "d", "input": {"hint": "h"}}],
    },
    {"sessionUpdate": "current_mode_update", "currentModeId": "m"},
    {
        "sessionUpdate": "config_option_update",
        "configOptions": [
            {
                "type": "select",
                "id": "mode",
                "name": "n",
                "category": "mode",
                "currentValue": "a",
                "options": [{"group": "g", "name": "n", "options": [{"value": "a", "name": "A"}]}],
            },
            {"type": "boolean", "configId": "b", "name": "n", "currentValue": True},
        ],
    },
    {"sessionUpdate": "session_info_update", "title": "t"},
    {"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": 1.5, "currency": "USD"}},
    {"sessionUpdate": "notice", "severity": "info", "title": "t", "description": "d"},
    {
        "sessionUpdate": "compaction_update",
        "compactionId": "k",
        "status": "completed",
        "summary": [TEXT],
        "error": None,
    },
    {"sessionUpdate": "compaction_summary_chunk", "compactionId": "k", "content": TEXT},
    {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"},
    {
        "sessionUpdate": "subagent_update",
        "sessionId": "kid",
        "title": "t",
        "description": "d",
        "state": {"state": "running"},
    },
    {
        "sessionUpdate": "session_message",
        "messageId": "a",
        "senderSessionId": "kid",
        "recipientSessionId": "s",
        "content": [TEXT],
    },
    {"sessionUpdate": "session_message_chunk", "messageId": "a", "content": TEXT},
]

odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from(
        [
            "",
            "_other",
            "a",
            "c",
            "kid",
            "\x1b[31m",
            "\ud800",
            "allow_once",
            [],
            {},
            [{}],
            {"type": "text"},
            [[]],
            "=",
            "9" * 400,
        ]
    ),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all that a value holds."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, held in inside for found in [(*path, key), *places(held, (*path, key))]]


@st.composite
def mangled(draw: st.DrawFn, examples: list[Any]) -> Any:
    """A proper message, up to three parts of which are something else or missing."""
    value = copy.deepcopy(draw(st.sampled_from(examples)))
    for _ in range(draw(st.integers(0, 3))):
        found = places(value)
        if not found:
            break
        *path, last = draw(st.sampled_from(found))
        holder = value
        for key in path:
            holder = holder[key]
        if draw(st.booleans()):
            holder[last] = copy.deepcopy(draw(odd))
        elif isinstance(holder, dict):
            del holder[last]
    return value


def test_the_examples_are_of_every_kind() -> None:
    parts = Updates(2)
    assert {example["sessionUpdate"] for example in EXAMPLES} == {*parts._main, *parts._any}


@pytest.mark.parametrize("version", [1, 2])
@bounded
@given(st.lists(st.tuples(st.sampled_from(["s", "kid"]), mangled(EXAMPLES) | odd), max_size=8))
def test_no_update_is_fatal_and_each_is_at_most_one_notice(version: int, sent: list[tuple[str, Any]]) -> None:
    scene = Scene(version).turn()
    scene.hears("subagent_update", sessionId="kid")
    for session, update in sent:
        events = scene.raw(update, session)
        assert len([e for e in events if isinstance(e, (ev.NoticeRaised, ev.UnknownReceived))]) <= 1
        assert not [e for e in events if isinstance(e, (ev.ApprovalResolved, ev.QuestionResolved))]
    scene.ends()
    to_json(list(scene.transcript.entries.values()))


OPTIONS = [
    {"optionId": "a", "name": "Once", "kind": "allow_once"},
    {"optionId": "b", "name": "Always", "kind": "allow_always"},
    {"optionId": "c", "name": "No", "kind": "reject_once"},
    {"optionId": "d", "name": "Never", "kind": "reject_always"},
]
ASKED: list[Any] = [
    {"sessionId": "s", "toolCall": CALL, "title": "t", "options": OPTIONS},
    {"sessionId": "s", "title": "t", "toolCall": {"toolCallId": "c"}, "options": OPTIONS[1:]},
    {
        "sessionId": "s",
        "title": "t",
        "description": "d",
        "subject": {"type": "tool_call", "toolCall": CALL},
        "options": OPTIONS,
    },
    {
        "sessionId": "s",
        "title": "t",
        "subject": {"type": "command", "command": "ls", "cwd": "/w"},
        "options": OPTIONS[:2],
    },
]


@pytest.mark.parametrize("version", [1, 2])
@bounded
@given(params=mangled(ASKED) | odd, allow=st.booleans(), lasting=st.booleans())
def test_no_request_for_leave_is_fatal_and_none_is_allowed_but_by_an_option_that_allows(
    version: int, params: Any, allow: bool, lasting: bool
) -> None:
    scene = Scene(version).turn()
    out: list[ev.Event] = []
    if scene.permissions.request(1, params, out) is not None:
        assert not [e for e in out if isinstance(e, ev.ApprovalRequested)]
        return
    request = out[-1]
    assert isinstance(request, ev.ApprovalRequested)
    scene.feed(out)
    try:
        _, result = scene.permissions.decide(Approve(request_id="p1", allow=allow, for_session=lasting), [])
    except UsageError:
        assert allow
        return
    chosen = result["outcome"].get("optionId")
    offered = params.get("options")
    told = (
        [o for o in offered if isinstance(o, dict) and isinstance(o.get("kind"), str)]
        if isinstance(offered, list)
        else []
    )
    kinds = {option["kind"] for option in told if option.get("optionId") == chosen}
    if allow:
        assert kinds == {"allow_once"} or (lasting and kinds == {"allow_always"})
    else:
        assert chosen is None or kinds in ({"reject_once"}, {"reject_always"})


FORM = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "title": "A", "enum": ["x"], "default": "x", "format": "email", "minLength": 1},
        "b": {"type": "integer", "minimum": 1, "maximum": 3, "default": 2},
        "c": {"type": "array", "items": {"anyOf": [{"const": "x", "title": "X"}]}, "minItems": 1},
        "d": {"type": "boolean", "default": True},
    },
    "required": ["b"],
}
QUESTIONS: list[Any] = [
    {"sessionId": "s", "mode": "form", "message": "m", "requestedSchema": FORM},
    {"requestId": 1, "mode": "url", "message": "m", "elicitationId": "i", "url": "https://a.b"},
]


@bounded
@given(params=mangled(QUESTIONS) | odd, fields=st.dictionaries(st.sampled_from("abcd"), odd, max_size=3))
def test_no_question_is_fatal_and_an_answer_that_does_not_fit_is_a_clear_error(
    params: Any, fields: dict[str, Any]
) -> None:
    questions = Elicitations()
    out: list[Any] = []
    if questions.request(1, params, out) is not None:
        assert out == []
        return
    (question,) = out
    try:
        _, result = questions.answer(Answer(request_id="e1", fields=fields), [])
    except UsageError:
        return
    assert result["action"] == "accept"
    assert set(result.get("content", {})) <= {made.name for made in question.form}


RESULTS: list[Any] = [
    {
        "modes": {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A", "description": "d"}]},
        "models": {"currentModelId": "a", "availableModels": [{"modelId": "a", "name": "A"}]},
        "configOptions": next(e["configOptions"] for e in EXAMPLES if "configOptions" in e),
        "availableCommands": [
            {"type": "command", "name": "n", "description": "d", "input": {"type": "text", "hint": "h"}}
        ],
    }
]


@bounded
@given(mangled(RESULTS) | odd)
def test_no_result_is_fatal_for_settings(result: Any) -> None:
    out: list[ev.Event] = []
    Updates(1).result(result, out)
    assert all(isinstance(event, ev.SessionUpdated) for event in out)


def test_a_line_break_in_a_name_does_not_make_a_line(v1: Scene) -> None:
    v1.hears("agent_message_chunk", content={"type": "resource_link", "name": "a\nb\n# big", "uri": "x:\ny"})
    assert v1.seen()[1:] == [("message", "[Link to a b # big: x: y]")]
