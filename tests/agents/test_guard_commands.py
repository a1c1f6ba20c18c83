"""Shell commands under guard rules: what slips past no rule. The model's output is taken to be hostile throughout."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess

import pytest
from guard_commands import ALLOWED, ASKED, DENIED, LEFT_OPEN, RULES
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hm_jupyter.agents.guard.judge import Guard, GuardVerdict
from hm_jupyter.agents.guard.patterns import matches, parse
from hm_jupyter.agents.tools.base import Plan
from hm_jupyter.agents.tools.workspace import Workspace


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    """What the rules say of a command, in a workspace with some files in it."""
    top = tmp_path_factory.mktemp("guard")
    root = top / "work"
    for folder in ("sub", "prod", "out", "migrations", ".git/hooks"):
        (root / folder).mkdir(parents=True)
    (root / ".env").write_text("KEY=1\n")
    (root / "a.txt").write_text("a\n")
    (top / "elsewhere").mkdir()
    (root / "link").symlink_to(top / "elsewhere")
    (root / "sub" / "away").symlink_to(top / "elsewhere")
    (root / "alias").symlink_to(root / "prod")
    (top / "guard.yaml").write_text(RULES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HM_CONFIG", str(top / "hm.toml"))
        guard = Guard.load(root)
    assert guard.problems == []
    workspace = Workspace(root)

    def run(command: str) -> GuardVerdict:
        plan = Plan({"command": command}, "shell", command=command, cwd=str(root), paths=[root])
        return guard.judge(plan, workspace, tool="shell")

    return run


@pytest.mark.parametrize("command", ALLOWED)
def test_what_every_simple_command_of_is_allowed_by_a_rule_is_allowed(judge, command):
    """HM-148"""
    verdict = judge(command)
    assert (verdict.what, verdict.reason) == ("allow", "")
    assert "guard.yaml, line" in verdict.rule


@pytest.mark.parametrize("command", DENIED)
def test_what_a_deny_rule_is_about_is_denied_wherever_it_stands(judge, command):
    """HM-149"""
    verdict = judge(command)
    assert verdict.what == "deny", verdict
    assert verdict.rule.startswith("deny ")
    assert "guard.yaml, line" in verdict.rule


@pytest.mark.parametrize("command", ASKED, ids=lambda c: c[:40])
def test_what_nobody_here_can_know_asks_in_every_mode(judge, command):
    """HM-148"""
    verdict = judge(command)
    assert (verdict.what, verdict.must) == ("ask", True), verdict
    assert verdict.reason


@pytest.mark.parametrize("command", LEFT_OPEN)
def test_what_no_rule_covers_whole_is_not_allowed(judge, command):
    """HM-148"""
    verdict = judge(command)
    assert verdict.what in ("", "ask"), verdict


def test_a_look_alike_of_a_program_is_not_that_program(judge):
    assert judge("g\u0456t status").what != "allow"
    assert judge("gi\uff54 status").what != "allow"


def test_a_reason_names_what_no_rule_covers(judge):
    assert "--checkpoint-action=exec=sh" in judge("tar -xf x --checkpoint-action=exec=sh").reason
    assert "sets PATH" in judge("PATH=. git status").reason
    assert "no rule allows: unknown a" in judge("ls; unknown a").reason
    assert "writes sub/x" in judge("ls > sub/x").reason


# ---- anything around a denied command -----------------------------------------------------------------------------------

FRAMES = [
    "{}", "({})", "{{ {}; }}", "! {}", "git status; {}", "{}; git status", "git status && {}", "false || {}", "{} | ls",
    "ls | {}", "{} &", "echo $({})", 'echo "$({})"', "if {}; then ls; fi", "if true; then {}; fi", "while {}; do ls; done",
    "for i in a; do {}; done", "case a in a) {};; esac", "f() {{ {}; }}; f", "x=$({})", "ls > $({})", "ls\n{}\nls",
    "cat <<E\n$({})\nE", "time {}", "nice {}", "env A=1 {}", "sudo {}", "command {}", "nohup {}", "xargs {}",
    "timeout 5 {}", "echo ${{x:-$({})}}", "CI=1 {}", "ls 2>&1 && {} 2>/dev/null",
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(FRAMES), max_size=5),
    st.sampled_from(["rm x", "curl a", "git push -f", "'r'm x", "/bin/rm"]),
)
@example(["sudo {}", "({})"], "rm x")
def test_a_denied_command_is_never_let_through_by_what_is_put_around_it(judge, frames, command):
    """HM-149"""
    for frame in frames:
        command = frame.format(command)
    assert judge(command).what in ("deny", "ask")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(FRAMES), max_size=4))
def test_nor_by_texts_that_shells_are_given(judge, frames):
    """HM-149"""
    command = "rm x"
    for frame in frames:
        command = f"sh -c {shlex.quote(frame.format(command))}"
    assert judge(command).what in ("deny", "ask")


# ---- what the shells really do -------------------------------------------------------------------------------------------

PIECES = [
    "ok", "notok", " ", " ", " ", "\n", ";", "&", "&&", "||", "|", "(", ")", "{ ", "; }", "$(", ")", "`", "'", '"', "\\", "\\\n",
    "#", " #", "a", "=", "$x", "<<E\n", "\nE\n", "<<'E'\n", ">out/f", "2>&1", "if ", "; then ", "; fi", "!", " ! ", "$'", "\t",
    "for CI in a; do ", "; done", "case a in a) ", ";; esac", "env ", "time ", "sh -c ", "eval ", "x=notok;", "${x:-", "}", "*",
]  # fmt: skip


@pytest.mark.parametrize("shell", [s for s in ("/bin/sh", "/bin/bash") if os.path.exists(s)])
def test_no_shell_runs_anything_else_than_what_was_allowed(judge, tmp_path, shell):
    """Lines put together at random: those that are allowed are run, with programs that say that they ran."""
    bin_, work = tmp_path / "bin", tmp_path / "work"
    bin_.mkdir()
    (work / "out").mkdir(parents=True)
    ran = tmp_path / "ran"
    for name in ("ok", "notok"):
        (bin_ / name).write_text(f"#!/bin/sh\necho {name} >>{ran}\n")
        (bin_ / name).chmod(0o755)
    for name in ("env", "sh"):
        (bin_ / name).symlink_to(str(shutil.which(name)))
    allowed: set[str] = set()

    @settings(max_examples=1500, deadline=None, database=None)
    @given(st.lists(st.sampled_from(PIECES), max_size=8))
    def try_all(pieces):
        command = "ok" + "".join(pieces)
        if len(allowed) < 60 and judge(command).what == "allow":
            allowed.add(command)

    try_all()
    assert len(allowed) > 20
    script = "\n".join(f"{shell} -c {shlex.quote(command)} || :" for command in sorted(allowed))
    subprocess.run(
        ["/bin/sh", "-c", script], cwd=work, timeout=60, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, env={"PATH": str(bin_)}, check=False,
    )  # fmt: skip
    assert set(ran.read_text().split()) == {"ok"}
    assert [p.name for p in work.iterdir()] == ["out"]


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="rm lsgit-xf;&|<>$(){}`'\"\\\n#=*?[]~!./,0", max_size=40))
def test_no_text_at_all_makes_the_guard_fail(judge, text):
    assert judge(text).what in ("", "allow", "ask", "deny")


# ---- patterns ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "command", "fits"),
    [
        ("git status", "git status", True), ("git status", "git", False), ("git status", "git status x", False),
        ("pytest *", "pytest", True), ("pytest *", "pytest a b", True), ("pytest *", "pytestx", False),
        ("a * b", "a b", True), ("a * b", "a x y b", True), ("a * b", "a x", False),
        ("a {b,c} d", "a c d", True), ("a {b,c}", "a d", False), ("a x*", "a xyz", True), ("a *.py", "a b.py", True),
        ("a 'b c'", "a b", False), ("a '*'", "a x", False), ("a {}", "a {}", True), ("a x-{1,2}-*", "a x-2-3", True),
    ],
)  # fmt: skip
def test_a_pattern_is_compared_word_by_word(pattern, command, fits):
    words = [(w, False) for w in command.split()]
    assert any(matches(p, words) for p in parse(pattern)) is fits


@pytest.mark.parametrize(
    "text", ["", "a; b", "a | b", "a $(b)", "a 'b", "a {b", "a {b}", "a {b,{c,d}}", "a > b", "a\\", "{a,b}" * 9]
)
def test_a_pattern_that_cannot_be_one_is_an_error(text):
    with pytest.raises(ValueError):
        parse(text)


def test_a_pattern_of_many_stars_costs_no_time():
    pattern = parse("a " + "*x" * 200)[0]
    assert not matches(pattern, [("a", False), ("x" * 5000 + "y", False)])
