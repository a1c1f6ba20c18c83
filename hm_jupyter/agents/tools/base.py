"""What a tool is: it describes itself, plans a call without touching anything, then runs the plan.

The plan is what approvals judge and what a person is shown: the exact command, the paths, the whole texts of an edit.
Running does that and nothing else. Knows no wire.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from .changes import Change
from .workspace import Workspace

Risk = Literal["none", "read", "edit", "shell", "fetch", "agent"]


class ToolError(Exception):
    """A call cannot be made or failed. The text goes to the model and says what to try."""


@dataclass(slots=True)
class Plan:
    """What a call would do. ``paths`` are absolute; ``outside`` those of them that leave the workspace."""

    input: dict[str, Any]
    risk: Risk = "none"
    command: str = ""
    cwd: str = ""
    paths: list[Path] = field(default_factory=list)
    outside: list[Path] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    url: str = ""


@dataclass(slots=True)
class Result:
    """What a call gave: ``text`` for the model, the changes made, a command's exit code, a person's ``answer``."""

    text: str
    is_error: bool = False
    changes: list[Change] | None = None
    skipped_files: list[str] = field(default_factory=list)
    exit_code: int | None = None
    answer: str = ""


@dataclass(slots=True)
class Context:
    """What a running tool may use. ``output`` streams text; ``ask`` puts a question and returns the answer, or None."""

    workspace: Workspace
    output: Callable[[str], Awaitable[None]]
    ask: Callable[[str, list[dict[str, str]], bool, bool], Awaitable[str | None]]


class Tool(ABC):
    """One tool. ``schema`` is the JSON schema of its input, for models."""

    name: str
    category: str
    description: str
    schema: dict[str, Any]

    @abstractmethod
    def plan(self, input: dict[str, Any], workspace: Workspace) -> Plan:
        """What a call with ``input`` would do. Raises :class:`ToolError` for an input that cannot be right."""

    @abstractmethod
    async def run(self, plan: Plan, context: Context) -> Result:
        """Do it. Raises :class:`ToolError` when it fails; may be cancelled, and then leaves nothing running."""

    def summary(self, input: dict[str, Any]) -> str:
        """The call in one line."""
        return str(input.get("path") or "")


def text_field(input: dict[str, Any], name: str, default: str | None = None) -> str:
    """A text of the input. Raises :class:`ToolError` when it is missing (no ``default``) or no text."""
    value = input.get(name, default)
    if not isinstance(value, str):
        raise ToolError(f"{name!r} must be given as text")
    return value


def number_field(input: dict[str, Any], name: str, default: float, low: float, high: float) -> float:
    """A number of the input, held between ``low`` and ``high``. Raises :class:`ToolError` when it is no number."""
    value = input.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ToolError(f"{name!r} must be a number")
    return min(max(value, low), high)


def schema(required: list[str], **properties: Any) -> dict[str, Any]:
    """A JSON schema of an object."""
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
