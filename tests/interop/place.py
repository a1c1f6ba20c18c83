"""A place for one row to happen in: a home folder, a workspace, the scripted model, a bare environment."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from types import TracebackType
from uuid import uuid4

from hm_jupyter.catalog import catalog

from .rows import HERE, MODEL_PORT, SHARED, Row

KEPT = (
    "PATH",
    "LANG",
    "LC_ALL",
    "TERM",
    "TMPDIR",
    "HM_INTEROP",
    "HM_SHARED",
    "PYTHONPATH",
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
)
TAG = "HM_INTEROP_ROW"
"""A variable that all processes of a row inherit, so that what is left behind can be found."""


class Started:
    """A helper process (the scripted model, a server): started, waited for, ended."""

    def __init__(self, argv: list[str], env: dict[str, str], ready: str | int, log: Path) -> None:
        """``ready``: a pattern in what it says, or the port it listens on."""
        self._log = log
        with log.open("ab") as out:
            self.process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        deadline = time.monotonic() + 60
        while not self._ready(ready):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.end()
                raise RuntimeError(f"{Path(argv[0]).name} did not get ready. It said: {self.said()[-800:]}")
            time.sleep(0.05)

    def _ready(self, how: str | int) -> bool:
        if isinstance(how, str):
            return re.search(how, self.said()) is not None
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", how)) == 0

    def said(self) -> str:
        return self._log.read_text(errors="replace")

    def end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(3)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Place(AbstractContextManager["Place"]):
    """Made on entering, removed on leaving, with everything that ran in it."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.tag = os.environ.get(TAG) or uuid4().hex
        self.model = ""
        self.port = _free_port()
        self.server: Started | None = None
        self._helpers: list[Started] = []
        self._before: set[int] = set()  # what runs before any session does

    def __enter__(self) -> Place:
        self.folder = Path(tempfile.mkdtemp(prefix=f"hm-interop-{self.row.name}-"))
        self.home, self.work = self.folder / "home", self.folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        try:
            if self.row.raw.get("model"):
                self.model = self._model()
            self._files("files", self.home)
            self._files("work", self.work)
            if "server" in self.row.raw:
                self.serve()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for helper in reversed(self._helpers):
            helper.end()
        sweep(self.tag)
        shutil.rmtree(self.folder, ignore_errors=True)

    def fill(self, text: str) -> str:
        return self.row.fill(text, home=str(self.home), work=str(self.work), model=self.model, port=str(self.port))

    def serve(self) -> None:
        """Start the row's server (again, on the same port, if it was ended)."""
        argv = [self.fill(part) for part in self.row.raw["server"]]
        if self.server is not None:
            self._helpers.remove(self.server)
        (self.folder / "server.log").unlink(missing_ok=True)
        self.server = self.start(argv, self.row.raw.get("ready", self.port), "server")
        self._before = set(tagged(self.tag))

    def agent(self) -> str | list[str]:
        """What ``hm.connect`` is given: the address of the server, the name in our catalog, or the command."""
        if "url" in self.row.raw:
            return self.fill(self.row.raw["url"])
        command = [self.fill(part) for part in self.row.raw["argv"]]
        name: str = self.row.raw.get("known", "")
        if not name:
            return command
        program = self.folder / "bin" / catalog().agents[name].command[0]
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
        program.chmod(0o755)
        return name

    def environment(self) -> dict[str, str | None]:
        """What is laid over the inherited environment: nearly nothing of it is kept (None takes a variable out)."""
        bare: dict[str, str | None] = {name: None for name in os.environ if name not in KEPT}
        bare.update(HOME=str(self.home), NO_PROXY="127.0.0.1,localhost", no_proxy="127.0.0.1,localhost")
        bare["PATH"] = os.pathsep.join([str(self.folder / "bin"), os.environ.get("PATH", "")])
        bare[TAG] = self.tag
        bare.update({name: self.fill(value) for name, value in self.row.raw.get("env", {}).items()})
        bare.update(dict.fromkeys(self.row.raw.get("unset", []), None))
        return bare

    def whole_environment(self) -> dict[str, str]:
        """The same as a whole environment, for helpers."""
        laid = self.environment()
        whole: dict[str, str | None] = {**os.environ, **laid}
        return {name: value for name, value in whole.items() if value is not None}

    def start(self, argv: list[str], ready: str | int, name: str, more: dict[str, str] | None = None) -> Started:
        env = {**self.whole_environment(), **(more or {})}
        helper = Started(argv, env, ready, self.folder / f"{name}.log")
        self._helpers.append(helper)
        return helper

    def left_behind(self) -> list[str]:
        """The command lines of processes of this row that still run, helpers not counted (Linux; else nothing)."""
        ours = {helper.process.pid for helper in self._helpers} | self._before
        return [command for pid, command in tagged(self.tag).items() if pid not in ours]

    def _model(self) -> str:
        argv = [sys.executable, str(SHARED / "agents" / "mock_llm.py"), "--port", "0"]
        model = self.start(argv, r"http://127\.0\.0\.1:\d+", "model", self.row.raw.get("model_env"))
        found = re.search(r"http://127\.0\.0\.1:\d+", model.said())
        assert found is not None
        return found[0]

    def _files(self, key: str, folder: Path) -> None:
        for name, source in self.row.raw.get(key, {}).items():
            own = HERE / "configs" / source
            text = (own if own.exists() else SHARED / "agents" / "configs" / source).read_text()
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text.replace(MODEL_PORT, self.model.removeprefix("http://") or MODEL_PORT))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def tagged(tag: str) -> dict[int, str]:
    """The processes that inherited that tag, and their command lines (Linux; else none). Not this one."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if int(entry.name) == os.getpid() or tag.encode() not in (entry / "environ").read_bytes():
                continue
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:  # gone meanwhile, or not ours to look at
            continue
        if command:
            found[int(entry.name)] = command
    return found


def sweep(tag: str) -> None:
    """End whatever of a row still runs."""
    for pid in tagged(tag):
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
