"""Nothing of a terminal outlives the process it was opened in, however that ends (pitfall 18)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a new session is only followed on Linux"),
]

ROOT = Path(__file__).parents[2]

# Opens a terminal whose command has a stubborn child, and one with a session of its own; says who they are.
HOLDER = """
import asyncio, os, sys
from hm_jupyter.workspace.command import understand
from hm_jupyter.workspace.roots import Roots
from hm_jupyter.workspace.terminals import Terminals

LINE = "trap '' TERM; (trap '' TERM; sleep 100) & echo $!; setsid sleep 100 & echo $!; echo $$ $PPID; while :; do sleep 1; done"

async def main():
    terminals, seen = Terminals(), ""
    process = await terminals.create("t", understand(Roots(["."]), {"command": LINE}))
    def show(text):
        nonlocal seen
        seen += text
    process.follow(show)
    while len(seen.split()) < 4:
        await asyncio.sleep(0.01)
    print(seen.replace(chr(10), " "), flush=True)
    if sys.argv[1] == "waits":
        await asyncio.sleep(100)
    elif sys.argv[1] == "raises":
        raise SystemExit(3)

asyncio.run(main())
"""


HOW = [("waits", signal.SIGKILL), ("waits", signal.SIGTERM), ("ends", None), ("raises", None)]


async def test_pitfall_18_no_command_outlives_the_kernel_killed_terminated_or_ended(
    alive: Callable[..., list[int]], until: Any, tmp_path: Path
) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    holders = [
        subprocess.Popen([sys.executable, "-c", HOLDER, then], stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=env)
        for then, _ in HOW
    ]
    everybody: list[int] = []
    for holder, (_, number) in zip(holders, HOW, strict=True):
        assert holder.stdout is not None
        pids = [int(word) for word in holder.stdout.readline().split()]
        assert len(pids) == 4
        everybody += pids
        if number is not None:
            assert len(alive(pids)) == 4
            holder.send_signal(number)
        holder.stdout.close()
    await until(lambda: all(holder.poll() is not None for holder in holders))
    await until(lambda: not alive(everybody))
