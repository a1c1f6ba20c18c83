"""Requests for leave: what is shown, and what a decision comes to (ACP reference, section 5)."""

from __future__ import annotations

from typing import Any

import pytest
from acp_scene import Scene, output

from hm_jupyter import events as ev
from hm_jupyter.commands import Approve, FileEdit
from hm_jupyter.errors import NotSupported, NotWaiting, UsageError
from hm_jupyter.events import ApprovalOption, FileDiff
from hm_jupyter.exports import decided
from hm_jupyter.transcript import PendingApproval

ONCE = {"optionId": "once", "name": "Allow once", "kind": "allow_once"}
ALWAYS = {"optionId": "always", "name": "Always allow", "kind": "allow_always"}
NO = {"optionId": "no", "name": "Reject", "kind": "reject_once"}
NEVER = {"optionId": "never", "name": "Never", "kind": "reject_always"}
ALL = [ALWAYS, ONCE, NO, NEVER]
CANCELLED = {"outcome": {"outcome": "cancelled"}}


def selected(option: str) -> dict[str, Any]:
    return {"outcome": {"outcome": "selected", "optionId": option}}


def asked(scene: Scene, rpc_id: Any = 1, options: Any = ALL, **call: Any) -> ev.ApprovalRequested:
    given = {"toolCallId": "c", "title": "ls", "kind": "execute", "rawInput": {"command": "ls -l", "cwd": "/w"}, **call}
    return scene.asks(rpc_id, toolCall=given, options=options)


def decides(scene: Scene, request: ev.ApprovalRequested, **decision: Any) -> dict[str, Any]:
    out: list[ev.Event] = []
    rpc_id, result = scene.permissions.decide(Approve(request_id=request.request_id, **decision), out)
    scene.feed(out)
    assert request.request_id == f"p{rpc_id!r}"
    return result


# ---- what is shown -------------------------------------------------------------------------------------------------


def test_a_request_shows_the_command_its_folder_and_the_options_in_the_agents_words(v1: Scene) -> None:
    request = asked(v1, content=[output("to see what is there")], locations=[{"path": "/w/a"}])
    assert (request.command, request.cwd, request.category, request.summary) == ("ls -l", "/w", "shell", "ls")
    assert (request.paths, request.reason, request.for_session) == (["/w/a"], "to see what is there", True)
    assert request.options == [
        ApprovalOption("always", "Always allow", "allow_session"),
        ApprovalOption("once", "Allow once", "allow_once"),
        ApprovalOption("no", "Reject", "deny_once"),
        ApprovalOption("never", "Never", "deny_session"),
    ]


def test_why_a_command_is_run_may_stand_in_its_input(v1: Scene) -> None:
    assert asked(v1, rawInput={"command": "ls", "description": "To see what is there"}).reason == "To see what is there"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("[current working directory /home/me/app] (Run the scripted command)", "Run the scripted command"),
        ("[current working directory /home/me/a [b] c] (Run it (again))", "Run it (again)"),
        ("[current working directory /home/me/app]", ""),
        ("[current working directory /home/me/app] (Run it) [background]", "(Run it) [background]"),
        ("[in sub] (Run it)", "[in sub] (Run it)"),
        ("Run it [current working directory /w]", "Run it [current working directory /w]"),
    ],
)
def test_where_a_command_runs_is_no_reason_to_run_it(v1: Scene, said: str, why: str) -> None:
    """gemini-cli's words, from a recording."""
    assert asked(v1, content=[output(said)]).reason == why


def test_a_call_that_was_never_announced_is_made_from_the_request_pitfall_5(v1: Scene) -> None:
    request = v1.asks(0, toolCall={"toolCallId": "c", "title": "touch x", "kind": "execute"}, options=ALL)
    call = v1.tool("c")
    assert (call.title, call.category, call.status) == ("touch x", "shell", "pending")
    assert (request.command, request.request_id) == ("touch x", "p0")


def test_a_call_announced_after_its_request_is_that_call_pitfall_5(v1: Scene) -> None:
    decides(v1, asked(v1), allow=True)
    v1.hears("tool_call", toolCallId="c", title="ls", kind="execute", status="completed")
    (call,) = v1.tools()
    assert (call.status, call.decision and call.decision.outcome) == ("completed", "allowed")


def test_a_request_with_nothing_but_the_id_shows_what_is_known_of_the_call(v1: Scene) -> None:
    v1.hears("tool_call", toolCallId="c", title="Edit a", kind="edit", rawInput={"path": "/a"})
    v1.call("c", content=[{"type": "diff", "path": "/a", "oldText": "x", "newText": "y"}])
    request = v1.asks(toolCall={"toolCallId": "c"}, options=ALL)
    assert (request.summary, request.category, request.paths) == ("Edit a", "edit", ["/a"])
    assert request.diffs == [FileDiff("/a", "x", "y")]
    assert request.input == {"path": "/a"}


def test_empty_lists_in_a_request_do_not_wipe_what_is_known(v1: Scene) -> None:
    v1.call("c", title="t", status="in_progress", content=[output("so far")], locations=[{"path": "/a"}])
    v1.asks(
        toolCall={"toolCallId": "c", "content": [], "locations": [], "rawInput": {}, "status": "pending"}, options=ALL
    )
    call = v1.tool("c")
    assert (str(call.output), call.locations) == ("so far", ["/a"])


def test_changes_in_the_request_are_shown(v1: Scene) -> None:
    diff = {"type": "diff", "path": "/new.txt", "oldText": None, "newText": "hello\n"}
    request = asked(v1, kind="edit", rawInput={"file_path": "/new.txt"}, content=[diff])
    assert (request.diffs, request.paths, request.command) == (
        [FileDiff("/new.txt", None, "hello\n")],
        ["/new.txt"],
        "",
    )


def test_changes_that_only_the_input_tells_are_shown(v1: Scene) -> None:
    request = asked(v1, kind="edit", rawInput={"path": "/a", "content": "new"})
    assert request.diffs == [FileDiff("/a", None, "new")]


def test_v2_a_request_has_a_title_of_its_own_and_a_description(v2: Scene) -> None:
    v2.call("c", title="Terminal", kind="execute", rawInput={"command": "ls"})
    request = v2.asks(
        title="Run ls?",
        description="It lists.",
        subject={"type": "tool_call", "toolCall": {"toolCallId": "c", "title": "ls"}},
        options=ALL,
    )
    assert (request.summary, request.reason, request.command, request.call_id) == ("Run ls?", "It lists.", "ls", "c")
    assert v2.tool("c").title == "ls"


@pytest.mark.parametrize("linked", [False, True])
def test_v2_a_request_may_be_about_a_command(v2: Scene, linked: bool) -> None:
    if linked:
        v2.call("c", title="Shell", kind="execute")
    subject = {"type": "command", "command": "rm x", "cwd": "/w", "toolCallId": "c" if linked else None}
    request = v2.asks(7, title="Run it?", subject=subject, options=ALL)
    assert (request.command, request.cwd, request.category) == ("rm x", "/w", "shell")
    assert request.call_id == ("c" if linked else "request:p7")


@pytest.mark.parametrize("subject", [None, {"type": "_network", "host": "example.org"}, 7])
def test_v2_a_request_about_nothing_we_know_is_asked_all_the_same(v2: Scene, subject: Any) -> None:
    request = v2.asks(title="May I?", subject=subject, options=ALL)
    assert (request.summary, request.command) == ("May I?", "")
    if isinstance(subject, dict):
        assert request.input == subject


@pytest.mark.parametrize("params", [None, 7, {}, {"toolCall": 7}, {"toolCall": []}])
def test_a_request_that_cannot_be_read_is_refused_and_not_asked(v1: Scene, params: Any) -> None:
    out: list[ev.Event] = []
    assert v1.permissions.request(1, params, out)
    assert out == []


def test_a_sub_agents_request_is_about_its_own_call(v1: Scene) -> None:
    v1.hears("subagent_update", sessionId="kid")
    v1.hears("tool_call", "kid", toolCallId="c", title="kid's", kind="execute")
    out: list[ev.Event] = []
    v1.permissions.request(1, {"sessionId": "kid", "toolCall": {"toolCallId": "c"}, "options": ALL}, out)
    request = out[-1]
    assert isinstance(request, ev.ApprovalRequested)
    assert (request.call_id, request.summary) == ("kid/c", "kid's")


# ---- what a decision comes to --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decision", "option", "lasting"),
    [
        ({"allow": True}, "once", False),
        ({"allow": True, "for_session": True}, "always", True),
        ({"allow": True, "option_id": "always"}, "always", True),
        ({"allow": False}, "no", False),
        ({"allow": False, "option_id": "never"}, "never", True),
    ],
)
def test_a_decision_selects_an_option_of_the_agents(
    v1: Scene, decision: dict[str, Any], option: str, lasting: bool
) -> None:
    assert decides(v1, asked(v1), **decision) == selected(option)
    outcome = v1.tool("c").decision
    assert outcome is not None
    assert (outcome.outcome, outcome.for_session) == ("allowed" if decision["allow"] else "denied", lasting)


def test_deny_selects_the_way_to_refuse_and_is_never_sent_as_cancelled_pitfall_15(v1: Scene) -> None:
    assert decides(v1, asked(v1, 1, [ONCE, NO]), allow=False) == selected("no")
    assert decides(v1, asked(v1, 2, [ONCE, NEVER]), allow=False) == selected("never")
    assert v1.notices() == []


def test_only_where_there_is_no_way_to_refuse_is_it_cancelled_and_said_so_pitfall_15(v1: Scene) -> None:
    assert decides(v1, asked(v1, 1, [ONCE, ALWAYS]), allow=False) == CANCELLED
    assert "no way to refuse" in v1.notices()[0]
    decision = v1.tool("c").decision
    assert decision is not None and decision.outcome == "denied"


def test_a_lasting_allow_is_never_chosen_where_once_was_meant(v1: Scene) -> None:
    request = asked(v1, 1, [ALWAYS, NO])
    with pytest.raises(UsageError, match="'always'"):
        decides(v1, request, allow=True)
    assert decides(v1, request, allow=True, option_id="always") == selected("always")


def test_where_nothing_lasts_for_the_session_means_once(v1: Scene) -> None:
    assert decides(v1, asked(v1, 1, [ONCE, NO]), allow=True, for_session=True) == selected("once")
    decision = v1.tool("c").decision
    assert decision is not None and not decision.for_session


def test_of_several_options_of_a_kind_the_first_is_taken_and_each_can_be_chosen(v1: Scene) -> None:
    options = [ONCE, {**ONCE, "optionId": "risky", "name": "From now on by risk"}, NO]
    assert decides(v1, asked(v1, 1, options), allow=True) == selected("once")
    assert decides(v1, asked(v1, 2, options), allow=True, option_id="risky") == selected("risky")


@pytest.mark.parametrize(
    "decision",
    [
        {"allow": True, "option_id": "no"},
        {"allow": False, "option_id": "once"},
        {"allow": True, "option_id": "odd"},
        {"allow": True, "option_id": "never heard of"},
    ],
)
def test_an_option_must_fit_the_decision(v1: Scene, decision: dict[str, Any]) -> None:
    request = asked(v1, 1, [*ALL, {"optionId": "odd", "name": "Odd", "kind": "_odd"}])
    with pytest.raises(UsageError):
        decides(v1, request, **decision)
    assert decides(v1, request, allow=False) == selected("no")


def test_an_option_of_a_kind_nobody_knows_is_shown_and_never_chosen_by_us(v1: Scene) -> None:
    odd = {"optionId": "odd", "name": "Allow everything", "kind": "allow_everything"}
    request = asked(v1, 1, [odd])
    assert [(option.id, option.kind) for option in request.options] == [("odd", "allow_everything")]
    assert not request.for_session
    with pytest.raises(UsageError):
        decides(v1, request, allow=True)
    assert decides(v1, request, allow=False) == CANCELLED
    assert decides(v1, asked(v1, 2, [odd]), allow=False, option_id="odd") == selected("odd")


@pytest.mark.parametrize("kind", ["allow_everything", "_vendor", "", "ALLOW_ONCE"])
@pytest.mark.parametrize("goes_on", ["completed", "failed", None])
def test_to_choose_an_option_of_a_kind_nobody_knows_is_neither_to_allow_nor_to_deny(
    v1: Scene, kind: str, goes_on: str | None
) -> None:
    v1.hears("tool_call", toolCallId="c", title="ls", kind="execute", status="pending")
    request = asked(v1, 1, [ONCE, {"optionId": "odd", "name": "Ask the tests", "kind": kind}])
    assert decides(v1, request, allow=False, option_id="odd") == selected("odd")
    entry = v1.tool("c")
    assert entry.decision is not None
    assert (entry.decision.outcome, entry.decision.option) == ("chosen", "Ask the tests")
    assert entry.status == "pending" and not entry.decision.for_session
    assert "Ask the tests" in decided.decision(entry)
    assert not any(word in decided.decision(entry) for word in ("allowed", "denied"))
    if goes_on:
        v1.hears("tool_call_update", toolCallId="c", status=goes_on)
        assert v1.tool("c").status == goes_on, "it is the agent that says what became of it"


def test_an_id_that_means_both_yes_and_no_is_never_chosen(v1: Scene) -> None:
    request = asked(v1, 1, [ONCE, {**NO, "optionId": "once"}])
    for allow in ({"allow": True}, {"allow": True, "option_id": "once"}, {"allow": False, "option_id": "once"}):
        with pytest.raises(UsageError):
            decides(v1, request, **allow)
    assert decides(v1, request, allow=False) == CANCELLED


@pytest.mark.parametrize("options", [None, 7, [7, {"name": "x", "kind": "allow_once"}, {"optionId": "x", "kind": 7}]])
def test_without_an_option_that_can_be_read_nothing_can_be_allowed(v1: Scene, options: Any) -> None:
    request = asked(v1, 1, options)
    assert request.options == []
    with pytest.raises(UsageError):
        decides(v1, request, allow=True)
    assert decides(v1, request, allow=False) == CANCELLED


def test_edits_are_refused_for_this_wire_has_no_place_for_them(v1: Scene) -> None:
    with pytest.raises(NotSupported):
        decides(v1, asked(v1), allow=True, edits=[FileEdit(path="/a", content="")])


def test_a_call_that_was_allowed_and_never_heard_of_again_is_over_with_the_turn(v1: Scene) -> None:
    decides(v1, asked(v1), allow=True)
    v1.ends()
    assert v1.tool("c").status == "completed"


def test_a_denied_call_stays_denied_whatever_the_agent_says_of_it(v1: Scene) -> None:
    """opencode tells of a refused call as in progress, and then as failed."""
    decides(v1, asked(v1), allow=False)
    for status in ("in_progress", "failed"):
        assert v1.call("c", status=status).status == "denied"
    decides(v1, asked(v1, 2), allow=True)
    assert v1.call("c", status="completed").status == "completed"


# ---- dialogs belong to requests ------------------------------------------------------------------------------------


def waiting(scene: Scene) -> list[str]:
    return [p.request_id for p in scene.transcript.state.pending if isinstance(p, PendingApproval)]


def test_two_requests_with_one_tool_call_id_are_two_dialogs(v1: Scene) -> None:
    first = v1.asks(1, toolCall={"toolCallId": "confirmation", "title": "One"}, options=ALL)
    second = v1.asks("1", toolCall={"toolCallId": "confirmation", "title": "Two"}, options=ALL)
    assert first.request_id != second.request_id
    assert waiting(v1) == [first.request_id, second.request_id]
    assert decides(v1, second, allow=True) == selected("once")
    assert waiting(v1) == [first.request_id]
    assert decides(v1, first, allow=False) == selected("no")
    assert [(call.title, call.status) for call in v1.tools()] == [("One", "denied"), ("Two", "running")]


def test_a_tool_call_id_used_for_every_request_does_not_overwrite_what_was_decided(v1: Scene) -> None:
    for number, allow in ((1, False), (2, True)):
        decides(v1, v1.asks(number, toolCall={"toolCallId": "confirmation"}, options=ALL), allow=allow)
    decisions = [call.decision.outcome for call in v1.tools() if call.decision]
    assert decisions == ["denied", "allowed"]


def test_a_call_asked_about_as_pending_and_run_under_its_real_id_is_one_call(v1: Scene) -> None:
    decides(v1, asked(v1, toolCallId="pending"), allow=True)
    given = {"command": "ls -l", "cwd": "/w"}
    v1.hears("tool_call", toolCallId="real", title="ls", kind="execute", status="in_progress", rawInput=given)
    v1.call("real", status="completed")
    (call,) = v1.tools()
    assert (call.call_id, call.status, call.decision and call.decision.outcome) == ("real", "completed", "allowed")


def test_a_denied_call_is_not_taken_for_one_that_runs_later(v1: Scene) -> None:
    decides(v1, asked(v1, toolCallId="pending"), allow=False)
    v1.hears("tool_call", toolCallId="real", title="ls", kind="execute", rawInput={"command": "ls -l", "cwd": "/w"})
    assert [call.status for call in v1.tools()] == ["denied", "pending"]


def test_a_request_the_agent_takes_back_is_taken_down_and_cannot_be_decided_any_more(v1: Scene) -> None:
    request = asked(v1)
    out: list[ev.Event] = []
    assert v1.permissions.withdraw(1, out) == CANCELLED
    v1.feed(out)
    assert waiting(v1) == []
    with pytest.raises(NotWaiting):
        decides(v1, request, allow=True)
    assert v1.permissions.withdraw(1, out) is None
    assert v1.permissions.withdraw("never heard of", out) is None


def test_when_the_work_is_cancelled_all_that_waits_is_answered_so_and_nothing_can_be_decided(v1: Scene) -> None:
    requests = [asked(v1, n, toolCallId=f"c{n}") for n in (0, "a")]
    out: list[ev.Event] = []
    assert v1.permissions.cancel_all(out) == [(0, CANCELLED), ("a", CANCELLED)]
    v1.feed(out)
    assert waiting(v1) == []
    for request in requests:
        with pytest.raises(NotWaiting):
            decides(v1, request, allow=True)
    assert v1.permissions.cancel_all(out) == []


def test_a_decision_is_answered_once(v1: Scene) -> None:
    request = asked(v1)
    decides(v1, request, allow=True)
    with pytest.raises(NotWaiting):
        decides(v1, request, allow=True)
