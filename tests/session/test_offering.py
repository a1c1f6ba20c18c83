"""Functions of the notebook that an agent calls, and ``session.rpc``, which offers them: with leave, once, told as it went."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hm_jupyter import commands as cmd
from hm_jupyter import events as ev
from hm_jupyter.connect import open_session
from hm_jupyter.errors import NotSupported, UsageError
from hm_jupyter.protocols.base import Adapter, HostCall, HostFailure, Step
from hm_jupyter.session.policy import Policy
from hm_jupyter.session.rpc_calls import COMMANDS, RpcCalls
from hm_jupyter.session.runtime import runtime
from hm_jupyter.session.session import Session
from hm_jupyter.transcript import PendingApproval
from hm_jupyter.transports.memory import memory_transport


class Agent(Adapter):
    """An agent that speaks the dialect ``name``, and its adapter, in one."""

    def __init__(self, name: str = "omp") -> None:
        self.name = name
        self.capabilities = ev.Capabilities(raw_calls=True, list_sessions=True)
        self.session: Session
        self.heard: list[cmd.CallAgent] = []
        self.data: dict[str, Any] = {}  # by method: what is answered
        self.answers: dict[str, dict[str, Any] | HostFailure] = {}
        self.changed = threading.Condition()
        self.made = 0

    def start(self) -> Step:
        return Step([ev.SessionStarted("S1", "/work")])

    def receive(self, value: Any) -> Step:
        return Step()

    def send(self, command: Any) -> Step:
        if isinstance(command, cmd.CallAgent):
            self.heard.append(command)
            return Step([ev.CommandAnswered(command.id, True, self.data.get(command.method))])
        told: list[ev.Event] = [ev.CommandAnswered(command.id, True)]
        if isinstance(command, cmd.Prompt):
            told.append(ev.TurnStarted(command.id))
        elif isinstance(command, cmd.Approve):
            told.append(ev.ApprovalResolved(command.request_id, "allowed" if command.allow else "denied", "you"))
        return Step(told)

    def stop(self) -> Step:
        return Step()

    def host_done(self, call_id: str, result: dict[str, Any] | HostFailure) -> Step:
        with self.changed:
            self.answers[call_id] = result
            self.changed.notify_all()
        return Step()

    def says(self, *events: ev.Event, calls: Any = ()) -> None:
        runtime().call(self.session.controller.carry_on, Step([*events], calls=[*calls]))

    def wants(self, kind: str, **args: Any) -> str:
        self.made += 1
        call = HostCall(f"h{self.made}", kind, args)
        self.says(calls=[call])
        return call.id

    def calls(self, name: str, call_id: str = "", /, **arguments: Any) -> str:
        return self.wants("tool", name=name, arguments=arguments, call_id=call_id)

    def got(self, call_id: str) -> Any:
        with self.changed:
            assert self.changed.wait_for(lambda: call_id in self.answers, 10), "it was never answered"
        return self.answers[call_id]

    def text(self, call_id: str) -> str:
        found = self.got(call_id)
        assert isinstance(found, dict), found
        return str(found["content"][0]["text"])


@pytest.fixture
def start() -> Iterator[Callable[..., Agent]]:
    made = []

    def start(name: str = "omp", approve: Any = "ask") -> Agent:
        agent = Agent(name)
        transport, _ = memory_transport()

        async def open() -> Session:
            return await open_session(transport, agent, agent="fake", policy=Policy(approve))

        agent.session = runtime().run(open)
        made.append(agent)
        agent.session.start("go", unattended=False)
        return agent

    yield start
    for agent in made:
        agent.session.close()


def waiting(agent: Agent) -> PendingApproval:
    met = threading.Event()
    stop = runtime().call(agent.session.controller.subscribe, lambda *_: agent.session.pending and met.set())
    assert agent.session.pending or met.wait(10)
    runtime().call(stop)
    [request] = agent.session.pending
    assert isinstance(request, PendingApproval)
    return request


def rows(table: str, limit: int = 3, columns: list[str] | None = None) -> dict[str, Any]:
    """The first rows of a table."""
    return {"table": table, "limit": limit, "columns": columns}


def fails(text: str) -> str:
    """Always fails."""
    raise KeyError(text)


async def later(text: str) -> str:
    """Answers later."""
    return text.upper()


# ---- what the model is told ----------------------------------------------------------------------------------------------


def test_a_function_is_told_by_its_name_docstring_and_annotations(start: Callable[..., Agent]) -> None:
    agent = start()
    agent.data["set_host_tools"] = {"toolNames": ["rows"]}
    assert agent.session.rpc.offer(rows) == ["rows"]
    [told] = agent.heard[-1].params["tools"]
    assert (told["name"], told["description"], told["loadMode"]) == ("rows", "The first rows of a table.", "essential")
    assert told["parameters"]["required"] == ["table"]
    assert told["parameters"]["properties"]["limit"] == {"default": 3, "title": "Limit", "type": "integer"}
    assert told["parameters"]["additionalProperties"] is False
    json.dumps(told)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda x: x, "no name"),
        (eval("lambda: 0"), "no name"),
        (print, "cannot be told"),
        (type("f", (), {}), "docstring"),
    ],
)
def test_what_cannot_be_told_to_a_model_is_refused_at_once(
    function: Any, why: str, start: Callable[..., Agent]
) -> None:
    agent = start()
    with pytest.raises(UsageError, match=why):
        agent.session.rpc.offer(function)
    assert agent.heard == []


# ---- a call ---------------------------------------------------------------------------------------------------------------


def test_a_call_waits_for_leave_and_gives_what_the_function_returned(start: Callable[..., Agent]) -> None:
    agent = start()
    agent.session.rpc.offer(rows)
    call = agent.calls("rows", table="sales", limit=2)
    request = waiting(agent)
    assert (request.tool, request.input) == ("rows", {"table": "sales", "limit": 2})
    assert call not in agent.answers
    agent.session.approve()
    assert json.loads(agent.text(call)) == {"table": "sales", "limit": 2, "columns": None}


def test_a_denied_call_never_runs_and_the_agent_is_told_why(start: Callable[..., Agent]) -> None:
    agent, ran = start(), []

    def danger() -> None:
        """Must not run."""
        ran.append(1)

    agent.session.rpc.offer(danger)
    call = agent.calls("danger")
    waiting(agent)
    agent.session.deny(note="not now")
    found = agent.got(call)
    assert isinstance(found, HostFailure)
    assert (found.kind, found.message) == ("denied", "Leave was refused. not now")
    assert ran == []


def test_allowed_for_the_session_means_that_function_and_no_other(start: Callable[..., Agent]) -> None:
    agent = start()
    agent.session.rpc.offer(rows, later)
    first = agent.calls("rows", table="a")
    waiting(agent)
    agent.session.approve(for_session=True)
    agent.text(first)
    assert "b" in agent.text(agent.wants("tool", name="rows", arguments={"table": "b"}, call_id=""))
    agent.calls("later", text="x")
    assert waiting(agent).tool == "later"


def test_the_policy_decides_as_it_does_of_any_call(start: Callable[..., Agent]) -> None:
    agent = start(approve=lambda request: request.tool == "later")
    agent.session.rpc.offer(rows, later)
    assert agent.text(agent.calls("later", text="x")) == "X"
    assert isinstance(agent.got(agent.calls("rows", table="a")), HostFailure)


def asked_by_the_agent(agent: Agent, call_id: str, **given: Any) -> None:
    agent.says(ev.ToolCallUpdated(call_id, "rows", category="other", status="pending", input=given))
    agent.says(ev.ApprovalRequested("r", call_id, tool="rows", input=given))
    agent.session.approve("r")


def test_a_call_that_the_agent_has_asked_for_itself_is_not_asked_twice_but_once_only(
    start: Callable[..., Agent],
) -> None:
    agent = start()
    agent.session.rpc.offer(rows)
    asked_by_the_agent(agent, "c1", table="a", i="why")
    assert "a" in agent.text(agent.calls("rows", "c1", table="a"))
    agent.calls("rows", "c1", table="a")
    assert waiting(agent).call_id == "c1"


def test_other_arguments_than_were_allowed_are_asked_about(start: Callable[..., Agent]) -> None:
    agent = start()
    agent.session.rpc.offer(rows)
    asked_by_the_agent(agent, "c1", table="a")
    agent.calls("rows", "c1", table="b")
    assert waiting(agent).input == {"table": "b"}


def test_a_function_offered_without_asking_is_called_at_once(start: Callable[..., Agent]) -> None:
    agent = start()
    agent.session.rpc.offer(rows, later, fails, ask=False)
    assert agent.text(agent.calls("later", text="now")) == "NOW"
    for call, said in (
        (agent.calls("fails", text="x"), "KeyError: 'x'"),
        (agent.wants("tool", name="rows", arguments={"limit": "many"}, call_id=""), "Wrong arguments for rows: table"),
        (agent.wants("tool", name="gone", arguments={}, call_id=""), "no tool 'gone'"),
        (agent.wants("tool", name=["x"], arguments=None), "no tool"),
    ):
        found = agent.got(call)
        assert isinstance(found, HostFailure)
        assert said in found.message


def test_offering_again_takes_back_what_was_offered_before(start: Callable[..., Agent]) -> None:
    agent = start()
    agent.session.rpc.offer(rows, ask=False)
    agent.session.rpc.offer(later, ask=False)
    assert isinstance(agent.got(agent.calls("rows", table="a")), HostFailure)


# ---- addresses ------------------------------------------------------------------------------------------------------------


def test_addresses_are_read_freely_and_written_with_leave(start: Callable[..., Agent]) -> None:
    agent, cells = start(), {"cell://3": "x = 1"}
    agent.data["set_host_uri_schemes"] = {"schemes": ["cell"]}
    agent.session.rpc.offer_addresses("cell", lambda url: cells[url], cells.__setitem__, description="cells")
    assert agent.heard[-1].params == {"schemes": [{"scheme": "cell", "description": "cells", "writable": True}]}
    assert agent.got(agent.wants("uri_read", url="cell://3"))["content"] == "x = 1"
    write = agent.wants("uri_write", url="cell://3", content="x = 2")
    assert (waiting(agent).category, waiting(agent).paths) == ("edit", ["cell://3"])
    assert cells["cell://3"] == "x = 1"
    agent.session.approve()
    assert agent.got(write) == {}
    assert cells["cell://3"] == "x = 2"


def test_a_write_that_the_agent_has_asked_for_itself_is_not_asked_twice(start: Callable[..., Agent]) -> None:
    agent, cells = start(), {"cell://3": "x = 1"}
    agent.session.rpc.offer_addresses("cell", lambda url: cells[url], cells.__setitem__)
    asked_by_the_agent(agent, "c1", path="cell://3", content="x = 2")
    assert agent.got(agent.wants("uri_write", url="cell://3", content="x = 2")) == {}
    agent.wants("uri_write", url="cell://3", content="x = 3")
    assert waiting(agent).input == {"path": "cell://3", "content": "x = 3"}


def test_an_address_nobody_answers_or_that_fails_is_told_so(start: Callable[..., Agent]) -> None:
    agent = start()
    agent.session.rpc.offer_addresses("cell", lambda url: {}[url])
    for call, kind in (
        (agent.wants("uri_read", url="cell://9"), "failed"),
        (agent.wants("uri_write", url="cell://9", content="x"), "denied"),
        (agent.wants("uri_read", url="other://9"), "not_found"),
    ):
        found = agent.got(call)
        assert isinstance(found, HostFailure)
        assert found.kind == kind
    with pytest.raises(UsageError, match="no scheme"):
        agent.session.rpc.offer_addresses("Not one", str)


# ---- the commands -----------------------------------------------------------------------------------------------------------


def test_each_command_is_sent_under_the_name_of_its_dialect(start: Callable[..., Agent]) -> None:
    omp, pi = start("omp"), start("pi")
    omp.session.rpc.branch_messages()
    pi.session.rpc.branch_messages()
    assert (omp.heard[-1].method, pi.heard[-1].method) == ("get_branch_messages", "get_fork_messages")
    for call in (
        lambda: omp.session.rpc.clone(),
        lambda: pi.session.rpc.handoff(),
        lambda: pi.session.rpc.offer(rows),
        lambda: omp.session.rpc.bash("ls", hidden=True),
    ):
        with pytest.raises(NotSupported):
            call()


def test_an_answer_without_data_is_no_crash(start: Callable[..., Agent]) -> None:
    rpc = start().session.rpc
    assert rpc.last_text() == ""
    assert rpc.cycle_model() is rpc.cycle_thinking() is None
    assert (rpc.stats(), rpc.models(), rpc.branch_messages(), rpc.handoff(), rpc.new_session()) == (
        {},
        [],
        [],
        "",
        True,
    )


def test_a_session_is_switched_to_only_where_it_is_saved(start: Callable[..., Agent]) -> None:
    agent = start()

    class Shelf:
        def sessions(self, *, all: bool = False) -> list[dict[str, Any]]:
            return [{"id": "abc", "path": "/s/abc.jsonl"}]

        def delete(self, session: str) -> None:
            raise UsageError("no such session")

    agent.session.controller.shelf = Shelf()
    assert agent.session.rpc.switch_session("abc") is True
    assert agent.heard[-1].params == {"sessionPath": "/s/abc.jsonl"}
    with pytest.raises(UsageError, match="no saved session"):
        agent.session.rpc.switch_session("/tmp/new.jsonl")


def test_todos_are_given_the_ids_that_are_wanted(start: Callable[..., Agent]) -> None:
    agent = start()
    agent.session.rpc.set_todos([{"name": "Work", "tasks": ["read", {"content": "fix", "status": "completed"}]}])
    [phase] = agent.heard[-1].params["phases"]
    assert [(t["id"], t["content"], t["status"]) for t in phase["tasks"]] == [
        ("task-1-1", "read", "pending"),
        ("task-1-2", "fix", "completed"),
    ]


def test_an_agent_of_another_protocol_has_none_of_this(start: Callable[..., Agent]) -> None:
    with pytest.raises(NotSupported, match="omp or pi"):
        _ = start("hm").session.rpc


def test_every_command_that_is_named_has_a_call() -> None:
    source = Path(RpcCalls.__module__.replace(".", "/") + ".py")
    text = (Path(__file__).parents[2] / source).read_text()
    body = text[text.index("class RpcCalls") :]
    assert [name for name in COMMANDS if f'"{name}"' not in body] == []
