"""The modes: what a person wants asked. Built in are ask, edit, auto and plan; hm.toml may add others.

Knows no rules: guard.yaml goes before any mode.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

Leave = Literal["allow", "ask", "refuse"]


@dataclass(frozen=True, slots=True)
class Mode:
    """One mode. ``edits`` (in the workspace) and ``commands`` are allowed, asked about or refused; ``instructions`` go
    into the model's system prompt."""

    name: str
    help: str
    edits: Leave = "ask"
    commands: Leave = "ask"
    instructions: str = ""


BUILT_IN = (
    Mode("ask", "every command and every edit needs your leave"),
    Mode("edit", "edits in the workspace are free; every command needs your leave", "allow"),
    Mode("auto", "commands, and edits in the workspace, are free", "allow", "allow"),
    Mode(
        "plan", "read only: commands and edits are refused", "refuse", "refuse",
        "You may only read: commands and edits are refused. Find out what is needed, then say what you would change and"
        " how, in steps that can be carried out later.",
    ),
)  # fmt: skip
"""What there is without a configuration."""

DEFAULT_MODE = "ask"


class ModeFields(Protocol):
    """A mode as hm.toml has it (``[modes.NAME]``)."""

    @property
    def help(self) -> str: ...
    @property
    def edits(self) -> Leave: ...
    @property
    def commands(self) -> Leave: ...
    @property
    def instructions(self) -> str: ...


def modes(defined: Mapping[str, ModeFields] | None = None) -> dict[str, Mode]:
    """Every mode by name: those built in, and the person's own (``Config.modes``), which may also replace one."""
    out = {mode.name: mode for mode in BUILT_IN}
    for name, m in (defined or {}).items():
        out[name] = Mode(name, m.help or _help(m), m.edits, m.commands, m.instructions)
    return out


def configured() -> dict[str, Mode]:
    """The modes there are for this person. Raises ``config.ConfigError`` where hm.toml is not right."""
    from .config import load_config

    return modes(load_config().modes)


def mode_help(all_modes: Mapping[str, Mode]) -> dict[str, str]:
    """What each mode means, for ``session_start.mode_help``."""
    return {name: mode.help for name, mode in all_modes.items()}


def _help(mode: ModeFields) -> str:
    words = {"allow": "free", "ask": "asked about", "refuse": "refused"}
    return f"commands are {words[mode.commands]}, edits in the workspace are {words[mode.edits]}"
