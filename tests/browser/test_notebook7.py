"""Notebook 7 is built of JupyterLab's parts, with a page and a server application of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lab import Lab, Notebook

pytestmark = pytest.mark.slow


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Lab]:
    pytest.importorskip("notebook", minversion="7")
    started = Lab(tmp_path, app="notebook")
    yield started
    started.stop()


def test_a_click_on_allow_and_the_frozen_cell_in_notebook_7(
    server: Lab, opener: Callable[..., Notebook], start: str
) -> None:
    notebook = opener(server, [start, "%%hm\nmake the list"])
    notebook.run_to_end(0)
    notebook.run(1)
    notebook.waiting_frame(1).get_by_role("button", name="Allow once").click()
    notebook.wait_done(1)
    notebook.frozen(1).first.wait_for()
    assert "The list is made." in notebook.frozen(1).first.inner_text()
    assert notebook.view(1).count() == 0
    assert (server.root / "work" / "list.txt").read_text() == "one\ntwo\n"
    kinds = {kind for output in notebook.save().cells[1].outputs for kind in output.data}
    assert not any("widget" in kind for kind in kinds)
