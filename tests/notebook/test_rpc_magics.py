"""``%hm bash``, ``stats``, ``name``, ``new-session``, ``branches``, ``call``: with an agent that speaks omp's RPC over memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from hm_jupyter.connect import open_session
from hm_jupyter.errors import AgentError, NotSupported, UsageError
from hm_jupyter.notebook.registry import registry
from hm_jupyter.protocols.omp.adapter import OmpAdapter
from hm_jupyter.session.runtime import runtime
from hm_jupyter.session.session import Session
from hm_jupyter.transports.memory import MemoryPeer, memory_transport

from .test_magics import run

STATE = {"model": {"id": "m", "provider": "p"}, "sessionId": "s-1", "messageCount": 0, "isStreaming": False}


class Agent:
    """``data`` is what its commands are answered with; one that is an error is refused with it."""

    def __init__(self) -> None:
        self.data: dict[str, Any] = {"get_state": STATE}
        self.heard: list[dict[str, Any]] = []

    def __call__(self, value: dict[str, Any]) -> Iterable[Any]:
        self.heard.append(value)
        found = self.data.get(value["type"], {})
        answer = {"type": "response", "id": value["id"], "command": value["type"]}
        if isinstance(found, Exception):
            return [{**answer, "success": False, "error": str(found)}]
        return [{**answer, "success": True, "data": found}]

    def last(self, kind: str) -> dict[str, Any]:
        found = [line for line in self.heard if line["type"] == kind][-1]
        return {name: value for name, value in found.items() if name not in ("id", "type")}


@pytest.fixture
def start(shell: InteractiveShell) -> Callable[..., Agent]:
    def start(dialect: Any = "omp") -> Agent:
        agent = Agent()
        transport, peer = memory_transport(agent)
        assert isinstance(peer, MemoryPeer)

        async def open() -> Session:
            return await open_session(transport, OmpAdapter(dialect, root="/work"), agent=dialect)

        registry.add(runtime().run(open), dialect)
        return agent

    return start


def test_a_command_of_ones_own_is_run_and_told_when_the_model_sees_it(
    shell: InteractiveShell, start: Callable[..., Agent]
) -> None:
    agent = start()
    agent.data["bash"] = {"output": "clean\n", "exitCode": 0, "cancelled": False, "truncated": False}
    said, _ = run(shell, "%hm bash git status --short | head")
    assert agent.last("bash") == {"command": "git status --short | head"}
    assert said == "clean\nExit code 0. The model sees this with your next prompt.\n"
    agent.data["bash"] = {
        "output": "x", "cancelled": True, "truncated": True, "totalLines": 900, "outputLines": 9, "artifactId": "7",
    }  # fmt: skip
    said, _ = run(shell, "%hm bash yes")
    assert "Stopped. The output is cut (9 of 900 lines); the whole of it: 7. The model" in said
    run(shell, "%hm bash --stop")
    assert agent.last("abort_bash") == {}
    with pytest.raises(UsageError, match="Which command"):
        run(shell, "%hm bash")
    with pytest.raises(NotSupported):
        run(shell, "%hm bash --hidden ls")


def test_pi_keeps_a_command_from_the_model_where_it_is_told_to(
    shell: InteractiveShell, start: Callable[..., Agent]
) -> None:
    agent = start("pi")
    agent.data["bash"] = {"output": "", "exitCode": 1}
    said, _ = run(shell, "%hm bash --hidden ls")
    assert agent.last("bash") == {"command": "ls", "excludeFromContext": True}
    assert said == "Exit code 1. The model does not see this.\n"


def test_counts_and_costs_are_a_table(shell: InteractiveShell, start: Callable[..., Agent]) -> None:
    agent = start()
    agent.data["get_session_stats"] = {"userMessages": 3, "tokens": {"input": 12345}, "cost": 0.5}
    run(shell, "table = %hm stats")
    assert dict(shell.user_ns["table"].rows) == {"userMessages": "3", "tokens.input": "12,345", "cost": "0.5"}


def test_the_session_is_named_and_begun_anew(shell: InteractiveShell, start: Callable[..., Agent]) -> None:
    agent = start()
    run(shell, "%hm name Sales by month")
    assert agent.last("set_session_name") == {"name": "Sales by month"}
    agent.data["new_session"] = {"cancelled": False}
    said, _ = run(shell, "%hm new-session")
    assert "%hm resume s-1" in said
    agent.data["new_session"] = {"cancelled": True}
    with pytest.raises(UsageError, match="the old one goes on"):
        run(shell, "%hm new-session")


def test_the_messages_to_fork_from_are_listed(shell: InteractiveShell, start: Callable[..., Agent]) -> None:
    agent = start()
    agent.data["get_branch_messages"] = {"messages": [{"entryId": "e1", "text": "plot\nit " + "x" * 200}, "odd"]}
    run(shell, "table = %hm branches")
    [(entry, text)] = shell.user_ns["table"].rows
    assert (entry, text[:8], len(text)) == ("e1", "plot it ", 100)


def test_any_request_is_sent_as_it_is(shell: InteractiveShell, start: Callable[..., Agent]) -> None:
    agent = start()
    agent.data["get_tree"] = {"tree": ["häuser"]}
    said, _ = run(shell, '%hm call get_tree {"depth": 2}')
    assert agent.last("get_tree") == {"depth": 2}
    assert json.loads(said) == {"tree": ["häuser"]}
    agent.data["nonsense"] = ValueError("Unknown command: nonsense")
    with pytest.raises(AgentError, match="Unknown command"):
        run(shell, "%hm call nonsense")
    for line in ("%hm call", "%hm call x {", "%hm call x [1]"):
        with pytest.raises(UsageError):
            run(shell, line)


def test_an_agent_of_another_kind_says_that_it_has_none_of_this(
    shell: InteractiveShell, start: Callable[..., Agent]
) -> None:
    run(shell, "%hm start demo")
    for line in ("%hm stats", "%hm name x", "%hm branches"):
        with pytest.raises(NotSupported, match="omp or pi"):
            run(shell, line)
