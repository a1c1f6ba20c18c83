"""The tools, run for real: what they do, and how they say what went wrong."""

from __future__ import annotations

import asyncio
import os
import sys
import time

import anyio
import pytest

from hm_jupyter.agents.tools import TOOLS
from hm_jupyter.agents.tools.base import Context, ToolError
from hm_jupyter.agents.tools.shell import MODEL_HEAD, MODEL_TAIL, environment
from hm_jupyter.agents.tools.workspace import Workspace

pytestmark = pytest.mark.anyio


@pytest.fixture
def run(tmp_path):
    """Plan and run a call in a workspace; ``run.output`` is what it streamed."""

    async def call(tool, /, **input):
        async def output(text):
            call.output.append(text)

        async def ask(*question):
            return None

        workspace = Workspace(tmp_path)
        plan = TOOLS[tool].plan(input, workspace)
        return await TOOLS[tool].run(plan, Context(workspace, output, ask))

    call.output = []
    return call


# ---- shell ----


async def test_a_command_s_output_is_streamed_and_returned_with_its_exit_code(run):
    result = await run("shell", command="echo out; echo err >&2; exit 3")
    assert result.text == "out\nerr\n[exit code 3]"
    assert (result.exit_code, result.is_error) == (3, True)
    assert "".join(run.output) == "out\nerr\n"


async def test_a_command_that_ends_by_a_signal_says_so(run):
    assert "[ended by signal 9]" in (await run("shell", command="kill -9 $$")).text


async def test_a_command_that_takes_too_long_is_ended_with_its_children(run, tmp_path):
    result = await run("shell", command="(sleep 50; touch late) & echo begun; sleep 50", timeout=1)
    assert result.is_error
    assert result.text.startswith("begun\n[stopped after 1 s")


async def test_output_is_streamed_before_the_command_ends(run, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    running = asyncio.ensure_future(run("shell", command="echo begun; cat fifo"))
    while not run.output:
        await asyncio.sleep(0.01)
    assert run.output == ["begun\n"]
    assert not running.done()
    (tmp_path / "fifo").write_text("over\n")
    assert (await running).text == "begun\nover\n"


async def test_long_output_is_cut_in_the_middle_for_the_model(run):
    result = await run("shell", command="i=0; while [ $i -lt 9000 ]; do echo line $i; i=$((i+1)); done")
    assert result.text.startswith("line 0\n")
    assert result.text.endswith("line 8999\n")
    assert "characters are left out here" in result.text
    assert len(result.text) < MODEL_HEAD + MODEL_TAIL + 100
    assert len("".join(run.output)) > len(result.text)


async def test_a_character_cut_by_a_read_is_put_together_and_bad_bytes_are_shown(run):
    result = await run("shell", command=r"printf '\303'; sleep 0.1; printf '\251 \377\n'")
    assert result.text == "é \ufffd\n"


async def test_python_is_the_agent_s_own(run):
    result = await run("shell", command='python -c "import sys; print(sys.version_info[:3])"')
    assert result.text == f"{sys.version_info[:3]}\n"
    assert environment()["PYTHONUNBUFFERED"] == "1"


async def test_a_command_gets_no_input(run):
    assert (await run("shell", command="cat; echo over")).text == "over\n"


# ---- read, list ----


async def test_a_part_of_a_file_can_be_read(run, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"1\r\n2\r\n3\n4")
    assert (await run("read_file", path="a.txt")).text == "1\r\n2\r\n3\n4"
    assert (await run("read_file", path="a.txt", first=2, last=3)).text == "2\r\n3\n"
    assert (await run("read_file", path="a.txt", first=9)).text == "[it has 4 lines]"


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("none.txt", "list_files"),
        (".", "folder"),
        ("binary", "not UTF-8"),
        ("a\0b", "NUL"),
        ("", "empty"),
        (7, "text"),
        ("pipe", "no regular file"),
        ("/dev/zero", "no regular file"),
        ("large", "20 MiB"),
        ("x" * 5000, "too long|no file"),
        ("\ud800", "surrogates"),
    ],
)
async def test_what_cannot_be_read_says_why(run, tmp_path, path, says):
    (tmp_path / "binary").write_bytes(b"\xff\x00")
    os.mkfifo(tmp_path / "pipe")
    with open(tmp_path / "large", "wb") as large:
        large.truncate(21 * 2**20)
    with pytest.raises(ToolError, match=says):
        await run("read_file", path=path)


async def test_files_are_listed_sorted_without_what_nobody_wants(run, tmp_path):
    for name in ("b.py", "a.txt", "src/c.py", ".git/config", "__pycache__/x.pyc"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert (await run("list_files")).text == "a.txt\nb.py\nsrc/c.py"
    assert (await run("list_files", pattern="*.py")).text == "b.py\nsrc/c.py"
    assert (await run("list_files", path="src")).text == "c.py"
    with pytest.raises(ToolError, match="no folder"):
        await run("list_files", path="none")


# ---- edit, write ----


async def test_an_edit_replaces_the_one_passage_and_keeps_the_rest(run, tmp_path):
    (tmp_path / "a.sh").write_bytes(b"one\r\ntwo\r\n")
    (tmp_path / "a.sh").chmod(0o755)
    result = await run("edit_file", path="a.sh", old="two\r\n", new="2\r\n")
    assert result.text == "Changed a.sh (2 lines)."
    assert (tmp_path / "a.sh").read_bytes() == b"one\r\n2\r\n"
    assert (tmp_path / "a.sh").stat().st_mode & 0o777 == 0o755
    assert [p.name for p in tmp_path.iterdir()] == ["a.sh"]


async def test_several_edits_of_one_file_build_on_each_other(run, tmp_path):
    (tmp_path / "a.txt").write_text("a b")
    edits = [{"path": "a.txt", "old": "a", "new": "c"}, {"path": "./a.txt", "old": "c b", "new": "d"}]
    result = await run("edit_file", edits=edits)
    assert (tmp_path / "a.txt").read_text() == "d"
    assert len(result.changes) == 1


async def test_a_path_beside_the_edits_is_that_of_those_which_name_none(run, tmp_path):
    """Models often give it once; the edits that name another file keep theirs, and with neither the fault is told."""
    (tmp_path / "a.txt").write_text("a b")
    edits = [{"old": "a", "new": "c"}, {"path": "other.txt", "old": "", "new": "o"}, {"old": "b", "new": "d"}]
    await run("edit_file", path="a.txt", edits=edits)
    assert [(tmp_path / n).read_text() for n in ("a.txt", "other.txt")] == ["c d", "o"]
    assert TOOLS["edit_file"].summary({"path": "a.txt", "edits": edits}) == "a.txt, other.txt"
    with pytest.raises(ToolError, match="'path' must be given"):
        await run("edit_file", edits=edits)


@pytest.mark.parametrize(
    ("old", "says"),
    [
        ("nothing like it", "Nothing is like it"),
        ("def add(a, b) :", "closest is line 2"),
        ("x = 1", "occurs 2 times in a.py \\(lines 1, 4\\)"),
        ("", "use write_file"),
    ],
)
async def test_an_edit_that_does_not_fit_says_what_to_try(run, tmp_path, old, says):
    (tmp_path / "a.py").write_text("x = 1\ndef add(a, b):\n    pass\nx = 1\n")
    with pytest.raises(ToolError, match=says):
        await run("edit_file", path="a.py", old=old, new="y")


async def test_an_edit_in_plain_line_breaks_fits_a_file_whose_lines_end_in_cr_lf(run, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"a\r\nb\r\n")
    await run("edit_file", path="a.txt", old="a\nb", new="y\nz\n")
    assert (tmp_path / "a.txt").read_bytes() == b"y\r\nz\r\n\r\n"


async def test_an_edit_of_a_file_with_both_kinds_of_line_ends_says_so(run, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"a\r\nb\n")
    with pytest.raises(ToolError, match="CR LF"):
        await run("edit_file", path="a.txt", old="a\nb", new="y")


async def test_an_edit_of_a_file_that_is_not_there_needs_an_empty_old_text(run, tmp_path):
    with pytest.raises(ToolError, match="no file"):
        await run("edit_file", path="a.txt", old="x", new="y")
    await run("edit_file", path="deep/er/a.txt", new="y")
    assert (tmp_path / "deep/er/a.txt").read_text() == "y"


async def test_a_file_that_cannot_be_written_fails_alone(run, tmp_path):
    (tmp_path / "file").write_text("")
    edits = [{"path": "file/x.txt", "new": "x"}, {"path": "ok.txt", "new": "y"}]
    with pytest.raises(ToolError, match="cannot be read"):
        await run("edit_file", edits=edits)
    assert not (tmp_path / "ok.txt").exists()


async def test_an_edit_outside_the_workspace_tells_nothing_of_the_file_before_it_was_allowed(run, tmp_path):
    (tmp_path.parent / "secret.txt").write_text("password = 12345\npassword = 67890\n")
    for old in ("passwort = 1234", "password", ""):
        with pytest.raises(ToolError) as error:
            await run("edit_file", path="../secret.txt", old=old, new="x")
        assert "read it first" in str(error.value)
        assert "12345" not in str(error.value)


async def test_text_that_is_not_unicode_is_not_written(run, tmp_path):
    result = await run("write_file", path="a.txt", content="\ud800")
    assert result.is_error
    assert "surrogate" in result.text
    assert not (tmp_path / "a.txt").exists()


async def test_a_link_in_the_workspace_is_written_through(run, tmp_path):
    (tmp_path / "real.txt").write_text("a")
    (tmp_path / "link.txt").symlink_to("real.txt")
    await run("write_file", path="link.txt", content="b")
    assert (tmp_path / "real.txt").read_text() == "b"
    assert (tmp_path / "link.txt").is_symlink()


def test_a_tool_nobody_knows_and_an_input_that_cannot_be_right_are_results_the_model_can_read(start):
    """HM-190"""
    script = """
[[prompt]]
match = ""
  [[prompt.step]]
    [[prompt.step.call]]
    tool = "teleport"
    where = "home"
    [[prompt.step.call]]
    tool = "shell"
    [[prompt.step.call]]
    tool = "ask_user"
    question = "x"
    choices = "y"
  [[prompt.step]]
  when = { ok = false }
  text = "none worked"
"""
    agent = start(script=script)
    events = agent.turn("x")
    results = [e for e in events if e["type"] == "tool_result"]
    assert [r["is_error"] for r in results] == [True, True, True]
    assert "the tools are shell" in results[0]["text"]
    assert "'command' must be given" in results[1]["text"]
    assert events[-2]["text"] == "none worked"
    assert "Traceback" not in agent.stderr


@pytest.mark.skipif(not os.access("/proc/kmsg", os.R_OK), reason="needs a file that calls itself regular and blocks")
async def test_a_file_that_only_says_it_is_regular_is_not_waited_for(run):
    with anyio.fail_after(5), pytest.raises(ToolError, match="waited for"):
        await run("read_file", path="/proc/kmsg")


async def test_a_file_that_says_it_is_empty_is_read(run):
    if not os.path.exists("/proc/self/status"):
        pytest.skip("no /proc")
    assert "Name:" in (await run("read_file", path="/proc/self/status")).text


async def test_a_file_that_became_a_pipe_meanwhile_is_not_waited_for(run, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    real = os.open

    def swapped(path, *args, **kwargs):
        if str(path).endswith("/file"):
            os.unlink(path)
            os.mkfifo(path)
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", swapped)
    with anyio.fail_after(5), pytest.raises(ToolError, match="no regular file"):
        await run("read_file", path="file")


async def test_listing_a_whole_disk_can_be_stopped(run):
    started = time.monotonic()
    with anyio.move_on_after(0.1):
        await run("list_files", path="/", pattern="nothing has this name")
    assert time.monotonic() - started < 5


async def test_a_hint_for_an_edit_of_very_long_lines_does_not_take_for_ever(run, tmp_path):
    line = "".join(chr(97 + i % 26) for i in range(100_000))
    (tmp_path / "minified.js").write_text(f"{line}\n{line[1:]}\n")
    started = time.monotonic()
    with pytest.raises(ToolError, match="does not occur"):
        await run("edit_file", path="minified.js", old=line[::2] + line[:50_000], new="")
    with pytest.raises(ToolError, match="does not occur"):
        await run("edit_file", path="minified.js", old="0" + line[:400], new="")
    assert time.monotonic() - started < 3


async def test_a_workspace_that_is_gone_is_an_error_the_model_can_read(run, tmp_path):
    tmp_path.rmdir()
    with pytest.raises(ToolError, match="workspace is gone"):
        await run("shell", command="ls")
