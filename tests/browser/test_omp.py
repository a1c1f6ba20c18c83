"""omp and pi in a real JupyterLab: their approvals, allowed and denied in the widget while the cell waits."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lab import Notebook

pytestmark = pytest.mark.slow

AGENT = [sys.executable, str(Path(__file__).resolve().parent.parent / "helpers" / "omp_agent.py")]


@pytest.mark.parametrize("dialect", ["omp", "pi"])
def test_parallel_calls_are_allowed_and_denied_in_the_widget(
    open_notebook: Callable[..., Notebook], dialect: str
) -> None:
    notebook = open_notebook(
        [
            f"%load_ext hm_jupyter\nagent = {[*AGENT, dialect]}\n%hm start agent --protocol {dialect}",
            "%%hm\ngo",
            "import hm_jupyter as hm\nprint([(c.name, c.status, c.decision.note) for c in hm.last.tool_calls], hm.last.text)",
        ]
    )
    assert "is ready (mock/mock-1, mode always-ask)" in notebook.run_to_end(0)
    notebook.run(1)

    frame = notebook.waiting_frame(1)
    frame.get_by_text("pytest -q").first.wait_for()
    frame.get_by_role("button", name="Allow", exact=False).first.click()

    notebook.view(1).locator(".hm-frame").get_by_text("mean = 3").first.wait_for()
    frame = notebook.waiting_frame(1)  # by now it takes a click
    frame.get_by_label("Note to agent").fill("call it average")
    frame.get_by_role("button", name="Deny").first.click()
    notebook.wait_done(1, 20)
    assert "bash allowed, write denied" in notebook.frozen(1).first.inner_text()

    said = notebook.run_to_end(2)
    assert "('bash', 'completed', '')" in said
    assert "('write', 'denied', 'call it average')" in said
    assert not [e for e in notebook.errors if "hm" in e]
    assert not notebook.foreign_requests()
