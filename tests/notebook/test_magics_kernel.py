"""Cells in a real kernel: waiting, interrupts, the background, unattended runs, completion over the wire."""

from __future__ import annotations

import queue
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

import hm_jupyter

pytestmark = pytest.mark.kernel

ROOT = Path(hm_jupyter.__file__).resolve().parent.parent
WIDGET = "application/vnd.jupyter.widget-view+json"
BUILT = (ROOT / "hm_jupyter" / "static" / "widget.js").exists()

# Says ok to everything and never ends a turn, whatever it is told.
STUBBORN = """
import json, sys
def say(**m): print(json.dumps(m), flush=True)
say(type="session_start", session="S", root=".", mode="ask", provider="p", model="m")
for line in sys.stdin:
    m = json.loads(line)
    say(type="response", id=m["id"], command=m["type"], ok=True)
"""


class Kernel:
    """A kernel and what came of its cells."""

    def __init__(self, cwd: Path, *, stdin: bool) -> None:
        self.manager = KernelManager()
        import os

        env = {**os.environ, "PYTHONPATH": str(ROOT), "HM_DEMO_SPEED": "0"}
        self.manager.start_kernel(cwd=str(cwd), env=env)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        self.stdin = stdin

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def send(self, code: str) -> str:
        # stop_on_error: else the kernel throws away what is sent to it just after a cell that failed
        return str(self.client.execute(code, allow_stdin=self.stdin, store_history=True, stop_on_error=False))

    def messages(self, timeout: float) -> Iterator[dict[str, Any]]:
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            try:
                yield self.client.get_iopub_msg(timeout=left)
            except queue.Empty:
                break
        pytest.fail(f"nothing of the kind came within {timeout:g} s")

    def until(self, kind: str, timeout: float = 30, **content: Any) -> list[dict[str, Any]]:
        """The messages up to the first of ``kind`` whose content has these values."""
        seen = []
        for message in self.messages(timeout):
            seen.append(message)
            if message["msg_type"] == kind and all(message["content"].get(k) == v for k, v in content.items()):
                return seen
        raise AssertionError

    def run(self, code: str, timeout: float = 30) -> list[dict[str, Any]]:
        """The messages of a cell, to its end."""
        self.send(code)
        return self.until("status", timeout, execution_state="idle")

    def text(self, code: str) -> str:
        """What a cell prints or gives. Fails when it fails."""
        out = ""
        for message in self.run(code):
            content = message["content"]
            assert message["msg_type"] != "error", content["traceback"]
            out += content.get("text", "") + content.get("data", {}).get("text/plain", "")
        return out


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    """A kernel whose front-end can ask a person, in a demo workspace."""
    made = Kernel(tmp_path, stdin=True)
    made.run(
        "%load_ext hm_jupyter\n"
        "from hm_jupyter.agents.demo import make_workspace\nfolder = make_workspace('work')\n"
        "%hm start --cwd $folder --scenario quickstart"
    )
    yield made
    made.close()


def error_of(messages: list[dict[str, Any]]) -> dict[str, Any]:
    return next(m["content"] for m in messages if m["msg_type"] == "error")


def agents_of(kernel: Kernel) -> list[psutil.Process]:
    me = psutil.Process(kernel.manager.provisioner.pid)  # type: ignore[union-attr]
    return [p for p in me.children(recursive=True) if "hm_jupyter.agents" in " ".join(p.cmdline())]


def start_and_see(kernel: Kernel, condition: str, line: str) -> None:
    """Run ``line`` in a cell and return, with the cell still running, once ``condition`` holds in the kernel."""
    kernel.send(
        "import threading, hm_jupyter\n"
        "before = hm_jupyter.last\n"
        "def tell():\n"
        f"    while not ({condition}): __import__('time').sleep(0.02)\n"
        "    print('NOW')\n"
        "threading.Thread(target=tell, daemon=True).start()\n" + line
    )
    kernel.until("stream", text="NOW\n")


def test_an_interrupt_stops_the_turn_and_the_agent_lives_on(kernel: Kernel):
    before = [p.pid for p in agents_of(kernel)]
    start_and_see(kernel, "hm_jupyter.current.pending", "%hm run the tests")
    kernel.manager.interrupt_kernel()
    error = error_of(kernel.until("status", execution_state="idle"))
    assert error["ename"] == "TurnStopped"
    assert len(error["traceback"]) <= 2
    assert "the agent is still there" in error["traceback"][0]
    assert [p.pid for p in agents_of(kernel)] == before
    assert "cancelled" in kernel.text("hm_jupyter.last.stop_reason")
    assert "ready" in kernel.text("%hm state")


def test_a_second_interrupt_gives_up_waiting(kernel: Kernel):
    kernel.run(f"stubborn = [{sys.executable!r}, '-c', {STUBBORN!r}]\n%hm start stubborn --protocol hm --name other")
    start_and_see(kernel, "hm_jupyter.last is not before", "%hm go")
    started = time.monotonic()
    kernel.manager.interrupt_kernel()
    with pytest.raises(queue.Empty):  # no sign of life: the cell still waits for the end of the turn
        while kernel.client.get_iopub_msg(timeout=1.5)["content"].get("execution_state") != "idle":
            pass
    kernel.manager.interrupt_kernel()
    error = error_of(kernel.until("status", execution_state="idle"))
    assert error["ename"] == "TurnStopped"
    assert "no longer waits" in error["traceback"][0]
    assert time.monotonic() - started < 8


@pytest.mark.skipif(not BUILT, reason="the widget's script is not built")
def test_a_waiting_cell_shows_the_widget_and_then_the_frozen_turn_in_its_place(kernel: Kernel):
    messages = kernel.run("%hm --approve all run the tests")
    shown = [m for m in messages if m["msg_type"] == "display_data"]
    updated = [m for m in messages if m["msg_type"] == "update_display_data"]
    assert [WIDGET in m["content"]["data"] for m in shown] == [True]
    assert len(updated) == 1
    assert updated[0]["content"]["transient"] == shown[0]["content"]["transient"]
    assert WIDGET not in updated[0]["content"]["data"]
    assert {"text/html", "text/markdown", "text/plain"} <= set(updated[0]["content"]["data"])
    assert not [m for m in messages if m["msg_type"] == "execute_result"]


@pytest.mark.skipif(not BUILT, reason="the widget's script is not built")
def test_a_background_cell_returns_at_once_and_freezes_at_the_end_of_the_turn(kernel: Kernel):
    messages = kernel.run("%hm --background --as job run the tests")
    assert [WIDGET in m["content"]["data"] for m in messages if m["msg_type"] == "display_data"] == [True]
    assert not [m for m in messages if m["msg_type"] == "update_display_data"]
    messages = kernel.run("%hm approve")  # whose cell may be over before the turn is
    if not any(m["msg_type"] == "update_display_data" for m in messages):
        messages += kernel.until("update_display_data")
    frozen = next(m for m in messages if m["msg_type"] == "update_display_data")
    assert "do not pass" in frozen["content"]["data"]["text/plain"]
    assert "end_turn" in kernel.text("job.stop_reason")


def test_completion_comes_over_the_wire(kernel: Kernel):
    def complete(code: str) -> list[str]:
        reply = kernel.client.complete(code, len(code), reply=True, timeout=30)
        return list(reply["content"]["matches"])

    assert {"start", "stats", "steer", "state", "stop", "stop-work"} == set(complete("%hm st"))
    assert complete("x = 1\n%hm --appr") == ["--approve"]
    assert complete("%%hm --approve ed") == ["edits"]
    assert "hm" in complete("%hm use ")


# ---- with nobody to ask -------------------------------------------------------------------------------------------------


def notebook(*cells: str) -> Any:
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return made


SETUP = (
    "%load_ext hm_jupyter\nfrom hm_jupyter.agents.demo import make_workspace\nfolder = make_workspace('work')\n"
    "%hm start --cwd $folder --scenario quickstart"
)


@pytest.fixture
def unattended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run cells as nbconvert and papermill do."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("HM_DEMO_SPEED", "0")

    def run(*cells: str) -> Any:
        nb = notebook(SETUP, *cells)
        NotebookClient(nb, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
        return nb

    return run


def test_a_notebook_whose_call_needs_leave_ends_with_approval_required_in_bounded_time(unattended: Any):
    started = time.monotonic()
    with pytest.raises(CellExecutionError) as error:
        unattended("%%hm\nrun the tests")
    assert error.value.ename == "ApprovalRequired"
    assert "python tests/test_join.py" in error.value.evalue
    assert len(error.value.traceback.splitlines()) < 20
    assert time.monotonic() - started < 45


def test_an_unattended_cell_shows_the_static_output_once_and_no_widget_and_the_same_each_time(unattended: Any):
    cell = "%%hm --when-alone all\nrun the tests"
    first, second = (unattended(cell).cells[1].outputs for _ in range(2))
    assert [o.output_type for o in first] == ["display_data"]
    assert WIDGET not in first[0].data
    assert first[0].data == second[0].data


def test_an_unattended_question_without_an_answer_ends_with_approval_required(unattended: Any):
    with pytest.raises(CellExecutionError) as error:
        unattended("%%hm\nwhich store should the report go to?")
    assert error.value.ename == "ApprovalRequired"


def test_scripted_answers_stand_in_for_a_person(unattended: Any):
    nb = unattended(
        "alone = {'approve': ['allow'], 'answers': {'store': 'harbour'}}",
        "%%hm --when-alone alone\nwhich store should the report go to?",
        "print((folder / 'report.md').read_text())",
    )
    assert "Gothenburg" in nb.cells[3].outputs[0].text
