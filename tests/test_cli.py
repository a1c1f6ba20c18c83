"""The command line: what it dispatches, and what the doctor finds."""

from __future__ import annotations

import configparser
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hm_jupyter
from hm_jupyter import cli, doctor


def run(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hm_jupyter.cli", *args],
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(Path(hm_jupyter.__file__).parent.parent), **env},
    )


def test_the_version_is_the_package_s() -> None:
    assert run("--version").stdout == f"hm-jupyter {hm_jupyter.__version__}\n"


@pytest.mark.parametrize("args", [(), ("agnet",), ("--versoin",)])
def test_what_cannot_be_right_exits_2_and_leaves_stdout_to_programs(args: tuple[str, ...]) -> None:
    done = run(*args)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "usage: hm-jupyter agent" in done.stderr


def test_the_nbval_sanitizer_is_a_file_that_nbval_can_read() -> None:
    path = Path(run("nbval-sanitizer").stdout.strip())
    config = configparser.RawConfigParser()
    config.read(path)
    assert config.sections()
    for section in config.sections():
        re.compile(config.get(section, "regex"))
        assert config.get(section, "replace")


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    text = capsys.readouterr().out
    assert "agent" in text
    assert "doctor" in text


def test_the_agent_gets_its_own_arguments_untouched() -> None:
    done = run("agent", "--no-such-flag")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "--no-such-flag" in done.stderr


def test_the_doctor_finds_a_missing_bundle_and_says_what_to_do(tmp_path: Path) -> None:
    found = doctor._bundle(tmp_path)
    assert found.level == "bad"
    assert "make bundle" in found.todo


@pytest.mark.parametrize(("enabled", "level"), [(True, "ok"), (False, "bad")])
def test_the_doctor_tells_whether_the_server_extension_is_enabled(tmp_path: Path, enabled: bool, level: str) -> None:
    pytest.importorskip("jupyter_server")
    file = tmp_path / doctor.CONFIG
    file.parent.mkdir()
    file.write_text(json.dumps({"ServerApp": {"jpserver_extensions": {"hm_jupyter": enabled}}}))
    assert doctor._server([str(tmp_path)]).level == level


def test_the_doctor_says_how_to_enable_a_server_extension_nobody_named(tmp_path: Path) -> None:
    pytest.importorskip("jupyter_server")
    found = doctor._server([str(tmp_path)])
    assert found.level == "bad"
    assert "jupyter server extension enable hm_jupyter" in found.todo


def test_a_broken_configuration_file_is_named(tmp_path: Path) -> None:
    pytest.importorskip("jupyter_server")
    file = tmp_path / doctor.CONFIG
    file.parent.mkdir()
    file.write_text("{")
    found = doctor._server([str(tmp_path)])
    assert found.level == "bad"
    assert str(file) in found.how


def test_the_doctor_warns_of_a_socket_folder_that_others_can_read(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert doctor._runtime(tmp_path).level == "bad"
    tmp_path.chmod(0o700)
    assert doctor._runtime(tmp_path).level == "ok"


def test_the_doctor_names_the_agents_that_are_here_and_a_list_of_ones_own_that_is_not_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hm_jupyter import catalog

    file = tmp_path / "agents.toml"
    monkeypatch.setattr(catalog, "own_file", lambda: file)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor._agents().level == "note"
    package = tmp_path / "lib" / "node_modules" / "@google" / "gemini-cli"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"name": "@google/gemini-cli", "version": "0.60.1"}')
    (package / "gemini.js").write_text("#!/usr/bin/env node\n")
    (package / "gemini.js").chmod(0o755)
    (tmp_path / "gemini").symlink_to(package / "gemini.js")
    assert doctor._agents().how == "gemini 0.60.1"
    file.write_text("[agents.x]\ncomand = ['x']\n")
    assert doctor._agents().level == "bad"
    assert "agents.x.comand (line 2)" in doctor._agents().how
