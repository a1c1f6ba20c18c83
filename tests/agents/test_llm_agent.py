"""The agent on real models, as a client sees it: its process, its wire, and a scripted server behind real HTTP."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from model_server import APIS, Answer, ModelServer, calls, fails, model_server, says

pytest.importorskip("pydantic_ai", reason="needs the extra llm")

KEY = "sk-test-0123456789abcdefghij"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture
def on(start: Callable[..., Any], server: ModelServer, tmp_path: Path) -> Callable[..., Any]:
    """Starts the agent on ``api`` of the server; ``settings`` are lines of the provider's in hm.toml."""

    def run(api: str, *flags: str, env: dict[str, str] | None = None, **settings: str) -> Any:
        file = tmp_path / "hm.toml"
        file.write_text(server.settings(**settings), encoding="utf-8")
        return start("--provider", f"{api}-here", *flags, env={"HM_CONFIG": str(file), **(env or {})})

    return run


def types(events: list[dict[str, Any]], *wanted: str) -> list[str]:
    return [e["type"] for e in events if e["type"] in wanted]


def test_on_each_api_a_command_and_an_edit_of_one_answer_are_asked_about_run_and_answered(on, server):
    """HM-096 HM-192 HM-194. One conversation goes through all four: each gets what the others said and did."""
    agent = on(APIS[0])
    for number, api in enumerate(APIS):
        assert agent.call("set_model", provider=f"{api}-here")["ok"]
        begin = len(agent.seen)
        server.will(
            Answer([
                ("think", "Two things."), ("text", f"I will do both {number}."),
                ("call", "shell", {"command": f"echo from-shell-{number}"}),
                ("call", "write_file", {"path": "a", "content": "b"}),
            ], input=70, output=7),
            says("Both are done.", input=90, output=9),
        )  # fmt: skip
        first = agent.ask(f"do both {number}")
        assert first["command"] == f"echo from-shell-{number}"
        assert agent.call("approve", call_id=first["call_id"], allow=True)["ok"]
        second = agent.until("approval_needed")
        assert second["tool"] == "write_file"
        assert agent.call("approve", call_id=second["call_id"], allow=False, note="not that file")["ok"]
        agent.until("turn_end")
        events = agent.seen[begin:]
        assert "".join(e["text"] for e in events if e["type"] == "thinking_delta") == "Two things."
        assert [e["text"] for e in events if e["type"] == "message_end"] == [
            f"do both {number}", f"I will do both {number}.", "", "Both are done.",
        ]  # fmt: skip
        asked = server.asked[-1]
        assert asked.api == api
        assert "not that file" in asked.text
        assert all(f"from-shell-{n}\\n" in asked.text for n in range(number + 1))
    assert not (agent.cwd / "a").exists()
    usage = agent.state()["session"]["usage"]
    assert (usage["input"], usage["output"]) == (4 * 160, 4 * 16)
    assert agent.call("set_model", provider="demo")["ok"]
    assert agent.turn("say: on")[-1].get("error") is None


def test_a_provider_that_breaks_off_or_is_busy_is_told_and_asked_again(on, server):
    agent = on("openai")
    server.will(
        says("Half an ans", stop="drop"),
        fails(529, "Overloaded", retry_after="0"),
        says("A whole answer."),
    )
    events = agent.turn("go")
    assert types(events, "message_start", "retry", "message_end", "turn_end") == [
        "message_end", "message_start", "message_end", "retry", "message_start", "retry", "message_end", "turn_end",
    ]  # fmt: skip
    broken, busy = [e for e in events if e["type"] == "retry"]
    assert (broken["attempt"], broken["of"]) == (1, 4)
    assert (busy["attempt"], busy["of"], busy["wait"]) == (2, 4, 0.0)
    assert "Overloaded" in busy["reason"]
    _, half, whole = [e for e in events if e["type"] == "message_end"]
    assert (half["text"], half["interrupted"]) == ("Half an ans", True)
    assert (whole["text"], "interrupted" in whole) == ("A whole answer.", False)
    assert shown([agent.seen[0], *events]) == ["Half an ans", "A whole answer."]
    agent.turn("and now")
    assert "Half an ans" not in server.asked[-1].text


def shown(lines: list[dict[str, Any]]) -> list[str]:
    """The agent's messages as our client reads them from these lines."""
    from hm_jupyter.events import MessageUpdated, TextAppended
    from hm_jupyter.protocols.hm import HmAdapter

    adapter = HmAdapter()
    adapter.start()
    texts: dict[str, str] = {}
    for line in lines:
        for event in adapter.receive(line).events:
            if getattr(event, "role", "") != "assistant":
                continue
            if isinstance(event, TextAppended):
                texts[event.message_id] = texts.get(event.message_id, "") + event.text
            elif isinstance(event, MessageUpdated) and event.text is not None:
                texts[event.message_id] = event.text
    return list(texts.values())


def test_a_turn_that_fails_says_why_and_the_session_goes_on(on, server):
    agent = on("openai", env={"MY_KEY": KEY}, key_variable='"MY_KEY"')
    server.will(fails(401, f"bad key {KEY}"))
    (end,) = [e for e in agent.turn("go") if e["type"] == "turn_end"]
    assert end["stop_reason"] == "error"
    assert "MY_KEY" in end["error"]
    assert [e["text"] for e in agent.turn("again") if e["type"] == "message_end"] == ["again", "Done."]
    assert agent.end() == 0
    assert KEY not in str(agent.seen) + agent.stderr


def test_abort_in_mid_answer_hangs_up_and_keeps_what_was_said(on, server):
    agent = on("openai")
    server.will(Answer([("text", "and so on")], hold=True))
    assert agent.call("prompt", text="go")["ok"]
    agent.until("text_delta", text="and so on")
    began = time.monotonic()
    assert agent.call("abort")["ok"]
    assert agent.until("turn_end")["stop_reason"] == "cancelled"
    assert server.asked[0].gone.wait(5)
    assert time.monotonic() - began < 3
    agent.turn("more")
    assert "and so on" in server.asked[1].text


def test_an_input_that_is_no_json_is_a_result_the_model_can_mend(on, server):
    agent = on("openai", "--mode", "auto")
    server.will(calls(("shell", '{"command": "ec')), calls(("shell", {"command": "echo mended"})))
    results = [e for e in agent.turn("go") if e["type"] == "tool_result"]
    assert [r["is_error"] for r in results] == [True, False]
    assert "not valid JSON" in results[0]["text"]
    assert "not valid JSON" in server.asked[1].text


def test_an_answer_that_is_empty_or_cut_off_ends_the_turn_with_a_sentence(on, server):
    agent = on("openai")
    server.will(Answer([]), says("so far", stop="length"))
    empty, cut = agent.turn("go"), agent.turn("go on")
    (notice,) = [e for e in empty if e["type"] == "notice"]
    assert notice["level"] == "warning" and "empty answer" in notice["text"]
    assert "stop_reason" not in empty[-1]
    assert cut[-1]["stop_reason"] == "max_tokens"


def test_the_effort_and_model_set_apply_to_the_next_turn(on, server):
    """HM-096 HM-097 HM-100"""
    agent = on("openai")
    agent.turn("one")
    assert agent.call("set_model", effort="high", model="another-model")["ok"]
    agent.turn("two")
    one, two = server.asked
    assert (one.body["model"], one.body.get("reasoning_effort")) == ("test-model", None)
    assert (two.body["model"], two.body["reasoning_effort"]) == ("another-model", "high")


def test_a_missing_key_is_told_with_its_variable_before_anything_starts(run_once, tmp_path):
    """HM-037"""
    done = run_once("--rpc", "--no-session", "--provider", "anthropic")
    assert (done.returncode, done.stdout) == (2, "")
    assert "ANTHROPIC_API_KEY" in done.stderr and "keyring set hm-jupyter ANTHROPIC_API_KEY" in done.stderr


def test_what_a_new_provider_lacks_is_told_and_the_old_one_stays(start):
    agent = start("--provider", "demo")
    response = agent.call("set_model", provider="openai")
    assert not response["ok"] and "OPENAI_API_KEY" in response["error"]
    assert agent.state()["session"]["provider"] == "demo"
