"""What was meant for one agent goes to no other without a word, looking starts none, and each line shows its answer."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from hm_jupyter import catalog as catalog_module
from hm_jupyter.errors import AgentNotFound, HmError, UsageError
from hm_jupyter.notebook.registry import registry
from hm_jupyter.notebook.show import Table
from hm_jupyter.notebook.subcommands import SUBCOMMANDS

from .test_magics import run

AGENT = [sys.executable, str(Path(__file__).parent.parent / "helpers" / "acp_agent.py")]
DIES = [sys.executable, "-c", "raise SystemExit('no key is set')"]


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's own agents: ``one`` is there, ``dies`` ends at once, ``gone`` has no program."""
    file = tmp_path / "agents.toml"
    file.write_text(
        f"[agents.one]\ncommand = {[*AGENT, '--v1']}\nasks = 'ask'\n"
        f"[agents.dies]\ncommand = {DIES}\n"
        "[agents.gone]\ntitle = 'Agent gone'\ncommand = ['no-such-program', 'acp']\n"
        f"[agents.shy]\ncommand = {[*AGENT, '--v1', '--auth', '--store', str(tmp_path / 'shy')]}\n"
    )
    monkeypatch.setattr(catalog_module, "own_file", lambda: file)
    monkeypatch.chdir(tmp_path)
    return file


# ---- a start that failed -------------------------------------------------------------------------------------------

FAILING = [
    ("%hm start gone", "%hm start gone"),
    ("%hm start dies", "%hm start dies"),
    ("%hm start nobody-knows-it", "%hm start nobody-knows-it"),
    ("%hm start shy", "%hm start shy"),
    ("%hm start one --mode not-a-mode", "%hm start one"),
    ("%hm start one --token sk-secret", "%hm start one"),
    ("%hm start http://name:sk-secret@127.0.0.1:1/acp", "%hm start http://127.0.0.1:1/acp"),
    ("%hm --agent gone hello", "%hm start gone"),
    ("%hm login shy nothing", "%hm login shy"),
]


@pytest.mark.parametrize(("line", "again"), FAILING)
def test_after_a_start_that_failed_a_prompt_goes_to_nobody_and_it_is_said_what_to_type(
    shell: InteractiveShell, line: str, again: str
):
    with pytest.raises(HmError):
        run(shell, line)
    for next_one in ("%%hm\nhello", "%hm hello", "%hm options", "%hm set effort high", "%hm state", "%hm resume"):
        with pytest.raises(UsageError) as error:
            run(shell, next_one)
        assert again in str(error.value), next_one
        assert "%hm start builtin" in str(error.value)
        assert "sk-secret" not in str(error.value)
    assert registry.names() == []


def test_a_start_that_succeeds_makes_up_for_one_that_failed(shell: InteractiveShell):
    with pytest.raises(HmError):
        run(shell, "%hm start dies")
    run(shell, "%hm start one\nt = %hm say hello")
    assert shell.user_ns["t"].text == "hello"
    assert registry.failed() == ""


def test_what_was_meant_for_a_failed_start_does_not_go_to_a_session_that_is_open(shell: InteractiveShell):
    run(shell, "%hm start one")
    with pytest.raises(HmError):
        run(shell, "%hm start dies")
    with pytest.raises(UsageError, match=r"dies could not be started.*%hm use one"):
        run(shell, "%hm say hello")
    run(shell, "t = %hm --session one say named")
    assert shell.user_ns["t"].text == "named", "who is named is meant"
    run(shell, "%hm use one\nt = %hm say chosen")
    assert shell.user_ns["t"].text == "chosen"


def test_a_name_whose_start_failed_says_so_until_it_is_there(shell: InteractiveShell):
    run(shell, "%hm start one")
    with pytest.raises(HmError):
        run(shell, "%hm start dies --name mine")
    for line in ("%hm --session mine hello", "%hm options --session mine", "%hm use mine"):
        with pytest.raises(UsageError, match=r"mine \(dies\) could not be started.*%hm start dies --name mine"):
            run(shell, line)
    run(shell, "%hm start one --name mine\nt = %hm --session mine say hello")
    assert shell.user_ns["t"].text == "hello"


def test_an_agent_the_settings_name_is_tried_again_and_never_replaced(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch, own: Path
):
    monkeypatch.setenv("HM_JUPYTER_AGENT", "gone")
    run(shell, "%reload_ext hm_jupyter")
    for line in ("%hm hello", "%%hm\nhello", "%hm hello"):
        with pytest.raises(AgentNotFound, match="Agent gone is not here"):
            run(shell, line)
    with pytest.raises(AgentNotFound):
        run(shell, "%hm start")
    with pytest.raises(UsageError, match="%hm start "):
        run(shell, "%hm hello")
    assert registry.names() == []
    own.write_text(f"[agents.gone]\ncommand = {[*AGENT, '--v1']}\n")
    run(shell, "%hm start\nt = %hm say there")
    assert shell.user_ns["t"].text == "there"


@pytest.mark.parametrize("name", ["gone", "geminy", "nobody-knows-it"])
def test_an_agent_that_is_not_found_through_a_magic_is_told_in_magics(shell: InteractiveShell, name: str):
    with pytest.raises(AgentNotFound) as error:
        run(shell, f"%hm start {name}")
    assert "%hm agents" in str(error.value) and "%hm start agent" in str(error.value)
    assert "hm.connect" not in str(error.value)


# ---- looking starts nothing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    ["options", "commands", "mode", "model", "effort", "sessions", "state", "mode ask", "model small", "effort high",
     "set effort high", "compact", "fork", "stop-work", "export x.html", "logout"],
)  # fmt: skip
def test_looking_and_setting_start_no_agent_and_say_what_to_type(shell: InteractiveShell, line: str):
    assert line.split()[0] in SUBCOMMANDS
    with pytest.raises(UsageError, match=r"none is open; %hm start begins one"):
        run(shell, f"%hm {line}")
    assert registry.names() == []


# ---- each line shows its answer --------------------------------------------------------------------------------------


def tables(shell: InteractiveShell, code: str) -> list[str]:
    """The first word of each table a cell shows, in order; the last may be the cell's value, which IPython shows."""
    with capture_output() as captured:
        result = shell.run_cell(code)
    result.raise_error()
    shown = [o.data["text/plain"] for o in captured.outputs]
    shown += [] if result.result is None else [repr(result.result)]
    return [text.split()[0] for text in shown]


def test_every_line_of_a_cell_shows_its_table(shell: InteractiveShell):
    run(shell, "%hm start one")
    assert tables(shell, "%hm agents\n%hm options\n%hm state") == ["agent", "name", "what"]
    assert tables(shell, "%hm options\nx = 1") == ["name"]
    assert tables(shell, "for _ in range(2):\n    %hm state") == ["what", "what"]
    assert tables(shell, "if True:\n    %hm state\n%hm options") == ["what", "name"]
    assert tables(shell, "%hm help start\n%hm help stop") == ["%hm", "%hm"]
    assert tables(shell, "def look():\n    %hm state\n\nlook()") == ["what"]


def test_a_table_that_is_assigned_is_a_value_and_is_not_shown(shell: InteractiveShell):
    run(shell, "%hm start one")
    assert tables(shell, "x = %hm options\n%hm state\ny = %hm state") == ["what"]
    assert isinstance(shell.user_ns["x"], Table) and isinstance(shell.user_ns["y"], Table)
    assert tables(shell, "%hm state\n_ = 1\nx") == ["what", "name"]


def test_a_turn_among_the_lines_is_shown_once(shell: InteractiveShell):
    run(shell, "%hm start one")
    alone = len(run(shell, "%hm say x")[1])
    assert len(run(shell, "%hm say x\n%hm say y")[1]) == 2 * alone


def test_unloading_takes_it_away_and_loading_twice_adds_it_once(shell: InteractiveShell):
    before = len(shell.ast_transformers)
    run(shell, "%reload_ext hm_jupyter")
    assert len(shell.ast_transformers) == before
    run(shell, "%unload_ext hm_jupyter")
    assert len(shell.ast_transformers) == before - 1
    run(shell, "%load_ext hm_jupyter")
