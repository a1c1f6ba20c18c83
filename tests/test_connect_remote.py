"""Connecting to an agent that runs elsewhere, over HTTP and WebSocket, with a token that is told nowhere."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from acp_elsewhere import RemoteAgent

import hm_jupyter as hm
from hm_jupyter.errors import HmError
from hm_jupyter.transcript import PendingApproval

TOKEN = "sk-only-for-this-test"


@pytest.fixture(scope="module")
def remote() -> Iterator[RemoteAgent]:
    with RemoteAgent("--dual", token=TOKEN) as served:
        yield served


@pytest.fixture(params=["http", "ws"])
def address(request: pytest.FixtureRequest, remote: RemoteAgent) -> str:
    found = getattr(remote, request.param)
    assert isinstance(found, str)
    return found


@pytest.mark.parametrize("protocol", ["acp1", "acp2"])
def test_an_address_gives_the_same_session_as_a_command(address: str, protocol: str, tmp_path: Any):
    with hm.connect(address, token=TOKEN, protocol=protocol, cwd=tmp_path, mode="code", approve="all") as s:
        assert s.state.mode == "code"
        turn = s.prompt("think; say hello; ask", unattended=True)
        assert "hello" in turn.text
        assert turn.stop_reason == "end_turn"
        assert [c.decision.outcome for c in turn.tool_calls] == ["allowed"]


def test_decisions_reach_an_agent_elsewhere(address: str, tmp_path: Any):
    with hm.connect(address, headers={"Authorization": f"Bearer {TOKEN}"}, cwd=tmp_path) as s:
        turn = s.start("ask", unattended=False)
        for _ in range(500):
            if s.pending:
                break
            turn._watch.done.wait(0.02)
        assert isinstance(s.pending[0], PendingApproval)
        s.approve(option="Never allow this")
        turn.wait(10)
        assert turn.tool_calls[0].decision.outcome == "denied"


def test_a_folder_of_that_machine_may_be_one_we_do_not_have(address: str):
    with hm.connect(address, token=TOKEN, cwd="/srv/only/there") as s:
        assert s.state.root == "/srv/only/there"


def test_the_token_is_in_no_repr_no_state_no_log_no_error_and_no_export(
    address: str, tmp_path: Any, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    with hm.connect(address, token=TOKEN, cwd=tmp_path) as s:
        s.prompt("say hello", unattended=True)
        seen = [repr(s), repr(s.state), repr(vars(s)), repr(s.controller.transport)]
        seen.append(s.export(tmp_path / "run.json").read_text())
        seen += [repr(event) for event in s.turns[0].events]
    with pytest.raises(HmError) as error:
        hm.connect(address, token=TOKEN + "-wrong", cwd=tmp_path)
    seen += [r.getMessage() for r in caplog.records if r.name != "websockets.server"]  # that is the other side, in here
    seen.append("".join([str(error.value), repr(error.value), repr(error.value.__cause__)]))
    assert TOKEN not in "\n".join(seen)
    assert "401" in str(error.value) or "sign" in str(error.value).lower() or "token" in str(error.value).lower()


def test_each_session_has_a_connection_of_its_own(remote: RemoteAgent, tmp_path: Any):
    gc.collect()
    before = len(remote._agents)
    with (
        hm.connect(remote.http, token=TOKEN, cwd=tmp_path) as one,
        hm.connect(remote.http, token=TOKEN, cwd=tmp_path) as two,
    ):
        assert one.state.session_id != two.state.session_id
    assert len(remote._agents) == before + 2
