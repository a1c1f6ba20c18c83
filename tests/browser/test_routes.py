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


CUT = r"""() => {
  const Real = window.WebSocket, control = url => String(url).includes("/hm_jupyter/control/");
  const open = [];
  let dead = false;
  window.WebSocket = class extends Real {
    constructor(url, ...rest) {
      super(dead && control(url) ? "ws://127.0.0.1:9/" : url, ...rest);
      if (control(url)) open.push(this);
    }
  };
  window.cut = () => { dead = true; for (const socket of open) socket.close(); };
}"""
DECIDED = "import hm_jupyter as hm\nprint([type(e).__name__ for e in hm.last.events if 'Decision' in type(e).__name__ or 'Resolved' in type(e).__name__])"


def cuttable(opener: Open, lab: Lab, start: str) -> Notebook:
    """A notebook whose cell 1 waits, its control channel alive until ``cut()`` is called in the page."""
    notebook = opener(lab, [start, "%%hm\nmake the list", DECIDED])
    notebook.page.evaluate(CUT)
    notebook.run_to_end(0)
    notebook.run(1)
    notebook.waiting_frame(1)
    notebook.until(lambda: "live" in notebook.view(1).inner_text(), "the control channel never answered")
    return notebook


@pytest.mark.parametrize("first", ["cut", "click"])
def test_a_control_channel_that_is_cut_loses_no_click_and_repeats_none(
    opener: Open, lab: Lab, start: str, first: str
) -> None:
    notebook = cuttable(opener, lab, start)
    allow = notebook.view(1).locator(".hm-frame").get_by_role("button", name="Allow once")
    allow.evaluate("el => { window.cut(); el.click(); }" if first == "cut" else "el => { el.click(); window.cut(); }")
    notebook.wait_done(1)
    assert "The list is made." in notebook.frozen(1).first.inner_text()
    assert notebook.run_to_end(2).strip() == "['DecisionSent', 'ApprovalResolved']"


def test_where_only_the_control_channel_was_heard_its_end_is_told_and_the_cell_asks(
    opener: Open, lab: Lab, start: str
) -> None:
    lab.set(KERNELS, {"commsOverSubshells": "disabled"})
    try:
        notebook = cuttable(opener, lab, start)
        notebook.page.evaluate("() => window.cut()")
        box = notebook.cell(1).locator(".jp-Stdin-input")
        box.wait_for(timeout=30_000)
        allow = notebook.view(1).locator(".hm-frame").get_by_role("button", name="Allow").first
        assert allow.is_disabled() or "after the cell" in allow.inner_text()
        box.fill("y")
        box.press("Enter")
        notebook.wait_done(1)
        assert notebook.run_to_end(2).strip() == "['DecisionSent', 'ApprovalResolved']"
    finally:
        lab.set(KERNELS, {})
