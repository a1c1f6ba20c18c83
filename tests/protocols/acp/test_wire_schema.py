"""Every message we send is what the schemas say it is: requests, notifications and answers, of both versions."""

from __future__ import annotations

from typing import Any

import pytest
from acp_schema import needed, schema, wrong
from acp_talk import OPTIONS, V1, V2, Talk, can

from hm_jupyter import commands as cmd
from hm_jupyter.events import ApprovalRequested, QuestionRequested
from hm_jupyter.protocols.acp.servers import servers
from hm_jupyter.protocols.base import HostFailure

pytestmark = needed

Json = dict[str, Any]
SERVERS = servers(
    [
        {"name": "a", "command": ["mcp", "x"], "env": {"K": "v"}},
        {"name": "b", "url": "https://x.example", "headers": {"H": "1"}},
    ]
)
FORM = {"type": "object", "properties": {"a": {"type": "string"}, "n": {"type": "integer"}}, "required": ["a"]}
OURS = {"session/request_permission", "elicitation/create", "fs/read_text_file", "fs/write_text_file"}


def check(talk: Talk, name: str, asked: dict[Any, str]) -> set[str]:
    """Validate all that was sent; the methods it used. ``asked``: the methods of the agent's requests, by id."""
    requests, answers = {}, {}
    for definition, told in schema(name)["$defs"].items():
        method = told.get("x-method")
        if method and definition.endswith("Response"):
            answers[method] = definition
        elif method and not (definition.endswith("Notification") and method in requests):
            requests[method] = definition
    used = set()
    for message in talk.messages:
        assert message["jsonrpc"] == "2.0"
        if "method" in message:
            assert set(message) <= {"jsonrpc", "id", "method", "params"}
            definition = requests.get(message["method"])
            assert definition or message["method"].startswith("_"), message["method"]
            if definition:
                fault = wrong(name, definition, message["params"])
                assert not fault, f"{message['method']}: {fault}"
            used.add(message["method"])
        elif "result" in message:
            method = asked[message["id"]]
            fault = wrong(name, answers[method], message["result"])
            assert not fault, f"the answer to {method}: {fault}"
            used.add(f"answer {method}")
        else:
            assert isinstance(message["error"]["code"], int) and isinstance(message["error"]["message"], str)
    return used


def option(version: int) -> Json:
    name = "configId" if version == 2 else "id"
    choices = [{"value": "a", "name": "A"}, {"value": "b", "name": "B"}]
    return {name: "o", "name": "O", "type": "select", "category": "model", "currentValue": "a", "options": choices}


def switch(version: int) -> Json:
    return {"configId" if version == 2 else "id": "s", "name": "S", "type": "boolean", "currentValue": False}


def everything(talk: Talk, version: int) -> dict[Any, str]:
    """Each kind of command, and each kind of decision."""
    new = {"sessionId": "s1", "configOptions": [option(version), switch(version)]}
    if version == 1:
        new["modes"] = {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}, {"id": "b", "name": "B"}]}
    talk.answers("session/new", new)
    talk.does(cmd.SetModel(model="b"))
    talk.does(cmd.SetOption(option="s", value=True))
    if version == 1:
        talk.does(cmd.SetMode(mode="b"))
    for command in (cmd.ListSessions(), cmd.CloseSession(session="x"), cmd.DeleteSession(session="x"), cmd.Fork()):
        talk.does(command)
    talk.answers("session/list", {"sessions": [], "nextCursor": "more"})
    for command in (cmd.SignIn(method="web"), cmd.SignOut(), cmd.CallAgent(method="_x/y")):
        talk.does(command)
    talk.does(cmd.Prompt(text="hi", images=[cmd.ImageData(data="aGk=")]))
    asked: dict[Any, str] = {}
    for rpc_id, allow in ((0, True), ("b", False)):
        call = {"toolCallId": "c", "title": "rm", "kind": "execute"}
        if version == 1:
            talk.asks(rpc_id, "session/request_permission", sessionId="s1", toolCall=call, options=OPTIONS)
        else:
            subject = {"type": "tool_call", "toolCall": call}
            talk.asks(
                rpc_id, "session/request_permission", sessionId="s1", title="Run?", subject=subject, options=OPTIONS
            )
        asked[rpc_id] = "session/request_permission"
        talk.does(cmd.Approve(request_id=talk.told(ApprovalRequested)[-1].request_id, allow=allow))
    for rpc_id, skip in ((2, False), (3, True)):
        talk.asks(rpc_id, "elicitation/create", sessionId="s1", message="?", mode="form", requestedSchema=FORM)
        asked[rpc_id] = "elicitation/create"
        question = talk.told(QuestionRequested)[-1].request_id
        talk.does(cmd.Answer(request_id=question, skip=skip, fields=None if skip else {"a": "x", "n": 3}))
    talk.asks(4, "elicitation/create", sessionId="s1", message="?", mode="form", requestedSchema=FORM)
    talk.asks_leave(5, "c9")
    asked |= {4: "elicitation/create", 5: "session/request_permission"}
    talk.asks(6, "no/such", sessionId="s1")
    talk.does(cmd.Abort())
    return asked


def host(talk: Talk) -> dict[Any, str]:
    """Each kind of host call."""
    asked: dict[Any, str] = {}

    def ask(rpc_id: Any, method: str, result: Any, **params: Any) -> None:
        asked[rpc_id] = method
        talk.asks(rpc_id, method, sessionId="s1", **params)
        talk.host(result)

    ask(20, "fs/read_text_file", {"content": "x"}, path="/a")
    ask(21, "fs/write_text_file", {}, path="/a", content="x")
    ask(22, "fs/read_text_file", HostFailure("not_found", "no"), path="/b")
    ask(23, "terminal/create", {}, command="ls")
    name = talk.calls[-1].args["terminal_id"]
    ask(24, "terminal/output", {"output": "", "truncated": False, "exit": None}, terminalId=name)
    ask(25, "terminal/wait_for_exit", {"code": None, "signal": "SIGTERM"}, terminalId=name)
    done = {"output": "x", "truncated": True, "exit": {"code": 0, "signal": None}}
    ask(26, "terminal/output", done, terminalId=name)
    ask(27, "terminal/kill", {}, terminalId=name)
    ask(28, "terminal/release", {}, terminalId=name)
    return asked


SIGN_IN_V1 = [{"id": "web", "name": "Web"}]
SIGN_IN_V2 = [{"type": "agent", "methodId": "web", "name": "Web"}]
ALL_V1 = {
    **can(
        loadSession=True,
        prompt={"image": True},
        session={n: {} for n in ("list", "resume", "close", "delete", "fork", "additionalDirectories")},
        mcpCapabilities={"http": True},
        auth={"logout": {}},
    ),
    "authMethods": SIGN_IN_V1,
}
ALL_V2 = {
    **V2,
    "authMethods": SIGN_IN_V2,
    "capabilities": {
        "session": {
            "prompt": {"image": {}},
            "mcp": {"stdio": {}, "http": {}},
            **{n: {} for n in ("delete", "fork", "additionalDirectories")},
        }
    },
}


@pytest.mark.parametrize("name", ["v1", "v1-new"])
def test_every_message_of_v1_is_as_the_schema_says(name: str) -> None:
    talk = Talk(version=1, host=True, roots=["/data"], mcp_servers=SERVERS)
    talk.answers("initialize", ALL_V1)
    asked = everything(talk, 1) | host(talk)
    used = check(talk, name, asked)
    wanted = {"initialize", "session/new", "session/prompt", "session/cancel", "session/set_mode", "session/fork"}
    wanted |= {"session/set_config_option", "session/list", "session/close", "session/delete", "authenticate", "logout"}
    assert wanted | {f"answer {m}" for m in OURS} <= used


@pytest.mark.parametrize("name", ["v2", "v2-new"])
def test_every_message_of_v2_is_as_the_schema_says(name: str) -> None:
    talk = Talk(version=2, roots=["/data"], mcp_servers=SERVERS)
    talk.answers("initialize", ALL_V2)
    asked = everything(talk, 2)
    if name == "v2-new":
        talk.updates("tool_call_update", toolCallId="c1", title="x", capabilities={"cancel": {}})
        talk.updates("terminal_update", terminalId="t1", command="x", capabilities={"cancel": {}})
        talk.does(cmd.CancelWork(kind="tool", work="c1"))
        talk.does(cmd.CancelWork(kind="terminal", work="t1"))
    used = check(talk, name, asked)
    wanted = {"initialize", "session/new", "session/prompt", "session/cancel", "session/fork", "session/list"}
    wanted |= {"session/set_config_option", "session/close", "session/delete", "auth/login", "auth/logout"}
    assert wanted <= used and {"answer session/request_permission", "answer elicitation/create"} <= used


@pytest.mark.parametrize(
    ("name", "hello"), [("v1-new", ALL_V1), ("v1-new", can(session={"resume": {}})), ("v2-new", ALL_V2)]
)
def test_taking_a_session_up_is_as_the_schema_says(name: str, hello: Json) -> None:
    talk = Talk(version=int(name[1]), resume="s1", roots=["/data"], mcp_servers=SERVERS)
    talk.answers("initialize", hello)
    assert check(talk, name, {}) & {"session/load", "session/resume"}


@pytest.mark.parametrize("name", ["v1", "v1-new", "v2", "v2-new"])
def test_the_merged_initialize_is_one_for_both(name: str) -> None:
    definition = "InitializeRequest"
    params = Talk(host=True).last("initialize")["params"]
    assert wrong(name, definition, params) == ""


def test_a_test_of_this_kind_can_fail() -> None:
    talk = Talk(version=1).open(V1)
    talk.does(cmd.Prompt(text="hi"))
    talk.messages[-1]["params"]["prompt"] = "hi"
    with pytest.raises(AssertionError, match="session/prompt"):
        check(talk, "v1-new", {})
