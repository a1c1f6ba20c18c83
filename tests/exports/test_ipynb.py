"""A session as a notebook: valid, readable, its code cells what the agent ran, and nothing in it that acts."""

from __future__ import annotations

import json
from typing import Any

import nbformat
import pytest

from hm_jupyter.exports import render
from hm_jupyter.transcript import Decision, MessageEntry, Put, Rope, Transcript, TurnEntry, UserEntry

from .story import everything, offers, png, tool


def told(*entries: Any) -> Transcript:
    transcript = Transcript()
    for entry in (TurnEntry("t1", 1, "finished"), UserEntry("u1", 1, "do it"), *entries):
        transcript.apply(Put(entry))
    return transcript


def cells(transcript: Transcript) -> list[Any]:
    return list(nbformat.reads(render(transcript, "ipynb"), as_version=4).cells)


@pytest.mark.parametrize("story", [everything, offers])
def test_it_is_a_valid_notebook(story: Any) -> None:
    written = render(story(), "ipynb", "The join")
    notebook = nbformat.reads(written, as_version=4)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)
    assert notebook.cells[0].source.startswith("# The join")


def test_prompts_and_answers_are_markdown_and_commands_code_cells_with_their_output() -> None:
    made = cells(
        told(
            tool("x1", 1, "shell", input={"command": "ls -l\nls | wc"}, output="\x1b[32m3\x1b[0m files\n", exit_code=0),
            MessageEntry("m1", 1, Rope("There are **three**."), False),
        )
    )
    assert [c.cell_type for c in made] == ["markdown", "markdown", "code", "markdown"]
    assert "> do it" in made[1].source
    assert made[2].source == "%%bash\nls -l\nls | wc"
    assert made[2].outputs == [{"output_type": "stream", "name": "stdout", "text": "3 files\n"}]
    assert made[2].execution_count is None
    assert made[3].source == "There are **three**."


def test_python_it_ran_is_a_code_cell_and_pictures_are_its_outputs() -> None:
    made = cells(told(tool("p1", 1, "other", name="python", input={"code": "plot(x)"}, images=[png()])))
    assert made[-1].source == "plot(x)"
    (shown,) = made[-1].outputs
    assert set(shown.data) == {"image/png", "text/plain"}


def test_what_failed_says_how() -> None:
    made = cells(told(tool("x1", 1, "shell", input={"command": "false"}, status="failed", exit_code=1)))
    assert made[-1].outputs == [{"output_type": "stream", "name": "stderr", "text": "exit 1\n"}]


@pytest.mark.parametrize(
    "given",
    [
        {"status": "denied", "decision": Decision("denied", "you")},
        {"status": "skipped"},
        {"status": "pending"},
        {"status": "completed", "decision": Decision("withdrawn")},
    ],
)
def test_what_did_not_run_is_no_code_cell(given: dict[str, Any]) -> None:
    made = cells(told(tool("x1", 1, "shell", input={"command": "rm -rf build"}, **given)))
    assert [c.cell_type for c in made if "rm -rf build" in c.source] == ["markdown"]


def test_a_command_that_is_not_what_it_looks_like_is_shown_and_cannot_be_run() -> None:
    made = cells(told(tool("x1", 1, "shell", input={"command": "echo \u202eoops"})))
    assert [c.cell_type for c in made] == ["markdown", "markdown"]
    assert "U+202E" in made[-1].source


def test_changes_are_shown_as_a_diff() -> None:
    text = "\n".join(c.source for c in cells(everything()) if c.cell_type == "markdown")
    assert "```diff" in text


def test_outputs_are_text_and_pictures_whatever_the_agent_says_they_are() -> None:
    hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    picture = png()
    picture.mime = "text/html"
    made = cells(
        told(
            tool("x1", 1, "shell", input={"command": "cat x"}, output=hostile, images=[picture]),
            MessageEntry("m1", 1, Rope(hostile + " [x](javascript:alert(1))"), False),
        )
    )
    kinds = {k for c in made for o in c.get("outputs", ()) for k in o.get("data", ())}
    assert kinds == {"image/png", "text/plain"}
    markdown = "\n".join(c.source for c in made if c.cell_type == "markdown")
    assert "<script" not in markdown
    assert "<img" not in markdown
    assert "(javascript:" not in markdown


def test_the_file_says_what_was_taken_out() -> None:
    from hm_jupyter.redact import Redactor

    secret = "correct-horse-7"
    written = render(
        told(MessageEntry("m1", 1, Rope(f"it is {secret}"), False)), "ipynb", "", Redactor([("password", secret)])
    )
    assert secret not in written
    assert json.loads(written)["metadata"]["hm_jupyter"]["redacted"] == ["1 password"]
    assert "Taken out as secret: 1 password." in written
