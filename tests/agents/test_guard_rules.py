"""guard.yaml: what its rules match, whose rules count, and what is said of one that is not right."""

from __future__ import annotations

from pathlib import Path

import pytest

from hm_jupyter.agents.approvals import judge
from hm_jupyter.agents.guard.check import ALLOW, ASK, DENY, EXAMPLE, FAULT, fetch_plan, main
from hm_jupyter.agents.guard.judge import Guard
from hm_jupyter.agents.guard.rules import KINDS
from hm_jupyter.agents.modes import Mode, mode_help, modes
from hm_jupyter.agents.tools import TOOLS
from hm_jupyter.agents.tools.base import Plan
from hm_jupyter.agents.tools.workspace import Workspace


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A workspace; the person's own guard.yaml is beside it."""
    monkeypatch.setenv("HM_CONFIG", str(tmp_path / "hm.toml"))
    root = tmp_path / "work"
    root.mkdir()
    return root


@pytest.fixture
def rules(work):
    def load(own: str = "", theirs: str = "", name: str = "guard.yaml") -> Guard:
        if own:
            (work.parent / "guard.yaml").write_text(own)
        if theirs:
            (work / name).parent.mkdir(exist_ok=True)
            (work / name).write_text(theirs)
        return Guard.load(work)

    return load


def touch(work: Path, path: str, risk: str) -> Plan:
    workspace = Workspace(work)
    place = workspace.locate(path)
    fields = {"risk": risk}
    return Plan({"path": path}, paths=[place], outside=[] if workspace.inside(place) else [place], **fields)


def shell(work: Path, command: str) -> Plan:
    return Plan({"command": command}, "shell", command=command, cwd=str(work), paths=[work])


# ---- paths ----


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("src/**", "src/a.py", True), ("src/**", "src/a/b.py", True), ("src/**", "srcs/a.py", False),
        ("src/*", "src/a.py", True), ("src/*", "src/a/b.py", False), ("*.pem", "deep/down/x.pem", True),
        ("src/", "src/a/b", True), ("**/test_*.py", "a/test_b.py", True), ("**/test_*.py", "test_b.py", True),
        ("{a,b}/x", "b/x", True), ("a/**/z", "a/z", True), ("a/**/z", "a/b/c/z", True), ("SRC/**", "src/a.py", True),
    ],
)  # fmt: skip
def test_a_path_pattern_matches_names_folders_and_any_depth(rules, work, pattern, path, fits):
    guard = rules(f"deny:\n  - path: '{pattern}'\n")
    verdict = guard.judge(touch(work, path, "read"), Workspace(work), tool="read_file")
    assert (verdict.what == "deny") is fits


def test_allow_rules_mind_upper_and_lower_case(rules, work):
    guard = rules("allow:\n  - {tool: edit, path: 'SRC/**'}\n")
    assert guard.judge(touch(work, "src/a.py", "edit"), Workspace(work)).what == ""


def test_a_rule_may_be_about_a_link_s_name_and_about_where_it_leads(rules, work):
    (work / "real").mkdir()
    (work / "link").symlink_to(work / "real")
    for pattern in ("link/**", "real/**"):
        guard = rules(f"deny:\n  - path: '{pattern}'\n")
        assert guard.judge(touch(work, "link/x", "edit"), Workspace(work)).what == "deny"


def test_a_rule_for_one_kind_of_tool_is_not_about_another(rules, work):
    guard = rules("deny:\n  - {tool: edit, path: 'a/**'}\n  - tool: shell\n")
    assert guard.judge(touch(work, "a/x", "edit"), Workspace(work), tool="write_file").what == "deny"
    assert guard.judge(touch(work, "a/x", "read"), Workspace(work), tool="read_file").what == ""
    assert guard.judge(shell(work, "ls"), Workspace(work), tool="shell").what == "deny"
    assert guard.judge(shell(work, "ls 'unclosed"), Workspace(work), tool="shell").what == "deny"


@pytest.mark.parametrize(
    "path", [".env", "../x", "link/x", "a/.env.local", "id_rsa", ".aws/config", "x.pem", ".ssh/config"]
)
@pytest.mark.parametrize("risk", ["read", "edit"])
def test_credentials_and_what_is_outside_ask_whatever_is_allowed(rules, work, path, risk):
    """HM-148"""
    (work / "link").symlink_to(work.parent)
    guard = rules("allow:\n  - tool: [read, edit]\n")
    verdict = guard.judge(touch(work, path, risk), Workspace(work))
    assert (verdict.what, verdict.must) == ("ask", True)


@pytest.mark.parametrize(
    "path", [".git/hooks/pre-commit", ".GIT/config", "guard.yaml", ".hm/guard.yaml", "sub/.git/hooks/x"]
)
@pytest.mark.parametrize("approve", ["ask", "edits"])
def test_edits_of_hooks_and_rules_ask_in_every_mode_and_offer_no_rule(work, path, approve):
    """HM-148 HM-152"""
    workspace = Workspace(work)
    for mode in ("ask", "edit", "auto"):
        verdict = judge(
            touch(work, path, "edit"), mode=mode, approve=approve, rules={f"edit: {work}/**"}, workspace=workspace
        )  # fmt: skip
        assert (verdict.what, verdict.rule) == ("ask", "")
    assert judge(touch(work, path, "edit"), mode="ask", approve="all", rules=set(), workspace=workspace).what == "flag"


# ---- addresses ----


@pytest.mark.parametrize(
    ("host", "url", "what"),
    [
        ("docs.example.org", "https://docs.example.org/a?b=c", "allow"), ("docs.example.org", "https://DOCS.example.org", "allow"),
        ("docs.example.org", "https://docs.example.org:443/", "allow"), ("docs.example.org", "https://docs.example.org:8443/", "ask"),
        ("docs.example.org", "http://docs.example.org/", "ask"), ("docs.example.org", "https://docs.example.org.evil.org/", "ask"),
        ("docs.example.org", "https://docs.example.org@evil.org/", "ask"), ("docs.example.org", "https://evil.org/docs.example.org", "ask"),
        ("docs.example.org", "https://evil.org#@docs.example.org/", "ask"), ("docs.example.org", "https://evil.org\\@docs.example.org/", "ask"),
        ("docs.example.org", "https://docs.example.org\\.evil.org/", "ask"), ("docs.example.org", "https://docs.example\u3002org/", "ask"),
        ("docs.example.org", "https://d\u043ecs.example.org/", "ask"), ("docs.example.org", "file:///etc/passwd", "ask"),
        ("docs.example.org", " https://docs.example.org/", "ask"), ("docs.example.org", "https://docs.example.org/\nx", "ask"),
        ("docs.example.org", "//docs.example.org/", "ask"), ("*.example.org", "https://a.b.example.org/", "allow"),
        ("*.example.org", "https://example.org/", "ask"), ("*.example.org", "https://badexample.org/", "ask"),
        ("localhost:8000", "http://localhost:8000/x", "allow"), ("localhost", "http://localhost:8000/x", "ask"),
    ],
)  # fmt: skip
def test_a_fetch_is_allowed_only_at_the_very_host_of_a_rule(rules, work, host, url, what):
    guard = rules(f"allow:\n  - host: '{host}'\n")
    assert guard.judge(fetch_plan(url), Workspace(work), tool="fetch").what == what


@pytest.mark.parametrize(
    "url", ["https://evil.org/", "http://a.evil.org:81/x", "HTTPS://user@EVIL.ORG./", "https://evil\uff0eorg/"]
)
def test_a_denied_host_is_denied_however_it_is_written(rules, work, url):
    """HM-149"""
    guard = rules("deny:\n  - host: evil.org\nallow:\n  - host: '*'\n")
    assert guard.judge(fetch_plan(url), Workspace(work), tool="fetch").what == "deny"


# ---- whose rules count ----


@pytest.mark.parametrize("name", ["guard.yaml", ".hm/guard.yaml"])
def test_a_workspace_s_rules_may_forbid_but_not_allow(rules, work, name):
    """HM-148 HM-149"""
    guard = rules(
        "allow:\n  - command: ls *\n", "deny:\n  - command: ls -R\nallow:\n  - command: whoami\ntrust: ['/']\n", name
    )
    workspace = Workspace(work)
    assert guard.judge(shell(work, "ls a"), workspace).what == "allow"
    assert guard.judge(shell(work, "ls -R"), workspace).what == "deny"
    assert guard.judge(shell(work, "whoami"), workspace).what == ""
    assert any("allow rules do not count" in note for note in guard.notes)
    assert any("trust counts only in your own" in note for note in guard.notes)


def test_a_trusted_workspace_s_rules_allow_too(rules, work):
    guard = rules(f"trust: ['{work}']\n", "allow:\n  - command: whoami\n")
    assert guard.judge(shell(work, "whoami"), Workspace(work)).what == "allow"
    assert guard.notes == []


def test_trust_is_for_the_folder_named_not_for_those_in_it(rules, work):
    guard = rules(f"trust: ['{work.parent}', work]\n", "allow:\n  - command: whoami\n")
    assert guard.judge(shell(work, "whoami"), Workspace(work)).what == ""


def test_with_no_file_no_rule_says_anything(rules, work):
    guard = rules()
    assert guard.judge(shell(work, "ls"), Workspace(work)).what == ""
    assert (guard.rules, guard.problems, guard.notes) == ([], [], [])


# ---- faults ----


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("deny: [", "line"), ("deny:\n  - command: *x\n", "quotes"), ("deny:\n  - comand: x\n", "line 2"),
        ("denny:\n  - command: x\n", "deny, ask, allow, trust"), ("allow:\n  - command: '*'\n", "any program"),
        ("allow:\n  - command: 'py* x'\n", "any program"), ("allow:\n  - command: 'a; b'\n", "one simple command"),
        ("deny:\n  - reason: x\n", "says nothing"), ("deny:\n  - path: ../x\n", "'..'"), ("deny:\n  - host: https://x/\n", "no host"),
        ("deny: x\n", "line 1"), ("- a\n", "line 1"), ("deny: &a\n  - command: x\nask: *a\n", "anchors"),
        ("deny: !!python/object:os.system x\n", "tags"), ("deny:\n - command: x\ndeny:\n - command: y\n", "twice"),
        ("deny:\n  - tool: edti\n", "did you mean edit?"), ("deny:\n  - tool: [read, Shell]\n", "did you mean shell?"),
        ("deny:\n  - tool: telegraph\n", "write one of shell, edit,"), ("deny: git push\n", "begin each rule with '- '"),
        ("deny:\n  - command: []\n", "line 2"), ("\xff\xfe", "line"), ("deny:\n\t- command: x\n", "line 2"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_file_and_place_and_everything_asks(rules, work, text, says):
    """HM-148"""
    guard = rules("allow:\n  - command: ls *\n  - tool: read\n", text)
    (problem,) = guard.problems
    assert str(work / "guard.yaml") in problem
    assert says in problem
    workspace = Workspace(work)
    for plan in (shell(work, "ls a"), touch(work, "a", "read"), touch(work, "a", "edit"), fetch_plan("https://a.org/")):
        assert guard.judge(plan, workspace).what == "ask"
        assert judge(plan, mode="auto", approve="edits", rules=set(), workspace=workspace, guard=guard).what == "ask"


def test_what_a_file_without_fault_denies_stays_denied_beside_one_with_a_fault(rules, work):
    """HM-149"""
    guard = rules("deny:\n  - command: rm\n", "deny: [")
    assert guard.judge(shell(work, "rm x"), Workspace(work)).what == "deny"


@pytest.mark.parametrize("tool", [*KINDS, *TOOLS, "*"])
def test_a_rule_may_name_every_kind_and_every_tool(rules, tool):
    assert rules(f"deny:\n  - tool: '{tool}'\n").problems == []


def test_a_file_that_cannot_be_read_is_a_fault(rules, work):
    (work / "guard.yaml").mkdir()
    assert "cannot be read" in rules().problems[0]


# ---- modes ----


def test_modes_of_one_s_own_are_beside_those_built_in():
    all_modes = modes({"docs": Mode("", "", "allow", "refuse", "Only docs.")})
    assert list(all_modes) == ["ask", "edit", "auto", "plan", "docs"]
    assert all_modes["docs"].instructions == "Only docs."
    assert mode_help(all_modes)["docs"] == "commands are refused, edits in the workspace are free"


def test_a_mode_refuses_what_it_says_and_allows_the_rest(work):
    """HM-148"""
    mode = Mode("docs", "", "allow", "refuse")
    workspace = Workspace(work)
    refused = judge(shell(work, "ls"), mode=mode, approve="all", rules=set(), workspace=workspace)
    assert (refused.what, "refuses commands" in refused.reason) == ("refuse", True)
    assert judge(touch(work, "a", "edit"), mode=mode, approve="ask", rules=set(), workspace=workspace).what == "run"


# ---- the command line ----


@pytest.mark.parametrize(
    ("call", "code", "says"),
    [
        ("git status", ALLOW, "line 2"), ("git status; rm x", DENY, "deny command rm"), ("make", ASK, 'mode is "ask"'),
        ("read a.txt", ALLOW, "needs no leave"), ("read .env", ASK, "credentials"), ("edit a.txt", ASK, "every edit"),
        ("fetch https://a.org/", ASK, "no rule allows"), ('{"tool": "read_file", "input": {"path": "../x"}}', ASK, "outside"),
        ('{"tool": "nope"}', FAULT, "there is no tool"), ('{"tool": "shell", "input": {}}', FAULT, "command"),
    ],
)  # fmt: skip
def test_check_says_what_would_happen_and_why(rules, work, capsys, call, code, says):
    (work.parent / "guard.yaml").write_text("allow:\n  - command: git status\ndeny:\n  - command: rm *\n")
    assert main(["check", call, "--cwd", str(work)]) == code
    out = capsys.readouterr()
    assert says in out.out + out.err


def test_check_of_a_broken_file_says_so_and_is_no_success(work, capsys):
    (work / "guard.yaml").write_text("deny: [")
    assert main(["check", "ls", "--cwd", str(work)]) == FAULT
    assert "guard.yaml" in capsys.readouterr().err


def test_check_of_words_that_are_not_in_quotes_says_that_they_need_them(capsys):
    assert main(["check", "git", "status"]) == FAULT
    assert "hm-jupyter guard check 'git status'" in capsys.readouterr().err


def test_check_knows_modes(work, capsys):
    assert main(["check", "ls", "--cwd", str(work), "--mode", "auto"]) == ALLOW
    assert main(["check", "ls", "--cwd", str(work), "--mode", "plan"]) == DENY
    assert main(["check", "ls", "--cwd", str(work), "--mode", "none"]) == FAULT
    assert "the modes are" in capsys.readouterr().err


def test_init_writes_an_example_that_is_right_and_overwrites_nothing(rules, work, capsys):
    assert main(["init"]) == 0
    assert (work.parent / "guard.yaml").read_text() == EXAMPLE
    assert rules().problems == []
    assert main(["init"]) == FAULT
    assert "nothing was written" in capsys.readouterr().err
