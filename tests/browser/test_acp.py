"""Agents of ACP in a real JupyterLab: their own options, a denial with a note, a form, a setting, a slash command."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lab import Notebook

pytestmark = pytest.mark.slow

AGENT = [sys.executable, str(Path(__file__).resolve().parent.parent / "helpers" / "acp_agent.py")]


@pytest.mark.parametrize("version", ["--v1", "--v2"])
def test_what_an_agent_offers_is_offered_and_decided_in_the_widget(
    open_notebook: Callable[..., Notebook], version: str
) -> None:
    notebook = open_notebook(
        [
            f"%load_ext hm_jupyter\nagent = {[*AGENT, version]}\n%hm start agent",
            "%%hm\nask; form",
            "%%hm\nask",
            "%%hm\nslow",
            "import hm_jupyter as hm\nprint({o.id: o.value for o in hm.current.options}, [t.text for t in hm.current.turns])",
        ]
    )
    assert "acp_agent is ready (small, mode ask)." in notebook.run_to_end(0)

    # the agent's own options, in its words; and meanwhile a setting of its own
    notebook.run(1)
    frame = notebook.waiting_frame(1)
    names = [button.inner_text() for button in frame.locator(".hm-acts button").all()]
    assert [n.split("\n")[:2] for n in names] == [
        ["Allow:", "Allow"], ["Allow:", "Always allow this"], ["Deny:", "Reject"], ["Deny:", "Never allow this"],
    ]  # fmt: skip
    assert ["lasts" in n for n in names] == [False, True, False, True]
    view = notebook.view(1)
    view.get_by_role("button", name="Settings").click()
    view.get_by_role("group", name="Settings of the agent").locator("select").first.select_option("high")
    frame.get_by_role("button", name="Allow: Always allow this").click()

    # a form: what is needed is asked for, the rest is filled in already
    form = notebook.waiting_frame(1)
    form.get_by_text("Tell me where to put it.").first.wait_for()
    form.get_by_label("Name", exact=False).first.fill("shop")
    form.get_by_role("button", name="Answer").click()
    notebook.wait_done(1, 20)
    assert "('name', 'shop')" in notebook.frozen(1).first.inner_text()

    # no, and why: this wire has no word for the note, so it is said to go as the next message
    notebook.run(2)
    frame = notebook.waiting_frame(2)
    frame.get_by_label("Note to agent").fill("say only the tests")
    frame.get_by_text("sent as the next message").wait_for()
    frame.get_by_role("button", name="Deny: Reject").click()
    notebook.wait_done(2, 20)
    said = notebook.frozen(2).first.inner_text()
    assert "The person refused." in said
    assert said.rstrip().endswith("only the tests"), "the note's own turn belongs to the cell"

    # a command of the agent's, completed; then stopped by keys
    notebook.run(3)
    view = notebook.view(3)
    box = view.get_by_label("Message to the agent")
    box.click()
    keys = notebook.page.keyboard
    keys.type("/sa")
    view.get_by_role("option", name="/say").wait_for()
    keys.press("Enter")
    assert box.input_value() == "/say "
    keys.press("Shift+Escape")
    notebook.wait_done(3, 20)
    assert "You stopped this turn." in notebook.frozen(3).first.inner_text()

    said = notebook.run_to_end(4)
    assert "'effort': 'high'" in said
    assert not [e for e in notebook.errors if "hm" in e]
    assert not notebook.foreign_requests()
