"""What the tests of the workspace share: looking at processes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

import psutil
import pytest


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


async def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait (on the loop) until it holds, for at most so long."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came to pass"
        await asyncio.sleep(0.005)


@pytest.fixture(name="alive")
def alive_fixture() -> Callable[[Iterable[int]], list[int]]:
    return alive


@pytest.fixture(name="until")
def until_fixture() -> Callable[..., object]:
    return until
