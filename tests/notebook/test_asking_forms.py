"""The input line where an agent has its own options, a form, or a page to open; with a real agent behind at the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hm_jupyter as hm
from hm_jupyter.commands import Answer, Approve
from hm_jupyter.events import ApprovalOption, Choice, FormField
from hm_jupyter.notebook import asking, waiting
from hm_jupyter.notebook.asking_forms import ask_form
from hm_jupyter.transcript import PendingApproval, PendingQuestion

AGENT = [sys.executable, str(Path(__file__).parent.parent / "helpers" / "acp_agent.py")]
OPTIONS = [
    ApprovalOption("a", "Always", "allow_session"),
    ApprovalOption("o", "Yes\u202e", "allow_once"),
    ApprovalOption("n", "No, and tell it why", "deny_once"),
]
REQUEST = PendingApproval("r", "c", 1, command="make", options=OPTIONS, for_session=True)
FORM = PendingQuestion(
    "q", "", 1, "Where to?", source="Agent",
    form=[
        FormField("city", title="City", required=True, min_length=2),
        FormField("size", "select", default="s", choices=[Choice("s", "Small"), Choice("l", "Large")]),
        FormField("sure", "boolean"),
    ],
)  # fmt: skip


def test_the_agents_options_are_shown_in_its_words_with_what_they_amount_to():
    said = asking.describe(REQUEST)
    assert "1. Always  (allows, and lasts)" in said
    assert "3. No, and tell it why  (denies)" in said
    assert "\u202e" not in said, "what is hidden is written out"
    assert asking.prompt(REQUEST).startswith("a number, y = allow once")


@pytest.mark.parametrize(
    ("line", "allow", "session", "option"),
    [
        ("1", True, True, "a"),
        ("2", True, False, "o"),
        ("3", False, False, "n"),
        ("y", True, False, ""),
        ("n", False, False, ""),
    ],
)
def test_a_number_decides_as_the_option_says(line: str, allow: bool, session: bool, option: str):
    meant = asking.meaning(REQUEST, line)
    assert isinstance(meant, Approve)
    assert (meant.allow, meant.for_session, meant.option_id) == (allow, session, option)


@pytest.mark.parametrize("line", ["0", "4", "99"])
def test_a_number_that_is_none_of_them_decides_nothing(line: str):
    assert "choose 1 to 3" in str(asking.meaning(REQUEST, line))


def test_a_kind_nobody_knows_is_never_an_approval():
    odd = PendingApproval("r", "c", 1, options=[ApprovalOption("x", "Yes", "surely")])  # type: ignore[arg-type]
    meant = asking.meaning(odd, "1")
    assert isinstance(meant, Approve)
    assert not meant.allow


def test_a_page_to_open_is_shown_whole_and_only_agreed_to():
    page = PendingQuestion("q", "", 1, "Sign in there.", url="https://example.org/a?b=c")
    assert "https://example.org/a?b=c" in asking.describe(page)
    assert asking.meaning(page, "y").text == "yes"  # type: ignore[union-attr]
    assert asking.meaning(page, "n").skip is True  # type: ignore[union-attr]
    assert asking.meaning(page, "perhaps") == "Answer y or n."


def answered(*lines: str | None) -> Answer | None:
    typed = iter(lines)
    return ask_form(FORM, lambda prompt: next(typed), lambda: True)


def test_a_form_is_asked_field_by_field_and_what_does_not_fit_is_asked_again(capsys: pytest.CaptureFixture[str]):
    answer = answered("", "x", "Oslo", "3", "2", "")
    assert answer is not None
    assert answer.fields == {"city": "Oslo", "size": "l"}
    said = capsys.readouterr().out
    assert "1/3  city (City): text (at least 2 characters), needed" in said
    assert "It is needed" in said
    assert "2. Large" in said
    assert "size: give one of s, l" in said


def test_an_empty_line_takes_the_default_and_skip_declines():
    answer = answered("Oslo", "", "yes")
    assert answer is not None
    assert answer.fields == {"city": "Oslo", "size": "s", "sure": True}
    skipped = answered("Oslo", "/skip")
    assert skipped is not None
    assert skipped.skip


def test_a_form_that_no_longer_waits_is_not_answered():
    assert answered(None) is None
    assert ask_form(FORM, lambda prompt: "never read", lambda: False) is None


@pytest.fixture
def session(tmp_path: Path) -> Iterator[hm.Session]:
    with hm.connect([*AGENT, "--v1"], cwd=tmp_path) as s:
        yield s


def test_a_waiting_cell_asks_for_options_and_forms_in_the_input_line(
    session: hm.Session, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    typed = iter(["4", "shop", *[""] * 8, "", "", "", "z", ""])
    monkeypatch.setattr("builtins.input", lambda prompt="": next(typed))
    turn = session.start("ask; form", unattended=False)
    assert waiting.wait_for(session, turn) == "finished"
    (call,) = turn.tool_calls
    assert (call.decision.outcome, call.decision.via) == ("denied", "stdin")
    assert "('name', 'shop')" in turn.text
    assert "4. Never allow this  (denies, and lasts)" in capsys.readouterr().out
