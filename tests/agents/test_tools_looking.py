"""Looking around: list_files, glob, search and read_file on real folders, repositories and hostile patterns."""

from __future__ import annotations

import base64
import io
import os
import shutil
import subprocess
import time

import pytest
from tool_runs import Runs

from hm_jupyter.agents.tools import helper, search
from hm_jupyter.agents.tools.base import ToolError
from hm_jupyter.agents.tools.read_file import LIMIT
from hm_jupyter.agents.tools.wildcards import Wildcards

pytestmark = pytest.mark.anyio

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def run(tmp_path):
    return Runs(tmp_path)


@pytest.fixture
def write(tmp_path):
    def files(**texts: str) -> None:
        for name, text in texts.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return lambda texts: files(**texts)


def repository(path) -> None:
    subprocess.run(["git", "init", "-q", str(path)], check=True)


# ---- glob, list_files ----


@pytest.mark.parametrize(
    ("pattern", "fits", "does_not"),
    [
        ("*.py", ["a.py", "x/y/a.py"], ["a.pyc"]),
        ("src/*.py", ["src/a.py"], ["src/x/a.py", "a.py"]),
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"], ["lib/a.py"]),
        ("**/test_*.{py,js}", ["test_a.py", "x/test_a.js"], ["x/test_a.ts"]),
        ("**", ["a", "x/y"], []),
        ("src/**", ["src/a", "src/x/y"], ["lib/a"]),
        ("[ab]?.txt", ["a1.txt"], ["c1.txt", "a.txt"]),
        ("./a/b", ["a/b"], ["b"]),
    ],
)
def test_a_pattern_fits_what_one_expects(pattern, fits, does_not):
    wildcards = Wildcards(pattern)
    assert [n for n in fits if not wildcards.match(n)] == []
    assert [n for n in does_not if wildcards.match(n)] == []


def test_no_pattern_takes_for_ever():
    started = time.monotonic()
    assert not Wildcards("*a" * 100 + "b").match("a" * 250)
    assert not Wildcards("**/a/" * 150 + "b").match("a/" * 1500 + "c")
    assert time.monotonic() - started < 2


async def test_a_pattern_that_stands_for_too_many_is_refused(run):
    with pytest.raises(ToolError, match="fewer braces"):
        await run("glob", pattern="{a,b}" * 20)
    with pytest.raises(ToolError, match="pattern"):
        await run("glob")


@needs_git
async def test_what_git_ignores_is_left_out_unless_asked_for(run, write, tmp_path):
    repository(tmp_path)
    write({".gitignore": "out/\n*.log\n", "a.py": "", "b.log": "", "out/c.py": "", "src/d.py": ""})
    assert (await run("glob", pattern="*.py")).text == "a.py\nsrc/d.py"
    assert (await run("list_files")).text == ".gitignore\na.py\nsrc/d.py"
    assert (await run("list_files", ignored=True, pattern="*.log")).text == "b.log"


@needs_git
async def test_a_repository_s_settings_run_nothing(run, write, tmp_path):
    repository(tmp_path)
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    subprocess.run(["git", "-C", str(tmp_path), "config", "core.fsmonitor", str(hook)], check=True)
    write({"a.py": "x"})
    assert "a.py" in (await run("list_files")).text
    assert "a.py:1:x" in (await run("search", pattern="x", glob="*.py")).text
    assert not (tmp_path / "ran").exists()


async def test_a_long_list_is_cut_and_says_how_many_there_are(run, tmp_path):
    for number in range(520):
        (tmp_path / f"{number:03d}").touch()
    assert (await run("list_files")).text.endswith("499\n[20 more: give a folder or a pattern]")


# ---- search ----


@pytest.fixture(params=["ours", "rg"])
def searcher(request, monkeypatch):
    """Both ways to search, where both are there."""
    real = shutil.which
    if request.param == "rg" and real("rg") is None:
        pytest.skip("needs ripgrep")
    if request.param == "ours":
        monkeypatch.setattr(search.shutil, "which", lambda name: None if name == "rg" else real(name))


@pytest.mark.usefixtures("searcher")
class TestSearch:
    async def test_hits_come_with_file_and_line(self, run, write):
        write({"a.py": "one\ndef two():\n", "src/b.py": "DEF two\n", "c.txt": "def two\r\n"})
        assert (await run("search", pattern="def +two")).text == "a.py:2:def two():\nc.txt:1:def two"
        assert (await run("search", pattern="def two", glob="*.py", ignore_case=True)).text.splitlines() == [
            "a.py:2:def two():",
            "src/b.py:1:DEF two",
        ]
        assert (await run("search", pattern="two", path="src")).text == "src/b.py:1:DEF two"
        assert (await run("search", pattern="two", path="c.txt")).text == "c.txt:1:def two"
        assert (await run("search", pattern="three")).text == "nothing found"

    async def test_plain_text_is_found_as_it_stands(self, run, write):
        write({"a": "x = f(1)\nx = f[1]\n"})
        assert (await run("search", pattern="f(1)", literal=True)).text == "a:1:x = f(1)"
        with pytest.raises(ToolError, match="set literal"):
            await run("search", pattern="f(1")

    async def test_lines_around_a_hit_are_shown_where_wanted(self, run, write):
        write({"a": "1\n2\n3\nhit\n5\n6\n7\n"})
        assert (await run("search", pattern="hit", context=1)).text == "a-3-3\na:4:hit\na-5-5"

    async def test_long_lines_and_many_hits_are_cut_and_said_so(self, run, write):
        write({"a": "x" * 5000 + "\n", **{f"b{n}": "x\n" * 90 for n in range(6)}})
        text = (await run("search", pattern="x")).text
        assert "a:1:" + "x" * 300 + " [… 4700 more characters]" in text
        assert text.endswith("[only the first 300 lines are shown: be more specific]")

    async def test_binary_files_credentials_and_links_are_left_out(self, run, write, tmp_path):
        write({"a.txt": "token\n", ".env": "token=1\n", "deploy.pem": "token\n"})
        (tmp_path / "blob").write_bytes(b"\0token\n")
        (tmp_path / "link").symlink_to("/etc/passwd")
        text = (await run("search", pattern="token|root")).text
        assert text.splitlines()[0] == "a.txt:1:token"
        assert "left out: they hold credentials" in text
        assert "token=1" not in text
        assert "root:" not in text

    async def test_a_name_with_odd_characters_is_no_trap(self, run, write):
        write({"-e x": "hit\n", "a:1:b": "hit\n"})
        assert sorted((await run("search", pattern="hit")).text.splitlines()) == ["-e x:1:hit", "a:1:b:1:hit"]
        assert (await run("search", pattern="--files")).text == "nothing found"


async def test_an_expression_that_takes_for_ever_is_stopped_and_the_agent_goes_on(run, write, monkeypatch):
    monkeypatch.setattr(search, "SECONDS", 1.0)
    write({"a": "a" * 60 + "!\n"})
    started = time.monotonic()
    text = (await run("search", pattern="(a+)+$", path="a")).text
    assert time.monotonic() - started < 5
    assert "takes for ever" in text


async def test_a_pipe_among_the_files_is_not_waited_for(run, write, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    write({"a": "hit\n"})
    assert (await run("search", pattern="hit", glob="*")).text == "a:1:hit"


async def test_more_files_than_a_command_line_holds_are_all_searched(run, tmp_path, monkeypatch):
    monkeypatch.setattr(search, "_BATCH", 500)
    monkeypatch.setattr(search.shutil, "which", lambda name: None)
    for number in range(100):
        (tmp_path / f"a-file-with-a-long-name-{number}").write_text(f"hit {number}\n")
    assert len((await run("search", pattern="hit")).text.splitlines()) == 100


def test_search_outside_the_workspace_is_planned_as_such(run):
    assert [str(p) for p in run.plan("search", pattern="x", path="/etc").outside] == ["/etc"]
    assert run.plan("search", pattern="x").outside == []


async def test_a_helper_that_writes_without_end_is_stopped(tmp_path):
    output = await helper.ask(["yes"], str(tmp_path), seconds=10, characters=1000)
    assert (len(output.text), output.cut) == (1000, True)


# ---- read_file ----


async def test_a_long_file_comes_in_whole_lines_and_says_how_to_read_on(run, write):
    write({"a": "".join(f"line {n}\n" for n in range(1, 10_001))})
    first = (await run("read_file", path="a")).text
    assert len(first) < LIMIT + 200
    at = int(first.rpartition("first=")[2].rstrip("]"))
    assert first.splitlines()[-2] == f"line {at - 1}"
    assert (await run("read_file", path="a", first=at, last=at)).text == f"line {at}\n"
    with pytest.raises(ToolError, match="comes before"):
        await run("read_file", path="a", first=3, last=2)


async def test_a_line_that_is_too_long_is_cut_and_the_next_can_be_read(run, write):
    write({"a": "x" * 70_000 + "\nnext\n"})
    text = (await run("read_file", path="a")).text
    assert "[line 1 is cut here: it has 70000 characters" in text
    assert text.endswith("read on with first=2]")
    assert (await run("read_file", path="a", first=2)).text == "next\n"


async def test_a_byte_order_mark_is_not_shown_and_stays_in_the_file(run, tmp_path):
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfone\n")
    assert (await run("read_file", path="a")).text == "one\n"
    await run("edit_file", path="a", old="one", new="two")
    assert (tmp_path / "a").read_bytes() == b"\xef\xbb\xbftwo\n"


async def test_a_picture_is_read_as_one_and_other_binary_files_say_what_they_are(run, tmp_path):
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (30, 20)).save(out, "PNG")
    (tmp_path / "a.png").write_bytes(out.getvalue())
    (tmp_path / "b.png").write_bytes(b"\x89PNG\r\n\x1a\nbroken")
    (tmp_path / "c").write_bytes("é".encode("utf-16"))
    result = await run("read_file", path="a.png")
    assert result.text == "[a.png: a picture, image/png, 30 × 20]"
    assert base64.b64decode(result.images[0].data) == out.getvalue()
    with pytest.raises(ToolError, match="cannot be read as one"):
        await run("read_file", path="b.png")
    with pytest.raises(ToolError, match="not UTF-8 text but UTF-16 text"):
        await run("read_file", path="c")
