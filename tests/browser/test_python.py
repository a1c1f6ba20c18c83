"""A prompt that Python sends is shown like one of a magic: live while it runs, decided in the page, then frozen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lab import Lab, Notebook

pytestmark = pytest.mark.slow

SESSION = "import hm_jupyter as hm\ns = hm.current"


@pytest.mark.parametrize(
    "call", ["t = s.prompt('make the list')", "s.prompt('make the list')", "await s.aprompt('make the list')"]
)
def test_a_prompt_from_python_is_live_and_then_frozen_once(
    open_notebook: Callable[..., Notebook], start: str, lab: Lab, call: str
) -> None:
    notebook = open_notebook([start, SESSION, call])
    notebook.run_to_end(0)
    notebook.run_to_end(1)
    notebook.run(2)
    notebook.waiting_frame(2).get_by_role("button", name="Allow once").click()
    notebook.wait_done(2)
    notebook.frozen(2).first.wait_for()
    assert notebook.view(2).count() == 0
    assert notebook.output(2).inner_text().count("The list is made.") == 1
    assert (lab.root / "work" / "list.txt").read_text() == "one\ntwo\n"
