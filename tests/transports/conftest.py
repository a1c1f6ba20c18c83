"""What the tests of the transports share: programs that play agents, and looking at processes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable

import psutil
import pytest

# Obeys: {"echo": x} is sent back, {"exit": n} ends it, {"err": text} goes to stderr.
OBEDIENT = """
import json, os, sys, subprocess, time
def say(value): sys.stdout.write(json.dumps(value) + "\\n"); sys.stdout.flush()
def obey(line):
    order = json.loads(line)
    if "echo" in order: say(order["echo"])
    if "raw" in order: sys.stdout.buffer.write(order["raw"].encode("latin-1")); sys.stdout.flush()
    if "err" in order: sys.stderr.write(order["err"]); sys.stderr.flush()
    if "exit" in order: sys.stdout.flush(); os._exit(order["exit"])
    if "die" in order: os.kill(os.getpid(), order["die"])
"""
TALK = OBEDIENT + "for line in sys.stdin: obey(line)\n"

# Two grandchildren: one in the agent's group, one that got itself a session and lost its parent. All ignore SIGTERM
# (when STUBBORN), none of them reads its input. Whatever a broken watchdog overlooks ends after two minutes.
FAMILY = (
    OBEDIENT
    + """
import signal
signal.alarm(120)
STUBBORN = len(sys.argv) > 1 and sys.argv[1] == "stubborn"
if STUBBORN: signal.signal(signal.SIGTERM, signal.SIG_IGN)
near = os.fork()
if near == 0:
    signal.alarm(120)
    while True: time.sleep(60)
r, w = os.pipe()
if os.fork() == 0:
    os.setsid()
    far = os.fork()
    if far == 0:
        signal.alarm(120)
        while True: time.sleep(60)
    os.write(w, str(far).encode())
    os._exit(0)
far = int(os.read(r, 20))
os.wait()
say({"agent": os.getpid(), "near": near, "far": far})
if STUBBORN:
    while True: time.sleep(60)
for line in sys.stdin: obey(line)
"""
)


def agent(source: str, *args: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", source, *args]


def alive(pids: Iterable[int]) -> list[int]:
    """Which of them still run (a zombie does not)."""
    found = []
    for pid in pids:
        try:
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.append(pid)
        except psutil.NoSuchProcess:
            pass
    return found


def wait_until(condition: Callable[[], object], seconds: float = 10.0) -> bool:
    """Look again and again, for at most so long; was it true in the end?"""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def talk() -> list[str]:
    return agent(TALK)


@pytest.fixture
def family() -> Callable[..., list[str]]:
    return lambda *args: agent(FAMILY, *args)


@pytest.fixture
def program() -> Callable[..., list[str]]:
    return agent


@pytest.fixture(name="alive")
def alive_fixture() -> Callable[[Iterable[int]], list[int]]:
    return alive


@pytest.fixture(name="wait_until")
def wait_until_fixture() -> Callable[..., bool]:
    return wait_until
