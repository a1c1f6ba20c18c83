"""The agent as a client sees it: a process, its pipes, and bounded waits."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hm_jupyter.agents.demo import make_workspace

ROOT = Path(__file__).resolve().parents[2]
WAIT = 20.0
"""Longest wait for anything, in seconds."""


class Peer:
    """A running agent. ``seen`` holds every line it wrote so far. Nothing is saved, but with ``saved=True``."""

    def __init__(self, cwd: Path, *flags: str, env: dict[str, str] | None = None, saved: bool = False) -> None:
        self.cwd = cwd
        if not saved:
            flags = ("--no-session", *flags)
        full = {**os.environ, "PYTHONPATH": str(ROOT), "HM_DEMO_SPEED": "0", **(env or {})}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hm_jupyter.agents", "--rpc", *flags],
            cwd=cwd,
            env=full,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.seen: list[dict[str, Any]] = []
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._errors: list[bytes] = []
        self._ids = 0
        self._read = 0
        self._taken: set[int] = set()
        threading.Thread(target=self._pump, daemon=True).start()
        self._err = threading.Thread(target=self._drain, daemon=True)
        self._err.start()

    def _pump(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _drain(self) -> None:
        assert self.process.stderr is not None
        self._errors.extend(self.process.stderr)

    def raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, type: str, **fields: Any) -> Any:
        """Write a command; returns its id."""
        self._ids += 1
        command = {"id": self._ids, "type": type, **fields}
        self.raw(json.dumps(command).encode() + b"\n")
        return command["id"]

    def _next(self, timeout: float = WAIT) -> dict[str, Any] | None:
        line = self._lines.get(timeout=timeout)
        if line is None:
            self._lines.put(None)
            return None
        event: dict[str, Any] = json.loads(line)
        self.seen.append(event)
        return event

    def until(self, wanted: str | Callable[[dict[str, Any]], bool], **fields: Any) -> dict[str, Any]:
        """Read on to the first new line of that type with those fields."""
        deadline = time.monotonic() + WAIT
        while time.monotonic() < deadline:
            if self._read == len(self.seen):
                try:
                    if self._next(max(0.01, deadline - time.monotonic())) is None:
                        break
                except queue.Empty:
                    break
            event = self.seen[self._read]
            self._read += 1
            if id(event) in self._taken:
                continue
            ok = wanted(event) if callable(wanted) else event["type"] == wanted
            if ok and all(event.get(k) == v for k, v in fields.items()):
                return event
        kinds = [e["type"] for e in self.seen]
        raise AssertionError(f"no {wanted} {fields}; came: {kinds}; stderr: {self.stderr}")

    def call(self, type: str, **fields: Any) -> dict[str, Any]:
        """Send a command and wait for its response; what comes before it is still there for :meth:`until`."""
        wanted = self.send(type, **fields)
        at, deadline = self._read, time.monotonic() + WAIT
        while time.monotonic() < deadline:
            if at == len(self.seen) and self._next() is None:
                break
            event = self.seen[at]
            at += 1
            if event["type"] == "response" and event["id"] == wanted:
                self._taken.add(id(event))
                return event
        raise AssertionError(f"no response to {type}; stderr: {self.stderr}")

    def turn(self, text: str = "", **fields: Any) -> list[dict[str, Any]]:
        """A whole turn: everything from the prompt's response to ``turn_end``."""
        begin = len(self.seen)
        assert self.call("prompt", text=text, **fields)["ok"]
        self.until("turn_end")
        return self.seen[begin : self._read]

    def ask(self, text: str) -> dict[str, Any]:
        """A prompt, up to the approval it asks for."""
        assert self.call("prompt", text=text)["ok"]
        return self.until("approval_needed")

    def quiet(self) -> None:
        """Nothing has come that was not read: a round trip shows it."""
        self.until("response", id=self.send("get_state"))

    def state(self) -> dict[str, Any]:
        data: dict[str, Any] = self.call("get_state")["data"]
        return data

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def end(self) -> int:
        """Close its input if need be, read the rest, and return the exit code."""
        self.close_input()
        return self.exit_code()

    def exit_code(self) -> int:
        while self._next() is not None:
            pass
        code = self.process.wait(WAIT)
        self._err.join(WAIT)
        return code

    @property
    def stderr(self) -> str:
        return b"".join(self._errors).decode()

    def kinds(self) -> list[str]:
        return [e["type"] for e in self.seen]

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(WAIT)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                pass


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The demo's workspace."""
    return make_workspace(tmp_path / "shop")


@pytest.fixture(autouse=True)
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the agents of this test save their sessions."""
    folder = tmp_path / "sessions"
    monkeypatch.setenv("HM_SESSIONS", str(folder))
    return folder


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Peer]]:
    """Starts agents, in ``cwd`` or a folder of its own, with the steps of ``script`` for every prompt if given."""
    peers: list[Peer] = []

    def run(
        *flags: str, cwd: Path | None = None, script: str = "", env: dict[str, str] | None = None, saved: bool = False
    ) -> Peer:
        if cwd is None:
            cwd = tmp_path / "work"
            cwd.mkdir(exist_ok=True)
        if script:
            file = tmp_path / "script.toml"
            file.write_text(script, encoding="utf-8")
            flags = (*flags, "--model", str(file))
        peer = Peer(cwd, *flags, env=env, saved=saved)
        peers.append(peer)
        peer.until("session_start")
        return peer

    yield run
    for peer in peers:
        peer.stop()


@pytest.fixture
def run_once(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """A whole run with all of its input given at once."""

    def run(*flags: str, input: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "hm_jupyter.agents", *flags],
            input=input,
            capture_output=True,
            text=True,
            timeout=WAIT,
            cwd=cwd or tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "HM_DEMO_SPEED": "0"},
        )

    return run
