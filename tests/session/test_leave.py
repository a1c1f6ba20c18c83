"""What needs no further leave: only what an allowed approval has shown, word for word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hm_jupyter import events as ev
from hm_jupyter.session.leave import Leave
from hm_jupyter.workspace.command import Command

HERE = Path("/w")
WORDS = st.text(alphabet="ab '\"$;|&\\\n-", min_size=1, max_size=8)
TEXTS = st.text(alphabet="ab\n", max_size=5)


def command(line: str, **more: Any) -> Command:
    return Command(line, ("/bin/sh", "-c", line), HERE, **more)


def locate(name: str) -> Path | None:
    return Path(name) if name.startswith("/w/") else None


def allowed(leave: Leave, outcome: Any = "allowed", by: Any = "you", **shown: Any) -> None:
    leave.asked(ev.ApprovalRequested("p", "c", **shown))
    leave.decided(ev.ApprovalResolved("p", outcome, by))


@given(shown=WORDS, wanted=WORDS)
def test_a_line_is_covered_by_itself_and_by_no_other(shown: str, wanted: str) -> None:
    leave = Leave()
    allowed(leave, category="shell", command=shown)
    found = leave.for_command(command(wanted), lambda folder: folder == "")
    assert (found is not None) == (shown.strip() == wanted.strip() and bool(shown))
    assert leave.for_command(command(wanted), lambda folder: folder == "") is None  # it is used up


@given(old=TEXTS, new=TEXTS, before=st.none() | TEXTS, content=TEXTS)
def test_a_change_is_covered_only_where_it_leads_from_what_is_to_what_was_shown(
    old: str, new: str, before: str | None, content: str
) -> None:
    leave = Leave()
    allowed(leave, category="edit", diffs=[ev.FileDiff("/w/a", old, new)], paths=["/w/a"])
    if leave.for_write(Path("/w/a"), before, content, locate) is not None and content != before:
        whole = new == content and old == (before or "")
        passage = bool(old) and before is not None and old in before
        assert whole or (passage and content in (before.replace(old, new, 1), before.replace(old, new)))
    assert leave.for_write(Path("/w/b"), before, content, locate) is None


@pytest.mark.parametrize(
    ("outcome", "by"),
    [("denied", "you"), ("withdrawn", "you"), ("interrupted", "policy"), ("allowed", "agent"), ("who knows", "you")],
)
def test_only_the_yes_of_a_person_or_the_policy_counts(outcome: str, by: str) -> None:
    leave = Leave()
    allowed(leave, outcome, by, category="shell", command="ls")
    assert leave.for_command(command("ls"), lambda folder: True) is None


def test_what_the_agent_decides_itself_is_no_leave() -> None:
    leave = Leave()
    allowed(leave, category="shell", command="ls", auto=True)
    assert leave.for_command(command("ls"), lambda folder: True) is None


def test_an_approval_with_other_files_or_texts_than_shown_covers_nothing() -> None:
    leave = Leave()
    leave.asked(ev.ApprovalRequested("p", "c", category="edit", diffs=[ev.FileDiff("/w/a", "", "x")]))
    leave.decided(ev.ApprovalResolved("p", "allowed", "you", files=["/w/a"], edited=["/w/a"]))
    assert leave.for_write(Path("/w/a"), None, "x", locate) is None


def test_what_the_request_shows_counts_and_not_what_is_hidden_in_its_input() -> None:
    leave = Leave()
    allowed(leave, category="shell", command="ls", input={"command": "rm -r ."}, summary="rm -r .")
    assert leave.for_command(command("rm -r ."), lambda folder: True) is None


def test_a_read_that_was_allowed_is_no_write() -> None:
    leave = Leave()
    allowed(leave, category="read", paths=["/w/a"])
    assert leave.for_write(Path("/w/a"), None, "x", locate) is None


def test_the_agents_own_lasting_yes_counts_for_that_very_line_in_the_working_folder() -> None:
    leave = Leave()
    leave.asked(ev.ApprovalRequested("p", "c", category="shell", command="ls"))
    leave.decided(ev.ApprovalResolved("p", "allowed", "you", for_session=True))
    leave.turn_over()
    assert leave.by_rule(command("ls"), in_root=True)
    assert not leave.by_rule(command("ls"), in_root=False)
    assert not leave.by_rule(command("ls -a"), in_root=True)
    assert not leave.by_rule(command("ls", risky=("PATH",)), in_root=True)
