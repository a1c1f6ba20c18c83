"""A `%%hm` cell whose agent runs a command with children of its own, in real kernels: however the kernel is stopped,
ten rounds each, no process is left. (What an interrupt must leave is the agent itself.)

The children are those that get away elsewhere: in the background, in a session of their own, deaf to SIGHUP and SIGTERM.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from .test_magics_kernel import Kernel

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a new session is only followed on Linux"),
]

ROUNDS = 10
"""Of the rounds only the start waits for its turn: that all is gone is looked at when the last kernel has gone, since an
agent has seconds to end, and the next round needs nothing of it."""
CHILDREN = 5


def command(mark: str) -> str:
    """What the agent runs. Whatever a broken end overlooks ends by itself after two minutes."""
    nap = f"sleep {mark}"
    return (
        f"{nap} & nohup {nap} >/dev/null 2>&1 & setsid {nap} & (setsid sh -c 'trap \"\" TERM HUP INT; {nap}; true' &) ; "
        f"echo all of them; {nap}"
    )


def marked(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and process.cmdline() == ["sleep", mark]:
                found.append(process)
        except psutil.Error:
            continue
    return found


def wait_for(condition: Callable[[], object], why: str, seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"never came: {why}"
        time.sleep(0.01)


@pytest.fixture
def marks() -> Iterator[list[str]]:
    """One a round."""
    made = [f"12{n}.{os.getpid()}" for n in range(ROUNDS)]
    yield made
    for mark in made:
        for process in marked(mark):
            process.kill()


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    made = Kernel(tmp_path, stdin=False)
    made.manager.shutdown_wait_time = 4.0
    yield made
    made.close()


def family(kernel: Kernel) -> list[psutil.Process]:
    """Everything below the kernel: watchdogs, agents, what these started."""
    assert kernel.manager.provisioner is not None
    return psutil.Process(kernel.manager.provisioner.pid).children(recursive=True)


def begin(kernel: Kernel, mark: str) -> list[psutil.Process]:
    """Have a cell wait for a command with all its children; what must be gone in the end."""
    kernel.run("%load_ext hm_jupyter\n%hm start --mode auto --model quickstart-fast --name it")
    kernel.send(f"%%hm --approve all\nrun: {command(mark)}")
    wait_for(lambda: len(marked(mark)) == CHILDREN, "the command and its children")
    return list({*family(kernel), *marked(mark)})


def running(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [p for p in processes if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


def reconnect(kernel: Kernel) -> None:
    kernel.client.stop_channels()
    kernel.client = kernel.manager.client()
    kernel.client.start_channels()
    kernel.client.wait_for_ready(timeout=60)


@pytest.mark.parametrize("end", ["restart", "restart_now", "SIGKILL"])
def test_a_kernel_that_ends_while_a_cell_waits_leaves_no_process(kernel: Kernel, marks: list[str], end: str):
    left: list[psutil.Process] = []
    for mark in marks:
        left += begin(kernel, mark)
        if end == "SIGKILL":
            os.kill(kernel.manager.provisioner.pid, signal.SIGKILL)  # type: ignore[union-attr]
        kernel.manager.restart_kernel(now=end != "restart")
        reconnect(kernel)
    wait_for(lambda: not running(left), "the end of all of them")
    assert not [mark for mark in marks if marked(mark)]


def test_an_interrupted_cell_leaves_the_agent_and_nothing_else(kernel: Kernel, marks: list[str]):
    agents: list[psutil.Process] = []
    for mark in marks:
        if agents:
            kernel.send(f"%%hm --approve all\nrun: {command(mark)}")
            wait_for(lambda mark=mark: len(marked(mark)) == CHILDREN, "the command")  # type: ignore[misc]
        else:
            begin(kernel, mark)
            agents = [p for p in family(kernel) if "hm_jupyter.agents" in " ".join(p.cmdline())]
            assert agents
        kernel.manager.interrupt_kernel()
        kernel.until("error", 30, ename="TurnStopped")
        wait_for(lambda mark=mark: not marked(mark), "the end of the command and its children")  # type: ignore[misc]
        assert running(agents) == agents
    left = family(kernel)
    kernel.manager.shutdown_kernel()
    wait_for(lambda: not running(left), "the end of all of them")
