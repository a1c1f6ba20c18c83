"""What can be set, as options of the session: model, thinking level, queue modes, compaction, retries, fast mode.

Neither agent tells what it offers in one place: the values come from ``get_state``, the choices from
``get_available_models`` and ``get_available_thinking_levels``, and what has no list has the document's. A model is named
``provider/id`` here, since two providers may have the same.
"""

from __future__ import annotations

from typing import Any

from ...commands import SetModel, SetOption
from ...errors import UsageError
from ...events import Choice, ConfigOption, Event, SessionUpdated, SlashCommand
from . import read

Message = tuple[str, dict[str, Any]]

LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh")
_QUEUE = [
    Choice("all", "all", "all of them at the next step"),
    Choice("one-at-a-time", "one at a time", "one for each step"),
]
_INTERRUPT = [
    Choice("immediate", "at once", "a steer interrupts what runs"),
    Choice("wait", "wait", "a steer waits for the tool call in progress"),
]
_MODES = {
    "steering_mode": ("set_steering_mode", "steeringMode", "Steering messages", _QUEUE),
    "follow_up_mode": ("set_follow_up_mode", "followUpMode", "Follow-ups", _QUEUE),
    "interrupt_mode": ("set_interrupt_mode", "interruptMode", "A steer", _INTERRUPT),
}
_SWITCHES = {
    "auto_compaction": ("set_auto_compaction", "autoCompactionEnabled", "Compact by itself"),
    "auto_retry": ("set_auto_retry", "", "Ask again after errors"),
    "fast_mode": ("set_fast_mode", "fastModeEnabled", "Fast mode"),
}


class Settings:
    """The settings of the session."""

    def __init__(self) -> None:
        self._models: dict[str, dict[str, Any]] = {}
        self._model: dict[str, Any] = {}
        self._levels: list[str] = []
        self._level = ""
        self._values: dict[str, str | bool] = {}

    # ---- what the agent says -----------------------------------------------------------------------------------------

    def state(self, data: dict[str, Any]) -> dict[str, Any]:
        """``get_state``: the changes of the session, options and all."""
        if "model" in data:
            self._model = read.fields(data["model"])
        self._level = read.text(data.get("thinkingLevel")) or self._level
        for name, (_, field, _, choices) in _MODES.items():
            value = data.get(field)
            if isinstance(value, str) and value in [c.value for c in choices]:
                self._values[name] = value
        for name, (_, field, _) in _SWITCHES.items():
            if isinstance(switched := data.get(field), bool):
                self._values[name] = switched
        self._values.setdefault("auto_retry", True)
        changes: dict[str, Any] = {}
        title = data.get("sessionName")
        if isinstance(title, str):
            changes["title"] = title
        context = read.fields(data.get("contextUsage"))
        tokens = read.count(context.get("tokens"))
        if tokens is not None:
            changes["context"] = tokens
        return {**self.changes(), **changes}

    def model(self, model: Any) -> dict[str, Any]:
        """The model is another now."""
        if isinstance(model, dict):
            self._model = model
        return self.changes()

    def models(self, data: Any) -> dict[str, Any]:
        """``get_available_models``."""
        found = {}
        for model in read.objects(read.fields(data).get("models")):
            provider, name = read.model_id(model)
            if name:
                found[f"{provider}/{name}" if provider else name] = model
        self._models = found
        return self.changes()

    def levels(self, data: Any) -> dict[str, Any]:
        """``get_available_thinking_levels``."""
        self._levels = read.texts(read.fields(data).get("levels"))
        return self.changes()

    def level(self, level: Any) -> dict[str, Any]:
        """The thinking level is another now."""
        self._level = read.text(level) or self._level
        return self.changes()

    def learned(self, kind: str, sent: dict[str, Any], data: Any) -> dict[str, Any] | None:
        """A command was done: what that changes. None: it is no setting."""
        told = read.fields(data)
        if kind == "set_model":
            return self.model(data)
        if kind == "cycle_model" and told:
            self._level = read.text(told.get("thinkingLevel")) or self._level
            return self.model(told.get("model"))
        if kind == "set_thinking_level":
            return self.level(sent.get("level"))
        if kind == "cycle_thinking_level" and told:
            return self.level(told.get("level"))
        for name, (command, _, _, _) in _MODES.items():
            if kind == command and isinstance(sent.get("mode"), str):
                self._values[name] = sent["mode"]
                return self.changes()
        for name, (command, _, _) in _SWITCHES.items():
            if kind == command and isinstance(sent.get("enabled"), bool):
                self._values[name] = told["enabled"] if isinstance(told.get("enabled"), bool) else sent["enabled"]
                return self.changes()
        return None

    # ---- what is sent ------------------------------------------------------------------------------------------------

    def set_model(self, command: SetModel) -> list[Message]:
        """What to send, in order: the model, then the effort. Raises ``UsageError`` for what is not offered."""
        sent: list[Message] = []
        if command.model is not None or command.provider is not None:
            provider, model = self._named(command.provider or "", command.model or "")
            sent.append(("set_model", {"provider": provider, "modelId": model}))
        if command.effort is not None:
            sent.append(self._set_level(command.effort))
        return sent

    def set_option(self, command: SetOption) -> list[Message]:
        """What to send. Raises ``UsageError`` for an option or a value that is not offered."""
        name, value = command.option, command.value
        if name == "model":
            return self.set_model(SetModel(model=str(value)))
        if name == "thinking":
            return [self._set_level(str(value))]
        option = next((o for o in self.options() if o.id == name), None)
        if option is None:
            raise UsageError(f"There is no option {name!r}; there are {_list([o.id for o in self.options()])}.")
        if option.kind == "boolean":
            if not isinstance(value, bool):
                raise UsageError(f"The option {name!r} takes True or False.")
            return [(_SWITCHES[name][0], {"enabled": value})]
        if value not in [c.value for c in option.choices]:
            raise UsageError(f"{value!r} is not offered for {name}; choose {_list([c.value for c in option.choices])}.")
        return [(_MODES[name][0], {"mode": value})]

    @property
    def takes_images(self) -> bool:
        """Does the model take pictures, as far as it says?"""
        takes = self._model.get("input")
        return not isinstance(takes, list) or "image" in takes

    # ---- how it is shown ---------------------------------------------------------------------------------------------

    def key(self) -> str:
        """The model as it is named here."""
        provider, name = read.model_id(self._model)
        return f"{provider}/{name}" if provider and name else name

    def options(self) -> list[ConfigOption]:
        """All options with their values."""
        found: list[ConfigOption] = []
        models = [
            Choice(key, read.text(m.get("name")) or key, group=read.model_id(m)[0]) for key, m in self._models.items()
        ]
        if models:
            found.append(ConfigOption("model", "Model", value=self.key(), category="model", choices=models))
        if self._level:
            choices = [Choice(level, level) for level in self._offered()]
            found.append(
                ConfigOption("thinking", "Thinking", value=self._level, category="thought_level", choices=choices)
            )
        for name, (_, _, label, values) in _MODES.items():
            if name in self._values:
                found.append(ConfigOption(name, label, value=self._values[name], choices=list(values)))
        for name, (_, _, label) in _SWITCHES.items():
            if name in self._values:
                found.append(ConfigOption(name, label, "boolean", self._values[name]))
        return found

    def changes(self) -> dict[str, Any]:
        """What a front-end shows of all this."""
        provider, _ = read.model_id(self._model)
        changes: dict[str, Any] = {
            "provider": provider,
            "model": self.key(),
            "effort": self._level,
            "options": self.options(),
            "models": list(self._models),
        }
        labels = {}
        for key, model in self._models.items():
            if read.text(model.get("name")):
                labels[key] = labels[f"model:{key}"] = model["name"]
        changes["labels"] = labels
        size = read.count(self._model.get("contextWindow"))
        if size:
            changes["context_size"] = size
        return changes

    # ---- within ------------------------------------------------------------------------------------------------------

    def _offered(self) -> list[str]:
        levels = self._levels
        if not levels:
            efforts = read.texts(read.fields(self._model.get("thinking")).get("efforts"))
            levels = ["off", *efforts] if efforts else list(LEVELS)
        return levels if self._level in levels or not self._level else [*levels, self._level]

    def _set_level(self, level: str) -> Message:
        if level not in self._offered():
            raise UsageError(f"{level!r} is no thinking level here; choose {_list(self._offered())}.")
        return "set_thinking_level", {"level": level}

    def _named(self, provider: str, name: str) -> tuple[str, str]:
        """Provider and id of the model meant. What is not listed is sent as it is: the agent may know it all the same."""
        if not name:
            name = read.model_id(self._model)[1]
        if not provider and name in self._models:
            return read.model_id(self._models[name])
        known = [read.model_id(m) for m in self._models.values()]
        found = [(p, i) for p, i in known if i == name and provider in ("", p)]
        if len(found) == 1:
            return found[0]
        if len(found) > 1:
            raise UsageError(
                f"{len(found)} providers have {name!r}; name one: {_list([f'{p}/{i}' for p, i in found])}."
            )
        if not provider and "/" in name:
            provider, name = name.split("/", 1)
        return provider or read.model_id(self._model)[0], name


def commands(items: Any, out: list[Event]) -> None:
    """``available_commands_update``, ``get_available_commands``, ``get_commands``: the slash commands."""
    found = []
    for item in read.objects(items):
        name = read.text(item.get("name")).lstrip("/")
        if name:
            hint = read.text(read.fields(item.get("input")).get("hint"))
            if not hint and item.get("subcommands"):
                hint = " | ".join(read.text(s.get("name")) for s in read.objects(item["subcommands"]))[:200]
            found.append(SlashCommand(name, read.text(item.get("description")), hint))
    out.append(SessionUpdated({"commands": found}))


def _list(values: list[str]) -> str:
    return ", ".join(values[:20]) + (f" … ({len(values)} in all)" if len(values) > 20 else "") or "nothing"
