"""The other routes of a decision, in a real JupyterLab whose server lacks our extension."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from lab import GUARD, Lab, Notebook

pytestmark = pytest.mark.slow

Open = Callable[..., Notebook]
KERNELS = "@jupyterlab/apputils-extension/kernels-settings"


def made(lab: Lab) -> bool:
    return (lab.root / "work" / "list.txt").exists()


def test_a_click_travels_by_the_comm_on_a_subshell(opener: Open, lab_without_extension: Lab, start: str) -> None:
    """As JupyterLab does by default with ipykernel 7: the cell still runs, the click is heard."""
    lab = lab_without_extension
    notebook = opener(lab, [start, "%%hm\nmake the list"])
    notebook.run_to_end(0)
    notebook.run(1)
    allow = notebook.view(1).locator(".hm-frame").get_by_role("button", name="Allow once")
    allow.wait_for()
    notebook.page.wait_for_timeout(GUARD)
    assert notebook.prompt(1) == "[*]:"
    allow.click()
    notebook.wait_done(1)
    assert "The list is made." in notebook.frozen(1).first.inner_text()
    assert made(lab)


@pytest.fixture
def deaf_lab(lab_without_extension: Lab) -> Iterator[Lab]:
    """No extension and no subshells: no click is heard before the cell is over."""
    lab_without_extension.set(KERNELS, {"commsOverSubshells": "disabled"})
    yield lab_without_extension
    lab_without_extension.set(KERNELS, {})


def test_where_no_click_is_heard_the_cell_asks_with_input(opener: Open, deaf_lab: Lab, start: str) -> None:
    notebook = opener(deaf_lab, [start, "%%hm\nmake the list"])
    notebook.run_to_end(0)
    notebook.run(1)
    box = notebook.cell(1).locator(".jp-Stdin-input")
    box.wait_for(timeout=30_000)
    text = notebook.output(1).inner_text()
    assert "$ printf 'one\\ntwo\\n' > list.txt && cat list.txt" in text
    allow = notebook.view(1).locator(".hm-frame").get_by_role("button", name="Allow").first
    assert allow.is_disabled() or "after the cell" in allow.inner_text(), "the view says that its click would be late"
    assert not made(deaf_lab)
    box.fill("y")
    box.press("Enter")
    notebook.wait_done(1)
    assert "The list is made." in notebook.frozen(1).first.inner_text()
    assert made(deaf_lab)


def test_a_decision_by_another_route_takes_the_input_line_back(opener: Open, deaf_lab: Lab, start: str) -> None:
    decide = (
        "import threading, hm_jupyter\n"
        "def later():\n"
        "    import time\n"
        "    while not hm_jupyter.current.pending: time.sleep(0.1)\n"
        "    time.sleep(9); hm_jupyter.current.approve()\n"
        "threading.Thread(target=later).start()"
    )
    notebook = opener(deaf_lab, [start, decide, "%%hm\nmake the list", "print('the next cell')"])
    notebook.run_to_end(0)
    notebook.run_to_end(1)
    notebook.run(2)
    notebook.cell(2).locator(".jp-Stdin-input").wait_for(timeout=30_000)
    notebook.wait_done(2)
    assert made(deaf_lab)
    assert "The list is made." in notebook.frozen(2).first.inner_text()
    assert not notebook.cell(2).locator(".jp-Stdin-input").is_visible(), "the box is gone with the question"
    assert "the next cell" in notebook.run_to_end(3), "and JupyterLab does not take it for still waiting"
