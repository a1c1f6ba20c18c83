"""What can be set in a session: modes, models and the agent's own options, in the three ways real agents offer them.

Options (``configOptions``, both versions), modes (v1) and the older ``models`` become one set of settings, and a change is
sent the way this agent offers it. Where an option for the mode is given, ``modes`` is ignored (ACP, session/new). The
session's id is not known here: whoever sends adds it.
"""

from __future__ import annotations

from typing import Any

from ...commands import SetMode, SetModel, SetOption
from ...errors import NotSupported, UsageError
from ...events import Choice, ConfigOption, Event, SessionUpdated, SlashCommand
from . import lenient as read

Message = tuple[str, dict[str, Any]]


class Settings:
    """The settings of the main session.

    Args:
        version: 1 or 2, of the protocol.
    """

    def __init__(self, version: int) -> None:
        self._version = version
        self._options: list[ConfigOption] = []
        self._modes: list[Choice] = []
        self._mode = ""
        self._models: list[Choice] = []
        self._model = ""

    @property
    def modes(self) -> bool:
        """Whether a mode can be set."""
        return bool(self._of("mode") or self._modes)

    @property
    def models(self) -> bool:
        """Whether a model can be set."""
        return bool(self._of("model") or self._models)

    @property
    def effort(self) -> bool:
        """Whether the effort of the model can be set."""
        return self._of("thought_level") is not None

    @property
    def options(self) -> bool:
        """Whether the agent offers options."""
        return bool(self._options)

    # ---- what the agent says -----------------------------------------------------------------------------------------

    def result(self, result: dict[str, Any], out: list[Event]) -> None:
        """``modes``, ``models``, ``configOptions`` and ``availableCommands`` of a result that has them."""
        modes, models = result.get("modes"), result.get("models")
        if isinstance(modes, dict):
            self._modes = _named(modes.get("availableModes"), "id")
            self._mode = read.text(modes.get("currentModeId"))
        if isinstance(models, dict):
            self._models = _named(models.get("availableModels"), "modelId")
            self._model = read.text(models.get("currentModelId"))
        if isinstance(result.get("configOptions"), list):
            self._options = _options(result["configOptions"])
        self._tell(out)
        if isinstance(result.get("availableCommands"), list):
            self.commands(result, out)

    def config(self, value: dict[str, Any], out: list[Event]) -> None:
        """``config_option_update``: all of the options. Raises ``Malformed``."""
        if not isinstance(value.get("configOptions"), list):
            raise read.Malformed("configOptions is not a list")
        self._options = _options(value["configOptions"])
        self._tell(out)

    def current_mode(self, value: dict[str, Any], out: list[Event]) -> None:
        """``current_mode_update`` (v1). Raises ``Malformed``."""
        self._mode = read.need_text(value, "currentModeId")
        option = self._of("mode")
        if option and any(choice.value == self._mode for choice in option.choices):
            option.value = self._mode
        self._tell(out)

    def commands(self, value: dict[str, Any], out: list[Event]) -> None:
        """``available_commands_update``: all of the commands. Raises ``Malformed``."""
        if not isinstance(value.get("availableCommands"), list):
            raise read.Malformed("availableCommands is not a list")
        found = []
        for item in read.objects(value["availableCommands"]):
            name = item.get("name")
            if isinstance(name, str) and name and item.get("type", "command") == "command":
                hint = read.text(read.fields(item.get("input")).get("hint"))
                found.append(SlashCommand(name, read.text(item.get("description")), hint))
        out.append(SessionUpdated({"commands": found}))

    def done(self, message: Message, result: Any, out: list[Event]) -> None:
        """The agent took a change of ours: an answer that does not say what is set now leaves what was asked for."""
        method, params = message
        if isinstance(result, dict) and isinstance(result.get("configOptions"), list):
            self.result(result, out)
            return
        if method == "session/set_mode":
            self._mode = params["modeId"]
        elif method == "session/set_model":
            self._model = params["modelId"]
        else:
            for option in self._options:
                if option.id == params["configId"]:
                    option.value = params["value"]
        self._tell(out)

    # ---- what is sent ------------------------------------------------------------------------------------------------

    def set_mode(self, command: SetMode) -> list[Message]:
        """What to send, in order. Raises ``NotSupported``, or ``UsageError`` for a mode there is not."""
        option = self._of("mode")
        if option:
            return [self._set(option, command.mode)]
        if not self._modes:
            raise NotSupported("This agent offers no modes.")
        _check(command.mode, self._modes, "mode")
        return [("session/set_mode", {"modeId": command.mode})]

    def set_model(self, command: SetModel) -> list[Message]:
        """What to send, in order: the model first, then the effort. Raises ``NotSupported`` and ``UsageError``."""
        if command.provider is not None:
            raise NotSupported("ACP sets no provider; name a model alone, one of `session.state.models`.")
        sent: list[Message] = []
        if command.model is not None:
            option = self._of("model")
            if option:
                sent.append(self._set(option, command.model))
            elif self._models:
                _check(command.model, self._models, "model")
                sent.append(("session/set_model", {"modelId": command.model}))
            else:
                raise NotSupported("This agent offers no models to choose from.")
        if command.effort is not None:
            option = self._of("thought_level")
            if option is None:
                raise NotSupported("This agent offers no effort to choose.")
            sent.append(self._set(option, command.effort))
        return sent

    def set_option(self, command: SetOption) -> list[Message]:
        """What to send. Raises ``NotSupported`` and ``UsageError``."""
        for option in self._options:
            if option.id == command.option:
                return [self._set(option, command.value)]
        if not self._options:
            raise NotSupported("This agent offers no options.")
        raise UsageError(f"This agent has no option {command.option!r}; it has {_list(o.id for o in self._options)}.")

    # ---- within ------------------------------------------------------------------------------------------------------

    def _set(self, option: ConfigOption, value: str | bool) -> Message:
        params: dict[str, Any] = {"configId": option.id, "value": value}
        if option.kind == "boolean":
            if not isinstance(value, bool):
                raise UsageError(f"The option {option.id!r} takes True or False.")
            params["type"] = "boolean"
        else:
            if not isinstance(value, str):
                raise UsageError(f"The option {option.id!r} takes one of {_list(c.value for c in option.choices)}.")
            _check(value, option.choices, option.id)
            if self._version > 1:
                params["type"] = "id"
        return "session/set_config_option", params

    def _of(self, category: str) -> ConfigOption | None:
        """The first option of a category (their order is their weight), else the one that is called so."""
        selects = [option for option in self._options if option.kind == "select"]
        return next((option for option in selects if option.category == category), None) or next(
            (option for option in selects if option.id == category and not option.category), None
        )

    def _tell(self, out: list[Event]) -> None:
        changes: dict[str, Any] = {"options": [_copy(option) for option in self._options]}
        labels: dict[str, str] = {}
        for name, plural, older, current in (
            ("mode", "modes", self._modes, self._mode),
            ("model", "models", self._models, self._model),
        ):
            option = self._of(name)
            choices = option.choices if option else older
            value = str(option.value) if option else current
            if choices or value:
                changes[name], changes[plural] = value, [choice.value for choice in choices]
            for choice in choices:
                if choice.label and choice.label != choice.value:
                    # A mode and a model may have one id ("default"): then the id alone names neither.
                    plain = labels.get(choice.value, choice.label)
                    labels[choice.value] = choice.label if plain == choice.label else choice.value
                    labels[f"{name}:{choice.value}"] = choice.label
        effort = self._of("thought_level")
        if effort:
            changes["effort"] = str(effort.value)
        changes["labels"] = labels
        out.append(SessionUpdated(changes))


def _copy(option: ConfigOption) -> ConfigOption:
    return ConfigOption(
        option.id, option.name, option.kind, option.value, option.help, option.category, list(option.choices)
    )


def _named(items: Any, key: str) -> list[Choice]:
    found = []
    for item in read.objects(items):
        value = item.get(key)
        if isinstance(value, str) and value:
            found.append(Choice(value, read.text(item.get("name"), value), read.text(item.get("description"))))
    return found


def _options(items: list[Any]) -> list[ConfigOption]:
    """Options of the kinds we know (others are to be ignored, ACP, Session Config Options)."""
    found = []
    for item in read.objects(items):
        option_id = item.get("configId", item.get("id"))
        value = item.get("currentValue")
        if not isinstance(option_id, str) or not option_id:
            continue
        option = ConfigOption(
            option_id,
            read.text(item.get("name"), option_id),
            help=read.text(item.get("description")),
            category=read.text(item.get("category")),
        )
        if item.get("type") == "boolean" and isinstance(value, bool):
            option.kind, option.value = "boolean", value
        elif item.get("type") == "select" and isinstance(value, str):
            option.value, option.choices = value, _choices(item.get("options"))
        else:
            continue
        found.append(option)
    return found


def _choices(items: Any) -> list[Choice]:
    """The choices of a select, flat or in groups."""
    found = []
    for item in read.objects(items):
        if isinstance(item.get("options"), list):
            head = read.text(item.get("name")) or read.text(item.get("groupId")) or read.text(item.get("group"))
            for choice in _named(item["options"], "value"):
                choice.group = head
                found.append(choice)
        else:
            found += _named([item], "value")
    return found


def _check(value: str, choices: list[Choice], what: str) -> None:
    if choices and all(choice.value != value for choice in choices):
        raise UsageError(f"{value!r} is not offered for {what}; choose one of {_list(c.value for c in choices)}.")


def _list(values: Any) -> str:
    shown = [repr(value) for value in values]
    return ", ".join(shown[:20]) + (f" … ({len(shown)} in all)" if len(shown) > 20 else "")
