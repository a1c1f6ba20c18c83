"""Connecting by name, by command and with settings, with a real agent process behind (``acp_agent.py``)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

import hm_jupyter as hm
from hm_jupyter import catalog as catalog_module
from hm_jupyter.errors import (
    AgentError,
    AgentNotFound,
    ApprovalRequired,
    NotSupported,
    NotWaiting,
    SignInRequired,
    StartError,
    UsageError,
)
from hm_jupyter.session.session import Session
from hm_jupyter.transcript import NoticeEntry, PendingApproval, PendingQuestion

AGENT = [sys.executable, str(Path(__file__).parent / "helpers" / "acp_agent.py")]


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's own agents."""
    file = tmp_path / "agents.toml"
    monkeypatch.setattr(catalog_module, "own_file", lambda: file)
    return file


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Callable[..., Session]]:
    opened: list[Session] = []
    (tmp_path / "work").mkdir()

    def open_(*flags: str, agent: Any = None, **options: Any) -> Session:
        options.setdefault("cwd", tmp_path / "work")
        opened.append(hm.connect(agent or [*AGENT, *flags], **options))
        return opened[-1]

    yield open_
    for session in opened:
        session.close()


def waiting(session: Session, text: str, kind: type[Any]) -> Any:
    """Prompt, and wait until something waits for a person."""
    turn = session.start(text, unattended=False)
    for _ in range(500):
        found = [p for p in session.pending if isinstance(p, kind)]
        if found or turn.done:
            break
        turn._watch.done.wait(0.02)
    assert found, turn.text
    return found[0]


def pid(session: Session) -> int:
    found = session.controller.transport.pid  # type: ignore[attr-defined]
    assert isinstance(found, int)
    return found


def notices(session: Session) -> list[str]:
    return [e.text for e in session.transcript.entries.values() if isinstance(e, NoticeEntry)]


# ---- versions and settings -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "protocol", "spoken"),
    [(["--v1"], None, "v1"), (["--v2"], None, "v2"), (["--dual"], "acp", "v2"), (["--dual"], "acp1", "v1")],
)
def test_a_bare_command_speaks_acp_in_the_newest_version_both_know_or_the_one_asked_for(
    connect: Callable[..., Session], flags: list[str], protocol: str | None, spoken: str
):
    s = connect(*flags, protocol=protocol)
    assert spoken in s.state.protocol
    assert s.name == s.state.agent == "acp_agent"
    assert s.prompt("say hello", unattended=True).text == "hello"
    assert s.modes == {"ask": "Ask first", "code": "Code", "yolo": "Never ask"}
    assert list(s.models) == ["small", "large"]
    assert "effort" in [o.id for o in s.options]
    assert [c.name for c in s.commands] == ["say", "stream", "plan"]


def test_a_version_the_agent_does_not_speak_is_a_start_error(connect: Callable[..., Session]):
    with pytest.raises(StartError, match="version 1"):
        connect("--v1", protocol="acp2")


@pytest.mark.parametrize("version", ["--v1", "--v2"])
def test_mode_model_and_options_are_set_before_the_first_prompt(connect: Callable[..., Session], version: str):
    s = connect(version, mode="code", model="large", options={"effort": "high", "web": True})
    assert (s.state.mode, s.state.model) == ("code", "large")
    values = {o.id: o.value for o in s.options}
    assert (values["effort"], values["web"]) == ("high", True)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"mode": "plan"}, "ask, code, yolo"), ({"options": {"colour": "red"}}, "effort"), ({"model": "huge"}, "large")],
)
def test_what_the_agent_does_not_offer_is_refused_and_says_what_it_does(
    connect: Callable[..., Session], wrong: dict[str, Any], said: str
):
    with pytest.raises(UsageError) as error:
        connect("--v1", **wrong)
    assert said in str(error.value)
    assert "did not take" in str(error.value)


def test_a_mode_that_never_asks_is_warned_of(connect: Callable[..., Session], own: Path):
    own.write_text(f"[agents.bold]\ncommand = {[*AGENT, '--v1']}\nasks = 'ask'\noptions = {{ mode = 'yolo' }}\n")
    s = connect(agent="bold")
    assert s.state.mode == "yolo"
    assert any("may act without asking" in text for text in notices(s))


def test_an_agent_of_ones_own_is_started_by_name_with_its_asking_mode_set(connect: Callable[..., Session], own: Path):
    own.write_text(
        f"[agents.mine]\ncommand = {[*AGENT, '--v2']}\nasks = 'code'\nmode = 'code'\nenv = {{ MINE = '1' }}\n"
    )
    s = connect(agent="mine")
    assert (s.name, s.state.mode) == ("mine", "code")
    assert not notices(s)


def test_what_only_one_protocol_has_is_refused_in_the_other(connect: Callable[..., Session]):
    with pytest.raises(NotSupported, match="max_steps"):
        connect("--v1", max_steps=3)
    with pytest.raises(NotSupported, match="mcp_servers"):
        hm.connect(mcp_servers=[{"name": "a", "command": "b"}])
    with pytest.raises(UsageError, match="go with an address"):
        connect("--v1", insecure=True)
    with pytest.raises(UsageError, match="not both"):
        connect("--v1", session="x", resume=True)


# ---- what goes wrong -----------------------------------------------------------------------------------------------


def test_a_program_that_is_not_there_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AgentNotFound, match="npm install -g @qwen-code/qwen-code"):
        hm.connect("qwen")


def test_pitfall_19_an_agent_that_dies_at_its_start_shows_what_it_said(connect: Callable[..., Session]):
    code = "import sys; sys.exit('no such key: EXAMPLE_KEY')"
    with pytest.raises(StartError, match="no such key: EXAMPLE_KEY"):
        connect(agent=[sys.executable, "-c", code])


def test_pitfall_19_the_agent_inherits_the_environment_less_what_npm_set(
    connect: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:1")
    monkeypatch.setenv("npm_config_prefix", "/x")
    s = connect("--v1", env={"ADDED": "a\nb", "LANG": None})
    environment = dict(
        part.split("=", 1) for part in Path(f"/proc/{pid(s)}/environ").read_text().split("\0") if "=" in part
    )
    assert environment["HTTPS_PROXY"] == "http://proxy:1"
    assert environment["ADDED"] == "a\nb"
    assert environment["PATH"] == os.environ["PATH"]
    assert not {"npm_config_prefix", "LANG"} & set(environment)


def test_an_agent_that_wants_a_sign_in_first_lists_the_ways_and_what_to_type(
    connect: Callable[..., Session], own: Path
):
    own.write_text(f"[agents.shy]\ncommand = {[*AGENT, '--v1', '--auth']}\nsign_in = 'SHY_KEY in the environment'\n")
    with pytest.raises(SignInRequired) as error:
        connect(agent="shy")
    said = str(error.value)
    assert [m.id for m in error.value.methods] == ["token", "login"]
    assert "hm.connect('shy', sign_in='token')" in said
    assert "%hm login shy token" in said
    assert "--auth --login" in said  # the line for a terminal
    assert "SHY_KEY" in said


@pytest.mark.parametrize("version", ["--v1", "--v2"])
def test_signing_in_at_the_start_opens_the_session(connect: Callable[..., Session], version: str):
    s = connect(version, "--auth", sign_in="token")
    assert s.prompt("say hello", unattended=True).text == "hello"
    with pytest.raises(StartError, match="terminal"):
        connect(version, "--auth", sign_in="login")


# ---- saved sessions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["--v1", "--v2"])
def test_a_session_is_taken_up_by_its_id_or_as_the_latest_and_its_history_is_shown(
    connect: Callable[..., Session], tmp_path: Path, version: str
):
    first = connect(version, "--store", str(tmp_path / "saved"))
    first.prompt("say it was here", unattended=True)
    again = first.resume(first.state.session_id)
    latest = first.resume()
    try:
        for s in (again, latest):
            assert s.state.session_id == first.state.session_id
            assert (
                "it was here" in s.turns[0].text
                if s.turns
                else "it was here" in str(list(s.transcript.entries.values()))
            )
        assert pid(again) != pid(first)
        assert [item["id"] for item in again.sessions()] == [first.state.session_id]
    finally:
        again.close()
        latest.close()


def test_taking_up_the_latest_where_there_is_none_says_so(connect: Callable[..., Session]):
    with pytest.raises(StartError, match="no saved session in this folder"):
        connect("--v1", resume=True)


def test_a_session_is_closed_or_deleted_by_its_id_but_never_ones_own(connect: Callable[..., Session], tmp_path: Path):
    other = connect("--v1", "--store", str(tmp_path / "saved"))
    other.prompt("say x", unattended=True)
    s = connect("--v1", "--store", str(tmp_path / "saved"))
    s.delete_session(other.state.session_id)
    assert other.state.session_id not in [item["id"] for item in s.sessions()]
    for call in (s.close_session, s.delete_session):
        with pytest.raises(UsageError, match="this very session"):
            call(s.state.session_id)


def test_pitfall_16_each_session_has_a_process_of_its_own_so_that_a_stop_stops_one_only(
    connect: Callable[..., Session],
):
    one, two = connect("--v1"), connect("--v1")
    assert pid(one) != pid(two)
    slow, other = one.start("slow", unattended=True), two.start("drip 20 0.02", unattended=True)
    one.abort()
    slow.wait(10)
    assert slow.stop_reason == "cancelled"
    assert other.wait(10).stop_reason == "end_turn"


# ---- decisions and settings in mid-session ---------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["--v1", "--v2"])
def test_a_call_is_decided_by_one_of_the_agents_own_options(connect: Callable[..., Session], version: str):
    s = connect(version)
    request = waiting(s, "ask", PendingApproval)
    assert [(o.id, o.kind) for o in request.options] == [
        ("yes", "allow_once"), ("always", "allow_session"), ("no", "deny_once"), ("never", "deny_session"),
    ]  # fmt: skip
    with pytest.raises(UsageError, match="no option 'maybe'"):
        s.approve(option="maybe")
    with pytest.raises(UsageError, match="allows the call"):
        s.approve(allow=False, option="always")
    s.approve(option="Never allow this")
    turn = s.turns[-1].wait(10)
    assert turn.tool_calls[0].decision.outcome == "denied"
    with pytest.raises(NotWaiting):
        s.approve(option="yes")


def test_an_option_that_says_no_is_never_taken_for_a_yes(connect: Callable[..., Session]):
    from hm_jupyter.commands import Approve

    s = connect("--v1")
    request = waiting(s, "ask", PendingApproval)
    with pytest.raises(UsageError, match="denies the call"):
        s._send(Approve(request_id=request.request_id, allow=True, option_id="no"))
    with pytest.raises(UsageError, match="no option"):
        s._send(Approve(request_id=request.request_id, allow=True, option_id="anything"))
    s.deny()


@pytest.mark.parametrize("version", ["--v1", "--v2"])
def test_a_form_is_answered_by_its_fields(connect: Callable[..., Session], version: str):
    s = connect(version)
    question = waiting(s, "form", PendingQuestion)
    assert {f.name: f.kind for f in question.form}["tags"] == "multi"
    with pytest.raises(UsageError, match=r"name \(Name\) is needed"):
        s.answer(fields={"count": 2})
    with pytest.raises(UsageError, match="by its fields"):
        s.answer("just text")
    s.answer(question.call_id or question.request_id, fields={"name": "shop", "colour": "red", "tags": ["x"]})
    assert "shop" in s.turns[-1].wait(10).text


@pytest.mark.parametrize("version", ["--v1", "--v2"])
def test_a_policy_answers_a_form_by_its_fields_and_what_nobody_can_be_asked_is_declined(
    connect: Callable[..., Session], version: str
):
    s = connect(version, answers={"where to put it": {"name": "shop", "count": "2"}})
    assert "('name', 'shop')" in s.prompt("form", unattended=True).text
    for scene in ("form", "url"):
        alone = connect(version)
        with pytest.raises(ApprovalRequired):
            alone.prompt(scene, unattended=True)
        turn = alone.turns[-1]
        assert turn.stop_reason == "end_turn"
        assert "decline" in turn.text, "no text is ever taken for a consent"


@pytest.mark.parametrize(("reply", "action"), [("yes", "accept"), ("sqlite", "decline")])
def test_a_page_is_consented_to_by_a_plain_yes_only(connect: Callable[..., Session], reply: str, action: str):
    s = connect("--v1", answers=[reply])
    assert action in s.prompt("url", unattended=True).text


@pytest.mark.parametrize("version", ["--v1", "--v2"])
def test_settings_change_by_id_or_name_and_what_is_not_offered_is_said(connect: Callable[..., Session], version: str):
    s = connect(version)
    s.set_option("effort", "high")
    s.set_option("web", "on")
    s.set_mode("code")
    s.set_model("large")
    assert {o.id: o.value for o in s.options} == {"mode": "code", "model": "large", "effort": "high", "web": True}
    for option, value, said in (
        ("colour", "red", "effort"),
        ("effort", "huge", "low, high"),
        ("web", "maybe", "switch"),
    ):
        with pytest.raises(UsageError, match=said):
            s.set_option(option, value)


def test_requests_of_the_agents_own_go_as_they_are(connect: Callable[..., Session]):
    s = connect("--v1")
    listed = s.call("session/list", {})
    assert isinstance(listed["sessions"], list)
    with pytest.raises(AgentError, match="Method not found"):
        s.call("_mine/thing")


def test_signing_out_is_told_to_the_agent_and_in_without_a_way_is_refused(connect: Callable[..., Session]):
    s = connect("--v1", "--auth", sign_in="token")
    assert [m.id for m in s.sign_in_methods] == ["token", "login"]
    s.sign_out()
    s.sign_in()  # the only way the agent can carry out itself
    assert s.prompt("say hello", unattended=True).text == "hello"
    with pytest.raises(UsageError, match="not carried out by the agent"):
        s.sign_in("login")
    with pytest.raises(UsageError, match="token, login"):
        s.sign_in("other")


def test_plan_context_and_spending_are_read_from_the_session(connect: Callable[..., Session]):
    s = connect("--v2")
    s.prompt("plan; usage", unattended=True)
    assert s.plan is not None
    assert s.plan.items
    assert s.context.used
    assert s.context.size
    assert s.state.spent


@pytest.mark.anyio
async def test_every_call_has_its_twin_for_async_code(tmp_path: Path):
    async with await hm.aconnect([*AGENT, "--v2"], cwd=tmp_path) as s:
        await s.aset_option("effort", "high")
        assert (await s.aprompt("say hello", unattended=True)).text == "hello"
        assert isinstance((await s.acall("session/list", {}))["sessions"], list)
        with pytest.raises(UsageError):
            await s.aclose_session(s.state.session_id)
    names = [n for n in dir(Session) if f"a{n}" in dir(Session)]
    assert {"set_option", "cancel", "resume", "close_session", "delete_session", "sign_in", "sign_out", "call"} <= {
        *names
    }


# ---- messages that wait ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["--v1", "--v2"])
def test_a_prompt_is_over_when_what_waited_for_its_end_is_over_too(connect: Callable[..., Session], version: str):
    s = connect(version)
    verdicts = [{"allow": False, "note": "ask"}, {"allow": False, "note": "say only the tests"}]
    turn = s.prompt("ask", approve=verdicts, unattended=True)
    assert [t.text for t in s.turns][-1] == "only the tests"
    assert turn.number == 1
    assert turn.last.number == 3, "the policy of the prompt decided in the turn of its note too"
    assert s.prompt("say free again", unattended=True).text == "free again"


@pytest.mark.anyio
async def test_a_steer_that_waits_for_the_end_is_waited_for_in_async_code_too(tmp_path: Path):
    async with await hm.aconnect([*AGENT, "--v1"], cwd=tmp_path) as s:
        turn = await s.astart("drip 5 0.02", unattended=True)
        await s.asteer("say steered")
        await anyio.to_thread.run_sync(turn.wait, 10)
        await anyio.to_thread.run_sync(turn.last.wait, 10)
        assert turn.following is not None
        assert turn.last.text == "steered"
        assert (await s.aprompt("say hello", unattended=True)).following is None
