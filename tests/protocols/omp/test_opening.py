"""How a session begins: what is asked, in any order of lines, with and without a ready frame."""

from __future__ import annotations

from omp_talk import STATE, Talk, read_by_model, said

from hm_jupyter import events as ev

READY = {"type": "ready", "protocolVersion": 1, "supportedProtocolVersions": [1, 2], "maxFrameBytes": 1048576}


def kinds(lines: list[dict[str, object]]) -> list[object]:
    return [line["type"] for line in lines]


def test_the_state_is_asked_for_at_once_and_no_first_word_is_waited_for() -> None:
    assert OmpStart("omp") == ["get_state"]
    assert OmpStart("pi") == ["get_state"]


def OmpStart(dialect: str) -> list[object]:
    from hm_jupyter.protocols.omp.adapter import OmpAdapter

    return kinds(OmpAdapter(dialect).start().messages)  # type: ignore[arg-type]


def test_the_state_is_the_beginning_of_the_session() -> None:
    t = Talk(opened=False)
    t._sent.append({"type": "get_state", "id": "hm-1"})
    (started, updated, *_) = t.answers("get_state", data=STATE)
    assert started == ev.SessionStarted("s-1", "/home/me/app", "", "acme", "acme/big", False)
    assert isinstance(updated, ev.SessionUpdated)
    state = t.transcript.state
    assert (state.status, state.model, state.effort, state.context_size) == ("ready", "acme/big", "medium", 200000)


def test_models_levels_and_commands_are_asked_for_beside_it() -> None:
    omp, pi = Talk(opened=False), Talk("pi", opened=False)
    for t in (omp, pi):
        t._sent.append({"type": "get_state", "id": "hm-1"})
        t.answers("get_state", data=STATE)
    assert kinds(omp.written()) == ["get_available_models", "get_available_thinking_levels"]
    assert kinds(pi.written()) == ["get_available_models", "get_available_thinking_levels", "get_commands"]


def test_a_ready_frame_of_an_agent_with_long_lines_is_answered_by_asking_for_them() -> None:
    t = Talk(opened=False)
    t.hears(READY)
    assert {"id": "hm-2", "type": "negotiate_protocol", "protocolVersion": 2} in t.written()


def test_a_ready_frame_without_version_2_needs_no_answer() -> None:
    t = Talk(opened=False)
    t.hears({"type": "ready", "protocolVersion": 1})
    assert "negotiate_protocol" not in kinds(t.written())


def test_an_agent_that_refuses_long_lines_is_spoken_of() -> None:
    t = Talk()
    t.hears(READY)
    t.refuses("negotiate_protocol", "not now")
    assert "very long answers may be cut" in t.last().text


def test_a_session_without_a_model_says_what_to_do() -> None:
    t = Talk(opened=False)
    t._sent.append({"type": "get_state", "id": "hm-1"})
    t.answers("get_state", data={**STATE, "model": None})
    assert t.transcript.state.model == ""
    assert "%hm model" in t.last().text


def test_a_session_without_a_file_or_a_name_is_one_all_the_same() -> None:
    t = Talk(opened=False)
    t._sent.append({"type": "get_state", "id": "hm-1"})
    t.answers("get_state", data={"sessionId": "x", "isStreaming": False})
    assert t.transcript.state.session_id == "x"
    assert t.transcript.state.title == ""


def test_an_agent_that_does_not_tell_its_state_opens_no_session() -> None:
    t = Talk(opened=False)
    t._sent.append({"type": "get_state", "id": "hm-1"})
    assert t.refuses("get_state", "broken") == [ev.StartRefused("The agent does not tell its state: broken")]


def test_what_the_agent_says_before_the_state_does_not_hinder_it() -> None:
    t = Talk(opened=False)
    t._sent.append({"type": "get_state", "id": "hm-1"})
    widget = {"type": "extension_ui_request", "id": "w", "method": "setWidget", "widgetKey": "autoresearch"}
    assert t.hears(READY, widget, {"type": "advisor_cost_changed"}) == []
    t.answers("get_state", data=STATE)
    assert t.transcript.state.status == "ready"


def test_the_slash_commands_come_by_themselves_or_are_asked_for() -> None:
    t = Talk()
    t.hears({"type": "available_commands_update", "commands": [
        {"name": "model", "description": "choose", "input": {"hint": "<name>"}},
        {"name": "todo", "subcommands": [{"name": "add"}, {"name": "done"}]}, {"nothing": 1},
    ]})  # fmt: skip
    assert t.transcript.state.commands == [
        ev.SlashCommand("model", "choose", "<name>"),
        ev.SlashCommand("todo", "", "add | done"),
    ]
    pi = Talk("pi", opened=False)
    pi._sent.append({"type": "get_state", "id": "hm-1"})
    pi.answers("get_state", data=STATE)
    pi.answers("get_commands", data={"commands": [{"name": "/gate", "source": "extension"}]})
    assert pi.transcript.state.commands == [ev.SlashCommand("gate")]


def taken_up() -> Talk:
    t = Talk("pi", opened=False, history=True)
    t._sent.append({"type": "get_state", "id": "hm-1"})
    t.answers("get_state", data={**STATE, "messageCount": 4})
    return t


def test_a_session_that_is_taken_up_is_there_with_what_was_said_in_it() -> None:
    t = taken_up()
    assert t.transcript.state.status == "starting"
    t.answers(
        "get_messages",
        data={"messages": [read_by_model("hi")["message"], said({"type": "text", "text": "hello"})["message"]]},
    )
    assert t.transcript.state.status == "ready"
    assert [e.text for e in t.shown("user")] == ["hi"]
    assert [str(e.text) for e in t.shown("message")] == ["hello"]
    assert t.turn.status == "finished"
    assert t.of(ev.SessionStarted)[0].resumed


def test_a_history_that_cannot_be_told_does_not_keep_the_session_from_opening() -> None:
    t = taken_up()
    t.refuses("get_messages", "RPC response exceeded the transport limit")
    assert t.transcript.state.status == "ready"
    assert "The agent knows them" in t.last().text
