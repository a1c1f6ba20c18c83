"""Guard rules and modes in the running agent: what is refused before anyone is asked, and what a person is told."""

from __future__ import annotations

import pytest


@pytest.fixture
def guarded(start, tmp_path):
    """An agent with rules of the person's own, and perhaps an hm.toml."""

    def run(rules, *flags, config="", workspace=""):
        folder = tmp_path / "config"
        folder.mkdir(exist_ok=True)
        (folder / "guard.yaml").write_text(rules)
        if config:
            (folder / "hm.toml").write_text(config)
        if workspace:
            (tmp_path / "work").mkdir(exist_ok=True)
            (tmp_path / "work" / "guard.yaml").write_text(workspace)
        return start(*flags, "--provider", "demo", env={"HM_CONFIG": str(folder / "hm.toml")})

    return run


@pytest.mark.parametrize("approve", ["ask", "edits", "all"])
def test_a_denied_call_is_refused_before_anyone_is_asked(guarded, approve):
    """HM-149"""
    rules = "deny:\n  - command: touch *\n    reason: no new files\n  - {tool: edit, path: '*.lock'}\n"
    agent = guarded(rules, "--approve", approve, "--mode", "auto")
    events = agent.turn("run: echo a; touch x") + agent.turn("write a.lock: x")
    assert not {"approval_needed", "approval"} & {e["type"] for e in events}
    for result in [e for e in events if e["type"] == "tool_result"]:
        assert result["refused"] is True
        assert result["is_error"] is True
        assert "guard.yaml, line" in result["text"]
    assert "no new files" in next(e["text"] for e in events if e["type"] == "tool_result")
    assert list(agent.cwd.iterdir()) == []
    agent.end()
    assert len(agent.seen[-1]["refused"]) == 2


def test_an_allowed_command_runs_unasked_and_the_rule_is_told(guarded):
    """HM-148"""
    agent = guarded("allow:\n  - command: echo *\n")
    events = agent.turn("run: echo one && echo two")
    (approval,) = [e for e in events if e["type"] == "approval"]
    assert (approval["by"], approval["allow"]) == ("rule", True)
    assert "allow command echo *" in approval["rule"]
    assert "approval_needed" not in [e["type"] for e in events]
    assert agent.ask("run: echo one; id")["rule"] == "shell: echo one; id"


def test_an_ask_rule_asks_in_mode_auto_and_offers_no_rule(guarded):
    """HM-148"""
    agent = guarded("ask:\n  - command: touch *\n    reason: look twice\n", "--mode", "auto")
    asked = agent.ask("run: touch x")
    assert asked["reason"] == "look twice"
    assert "rule" not in asked


def test_approve_all_answers_what_a_rule_asks(guarded):
    """HM-153"""
    agent = guarded("ask:\n  - command: echo *\n", "--approve", "all")
    asked = next(e for e in agent.turn("run: echo x") if e["type"] == "approval_needed")
    assert asked["auto"] is True


def test_rules_that_cannot_be_used_are_told_and_everything_asks(guarded):
    """HM-148"""
    agent = guarded("allow:\n  - comand: echo *\n", "--mode", "auto")
    assert "comand" in agent.until("notice", level="warning")["text"]
    assert "every call asks" in agent.ask("run: echo x")["reason"]


def test_a_workspace_cannot_loosen_the_rules(guarded):
    """HM-148"""
    agent = guarded("ask: []\n", workspace="allow:\n  - command: echo *\n")
    assert "do not count" in agent.until("notice", level="warning")["text"]
    assert agent.ask("run: echo x")["call_id"]


def test_a_command_that_names_credentials_asks_in_mode_auto(guarded):
    """HM-148"""
    agent = guarded("{}\n", "--mode", "auto", "--approve", "edits")
    (agent.cwd / ".env").write_text("A=1\n")
    for prompt in ("run: cat .env", "read: .env", "write .git/hooks/pre-commit: x"):
        asked = agent.ask(prompt)
        assert "rule" not in asked
        agent.call("approve", call_id=asked["call_id"], allow=False)
        agent.until("turn_end")


def test_modes_of_hm_toml_can_be_set_and_are_explained(guarded):
    """HM-148 HM-093"""
    agent = guarded("{}\n", config='[modes.docs]\nhelp = "only docs"\nedits = "allow"\ncommands = "refuse"\n')
    start = agent.seen[0]
    assert start["modes"] == ["ask", "edit", "auto", "plan", "docs"]
    assert start["mode_help"]["docs"] == "only docs"
    assert agent.call("set_mode", mode="docs")["ok"]
    events = agent.turn("run: touch x") + agent.turn("write a.txt: x")
    assert [e.get("refused", False) for e in events if e["type"] == "tool_result"] == [True, False]
    assert (agent.cwd / "a.txt").exists()
