"""However an agent or its kernel ends, nothing is left behind; what is not meant for the agent does not reach it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from hm_jupyter.transports import child as child_module
from hm_jupyter.transports.base import Message
from hm_jupyter.transports.stdio import StdioTransport

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name != "posix", reason="local agents need POSIX")]
everything = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a new session is only followed on Linux")

ROOT = Path(__file__).parents[2]
Argv = Callable[..., list[str]]
Alive = Callable[[Any], list[int]]
Wait = Callable[..., bool]

# A parent: starts the command it is given, tells the pids, then does what it is told on stdin.
PARENT = """
import anyio, json, os, sys
from hm_jupyter.transports.stdio import StdioTransport
async def main():
    transport = StdioTransport(json.loads(sys.argv[1]), grace=float(sys.argv[2]))
    await transport.open()
    async for batch in transport.receive():
        print(json.dumps(list(batch[0].value.values())), flush=True)
        break
    if sys.argv[3] == "idle":
        await anyio.sleep(60)
    if sys.argv[3] == "deaf":
        import asyncio, signal
        interrupted = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted.set)
        print("ready", flush=True)
        await interrupted.wait()
        await transport.send({"echo": "still here"})
        async for batch in transport.receive():
            print(batch[0].value, flush=True)
            break
anyio.run(main)
if "fork" in sys.argv[3]:
    import ctypes, time
    if (os.fork() if sys.argv[3] == "fork" else ctypes.CDLL(None).fork()) == 0:
        time.sleep(60)
    print("ready", flush=True)
    sys.stdin.read()
if sys.argv[3] == "exit":
    sys.exit(0)
"""


@contextmanager
def parent(argv: list[str], ending: str, grace: float = 0.3) -> Iterator[tuple[subprocess.Popen[bytes], list[int]]]:
    """A Python with an agent; and the pids of the agent's family, its watchdog included."""
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT, json.dumps(argv), str(grace), ending],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        pids = json.loads(process.stdout.readline())
        watchdog = psutil.Process(pids[0]).ppid()
        yield process, [*pids, watchdog]
    finally:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


async def start(argv: list[str], grace: float) -> tuple[StdioTransport, dict[str, int]]:
    transport = StdioTransport(argv, grace=grace)
    await transport.open()
    async for batch in transport.receive():
        assert isinstance(batch[0], Message)
        return transport, batch[0].value
    raise AssertionError(transport.stderr)


async def test_an_agent_that_ends_when_its_input_does_is_not_hurried(program: Argv) -> None:
    source = "import sys, os\nprint('[1]', flush=True); sys.stdin.read(); os._exit(4)"
    transport = StdioTransport(program(source), grace=30)
    await transport.open()
    started = time.monotonic()
    assert (await transport.close()).code == 4
    assert time.monotonic() - started < 5


async def test_an_agent_that_overlooks_the_end_of_its_input_gets_sigterm(program: Argv) -> None:
    source = """
import signal, time, os
def bye(*_): os.write(2, b"terminated\\n"); os._exit(11)
signal.signal(signal.SIGTERM, bye)
print("[1]", flush=True)
while True: time.sleep(60)
"""
    transport = StdioTransport(program(source), grace=0.1)
    await transport.open()
    async for _ in transport.receive():
        break
    end = await transport.close()
    assert (end.code, end.stderr) == (11, "terminated\n")


@everything
async def test_an_agent_that_ignores_everything_is_killed_with_all_its_family_in_bounded_time(
    family: Argv, alive: Alive
) -> None:
    transport, pids = await start(family("stubborn"), 0.2)
    assert len(alive(pids.values())) == 3
    assert os.getsid(pids["far"]) != os.getsid(pids["near"]) == os.getsid(pids["agent"])
    started = time.monotonic()
    end = await transport.close()
    assert time.monotonic() - started < 2.5
    assert end.code == -signal.SIGKILL
    assert alive(pids.values()) == []


@everything
@pytest.mark.parametrize("how", ["exit", "die"])
async def test_what_an_agent_leaves_running_when_it_ends_by_itself_goes_with_it(
    family: Argv, alive: Alive, wait_until: Wait, how: str
) -> None:
    transport, pids = await start(family(), 0.2)
    await transport.send({how: 9})
    assert [batch async for batch in transport.receive()] == []  # at once, though others hold its stdout open
    assert wait_until(lambda: not alive(pids.values()))
    assert (await transport.close()).code in (9, -9)


async def test_closing_is_carried_through_when_it_is_cancelled(family: Argv, alive: Alive) -> None:
    transport, pids = await start(family("stubborn"), 0.2)
    with anyio.move_on_after(0.01) as scope:
        await transport.close()
    assert scope.cancel_called
    assert alive([pids["agent"], pids["near"]]) == []

    transport, pids = await start(family("stubborn"), 0.2)
    task = asyncio.ensure_future(transport.close())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert alive([pids["agent"], pids["near"]]) == []
    assert (await transport.close()).code == -signal.SIGKILL


@everything
async def test_when_the_watchdog_is_killed_the_agent_is_not_left(family: Argv, alive: Alive, wait_until: Wait) -> None:
    transport, pids = await start(family("stubborn"), 0.2)
    os.kill(psutil.Process(pids["agent"]).ppid(), signal.SIGKILL)
    assert [batch async for batch in transport.receive()] == []
    assert wait_until(lambda: not alive([pids["agent"], pids["near"]]))
    assert (await transport.close()).code is None
    os.kill(pids["far"], signal.SIGKILL)  # nobody can know of it any more


@everything
def test_when_watchdog_and_parent_are_killed_at_once_the_agent_goes_too(
    family: Argv, alive: Alive, wait_until: Wait
) -> None:
    with parent(family("stubborn"), "idle") as (process, pids):
        process.send_signal(signal.SIGSTOP)  # it cannot help any more
        agent, near, far, watchdog = pids
        os.kill(watchdog, signal.SIGKILL)
        assert wait_until(lambda: not alive([agent]))
        for pid in (near, far):  # nobody is left who knows of them
            os.kill(pid, signal.SIGKILL)


async def test_a_forked_copy_has_no_hold_on_the_agent(program: Argv) -> None:
    transport = StdioTransport(program("import sys; sys.stdin.read()"))
    await transport.open()
    child = transport._child
    assert child is not None
    fds = child.fds()
    copy = os.fork()
    if copy == 0:
        held = [fd for fd in fds if os.path.exists(f"/dev/fd/{fd}")]
        os._exit(len(held) + len(child_module._live))
    assert os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]) == 0
    assert child.fds() == fds
    assert (await transport.close()).code == 0


@everything
async def test_a_watchdog_told_to_terminate_takes_the_agent_along(family: Argv, alive: Alive, wait_until: Wait) -> None:
    transport, pids = await start(family("stubborn"), 0.2)
    watchdog = psutil.Process(pids["agent"]).ppid()
    os.kill(watchdog, signal.SIGINT)  # not this one
    os.kill(watchdog, signal.SIGTERM)
    assert wait_until(lambda: not alive(pids.values()))
    assert (await transport.close()).code == -signal.SIGKILL


@everything
@pytest.mark.parametrize("kind", ["gentle", "stubborn"])
def test_killing_the_parent_leaves_no_process(family: Argv, alive: Alive, wait_until: Wait, kind: str) -> None:
    for _ in range(10 if kind == "gentle" else 3):
        with parent(family(kind), "idle") as (process, pids):
            assert len(alive(pids)) == 4
            process.kill()
            assert wait_until(lambda pids=pids: not alive(pids)), alive(pids)


@everything
@pytest.mark.parametrize("fork", ["fork", "a fork Python does not know of"])
def test_a_forked_copy_of_the_parent_keeps_nothing_alive(
    family: Argv, alive: Alive, wait_until: Wait, fork: str
) -> None:
    with parent(family(), fork) as (process, pids):
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert len(alive(pids)) == 4
        process.kill()  # the copy lives on
        assert wait_until(lambda: not alive(pids)), alive(pids)


@everything
def test_a_parent_that_ends_without_closing_leaves_no_process(family: Argv, alive: Alive, wait_until: Wait) -> None:
    with parent(family(), "exit") as (process, pids):
        assert process.wait(10) == 0
        assert alive(pids) == []  # already: it waits a moment for them
    with parent(family("stubborn"), "exit", 1.0) as (process, pids):
        started = time.monotonic()
        assert process.wait(10) == 0
        assert time.monotonic() - started < 3  # … but only a moment
        assert wait_until(lambda: not alive(pids)), alive(pids)


@everything
def test_an_interrupt_of_the_parents_group_does_not_reach_the_agent(family: Argv, alive: Alive) -> None:
    with parent(family(), "deaf") as (process, pids):
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert not {os.getpgid(pid) for pid in pids} & {os.getpgid(process.pid)}
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdout.readline() == b"still here\n"
        assert process.wait(10) == 0
        assert alive(pids) == []


async def test_an_agent_starts_quickly(program: Argv) -> None:
    best = 1.0
    for _ in range(5):
        started = time.perf_counter()
        transport = StdioTransport(["true"])
        await transport.open()
        best = min(best, time.perf_counter() - started)
        await transport.close()
    sys.stderr.write(f"open(): {best * 1000:.0f} ms\n")
    assert best < 0.25  # 0.02-0.03 on an idle machine
