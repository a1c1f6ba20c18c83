"""guard.yaml as data: read with line numbers, validated, and each rule able to say where it stands.

Source of the schema: docs/guard.md. Knows no plan and no shell.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from .patterns import Glob, Pattern, parse, path_patterns

What = Literal["deny", "ask", "allow"]
KINDS = ("shell", "edit", "read", "fetch", "agent")
MAX_SIZE = 256 * 1024


class BadRules(ValueError):
    """A guard.yaml cannot be used. The text names file, line and fix."""


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


Texts = Annotated[list[str], BeforeValidator(_listed)]


class RuleFields(BaseModel):
    """One rule as it is written. All that is given must match; of a list, one."""

    model_config = ConfigDict(extra="forbid", strict=True)

    tool: Texts = Field(default_factory=list, min_length=1)
    command: Texts = Field(default_factory=list, min_length=1)
    path: Texts = Field(default_factory=list, min_length=1)
    host: Texts = Field(default_factory=list, min_length=1)
    reason: str = ""

    @field_validator("tool")
    @classmethod
    def _tools(cls, value: list[str]) -> list[str]:
        from difflib import get_close_matches

        from ..tools import TOOLS  # not at the top: they are more than reading a file needs

        known = (*KINDS, *(name for name in TOOLS if name not in KINDS))
        for text in value:
            if text not in known and text != "*":
                close = get_close_matches(text.casefold(), known, n=1)
                hint = f"did you mean {close[0]}?" if close else f"write one of {', '.join(known)}"
                raise ValueError(f"there is no tool {text!r}, so the rule would never match; {hint}")
        return value

    @field_validator("command")
    @classmethod
    def _commands(cls, value: list[str]) -> list[str]:
        for text in value:
            parse(text)
        return value

    @field_validator("path")
    @classmethod
    def _paths(cls, value: list[str]) -> list[str]:
        for text in value:
            path_patterns(text)
        return value

    @field_validator("host")
    @classmethod
    def _hosts(cls, value: list[str]) -> list[str]:
        for text in value:
            if "/" in text or "@" in text or not text.isascii() or (text != "*" and "*" in text.removeprefix("*.")):
                raise ValueError(f"{text!r} is no host: write docs.example.org, *.example.org or localhost:8000")
        return value


class FileFields(BaseModel):
    """A whole guard.yaml."""

    model_config = ConfigDict(extra="forbid", strict=True)

    deny: list[RuleFields] = Field(default_factory=list)
    ask: list[RuleFields] = Field(default_factory=list)
    allow: list[RuleFields] = Field(default_factory=list)
    trust: Texts = Field(default_factory=list)


@dataclass(slots=True)
class Rule:
    """One rule, ready to compare. ``str()`` names it as a person finds it."""

    what: What
    file: Path
    line: int
    tools: list[str] = field(default_factory=list)
    commands: list[tuple[str, list[Pattern]]] = field(default_factory=list)
    paths: list[tuple[str, list[tuple[Glob, ...]]]] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    reason: str = ""

    def __str__(self) -> str:
        says = [f"{k} {' or '.join(v)}" for k, v in (("tool", self.tools), ("command", [c for c, _ in self.commands]),
                ("path", [p for p, _ in self.paths]), ("host", self.hosts)) if v]  # fmt: skip
        return f"{self.what} {', '.join(says)} ({self.where})"

    @property
    def where(self) -> str:
        """File and line, for people."""
        home = os.path.expanduser("~")
        name = str(self.file)
        return f"{'~' + name[len(home) :] if name.startswith(home + os.sep) else name}, line {self.line}"


@dataclass(slots=True)
class RuleFile:
    """What one guard.yaml says."""

    rules: list[Rule] = field(default_factory=list)
    trust: list[Path] = field(default_factory=list)


def load(path: Path, root: Path) -> RuleFile:
    """Read one file; relative paths in it are those of the workspace ``root``. Raises :class:`BadRules`, ``OSError``."""
    with open(path, "rb") as file:
        data = file.read(MAX_SIZE + 1)
    if len(data) > MAX_SIZE:
        raise BadRules(f"{path}: larger than {MAX_SIZE // 1024} KiB; is that the right file?")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise BadRules(f"{path}: it is not UTF-8 text") from None
    value, lines = _yaml(text, path)
    if value is None:
        return RuleFile()
    try:
        fields = FileFields.model_validate(value)
    except ValidationError as error:
        raise BadRules(_fault(error, path, lines)) from None
    out = RuleFile(trust=[Path(os.path.expanduser(t)) for t in fields.trust])
    kinds: tuple[What, ...] = ("deny", "ask", "allow")
    for what in kinds:
        for number, rule in enumerate(getattr(fields, what)):
            line = lines.get((what, number), 0)
            out.rules.append(_rule(what, rule, path, line))
    return out


def _rule(what: What, fields: RuleFields, path: Path, line: int) -> Rule:
    if not (fields.tool or fields.command or fields.path or fields.host):
        raise BadRules(f"{path}, line {line}: a rule says nothing; give it tool, command, path or host")
    commands = [(text, parse(text)) for text in fields.command]
    for text, patterns in commands:
        if what == "allow" and any(p[0].any or not p[0].literal for p in patterns):
            raise BadRules(f"{path}, line {line}: {text!r} allows any program; name the one you mean")
    return Rule(
        what, path, line, fields.tool, commands,
        [(text, path_patterns(_rooted(text))) for text in fields.path], [h.casefold() for h in fields.host], fields.reason,
    )  # fmt: skip


def _rooted(text: str) -> str:
    """Absolute patterns begin with a slash, and so does what ``~`` stands for."""
    return os.path.expanduser(text) if text.startswith("~") else text


def _fault(error: ValidationError, path: Path, lines: Mapping[tuple[object, ...], int]) -> str:
    first = error.errors(include_url=False)[0]
    place = tuple(first["loc"])
    line = next((lines[place[:n]] for n in range(len(place), -1, -1) if place[:n] in lines), 1)
    says = str(first["msg"]).removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        allowed = "deny, ask, allow, trust" if len(place) == 1 else "tool, command, path, host, reason"
        says = f"there is no field of that name; the fields are {allowed}"
    elif first["type"] == "list_type" and len(place) == 1:
        says = "this is a list of rules: begin each rule with '- ', as in '- command: git push'"
    return f"{path}, line {line}: {'.'.join(str(p) for p in place)}: {says}"


def _yaml(text: str, path: Path) -> tuple[Any, dict[tuple[object, ...], int]]:
    """The value, and on which line each part of it stands. Only what JSON has; no tags, no anchors."""
    import yaml  # most workspaces have no such file, and it takes its time to import

    try:
        if any(isinstance(t, (yaml.AliasToken, yaml.AnchorToken, yaml.TagToken)) for t in yaml.scan(text)):
            raise BadRules(
                f"{path}: anchors, aliases and tags are not read; a pattern that begins with *, & or ! needs quotes"
            )
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or "it is not YAML"
        raise BadRules(f"{path}{line}: {problem}; a pattern that begins with * or {{ needs quotes") from None
    except RecursionError:
        raise BadRules(f"{path}: it is nested too deeply") from None
    lines: dict[tuple[object, ...], int] = {}

    def value(node: Any, place: tuple[object, ...]) -> Any:
        lines[place] = node.start_mark.line + 1
        if isinstance(node, yaml.ScalarNode):
            if node.tag == "tag:yaml.org,2002:null":
                return None
            return node.value  # "no" and "1" are texts here: a pattern is never anything else
        if isinstance(node, yaml.SequenceNode):
            return [value(item, (*place, i)) for i, item in enumerate(node.value)]
        out: dict[str, Any] = {}
        for key, item in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise BadRules(f"{path}, line {key.start_mark.line + 1}: a field's name must be a plain word")
            if key.value in out:
                raise BadRules(f"{path}, line {key.start_mark.line + 1}: {key.value} is there twice; join the lists")
            found = value(item, (*place, key.value))
            if found is None and not place:
                found = []  # "deny:" with nothing below
            out[key.value] = found
        return out

    return (None, lines) if node is None else (value(node, ()), lines)
