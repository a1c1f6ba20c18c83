"""The shipped notebooks, executed with nobody watching and read as a page with no network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter, MarkdownExporter

import hm_jupyter

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

ROOT = Path(hm_jupyter.__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda p: p.stem)
def executed(request: pytest.FixtureRequest) -> Any:
    """A shipped notebook, executed as nbconvert does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("HM_DEMO_SPEED", "0")
        nb = nbformat.read(request.param, as_version=4)
        for cell in nb.cells:
            if cell.cell_type == "code":
                cell.outputs = []
        NotebookClient(nb, timeout=120, kernel_name="python3").execute()
        return nb


def outputs_of(nb: Any) -> list[Any]:
    return [o for cell in nb.cells if cell.cell_type == "code" for o in cell.outputs]


def test_there_are_notebooks():
    assert [p.stem for p in NOTEBOOKS] == ["any-agent", "approvals", "quickstart"]


def test_a_page_made_of_it_shows_every_prompt_and_answer_and_fetches_nothing_of_ours(executed: Any):
    outputs = outputs_of(executed)
    turns = [o.data for o in outputs if "text/html" in o.get("data", {}) and "hm-frozen" in o.data["text/html"]]
    prompts = [c for c in executed.cells if c.source.startswith("%%hm") and "--background" not in c.source]
    assert len(turns) >= len(prompts) > 0
    for data in turns:
        assert not re.search(
            r"<script|\son\w+=|javascript:|(src|href)=[\"']?(https?:)?//|url\(|@import", data["text/html"]
        )
    page, _ = HTMLExporter().from_notebook_node(executed)
    assert page.count("hm-frozen") >= len(turns)
    text, _ = MarkdownExporter().from_notebook_node(executed)
    assert "python tests/test_join.py" in text


def test_no_widget_state_no_error_and_no_object_address_is_left_in_it(executed: Any):
    assert "widgets" not in executed.metadata
    for output in outputs_of(executed):
        assert output.output_type != "error"
        assert WIDGET not in output.get("data", {})
    assert not re.search(r"\bat 0x[0-9a-f]{6,}", nbformat.writes(executed))
