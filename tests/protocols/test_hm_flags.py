"""The start options of an agent that speaks hm RPC."""

from __future__ import annotations

from typing import Any

import pytest

from hm_jupyter.errors import UsageError
from hm_jupyter.protocols.hm_flags import hm_argv


def test_an_agent_is_started_bare() -> None:
    assert hm_argv(["hm", "agent"]) == ["hm", "agent", "--rpc"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cwd": "/app"}, ["--cwd", "/app"]),
        ({"mode": "plan"}, ["--mode", "plan"]),
        ({"provider": "demo"}, ["--provider", "demo"]),
        ({"model": "m"}, ["--model", "m"]),
        ({"session": "S1"}, ["--session", "S1"]),
        ({"continue_": True}, ["--continue"]),
        ({"save": False}, ["--no-session"]),
        ({"max_steps": 3}, ["--max-steps", "3"]),
        ({"approve": "ask"}, ["--approve", "ask"]),
        ({"approve": "edits"}, ["--approve", "edits"]),
        ({"approve": "all"}, ["--approve", "all"]),
    ],
)
def test_each_flag_can_be_set(options: dict[str, Any], words: list[str]) -> None:
    assert hm_argv(["hm", "agent"], **options) == ["hm", "agent", "--rpc", *words]


def test_flags_go_together() -> None:
    words = hm_argv(["hm", "agent"], cwd="/a", mode="auto", save=False, max_steps=1, approve="all")
    assert words[3:] == ["--cwd", "/a", "--mode", "auto", "--no-session", "--max-steps", "1", "--approve", "all"]


@pytest.mark.parametrize(
    "options",
    [
        {"session": "S1", "continue_": True},
        {"session": "S1", "save": False},
        {"continue_": True, "save": False},
        {"session": "S1", "continue_": True, "save": False},
    ],
)
def test_session_continue_and_no_session_exclude_each_other(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        hm_argv(["hm", "agent"], **options)


@pytest.mark.parametrize("options", [{"approve": "deny"}, {"max_steps": 0}, {"max_steps": True}, {"max_steps": 1.5}])
def test_a_value_hm_does_not_know_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"approve is one of|max_steps is a whole number"):
        hm_argv(["hm", "agent"], **options)


@pytest.mark.parametrize("program", [[], "hm agent"])
def test_the_program_is_a_list_of_words(program: Any) -> None:
    with pytest.raises(UsageError, match="list of words"):
        hm_argv(program)
