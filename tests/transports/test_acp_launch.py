"""How agents of ACP are started in the wild: through launchers (npx, uvx), with settings of any text in their environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import pytest

from hm_jupyter.transports.base import Message
from hm_jupyter.transports.stdio import StdioTransport

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name != "posix", reason="local agents need POSIX")]

# The agent proper has a tool running, and so much to do that it notices neither the end of its input nor SIGTERM.
AGENT = """
import json, os, signal, subprocess, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.alarm(120)
tool = subprocess.Popen(["sleep", "100"], start_new_session=True)
print(json.dumps({"agent": os.getpid(), "tool": tool.pid, "launcher": os.getppid()}), flush=True)
time.sleep(100)
"""
LAUNCHER = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', sys.argv[1]]))"


async def first(transport: StdioTransport) -> Any:
    async for batch in transport.receive():
        for item in batch:
            if isinstance(item, Message):
                return item.value
    raise AssertionError("it said nothing")


async def test_pitfall_18_an_agent_behind_a_launcher_goes_with_it_and_so_do_its_tools(
    alive: Callable[[Any], list[int]], wait_until: Callable[..., bool]
) -> None:
    transport = StdioTransport([sys.executable, "-c", LAUNCHER, AGENT], grace=0.3)
    await transport.open()
    pids = list((await first(transport)).values())
    assert len(alive(pids)) == 3
    await transport.close()
    assert wait_until(lambda: not alive(pids)), alive(pids)


async def test_pitfall_28_an_agent_is_started_without_a_shell_so_newlines_in_its_environment_are_harmless() -> None:
    value = "first\nsecond '\" $(echo third) `fourth`\n"
    code = "import json, os, sys; print(json.dumps([os.environ['HM_KEY'], sys.argv[1:]]))"
    transport = StdioTransport([sys.executable, "-c", code, "a b", "$HOME\n*"], env={"HM_KEY": value})
    await transport.open()
    assert await first(transport) == [value, ["a b", "$HOME\n*"]]
    await transport.close()
