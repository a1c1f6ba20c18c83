"""A program run under a cell as in a terminal: shown as it comes, asked for with ``input()``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import pytest

from hm_jupyter.notebook import terminal

Run = Callable[[str], tuple[int, str]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What was asked, as (how, prompt)."""
    found: list[tuple[str, str]] = []
    monkeypatch.setattr("builtins.input", lambda prompt="": found.append(("input", prompt)) or "me")
    monkeypatch.setattr("getpass.getpass", lambda prompt="": found.append(("getpass", prompt)) or "hush")
    return found


@pytest.fixture
def run() -> Run:
    def run_(code: str) -> tuple[int, str]:
        shown: list[str] = []
        argv = [sys.executable, "-c", code]
        return terminal.run(argv, env=os.environ, cwd=".", show=shown.append, pace=0.2), "".join(shown)

    return run_


def test_what_it_writes_is_shown_without_escapes_and_its_code_is_told(run: Run, asked: list[tuple[str, str]]):
    code, shown = run("import sys; print('\\x1b[31mred\\x1b[0m \\u00e4'); sys.stderr.write('error\\n'); sys.exit(3)")
    assert (code, shown) == (3, "red ä\nerror\n")
    assert asked == []


def test_it_sees_a_terminal_and_its_question_is_asked_in_the_input_line(run: Run, asked: list[tuple[str, str]]):
    code, shown = run("import sys; assert sys.stdin.isatty(); print('hello ' + input('Your name? ') + '!')")
    assert code == 0
    assert asked == [("input", "Your name? ")]
    assert shown == "Your name? \nhello me!\n"  # what was typed is not shown a second time


def test_a_password_is_asked_for_as_one_and_shown_nowhere(run: Run, asked: list[tuple[str, str]]):
    code, shown = run("import getpass; print(len(getpass.getpass('Key: ')))")
    assert code == 0
    assert asked == [("getpass", "Key: ")]
    assert "hush" not in shown
    assert shown.endswith("4\n")


def test_an_interrupt_ends_it_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch, run: Run):
    def interrupted(prompt: str = "") -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupted)
    pids: list[int] = []
    real = terminal._end
    monkeypatch.setattr(terminal, "_end", lambda child: (pids.append(child.pid), real(child)))
    with pytest.raises(KeyboardInterrupt):
        run("input('Wait for ever? ')")
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_one_that_cannot_be_started_is_an_error(asked: list[tuple[str, str]]):
    with pytest.raises(FileNotFoundError):
        terminal.run(["/not/there"], env={}, cwd=".", show=print)
