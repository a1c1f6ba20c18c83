"""The same from end to end: an agent of ACP v1, a process, has its files and commands done by us."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from hm_jupyter.connect import open_session
from hm_jupyter.protocols.acp.adapter import AcpAdapter
from hm_jupyter.session.policy import Policy
from hm_jupyter.session.runtime import runtime
from hm_jupyter.session.session import Session
from hm_jupyter.transports.stdio import StdioTransport

AGENT = Path(__file__).parents[1] / "helpers" / "acp_agent.py"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Session]]:
    opened: list[Session] = []

    def start(approve: Any) -> Session:
        async def open() -> Session:
            return await open_session(
                StdioTransport([sys.executable, str(AGENT), "--v1"], cwd=str(tmp_path)),
                AcpAdapter(cwd=str(tmp_path), version=1, host=True),
                agent="scripted",
                policy=Policy(approve),
            )

        opened.append(runtime().run(open))
        return opened[-1]

    yield start
    for session in opened:
        session.close()


def test_a_command_runs_here_is_shown_on_the_agents_card_and_told_to_the_agent(start: Callable[..., Session]):
    asked: list[Any] = []
    session = start(lambda request: asked.append(request) or True)
    turn = session.prompt("terminal echo one two", unattended=False, timeout=30)
    assert [(request.category, request.request_id[:5]) for request in asked] == [("shell", "host:")]
    [card] = turn.tool_calls
    assert (card.status, str(card.output), card.exit_code, card.decision.by) == ("completed", "one two\n", 0, "policy")
    assert "exit 0" in turn.text


def test_a_refused_command_does_not_run_and_the_agent_is_told_why(start: Callable[..., Session], tmp_path: Path):
    session = start(lambda _request: {"allow": False, "note": "not here"})
    turn = session.prompt("terminal touch made", unattended=False, timeout=30)
    assert not (tmp_path / "made").exists()
    [card] = turn.tool_calls
    assert (card.status, card.decision.note) == ("denied", "not here") and "not here" in str(card.output)


def test_an_edit_is_asked_about_once_and_written_by_us(start: Callable[..., Session], tmp_path: Path):
    (tmp_path / "notes.txt").write_text("old\n")
    asked: list[Any] = []
    session = start(lambda request: asked.append(request.category) or True)
    turn = session.prompt("edit notes.txt new words", unattended=False, timeout=30)
    assert (tmp_path / "notes.txt").read_text() == "new words\n"
    assert asked == ["edit"]
    assert [(card.status, card.diffs[0].old, card.diffs[0].new) for card in turn.tool_calls] == [
        ("completed", "old\n", "new words\n")
    ]


def test_stop_ends_the_command_and_leaves_only_the_agent(start: Callable[..., Session]):
    session = start("all")
    before = {p.pid for p in psutil.Process().children(recursive=True)}
    turn = session.start("terminal sleep 100", unattended=False)
    running = threading.Event()
    stop = runtime().call(
        session.controller.subscribe,
        lambda *_: running.set() if any(card.cancelable for card in turn.tool_calls) else None,
    )
    assert running.wait(20)
    runtime().call(stop)
    session.abort()
    assert turn.wait(20).stop_reason == "cancelled"
    psutil.wait_procs([p for p in psutil.Process().children(recursive=True) if p.pid not in before], 5)
    assert [p for p in psutil.Process().children(recursive=True) if p.pid not in before] == []
