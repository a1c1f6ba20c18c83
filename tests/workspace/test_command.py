"""A command an agent wants run: what is executed, what a person reads, and whether two are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hm_jupyter.workspace.command import Command, understand
from hm_jupyter.workspace.refused import Refused
from hm_jupyter.workspace.roots import Roots


def made(tmp_path: Path, command: str, *args: str, **more: Any) -> Command:
    return understand(Roots([tmp_path]), {"command": command, "args": list(args), **more})


def test_a_command_alone_is_a_line_for_the_shell(tmp_path: Path) -> None:
    command = made(tmp_path, "echo $HOME | wc")
    assert command.argv == ("/bin/sh", "-c", "echo $HOME | wc")
    assert (command.line, command.cwd) == ("echo $HOME | wc", tmp_path)


def test_a_command_with_args_is_executed_directly_and_shown_quoted(tmp_path: Path) -> None:
    command = made(tmp_path, "grep", "-r", "a b", "$HOME")
    assert command.argv == ("grep", "-r", "a b", "$HOME")
    assert command.line == "grep -r 'a b' '$HOME'"


@pytest.mark.parametrize(
    "text",
    ["echo hi", " echo hi\n", "sh -c 'echo hi'", "/bin/sh -lc 'echo hi'", 'bash -lc "echo hi"'],
)
def test_a_line_is_the_same_with_the_shell_it_is_handed_to(tmp_path: Path, text: str) -> None:
    assert made(tmp_path, "echo hi").is_shown_by(text)
    assert made(tmp_path, "/bin/sh", "-lc", "echo hi").is_shown_by(text)


def test_words_are_the_same_however_they_are_quoted_if_no_shell_would_change_them(tmp_path: Path) -> None:
    command = made(tmp_path, "grep", "a b", "x")
    assert command.is_shown_by('grep "a b" x') and command.is_shown_by("grep 'a b' x")
    assert made(tmp_path, "ls", "$HOME").is_shown_by("ls '$HOME'")
    assert not made(tmp_path, "ls", "$HOME").is_shown_by('ls "$HOME"')
    assert not made(tmp_path, "ls", "a", "b").is_shown_by("ls a  'b'; x")


@pytest.mark.parametrize(
    "text", ["", "echo", "echo hi there", "echo  hi", "ECHO hi", "echo hi; rm x", "python -c 'echo hi'", "echo 'hi"]
)
def test_another_line_is_another(tmp_path: Path, text: str) -> None:
    assert not made(tmp_path, "echo hi").is_shown_by(text)


HARMLESS = {"CI": "1", "CLAUDECODE": "1", "GEMINI_CLI": "1", "LANG": "C.UTF-8", "TERM": "xterm-256color", "PAGER": "cat",
            "GIT_PAGER": "", "GIT_TERMINAL_PROMPT": "0", "COLUMNS": "80", "PYTHONUNBUFFERED": "1"}  # fmt: skip
RISKY = {"PATH": "/x", "LD_PRELOAD": "1", "npm_config_registry": "z", "MAKEFILES": "x", "PYTEST_ADDOPTS": "-p evil",
         "XDG_CONFIG_HOME": ".x", "ZDOTDIR": ".", "_JAVA_OPTIONS": "-javaagent:x", "TAR_OPTIONS": "--to-command=x",
         "RIPGREP_CONFIG_PATH": "x", "GCONV_PATH": ".", "OPENSSL_CONF": "x", "LESSOPEN": "|x", "RUSTC_WRAPPER": "x",
         "PROMPT_COMMAND": "x", "DOCKER_HOST": "x", "HTTPS_PROXY": "x", "FOO": "1", "path": "x"}  # fmt: skip


def test_variables_are_named_but_for_those_known_not_to_change_what_a_line_does(tmp_path: Path) -> None:
    assert made(tmp_path, "ls", env={**HARMLESS, **RISKY}).risky == tuple(sorted(RISKY))


@pytest.mark.parametrize(
    "env",
    [
        {"PAGER": "sh -c x"},
        {"TERM": "../x"},
        {"LANG": "$(x)"},
        {"GIT_TERMINAL_PROMPT": "x"},
        {"CI": "a b"},
        {"TZ": ":/etc/x"},
    ],
)
def test_a_harmless_name_with_a_value_that_is_more_than_a_word_is_named_too(
    tmp_path: Path, env: dict[str, str]
) -> None:
    assert made(tmp_path, "ls", env=env).risky == tuple(env)


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"command": ""},
        {"command": "  "},
        {"command": 3},
        {"command": "a\0b"},
        {"command": "ls", "args": "x"},
        {"command": "ls", "args": [1]},
        {"command": "ls", "args": ["a\0"]},
        {"command": "ls", "env": [{"name": "A"}]},
        {"command": "ls", "env": {"A=B": "x"}},
        {"command": "ls", "env": {"": "x"}},
        {"command": "ls", "env": {"A": "x\0"}},
        {"command": "ls", "env": {"A": "\ud800"}},
        {"command": "ls", "output_limit": -1},
        {"command": "ls", "output_limit": "9"},
        {"command": "ls", "cwd": "relative"},
    ],
)
def test_what_cannot_be_a_command_is_refused(tmp_path: Path, args: dict[str, Any]) -> None:
    with pytest.raises(Refused) as caught:
        understand(Roots([tmp_path]), args)
    assert caught.value.kind == "invalid"


def test_a_folder_outside_the_workspace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused) as caught:
        made(tmp_path, "ls", cwd="/")
    assert caught.value.kind == "denied"


def test_a_program_that_is_not_there_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(Refused, match="install it"):
        made(tmp_path, "no-such-program-here", "x").program()
    with pytest.raises(Refused, match="executed"):
        made(tmp_path, str(tmp_path / "data"), "x").program()
    with pytest.raises(Refused, match="folder"):
        made(tmp_path, "ls", cwd=str(tmp_path / "gone")).program()
