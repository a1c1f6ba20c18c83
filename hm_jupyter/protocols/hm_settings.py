"""What an hm session may be set to, as the settings every front-end shows already (an extension of ``session_start``).

The document has ``set_mode`` and ``set_model`` only; effort, provider and mode become options whose change is sent as
one of these two. A plain agent, which tells of no such lists, has none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..commands import SetModel, SetOption
from ..errors import NotSupported
from ..events import Choice, ConfigOption
from . import hm_read as read

_EFFORT_HELP = {"off": "does not think first", "": "as the model's provider has it"}


class Settings:
    """The options of a session. Their values are kept in step by :meth:`changed`."""

    def __init__(self) -> None:
        self.options: list[ConfigOption] = []

    def started(self, value: dict[str, Any]) -> bool:
        """Read ``session_start``; whether it offers anything."""
        effort, provider = read.text(value.get("effort")), read.text(value.get("provider"))
        mode_help = value.get("mode_help") if isinstance(value.get("mode_help"), dict) else {}
        found = []
        modes = read.texts(value.get("modes"))
        if modes and mode_help:
            choices = [Choice(m, "", read.text(mode_help.get(m))) for m in modes]
            found.append(
                ConfigOption("mode", "Mode", value=read.text(value.get("mode")), category="mode", choices=choices)
            )
        providers = read.texts(value.get("providers"))
        if len(providers) > 1:
            choices = [Choice(p) for p in dict.fromkeys([*providers, provider]) if p]
            found.append(
                ConfigOption(
                    "provider", "Provider", value=provider, help="its configured model then answers", choices=choices
                )
            )
        efforts = read.texts(value.get("efforts"))
        if efforts:
            choices = [
                Choice(e, e or "default", _EFFORT_HELP.get(e, "")) for e in dict.fromkeys(["", *efforts, effort])
            ]
            found.append(
                ConfigOption(
                    "effort",
                    "Effort",
                    value=effort,
                    help="how long it thinks",
                    category="thought_level",
                    choices=choices,
                )
            )
        self.options = found
        return bool(found)

    def changed(self, changes: dict[str, Any]) -> bool:
        """Take over what a session update says; whether an option changed."""
        before = self.options
        self.options = [replace(o, value=changes.get(o.id, o.value)) for o in before]
        return self.options != before

    def command(self, command: SetOption) -> SetModel:
        """The command that sets an option. Raises :class:`NotSupported` for one that is not there."""
        if command.option == "effort" and isinstance(command.value, str):
            return SetModel(id=command.id, effort=command.value)
        if command.option == "provider" and isinstance(command.value, str):
            return SetModel(id=command.id, provider=command.value, model="")
        have = ", ".join(o.id for o in self.options) or "none"
        raise NotSupported(f"This agent has no setting {command.option[:40]!r} of that kind; it has {have}.")
