"""``session.prompt`` without the magics: somebody there is asked, and where nobody is, nothing waits for ever."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernels import Kernel, kernel

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

PACKAGE = Path(__file__).resolve().parent.parent.parent

SETUP = """
import hm_jupyter as hm
s = hm.connect(env={"HM_DEMO_SPEED": "0"})
def told(how):
    try: print(how().answer)
    except hm.ApprovalRequired as error: print("refused:", error.requests)
"""


@pytest.fixture(scope="module")
def k(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with kernel(tmp_path_factory.mktemp("kernel")) as running:
        running.run(SETUP)
        yield running


def test_in_a_notebook_the_cell_asks(k: Kernel) -> None:
    cell = k.start("told(lambda: s.prompt('run: echo hello'))", allow_stdin=True)
    assert "y = allow once" in k.asked()
    k.wait(lambda: "$ echo hello" in k.printed(cell), why="what will run")
    k.answer("y")
    k.wait(lambda: k.idle(cell), why="the end of the cell")
    assert "`hello`" in k.printed(cell)


def test_a_policy_that_is_a_function_is_not_asked_about(k: Kernel) -> None:
    slow = "def slow(request):\n    import time; time.sleep(0.5); return True\n"
    said = k.run(slow + "told(lambda: s.prompt('run: echo hello', approve=slow))", allow_stdin=True)
    assert "The agent wants" not in said
    assert "`hello`" in said


@pytest.mark.parametrize("call", ["told(lambda: s.prompt('run: ls'))", "t = None\n{}"])
def test_where_nobody_is_the_call_is_refused(k: Kernel, call: str) -> None:
    awaited = "try: await s.aprompt('run: ls')\nexcept hm.ApprovalRequired as error: print('refused:', error.requests)"
    assert "refused: ['ls']" in k.run(call.format(awaited))


def test_a_script_is_refused_instead_of_waiting_for_ever(tmp_path: Path) -> None:
    code = "import hm_jupyter as hm\ns = hm.connect()\ntry: s.prompt('run: ls')\nexcept hm.ApprovalRequired: print('refused')"
    env = {**os.environ, "PYTHONPATH": str(PACKAGE), "HM_DEMO_SPEED": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "refused\n", done.stderr


def test_code_that_decides_itself_says_so(k: Kernel) -> None:
    code = """
import asyncio
async def decide():
    while not s.pending: await asyncio.sleep(0.01)
    await s.aapprove()
turn, _ = await asyncio.gather(s.aprompt("run: echo hello", unattended=False), decide())
print(turn.answer)
"""
    assert "`hello`" in k.run(code)
