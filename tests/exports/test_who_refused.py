"""A refusal names who refused: a rule only where there was one, never for a stop."""

from __future__ import annotations

import pytest

from hm_jupyter.exports import decided
from hm_jupyter.transcript import Decision, ToolEntry


@pytest.mark.parametrize(
    ("by", "rule", "said"),
    [
        ("you", "", "You denied it: “why”"),
        ("policy", "", "The session’s policy refused it: “why”"),
        ("agent", "shell: rm *", "The agent’s rules refused it: “why”"),
        ("agent", "", "The agent refused it: “why”"),
    ],
)
def test_a_refusal_names_who_refused(by: str, rule: str, said: str) -> None:
    decision = Decision(outcome="denied", by=by, note="why", rule=rule)  # type: ignore[arg-type]
    assert decided.decision(ToolEntry(id="t", turn=1, call_id="c", decision=decision)) == said
