"""omp and pi: how they are started, in which mode, and with the gate."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from hm_jupyter.catalog import catalog
from hm_jupyter.connect import connect
from hm_jupyter.connect_omp import omp_shelf, omp_transport
from hm_jupyter.errors import AgentNotFound, NotSupported, StartError, UsageError
from hm_jupyter.launch import find
from hm_jupyter.omp_gate import path
from hm_jupyter.protocols.omp_flags import rpc_argv

NOTHING: dict[str, Any] = dict(connect.__kwdefaults__ or {})


def started(agent: Any, cwd: Path, **given: Any) -> tuple[list[str], dict[str, str | None]]:
    """The argument list and the variables of what would be started."""
    launch = find(agent, given.pop("protocol", None))
    argv, _, env = omp_transport(launch, {**NOTHING, **given}, str(cwd))._command
    return [str(word) for word in argv], dict(env or {})


def test_omp_is_started_asking_and_with_questions_of_the_model(tmp_path: Path) -> None:
    argv, env = started("omp", tmp_path)
    assert argv == ["omp", "--mode", "rpc-ui", "--approval-mode", "always-ask"]
    assert "HM_GATE" not in env


def test_pi_is_started_with_the_gate_and_told_to_ask_whatever_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HM_GATE", "yolo")
    argv, env = started("pi", tmp_path)
    assert argv == ["pi", "--mode", "rpc", "-e", str(path())]
    assert env["HM_GATE"] == "always-ask"
    assert started("pi", tmp_path, mode="write")[1]["HM_GATE"] == "write"


def test_the_gate_is_a_file_of_the_package() -> None:
    assert path().is_file()
    assert "tool_call" in path().read_text()


def test_a_command_of_ones_own_is_started_the_same_way(tmp_path: Path) -> None:
    argv, env = started(["node", "old/cli.js"], tmp_path, protocol="pi", args=["--thinking", "low"])
    assert argv == ["node", "old/cli.js", "--mode", "rpc", "-e", str(path()), "--thinking", "low"]
    assert env["HM_GATE"] == "always-ask"


def test_a_mode_in_the_command_itself_is_kept(tmp_path: Path) -> None:
    argv, _ = started(["omp", "--mode", "rpc"], tmp_path, protocol="omp")
    assert argv == ["omp", "--mode", "rpc", "--approval-mode", "always-ask"]


def test_omp_may_be_asked_for_by_our_gate_instead_of_its_own_dialogs(tmp_path: Path) -> None:
    argv, env = started("omp", tmp_path, mode="gate")
    assert argv[3:] == ["--approval-mode", "yolo", "-e", str(path())]
    assert env["HM_GATE"] == "always-ask"


@pytest.mark.parametrize(("agent", "mode"), [("omp", "ask"), ("pi", "gate"), ("pi", "YOLO")])
def test_a_mode_there_is_not_is_refused_before_anything_starts(agent: str, mode: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="always-ask"):
        started(agent, tmp_path, mode=mode)


def test_provider_model_folders_and_no_session(tmp_path: Path) -> None:
    argv, _ = started("omp", tmp_path, provider="mock", model="m-1", save=False, directories=[tmp_path])
    assert argv[5:] == ["--provider", "mock", "--model", "m-1", "--add-dir", str(tmp_path), "--no-session"]
    with pytest.raises(NotSupported, match="one folder"):
        started("pi", tmp_path, directories=[tmp_path])


def test_a_session_is_taken_up_by_its_file_and_the_latest_by_the_programs_own_word(tmp_path: Path) -> None:
    folder = tmp_path / "pi" / "sessions" / "--elsewhere--"
    folder.mkdir(parents=True)
    file = folder / "2026-01-01T00-00-00-000Z_abc-1.jsonl"
    file.write_text('{"type":"session","id":"abc-1","cwd":"/elsewhere"}\n')
    env = {"PI_CODING_AGENT_DIR": str(tmp_path / "pi")}
    assert started("pi", tmp_path, session="abc", env=env)[0][-2:] == ["--session", str(file)]
    assert started("omp", tmp_path, session="abc", env=env)[0][-2:] == ["--resume", str(file)]
    assert started("pi", tmp_path, session="other", env=env)[0][-2:] == ["--session", "other"]
    assert started("omp", tmp_path, resume=True)[0][-1] == "--continue"
    with pytest.raises(UsageError, match="exclude each other"):
        rpc_argv(["pi"], "pi", session="x", latest=True)


def test_a_session_folder_among_the_arguments_is_where_sessions_are_looked_for(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "2026_abc.jsonl").write_text('{"type":"session","id":"abc","cwd":"/x"}\n')
    for words in (["--session-dir", "mine"], [f"--session-dir={mine}"]):
        found = omp_shelf(find("pi"), {**NOTHING, "args": words}, str(tmp_path)).sessions(all=True)
        assert [s["id"] for s in found] == ["abc"]


@pytest.mark.parametrize("given", [{"max_steps": 3}, {"mcp_servers": [{"name": "x"}]}, {"sign_in": "x"}])
def test_what_their_rpc_has_no_word_for_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(NotSupported, match="RPC of pi"):
        connect("pi", **given)


def test_an_address_cannot_speak_it() -> None:
    with pytest.raises(UsageError, match="with a program only"):
        connect("https://host/rpc", protocol="omp")


@pytest.mark.parametrize(("name", "title"), [("omp", "oh-my-pi"), ("pi", "pi"), ("oh-my-pi", "oh-my-pi")])
def test_where_the_program_is_not_it_is_told_how_to_get_it(
    name: str, title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AgentNotFound, match=f"{title} is not here.*npm install -g"):
        connect(name)


def test_the_catalog_says_what_they_do_by_themselves_and_what_we_do_about_it() -> None:
    for name in ("omp", "pi"):
        found = catalog().get(name)
        assert found is not None
        assert found[1].protocol == name
        assert found[1].mode == "always-ask"
        assert "Asks for nothing" in found[1].warning


def test_what_a_program_says_on_standard_error_as_it_gives_up_is_shown(tmp_path: Path) -> None:
    program = tmp_path / "omp"
    program.write_text("#!/bin/sh\necho 'No models available.' >&2\nexit 1\n")
    program.chmod(0o755)
    path_now = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    with pytest.raises(StartError, match="No models available"):
        connect("omp", env={"PATH": path_now}, cwd=tmp_path)
