"""A person without a pointer: every decision and message by keys alone, in a real JupyterLab."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lab import Lab, Notebook
from playwright.sync_api import Locator

pytestmark = pytest.mark.slow

Open = Callable[..., Notebook]
FOCUSED = """() => {
    const e = document.activeElement, name = e.getAttribute("aria-label") ?? e.labels?.[0]?.textContent ?? e.textContent;
    return `${e.tagName} ${name}`.trim();
}"""


def focused(notebook: Notebook) -> str:
    return str(notebook.page.evaluate(FOCUSED))


def disk(lab: Lab) -> list[str]:
    return [(lab.root / "work" / name).read_text() for name in ("a.txt", "b.txt")]


def assert_laid_out_by_us(facts: Locator) -> None:
    """JupyterLab's own rules for ``dl`` and ``dt`` in an output are stronger than one class."""
    assert facts.evaluate("e => getComputedStyle(e).display") == "grid"
    assert facts.locator("dt").first.evaluate("e => getComputedStyle(e).float") == "none"
    left = [box["x"] for dd in facts.locator("dd").all() if (box := dd.bounding_box())]
    assert len(set(left)) == 1, "one column"


def has_focus(place: Locator) -> bool:
    return bool(place.evaluate("e => e === document.activeElement"))


def test_by_keys_alone(open_notebook: Open, start: str, lab: Lab) -> None:
    notebook = open_notebook([start, "%%hm\nchange both", "%%hm\nask me", "%%hm --approve all\nwork on"])
    notebook.run_to_end(0)
    keys = notebook.page.keyboard

    # an edit: one file not ticked, the other's text changed, then allowed
    notebook.run(1)
    frame = notebook.waiting_frame(1)
    assert frame.get_attribute("role") == "group"
    assert_laid_out_by_us(frame.locator("dl.hm-facts").first)
    notebook.view(1).focus()  # where Tab from the cell arrives
    keys.press("Alt+ArrowDown")
    assert has_focus(frame)
    order = []
    for _ in range(9):
        keys.press("Tab")
        order.append(focused(notebook))
    assert [o.split(maxsplit=1)[1] for o in order] == [
        "Include a.txt", "Edit", "Include b.txt", "Edit", "Note to agent", "Allow onceY", "Allow edits for sessionS", "DenyN",
        order[-1].split(maxsplit=1)[1],
    ]  # fmt: skip
    frame.get_by_label("Include b.txt").focus()
    keys.press("Space")
    assert not frame.get_by_label("Include b.txt").is_checked()
    frame.get_by_label("Include a.txt").focus()
    keys.press("e")
    area = frame.locator("textarea.hm-edit")
    assert has_focus(area)
    keys.press("Control+End")
    keys.press("Enter")
    keys.type("mine")
    keys.press("Control+Enter")
    assert area.count() == 0
    assert frame.get_by_text("edited by you").is_visible()
    frame.focus()
    keys.press("Enter")
    assert frame.is_visible(), "Enter decides nothing"
    assert disk(lab) == ["first\nold\nlast\n", "old\n"]
    keys.press("y")
    notebook.wait_done(1)
    assert disk(lab) == ["first\nnew\nlast\nmine\n", "old\n"]

    # a question: a number chooses, Ctrl Enter answers
    notebook.run(2)
    frame = notebook.waiting_frame(2)
    frame.focus()
    keys.press("2")
    keys.press("Control+Enter")
    notebook.wait_done(2)
    assert "So postgres it is." in notebook.frozen(2).first.inner_text()

    # the composer: Shift Enter is a new line, Enter steers, Alt Enter queues; Shift Esc stops
    notebook.run(3)
    view = notebook.view(3)
    view.get_by_text("sleep 0.1").first.wait_for()
    box = view.get_by_label("Message to the agent")
    box.focus()
    keys.type("use a log axis")
    keys.press("Shift+Enter")
    keys.type("and red")
    assert box.input_value() == "use a log axis\nand red"
    keys.press("Control+z")
    assert "and red" not in box.input_value(), "undoing is the field's, not the notebook's"
    keys.press("Control+Shift+z")
    keys.press("Enter")
    view.locator(".hm-log").get_by_text("use a log axis").first.wait_for()
    keys.type("then a plot")
    keys.press("Alt+Enter")
    view.locator(".hm-queue").get_by_text("then a plot").wait_for()
    assert box.input_value() == ""
    keys.press("Shift+Escape")
    notebook.wait_done(3)
    assert "You stopped this turn." in notebook.frozen(3).first.inner_text()
