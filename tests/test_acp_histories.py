"""Sessions of an ACP agent that is started anew: what is shown of what was before. The scripted agent over real pipes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hm_jupyter.connect import open_session
from hm_jupyter.protocols.acp.adapter import AcpAdapter
from hm_jupyter.session.policy import Policy
from hm_jupyter.session.runtime import runtime
from hm_jupyter.session.session import Session
from hm_jupyter.transcript import MessageEntry, NoticeEntry, PlanEntry, ThoughtEntry, ToolEntry, TurnEntry, UserEntry
from hm_jupyter.transports.stdio import StdioTransport

AGENT = Path(__file__).parent / "helpers" / "acp_agent.py"

Open = Callable[..., Session]


@pytest.fixture
def open_agent(tmp_path: Path) -> Iterator[Open]:
    sessions: list[Session] = []

    def make(*flags: str, version: Any = 1, **options: Any) -> Session:
        async def open() -> Session:
            command = [sys.executable, str(AGENT), f"--v{version}", "--store", str(tmp_path / "store"), *flags]
            adapter = AcpAdapter(cwd=str(tmp_path), version=version, **options)
            transport = StdioTransport(command, cwd=str(tmp_path))
            return await open_session(transport, adapter, agent="scripted", policy=Policy("all"))

        sessions.append(runtime().run(open))
        return sessions[-1]

    yield make
    for session in sessions:
        session.close()


def seen(session: Session) -> list[Any]:
    """What a person sees, but for times and ids."""
    found: list[Any] = []
    for e in session.transcript.entries.values():
        if isinstance(e, TurnEntry):
            found.append(("turn", e.turn, e.status))
        elif isinstance(e, UserEntry):
            found.append(("user", e.text, e.status))
        elif isinstance(e, (MessageEntry, ThoughtEntry)):
            found.append((type(e).__name__, str(e.text)))
        elif isinstance(e, ToolEntry):
            found.append(("call", e.title, e.status, str(e.output)))
        elif isinstance(e, PlanEntry):
            found.append(("plan", e.items))
    return found


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("replay", ["whole", "chunks", "renumbered"])
def test_a_session_loaded_by_a_new_process_is_seen_whole_pitfall_22(
    open_agent: Open, version: int, replay: str
) -> None:
    first = open_agent(version=version)
    first.prompt("think hm; tool; say one; plan")
    first.prompt("ask 1; stream 30")
    shown, session_id = seen(first), first.state.session_id
    first.close()
    again = open_agent("--replay", replay, version=version, resume=session_id)
    assert seen(again) == shown
    assert again.state.status == "ready"
    turn = again.prompt("say two")
    assert (turn.number, turn.text) == (3, "two")
    turns = [e for e in again.transcript.entries.values() if isinstance(e, TurnEntry)]
    assert [bool(e.started) for e in turns] == [False, False, True], "when it was before, nobody says"


@pytest.mark.parametrize("version", [1, 2])
def test_what_is_told_before_the_session_is_known_is_not_lost_pitfall_10(open_agent: Open, version: int) -> None:
    session = open_agent("--early", version=version)
    assert [command.name for command in session.state.commands] == ["say", "stream", "plan"]


def test_a_session_that_never_was_is_no_session_with_a_past_pitfall_21(open_agent: Open) -> None:
    """The agent answers load with null for an id nobody knows."""
    session = open_agent("--any", resume="s-never")
    notices = [e.text for e in session.transcript.entries.values() if isinstance(e, NoticeEntry)]
    assert len(notices) == 1
    assert "told nothing of it" in notices[0]
    assert not session.transcript.turns()
