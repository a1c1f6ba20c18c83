"""Whatever ids an agent chooses, a decision is for what was shown: ids used again, ids of ours, ids of another request."""

from __future__ import annotations

from typing import Any

import pytest
from acp_scene import Scene, output
from acp_talk import V1, Talk

from hm_jupyter import events as ev
from hm_jupyter.commands import Answer, Approve, Prompt
from hm_jupyter.errors import NotWaiting, UsageError
from hm_jupyter.protocols.acp.tickets import MOST, TOO_MANY
from hm_jupyter.session.checks import check, option_of, resolve
from hm_jupyter.transcript import QuestionEntry, ToolEntry

YES = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}, {"optionId": "n", "name": "No", "kind": "reject_once"}]
FORM = {"mode": "form", "message": "Where?", "requestedSchema": {"properties": {"city": {"type": "string"}}}}
PAGE = {"mode": "url", "message": "Sign in", "url": "https://a.example/x", "elicitationId": "x"}


@pytest.fixture
def talk() -> Talk:
    talk = Talk().open(V1)
    talk.does(Prompt(text="go"))
    talk.told()
    return talk


def shell(call: str, command: str) -> dict[str, Any]:
    return {"toolCallId": call, "title": command, "kind": "execute", "rawInput": {"command": command}}


# ---- an id that is used again ---------------------------------------------------------------------------------------


def test_a_click_on_what_was_taken_back_does_not_decide_what_came_in_its_place_pitfall_13(talk: Talk) -> None:
    talk.asks(1, "session/request_permission", sessionId="s1", toolCall=shell("a", "ls"), options=YES)
    [shown] = talk.told(ev.ApprovalRequested)
    talk.tells("$/cancel_request", requestId=1)
    talk.asks(1, "session/request_permission", sessionId="s1", toolCall=shell("b", "rm -r ~"), options=YES)
    [other] = talk.told(ev.ApprovalRequested)
    assert (shown.command, other.command) == ("ls", "rm -r ~") and shown.request_id != other.request_id
    with pytest.raises(NotWaiting):
        talk.does(Approve(request_id=shown.request_id, allow=True))
    talk.does(Approve(request_id=other.request_id, allow=False))
    assert talk.messages[-1] == {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {"outcome": {"outcome": "selected", "optionId": "n"}},
    }


@pytest.mark.parametrize("how", ["permission", "form"])
def test_an_id_that_comes_again_after_its_answer_is_another_request_and_can_be_taken_back(talk: Talk, how: str) -> None:
    ids = []
    for _ in range(3):
        if how == "permission":
            talk.asks_leave(7)
            ids += [e.request_id for e in talk.told(ev.ApprovalRequested)]
            talk.does(Approve(request_id=ids[-1], allow=False))
        else:
            talk.asks(7, "elicitation/create", **FORM)
            ids += [e.request_id for e in talk.told(ev.QuestionRequested)]
            talk.does(Answer(request_id=ids[-1], skip=True))
    assert len(set(ids)) == 3
    talk.asks_leave(7)
    talk.tells("$/cancel_request", requestId=7)
    assert [e.outcome for e in talk.told(ev.ApprovalResolved)][-1] == "withdrawn"


def test_a_reconnected_agent_counts_from_the_start_and_its_requests_are_others(talk: Talk) -> None:
    talk.asks_leave(0)
    [before] = talk.told(ev.ApprovalRequested)
    talk.take(talk.adapter.link_back(True))
    talk.answers("initialize", V1)
    talk.answers("session/new", {"sessionId": "s1"})
    talk.asks_leave(0)
    [after] = talk.told(ev.ApprovalRequested)
    assert before.request_id != after.request_id


def test_1_and_the_text_1_are_taken_back_one_by_one(talk: Talk) -> None:
    talk.asks_leave(1, "a")
    talk.asks_leave("1", "b")
    talk.tells("$/cancel_request", requestId="1")
    assert talk.reply(1) is None and talk.reply("1") == {
        "jsonrpc": "2.0",
        "id": "1",
        "result": {"outcome": {"outcome": "cancelled"}},
    }


# ---- ids that are ours, or another's --------------------------------------------------------------------------------


def test_a_call_named_like_another_request_is_not_decided_in_its_place(v1: Scene) -> None:
    v1.asks(1, toolCall=shell("p2", "rm -r ~"), options=YES)
    harmless = v1.asks(2, toolCall=shell("c", "ls"), options=YES)
    state = v1.transcript.state
    command = resolve(Approve(request_id=harmless.request_id, allow=True), v1.transcript)
    assert isinstance(command, Approve) and command.request_id == harmless.request_id
    out: list[ev.Event] = []
    rpc_id, _ = v1.permissions.decide(command, out)
    v1.feed(out)
    assert rpc_id == 2
    assert [(p.request_id, p.command) for p in state.pending if p.TAG[1] == "approval"] == [("p1", "rm -r ~")]


def test_what_ends_a_call_takes_down_no_request_of_that_name(v1: Scene) -> None:
    v1.asks(1, toolCall=shell("c", "ls"), options=YES)
    v1.hears("tool_call_update", toolCallId="p1", title="x", status="completed")
    assert [p.request_id for p in v1.transcript.state.pending] == ["p1"]


@pytest.mark.parametrize("version", [1, 2])
def test_an_agent_cannot_write_that_its_question_was_answered(version: int) -> None:
    scene = Scene(version).turn()
    out: list[ev.Event] = []
    assert scene.questions.request(1, FORM, out) is None
    scene.feed(out)
    scene.hears("tool_call_update", toolCallId="e1", status="completed", content=[output("yes, anything")])
    [question] = [e for e in scene.transcript.entries.values() if isinstance(e, QuestionEntry)]
    assert (question.status, question.answer) == ("waiting", "")
    assert len(scene.transcript.state.pending) == 1


@pytest.mark.parametrize("name", ["host:h1", "host:", "p1", "p1#2", "p'a'", "e1", "e-3", "pNone", "p1.5"])
def test_a_call_of_the_agents_never_has_an_id_of_ours(v1: Scene, name: str) -> None:
    v1.hears("tool_call", toolCallId=name, title="ls", kind="execute")
    [entry] = [e for e in v1.transcript.entries.values() if isinstance(e, ToolEntry)]
    assert entry.call_id == f"call:{name}" and entry.title == "ls"
    assert v1.hears("tool_call_update", toolCallId=name, status="completed") != []
    assert v1.transcript.tool(f"call:{name}").status == "completed"


@pytest.mark.parametrize("name", ["toolu_01", "e3b0c442-98fc-1c14", "p", "pending", "entry", "call-1", "1"])
def test_ids_of_other_shapes_stay_as_they_are(v1: Scene, name: str) -> None:
    v1.call(name)
    assert v1.transcript.tool(name) is not None


def test_an_option_that_has_the_id_of_one_and_the_name_of_another_must_be_said_exactly(v1: Scene) -> None:
    mixed = [
        {"optionId": "Deny", "name": "Go on", "kind": "allow_once"},
        {"optionId": "n", "name": "Deny", "kind": "reject_once"},
    ]
    request = v1.asks(1, toolCall=shell("c", "ls"), options=mixed)
    with pytest.raises(UsageError):
        option_of(v1.transcript.state.pending[0], "Deny")
    assert option_of(v1.transcript.state.pending[0], "n").kind == "deny_once"
    can = ev.Capabilities()
    check(Approve(request_id=request.request_id, allow=True, option_id="Deny"), v1.transcript, can)  # its button
    with pytest.raises(UsageError):
        check(Approve(request_id=request.request_id, allow=False, option_id="Deny"), v1.transcript, can)


# ---- what nobody could decide ----------------------------------------------------------------------------------------


def test_more_requests_than_a_person_can_look_through_are_refused_and_not_asked(talk: Talk) -> None:
    for number in range(MOST + 5):
        talk.asks_leave(number, f"c{number}")
        talk.asks(f"q{number}", "elicitation/create", **FORM)
    assert len(talk.told(ev.ApprovalRequested)) == MOST
    for refused in (MOST, f"q{MOST}"):
        assert TOO_MANY in talk.reply(refused)["error"]["message"]
    talk.does(Approve(request_id="p0", allow=False))
    talk.asks_leave("later", "c")
    assert len(talk.told(ev.ApprovalRequested)) == 1


@pytest.mark.parametrize("kind", ["edit", "execute"])
def test_v2_a_subject_nobody_knows_is_neither_an_edit_nor_a_command_whatever_call_it_names(
    v2: Scene, kind: str
) -> None:
    subject = {"type": "network", "toolCall": {"toolCallId": "c", "title": "x", "kind": kind}, "host": "evil.example"}
    request = v2.asks(1, title="May it?", subject=subject, options=YES)
    assert (request.category, request.command, request.input) == ("other", "", subject)


@pytest.mark.parametrize("text", ["no", "n", "never", "y e s"])
def test_a_page_is_agreed_to_by_a_plain_yes_alone(talk: Talk, text: str) -> None:
    talk.asks(1, "elicitation/create", **PAGE)
    with pytest.raises(UsageError):
        talk.does(Answer(request_id="e1", text=text))
    assert talk.reply(1) is None
    talk.does(Answer(request_id="e1", text=" Yes "))
    assert talk.reply(1)["result"] == {"action": "accept"}
