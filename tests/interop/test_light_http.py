"""The official TypeScript SDK's HTTP server with our client, where its own client gives up: cut streams, a server that
forgets. A part of `make interop` for every day."""

from __future__ import annotations

import os
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hm_jupyter
from hm_jupyter.errors import TransportError
from hm_jupyter.session.session import Session
from hm_jupyter.transcript import NoticeEntry, UnknownEntry
from tests.interop.test_light import EXAMPLES, HERE, example, until


class Bridge:
    """``http_bridge.mjs`` in front of an agent."""

    def __init__(self, command: list[str], **environment: str) -> None:
        argv = [command[0], str(HERE / "http_bridge.mjs"), str(EXAMPLES.parent), "--", *command]
        self._process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().removeprefix("ready ").strip()
        assert self.url.startswith("http://127.0.0.1:"), "it did not get ready"

    def _do(self, method: str, path: str) -> None:
        request = urllib.request.Request(self.url.removesuffix("/acp") + path, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=10):
            pass

    def cut(self) -> None:
        self._do("PUT", "/cut")

    def forget(self) -> None:
        self._do("DELETE", "/all")

    def end(self) -> None:
        self._process.terminate()
        self._process.wait(10)


@pytest.fixture
def bridge() -> Iterator[Bridge]:
    quick = example("agent.js", "--require", str(HERE / "quick.cjs"))
    found = Bridge(quick, TOKEN="hush", COOKIE="abc")
    yield found
    found.end()


def connect(bridge: Bridge, tmp_path: Path, **options: Any) -> Session:
    return hm_jupyter.connect(bridge.url, token="hush", cwd=tmp_path, **options)


def test_a_turn_survives_streams_that_are_cut_while_it_waits_and_while_it_talks(bridge: Bridge, tmp_path: Path) -> None:
    with connect(bridge, tmp_path) as session:
        whole = session.start("go", unattended=False)
        until(lambda: session.pending)
        session.approve()
        until(lambda: whole.done)

        turn = session.start("go", unattended=False)
        until(lambda: turn.tool_calls)
        bridge.cut()
        until(lambda: session.pending)
        bridge.cut()
        session.approve()
        until(lambda: turn.done)
        assert turn.stop_reason == "end_turn" and turn.text == whole.text
        assert [c.status for c in turn.tool_calls] == ["completed", "completed"]
        odd = [e for e in session.transcript.entries.values() if isinstance(e, (NoticeEntry, UnknownEntry))]
        # A socket that was destroyed may have taken something with it, and this agent cannot tell its story again.
        assert all(isinstance(e, NoticeEntry) and "may be missing" in e.text for e in odd) and not session.pending


def test_a_server_that_forgets_the_connection_is_said_hello_to_again(bridge: Bridge, tmp_path: Path) -> None:
    with connect(bridge, tmp_path) as session:
        before = session.state.session_id
        bridge.forget()
        until(lambda: session.state.session_id != before)  # this agent keeps no sessions, so it is a new one
        until(lambda: session.state.status == "ready")
        turn = session.start("go", unattended=False)
        until(lambda: session.pending)
        session.approve()
        until(lambda: turn.done)
        assert turn.stop_reason == "end_turn"


def test_without_the_token_nobody_comes_in(bridge: Bridge, tmp_path: Path) -> None:
    with pytest.raises(TransportError, match="who you are"):
        hm_jupyter.connect(bridge.url, token="another", cwd=tmp_path)
