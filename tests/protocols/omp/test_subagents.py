"""Sub-agents of omp, as far as they are told of."""

from __future__ import annotations

from typing import Any

from omp_talk import Talk, said

from hm_jupyter import events as ev


def lifecycle(status: str, **more: Any) -> dict[str, Any]:
    payload = {"id": "Helper", "agent": "task", "status": status, "parentToolCallId": "c1", "detached": True, **more}
    return {"type": "subagent_lifecycle", "payload": payload}


def event(inner: dict[str, Any]) -> dict[str, Any]:
    return {"type": "subagent_event", "payload": {"id": "Helper", "event": inner}}


def test_it_has_a_card_beneath_the_call_that_began_it() -> None:
    t = Talk().prompt()
    t.hears(lifecycle("started"))
    t.hears(
        {
            "type": "subagent_progress",
            "payload": {"agent": "task", "assignment": "List  the files", "progress": {"id": "Helper"}},
        }
    )
    card = t.tool("subagent:Helper")
    assert (card.parent, card.title, card.category, card.status) == ("c1", "List the files", "agent", "running")
    assert t.transcript.state.background == [ev.Background("subagent", "Helper", "Helper")]
    t.hears(lifecycle("completed"))
    assert (t.tool("subagent:Helper").status, t.transcript.state.background) == ("completed", [])


def test_its_calls_and_its_words_are_its_own() -> None:
    t = Talk().prompt()
    t.runs("c9", "bash", command="main")
    call = {"toolCallId": "c9", "toolName": "bash", "args": {"command": "ls"}}
    t.hears(event({"type": "tool_execution_start", **call}))
    t.hears(
        event({"type": "tool_execution_end", **call, "result": {"content": "x"}, "isError": False}),
        event(said({"type": "text", "text": "Done."})),
    )
    own = t.tool("subagent:Helper/c9")
    assert (own.parent, own.status, own.title) == ("subagent:Helper", "completed", "ls")
    assert t.tool("c9").status == "running"
    assert str(t.tool("subagent:Helper").output) == "Done.\n"


def test_the_end_of_its_run_is_not_the_end_of_the_turn() -> None:
    t = Talk().prompt()
    t.hears(event({"type": "agent_start"}), event({"type": "agent_end", "isTerminal": True}))
    assert t.running


def test_one_without_a_name_is_kept_as_it_came() -> None:
    t = Talk().prompt()
    assert [type(e) for e in t.hears({"type": "subagent_lifecycle"}, {"type": "subagent_event", "payload": 3})] == [
        ev.UnknownReceived, ev.UnknownReceived,
    ]  # fmt: skip
