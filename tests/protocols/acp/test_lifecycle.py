"""Sessions: new, taken up, listed, closed, deleted, forked; signing in and out; settings before the first prompt."""

from __future__ import annotations

from typing import Any

import pytest
from acp_talk import V1, V2, Talk, can

from hm_jupyter import commands as cmd
from hm_jupyter.errors import NotSupported, TransportError
from hm_jupyter.events import (
    CommandAnswered,
    NoticeRaised,
    QuestionRequested,
    SessionStarted,
    SessionUpdated,
    StartRefused,
    TextAppended,
    TurnEnded,
    TurnStarted,
    UnknownReceived,
)

Json = dict[str, Any]
MODES = {"currentModeId": "auto", "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "auto", "name": "Auto"}]}
AUTH = [{"id": "web", "name": "By browser"}, {"type": "terminal", "id": "cli", "name": "By hand", "args": ["login"]}]
STDIO = {"name": "files", "command": "mcp-files", "args": [], "env": []}
REMOTE = {"type": "http", "name": "far", "url": "https://x", "headers": []}


def answered(talk: Talk) -> CommandAnswered:
    [event] = talk.told(CommandAnswered)
    return event


# ---- new -----------------------------------------------------------------------------------------------------------


def test_a_new_session_is_ready_when_it_is_answered() -> None:
    talk = Talk()
    talk.answers("initialize", V1)
    assert talk.last("session/new")["params"] == {"cwd": "/shop", "mcpServers": []}
    assert talk.told(SessionStarted) == []
    talk.answers("session/new", {"sessionId": "s1"})
    assert talk.told(SessionStarted) == [SessionStarted("s1", "/shop")]


@pytest.mark.parametrize("result", [None, {}, {"sessionId": ""}, {"sessionId": 5}, []])
def test_a_session_without_an_id_is_refused(result: Any) -> None:
    talk = Talk()
    talk.answers("initialize", V1)
    talk.answers("session/new", result)
    assert "without the id" in talk.told(StartRefused)[0].reason


def test_what_is_told_before_the_session_is_answered_is_not_lost() -> None:
    """Pitfall 10: updates of an id nobody knows yet are kept, and belong to the session when it gets that id."""
    talk = Talk()
    talk.answers("initialize", V1)
    talk.updates("available_commands_update", "s1", availableCommands=[{"name": "plan", "description": "plans"}])
    talk.says("not yours", "other")
    assert talk.told() == []
    talk.answers("session/new", {"sessionId": "s1"})
    events = talk.told()
    started = next(n for n, e in enumerate(events) if isinstance(e, SessionStarted))
    commands = [n for n, e in enumerate(events) if isinstance(e, SessionUpdated) and "commands" in e.changes]
    assert commands and commands[0] > started
    assert not any(isinstance(e, TextAppended) for e in events)


def test_further_folders_and_servers_go_only_to_an_agent_that_takes_them() -> None:
    setup: Json = {"roots": ["/data"], "mcp_servers": [STDIO, REMOTE]}
    talk = Talk(**setup)
    talk.answers("initialize", can(session={"additionalDirectories": {}}, mcpCapabilities={"http": True}))
    params = talk.last("session/new")["params"]
    assert params["additionalDirectories"] == ["/data"] and params["mcpServers"] == [STDIO, REMOTE]
    assert talk.told(NoticeRaised) == []
    talk = Talk(**setup)
    talk.answers("initialize", can())
    params = talk.last("session/new")["params"]
    assert "additionalDirectories" not in params and params["mcpServers"] == [STDIO]
    assert len(talk.told(NoticeRaised)) == 2  # pitfall 23: said, not silently dropped


def test_a_session_may_take_minutes_to_open_and_other_requests_one() -> None:
    talk = Talk()
    talk.answers("initialize", V1)
    assert list(talk.wakes.values()) == [300]
    talk.answers("session/new", {"sessionId": "s1"})
    assert talk.wakes == {}
    talk.does(cmd.CallAgent(method="_x/y"))
    assert list(talk.wakes.values()) == [600]


def test_without_sessions_an_agent_of_v2_is_of_no_use() -> None:
    talk = Talk()
    talk.answers("initialize", {**V2, "capabilities": {}})
    talk.answers("session/new", error={"code": -32601, "message": "Method not found"})
    assert "Method not found" in talk.told(StartRefused)[0].reason


# ---- settings ------------------------------------------------------------------------------------------------------


def test_the_mode_that_asks_is_set_before_the_session_is_ready() -> None:
    talk = Talk(mode="ask")
    talk.answers("initialize", V1)
    talk.answers("session/new", {"sessionId": "s1", "modes": MODES})
    assert talk.last("session/set_mode")["params"] == {"sessionId": "s1", "modeId": "ask"}
    assert talk.told(SessionStarted) == []
    with pytest.raises(TransportError):
        talk.does(cmd.Prompt(text="too early"))
    talk.answers("session/set_mode", {})
    events = talk.told()
    assert isinstance(events[0], SessionStarted)
    modes = [e.changes["mode"] for e in events if isinstance(e, SessionUpdated) and "mode" in e.changes]
    assert modes[-1] == "ask"
    assert talk.adapter.capabilities.set_mode


@pytest.mark.parametrize("fault", ["refused", "not offered", "no modes"])
def test_a_mode_that_cannot_be_set_is_said_and_the_session_opens(fault: str) -> None:
    talk = Talk(mode="nonsense" if fault == "not offered" else "ask")
    talk.answers("initialize", V1)
    talk.answers("session/new", {"sessionId": "s1", **({} if fault == "no modes" else {"modes": MODES})})
    if fault == "refused":
        talk.answers("session/set_mode", error={"code": -32603, "message": "no such mode"})
    events = talk.told()
    assert any(isinstance(e, NoticeRaised) and "mode was not set" in e.text for e in events)
    assert any(isinstance(e, SessionStarted) for e in events)


def test_model_options_and_mode_are_set_in_that_order_by_config_options() -> None:
    def option(name: str, value: str, category: str) -> Json:
        choices = [{"value": v, "name": v} for v in ("a", "b")]
        return {
            "id": name,
            "name": name,
            "type": "select",
            "category": category,
            "currentValue": value,
            "options": choices,
        }

    everything = [option("m", "a", "model"), option("x", "a", ""), option("mode", "a", "mode")]
    talk = Talk(model="b", mode="b", options={"x": "b"})
    talk.answers("initialize", V1)
    talk.answers("session/new", {"sessionId": "s1", "configOptions": everything})
    asked = []
    for _ in range(3):
        params = talk.last("session/set_config_option")["params"]
        asked.append((params["configId"], params["value"]))
        talk.answers("session/set_config_option", {"configOptions": everything})
    assert asked == [("m", "b"), ("x", "b"), ("mode", "b")]
    assert talk.told(SessionStarted)


# ---- signing in ------------------------------------------------------------------------------------------------------


def test_an_agent_that_wants_to_know_who_asks_says_by_which_ways() -> None:
    talk = Talk()
    talk.answers("initialize", {**V1, "authMethods": AUTH})
    talk.answers("session/new", error={"code": -32000, "message": "Authentication required"})
    [event] = talk.told(StartRefused)
    assert [m.id for m in event.sign_in] == ["web", "cli"] and "sign in" in event.reason


def test_ways_named_with_the_refusal_are_taken() -> None:
    talk = Talk()
    talk.answers("initialize", V1)
    talk.answers("session/new", error={"code": -32000, "message": "no", "data": {"authMethods": AUTH}})
    assert len(talk.told(StartRefused)[0].sign_in) == 2


@pytest.mark.parametrize(("hello", "method"), [(V1, "authenticate"), (V2, "auth/login")])
def test_signing_in_comes_before_the_session(hello: Json, method: str) -> None:
    talk = Talk(sign_in="web")
    auth = [{**a, "methodId": a["id"]} for a in AUTH]
    talk.answers("initialize", {**hello, "authMethods": auth})
    assert talk.last(method)["params"] == {"methodId": "web"} and not talk.sent("session/new")
    talk.answers(method, {})
    talk.answers("session/new", {"sessionId": "s1"})
    assert talk.told(SessionStarted)


def test_a_sign_in_that_fails_opens_no_session() -> None:
    talk = Talk(sign_in="web")
    talk.answers("initialize", {**V1, "authMethods": AUTH})
    talk.answers("authenticate", error={"code": -32603, "message": "wrong password"})
    assert "wrong password" in talk.told(StartRefused)[0].reason and not talk.sent("session/new")


def test_a_sign_in_by_hand_is_never_asked_of_the_agent() -> None:
    """Reference, section 3: a terminal method is not passed to authenticate."""
    talk = Talk(sign_in="cli")
    talk.answers("initialize", {**V1, "authMethods": AUTH})
    assert "login" in talk.told(StartRefused)[0].reason and len(talk.sent()) == 1
    talk = Talk().open({**V1, "authMethods": AUTH})
    with pytest.raises(NotSupported, match="terminal"):
        talk.does(cmd.SignIn(method="cli"))


def test_signing_in_and_out_in_mid_session() -> None:
    talk = Talk().open({**V1, "authMethods": AUTH, "agentCapabilities": {"auth": {"logout": {}}}})
    talk.does(cmd.SignIn(method="web"))
    talk.answers("authenticate", None)
    assert answered(talk).ok
    talk.does(cmd.SignOut())
    talk.answers("logout", {})
    assert answered(talk).ok
    with pytest.raises(NotSupported):
        Talk().open(V1).does(cmd.SignOut())


def test_later_requests_that_want_a_sign_in_say_so() -> None:
    talk = Talk().open(can(session={"list": {}}))
    talk.does(cmd.ListSessions())
    talk.answers("session/list", error={"code": -32000, "message": "expired"})
    answer = answered(talk)
    assert not answer.ok and "sign in" in answer.error


# ---- taking up -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hello", "replay", "method"),
    [
        (can(loadSession=True), True, "session/load"),
        (can(loadSession=True, session={"resume": {}}), True, "session/load"),
        (can(loadSession=True, session={"resume": {}}), False, "session/resume"),
        (can(loadSession=True), False, "session/load"),
        (can(session={"resume": {}}), True, "session/resume"),
        (V2, True, "session/resume"),
        (V2, False, "session/resume"),
    ],
)
def test_a_saved_session_is_taken_up_the_way_the_agent_has(hello: Json, replay: bool, method: str) -> None:
    talk = Talk(resume="old", replay=replay)
    talk.answers("initialize", hello)
    params = talk.last(method)["params"]
    assert params["sessionId"] == "old" and params["cwd"] == "/shop"
    assert ("replayFrom" in params) == (hello is V2 and replay)
    talk.answers(method, None)  # pitfall 21: null is a success
    [event] = talk.told(SessionStarted)
    assert event == SessionStarted("old", "/shop", resumed=True)


def test_an_agent_that_saves_nothing_cannot_take_up() -> None:
    talk = Talk(resume="old")
    talk.answers("initialize", V1)
    assert "cannot take up" in talk.told(StartRefused)[0].reason


@pytest.mark.parametrize("code", [-32002, -32602, -32603])
def test_a_session_the_agent_does_not_know_is_refused(code: int) -> None:
    talk = Talk(resume="nope")
    talk.answers("initialize", can(loadSession=True))
    talk.answers("session/load", error={"code": code, "message": "Session not found"})
    assert "Session not found" in talk.told(StartRefused)[0].reason


def test_a_replay_the_agent_cannot_give_is_done_without() -> None:
    talk = Talk(resume="old")
    talk.answers("initialize", V2)
    talk.answers("session/resume", error={"code": -32602, "message": "replayFrom"})
    assert "replayFrom" not in talk.last("session/resume")["params"]
    talk.answers("session/resume", {})
    assert talk.told(SessionStarted)


# ---- saved sessions ------------------------------------------------------------------------------------------------


def test_all_pages_of_the_saved_sessions_are_listed() -> None:
    talk = Talk().open(can(session={"list": {}}))
    talk.does(cmd.ListSessions())
    assert talk.last("session/list")["params"] == {"cwd": "/shop"}
    page = [{"sessionId": "a", "cwd": "/shop", "title": "One", "updatedAt": "2026-01-01"}, {"title": "no id"}, 5]
    talk.answers("session/list", {"sessions": page, "nextCursor": "c1"})
    assert talk.last("session/list")["params"] == {"cwd": "/shop", "cursor": "c1"}
    talk.answers("session/list", {"sessions": [{"sessionId": "b"}], "nextCursor": None})
    first = {"id": "a", "root": "/shop", "title": "One", "updated": "2026-01-01"}
    assert answered(talk).data == {"sessions": [first, {"id": "b"}]}
    talk.does(cmd.ListSessions(all=True))
    assert talk.last("session/list")["params"] == {}


def test_an_empty_cursor_is_a_page_in_v2_and_the_end_in_v1() -> None:
    for hello, pages in ((V2, 2), (can(session={"list": {}}), 1)):
        talk = Talk().open(hello)
        talk.does(cmd.ListSessions())
        for _ in range(pages):
            talk.answers("session/list", {"sessions": [], "nextCursor": ""})
        assert answered(talk).ok and len(talk.sent("session/list")) == pages


@pytest.mark.parametrize("result", [None, {}, {"sessions": None}, []])
def test_a_list_of_nothing_is_empty(result: Any) -> None:
    talk = Talk().open(can(session={"list": {}}))
    talk.does(cmd.ListSessions())
    talk.answers("session/list", result)
    assert answered(talk).data == {"sessions": []}


@pytest.mark.parametrize("kind", ["close", "delete"])
def test_closing_and_deleting_what_is_gone_has_succeeded(kind: str) -> None:
    talk = Talk().open(can(session={"close": {}, "delete": {}}))
    command = cmd.CloseSession(session="x") if kind == "close" else cmd.DeleteSession(session="x")
    talk.does(command)
    assert talk.last(f"session/{kind}")["params"] == {"sessionId": "x"}
    talk.answers(f"session/{kind}", error={"code": -32002, "message": "unknown"})
    assert answered(talk).ok
    talk.does(command.model_copy(update={"id": "again"}))
    talk.answers(f"session/{kind}", error={"code": -32603, "message": "disk full"})
    assert answered(talk).error == "Disk full"


def test_a_fork_goes_on_as_the_new_session_with_what_it_told_before() -> None:
    talk = Talk().open(can(session={"fork": {}}))
    talk.does(cmd.Fork())
    assert talk.last("session/fork")["params"]["sessionId"] == "s1"
    talk.says("early", "s2")
    talk.answers("session/fork", {"sessionId": "s2", "modes": MODES})
    events = talk.told()
    assert SessionStarted("s2", "/shop") in events
    assert [e.text for e in events if isinstance(e, TextAppended)] == ["early"]
    talk.does(cmd.Prompt(text="hi"))
    assert talk.last("session/prompt")["params"]["sessionId"] == "s2"


def test_a_fork_that_fails_leaves_the_session_as_it_is() -> None:
    talk = Talk().open(can(session={"fork": {}}))
    talk.does(cmd.Fork())
    talk.answers("session/fork", {})
    assert not answered(talk).ok
    with pytest.raises(NotSupported):
        talk.does(cmd.Fork(entry="e1"))


def test_what_the_agent_cannot_do_is_not_asked_of_it() -> None:
    talk = Talk().open(V1)
    for command in (
        cmd.ListSessions(),
        cmd.Fork(),
        cmd.CloseSession(session="x"),
        cmd.DeleteSession(session="x"),
        cmd.SetMode(mode="x"),
        cmd.SetModel(model="x"),
        cmd.SetOption(option="x", value=True),
        cmd.CancelWork(work="c1"),
        cmd.Compact(),
        cmd.GetState(),
        cmd.Export(),
    ):
        with pytest.raises(NotSupported):
            talk.does(command)
    assert talk.sent() == []


# ---- anything else ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method", ["session/set_title", "session/archive", "session/unarchive", "session/status", "providers/list", "_x/y"]
)
def test_any_method_of_the_agents_can_be_called(method: str) -> None:
    talk = Talk().open(V1)
    talk.does(cmd.CallAgent(method=method, params={"sessionId": "s1", "title": "T"}))
    assert talk.last(method)["params"] == {"sessionId": "s1", "title": "T"}
    talk.answers(method, {"title": "T"})
    assert answered(talk).data == {"title": "T"}


def test_a_request_that_is_never_answered_fails_at_its_deadline() -> None:
    talk = Talk().open(can(session={"list": {}}))
    talk.does(cmd.ListSessions())
    talk.rings(next(iter(talk.wakes)))
    assert "did not answer session/list in time" in answered(talk).error


def test_requests_we_do_not_know_are_answered_and_notifications_ignored_but_those_of_the_session() -> None:
    talk = Talk().open(V1)
    talk.asks(0, "craft/drainMidTurnQueue", sessionId="s1")
    reply = talk.reply(0)
    assert reply is not None and reply["error"]["code"] == -32601
    talk.tells("_auth/status_update", authStatus={"kind": "api_key"})
    talk.tells("$/whatever")
    talk.tells("session/weather", sessionId="s", sunny=True)
    assert [e.name for e in talk.told(UnknownReceived)] == ["session/weather"]


def test_what_an_agent_asks_before_it_opens_the_session_can_be_answered() -> None:
    """Such as whether a folder is to be trusted: session/new waits for the answer."""
    talk = Talk()
    talk.answers("initialize", V1)
    schema = {"type": "object", "properties": {"trust": {"type": "boolean"}}}
    talk.asks(0, "elicitation/create", requestId=2, message="Trust it?", mode="form", requestedSchema=schema)
    [question] = talk.told(QuestionRequested)
    talk.does(cmd.Answer(request_id=question.request_id, fields={"trust": True}))
    reply = talk.reply(0)
    assert reply is not None and reply["result"] == {"action": "accept", "content": {"trust": True}}


def test_requests_before_the_handshake_are_answered_too() -> None:
    talk = Talk()
    for n, method in enumerate(("session/request_permission", "fs/read_text_file", "elicitation/create")):
        talk.asks(n, method)
        assert talk.reply(n) is not None


# ---- a history that comes late ---------------------------------------------------------------------------------------


def test_a_history_told_after_the_answer_is_history_all_the_same() -> None:
    """Gemini CLI answers session/load first; over HTTP the answer comes on another stream than the history."""
    talk = Talk(resume="s1")
    talk.hasty = False
    talk.answers("initialize", {**V1, "agentCapabilities": {"loadSession": True}})
    talk.answers("session/load", {})
    assert not talk.told(SessionStarted)
    talk.updates("user_message_chunk", content={"type": "text", "text": "before"})
    talk.says("then")
    talk.rings("acp:quiet")
    told = talk.told()
    assert [type(e) for e in told if isinstance(e, (SessionStarted, TurnStarted, TurnEnded))] == [
        SessionStarted,
        TurnStarted,
        TurnEnded,
    ]
    assert all(e.earlier for e in told if isinstance(e, TurnStarted))
    assert not talk.wakes


def test_an_agent_that_never_falls_silent_is_not_waited_for_for_ever() -> None:
    talk = Talk(resume="s1")
    talk.hasty = False
    talk.answers("initialize", {**V1, "agentCapabilities": {"loadSession": True}})
    talk.answers("session/load", {})
    talk.says("and ")
    assert talk.wakes["acp:longest"] <= 10
    talk.rings("acp:longest")
    assert talk.told(SessionStarted)


def test_a_v2_history_is_over_when_the_agent_says_how_things_stand() -> None:
    talk = Talk(resume="s1")
    talk.hasty = False
    talk.answers("initialize", V2)
    talk.updates("agent_message", messageId="m", content=[{"type": "text", "text": "before"}])
    talk.state("idle")
    talk.answers("session/resume", {})
    assert talk.told(SessionStarted)
