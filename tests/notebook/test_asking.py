"""What is printed above the input line that decides."""

from __future__ import annotations

import pytest

from hm_jupyter.errors import UsageError
from hm_jupyter.events import ApprovalOption
from hm_jupyter.notebook import asking
from hm_jupyter.notebook.asking import option_text
from hm_jupyter.notebook.sub_turns import by_number
from hm_jupyter.transcript import PendingApproval


@pytest.mark.parametrize(("paths", "told"), [(["/w"], ""), (["/w", "/etc/hosts"], "touches: /etc/hosts"), ([], "")])
def test_the_folder_it_runs_in_is_not_also_what_it_touches(paths: list[str], told: str) -> None:
    request = PendingApproval(request_id="a", call_id="c", turn=1, command="make", cwd="/w", paths=paths)
    lines = [line.strip() for line in asking.describe(request).split("\n")]
    assert "in: /w" in lines
    assert [line for line in lines if line.startswith("touches")] == ([told] if told else [])


@pytest.mark.parametrize(
    ("options", "words"), [([], "asks because"), ([ApprovalOption("y", "Yes", "allow_once")], "agent says")]
)
def test_the_words_of_an_agent_with_options_of_its_own_are_its_own(options: list[ApprovalOption], words: str) -> None:
    request = PendingApproval("a", "c", 1, command="make", reason="Runs the tests.", options=options)
    assert f"  {words}: Runs the tests." in asking.describe(request).split("\n")


def test_an_option_is_meant_by_its_number_unless_the_agent_calls_another_so():
    once, always = ApprovalOption("2", "Once", "allow_once"), ApprovalOption("1", "Always", "allow_session")
    plain = [ApprovalOption("y", "Once", "allow_once"), ApprovalOption("2", "Always", "allow_session")]
    request = PendingApproval("p1", "c", 1, options=plain)
    assert [by_number(request, wanted) for wanted in ("1", "2", "3", "y", "Always")] == ["y", "2", "3", "y", "Always"]
    for options in (
        [once, always],
        [ApprovalOption("x", "Once", "allow_once"), ApprovalOption("y", "1", "allow_session")],
    ):
        with pytest.raises(UsageError):
            by_number(PendingApproval("p1", "c", 1, options=options), "1")


def test_an_option_of_a_kind_not_known_is_not_said_to_allow():
    assert "not known" in option_text(ApprovalOption("w", "Deny", "allow_everything"))
