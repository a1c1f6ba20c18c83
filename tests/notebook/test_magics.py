"""The magics in a real in-process shell, with an agent over a memory transport. Nobody can be asked here."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import RichOutput, capture_output

import hm_jupyter
from hm_jupyter.errors import ApprovalRequired, NotWaiting, UsageError
from hm_jupyter.notebook.cell import TurnTimeout
from hm_jupyter.notebook.registry import registry

from .fake_agent import ASK, END, QUESTION, FakeAgent, reply


@pytest.fixture
def agent(shell: InteractiveShell) -> FakeAgent:
    fake = FakeAgent()
    registry.add(fake.open(), follows=True)
    return fake


def run(shell: InteractiveShell, code: str) -> tuple[str, list[RichOutput]]:
    """Run a cell; what it printed and displayed. Raises what it raised."""
    with capture_output() as captured:
        result = shell.run_cell(code)
    result.raise_error()
    return captured.stdout, list(captured.outputs)


# ---- prompts ---------------------------------------------------------------------------------------------------------


def test_the_cell_is_sent_as_it_is_with_no_variable_expanded(shell: InteractiveShell, agent: FakeAgent):
    agent.says(*reply())
    shell.user_ns["x"] = "EXPANDED"
    text = """what is {x} and $x and {not_there!r}?
  "double" 'single' \\n \\\\ `ticks` %percent %%time !bang ?

ende"""
    run(shell, f"%%hm\n{text}")
    assert agent.heard_first("prompt")["text"] == text


def test_a_line_is_sent_as_it_is(shell: InteractiveShell, agent: FakeAgent):
    agent.says(*reply())
    run(shell, "%hm what is {x} and $x, 'quoted\" -- and --so on? ")
    assert agent.heard_first("prompt")["text"].rstrip() == "what is {x} and $x, 'quoted\" -- and --so on?"


@pytest.mark.parametrize(
    ("cell", "sent"),
    [
        ("%hm why does the join drop 312 rows?", ["why does the join drop 312 rows?"]),
        ("t = %hm why?", ["why?"]),
        ("if True:\n    %hm is it (so?", ["is it (so?"]),
        ("%hm what's this??\nt = %hm a = {b}?\nx = 1", ["what's this??", "a = {b}?"]),
        ('x = """\n%hm not a magic?\n"""', []),
        ("x = 7\nhm = 4\ny = x %hm", []),
    ],
)
def test_a_question_mark_at_the_end_goes_to_the_agent(
    shell: InteractiveShell, agent: FakeAgent, cell: str, sent: list[str]
):
    agent.says(*reply())
    stdout, _ = run(shell, cell)
    assert [c["text"] for c in agent.heard] == sent
    assert "not found" not in stdout


def test_the_help_of_ipython_still_works(shell: InteractiveShell):
    assert "%hm help shows all of it" in str(run(shell, "%hm?"))
    assert "%hm help shows all of it" in str(run(shell, "%%hm?"))


def test_a_finished_turn_is_shown_once_as_html_markdown_and_text(shell: InteractiveShell, agent: FakeAgent):
    agent.says(*reply("**312** rows"))
    _, outputs = run(shell, "%hm why?")
    assert len(outputs) == 1
    data = outputs[0].data
    assert {"text/html", "text/markdown", "text/plain"} <= set(data)
    assert "application/vnd.jupyter.widget-view+json" not in data
    assert "312" in data["text/plain"]


def test_the_turn_is_the_value_but_is_not_shown_twice(shell: InteractiveShell, agent: FakeAgent):
    agent.says(*reply("hello"))
    run(shell, "t = %hm say hello")
    assert shell.user_ns["t"].text == "hello"
    assert hm_jupyter.last is shell.user_ns["t"]
    stdout, outputs = run(shell, "%%hm\nagain")
    assert shell.user_ns["_"].number == 2
    assert "<Turn" not in stdout
    assert len(outputs) == 1
    stdout, outputs = run(shell, "t")
    assert "hello" in stdout + str([o.data for o in outputs])


def test_the_turn_can_be_kept_under_a_name_even_if_it_fails(shell: InteractiveShell, agent: FakeAgent):
    agent.says(*ASK)
    agent.on["approve"] = lambda c: [{"type": "approval", "call_id": "call_1", "allow": False}, END]
    with pytest.raises(ApprovalRequired):
        run(shell, "%%hm --as job\nrun it")
    assert shell.user_ns["job"].tool_calls[0].decision.outcome == "denied"
    with pytest.raises(UsageError, match="no name for a variable"):
        run(shell, "%hm --as 2x go")


def test_variables_go_along_as_text_and_pictures(shell: InteractiveShell, agent: FakeAgent):
    agent.says(*reply())
    run(shell, "class box: rows = ['a', 'b']\nnote = 'the note'\nfrom PIL import Image\npic = Image.new('RGB', (2, 2))")
    run(shell, "%%hm --attach note --attach box.rows --image pic\nlook")
    prompt = agent.heard_first("prompt")
    assert prompt["text"].startswith("look\n")
    assert "the note" in prompt["text"]
    assert "['a', 'b']" in prompt["text"]
    assert prompt["images"][0]["data"].startswith("iVBOR")


def test_variables_of_a_function_are_found(shell: InteractiveShell, agent: FakeAgent):
    agent.says(*reply())
    run(
        shell,
        "def ask():\n    inner = 'from inside'\n    get_ipython().run_line_magic('hm', '--attach inner what is it')\nask()",
    )
    assert "from inside" in agent.heard_first("prompt")["text"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--attach not_there what", "no variable 'not_there'"),
        ("--attach note.nope what", "AttributeError"),
        ("--attach note.upper() what", "give a variable"),
        ("--image missing.png what", "no such file"),
        ("--image note what", "--image note:"),
        ("--session nobody what", "no session called 'nobody'"),
    ],
)
def test_what_cannot_go_along_is_said_before_anything_is_sent(
    shell: InteractiveShell, agent: FakeAgent, line: str, says: str
):
    shell.user_ns["note"] = "text"
    with pytest.raises(UsageError) as error:
        run(shell, f"%hm {line}")
    assert says in str(error.value)
    assert agent.heard == []


def test_what_needs_leave_is_refused_with_a_note_when_nobody_can_be_asked(shell: InteractiveShell, agent: FakeAgent):
    agent.says(*ASK)
    agent.on["approve"] = lambda c: [{"type": "approval", "call_id": "call_1", "allow": False}, *reply("then not")]
    with capture_output() as captured:
        result = shell.run_cell("%hm list the files")
    assert isinstance(result.error_in_exec, ApprovalRequired)
    assert result.error_in_exec.requests == ["ls"]
    decision = agent.heard_first("approve")
    assert (decision["allow"], bool(decision["note"])) == (False, True)
    assert len(captured.outputs) == 1
    assert "then not" in captured.outputs[0].data["text/plain"]


def test_an_error_is_one_clear_line_and_not_a_traceback_through_our_code(shell: InteractiveShell, agent: FakeAgent):
    with capture_output() as captured:
        shell.run_cell("%hm aprove")
    assert captured.stdout.count("\n") <= 2, captured.stdout
    assert "did you mean %hm approve?" in captured.stdout
    with capture_output() as captured:
        shell.run_cell("import hm_jupyter\n\ndef f():\n    raise hm_jupyter.UsageError('so not \\x1b[2J\\u202e')\nf()")
    assert "line 5 of the cell" in captured.stdout
    assert "line 4 of the cell in f()" in captured.stdout
    assert "\x1b[2J" not in captured.stdout
    assert "\u202e" not in captured.stdout


@pytest.mark.parametrize("policy", ["all", "{'approve': ['allow']}", "lambda request: {'allow': True, 'note': 'fine'}"])
def test_a_policy_decides_when_nobody_can_be_asked(shell: InteractiveShell, agent: FakeAgent, policy: str):
    agent.says(*ASK)
    agent.on["approve"] = lambda c: [{"type": "approval", "call_id": "call_1", "allow": True}, *reply()]
    option = policy if policy == "all" else "alone"
    run(shell, f"alone = {policy}" if option == "alone" else "pass")
    run(shell, f"%%hm --when-alone {option}\ngo")
    assert agent.heard_first("approve")["allow"] is True


def test_the_setting_approve_holds_for_sessions_the_magics_started(shell: InteractiveShell, agent: FakeAgent):
    agent.says(*ASK)
    agent.on["approve"] = lambda c: [{"type": "approval", "call_id": "call_1", "allow": True}, *reply()]
    run(shell, "%hm config approve=all")
    run(shell, "%hm go")
    assert agent.heard_first("approve")["allow"] is True


def test_the_setting_approve_does_not_loosen_a_session_with_a_policy_of_its_own(shell: InteractiveShell):
    fake = FakeAgent()
    registry.add(fake.open())
    fake.says(*ASK)
    fake.on["approve"] = lambda c: [{"type": "approval", "call_id": "call_1", "allow": c["allow"]}, *reply()]
    run(shell, "%hm config approve=all")
    with pytest.raises(ApprovalRequired):
        run(shell, "%hm go")


def test_state_says_who_decides(shell: InteractiveShell, agent: FakeAgent):
    def said() -> str:
        run(shell, "state_shown = %hm state")
        return str(dict(shell.user_ns["state_shown"].rows)["approve"])

    assert said() == "ask"
    run(shell, "%hm config approve=edits")
    assert said() == "edits (the setting); ask for prompts from Python"
    registry.add(FakeAgent().open(), "other")  # has a policy of its own
    assert said() == "ask"


def test_a_turn_that_takes_too_long_is_stopped(shell: InteractiveShell, agent: FakeAgent):
    agent.on["abort"] = lambda c: [END]
    with pytest.raises(TurnTimeout, match=r"more than 0\.05 s"):
        run(shell, "%hm --timeout 0.05 wait for ever")
    assert "abort" in agent.kinds()


# ---- in the background --------------------------------------------------------------------------------------------------


def test_a_background_turn_is_steered_decided_and_answered_from_other_cells(shell: InteractiveShell, agent: FakeAgent):
    agent.says(*ASK)
    agent.on["approve"] = lambda c: [{"type": "approval", "call_id": "call_1", "allow": True}, *QUESTION]
    agent.on["answer"] = lambda c: reply("noted")
    run(shell, "%%hm --background --as job\nlong work")
    run(shell, "%hm steer use a log axis")
    run(shell, "%%hm follow\nthen write it\nto report.md")
    run(shell, "%hm approve --note fine")
    run(shell, "%hm answer q_1 sqlite, please")
    assert agent.heard_first("steer")["text"] == "use a log axis"
    assert agent.heard_first("follow_up")["text"] == "then write it\nto report.md"
    assert agent.heard_first("approve")["note"] == "fine"
    assert agent.heard_first("answer")["text"] == "sqlite, please"
    assert shell.user_ns["job"].wait(5).text == "noted"


def test_waiting_for_a_background_turn_where_nobody_can_be_asked_never_hangs(shell: InteractiveShell, agent: FakeAgent):
    agent.says(*ASK)
    agent.on["approve"] = lambda c: [{"type": "approval", "call_id": "call_1", "allow": False}, *reply()]
    run(shell, "%%hm --background --as job\nlong work")
    with pytest.raises(ApprovalRequired):
        run(shell, "job.wait(5)")


def test_denying_takes_a_note_with_or_without_the_call(shell: InteractiveShell, agent: FakeAgent):
    agent.says(*ASK)
    agent.on["approve"] = lambda c: [{"type": "approval", "call_id": "call_1", "allow": False}, END]
    run(shell, "%hm --background go")
    run(shell, "%hm deny run only the store's tests")
    assert agent.heard_first("approve")["note"] == "run only the store's tests"
    agent.heard.clear()
    run(shell, "%hm --background go")
    run(shell, "%hm deny call_1 no")
    assert agent.heard_first("approve")["note"] == "no"


def test_pending_shows_exactly_what_would_run(shell: InteractiveShell, agent: FakeAgent):
    run(shell, "%hm --background go")
    agent.peer.say(*ASK)
    run(shell, "%hm pending --wait 5")
    table = shell.run_line_magic("hm", "pending")
    assert table.rows[0][:3] == ("call_1", "wants leave", "ls\nin /w")


@pytest.mark.parametrize("line", ["approve", "deny no", "answer x", "approve call_9"])
def test_deciding_what_does_not_wait_says_so(shell: InteractiveShell, agent: FakeAgent, line: str):
    with pytest.raises(NotWaiting, match="%hm pending"):
        run(shell, f"%hm {line}")


def test_abort_stops_the_turn_and_keeps_the_agent(shell: InteractiveShell, agent: FakeAgent):
    agent.on["abort"] = lambda c: [END]
    run(shell, "%hm --background go")
    run(shell, "%hm abort")
    assert hm_jupyter.last.wait(5).done
    agent.says(*reply("still here"))
    run(shell, "%hm hello you")
    assert hm_jupyter.last.text == "still here"


# ---- sessions, the agent ---------------------------------------------------------------------------------------------------


def test_mode_model_effort_compact_reach_the_agent(shell: InteractiveShell, agent: FakeAgent):
    run(shell, "%hm mode plan")
    run(shell, "%hm model large --provider demo")
    run(shell, "%hm effort high")
    run(shell, "%hm compact --focus 'the schema of orders'")
    assert agent.heard_first("set_mode")["mode"] == "plan"
    assert agent.heard[1]["model"] == "large"
    assert agent.heard[1]["provider"] == "demo"
    assert agent.heard[2]["effort"] == "high"
    assert "model" not in agent.heard[2]
    assert agent.heard_first("compact")["focus"] == "the schema of orders"


def test_a_mode_the_agent_does_not_offer_is_refused_here(shell: InteractiveShell, agent: FakeAgent):
    with pytest.raises(UsageError, match="did you mean plan"):
        run(shell, "%hm mode paln")
    with pytest.raises(UsageError, match="one of off, low"):
        run(shell, "%hm effort extreme")
    assert agent.heard == []


def test_state_sessions_and_fork_are_shown(shell: InteractiveShell, agent: FakeAgent):
    agent.data["list_sessions"] = {"sessions": [{"id": "S0", "title": "old <b>one</b>", "turns": 3}]}
    agent.data["fork"] = {"id": "S2"}
    state = shell.run_line_magic("hm", "state")
    assert ("mode", "ask") in state.rows
    saved = shell.run_line_magic("hm", "sessions --all")
    assert saved.rows[0][:2] == ("S0", "old <b>one</b>")
    assert "<b>" not in saved.html()
    assert agent.heard_first("list_sessions")["all"] is True
    stdout, _ = run(shell, "%hm fork")
    assert "S2" in stdout


@pytest.mark.parametrize("kind", ["html", "md", "txt", "json", "jsonl"])
def test_export_writes_every_format_it_offers(
    shell: InteractiveShell, agent: FakeAgent, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, kind: str
):
    monkeypatch.chdir(tmp_path)
    agent.says(*reply("hello"))
    run(shell, "%hm go")
    run(shell, f"%hm export --format {kind}")
    (written,) = tmp_path.glob(f"*.{kind}")
    assert "hello" in written.read_text()


def test_export_writes_the_transcript(shell: InteractiveShell, agent: FakeAgent, tmp_path: Any):
    agent.says(*reply("the answer"))
    run(shell, "%hm go")
    shell.user_ns["target"] = tmp_path / "run.md"
    run(shell, "%hm export $target")
    assert "the answer" in (tmp_path / "run.md").read_text()


def test_sessions_have_names_and_one_is_current(shell: InteractiveShell, agent: FakeAgent):
    second = FakeAgent()
    shell.user_ns["mine"] = second.open("second")
    run(shell, "%hm use mine")
    assert registry.names() == ["fake", "mine"]
    second.says(*reply())
    run(shell, "%hm to the second")
    run(shell, "%hm --session fake --background to the first")
    assert second.kinds() == ["prompt"]
    assert agent.kinds() == ["prompt"]
    run(shell, "%hm stop mine")
    assert registry.names() == ["fake"]
    assert hm_jupyter.current is registry.get("fake")


@pytest.mark.parametrize("line", ["use pandas", "stop guessing"])
def test_a_session_that_is_not_there_may_have_been_a_prompt(shell: InteractiveShell, agent: FakeAgent, line: str):
    with pytest.raises(UsageError, match=f"no session called .* write %hm -- {line}"):
        run(shell, f"%hm {line}")


# ---- settings, help, completion ----------------------------------------------------------------------------------------


def test_settings_are_traitlets(shell: InteractiveShell):
    run(shell, "%config HmMagics.approve = 'edits'")
    run(shell, "%hm config timeout=90")
    run(shell, "%hm config background=on")
    values = {row[0]: row[1] for row in shell.run_line_magic("hm", "config").rows}
    assert (values["approve"], values["timeout"], values["background"]) == ("edits", "90", "true")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("approve=sure", "one of ask, edits, all, deny"),
        ("aprove=all", "did you mean approve"),
        ("timeout=-1", "a number, 0 or more"),
        ("background=perhaps", "true or false"),
        ("api_key=sk-1", "keys and tokens are not settings"),
    ],
)
def test_a_wrong_setting_says_what_is_right(shell: InteractiveShell, line: str, says: str):
    with pytest.raises(UsageError) as error:
        shell.run_line_magic("hm", f"config {line}")
    assert says.lower() in str(error.value).lower()


def test_no_setting_is_a_secret(shell: InteractiveShell):
    names = {row[0] for row in shell.run_line_magic("hm", "config").rows}
    assert not [n for n in names if any(word in n for word in ("key", "token", "secret", "password"))]


def test_help_names_every_subcommand_and_every_option(shell: InteractiveShell):
    from hm_jupyter.notebook.subcommands import PROMPT_OPTIONS, SUBCOMMANDS

    page = shell.run_line_magic("hm", "help")
    for name in SUBCOMMANDS:
        assert f"%hm {name}" in page.text
        assert f"%hm {name}" in page.html
        assert name in shell.run_line_magic("hm", f"help {name}").text
    for option in PROMPT_OPTIONS:
        assert option.flag in page.text
    with pytest.raises(UsageError, match="did you mean %hm help steer"):
        shell.run_line_magic("hm", "help stear")


def complete(shell: InteractiveShell, text: str) -> list[str]:
    return list(shell.complete(None, text, len(text))[1])


def test_tab_completes_subcommands_options_values_names_and_calls(shell: InteractiveShell, agent: FakeAgent):
    agent.says(*ASK)
    run(shell, "%hm --background go")
    run(shell, "%hm pending --wait 5")
    frame = shell.user_ns["my_table"] = [1]
    assert frame
    assert complete(shell, "%hm st") == ["start", "stop", "state", "steer", "stop-work", "stats"]
    assert "import" not in complete(shell, "%hm ")
    assert complete(shell, "%hm ")[:2] == ["start", "agents"]
    assert complete(shell, "%%hm --ap") == ["--approve"]
    assert complete(shell, "%hm --approve ") == ["ask", "edits", "all", "deny"]
    assert complete(shell, "%hm --approve=e") == ["edits"]
    assert complete(shell, "%hm approve ca") == ["call_1"]
    assert complete(shell, "%hm deny --se") == ["--session"]
    assert complete(shell, "%hm --session f") == ["fake"]
    assert complete(shell, "%hm stop f") == ["fake"]
    assert complete(shell, "%hm --attach my_t") == ["my_table"]
    assert complete(shell, "%hm mode p") == ["plan"]
    assert complete(shell, "%hm config app") == ["approve"]
    assert "steer" not in complete(shell, "%hm why does the st")


def test_unloading_takes_everything_away_and_loading_again_brings_it_back(shell: InteractiveShell):
    shell.run_line_magic("unload_ext", "hm_jupyter")
    assert shell.find_line_magic("hm") is None
    assert complete(shell, "%hm st") == []
    shell.run_line_magic("load_ext", "hm_jupyter")
    shell.run_line_magic("reload_ext", "hm_jupyter")
    assert complete(shell, "%hm st") == ["start", "stop", "state", "steer", "stop-work", "stats"]
    assert sum(type(c).__name__ == "HmMagics" for c in shell.configurables) == 1


def test_loading_imports_nothing_heavy():
    code = """
import sys, time
from IPython.core.interactiveshell import InteractiveShell
ip = InteractiveShell.instance()
before, started = set(sys.modules), time.process_time()
ip.run_line_magic("load_ext", "hm_jupyter")
cost = time.process_time() - started
new = set(sys.modules) - before
print(cost, *sorted(m for m in new if m.split(".")[0] in
    ("pydantic", "anyio", "anywidget", "ipywidgets", "PIL", "markdown_it", "nh3", "pygments", "asyncio")))
"""
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    ).stdout.split()
    assert out[1:] == []
    assert float(out[0]) <= 0.15
