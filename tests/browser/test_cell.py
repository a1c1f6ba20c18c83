"""A turn in a real JupyterLab: the cell waits, a person decides in the page, the cell ends and is frozen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from lab import GUARD, Lab, Notebook
from playwright.sync_api import Locator

pytestmark = pytest.mark.slow

Open = Callable[..., Notebook]


def started(open_notebook: Open, start: str, *cells: str, **options: Any) -> Notebook:
    """A notebook whose first cell has started the agent."""
    notebook = open_notebook([start, *cells], **options)
    assert "is ready" in notebook.run_to_end(0)
    return notebook


def button(frame: Locator, text: str) -> Locator:
    return frame.get_by_role("button", name=text)


def work(lab: Lab, name: str) -> str | None:
    path = lab.root / "work" / name
    return path.read_text() if path.exists() else None


def assert_frozen(notebook: Notebook, i: int) -> str:
    """Cell ``i`` holds the static transcript and no widget; its text."""
    notebook.wait_done(i)
    notebook.frozen(i).first.wait_for()
    assert notebook.view(i).count() == 0
    return notebook.frozen(i).first.inner_text()


def test_a_click_on_allow_runs_the_tool_and_the_cell_ends_frozen(open_notebook: Open, start: str, lab: Lab) -> None:
    notebook = started(open_notebook, start, "%%hm\nmake the list")
    notebook.run(1)
    frame = notebook.waiting_frame(1)
    assert "printf 'one\\ntwo\\n' > list.txt && cat list.txt" in frame.inner_text()
    assert work(lab, "list.txt") is None, "nothing runs before it is allowed"
    button(frame, "Allow once").click()
    text = assert_frozen(notebook, 1)
    assert work(lab, "list.txt") == "one\ntwo\n"
    assert "The list is made." in text
    saved = notebook.save()
    kinds = {k for cell in saved.cells for o in cell.get("outputs", []) for k in o.get("data", {})}
    assert "text/html" in kinds
    assert not any("widget" in k for k in kinds)
    assert "widgets" not in saved.metadata
    assert notebook.foreign_requests() == []
    assert [e for e in notebook.errors if "hm" in e.lower()] == []


def test_a_denial_reaches_the_agent_with_its_note(open_notebook: Open, start: str, lab: Lab) -> None:
    notebook = started(open_notebook, start, "%%hm\nmake the list")
    notebook.run(1)
    frame = notebook.waiting_frame(1)
    frame.get_by_label("Note to agent").fill("not in this folder")
    button(frame, "Deny with note").click()
    text = assert_frozen(notebook, 1)
    assert "You said: not in this folder" in text
    assert work(lab, "list.txt") is None


def test_of_two_files_only_the_ticked_one_is_changed(open_notebook: Open, start: str, lab: Lab) -> None:
    notebook = started(open_notebook, start, "%%hm\nchange both")
    notebook.run(1)
    frame = notebook.waiting_frame(1)
    frame.locator("input[type=checkbox]").nth(1).uncheck()
    button(frame, "Allow 1 of 2 files").click()
    assert_frozen(notebook, 1)
    assert work(lab, "a.txt") == "first\nnew\nlast\n"
    assert work(lab, "b.txt") == "old\n"


def test_a_question_is_answered_in_the_page(open_notebook: Open, start: str) -> None:
    notebook = started(open_notebook, start, "%%hm\nask me")
    notebook.run(1)
    frame = notebook.waiting_frame(1)
    frame.get_by_label("postgres").check()
    button(frame, "Answer").click()
    assert "So postgres it is." in assert_frozen(notebook, 1)


def test_a_steer_reaches_the_running_turn(open_notebook: Open, start: str, lab: Lab) -> None:
    notebook = started(open_notebook, start, "%%hm --approve all\nwork on")
    notebook.run(1)
    view = notebook.view(1)
    view.get_by_text("sleep 0.1").first.wait_for()
    view.get_by_label("Message to the agent").fill("use a log axis")
    button(view, "Steer").click()
    view.locator(".hm-log").get_by_text("use a log axis").first.wait_for()
    (lab.root / "work" / "go").touch()
    text = assert_frozen(notebook, 1)
    assert "use a log axis" in text
    assert "With a log axis, as you said." in text


def test_stop_in_the_page_ends_the_turn_and_the_session_goes_on(open_notebook: Open, start: str) -> None:
    notebook = started(open_notebook, start, "%%hm\ntalk on", "%%hm\nask me")
    notebook.run(1)
    view = notebook.view(1)
    view.get_by_text("I talk.").first.wait_for()
    button(view, "Stop").click()
    text = assert_frozen(notebook, 1)
    assert "stopped" in text.lower()
    notebook.run(2)
    frame = notebook.waiting_frame(2)
    frame.get_by_label("sqlite").check()
    button(frame, "Answer").click()
    assert "So sqlite it is." in assert_frozen(notebook, 2)


def test_the_interrupt_button_ends_the_turn_and_the_session_goes_on(open_notebook: Open, start: str) -> None:
    notebook = started(open_notebook, start, "%%hm\ntalk on", "import hm_jupyter; hm_jupyter.current.closed")
    notebook.run(1)
    notebook.view(1).get_by_text("I talk.").first.wait_for()
    notebook.interrupt()
    assert "stopped" in assert_frozen(notebook, 1).lower()
    assert "False" in notebook.run_to_end(2)


def test_two_views_of_a_session_agree_and_a_reload_brings_everything_back(
    open_notebook: Open, start: str, lab: Lab
) -> None:
    notebook = started(
        open_notebook, start, "%%hm --background\nmake the list",
        "from IPython.display import display\nfrom hm_jupyter.notebook.widget import live_view\n"
        "import hm_jupyter\nw = live_view(hm_jupyter.current); display(w.bundle(), raw=True)",
    )  # fmt: skip
    notebook.run_to_end(1)
    notebook.run_to_end(2)
    for i in (1, 2):
        button(notebook.view(i).locator(".hm-frame"), "Allow once").wait_for()
    notebook.save()
    notebook.reload()
    for i in (1, 2):
        button(notebook.view(i).locator(".hm-frame"), "Allow once").wait_for()
        assert "list.txt" in notebook.view(i).inner_text()
    notebook.page.wait_for_timeout(GUARD)
    button(notebook.view(2).locator(".hm-frame"), "Allow once").click()
    notebook.view(2).get_by_text("is made").first.wait_for()
    notebook.view(1).wait_for(state="detached")
    assert "The list is made." in notebook.frozen(1).first.inner_text()
    assert work(lab, "list.txt") == "one\ntwo\n"
    (shown,) = notebook.save().cells[1].outputs
    assert "is made" in shown.data["text/html"]
    assert not any("widget" in kind for kind in shown.data)


def test_nothing_an_agent_says_moves_the_focus(open_notebook: Open, start: str) -> None:
    notebook = started(open_notebook, start, "%%hm --background\nmake the list", "x = 1")
    notebook.run(1)
    notebook.cell(2).locator(".cm-content").click()
    button(notebook.view(1).locator(".hm-frame"), "Allow once").wait_for()
    notebook.page.keyboard.type("y")
    assert "y" in notebook.cell(2).locator(".cm-content").inner_text()
    assert notebook.view(1).locator(".hm-frame").count() == 1


def test_no_key_pressed_in_the_view_reaches_jupyterlab(open_notebook: Open, start: str) -> None:
    """In command mode ``D, D`` deletes the cell, ``0, 0`` asks to restart the kernel, Shift Enter runs the cell."""
    notebook = started(open_notebook, start, "%%hm\nmake the list", "x = 1")
    notebook.run(1)
    frame = notebook.waiting_frame(1)
    view, keys = notebook.view(1), notebook.page.keyboard
    cells = notebook.page.locator(".jp-Notebook .jp-Cell")
    composer = view.get_by_label("Message to the agent")
    for place in (frame, frame.get_by_label("Note to agent"), composer):
        place.focus()
        for key in ("d", "d", "b", "a", "x", "0", "0", "Shift+Enter", "Control+Enter", "ArrowDown"):
            keys.press(key)
        assert place.evaluate("e => e === document.activeElement"), "the focus stays where it was"
        assert cells.count() == 3
        assert notebook.page.locator(".jp-Dialog").count() == 0
        assert notebook.prompt(1) == "[*]:"
        assert frame.is_visible()
    assert composer.input_value().startswith("ddbax00")
