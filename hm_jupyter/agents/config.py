"""hm.toml: what a person has set once for the built-in agent: provider, model, modes of their own.

Only the person's own file is read, never one of a workspace: that could send keys elsewhere or loosen approvals. It
holds no keys: it names the variables that do. Plain dataclasses, so that a start without the file does not wait for
pydantic; with one, pydantic checks it. Knows no provider's wire and no rules for calls.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Api = Literal["anthropic", "openai", "openai-responses", "google"]
Leave = Literal["allow", "ask", "refuse"]
Effort = Literal["", "off", "low", "medium", "high", "xhigh", "max"]

VARIABLE = "HM_CONFIG"
"""Names another file; set to nothing, or to a file that is not there, there is none."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET_FIELDS = ("key", "api_key", "apikey", "token", "secret", "password")


class ConfigError(ValueError):
    """hm.toml cannot be used. The text names the file, the place and what to write instead."""


@dataclass(slots=True)
class Price:
    """US dollars for a million tokens."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - pydantic's own name, read once
    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0


@dataclass(slots=True)
class ProviderConfig:
    """Where models come from.

    ``base_url`` "" is the API's own address. ``key_variable`` names the environment variable with the key ("": none is
    sent). ``models`` are offered to choose from, ``context_size`` is in tokens (0: what is known of the model).
    ``max_tokens`` is the most an answer may have (0: the most the model can). ``headers`` are sent along, each with the
    value of the environment variable it names. ``prices`` by model go before the known ones. ``timeout``: seconds
    without a sign of the server.
    """

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012
    api: Api = "openai"
    base_url: str = ""
    key_variable: str = ""
    model: str = ""
    models: list[str] = field(default_factory=list)
    context_size: int = 0
    max_tokens: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    prices: dict[str, Price] = field(default_factory=dict)
    cache: bool = True
    retries: int = 4
    timeout: float = 600.0


@dataclass(slots=True)
class ModeConfig:
    """A mode of the person's own: what becomes of edits and commands, and what the model is told in it."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012
    help: str = ""
    edits: Leave = "ask"
    commands: Leave = "ask"
    instructions: str = ""


@dataclass(slots=True)
class Config:
    """All of hm.toml. "" and 0 stand for what would be without it."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012
    provider: str = ""
    model: str = ""
    effort: Effort = ""
    max_steps: int = 0
    compact_at: float = 0.8
    providers: dict[str, ProviderConfig] = field(default_factory=dict)
    modes: dict[str, ModeConfig] = field(default_factory=dict)
    file: Path | None = None


def config_file() -> Path | None:
    """Where the person's hm.toml is, or would be; None when ``HM_CONFIG`` says there is none."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named).expanduser() if named else None
    from platformdirs import user_config_path

    return user_config_path("hm_jupyter", appauthor=False) / "hm.toml"


def load_config(presets: Mapping[str, Mapping[str, Any]] | None = None) -> Config:
    """The person's settings as they stand now. A provider named in ``presets`` need only give what differs from it.

    Raises:
        ConfigError: the file is there and not right.
    """
    file = config_file()
    if file is None or not file.is_file():
        return Config()
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}. Mend it or move it away.") from None
    config = parsed(text, str(file), _known() if presets is None else presets)
    config.file = file
    return config


def _known() -> Mapping[str, Mapping[str, Any]]:
    from .llm.known import PRESETS

    return PRESETS


def parsed(text: str, name: str, presets: Mapping[str, Mapping[str, Any]]) -> Config:
    """The settings in ``text``, the file called ``name``. Raises :class:`ConfigError`."""
    import sys

    if sys.version_info >= (3, 11):
        import tomllib  # noqa: TID251 - 3.11 and newer only, tomli below
    else:
        import tomli as tomllib
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:  # says line and column
        raise ConfigError(f"{name} is no TOML: {error}") from None
    _no_keys(data, text, name)
    data.pop("file", None)
    providers = data.get("providers")
    if isinstance(providers, dict):
        data["providers"] = {
            n: {**presets.get(n, {}), **table} if isinstance(table, dict) else table for n, table in providers.items()
        }
    config = _checked(data, text, name)
    _sensible(config, text, name)
    return config


def _checked(data: dict[str, Any], text: str, name: str) -> Config:
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(Config).validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        path = [str(p) for p in first["loc"]]
        if first["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
            problem = "there is no such setting"
        else:
            problem = first["msg"][:1].lower() + first["msg"][1:]
        raise _wrong(name, text, path, problem) from None


def _no_keys(data: dict[str, Any], text: str, name: str) -> None:
    providers = data.get("providers")
    for provider, table in providers.items() if isinstance(providers, dict) else ():
        for setting in table if isinstance(table, dict) else ():
            if setting.lower().replace("-", "_") in _SECRET_FIELDS:
                raise _wrong(
                    name, text, ["providers", provider, setting],
                    "keys do not belong in this file; put the key into an environment variable and name that with"
                    ' key_variable = "…"',
                )  # fmt: skip


def _sensible(config: Config, text: str, name: str) -> None:
    """What types do not say."""
    if config.max_steps < 0:
        raise _wrong(name, text, ["max_steps"], "must be at least 1, or 0 for no limit")
    if not 0 <= config.compact_at <= 1:
        raise _wrong(name, text, ["compact_at"], "must be between 0 (never) and 1")
    for kind, names in (("providers", config.providers), ("modes", config.modes)):
        for given in names:
            if not _NAME.fullmatch(given):
                raise _wrong(name, text, [kind, given], "a name is letters, digits, dots, dashes and underscores")
    for given, provider in config.providers.items():
        path = ["providers", given]
        if given == "demo":
            raise _wrong(name, text, path, "demo is the scripted provider; choose another name")
        if provider.base_url and not re.match(r"https?://[^/\s]", provider.base_url):
            raise _wrong(name, text, [*path, "base_url"], "begin it with https:// or http://")
        if re.match(r"https?://[^/\s]*@", provider.base_url):
            raise _wrong(name, text, [*path, "base_url"], "no passwords in an address; use key_variable or headers")
        if provider.api == "openai" and not provider.base_url and given != "openai":
            raise _wrong(name, text, [*path, "base_url"], 'say where it is, such as "http://127.0.0.1:11434/v1"')
        variables = {"key_variable": provider.key_variable, **{f"headers.{k}": v for k, v in provider.headers.items()}}
        for setting, variable in variables.items():
            if variable and not _ENVIRONMENT_NAME.fullmatch(variable):
                raise _wrong(name, text, [*path, setting], "give the name of an environment variable, not its value")
        for setting in ("context_size", "max_tokens", "retries"):
            if getattr(provider, setting) < 0:
                raise _wrong(name, text, [*path, setting], "must not be negative")
        if provider.timeout <= 0:
            raise _wrong(name, text, [*path, "timeout"], "must be more than 0 seconds")


def _wrong(name: str, text: str, path: list[str], problem: str) -> ConfigError:
    line = _line(text, path)
    return ConfigError(f"{name}{f', line {line}' if line else ''}: {'.'.join(path)}: {problem}")


def _line(text: str, path: list[str]) -> int:
    """The line where ``path`` is set, else where its table begins; 0: neither is found."""
    best, table = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[+([^\[\]]+)\]+\s*(#.*)?$", line)
        if header:
            table = header[1].replace('"', "").replace(" ", "")
            if f"{'.'.join(path)}.".startswith(f"{table}."):
                best = number
        else:
            key = re.match(r"\s*([\w.\"'-]+)\s*=", line)
            if key and ".".join(filter(None, [table, key[1].strip("\"'")])) == ".".join(path):
                return number
    return best
