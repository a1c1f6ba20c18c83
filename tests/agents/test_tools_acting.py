"""Acting: what a model gets of a command's output, edits that nearly fit, the plan, and commands that run at the same time."""

from __future__ import annotations

import asyncio
import os
import sys

import anyio
import pytest
from tool_runs import Runs

from hm_jupyter.agents.room import LEAST, Room
from hm_jupyter.agents.tools import edit_file, outputs
from hm_jupyter.agents.tools.base import ToolError
from hm_jupyter.agents.tools.outputs import Outputs
from hm_jupyter.agents.tools.plain import looks_binary, plain, shortened

pytestmark = pytest.mark.anyio


@pytest.fixture
def run(tmp_path):
    return Runs(tmp_path)


# ---- what a program wrote ----


@pytest.mark.parametrize(
    ("wrote", "reads"),
    [
        ("\x1b[1;31mred\x1b[0m text\x1b[K", "red text"),
        ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink"),
        (" 10%\r 50%\r100%\ndone\r\n", "100%\ndone\n"),
        ("a\r", "a"),
        ("b\bbo\bol\bld", "bold"),
        ("bell\x07 and\x00 nul", "bell and nul"),
        ("tab\tstays", "tab\tstays"),
        ("\x1b]0;never ended\nnext", "0;never ended\nnext"),
    ],
)
def test_a_model_reads_what_a_terminal_would_have_shown_in_the_end(wrote, reads):
    assert plain(wrote).replace("]", "") == reads.replace("]", "")


def test_text_with_some_odd_bytes_is_still_text():
    assert not looks_binary("caf\ufffd " * 3 + "ordinary words " * 20)
    assert looks_binary("\x7fELF\x02\x01" + "\0\x03\ufffd" * 50)


def test_a_long_text_is_cut_in_its_middle_at_whole_lines_and_says_where_the_rest_is():
    text = "".join(f"line {n}\n" for n in range(1, 5001))
    kept = []
    cut = shortened(text, lambda whole: kept.append(whole) or "output:shell-1", head=1000, tail=500)
    assert kept == [text]
    first, note, last = cut.partition("[")[0], cut.partition("[")[2].partition("]\n")[0], cut.partition("]\n")[2]
    assert text.startswith(first)
    assert text.endswith(last)
    assert first.endswith("\n")
    assert last.startswith("line ")
    begin = first.count("\n") + 1
    assert f"from line {begin} to {5000 - last.count(chr(10))}" in note
    assert 'read_file with path="output:shell-1"' in note


async def test_a_command_s_colours_are_for_the_person_and_the_words_for_the_model(run):
    result = await run("shell", command=r"printf '\033[32mok\033[0m\n  1%%\r 99%%\n'")
    assert result.text == "ok\n 99%\n"
    assert "\x1b[32m" in "".join(run.output)


async def test_output_that_is_no_text_is_not_poured_into_the_context(run):
    result = await run("shell", command="head -c 300000 /dev/urandom")
    assert result.text.startswith("[its output is not text: ")
    assert len(result.text) < 200


async def test_a_long_output_is_kept_whole_and_can_be_read_and_searched(run):
    result = await run("shell", command="i=0; while [ $i -lt 9000 ]; do echo line $i; i=$((i+1)); done")
    id = result.text.split('path="')[1].partition('"')[0]
    assert (await run("read_file", path=id, first=5001, last=5002)).text.startswith("line 5000\nline 5001\n")
    assert (await run("search", path=id, pattern="line 4567$")).text.endswith(":4568:line 4567")
    assert run.plan("read_file", path=id).paths == []
    with pytest.raises(ToolError, match="no kept output"):
        await run("read_file", path="output:shell-99")
    with pytest.raises(ToolError, match="no kept output"):
        await run("read_file", path="output:../../etc/passwd")


async def test_many_small_writes_are_all_there(run):
    script = "import sys\nfor i in range(20000): sys.stdout.write('x'); sys.stdout.flush()"
    result = await run("shell", command=f'{sys.executable} -c "{script}"')
    assert result.text == "x" * 20000


async def test_a_huge_output_costs_bounded_memory_and_both_its_ends_arrive(run, monkeypatch):
    monkeypatch.setattr("hm_jupyter.agents.tools.shell.LONGEST", 100_000)
    result = await run("shell", command="echo first; yes 0123456789 | head -c 3000000; echo; echo last")
    assert result.text.startswith("first\n")
    assert result.text.endswith("last\n")
    assert "characters are not kept" in result.text or "left out here" in result.text
    assert len(result.text) < 30_000


async def test_two_commands_at_the_same_time_do_not_end_each_other(run, tmp_path):
    """A sub-agent's command runs on while the main agent's ends, and so does what it put in the background."""
    os.mkfifo(tmp_path / "fifo")
    slow = asyncio.ensure_future(
        run("shell", command="(setsid cat fifo > got &) ; echo begun; while [ ! -s got ]; do sleep 0.05; done; cat got")
    )
    while "begun\n" not in run.output:
        await asyncio.sleep(0.01)
    quick = await run("shell", command="echo quick; setsid sleep 60 & true")
    assert quick.text.startswith("quick\n")
    assert "was stopped" in quick.text
    with anyio.fail_after(10):
        await anyio.to_thread.run_sync((tmp_path / "fifo").write_text, "still here\n")
        assert (await slow).text == "begun\nstill here\n"


# ---- kept outputs, and room ----


def test_kept_outputs_of_a_saved_session_are_there_again_and_for_its_fork(tmp_path):
    id = Outputs.of(tmp_path / "s1.jsonl").keep("shell", "whole")
    assert Outputs.of(tmp_path / "s1.jsonl").text(id) == "whole"
    fork = Outputs.of(tmp_path / "s2.jsonl", "s1")
    assert fork.text(id) == "whole"
    assert fork.text(fork.keep("shell", "new")) == "new"
    assert fork.text(id) == "whole"
    assert Outputs.of(tmp_path / "s3.jsonl").text(id) is None
    assert os.stat(tmp_path / "s1.outputs").st_mode & 0o777 == 0o700


@pytest.mark.parametrize("named", [True, False])
def test_the_oldest_kept_outputs_make_room(tmp_path, monkeypatch, named):
    monkeypatch.setattr(outputs, "MOST_BYTES", 450)
    kept = Outputs(tmp_path / "o" if named else None)
    ids = [kept.keep("shell", str(n) * 100) for n in range(9)]
    assert len(set(ids)) == 9
    assert [kept.text(i) for i in ids[:4]] == [None] * 4
    assert [kept.text(i) for i in ids[-3:]] == [str(n) * 100 for n in (6, 7, 8)]


def test_outputs_of_a_session_that_is_not_saved_leave_no_file_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    kept = Outputs(None)
    assert kept.text(kept.keep("shell", "whole")) == "whole"
    assert list(tmp_path.iterdir()) == []


async def test_a_long_line_can_be_read_on_in_parts(run):
    result = await run("shell", command="head -c 100000 /dev/zero | tr '\\0' x; echo; echo end")
    id = result.text.split('path="')[1].partition('"')[0]
    assert (await run("read_file", path=id, first=20, last=21)).text.startswith("x" * 4000 + "\n" + "x" * 4000)


def test_what_cannot_be_kept_is_cut_all_the_same(tmp_path):
    (tmp_path / "file").write_text("")
    kept = Outputs(tmp_path / "file" / "below")
    assert kept.keep("shell", "x") == ""
    assert "characters are left out here" in shortened("x" * 99_999, lambda whole: kept.keep("shell", whole))


def test_results_of_a_turn_fill_at_most_a_part_of_the_context():
    for size in (0, 8_000, 200_000):
        room = Room(lambda size=size: size)
        results = [room.fit("word " * 40_000, lambda whole: "output:shell-1") for _ in range(40)]
        room_in_tokens = sum(map(len, results)) / 4
        assert room_in_tokens < (size * 0.75 if size > 8_000 else 130_000)
        assert len(results[-1]) < LEAST + 300
    assert Room().fit("short", lambda whole: "") == "short"


# ---- edits ----


async def test_every_occurrence_can_be_replaced(run, tmp_path):
    (tmp_path / "a").write_text("x y x")
    await run("edit_file", path="a", old="x", new="z", replace_all=True)
    assert (tmp_path / "a").read_text() == "z y z"
    with pytest.raises(ToolError, match="set replace_all"):
        await run("edit_file", path="a", old="z", new="w")
    with pytest.raises(ToolError, match="nothing would change"):
        await run("edit_file", path="a", old="z", new="z")


@pytest.mark.parametrize(
    ("old", "says"),
    [
        ("def f():\n  return 1", "indentation or other white space"),
        ("def f():   \n    return 1", "white space at the end of lines"),
    ],
)
async def test_an_edit_that_fits_but_for_white_space_is_shown_the_passage_as_it_is(run, tmp_path, old, says):
    (tmp_path / "a.py").write_text("x = 0\ndef f():\n    return 1\n")
    with pytest.raises(ToolError, match=says) as error:
        await run("edit_file", path="a.py", old=old, new="y")
    assert "It does at line 2 but for" in str(error.value)
    assert str(error.value).endswith("Take it from here:\ndef f():\n    return 1")


@pytest.mark.parametrize("path", ["new", "there"])
async def test_edits_that_make_each_other_grow_end_before_memory_does(run, tmp_path, path):
    (tmp_path / "there").write_text("a" * 1000)
    first = {"old": "", "new": "a" * 1000} if path == "new" else {"old": "a" * 1000, "new": "a" * 999}
    double = {"old": "a", "new": "aa", "replace_all": True}
    with pytest.raises(ToolError, match="in one call; change less at once"):
        await run("edit_file", path=path, edits=[first, *[double] * 60])
    assert not (tmp_path / "new").exists()
    assert (tmp_path / "there").read_text() == "a" * 1000


async def test_edits_of_many_files_are_bounded_together(run, tmp_path, monkeypatch):
    monkeypatch.setattr(edit_file, "MAX_SIZE", 1000)
    with pytest.raises(ToolError, match="in one call; change less at once"):
        await run("edit_file", edits=[{"path": f"f{n}", "new": "a" * 400} for n in range(3)])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("length", [1, 40, 199, 500])
def test_looking_for_a_line_like_the_passage_costs_bounded_effort_whatever_the_file(length):
    lines = [f"{n:04}".translate(str.maketrans("0123456789", "ababababab")) * length for n in range(5000)]
    first = "ab" * (length // 2) + "a"
    compared = edit_file._comparable(first, [f"{line[:length]}{n}" for n, line in enumerate(lines)])
    assert sum(len(first) * len(line) for line in compared) <= edit_file._EFFORT


async def test_a_line_like_the_passage_is_found_far_down_among_others(run, tmp_path):
    (tmp_path / "a.py").write_text("\n".join(f"x{n} = {n}" for n in range(4000)) + "\nprint('the total', total)\n")
    with pytest.raises(ToolError, match="The closest is line 4001"):
        await run("edit_file", path="a.py", old="print('the totals', total)", new="y")


# ---- the plan ----


async def test_a_plan_is_shown_as_it_changes(run):
    items = [{"content": "look", "status": "completed"}, {"content": "do", "status": "in_progress"}]
    result = await run("todo", items=items)
    assert result.text == "The plan is shown: 1 of 2 done."
    assert run.plans == [[{"text": "look", "status": "completed"}, {"text": "do", "status": "in_progress"}]]
    assert (await run("todo", items=[])).text == "The plan is taken down."


@pytest.mark.parametrize("items", [None, "x", ["x"], [{"content": ""}], [{"content": "x", "status": "odd"}], [{}] * 51])
def test_a_plan_that_cannot_be_one_is_refused(run, items):
    with pytest.raises(ToolError, match="items"):
        run.plan("todo", items=items)
