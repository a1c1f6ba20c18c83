"""initialize: the version both sides speak is told by the number and the shape of the answer."""

from __future__ import annotations

from typing import Any

import pytest
from acp_talk import V1, V2, Talk, can

from hm_jupyter.events import AuthMethod, SessionStarted, SessionUpdated, StartRefused

Json = dict[str, Any]


def spoken(talk: Talk) -> str:
    """The version in which the session was opened, as people are told."""
    found = [e.changes["protocol"] for e in talk.events if isinstance(e, SessionUpdated) and "protocol" in e.changes]
    return str(found[0])


def refusal(talk: Talk) -> str:
    [event] = talk.told(StartRefused)
    return str(event.reason)


def test_one_request_carries_the_fields_of_both_versions() -> None:
    params = Talk(host=True, client=("hm_jupyter", "1.2")).last("initialize")["params"]
    assert params["protocolVersion"] == 2
    assert params["info"] == {"name": "hm_jupyter", "title": "hm for Jupyter", "version": "1.2"}
    assert params["clientInfo"] == params["info"]
    assert params["clientCapabilities"]["fs"] == {"readTextFile": True, "writeTextFile": True}
    assert params["clientCapabilities"]["terminal"] is True
    assert params["capabilities"]["elicitation"] == {"form": {}, "url": {}}


@pytest.mark.parametrize("version", ["auto", 1, 2])
def test_the_version_goes_out_as_an_integer(version: Any) -> None:
    """Pitfall 17."""
    number = Talk(version=version).last("initialize")["params"]["protocolVersion"]
    assert type(number) is int and number == (1 if version == 1 else 2)


def test_a_version_named_is_asked_for_with_its_own_fields_alone() -> None:
    assert set(Talk(version=1).last("initialize")["params"]) == {"protocolVersion", "clientInfo", "clientCapabilities"}
    assert set(Talk(version=2).last("initialize")["params"]) == {"protocolVersion", "info", "capabilities"}


def test_nothing_of_ours_is_offered_unless_it_is_to_be() -> None:
    offered = Talk().last("initialize")["params"]["clientCapabilities"]
    assert offered["fs"] == {"readTextFile": False, "writeTextFile": False} and offered["terminal"] is False
    offered = Talk(host=True, fs_read=False).last("initialize")["params"]["clientCapabilities"]
    assert offered["fs"] == {"readTextFile": False, "writeTextFile": True}


# ---- what the answer means -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hello", "version"),
    [
        (V1, 1),
        (V2, 2),
        ({"protocolVersion": 2, "agentCapabilities": {"loadSession": True}}, 1),  # fast-agent, gptme, openhands
        ({"protocolVersion": 2}, 1),  # the Python SDK's echo agent
        ({"protocolVersion": "1"}, 1),
        ({"protocolVersion": 1, "info": {"name": "x"}}, 1),
        ({"protocolVersion": 2, "capabilities": {"session": {}}}, 2),
        ({"agentCapabilities": {}}, 1),
        ({"info": {"name": "x"}, "capabilities": {}}, 2),
        ({"protocolVersion": 2, "agentInfo": None, "authMethods": 5, "agentCapabilities": "x"}, 1),
    ],
)
def test_number_and_shape_of_the_answer_decide(hello: Json, version: int) -> None:
    """Pitfall 17: what comes back is looked at; some agents echo any number with an answer of v1."""
    talk = Talk().open(hello)
    assert spoken(talk) == f"ACP v{version}"


@pytest.mark.parametrize("number", [0, 3, 99, -1, 1.5, True, "one", [1]])
def test_a_version_we_do_not_speak_is_refused(number: Any) -> None:
    """Pitfall 17."""
    talk = Talk()
    talk.answers("initialize", {"protocolVersion": number, "agentCapabilities": {}})
    assert "ACP" in refusal(talk)
    assert not talk.sent("session/new")


@pytest.mark.parametrize("result", [None, [], "hello", 1])
def test_an_answer_that_says_nothing_is_refused(result: Any) -> None:
    talk = Talk()
    talk.answers("initialize", result)
    assert "Is this an ACP agent?" in refusal(talk)


def test_a_version_named_is_held_to() -> None:
    talk = Talk(version=2)
    talk.answers("initialize", V1)
    assert "version 1 of ACP only" in refusal(talk)
    talk = Talk(version=1)
    talk.answers("initialize", V2)
    assert "version 2 of ACP only" in refusal(talk)


def test_an_agent_that_rejects_the_merged_request_is_asked_for_v1_once() -> None:
    talk = Talk()
    talk.answers("initialize", error={"code": -32602, "message": "unknown field info"})
    assert talk.last("initialize")["params"]["protocolVersion"] == 1
    assert "info" not in talk.last("initialize")["params"]
    talk.answers("initialize", V1)
    talk.answers("session/new", {"sessionId": "s1"})
    assert talk.told(SessionStarted)


def test_an_agent_that_names_the_versions_it_speaks_is_asked_for_one_of_them() -> None:
    """ACP v2, initialize: -32022 with ``supported``."""
    talk = Talk()
    talk.answers("initialize", error={"code": -32022, "message": "no", "data": {"requested": 2, "supported": [1]}})
    assert talk.last("initialize")["params"]["protocolVersion"] == 1
    talk = Talk()
    talk.answers("initialize", error={"code": -32022, "message": "no", "data": {"supported": [3, 4]}})
    assert "it speaks 3, 4" in refusal(talk)


def test_an_agent_that_cannot_initialize_at_all_is_refused_with_its_words() -> None:
    talk = Talk()
    for _ in range(2):
        talk.answers("initialize", error={"code": 1001, "message": "bad config"})
    assert "bad config" in refusal(talk) and len(talk.sent("initialize")) == 2


def test_an_agent_that_never_answers_initialize_is_refused() -> None:
    talk = Talk(version=1)
    talk.rings(next(iter(talk.wakes)))
    assert "did not answer" in refusal(talk)


def test_v1_is_not_asked_twice_unless_the_agent_is_known_to_lose_fields() -> None:
    talk = Talk(quirks=["reinitialize"])
    talk.answers("initialize", V1)
    assert "info" not in talk.last("initialize")["params"]
    talk.answers("initialize", error={"code": -32600, "message": "initialized already"})
    talk.answers("session/new", {"sessionId": "s1"})  # what was answered first holds
    assert talk.told(SessionStarted)
    plain = Talk()
    plain.answers("initialize", V1)
    assert len(plain.sent("initialize")) == 1


# ---- what the agent can do -----------------------------------------------------------------------------------------


def test_what_an_agent_of_v1_says_it_can_do_is_what_is_offered() -> None:
    can_do = Talk().open(can()).adapter.capabilities
    assert not (can_do.images or can_do.list_sessions or can_do.fork or can_do.resume or can_do.sign_out)
    hello = can(
        prompt={"image": True, "audio": True, "embeddedContext": True},
        session={"list": {}, "fork": {}, "close": {}, "delete": {}, "resume": {}},
        auth={"logout": {}},
    )
    can_do = Talk().open(hello).adapter.capabilities
    assert can_do.images and can_do.audio and can_do.resources and can_do.list_sessions and can_do.fork
    assert can_do.resume and can_do.close_session and can_do.delete_session and can_do.sign_out
    assert can_do.steer_delivery == "next_prompt" and can_do.deny_note == "next_message"
    assert not can_do.edits and not can_do.compact


def test_an_agent_of_v2_with_sessions_lists_and_resumes_them() -> None:
    can_do = Talk().open(V2).adapter.capabilities
    assert can_do.list_sessions and can_do.resume and can_do.close_session
    assert not can_do.delete_session and not can_do.images


@pytest.mark.parametrize("no", [None, False, "yes", 1, [], 0])
def test_a_capability_is_there_only_as_true_or_an_object(no: Any) -> None:
    hello = can(session={"list": no, "fork": no}, loadSession=no, prompt={"image": no})
    can_do = Talk().open(hello).adapter.capabilities
    assert not (can_do.list_sessions or can_do.fork or can_do.resume or can_do.images)


def test_the_ways_to_sign_in_are_read_in_both_shapes() -> None:
    talk = Talk()
    methods = [
        {"id": "a", "name": "By browser", "description": "opens one"},
        {"type": "terminal", "id": "t", "name": "By hand", "args": ["login", 3], "env": {"A": "1", "B": 2}},
        {"type": "_later", "methodId": "x", "name": "Later"},
        {"methodId": "v2", "type": "terminal", "name": "V2", "env": [{"name": "C", "value": "3"}, "bad"]},
        {"name": "without an id"},
        "rubbish",
    ]
    talk.answers("initialize", {**V1, "authMethods": methods})
    talk.answers("session/new", error={"code": -32000, "message": "Authentication required"})
    [event] = talk.told(StartRefused)
    assert event.sign_in == [
        AuthMethod("a", "By browser", "opens one", "agent"),
        AuthMethod("t", "By hand", "", "terminal", ["login"], {"A": "1"}),
        AuthMethod("x", "Later", "", "other"),
        AuthMethod("v2", "V2", "", "terminal", [], {"C": "3"}),
    ]
