"""What a tool is: it describes itself, plans a call without touching anything, then runs the plan.

The plan is what approvals judge and what a person is shown: the exact command, the paths, the whole texts of an edit.
Running does that and nothing else. Knows no wire.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ...credentials import secret
from .changes import Change
from .workspace import Workspace

if TYPE_CHECKING:
    from ..messages import Picture

Risk = Literal["none", "read", "edit", "shell", "fetch", "agent"]


class ToolError(Exception):
    """A call cannot be made or failed. The text goes to the model and says what to try."""


@dataclass(slots=True)
class Plan:
    """What a call would do. ``paths`` are absolute; ``outside`` those of them that leave the workspace. ``url`` is what a
    fetch asks for. ``careful``: why it asks in every mode, for people ("": it need not)."""

    input: dict[str, Any]
    risk: Risk = "none"
    command: str = ""
    cwd: str = ""
    paths: list[Path] = field(default_factory=list)
    outside: list[Path] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    url: str = ""
    careful: str = ""


@dataclass(slots=True)
class Result:
    """What a call gave: ``text`` and ``images`` for the model, the changes made, a command's exit code, a person's
    ``answer``."""

    text: str
    is_error: bool = False
    changes: list[Change] | None = None
    skipped_files: list[str] = field(default_factory=list)
    exit_code: int | None = None
    answer: str = ""
    images: list[Picture] = field(default_factory=list)


@dataclass(slots=True)
class Task:
    """Work for a sub-agent. ``background``: nobody waits for it in the call."""

    text: str
    title: str
    background: bool = False


async def _no_agents(task: Task) -> Result:
    raise ToolError("there are no sub-agents here; do it yourself")


def _no_keeping(name: str, text: str) -> str:
    return ""


def _nothing_kept(id: str) -> str | None:
    return None


def secret_name(path: Path) -> bool:
    """Whether a tool that looks through folders leaves ``path`` out: by its name it holds credentials."""
    return secret(path)


@dataclass(slots=True)
class Context:
    """What a running tool may use.

    ``output`` streams text; ``ask`` puts a question and returns the answer, or None. ``show_plan`` shows the plan;
    ``spawn`` has a sub-agent do a task. ``keep`` stores a long text whole (a name for people, the text) and returns its
    id, as read_file takes it ("": not kept); ``kept`` is what is stored under an id. ``hidden`` says whether a file is to
    be left out when folders are looked through; ``allowed`` whether a plan could run without asking anybody.
    """

    workspace: Workspace
    output: Callable[[str], Awaitable[None]]
    ask: Callable[[str, list[dict[str, str]], bool, bool], Awaitable[str | None]]
    show_plan: Callable[[list[dict[str, str]]], None] = lambda items: None
    spawn: Callable[[Task], Awaitable[Result]] = _no_agents
    keep: Callable[[str, str], str] = _no_keeping
    kept: Callable[[str], str | None] = _nothing_kept
    hidden: Callable[[Path], bool] = secret_name
    allowed: Callable[[Plan], bool] = lambda plan: False


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


def flag_field(input: dict[str, Any], name: str) -> bool:
    """A yes or no of the input (no when left out). Raises :class:`ToolError` when it is neither."""
    value = input.get(name, False)
    if not isinstance(value, bool):
        raise ToolError(f"{name!r} must be true or false")
    return value


def schema(required: list[str], **properties: Any) -> dict[str, Any]:
    """A JSON schema of an object."""
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
