"""Who decides when nobody clicks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hm_jupyter.errors import UsageError
from hm_jupyter.events import FileDiff
from hm_jupyter.session.policy import Policy
from hm_jupyter.transcript import PendingApproval, PendingQuestion

SHELL = PendingApproval("k", "k", 1, "shell", "shell", command="ls")
EDIT = PendingApproval(
    "e", "e", 1, "edit_file", "edit", diffs=[FileDiff("a.py", "1", "2"), FileDiff("b.py", None, "3")]
)


@pytest.mark.parametrize(
    ("policy", "shell", "edit"),
    [("ask", None, None), ("edits", None, True), ("all", True, True), ("deny", False, False)],
)
def test_the_four_words(policy: str, shell: bool | None, edit: bool | None):
    rulings = [Policy(policy).rule(r) for r in (SHELL, EDIT)]
    assert [r and r.allow for r in rulings] == [shell, edit]


@pytest.mark.parametrize(
    "path", [".env", "/w/.git/hooks/pre-commit", "sub/.GIT/config", "id_rsa", "/home/me/.ssh/config"]
)
@pytest.mark.parametrize("how", ["diff", "path"])
def test_edits_is_not_for_secrets_and_hooks(path: str, how: str):
    diffs = [*EDIT.diffs, FileDiff(path, None, "x")] if how == "diff" else []
    request = replace(EDIT, diffs=diffs, paths=[path] if how == "path" else [])
    assert Policy("edits").rule(request) is None
    assert Policy("all").rule(request).allow
    assert Policy("edits").rule(replace(request, diffs=EDIT.diffs, paths=[".gitignore", ".env.example"])).allow


def test_another_word_is_an_error_that_names_the_four():
    with pytest.raises(UsageError, match="ask, edits, all, deny"):
        Policy("yes")


def test_a_function_decides_on_what_the_call_is():
    policy = Policy(lambda request: request.command == "ls")
    assert policy.rule(SHELL).allow
    assert not policy.rule(EDIT).allow


def test_a_verdict_may_carry_a_note_or_choose_files():
    denied = Policy(lambda r: {"allow": False, "note": "not now"}).rule(SHELL)
    assert (denied.allow, denied.note) == (False, "not now")
    partial = Policy(lambda r: {"allow": True, "files": ["b.py"]}).rule(EDIT)
    assert [(e.path, e.content) for e in partial.edits] == [("b.py", "3")]
    own = Policy(lambda r: {"allow": True, "edits": {"a.py": "mine"}}).rule(EDIT)
    assert [(e.path, e.content) for e in own.edits] == [("a.py", "mine")]


def test_choosing_a_file_the_call_does_not_change_is_an_error():
    with pytest.raises(UsageError, match=r"c\.py.*a\.py, b\.py"):
        Policy(lambda r: {"allow": True, "files": ["c.py"]}).rule(EDIT)


def test_what_is_no_verdict_is_an_error_and_never_an_allowance():
    for nonsense in ("yes", 1, {"ok": True}, {"allow": "yes"}, ["allow"]):
        with pytest.raises(UsageError, match="no verdict"):
            Policy(lambda r, n=nonsense: n).rule(SHELL)


def test_scripted_verdicts_are_used_in_order_and_then_the_person_decides():
    policy = Policy([True, "deny"])
    assert [r and r.allow for r in (policy.rule(SHELL), policy.rule(SHELL), policy.rule(SHELL))] == [True, False, None]


def test_answers_are_found_by_pattern_in_order_or_by_function():
    question = PendingQuestion("q", "q", 1, "Which Database should I use?")
    assert Policy(answers={"colour": "red", "database": "sqlite"}).answer(question) == "sqlite"
    in_order = Policy(answers=["a"])
    assert (in_order.answer(question), in_order.answer(question)) == ("a", None)
    assert Policy(answers=lambda q: q.text[:5]).answer(question) == "Which"
    assert Policy().answer(question) is None
    with pytest.raises(UsageError, match="list"):
        Policy(answers="sqlite")
