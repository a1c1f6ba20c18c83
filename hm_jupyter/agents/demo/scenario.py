"""Scenario files: what the scripted model says and does. Reads and checks them; plays nothing.

The format is described in docs/demo-scenarios.md.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib  # noqa: TID251  (with the fallback below)
else:
    import tomli as tomllib

from ..tools.changes import FileProblem, read_text

FOLDER = Path(__file__).parent / "scenarios"
"""Where the built-in scenarios are."""

CONDITIONS = {
    "ok": bool, "denied": bool, "note": str, "answer": str, "output": str, "left_out": str, "steer": str,
    "call": int, "after": str, "agent": str,
}  # fmt: skip
"""What a step's ``when`` may hold."""

_STEP = {
    "name": str, "when": dict, "pause": int, "thinking": str, "text": str, "repeat": str, "call": list, "next": str,
}  # fmt: skip


class ScenarioError(ValueError):
    """A scenario file cannot be used. The text says where and why."""


@dataclass(slots=True)
class Step:
    """One answer of the model: thinking, text (``repeat`` times), calls; then ``next`` ("": the following one)."""

    name: str = ""
    when: dict[str, Any] = field(default_factory=dict)
    pause: int = 0
    thinking: str = ""
    text: str = ""
    repeat: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)
    next: str = ""


@dataclass(slots=True)
class Script:
    """The steps for prompts that match."""

    match: re.Pattern[str]
    example: str
    steps: list[Step]


@dataclass(slots=True)
class Scenario:
    """A scenario: scripts in order of precedence, and milliseconds between two pieces of text."""

    name: str
    pace: int
    scripts: list[Script]

    @property
    def examples(self) -> list[str]:
        return [s.example for s in self.scripts if s.example]


def builtin_names() -> list[str]:
    """The built-in scenarios, the first one first."""
    names = sorted(p.stem for p in FOLDER.glob("*.toml") if p.stem != "default")
    return sorted(names, key=lambda n: n != "quickstart")


@lru_cache(maxsize=8)
def load(path: Path) -> Scenario:
    """The scenario in a file, between the default single steps and the default answer to anything.

    Raises:
        ScenarioError: the file cannot be used.
    """
    try:
        text = read_text(path, str(path))
        if text is None:
            raise ScenarioError(f"{path} cannot be read: there is no such file")
        data = tomllib.loads(text)
    except FileProblem as problem:
        raise ScenarioError(str(problem)) from None
    except ValueError as error:  # bad TOML, bad UTF-8
        raise ScenarioError(f"{path} is not TOML: {error}") from None
    pace = _typed(data, "pace", int, 12, str(path))
    prompts = _typed(data, "prompt", list, [], str(path))
    scripts = [_script(p, f"{path}, prompt {n}") for n, p in enumerate(prompts, 1)]
    if path.stem != "default" or path.parent != FOLDER:
        single, anything = load(FOLDER / "default.toml").scripts[:-1], load(FOLDER / "default.toml").scripts[-1]
        scripts = [*single, *scripts, anything]
    return Scenario(path.stem, pace, scripts)


def _script(data: Any, where: str) -> Script:
    if not isinstance(data, dict) or not isinstance(data.get("match"), str):
        raise ScenarioError(f"{where}: give match, a regular expression for the prompt")
    try:
        match = re.compile(data["match"])
    except re.error as error:
        raise ScenarioError(f"{where}: match is no regular expression: {error}") from None
    steps = [_step(s, f"{where}, step {n}") for n, s in enumerate(_typed(data, "step", list, [], where), 1)]
    if not steps:
        raise ScenarioError(f"{where}: give at least one [[prompt.step]]")
    names = {s.name for s in steps if s.name} | {"end"}
    for step in steps:
        for name in (step.next, step.when.get("after", "")):
            if name and name not in names:
                raise ScenarioError(f"{where}: there is no step named {name!r}")
    return Script(match, _typed(data, "example", str, "", where), steps)


def _step(data: Any, where: str) -> Step:
    if not isinstance(data, dict):
        raise ScenarioError(f"{where}: must be a table")
    for key in data:
        if key not in _STEP:
            raise ScenarioError(f"{where}: {key!r} is not known here; it may hold {', '.join(_STEP)}")
    when = _typed(data, "when", dict, {}, where)
    for key, value in when.items():
        if key not in CONDITIONS:
            raise ScenarioError(f"{where}: there is no condition {key!r}; there are {', '.join(CONDITIONS)}")
        if type(value) is not CONDITIONS[key]:
            raise ScenarioError(f"{where}: the condition {key} must be of type {CONDITIONS[key].__name__}")
        if isinstance(value, str) and key != "after":
            try:
                re.compile(value)
            except re.error as error:
                raise ScenarioError(f"{where}: {key} is no regular expression: {error}") from None
    calls = _typed(data, "call", list, [], where)
    for call in calls:
        if not isinstance(call, dict) or not isinstance(call.get("tool"), str):
            raise ScenarioError(f"{where}: each [[prompt.step.call]] needs a tool")
    return Step(
        _typed(data, "name", str, "", where), when, _typed(data, "pause", int, 0, where),
        _typed(data, "thinking", str, "", where), _typed(data, "text", str, "", where),
        _typed(data, "repeat", str, "", where), calls, _typed(data, "next", str, "", where),
    )  # fmt: skip


def _typed(data: dict[str, Any], key: str, kind: type, default: Any, where: str) -> Any:
    value = data.get(key, default)
    if type(value) is not kind:
        raise ScenarioError(f"{where}: {key} must be of type {kind.__name__}")
    return value
