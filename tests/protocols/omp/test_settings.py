"""Settings as options: what is offered, what is set, and what changes by itself."""

from __future__ import annotations

from typing import Any

import pytest
from omp_talk import MODELS, STATE, Talk

from hm_jupyter.commands import SetModel, SetOption
from hm_jupyter.errors import UsageError


def options(t: Talk) -> dict[str, Any]:
    return {o.id: o for o in t.transcript.state.options}


def test_what_the_state_tells_is_offered_and_what_it_does_not_tell_is_not() -> None:
    t = Talk()
    assert {name: o.value for name, o in options(t).items()} == {
        "model": "acme/big", "thinking": "medium", "steering_mode": "all", "follow_up_mode": "one-at-a-time",
        "interrupt_mode": "immediate", "auto_compaction": True, "auto_retry": True,
    }  # fmt: skip
    assert "fast_mode" in options(Talk(state={"fastModeEnabled": False}))
    assert "interrupt_mode" not in options(Talk("pi", state={"interruptMode": None}))


def test_models_are_named_by_provider_and_id() -> None:
    state = Talk().transcript.state
    assert state.models == ["acme/big", "acme/blind", "zeta/big"]
    assert state.labels["acme/blind"] == "Blind"


def test_a_model_may_be_named_in_any_way_that_is_clear() -> None:
    for given in (SetModel(model="blind"), SetModel(model="acme/blind"), SetModel(provider="acme", model="blind")):
        (line,) = Talk().says(given)
        assert (line["provider"], line["modelId"]) == ("acme", "blind")
    (line,) = Talk().says(SetModel(model="new/model/x"))
    assert (line["provider"], line["modelId"]) == ("new", "model/x")


def test_a_model_that_two_providers_have_must_name_one() -> None:
    with pytest.raises(UsageError, match="acme/big, zeta/big"):
        Talk().says(SetModel(model="big"))


def test_a_model_that_was_set_is_shown_with_its_window() -> None:
    t = Talk()
    t.says(SetModel(model="acme/blind"))
    t.answers("set_model", data={**MODELS[1], "contextWindow": 8000})
    assert (t.transcript.state.model, t.transcript.state.context_size) == ("acme/blind", 8000)
    assert options(t)["model"].value == "acme/blind"


def test_model_and_effort_are_set_one_after_the_other() -> None:
    t = Talk()
    assert [line["type"] for line in t.says(SetModel(id="x", model="acme/blind", effort="high"))] == ["set_model"]
    assert not any(e.__class__.__name__ == "CommandAnswered" for e in t.answers("set_model", data=MODELS[1]))
    t.answers("set_thinking_level")
    assert t.events[-1].command_id == "x"  # type: ignore[union-attr]
    assert t.transcript.state.effort == "high"


def test_a_model_that_is_refused_sets_no_effort_either() -> None:
    t = Talk()
    t.says(SetModel(id="x", model="acme/blind", effort="high"))
    (answered,) = t.refuses("set_model", "Model not found")
    assert (answered.ok, t.written()) == (False, [])


def test_levels_are_those_the_agent_lists_else_the_models_else_the_documents() -> None:
    t = Talk()
    assert [c.value for c in options(t)["thinking"].choices] == ["off", "minimal", "low", "medium", "high", "xhigh"]
    t = Talk(state={"model": {**MODELS[0], "thinking": {"efforts": ["low", "high"]}}})
    assert [c.value for c in options(t)["thinking"].choices] == ["off", "low", "high", "medium"]
    with pytest.raises(UsageError, match="'ultra' is no thinking level here"):
        t.says(SetModel(effort="ultra"))


@pytest.mark.parametrize(
    ("option", "value"), [("steering_mode", "some"), ("auto_retry", "yes"), ("interrupt_mode", True), ("nothing", "x")]
)
def test_a_value_that_is_not_offered_is_refused_before_it_is_sent(option: str, value: Any) -> None:
    with pytest.raises(UsageError):
        Talk().says(SetOption(option=option, value=value))


def test_an_option_shows_what_was_set_once_the_agent_has_taken_it() -> None:
    t = Talk()
    t.says(SetOption(option="steering_mode", value="one-at-a-time"))
    assert options(t)["steering_mode"].value == "all"
    t.answers("set_steering_mode")
    assert options(t)["steering_mode"].value == "one-at-a-time"
    t.says(SetOption(option="auto_retry", value=False))
    t.answers("set_auto_retry")
    assert options(t)["auto_retry"].value is False


def test_cycling_tells_the_new_model_and_level_and_nothing_where_there_is_no_other() -> None:
    t = Talk()
    t.call("cycle_model")
    t.answers("cycle_model", data={"model": MODELS[1], "thinkingLevel": "low", "isScoped": False})
    assert (t.transcript.state.model, t.transcript.state.effort) == ("acme/blind", "low")
    t.call("cycle_thinking_level")
    t.answers("cycle_thinking_level", data={"level": "high"})
    assert t.transcript.state.effort == "high"
    for method in ("cycle_model", "cycle_thinking_level"):
        t.call(method)
        t.answers(method)
    assert (t.transcript.state.model, t.transcript.state.effort) == ("acme/blind", "high")


def test_a_change_that_is_told_without_saying_to_what_is_asked_for_once() -> None:
    t = Talk()
    t.hears({"type": "model_changed"}, {"type": "thinking_level_changed"})
    assert [line["type"] for line in t.written()] == ["get_state"]
    t._sent.append({"type": "get_state", "id": "hm-4"})
    t.answers("get_state", data={**STATE, "model": MODELS[1]})
    assert t.transcript.state.model == "acme/blind"


def test_a_change_of_ours_is_told_by_its_response() -> None:
    t = Talk()
    t.says(SetModel(model="acme/blind"))
    t.written()
    t.hears({"type": "model_changed"})
    assert t.written() == []


def test_a_change_that_says_to_what_is_shown_at_once() -> None:
    t = Talk()
    t.hears({"type": "thinking_level_changed", "level": "low"})
    assert t.transcript.state.effort == "low"
    t.hears({"type": "config_update", "model": MODELS[1], "thinkingLevel": "high"})
    assert (t.transcript.state.model, t.transcript.state.effort) == ("acme/blind", "high")
