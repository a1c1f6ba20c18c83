"""The magics with an ACP agent behind (``acp_agent.py``, a real process) in an in-process shell: nobody can be asked."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from acp_remote import RemoteAgent
from IPython.core.interactiveshell import InteractiveShell

from hm_jupyter import catalog as catalog_module
from hm_jupyter.errors import AgentError, AgentNotFound, NotSupported, SignInRequired, UsageError
from hm_jupyter.notebook.registry import registry
from hm_jupyter.session.runtime import runtime

from .test_magics import complete, run

AGENT = [sys.executable, str(Path(__file__).parent.parent / "helpers" / "acp_agent.py")]
SECRET = "sk-only-for-this-test"


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's own agents: ``one`` speaks v1, ``two`` v2, ``shy`` wants a sign-in."""
    file = tmp_path / "agents.toml"
    saved = tmp_path / "saved"
    file.write_text(
        f"[agents.one]\ntitle = 'Agent one'\ncommand = {[*AGENT, '--v1', '--store', str(saved)]}\nasks = 'ask'\n"
        f"[agents.two]\ncommand = {[*AGENT, '--v2']}\nasks = 'ask'\nmode = 'ask'\n"
        f"[agents.shy]\ncommand = {[*AGENT, '--v1', '--auth', '--store', str(tmp_path / 'shy')]}\nasks = 'ask'\n"
    )
    monkeypatch.setattr(catalog_module, "own_file", lambda: file)
    monkeypatch.chdir(tmp_path)
    return file


# ---- which agents there are ----------------------------------------------------------------------------------------


def test_agents_lists_those_here_first_and_how_to_install_the_others(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch, own: Path
):
    monkeypatch.setenv("MISTRAL_API_KEY", SECRET)
    run(shell, "table = %hm agents")
    table = shell.user_ns["table"]
    rows = {row[0].split("\n")[0]: row for row in table.rows}
    assert list(rows)[:5] == ["builtin", "hm", "one", "two", "shy"]
    assert rows["one"][1:4] == ("Agent one", sys.executable, "ask")
    assert "npm install -g @google/gemini-cli@" in rows["gemini"][2]
    assert "Node.js 20" in rows["gemini"][2]
    assert "Begins in mode auto" in rows["claude-agent-acp"][4]
    assert rows["claude-agent-acp"][3] == "default"
    assert "= claude" in rows["claude-agent-acp"][0] or "= claude" in str([r[0] for r in table.rows])
    assert "MISTRAL_API_KEY is set" in rows["vibe"][4]
    assert SECRET not in table.text()
    assert str(own) in table.note


def test_a_file_of_ones_own_that_is_not_right_is_said_where_agents_are_listed(shell: InteractiveShell, own: Path):
    own.write_text("[agents.x]\ncommand = 'x'\n")
    with pytest.raises(UsageError, match=r"agents\.x\.command \(line 2\)"):
        run(shell, "%hm agents")


def test_start_by_name_says_who_is_there_and_warns_of_a_mode_that_never_asks(shell: InteractiveShell):
    said, _ = run(shell, "%hm start one")
    assert said == "one is ready (small, mode ask).\n"
    said, _ = run(shell, "%hm start one --name bold --mode yolo --set effort=high --set web=on")
    assert "bold: one is ready (small, mode yolo)." in said
    assert "may act without asking" in said
    assert {o.id: o.value for o in registry.get().options}["effort"] == "high"


def test_start_of_a_command_in_a_variable_speaks_acp(shell: InteractiveShell):
    shell.user_ns["mine"] = [*AGENT, "--v2"]
    assert "acp_agent is ready" in run(shell, "%hm start mine")[0]
    assert "ACP v2" in registry.get().state.protocol


def test_the_default_agent_comes_from_the_environment_so_the_same_notebook_runs_on_any(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HM_JUPYTER_AGENT", " ".join([*AGENT, "--v2"]))
    run(shell, "%reload_ext hm_jupyter\nt = %hm say hello")
    assert shell.user_ns["t"].text == "hello"
    assert "ACP v2" in registry.get().state.protocol
    run(shell, "%config HmMagics.agent = 'one'\n%hm start")
    assert registry.get().state.agent == "one"


def test_what_is_near_a_name_is_offered(shell: InteractiveShell):
    with pytest.raises(AgentNotFound, match="Did you mean 'gemini'"):
        run(shell, "%hm start gemeni")


def test_a_token_is_taken_from_the_environment_only_and_told_nowhere(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(UsageError, match=r"--token \$NAME"):
        run(shell, f"%hm start https://127.0.0.1:1/acp --token {SECRET}")
    with pytest.raises(UsageError, match="NOT_THERE"):
        run(shell, "%hm start https://127.0.0.1:1/acp --header Authorization=$NOT_THERE")
    monkeypatch.setenv("MY_TOKEN", SECRET)
    with pytest.raises(Exception) as error:
        run(shell, "%hm start http://127.0.0.1:1/acp --token $MY_TOKEN")
    assert "127.0.0.1:1" in str(error.value)
    assert SECRET not in str(error.value)


# ---- settings, commands ---------------------------------------------------------------------------------------------


def test_options_are_listed_and_set_and_a_slip_is_seen(shell: InteractiveShell):
    run(shell, "%hm start two\ntable = %hm options")
    assert [row[:2] for row in shell.user_ns["table"].rows] == [
        ("mode", "ask"), ("model", "small"), ("effort", "low"), ("web", "off"),
    ]  # fmt: skip
    assert run(shell, "%hm set effort high\n%hm set web on")[0] == "effort = high\nweb = on\n"
    assert {o.id: o.value for o in registry.get().options} == {
        "mode": "ask",
        "model": "small",
        "effort": "high",
        "web": True,
    }
    for line, said in (
        ("%hm set efort high", "did you mean effort?"),
        ("%hm set approve all", "%hm config approve=all"),
        ("%hm set effort huge", "low, high"),
        ("%hm set sail today", "%hm -- set sail today"),
        ("%hm set", "%hm set NAME VALUE"),
    ):
        with pytest.raises(UsageError) as error:
            run(shell, line)
        assert said in str(error.value)


def test_the_agents_commands_are_listed_and_sent_as_prompts(shell: InteractiveShell):
    run(shell, "%hm start one\n%hm say x\ntable = %hm commands")
    assert ("/say what to say", "Do say.") in shell.user_ns["table"].rows
    run(shell, "t = %hm /say hello")
    assert shell.user_ns["t"].text == "hello"


def test_tab_completes_agents_settings_values_options_and_slash_commands(shell: InteractiveShell):
    assert {"gemini", "claude", "codex", "one"} <= set(complete(shell, "%hm start "))
    run(shell, "%hm start two\n%hm say x")
    assert complete(shell, "%hm /s") == ["/say", "/stream"]
    assert complete(shell, "%hm set ")[:4] == ["mode", "model", "effort", "web"]
    assert complete(shell, "%hm set effort h") == ["high"]
    assert complete(shell, "%hm set web o") == ["on", "off"]
    run(shell, "%hm --background ask\n%hm pending --wait 5")
    assert complete(shell, "%hm approve --option n") == ["no", "never"]
    run(shell, "%hm deny")


# ---- decisions -----------------------------------------------------------------------------------------------------


def test_a_call_is_decided_by_an_option_of_the_agents_own(shell: InteractiveShell):
    run(shell, "%hm start one\nt = %hm --background ask; ask\nshown = %hm pending --wait 5")
    shown = shell.user_ns["shown"].text()
    assert (
        "1. Allow" in shown and "2. Always allow this  (allows, and lasts)" in shown and "3. Reject  (denies)" in shown
    )
    assert "Decided" in run(shell, "%hm approve --option 3")[0]
    assert "Decided" in run(shell, "%hm approve --option always")[0]
    turn = shell.user_ns["t"].wait(10)
    assert [c.decision.outcome for c in turn.tool_calls] == ["denied", "allowed"]
    assert turn.tool_calls[1].decision.for_session


def test_a_form_is_listed_and_answered_by_fields(shell: InteractiveShell):
    run(shell, "%hm start two\nt = %hm --background -- form\nshown = %hm pending --wait 5")
    shown = shell.user_ns["shown"].text()
    assert "name (Name): text (2 to 20 characters), needed" in shown
    assert "count: a whole number (1 to 9), needed [3]" in shown
    with pytest.raises(UsageError, match="--field NAME=VALUE"):
        run(shell, "%hm answer shop")
    with pytest.raises(UsageError, match=r"name \(Name\): give text"):
        run(shell, "%hm answer --field name=x")
    run(shell, "%hm answer --field name=shop --field tags=x,z --field 'mail=me@example.org'")
    assert "shop" in shell.user_ns["t"].wait(10).text


# ---- saved sessions, work in the background ------------------------------------------------------------------------


def test_sessions_are_listed_resumed_and_deleted_but_no_prose_is_taken_for_an_id(shell: InteractiveShell):
    run(shell, "%hm start one\n%hm say it was here")
    first = registry.get().state.session_id
    run(shell, "table = %hm sessions")
    assert shell.user_ns["table"].rows[0][0] == first
    said, _ = run(shell, f"%hm resume {first} --name again")
    assert "again: one is ready" in said
    assert registry.get().state.session_id == first
    for sub in ("resume", "close", "delete"):
        with pytest.raises(UsageError, match=f"%hm -- {sub} work"):
            run(shell, f"%hm {sub} work")
    run(shell, "%hm start one --name third\n%hm say hello")
    assert "deleted" in run(shell, f"%hm delete {first}")[0]
    with pytest.raises(UsageError, match="%hm stop again"):
        run(shell, "%hm delete again")


def test_work_that_outlives_the_turn_is_stopped_alone(shell: InteractiveShell):
    run(shell, "%hm start two\n%hm background 20")
    session = registry.get()
    assert [b.title for b in session.background] == ["npm run watch"]
    (work,) = complete(shell, "%hm stop-work ")[:1]
    assert work == session.background[0].id
    run(shell, "table = %hm state")
    assert "npm run watch" in shell.user_ns["table"].text()
    assert "told to stop" in run(shell, f"%hm stop-work {work}")[0]
    run(shell, "%hm start one\n%hm say x")
    with pytest.raises(NotSupported, match="stop one call alone"):
        run(shell, "%hm stop-work anything")


def test_where_an_agent_offers_nothing_it_is_said_what_there_is_instead(shell: InteractiveShell):
    shell.user_ns["plain"] = [*AGENT, "--v1", "--plain"]
    run(shell, "%hm start plain\ntable = %hm options")
    assert "no settings of its own; %hm mode and %hm model" in shell.user_ns["table"].note
    with pytest.raises(UsageError, match=r"no setting 'effort'; it offers none; %hm mode and %hm model tell"):
        run(shell, "%hm set effort high")
    with pytest.raises(NotSupported, match=r"cannot list its sessions: if .* %hm resume ID"):
        run(shell, "%hm sessions")


# ---- signing in ------------------------------------------------------------------------------------------------------


def test_a_start_that_wants_a_sign_in_says_what_to_type_and_login_does_it(shell: InteractiveShell):
    with pytest.raises(SignInRequired, match="%hm login shy token"):
        run(shell, "%hm start shy")
    run(shell, "table = %hm login shy")
    assert [row[0] for row in shell.user_ns["table"].rows] == ["token", "login"]
    with pytest.raises(UsageError, match="did you mean token"):
        run(shell, "%hm login shy tokn")
    said, _ = run(shell, "%hm login shy token")
    assert "shy is ready" in said
    assert "Signed out of shy" in run(shell, "%hm logout")[0]
    assert "Signed in to shy" in run(shell, "%hm login token")[0]


def test_an_agent_given_by_a_variable_is_signed_in_to_by_that_variable(shell: InteractiveShell, tmp_path: Path):
    shell.user_ns["mine"] = [*AGENT, "--v1", "--auth", "--store", str(tmp_path / "mine")]
    with pytest.raises(SignInRequired, match=r"%hm login NAME METHOD, where NAME is a variable"):
        run(shell, "%hm start mine")
    run(shell, "table = %hm login mine")
    typed = {row[0]: row[2] for row in shell.user_ns["table"].rows}
    assert typed["token"].startswith("%hm login mine token")
    assert "or here: %hm login mine login" in typed["login"]
    assert "is ready" in run(shell, typed["token"].partition(",")[0])[0]


def test_a_sign_in_of_its_own_program_is_not_tried_where_nobody_can_answer_it(shell: InteractiveShell):
    with pytest.raises(UsageError, match=r"In a terminal: .*--auth .*--login"):
        run(shell, "%hm login shy login")


def test_an_agent_that_asks_nobody_to_sign_in_says_so(shell: InteractiveShell):
    assert "one asks nobody to sign in. It is ready." in run(shell, "%hm login one")[0]
    with pytest.raises(UsageError, match="keys from the environment"):
        run(shell, "%hm login builtin")


def test_a_sign_in_of_its_own_program_is_run_here_where_somebody_is(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HM_JUPYTER_HOST", "terminal")
    said, _ = run(shell, "%hm login shy login")
    assert "Running" in said and "--login" in said and "in a terminal" in said
    assert "Signed in.\n" in said
    assert "shy is ready" in said
    run(shell, "t = %hm say hello")
    assert shell.user_ns["t"].text == "hello"


def test_one_that_fails_says_how_it_ended_and_what_to_type_instead(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch, own: Path
):
    monkeypatch.setenv("HM_JUPYTER_HOST", "terminal")
    own.write_text(f"[agents.shy]\ncommand = {[*AGENT, '--v1', '--auth']}\n")
    monkeypatch.setattr("hm_jupyter.notebook.terminal.run", lambda argv, **_: 7)
    with pytest.raises(UsageError, match=r"ended with 7, so you are not signed in\. In a terminal"):
        run(shell, "%hm login shy login")


# ---- an agent that ended by itself -----------------------------------------------------------------------------------


def end() -> None:
    """The agent of the current session ends, and nobody has told it to."""
    session = registry.get()
    runtime().run(session.controller.transport.close)
    assert registry.lost() is session


def test_a_prompt_for_an_agent_that_has_ended_goes_to_no_other_and_the_session_is_taken_up_again(
    shell: InteractiveShell,
):
    run(shell, "%hm start one --name mine")
    run(shell, "%hm say first")
    before = registry.get()
    end()
    for line in ("%hm say second", "%hm sessions", "%hm fork", "%hm --session mine say second"):
        with pytest.raises(UsageError, match=rf"%hm resume {before.state.session_id}"):
            run(shell, line)
    state = shell.run_line_magic("hm", "state")
    assert ("status", "ended") in state.rows
    assert "Wrote" in run(shell, "%hm export last.txt")[0]
    said, _ = run(shell, "%hm resume")
    assert said.startswith("mine: one is ready")
    assert registry.names() == ["mine"] and registry.get().state.session_id == before.state.session_id
    run(shell, "%hm say third")
    assert registry.get().state.turn == 2
    assert registry.follows(registry.get())


def test_an_agent_that_has_ended_is_let_go_of_by_stop_or_when_another_takes_its_name(shell: InteractiveShell):
    run(shell, "%hm start one")
    end()
    run(shell, "%hm stop")
    with pytest.raises(UsageError, match="no session yet"):
        registry.get()
    run(shell, "%hm start one")
    end()
    run(shell, "%hm start one")
    assert registry.names() == ["one"] and registry.lost("one") is None


def test_a_session_that_is_taken_up_shows_where_it_was_left(shell: InteractiveShell):
    run(shell, "%hm start one")
    run(shell, "%hm say first thing")
    saved = registry.get().state.session_id
    said, _ = run(shell, f"%hm resume {saved}")
    assert "It goes on after this turn:\n" in said
    run(shell, "%hm say second thing")
    said, outputs = run(shell, f"%hm start one --name more --resume {saved}")
    assert "after 2 turns (%hm export writes them all); the last was:" in said
    [shown] = outputs
    assert "second thing" in shown.data["text/plain"] and "first thing" not in shown.data["text/plain"]


def test_a_fork_is_named(shell: InteractiveShell):
    run(shell, "%hm start one")
    run(shell, "%hm say first")
    said, _ = run(shell, "%hm fork")
    assert said == f"The session goes on as {registry.get().state.session_id}.\n"


# ---- an agent that runs elsewhere ------------------------------------------------------------------------------------


def test_a_token_that_was_renewed_in_the_environment_is_used_from_then_on(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
):
    with RemoteAgent("--v1", token="first") as remote:
        monkeypatch.setenv("TOKEN", "first")
        run(shell, f"%hm start {remote.http} --token $TOKEN --name far")
        run(shell, "%hm say hello")
        remote.admit("second")
        monkeypatch.setenv("TOKEN", "second")
        run(shell, "%hm say again")
        assert registry.last is not None and registry.last.text == "again"
        remote.admit("third")
        with pytest.raises(AgentError, match=r"401.*renew the token"):
            run(shell, "%hm say too late")
        monkeypatch.setenv("TOKEN", "third")
        run(shell, "%hm say there")  # the session has gone on meanwhile
        assert registry.last.text == "there"
        assert registry.names() == ["far"]
