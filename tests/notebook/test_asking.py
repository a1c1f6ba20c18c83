"""What is printed above the input line that decides."""

from __future__ import annotations

import pytest

from hm_jupyter.notebook import asking
from hm_jupyter.transcript import PendingApproval


@pytest.mark.parametrize(("paths", "told"), [(["/w"], ""), (["/w", "/etc/hosts"], "touches: /etc/hosts"), ([], "")])
def test_the_folder_it_runs_in_is_not_also_what_it_touches(paths: list[str], told: str) -> None:
    request = PendingApproval(request_id="a", call_id="c", turn=1, command="make", cwd="/w", paths=paths)
    lines = [line.strip() for line in asking.describe(request).split("\n")]
    assert "in: /w" in lines
    assert [line for line in lines if line.startswith("touches")] == ([told] if told else [])
