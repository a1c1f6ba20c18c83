"""A real kernel for tests, seen from its client's side: what it publishes, kept in order with the time it came."""

from __future__ import annotations

import json
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

ROOT = Path(__file__).resolve().parent.parent.parent
AGENT = Path(__file__).with_name("scripted_agent.py")


class Kernel:
    """One running kernel."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient, runtime_dir: Path, log: Path) -> None:
        self.manager = manager
        self.client = client
        self.runtime_dir = runtime_dir
        self.log = log
        self.published: list[tuple[float, dict[str, Any]]] = []
        self._changed = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while not self._ended:
            try:
                message = self.client.get_iopub_msg(timeout=0.2)
            except queue.Empty:
                continue
            with self._changed:
                self.published.append((time.time(), message))
                self._changed.notify_all()

    def stop_reading(self) -> None:
        self._ended = True
        self._reader.join(5)

    def wait(self, what: Callable[[], Any], timeout: float = 20, why: str = "") -> Any:
        """Wait until ``what()`` is true (looked at whenever something was published); its value."""
        with self._changed:
            found = self._changed.wait_for(what, timeout)
        assert found, f"never came: {why or what}; the last were {[m['msg_type'] for _, m in self.published[-12:]]}"
        return found

    # ---- cells -----------------------------------------------------------------------------------------------------

    def start(self, code: str, allow_stdin: bool = False) -> str:
        """Send a cell; its message id."""
        sent: str = self.client.execute(code, allow_stdin=allow_stdin, stop_on_error=False)
        return sent

    def run(self, code: str, timeout: float = 60, allow_stdin: bool = False) -> str:
        """Run a cell to its end; what it printed. Fails when the cell does."""
        id_ = self.start(code, allow_stdin)
        self.wait(lambda: self.idle(id_), timeout, f"the end of {code!r}")
        failed = [m["content"] for _, m in self.of(id_) if m["msg_type"] == "error"]
        assert not failed, "\n".join(failed[0]["traceback"])
        return self.printed(id_)

    def of(self, id_: str) -> list[tuple[float, dict[str, Any]]]:
        return [(t, m) for t, m in list(self.published) if m["parent_header"].get("msg_id") == id_]

    def printed(self, id_: str) -> str:
        return "".join(m["content"]["text"] for _, m in self.of(id_) if m["msg_type"] == "stream")

    def idle(self, id_: str) -> bool:
        return any(m["msg_type"] == "status" and m["content"]["execution_state"] == "idle" for _, m in self.of(id_))

    def asked(self, timeout: float = 20) -> str:
        """The prompt of the next ``input()``."""
        message = self.client.get_stdin_msg(timeout=timeout)
        assert message["msg_type"] == "input_request"
        prompt: str = message["content"]["prompt"]
        return prompt

    def answer(self, line: str) -> None:
        """Answer the ``input()``."""
        self.client.input(line)

    def interrupt(self) -> None:
        """What the ■ button does."""
        self.manager.interrupt_kernel()

    # ---- comms -----------------------------------------------------------------------------------------------------

    def opened(self, model: str = "AnyModel") -> dict[str, Any]:
        """The newest comm of such a model: its opening message."""

        def found() -> dict[str, Any] | None:
            for _, m in reversed(self.published):
                if m["msg_type"] == "comm_open" and m["content"]["data"]["state"].get("_model_name") == model:
                    return m
            return None

        opened: dict[str, Any] = self.wait(found, why=f"the comm of {model}")
        return opened

    def customs(self, comm_id: str) -> list[tuple[float, dict[str, Any]]]:
        """The widget's own messages on a comm."""
        return [
            (t, m["content"]["data"]["content"])
            for t, m in list(self.published)
            if m["msg_type"] == "comm_msg"
            and m["content"]["comm_id"] == comm_id
            and m["content"]["data"].get("method") == "custom"
        ]

    def say(self, comm_id: str, data: dict[str, Any], subshell: str | None = None) -> None:
        """Send on a comm as a browser does."""
        message = self.client.session.msg("comm_msg", {"comm_id": comm_id, "data": data})
        if subshell is not None:
            message["header"]["subshell_id"] = subshell
        self.client.shell_channel.send(message)

    def subshell(self) -> str:
        """A new subshell's id (ipykernel 7, as JupyterLab makes one for each comm target)."""
        self.client.control_channel.send(self.client.session.msg("create_subshell_request"))
        reply = self.client.get_control_msg(timeout=10)
        made: str = reply["content"]["subshell_id"]
        return made

    # ---- what reached the agent --------------------------------------------------------------------------------------

    def commands(self) -> list[dict[str, Any]]:
        """What the agent read, with ``at``, its clock (the same machine's)."""
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []


@contextmanager
def kernel(folder: Path) -> Iterator[Kernel]:
    """A kernel with this checkout importable, its runtime files in ``folder``."""
    runtime_dir = folder / "runtime"
    runtime_dir.mkdir(mode=0o700)
    log = folder / "agent.jsonl"
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "JUPYTER_RUNTIME_DIR": str(runtime_dir),
        "IPYTHONDIR": str(folder / "ipython"),
        "HM_TEST_LOG": str(log),
        "HM_TEST_AGENT": str(AGENT),
    }
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(env=env, cwd=str(folder))
    client = manager.blocking_client()
    client.start_channels()
    started = None
    try:
        client.wait_for_ready(timeout=60)
        started = Kernel(manager, client, runtime_dir, log)
        yield started
    finally:
        if started is not None:
            started.stop_reading()
        client.stop_channels()
        manager.shutdown_kernel(now=False)
        manager.cleanup_resources()
