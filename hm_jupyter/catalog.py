"""The agents known by name: how each is started, installed and signed in to, and which of its modes asks.

Read from ``agents.toml`` beside this file and from ``agents.toml`` in the person's configuration folder, whose entries
win. It holds data only: it starts nothing and looks for nothing but those two files. No secrets: what an agent needs
from the environment is named here, never its value.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from .errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib  # noqa: TID251 - 3.11 and newer only, tomli below
else:
    import tomli as tomllib

Protocol = Literal["acp", "acp1", "acp2", "hm", "omp", "pi"]
PROTOCOLS: tuple[Protocol, ...] = ("acp", "acp1", "acp2", "hm", "omp", "pi")
"""What is spoken: ``acp`` the Agent Client Protocol in whichever version both know, ``acp1`` / ``acp2`` only that one; ``hm``
hm RPC; ``omp`` / ``pi`` the RPC mode of oh-my-pi and of pi, which are dialects of one another."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
RESERVED = ("hm", "builtin", "demo")


class Quirks(BaseModel):
    """What an agent is known to get wrong and how to meet it.

    ``missing_file``: answer a read of a file that is not there with an error, or as an empty file. ``fs_read``: offer to
    read files for it at all. ``reinitialize``: where it answers with version 1, ask again in that version's own words,
    since it has lost what the first request said of us (a router in front of an older agent).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    missing_file: Literal["error", "empty"] = "error"
    fs_read: bool = True
    reinitialize: bool = False


class Agent(BaseModel):
    """One entry. Either ``command`` (a program and its arguments) or ``url`` (http, https, ws, wss) says where it is.

    ``install`` is the line a person types, ``needs`` what that needs, ``variables`` the environment variables of which it
    needs at least one, ``sign_in`` how to sign in. ``asks`` is the mode that asks before it acts (or a word such as
    "always"); ``mode`` and ``options`` are set at every start, ``env`` where the environment does not say otherwise,
    ``remove`` is taken out of the environment. ``headers`` of a remote agent may name variables: ``"Bearer ${NAME}"``.
    ``warning`` is shown by ``%hm agents`` and at its start, ``note`` by ``%hm agents`` only. ``start_timeout``: seconds.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    title: str = ""
    aliases: list[str] = Field(default_factory=list)
    command: list[str] = Field(default_factory=list)
    url: str = ""
    headers: dict[str, str] = Field(default_factory=dict)
    protocol: Protocol = "acp"
    install: str = ""
    needs: str = ""
    variables: list[str] = Field(default_factory=list)
    sign_in: str = ""
    asks: str = ""
    mode: str = ""
    options: dict[str, bool | str] = Field(default_factory=dict)
    env: dict[str, str] = Field(default_factory=dict)
    remove: list[str] = Field(default_factory=list)
    warning: str = ""
    note: str = ""
    start_timeout: float = Field(default=30.0, gt=0)
    quirks: Quirks = Quirks()

    @field_validator("url")
    @classmethod
    def _url(cls, url: str) -> str:
        if url and not re.match(r"(https?|wss?)://", url):
            raise ValueError("begin it with https://, wss://, http:// or ws://")
        return url

    @field_validator("env", "headers")
    @classmethod
    def _names(cls, given: dict[str, str], info: Any) -> dict[str, str]:
        for name in given:
            if info.field_name == "env" and not _VARIABLE.fullmatch(name):
                raise ValueError(f"{name!r} is no name of a variable")
        return given

    @model_validator(mode="after")
    def _one_place(self) -> Agent:
        if bool(self.command) == bool(self.url):
            raise ValueError('give either command = ["program", "argument", …] or url = "https://…"')
        if self.url and self.protocol in ("hm", "omp", "pi"):
            raise ValueError(f"protocol {self.protocol} is spoken with a program only: give command, not url")
        if self.headers and not self.url:
            raise ValueError("headers go with url")
        return self


@dataclass(frozen=True)
class Catalog:
    """All agents by name, and the names (aliases too) they answer to. ``file`` is the person's own, if there is one."""

    agents: Mapping[str, Agent]
    names: Mapping[str, str] = field(default_factory=dict)
    file: Path | None = None

    def get(self, name: str) -> tuple[str, Agent] | None:
        """The agent called ``name``, or known by that alias, with its own name; None when there is none."""
        own = self.names.get(name.lower())
        return None if own is None else (own, self.agents[own])


def own_file() -> Path:
    """Where a person writes agents of their own (``XDG_CONFIG_HOME`` and the like are heeded)."""
    from platformdirs import user_config_path

    return user_config_path("hm_jupyter", appauthor=False) / "agents.toml"


def catalog() -> Catalog:
    """The agents known here and now. Raises ``UsageError`` naming file, line and field where a file is not right."""
    agents = dict(_ours())
    file = own_file()
    if file.is_file():
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{file} cannot be read: {error}. Mend it or move it away.") from None
        agents.update(parsed(text, str(file)))
    names = {}
    for name, agent in agents.items():
        names.update({alias.lower(): name for alias in agent.aliases})
    names.update({name: name for name in agents})  # a name of its own goes before somebody's alias
    return Catalog(agents, names, file if file.is_file() else None)


@lru_cache(maxsize=1)
def _ours() -> Mapping[str, Agent]:
    file = Path(__file__).with_name("agents.toml")
    return parsed(file.read_text("utf-8"), file.name)


def parsed(text: str, where: str) -> dict[str, Agent]:
    """The agents of a file's ``text``. Raises ``UsageError`` that names ``where``, the line and the field."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where} is not TOML: {error}.") from None
    extra = sorted(set(tables) - {"agents"})
    if extra or not isinstance(tables.get("agents", {}), dict):
        raise UsageError(f"{where}{_line(text, *extra[:1])}: write each agent as a table of its own, [agents.NAME].")
    found = {}
    for name, table in tables.get("agents", {}).items():
        if not _NAME.fullmatch(name) or name in RESERVED:
            why = "stands for one of ours" if name in RESERVED else "is no name: small letters, digits, . _ and -"
            raise UsageError(f"{where}{_line(text, name)}: {name!r} {why}.")
        try:
            found[name] = Agent.model_validate(table)
        except ValidationError as error:
            said = "; ".join(_said(text, name, e) for e in error.errors(include_url=False, include_input=False)[:5])
            raise UsageError(f"{where}: {said}.") from None
    return found


def _said(text: str, name: str, error: Any) -> str:
    path = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        what = f"there is no such field; there are {', '.join(Agent.model_fields)}"
    else:
        what = str(error["msg"]).removeprefix("Value error, ")
    field_name = next((part for part in reversed(error["loc"]) if isinstance(part, str)), "")
    return f"agents.{name}{'.' + path if path else ''}{_line(text, name, field_name)}: {what}"


def _line(text: str, name: str = "", key: str = "") -> str:
    """`` (line N)``: of ``key`` in the table of agent ``name``, else of the table; "" where it cannot be told."""
    at = 0
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare.startswith("["):
            if at and name and not re.match(rf"\[agents\.\"?{re.escape(name)}\"?\.", bare):
                break
            if re.match(rf"\[(agents\.)?\"?{re.escape(name)}\"?[\].]", bare):
                at = at or number
                if key and re.search(rf"\.\"?{re.escape(key)}\"?\]", bare):
                    return f" (line {number})"
        elif at and key and re.match(rf"\"?{re.escape(key)}\"?\s*[=.]", bare):
            return f" (line {number})"
    return f" (line {at})" if at else ""
