"""What a person does to the output while a turn waits in it: clears it, runs its cell again, restarts the kernel."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lab import GUARD, Lab, Notebook
from playwright.sync_api import Locator

pytestmark = pytest.mark.slow

Open = Callable[..., Notebook]


def waiting(open_notebook: Open, start: str) -> Notebook:
    """A notebook whose cell 1 waits for leave."""
    notebook = open_notebook([start, "%%hm\nmake the list", "print('next')"])
    assert "is ready" in notebook.run_to_end(0)
    notebook.run(1)
    frame(notebook).wait_for()
    return notebook


def frame(notebook: Notebook) -> Locator:
    return notebook.view(1).locator(".hm-frame").first


def allow(notebook: Notebook) -> None:
    frame(notebook).wait_for()
    notebook.page.wait_for_timeout(GUARD)
    frame(notebook).get_by_role("button", name="Allow once").click()


def test_a_view_whose_output_was_cleared_comes_back_while_its_turn_runs(
    open_notebook: Open, start: str, lab: Lab
) -> None:
    notebook = waiting(open_notebook, start)
    notebook.page.evaluate("() => window.jupyterapp.commands.execute('notebook:clear-cell-output')")
    notebook.view(1).wait_for(state="detached")
    allow(notebook)
    notebook.frozen(1).first.wait_for()
    assert (lab.root / "work" / "list.txt").exists()
    assert "next" in notebook.run_to_end(2)
    assert notebook.view(1).count() == 0


def test_a_cell_that_is_run_again_while_it_waits_shows_both_turns(open_notebook: Open, start: str) -> None:
    notebook = waiting(open_notebook, start)
    notebook.run(1)
    allow(notebook)
    notebook.until(lambda: notebook.frozen(1).count() == 1, "the first turn was never frozen")
    allow(notebook)
    notebook.wait_done(1)
    notebook.until(lambda: notebook.frozen(1).count() == 2, "the second turn was never frozen")
    assert notebook.view(1).count() == 0
    assert all("The list is made." in one for one in notebook.frozen(1).all_inner_texts())


def test_a_restarted_kernel_is_told_and_leaves_no_control(open_notebook: Open, start: str) -> None:
    notebook = waiting(open_notebook, start)
    notebook.page.evaluate("() => void window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    view = notebook.view(1)
    view.get_by_text("The kernel was restarted, and this session ended with it.").wait_for()
    assert "This was not decided." in frame(notebook).inner_text()
    assert view.get_by_role("button").count() == 0
    assert [box for box in view.get_by_role("textbox").all() if box.is_enabled()] == []
    notebook._settle(notebook.page)  # the new kernel is there: it can be ended with the test
