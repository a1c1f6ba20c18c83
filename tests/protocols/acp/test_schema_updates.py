"""ACP's own schemas: all they allow is understood, and what we send is allowed by them."""

from __future__ import annotations

import json
from typing import Any

import acp_schema
import pytest
from acp_scene import Scene

from hm_jupyter import events as ev
from hm_jupyter.commands import Answer, Approve, CancelWork, ImageData, Prompt, SetMode, SetModel, SetOption
from hm_jupyter.errors import UsageError
from hm_jupyter.protocols.acp.content import prompt_blocks
from hm_jupyter.protocols.acp.elicit import Elicitations
from hm_jupyter.protocols.acp.settings import Settings

pytestmark = acp_schema.needed
every_schema = pytest.mark.parametrize("name", acp_schema.NAMES)

# Variants the schema itself leaves open: they are kept raw, and are no reason for a notice.
OPEN = {"_other", "plan_update/_other"}


@every_schema
def test_what_the_schema_allows_is_what_these_tests_send(name: str) -> None:
    for definition in ("SessionUpdate", "RequestPermissionRequest", "CreateElicitationRequest", "SessionConfigOption"):
        made = acp_schema.instances(name, definition)
        for instance in made[:: max(1, len(made) // 40)]:
            assert acp_schema.wrong(name, definition, instance) == "", instance


@every_schema
def test_every_update_of_every_kind_is_understood_without_a_notice(name: str) -> None:
    seen = set()
    for update in acp_schema.instances(name, "SessionUpdate"):
        scene = Scene(acp_schema.version_of(name))
        scene.hears("subagent_update", sessionId="text")  # which messages between sessions speak of
        kind = update["sessionUpdate"]
        events = scene.raw(update)
        assert kind == "notice" or not [e for e in events if isinstance(e, ev.NoticeRaised)], update
        assert {e.name for e in events if isinstance(e, ev.UnknownReceived)} <= OPEN, update
        seen.add(kind)
    assert seen >= set(acp_schema.variants(name, "SessionUpdate", "sessionUpdate"))


@every_schema
def test_every_update_of_a_sub_agents_session_is_understood_without_a_notice(name: str) -> None:
    for update in acp_schema.instances(name, "SessionUpdate"):
        scene = Scene(acp_schema.version_of(name))
        scene.hears("subagent_update", sessionId="kid")
        scene.hears("subagent_update", sessionId="text")
        events = scene.raw(update, "kid")
        assert update["sessionUpdate"] == "notice" or not [e for e in events if isinstance(e, ev.NoticeRaised)], update
        assert {e.name for e in events if isinstance(e, ev.UnknownReceived)} <= OPEN, update


@every_schema
def test_every_request_for_leave_can_be_decided_and_the_answer_is_allowed(name: str) -> None:
    for allowed in acp_schema.instances(name, "RequestPermissionRequest"):
        params = {**allowed, "options": [{**o, "optionId": f"o{n}"} for n, o in enumerate(allowed["options"])]}
        for decision in ({"allow": False}, {"allow": True}, {"allow": True, "for_session": True}):
            scene = Scene(acp_schema.version_of(name)).turn()
            out: list[ev.Event] = []
            assert scene.permissions.request(1, params, out) is None, params
            request = out[-1]
            assert isinstance(request, ev.ApprovalRequested)
            try:
                _, result = scene.permissions.decide(Approve(request_id=request.request_id, **decision), out)
            except UsageError:
                assert decision["allow"] and "allow_once" not in [option.kind for option in request.options], params
                continue
            assert acp_schema.wrong(name, "RequestPermissionResponse", result) == ""
            told = {option["optionId"]: option["kind"] for option in params["options"]}
            chosen = told.get(result["outcome"].get("optionId"), "")
            assert chosen.startswith("allow_") if decision["allow"] else not chosen.startswith("allow"), params


@every_schema
def test_every_question_can_be_asked_and_the_answer_is_allowed(name: str) -> None:
    modes = set()
    for params in acp_schema.instances(name, "CreateElicitationRequest"):
        questions, out = Elicitations(acp_schema.version_of(name)), []  # type: ignore[var-annotated]
        why = questions.request(1, params, out)
        mode = params["mode"]
        if why is not None:
            unknown = mode == "_other" or "_other" in json.dumps(params.get("requestedSchema"))
            assert unknown, (why, params)
            continue
        modes.add(mode)
        (question,) = out
        given = {made.name: sample(made) for made in question.form}
        for answer in ({"skip": True}, {"fields": given}):
            _, result = questions.answer(Answer(request_id=question.request_id, **answer), [])
            questions.request(1, params, again := [])
            (question,) = again
            assert acp_schema.wrong(name, "CreateElicitationResponse", result) == "", result
    assert modes == {"form", "url"}


def sample(made: ev.FormField) -> Any:
    if made.kind == "text":
        formats = {"email": "a@b.c", "uri": "a:b", "date": "2026-01-01", "date-time": "2026-01-01T00:00:00Z"}
        return formats.get(made.format, "x" * (made.min_length or 1))
    if made.kind == "select":
        return made.choices[0].value if made.choices else None
    if made.kind == "multi":
        return [made.choices[0].value]
    return True if made.kind == "boolean" else (made.maximum or 1) if made.minimum is None else made.minimum


@every_schema
def test_a_cancelled_request_and_a_cancelled_question_are_answered_as_the_schema_says(name: str) -> None:
    scene = Scene(acp_schema.version_of(name))
    scene.permissions.request(1, {"toolCall": {"toolCallId": "c"}, "title": "t", "options": []}, [])
    ((_, result),) = scene.permissions.cancel_all([])
    assert acp_schema.wrong(name, "RequestPermissionResponse", result) == ""
    schema = {"type": "object", "properties": {}}
    scene.questions.request(2, {"mode": "form", "message": "m", "requestedSchema": schema}, [])
    ((_, result),) = scene.questions.cancel_all([])
    assert acp_schema.wrong(name, "CreateElicitationResponse", result) == ""


@every_schema
def test_every_option_is_read_and_a_change_of_it_is_allowed(name: str) -> None:
    kinds = set()
    for option in acp_schema.instances(name, "SessionConfigOption"):
        settings = Settings(acp_schema.version_of(name))
        out: list[Any] = []
        settings.result({"configOptions": [option]}, out)
        (made,) = out[0].changes["options"] or [None]
        if made is None:
            assert option["type"] == "_other"
            continue
        value: Any = True if made.kind == "boolean" else made.choices[0].value if made.choices else "any"
        ((method, params),) = settings.set_option(SetOption(option=made.id, value=value))
        assert method == "session/set_config_option"
        assert acp_schema.wrong(name, "SetSessionConfigOptionRequest", {"sessionId": "s", **params}) == ""
        kinds.add(made.kind)
    assert kinds == {"select", "boolean"}


@pytest.mark.parametrize("name", ["v1", "v1-new"])
def test_v1_a_change_of_mode_is_allowed(name: str) -> None:
    settings = Settings(1)
    settings.result({"modes": {"currentModeId": "a", "availableModes": [{"id": "b", "name": "B"}]}}, [])
    ((_, params),) = settings.set_mode(SetMode(mode="b"))
    assert acp_schema.wrong(name, "SetSessionModeRequest", {"sessionId": "s", **params}) == ""
    assert settings.set_model(SetModel()) == []


@every_schema
def test_a_prompt_is_allowed(name: str) -> None:
    prompt = Prompt(text="look", images=[ImageData(data="AAAA")])
    for capable in (False, True):
        blocks, _ = prompt_blocks(prompt, ev.Capabilities(images=capable))
        assert acp_schema.wrong(name, "PromptRequest", {"sessionId": "s", "prompt": blocks}) == ""


def test_v2_what_stops_one_piece_of_work_is_allowed() -> None:
    scene = Scene(2)
    scene.call("c", capabilities={"cancel": {}})
    scene.hears("terminal_update", terminalId="t", capabilities={"cancel": {}})
    for kind, work, definition in (("tool", "c", "CancelToolCallRequest"), ("terminal", "t", "CancelTerminalRequest")):
        _, params, _ = scene.updates.cancel_work(CancelWork(kind=kind, work=work), "s")  # type: ignore[arg-type]
        assert acp_schema.wrong("v2-new", definition, params) == ""
