"""Models behind the four provider APIs, against a scripted server over real HTTP: what is asked, and what comes of it."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import Iterator
from contextlib import aclosing

import pytest
from llm_talk import asks, calls_of, finished, message_of, model_of, on_loop, result, step, text_of, thinking_of
from model_server import APIS, SIGNATURE, Answer, ModelServer, calls, fails, model_server, says

pytest.importorskip("pydantic_ai", reason="needs the extra llm")

from hm_jupyter.agents.llm import model as llm_model
from hm_jupyter.agents.llm.failures import LONGEST, Place, failure
from hm_jupyter.agents.llm.keys import Secrets
from hm_jupyter.agents.messages import Message, Picture
from hm_jupyter.agents.providers import CallStarted, ContextTooLong, ModelError, Notice, Retrying, Text

KEY = "sk-test-0123456789abcdefghij"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm_model, "FIRST_WAIT", 0.0)


each_api = pytest.mark.parametrize("api", APIS)


# ---- what comes of an answer ----


@each_api
def test_text_and_thinking_are_told_as_they_come(server, api):
    server.will(Answer([("think", "Let me think about it."), ("text", "Here it is, in **several** pieces.")]))
    deltas = step(model_of(server, api), [asks()])
    assert thinking_of(deltas) == "Let me think about it."
    assert text_of(deltas) == "Here it is, in **several** pieces."
    assert sum(isinstance(d, Text) for d in deltas) > 2


@each_api
def test_parallel_calls_are_told_when_they_begin_and_are_whole_at_the_end(server, api):
    server.will(calls(("shell", {"command": "ls"}), ("write_file", {"path": "a", "content": "é\n"}), text="Both."))
    deltas = step(model_of(server, api), [asks()])
    assert [d.tool for d in deltas if isinstance(d, CallStarted)] == ["shell", "write_file"]
    assert [(c.tool, c.input, c.error) for c in calls_of(deltas)] == [
        ("shell", {"command": "ls"}, ""),
        ("write_file", {"path": "a", "content": "é\n"}, ""),
    ]


@each_api
def test_a_delta_of_a_megabyte_comes_whole(server, api):
    server.will(says("H" * 2**20))
    assert text_of(step(model_of(server, api), [asks()])) == "H" * 2**20


@pytest.mark.parametrize("api", APIS[:3])  # Gemini's inputs are no text that could be broken
def test_an_input_that_is_no_json_object_is_an_error_the_model_is_told(server, api):
    model = model_of(server, api)
    for raw in ('{"command": "ls', '["ls"]', '{"timeout": NaN}', '{"timeout": 1e999}', "[" * 100_000):
        server.will(calls(("shell", raw)))
        (call,) = calls_of(step(model, [asks()]))
        assert call.input == {}
        assert "again" in call.error


@each_api
def test_usage_is_told_with_cache_reads_and_costs_what_the_settings_say(server, api):
    server.will(says("hi", input=1000, output=50, cache_read=400))
    prices = '{ "test-model" = { input = 10, output = 100, cache_read = 1 } }'
    usage = finished(step(model_of(server, api, prices=prices), [asks()])).usage
    assert (usage.input, usage.output, usage.cache_read) == (1400, 50, 400)
    assert usage.cost == pytest.approx((1000 * 10 + 400 * 1 + 50 * 100) / 1e6)


def test_cache_writes_are_counted(server):
    server.will(says("hi", input=10, output=5, cache_write=300))
    usage = finished(step(model_of(server, "anthropic"), [asks()])).usage
    assert (usage.input, usage.cache_write, usage.cost) == (310, 300, 0.0)


@each_api
def test_a_known_model_costs_what_is_publicly_asked_for_it(server, api):
    server.will(says("hi", input=1_000_000, output=0))
    name = {"anthropic": "claude-sonnet-4-5", "google": "gemini-2.5-flash"}.get(api, "gpt-4.1")
    cost = finished(step(model_of(server, api, model=f'"{name}"'), [asks()])).usage.cost
    assert cost == 0.0 if api == "openai" else cost > 0.05  # somebody's own server is not OpenAI's


@each_api
def test_an_empty_answer_ends_with_a_sentence(server, api):
    server.will(Answer([]))
    assert "empty answer" in finished(step(model_of(server, api), [asks()])).note


@each_api
def test_an_answer_cut_off_or_withheld_says_so(server, api):
    server.will(says("so far", stop="length"), says("so far", stop="filter"))
    model = model_of(server, api)
    cut, withheld = (finished(step(model, [asks()])) for _ in range(2))
    assert (cut.stop, withheld.stop) == ("max_tokens", "refusal")
    assert "cut off" in cut.note and "withheld" in withheld.note


# ---- what is asked ----


@each_api
def test_the_tools_the_system_text_and_pictures_are_sent(server, api):
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (3, 2)).save(out, "PNG")
    data = base64.b64encode(out.getvalue()).decode()
    step(model_of(server, api), [asks("look", images=[Picture(data, "image/png", 3, 2)])], system="Be brief.")
    sent = server.asked[0].text
    assert data in sent.replace("-", "+").replace("_", "/")  # Gemini's base64 is the URL's
    assert "image/png" in sent
    assert "Be brief." in sent
    assert "write_file" in sent


@each_api
def test_a_round_trip_gives_back_what_the_provider_wants_to_see_again(server, api):
    model = model_of(server, api, model='"gpt-5.2"' if api == "openai-responses" else '"test-model"')
    server.will(
        Answer([("think", "Hm."), ("text", "Both."), ("call", "shell", {"command": "ls"}), ("call", "list_files", {})])
    )
    first = message_of(step(model, [asks()]), "call_01", "call_02")
    kept = json.loads(json.dumps(first.private))  # as a saved session holds it
    assert "Both." not in json.dumps(kept)
    first.private = kept
    history = [asks(), first, result("call_01", "a.py"), result("call_02", "no such folder", is_error=True)]
    assert text_of(step(model, history)) == "Done."
    sent = server.asked[1].text
    for said in ("Both.", "a.py", "no such folder"):
        assert said in sent
    if api != "openai":
        assert SIGNATURE in sent
    if api == "anthropic":
        thinking, text, *uses = server.asked[1].body["messages"][1]["content"]
        assert (thinking["type"], thinking["thinking"], text["text"]) == ("thinking", "Hm.", "Both.")
        results = server.asked[1].body["messages"][2]["content"]
        assert [u["id"] for u in uses] == [r["tool_use_id"] for r in results]
        assert [bool(r.get("is_error")) for r in results] == [False, True]


@each_api
def test_another_provider_gets_the_words_and_calls_without_what_was_the_first_ones_own(server, api):
    other = APIS[APIS.index(api) - 1]
    server.will(Answer([("think", "Secret thoughts."), ("text", "Words."), ("call", "shell", {"command": "ls"})]))
    first = message_of(step(model_of(server, other), [asks()]), "call_01")
    step(model_of(server, api), [asks(), first, result("call_01", "a.py")])
    sent = server.asked[1].text
    assert "Words." in sent and "a.py" in sent
    assert "Secret thoughts." not in sent and SIGNATURE not in sent


@each_api
def test_calls_without_a_result_and_empty_messages_are_put_right(server, api):
    from hm_jupyter.agents.messages import ToolCall

    history = [
        asks("one"),
        Message("e2", "assistant", "", calls=[ToolCall("call_01", "odd name!\n", {})]),
        asks("two"),
        Message("e3", "assistant", "  \n"),
        result("call_77", "of no call"),
        Message("e4", "summary", "what was"),
        asks("three"),
    ]
    step(model_of(server, api), history)
    sent = server.asked[0].text
    assert "cut off before it was done" in sent
    assert "of no call" not in sent
    assert "odd_name__" in sent
    assert all(word in sent for word in ("one", "two", "what was", "three"))


def test_ids_that_a_server_gives_twice_are_made_different(server):
    model = model_of(server, "openai")
    server.will(calls(("shell", {"command": "a"}), ("shell", {"command": "b"}), ids=["call_0", "call_0"]))
    message = message_of(step(model, [asks()]), "call_01", "call_02")
    step(model, [asks(), message, result("call_01", "A"), result("call_02", "B")])
    sent = server.asked[1].body["messages"]
    (asked,) = [m for m in sent if m["role"] == "assistant"]
    ids = [c["id"] for c in asked["tool_calls"]]
    assert len(set(ids)) == 2
    assert [m["tool_call_id"] for m in sent if m["role"] == "tool"] == ids


def test_anthropic_is_told_what_to_cache_and_not_when_that_is_turned_off(server):
    step(model_of(server, "anthropic"), [asks()], system="Be brief.")
    body = server.asked[0].body
    assert body["tools"][-1]["cache_control"] and body["system"][-1]["cache_control"]
    assert body["messages"][-1]["content"][-1]["cache_control"]
    step(model_of(server, "anthropic", cache="false"), [asks()], system="Be brief.")
    assert "cache_control" not in server.asked[1].text


@each_api
def test_an_effort_is_sent_in_the_providers_words(server, api):
    name = {"anthropic": "claude-opus-4-6", "google": "gemini-3-pro-preview"}.get(api, "gpt-5.2")
    model = model_of(server, api, model=f'"{name}"')
    for effort in ("", "low", "max"):
        step(model, [asks()], effort=effort)
    plain, low, most = ({k: v for k, v in a.body.items() if k != "messages"} for a in server.asked)
    assert plain != low != most
    if api == "openai":
        assert (low["reasoning_effort"], most["reasoning_effort"]) in (("low", "max"), ("low", "xhigh"))  # by version


def test_thinking_can_be_turned_off(server):
    model = model_of(server, "openai", model='"qwen3"')
    step(model, [asks()], effort="off")
    assert server.asked[0].body["reasoning_effort"] == "none"


def test_headers_and_key_come_from_the_variables_named(server, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    monkeypatch.setenv("MY_TEAM", "blue")
    model = model_of(server, "openai", key_variable='"MY_KEY"', headers='{ "X-Team" = "MY_TEAM" }')
    step(model, [asks()])
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert server.asked[0].headers["x-team"] == "blue"


def test_without_a_model_the_servers_first_is_taken(server):
    model = model_of(server, "openai", model='""')
    assert server.listed == 0
    step(model, [asks()])
    assert (server.asked[0].body["model"], model.name) == ("small-model", "small-model")


# ---- when it goes wrong ----


@pytest.mark.parametrize(("api", "status"), list(zip(APIS, [529, 500, 503, 429], strict=True)))
def test_a_busy_provider_is_asked_again_after_as_long_as_it_says(server, api, status):
    server.will(fails(status, "come back later", retry_after="0"), says("Here."))
    deltas = step(model_of(server, api), [asks()])
    (retry,) = [d for d in deltas if isinstance(d, Retrying)]
    assert (retry.attempt, retry.of, retry.wait) == (1, 4, 0.0)
    assert str(status) in retry.reason and "come back later" in retry.reason
    assert text_of(deltas) == "Here."


@each_api
def test_a_connection_that_breaks_off_in_mid_answer_is_made_again(server, api):
    server.will(says("Only half of", stop="drop"), says("All of it."))
    deltas = step(model_of(server, api), [asks()])
    at = next(i for i, d in enumerate(deltas) if isinstance(d, Retrying))
    assert text_of(deltas[:at]) == "Only half of"
    assert text_of(deltas[at:]) == "All of it."


@each_api
def test_it_gives_up_after_as_many_times_as_the_settings_say(server, api):
    server.will(*[fails(503, "full house")] * 3)
    with pytest.raises(ModelError, match=r"full house.*asked 3 times"):
        step(model_of(server, api, retries="2"), [asks()])
    assert len(server.asked) == 3


def test_a_wait_that_is_too_long_is_not_waited_for(server):
    server.will(fails(429, "slow down", retry_after="3600"))
    with pytest.raises(ModelError, match="asks to wait 3600 s"):
        step(model_of(server, "anthropic"), [asks()])


@each_api
def test_what_cannot_be_helped_by_asking_again_names_the_fix(server, api):
    model = model_of(server, api)
    for status, names in ((400, "did not take"), (401, "key"), (403, "key"), (404, "no model 'test-model'")):
        server.will(fails(status, "that is the matter"))
        with pytest.raises(ModelError, match="that is the matter") as caught:
            step(model, [asks()])
        assert names in str(caught.value)
    assert len(server.asked) == 4


def test_a_model_that_is_not_there_is_told_with_those_that_are(server):
    server.will(fails(404, "not found"))
    with pytest.raises(ModelError, match="The server has: small-model, large-model"):
        step(model_of(server, "openai"), [asks()])


@each_api
def test_a_key_that_a_server_echoes_is_never_shown(server, api, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    server.will(fails(401, f"your key {KEY} is no good, sk-proj-abcdefghijklmnopqrstuv neither"))
    model = model_of(server, api, key_variable='"MY_KEY"')
    with pytest.raises(ModelError, match="MY_KEY") as caught:
        step(model, [asks()])
    shown = f"{caught.value!r} {caught.value} {model!r} {caught.value.__cause__!r}"
    assert KEY not in shown
    assert "sk-proj-abc" not in shown


@pytest.mark.parametrize("before", range(LONGEST - 30, LONGEST + 2, 4))
def test_no_part_of_an_echoed_key_is_shown_wherever_the_message_is_cut(before):
    key = "plain.words.that.are.a.key.0123456789"
    place = Place("mine", "m", "http://localhost", "MY_KEY", Secrets([key]))
    said = f"{'x' * (before - 1)} {key} is no good"
    shown = str(failure(RuntimeError(said), place).error)
    assert key[:4] not in shown


@each_api
def test_a_conversation_that_is_too_long_is_told_apart(server, api):
    said = {
        "anthropic": "prompt is too long: 250000 tokens > 200000 maximum",
        "google": "The input token count (2000000) exceeds the maximum number of tokens allowed (1000000).",
    }.get(api, "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens")
    server.will(fails(400, said))
    with pytest.raises(ContextTooLong, match="too long"):
        step(model_of(server, api), [asks()])


def test_earlier_answers_a_provider_will_not_take_back_are_sent_without_what_is_signed(server):
    model = model_of(server, "anthropic")
    server.will(Answer([("think", "Hm."), ("text", "Words.")]), fails(400, "Invalid signature in thinking block"))
    first = message_of(step(model, [asks()]))
    deltas = step(model, [asks(), first, asks("more")])
    assert text_of(deltas) == "Done."
    assert SIGNATURE in server.asked[1].text
    assert SIGNATURE not in server.asked[2].text and "Words." in server.asked[2].text


@each_api
def test_a_server_that_is_not_there_is_named(api):
    with model_server() as gone:
        model = model_of(gone, api, retries="1")
    with pytest.raises(ModelError, match=r"no connection to http://127.0.0.1:\d+.*Is the server running"):
        step(model, [asks()])


@each_api
def test_stopping_closes_the_connection_at_once(server, api):
    server.will(Answer([("text", "and so on")], hold=True))

    async def stop_in_the_middle() -> None:
        heard = asyncio.Event()

        async def listen() -> None:
            async with aclosing(model_of(server, api).step([asks()], tools=[], effort="")) as deltas:
                async for _ in deltas:
                    heard.set()

        task = asyncio.ensure_future(listen())
        await asyncio.wait([task, asyncio.ensure_future(heard.wait())], return_when=asyncio.FIRST_COMPLETED)
        assert not task.done(), task.result()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.asked[0].gone.wait, 5)

    on_loop(stop_in_the_middle())


def test_a_key_that_travels_unencrypted_is_warned_of_once(server, monkeypatch):
    from hm_jupyter.agents.llm import source

    monkeypatch.setenv("MY_KEY", KEY)
    monkeypatch.setattr(source, "_is_loopback", lambda host: False)
    model = model_of(server, "openai", key_variable='"MY_KEY"')
    first, second = step(model, [asks()]), step(model, [asks()])
    assert [d.level for d in first if isinstance(d, Notice)] == ["warning"]
    assert not [d for d in second if isinstance(d, Notice)]


@each_api
def test_a_summary_is_the_models_own_words(server, api):
    server.will(says("They wanted X; Y is done."))
    model = model_of(server, api)
    history = [asks("do X"), Message("e2", "assistant", "Y is done")]
    assert on_loop(model.summarize(history, "the files")) == "They wanted X; Y is done."
    assert "the files" in server.asked[0].text
