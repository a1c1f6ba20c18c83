"""The same in real kernels: restarted, restarted at once, interrupted, killed; ten rounds each, nothing left behind."""

from __future__ import annotations

import os
import queue
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

jupyter_client = pytest.importorskip("jupyter_client")
pytest.importorskip("ipykernel")

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a new session is only followed on Linux")

ROOT = Path(__file__).parents[2]
ROUNDS = 10
Alive = Callable[[Any], list[int]]
Wait = Callable[..., bool]

START = """
import asyncio, threading
from hm_jupyter.transports.stdio import StdioTransport

loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()

def there(coroutine):
    return asyncio.run_coroutine_threadsafe(coroutine, loop).result(20)

async def first(transport):
    async for batch in transport.receive():
        return batch[0].value

async def start():
    global transport
    transport = StdioTransport({argv!r}, grace=0.3)
    await transport.open()
    return list((await first(transport)).values())

async def ask(value):
    await transport.send({{"echo": value}})
    return await first(transport)

pids = there(start())
"""


class Kernel:
    """A real kernel, and asking it things."""

    def __init__(self) -> None:
        self.manager = jupyter_client.KernelManager()
        self.manager.shutdown_wait_time = 4.0
        self.manager.start_kernel(env={**os.environ, "PYTHONPATH": str(ROOT)})
        self.client: Any = None
        self.connect()

    def connect(self) -> None:
        if self.client is not None:
            self.client.stop_channels()
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=30)

    def run(self, code: str, expression: str = "None") -> Any:
        """Run code; the value of an expression after it."""
        reply = self.client.execute(
            code, user_expressions={"it": expression}, stop_on_error=False, reply=True, timeout=30
        )["content"]
        assert reply["status"] == "ok", reply
        return eval(reply["user_expressions"]["it"]["data"]["text/plain"])

    def start_agent(self, argv: list[str]) -> list[int]:
        """The pids of the agent, its two grandchildren and its watchdog."""
        pids: list[int] = self.run(START.format(argv=argv), "pids")
        return [*pids, psutil.Process(pids[0]).ppid()]

    @property
    def pid(self) -> int:
        pid = self.manager.provisioner.pid
        assert isinstance(pid, int)
        return pid


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    kernel = Kernel()
    yield kernel
    kernel.client.stop_channels()
    kernel.manager.shutdown_kernel(now=True)
    kernel.manager.cleanup_resources()


@pytest.mark.parametrize("now", [False, True], ids=["restart", "restart_now"])
def test_a_restarted_kernel_leaves_no_process(
    kernel: Kernel, family: Callable[..., list[str]], alive: Alive, wait_until: Wait, now: bool
) -> None:
    for _ in range(ROUNDS):
        pids = kernel.start_agent(family())
        assert len(alive(pids)) == 4
        kernel.manager.restart_kernel(now=now)
        kernel.connect()
        assert wait_until(lambda pids=pids: not alive(pids)), alive(pids)


def test_a_killed_kernel_leaves_no_process(
    kernel: Kernel, family: Callable[..., list[str]], alive: Alive, wait_until: Wait
) -> None:
    for _ in range(ROUNDS):
        pids = kernel.start_agent(family())
        assert len(alive(pids)) == 4
        os.kill(kernel.pid, signal.SIGKILL)
        assert wait_until(lambda pids=pids: not alive(pids)), alive(pids)
        kernel.manager.restart_kernel(now=True)
        kernel.connect()


def interrupted(kernel: Kernel) -> Any:
    """Interrupt until the cell has ended (a kernel may be in a place where it drops one); its reply."""
    for _ in range(10):
        kernel.manager.interrupt_kernel()
        with suppress(queue.Empty):
            return kernel.client.get_shell_msg(timeout=3)
    raise AssertionError("the cell did not end")


def test_an_interrupted_kernel_keeps_its_agent(
    kernel: Kernel, family: Callable[..., list[str]], alive: Alive, wait_until: Wait
) -> None:
    pids = kernel.start_agent(family())
    for n in range(ROUNDS):
        message = kernel.client.execute("import time; print('cell', flush=True); time.sleep(60)", stop_on_error=False)
        while kernel.client.get_iopub_msg(timeout=20)["content"].get("text") != "cell\n":
            pass
        reply = interrupted(kernel)
        assert reply["parent_header"]["msg_id"] == message
        assert reply["content"]["ename"] == "KeyboardInterrupt"
        assert kernel.run(f"answer = there(ask({n}))", "answer") == n
        assert alive(pids) == pids
    kernel.manager.shutdown_kernel()
    assert wait_until(lambda: not alive(pids)), alive(pids)
