"""The real omp and pi, where `make interop` has installed them, on a scripted model of ours: nothing but loopback."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer

import hm_jupyter
from hm_jupyter.session.runtime import runtime
from hm_jupyter.session.session import Session
from hm_jupyter.transcript import NoticeEntry, ToolEntry, UnknownEntry, to_json

from . import install

ALL = ("pi", "pi-old", "omp", "omp-gate")
REAL = bool(os.environ.get("HM_REAL"))
NAMES = ALL if REAL else ("pi",)
"""Which are tried: pi, which starts in half a second, in `make test`; all of them in `make interop` (HM_REAL=1)."""


def command(name: str) -> list[str]:
    """Its command; skips the test where it is not installed."""
    peer = "omp" if name == "omp-gate" else name
    if why := install.look(peer).why:
        pytest.skip(f"the real {peer}: {why}")
    modules = install.cache() / peer / "node_modules"
    if peer == "omp":
        bun = modules / "@oven" / "bun-linux-x64" / "bin" / "bun"
        return [str(bun), str(modules / "@oh-my-pi" / "pi-coding-agent" / "dist" / "cli.js")]
    node = install.node(22 if peer == "pi" else 20)
    if node is None:
        pytest.skip("no Node that is new enough: python -m tests.interop.install node22")
    cli = "@earendil-works/pi-coding-agent/dist/bundle" if peer == "pi" else "@mariozechner/pi-coding-agent/dist"
    return [node, str(modules / cli / "cli.js")]


def _models(url: str) -> dict[str, Any]:
    cost = {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}
    models = [
        {"id": f"mock-{n}", "name": f"Mock {n}", "reasoning": n == 1, "input": ["text", "image"][: 3 - n],
         "contextWindow": 2_000_000, "maxTokens": 8192, "cost": cost}
        for n in (1, 2)
    ]  # fmt: skip
    return {
        "providers": {"mock": {"baseUrl": url, "api": "anthropic-messages", "apiKey": "mock-key", "models": models}}
    }


class Program:
    """One of them, with a home of its own. ``name`` is of :data:`ALL`, ``dialect`` what it speaks."""

    def __init__(self, name: str, folder: Path, model: ModelServer) -> None:
        self.name, self.model, self.command = name, model, command(name)
        self.dialect = "pi" if name.startswith("pi") else "omp"
        self.gate = name != "omp"
        self.home, self.work = folder / "home", folder / "work"
        self.work.mkdir(parents=True)
        self.opened: list[Session] = []
        agent = self.home / f".{self.dialect}" / "agent"
        agent.mkdir(parents=True)
        if self.dialect == "omp":
            (agent / "models.yml").write_text(json.dumps(_models(model.address)))
            (agent / "config.yml").write_text("modelRoles:\n  default: mock/mock-1\n")
        else:
            (agent / "models.json").write_text(json.dumps(_models(model.address)))
            told = {"defaultProvider": "mock", "defaultModel": "mock-1", "defaultProjectTrust": "always"}
            (agent / "settings.json").write_text(json.dumps({**told, "retry": {"baseDelayMs": 50}}))

    def connect(self, **options: Any) -> Session:
        """A session with it."""
        bare = {name: None for name in os.environ if name not in ("PATH", "LANG", "LC_ALL", "TMPDIR")}
        env = {**bare, "HOME": str(self.home), "PI_OFFLINE": "1", "NO_PROXY": "127.0.0.1", **options.pop("env", {})}
        if self.name == "omp-gate":
            options.setdefault("mode", "gate")
        given = {"protocol": self.dialect, "cwd": self.work, "env": env, "start_timeout": 60, **options}
        session = hm_jupyter.connect(self.command, **given)
        self.opened.append(session)
        return session

    def extension(self, text: str) -> list[str]:
        """The arguments that load an extension with that source."""
        file = self.work.parent / f"extension-{len(list(self.work.parent.iterdir()))}.ts"
        file.write_text(text)
        return ["-e", str(file)]

    def close(self) -> None:
        for session in self.opened:
            session.close()


def until(session: Session, condition: Callable[[], Any], timeout: float = 20) -> None:
    """Wait until it holds: looked at whenever the session tells of a change (a turn is done a moment after that)."""
    changed = threading.Event()
    stop = runtime().call(session.controller.subscribe, lambda *_: changed.set())
    deadline = time.monotonic() + timeout
    try:
        while not condition():
            if time.monotonic() > deadline:
                shown = json.dumps(to_json(list(session.transcript.entries.values())[-12:]), indent=1)[-6000:]
                said = session.controller.transport.stderr[-800:]
                raise AssertionError(f"it did not come to pass; shown were\n{shown}\n{said}")
            changed.wait(0.05)
            changed.clear()
    finally:
        runtime().call(stop)


def tools(session: Session) -> list[ToolEntry]:
    return [entry for entry in session.transcript.entries.values() if isinstance(entry, ToolEntry)]


def told(session: Session) -> list[str]:
    """The notices, and what was not understood."""
    found = session.transcript.entries.values()
    notices = [f"{entry.level}: {entry.text}" for entry in found if isinstance(entry, NoticeEntry)]
    return notices + [f"unknown {entry.name}" for entry in found if isinstance(entry, UnknownEntry)]
