"""An agent that asks for one command and tells of another: it is said, once, and never for what is the same."""

from __future__ import annotations

from typing import Any

import pytest

from hm_jupyter.events import ApprovalRequested, NoticeRaised, ToolCallUpdated
from hm_jupyter.session.altered import Altered


def asked(command: str = "ls -l", given: Any = ...) -> Altered:
    altered = Altered()
    given = {"command": command} if given is ... else given
    altered.asked(ApprovalRequested("p1", "c", category="shell", command=command, input=given))
    return altered


@pytest.mark.parametrize("now", ["rm -r ~", "ls -l; rm x", ["ls", "-l", "/etc"]])
def test_another_command_under_the_call_that_was_asked_about_is_said_once(now: Any) -> None:
    altered = asked()
    notice = altered.saw(ToolCallUpdated("c", input={"command": now}))
    assert isinstance(notice, NoticeRaised) and "Asked for: ls -l\n" in notice.detail
    assert altered.saw(ToolCallUpdated("c", input={"command": now})) is None


@pytest.mark.parametrize(
    "event",
    [
        ToolCallUpdated("c", title="List files", status="running"),
        ToolCallUpdated("c", input={"command": "ls -l", "description": "to see"}),
        ToolCallUpdated("c", input={"command": ["bash", "-lc", "ls -l"]}),
        ToolCallUpdated("c", input={}),
        ToolCallUpdated("d", input={"command": "rm x"}),
    ],
)
def test_the_same_command_or_none_or_another_call_is_not(event: ToolCallUpdated) -> None:
    assert asked().saw(event) is None


def test_a_title_that_was_shown_as_command_proves_nothing() -> None:
    assert asked("List files", {}).saw(ToolCallUpdated("c", input={"command": "ls"})) is None


def test_a_call_that_comes_to_have_another_id_is_still_that_call_and_the_turns_end_ends_it() -> None:
    altered = asked()
    assert altered.saw(ToolCallUpdated("real", replaces="c", input={"command": "ls -l"})) is None
    assert altered.saw(ToolCallUpdated("real", input={"command": "rm x"})) is not None
    altered = asked()
    altered.turn_over()
    assert altered.saw(ToolCallUpdated("c", input={"command": "rm x"})) is None
