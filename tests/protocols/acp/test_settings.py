"""What is sent to change a setting, the way this agent offers it (ACP reference, sections 4 and 6)."""

from __future__ import annotations

from typing import Any

import pytest

from hm_jupyter.commands import SetMode, SetModel, SetOption
from hm_jupyter.errors import NotSupported, UsageError
from hm_jupyter.events import SessionUpdated
from hm_jupyter.protocols.acp.settings import Settings

MODES = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "auto", "name": "Auto"}]}
MODELS = {"currentModelId": "m", "availableModels": [{"modelId": "m", "name": "M"}, {"modelId": "n", "name": "N"}]}


def select(option_id: str, category: str | None, *values: str) -> dict[str, Any]:
    named = [{"value": value, "name": value.title()} for value in values]
    return {
        "type": "select",
        "id": option_id,
        "configId": option_id,
        "name": option_id,
        "category": category,
        "currentValue": values[0],
        "options": named,
    }


OPTIONS = [
    select("how", "mode", "ask", "auto"),
    select("which", "model", "m", "n"),
    select("deep", "thought_level", "low", "high"),
    {"type": "boolean", "id": "web", "name": "Web", "currentValue": False},
]


def settings(version: int = 1, **result: Any) -> Settings:
    made = Settings(version)
    made.result(result, [])
    return made


def test_v1_modes_and_the_older_models_have_methods_of_their_own() -> None:
    made = settings(modes=MODES, models=MODELS)
    assert (made.modes, made.models, made.effort, made.options) == (True, True, False, False)
    assert made.set_mode(SetMode(mode="auto")) == [("session/set_mode", {"modeId": "auto"})]
    assert made.set_model(SetModel(model="n")) == [("session/set_model", {"modelId": "n"})]


@pytest.mark.parametrize(("version", "typed"), [(1, {}), (2, {"type": "id"})])
def test_options_are_set_by_their_id_and_v2_names_the_type(version: int, typed: dict[str, str]) -> None:
    made = settings(version, configOptions=OPTIONS, modes=MODES, models=MODELS)
    assert made.set_mode(SetMode(mode="auto")) == [
        ("session/set_config_option", {"configId": "how", "value": "auto", **typed})
    ]
    assert made.set_model(SetModel(model="n", effort="high")) == [
        ("session/set_config_option", {"configId": "which", "value": "n", **typed}),
        ("session/set_config_option", {"configId": "deep", "value": "high", **typed}),
    ]
    assert made.set_option(SetOption(option="web", value=True)) == [
        ("session/set_config_option", {"configId": "web", "value": True, "type": "boolean"})
    ]


@pytest.mark.parametrize(
    "command",
    [
        SetMode(mode="bogus"),
        SetModel(model="bogus"),
        SetModel(effort="bogus"),
        SetOption(option="how", value="bogus"),
        SetOption(option="how", value=True),
        SetOption(option="web", value="true"),
        SetOption(option="bogus", value="x"),
    ],
    ids=lambda command: str(command.model_dump(exclude={"id"}, exclude_none=True)),
)
def test_what_the_agent_does_not_offer_is_not_sent(command: Any) -> None:
    made = settings(configOptions=OPTIONS)
    send = {"set_mode": made.set_mode, "set_model": made.set_model, "set_option": made.set_option}[command.type]
    with pytest.raises(UsageError):
        send(command)


def test_an_agent_that_offers_nothing_says_so() -> None:
    made = settings()
    for send in (
        lambda: made.set_mode(SetMode(mode="x")),
        lambda: made.set_model(SetModel(model="x")),
        lambda: made.set_model(SetModel(effort="x")),
        lambda: made.set_model(SetModel(provider="x")),
        lambda: made.set_option(SetOption(option="x", value="y")),
    ):
        with pytest.raises(NotSupported):
            send()
    assert made.set_model(SetModel()) == []


@pytest.mark.parametrize(
    ("given", "command", "changed"),
    [
        ({"modes": MODES}, SetMode(mode="auto"), {"mode": "auto"}),
        ({"models": MODELS}, SetModel(model="n"), {"model": "n"}),
        ({"configOptions": OPTIONS}, SetMode(mode="auto"), {"mode": "auto"}),
    ],
)
def test_an_answer_that_says_nothing_leaves_what_was_asked_for(
    given: dict[str, Any], command: Any, changed: dict[str, str]
) -> None:
    made = settings(**given)
    send = made.set_mode if isinstance(command, SetMode) else made.set_model
    (message,) = send(command)  # type: ignore[operator]
    out: list[Any] = []
    made.done(message, {}, out)
    (event,) = out
    assert isinstance(event, SessionUpdated)
    assert event.changes.items() >= changed.items()


def test_an_answer_with_the_full_list_is_believed() -> None:
    made = settings(configOptions=OPTIONS)
    (message,) = made.set_mode(SetMode(mode="auto"))
    out: list[Any] = []
    made.done(message, {"configOptions": [select("how", "mode", "plan", "ask")]}, out)
    (event,) = out
    assert (event.changes["mode"], event.changes["modes"]) == ("plan", ["plan", "ask"])


def test_names_of_modes_and_models_with_one_id_are_told_apart() -> None:
    out: list[Any] = []
    Settings(1).result(
        {
            "modes": {"currentModeId": "default", "availableModes": [{"id": "default", "name": "Manual"}]},
            "models": {"currentModelId": "default", "availableModels": [{"modelId": "default", "name": "Opus"}]},
        },
        out,
    )
    labels = out[0].changes["labels"]
    assert (labels["mode:default"], labels["model:default"], labels["default"]) == ("Manual", "Opus", "default")
