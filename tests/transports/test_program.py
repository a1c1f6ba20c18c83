"""Finding the program: where it is looked for and what is said when it is not there (see test_stdio for the rest)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from hm_jupyter.errors import AgentNotFound, UsageError
from hm_jupyter.transports.program import find_program

pytestmark = pytest.mark.skipif(os.name != "posix", reason="local agents need POSIX")


def script(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_a_bare_name_is_looked_for_on_the_path_the_agent_will_have(tmp_path: Path) -> None:
    there = script(tmp_path / "bin" / "an-agent")
    found = find_program(["an-agent", "--rpc"], env={"PATH": str(there.parent)})
    assert (found.path, found.argv) == (str(there), ["an-agent", "--rpc"])
    with pytest.raises(AgentNotFound):
        find_program(["an-agent"])


def test_a_path_is_taken_from_the_working_folder(tmp_path: Path) -> None:
    there = script(tmp_path / "bin" / "an-agent")
    assert find_program(["bin/an-agent"], cwd=tmp_path).path == str(there)
    assert find_program([there]).path == str(there)


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    there = script(tmp_path / "an-agent")
    found = find_program(["~/an-agent"], cwd="~")
    assert (found.path, found.cwd) == (str(there), str(tmp_path))


def test_the_environment_is_inherited_and_what_is_given_lies_over_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HM_A", "1")
    monkeypatch.setenv("HM_B", "1")
    found = find_program([sys.executable], env={"HM_A": "2", "HM_B": None, "HM_C": "3"})
    assert found.env == {**{k: v for k, v in os.environ.items() if k != "HM_B"}, "HM_A": "2", "HM_C": "3"}


def test_the_environment_is_never_in_an_error() -> None:
    secret = "s3cret"
    for argv, env in ((["no-such-agent"], {"KEY": secret}), (["true"], {"KEY": secret + "\0"})):
        with pytest.raises((AgentNotFound, UsageError)) as caught:
            find_program(argv, env=env)
        assert secret not in str(caught.value)
