"""Terminals: real commands, their output, their end, and that nothing of them is left."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from hm_jupyter.workspace.command import understand
from hm_jupyter.workspace.process import Process
from hm_jupyter.workspace.refused import Refused
from hm_jupyter.workspace.roots import Roots
from hm_jupyter.workspace.terminals import MOST, Terminals

pytestmark = pytest.mark.anyio

# A family: a child in the group, and one with a session of its own that lost its parent. All ignore SIGTERM.
FAMILY = """
import os, signal, sys, time
signal.alarm(120)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def say(*words): os.write(1, (" ".join(map(str, words)) + "\\n").encode())  # in one piece
near = os.fork()
if near == 0:
    signal.alarm(120); time.sleep(100)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.alarm(120); say("far", os.getpid()); time.sleep(100)
    os._exit(0)
os.wait()
say("me", os.getpid())
say("near", near)
time.sleep(float(sys.argv[1]))
"""


class Bench:
    """Terminals in a workspace, and what they showed."""

    def __init__(self, folder: Path) -> None:
        self.roots = Roots([folder])
        self.terminals = Terminals()
        self.shown: dict[str, list[str]] = {}

    async def run(self, name: str, command: str, *args: str, follow: bool = True, **more: Any) -> Process:
        asked = {"command": command, "args": list(args), **more}
        process = await self.terminals.create(name, understand(self.roots, asked))
        self.shown[name] = []
        if follow:
            process.follow(self.shown[name].append)
        return process

    async def pids(self, name: str, until: Any) -> list[int]:
        """Of a family, when all of it runs."""
        await until(lambda: len("".join(self.shown[name]).split()) >= 6)
        words = "".join(self.shown[name]).split()
        me = int(words[words.index("me") + 1])
        return [int(word) for word in words if word.isdigit()] + [psutil.Process(me).ppid()]


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    await bench.terminals.close()


async def test_a_line_runs_in_the_workspace_by_the_shell_and_tells_its_exit_code(bench: Bench, tmp_path: Path) -> None:
    await bench.run("t", "pwd; echo a$((1+1)); exit 3")
    assert (await bench.terminals.wait("t")).to_json() == {"code": 3, "signal": None}
    assert bench.terminals.output("t") == {
        "output": f"{tmp_path}\na2\n",
        "truncated": False,
        "exit": {"code": 3, "signal": None},
    }
    assert "".join(bench.shown["t"]) == f"{tmp_path}\na2\n"


async def test_pitfall_28_a_program_is_executed_without_a_shell_so_newlines_in_its_environment_are_harmless(
    bench: Bench,
) -> None:
    env = {"LINES_": "one\ntwo'\"$(echo three)", "EMPTY": ""}
    code = "import os, sys; print(repr(os.environ['LINES_']), repr(os.environ['EMPTY']), sys.argv[1:])"
    await bench.run("t", sys.executable, "-c", code, "a b", "$HOME", "*", env=env)
    await bench.terminals.wait("t")
    assert bench.terminals.output("t")["output"] == f"{env['LINES_']!r} '' ['a b', '$HOME', '*']\n"


async def test_a_line_gets_its_environment_over_the_inherited_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HM_INHERITED", "yes")
    await bench.run("t", 'echo "$HM_INHERITED" "$HM_GIVEN"', env={"HM_GIVEN": "a\nb"})
    await bench.terminals.wait("t")
    assert bench.terminals.output("t")["output"] == "yes a\nb\n"


async def test_both_streams_come_in_order_with_escapes_kept_and_input_is_empty(bench: Bench) -> None:
    await bench.run("t", "echo out; echo err >&2; printf '\\033[1mbold\\033[0m\\n'; cat; echo end >&2")
    await bench.terminals.wait("t")
    assert bench.terminals.output("t")["output"] == "out\nerr\n\x1b[1mbold\x1b[0m\nend\n"


async def test_output_is_shown_while_it_runs(bench: Bench, until: Any, tmp_path: Path) -> None:
    await bench.run("t", "echo early; while [ ! -e go ]; do sleep 0.02; done; echo late")
    await until(lambda: "".join(bench.shown["t"]) == "early\n")
    assert bench.terminals.output("t")["exit"] is None
    (tmp_path / "go").touch()
    await bench.terminals.wait("t")
    assert "".join(bench.shown["t"]) == "early\nlate\n"


async def test_a_command_that_ended_before_anybody_looked_shows_all_the_same(bench: Bench, until: Any) -> None:
    process = await bench.run("t", "echo quick", follow=False)
    await until(lambda: process.ended)
    process.follow(bench.shown["t"].append)
    assert "".join(bench.shown["t"]) == "quick\n"


async def test_the_limit_keeps_the_end_cut_at_a_character(bench: Bench) -> None:
    await bench.run("t", "i=0; while [ $i -lt 100 ]; do printf '€'; i=$((i+1)); done; printf x", output_limit=11)
    await bench.terminals.wait("t")
    found = bench.terminals.output("t")
    assert (found["output"], found["truncated"]) == ("€€€x", True)


async def test_ten_megabytes_pass_and_the_loop_stays_the_others(bench: Bench) -> None:
    await bench.run("t", "head -c 10485760 /dev/zero | tr '\\0' x; echo; echo done", output_limit=100_000)
    longest = 0.0
    while bench.terminals.output("t")["exit"] is None:
        before = time.monotonic()
        await anyio.sleep(0.005)
        longest = max(longest, time.monotonic() - before)
    found = bench.terminals.output("t")
    assert len(found["output"]) == 100_000 and found["output"].endswith("x\ndone\n")
    assert len("".join(bench.shown["t"])) < 1_000_100
    assert longest < 1.0


async def test_kill_ends_it_by_a_signal_and_the_id_stays_valid(bench: Bench) -> None:
    await bench.run("t", "echo before; exec sleep 100")
    bench.terminals.kill("t")
    ended = await bench.terminals.wait("t")
    assert (ended.code, ended.signal) == (None, "SIGTERM")
    assert bench.terminals.output("t")["exit"] == {"code": None, "signal": "SIGTERM"}
    bench.terminals.kill("t")  # once more is harmless


async def test_release_ends_it_and_the_id_is_gone(bench: Bench, until: Any, alive: Callable[..., list[int]]) -> None:
    await bench.run("t", "echo $$; exec sleep 100")
    await until(lambda: bench.shown["t"])
    pid = int(bench.shown["t"][0])
    bench.terminals.release("t")
    for use in (bench.terminals.output, bench.terminals.kill, bench.terminals.release):
        with pytest.raises(Refused) as caught:
            use("t")
        assert caught.value.kind == "not_found"
    await until(lambda: not alive([pid]))


async def test_who_waits_is_told_when_it_is_released(bench: Bench) -> None:
    process = await bench.run("t", "exec sleep 100")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(process.wait)
        await anyio.sleep(0)
        bench.terminals.release("t")
    assert process.ended is not None and process.ended.signal == "SIGTERM"


async def test_pitfall_18_killing_a_terminal_takes_its_grandchildren_even_stubborn_ones_with_a_session_of_their_own(
    bench: Bench, until: Any, alive: Callable[..., list[int]]
) -> None:
    await bench.run("t", sys.executable, "-c", FAMILY, "100")
    pids = await bench.pids("t", until)
    assert len(alive(pids)) == 4
    bench.terminals.kill("t")
    assert (await bench.terminals.wait("t")).signal == "SIGKILL"
    await until(lambda: not alive(pids))


async def test_pitfall_18_what_a_command_leaves_in_the_background_ends_when_it_ends(
    bench: Bench, until: Any, alive: Callable[..., list[int]]
) -> None:
    await bench.run("t", sys.executable, "-c", FAMILY, "0.3")
    pids = await bench.pids("t", until)
    assert (await bench.terminals.wait("t")).code == 0
    await until(lambda: not alive(pids))


async def test_closing_ends_all_of_them_in_bounded_time(
    bench: Bench, until: Any, alive: Callable[..., list[int]]
) -> None:
    await bench.run("one", sys.executable, "-c", FAMILY, "100")
    await bench.run("two", "exec sleep 100")
    pids = await bench.pids("one", until)
    with anyio.fail_after(8):
        await bench.terminals.close()
    assert not alive(pids)
    with pytest.raises(Refused) as caught:
        await bench.run("three", "true")
    assert caught.value.kind == "cancelled"


async def test_a_start_that_is_cancelled_leaves_nothing(bench: Bench, until: Any, tmp_path: Path) -> None:
    me = psutil.Process()
    before = me.children(recursive=True)  # another test's, on its way out still
    with anyio.move_on_after(0.001):
        await bench.run("t", "echo $$ > pid; exec sleep 100")

    def begun() -> list[psutil.Process]:
        alive = [p for p in me.children(recursive=True) if p.status() != psutil.STATUS_ZOMBIE]
        return [p for p in alive if p not in before]

    await until(lambda: not begun())
    await bench.run("t", "true")  # the id is free


async def test_what_cannot_be_started_is_refused_and_holds_no_id(bench: Bench, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    with pytest.raises(Refused, match="interpreter"):
        await bench.run("t", str(broken), "x")
    with pytest.raises(Refused):
        await bench.run("t", "x" * 300_000)  # longer than a system takes
    await bench.run("t", "true")
    with pytest.raises(Refused, match="already"):
        await bench.run("t", "true")


async def test_no_more_than_so_many_are_held(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hm_jupyter.workspace.terminals.MOST", 2)
    assert MOST > 2
    await bench.run("one", "true")
    await bench.run("two", "true")
    with pytest.raises(Refused, match="release"):
        await bench.run("three", "true")
    bench.terminals.release("one")
    await bench.run("three", "true")


async def test_descriptors_are_given_back(bench: Bench) -> None:
    me = psutil.Process()
    before = me.num_fds()
    for n in range(5):
        await bench.run(f"t{n}", "echo x")
        await bench.terminals.wait(f"t{n}")
    assert me.num_fds() <= before
