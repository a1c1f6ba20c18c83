"""A provider made of its settings: which there are, whether its key and the extra are there, the models it makes.

Decides without importing any provider's code: a start must not wait for that.
"""

from __future__ import annotations

import importlib.util
import ipaddress
import os
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from ..config import Config, ProviderConfig
from ..providers import Provider, UnknownModel
from .failures import Place
from .keys import Secrets, find_key, how_to_give, in_environment
from .known import BASE_URL_VARIABLES, DEFAULT_ORDER, OWN_URLS, PRESETS
from .model import ProviderModel

EXTRA = "pip install 'hm-jupyter[llm]'"
_MODULES = {"anthropic": "anthropic", "openai": "openai", "openai-responses": "openai", "google": "google.genai"}


def settings_of(name: str, config: Config) -> ProviderConfig:
    """The settings of a provider: hm.toml's, else what is known of it."""
    own = config.providers.get(name)
    return own if own is not None else ProviderConfig(**PRESETS[name])


def all_names(config: Config) -> list[str]:
    """Every provider that may be named."""
    return list(dict.fromkeys([*config.providers, *PRESETS]))


def usable(config: Config) -> list[str]:
    """The providers worth offering: named in hm.toml, or with a key in the environment."""
    return [
        name
        for name in all_names(config)
        if name in config.providers or in_environment(settings_of(name, config).key_variable or "-")
    ]


def first_found(config: Config) -> str:
    """The first provider whose key is in the environment, if its models can be had; "" when there is none."""
    for name in DEFAULT_ORDER:
        settings = settings_of(name, config)
        if in_environment(settings.key_variable or "-") and _installed(settings.api):
            return name
    return ""


def make_provider(name: str, config: Config) -> Provider:
    """The provider ``name``, which :func:`all_names` lists."""
    settings = settings_of(name, config)
    made: dict[str, ProviderModel] = {}

    def make(model: str) -> ProviderModel:
        chosen = model or _default_model(name, settings, config)
        if chosen not in made:
            made[chosen] = _make_model(name, settings, chosen)
        return made[chosen]

    def models() -> list[str]:
        named = [m for m in (_default_model(name, settings, config), *settings.models) if m]
        return list(dict.fromkeys([*named, *(m.name for m in made.values() if m.name)]))

    return Provider(name, make, models)


def _default_model(name: str, settings: ProviderConfig, config: Config) -> str:
    if config.model and config.provider == name:
        return config.model
    return settings.model or next(iter(settings.models), "")


def _make_model(name: str, settings: ProviderConfig, model: str) -> ProviderModel:
    """Raises :class:`UnknownModel` where the extra or the key is missing."""
    if not _installed(settings.api):
        raise UnknownModel(f"provider {name} needs an extra that is not installed: {EXTRA}")
    if len(model) > 200 or any(not c.isprintable() for c in model):
        raise UnknownModel("that is no name of a model: it is too long, or holds characters that are not shown")
    base_url, known = base_url_of(name, settings)
    if not model and settings.api != "openai":
        raise UnknownModel(f"provider {name} has no model set: give --model, or model in hm.toml")
    if not model and name == "openrouter":
        raise UnknownModel("name a model for openrouter, such as --model vendor/model, or model in hm.toml")
    key = find_key(settings.key_variable) if settings.key_variable else ""
    if settings.key_variable and not key:
        raise UnknownModel(f"provider {name} needs a key: {how_to_give(settings.key_variable)}")
    headers = _headers(name, settings)
    secrets = Secrets([key, *headers.values()])
    place = Place(name, model, base_url, settings.key_variable, secrets)
    maker = _maker(name, settings, key, base_url, known, headers)
    return ProviderModel(place, settings, maker, known=known, warning=_warning(name, base_url, bool(key or headers)))


def _maker(
    name: str, settings: ProviderConfig, key: str, base_url: str, known: bool, headers: dict[str, str]
) -> Callable[[str], Any]:
    def make(model: str) -> Any:
        from .engine import make_engine

        return make_engine(
            settings.api, model, name=name, key=key, base_url=base_url, known=known, headers=headers,
            timeout=settings.timeout,
        )  # fmt: skip

    return make


def base_url_of(name: str, settings: ProviderConfig) -> tuple[str, bool]:
    """Where the provider is, and whether that is the API's own address (or it is said to be the same there)."""
    own = OWN_URLS[settings.api]
    preset = PRESETS.get(name, {}).get("base_url", "")
    given = settings.base_url if settings.base_url != preset else ""
    given = given or _from_environment(name) or preset or own
    return given.rstrip("/"), given.rstrip("/") == own or name in ("anthropic", "openai", "google")


def _from_environment(name: str) -> str:
    value = os.environ.get(BASE_URL_VARIABLES.get(name, ""), "").strip()
    if not value or name != "ollama":
        return value
    # OLLAMA_HOST is an address to listen on: perhaps without scheme or port, and never with the API's path.
    value = value if "//" in value else f"http://{value}"
    parts = urlsplit(value)
    host = "127.0.0.1" if parts.hostname in (None, "", "0.0.0.0", "::") else parts.hostname
    host = f"[{host}]" if ":" in str(host) else host
    try:
        port = parts.port or 11434
    except ValueError:
        port = 11434
    return f"{parts.scheme}://{host}:{port}/v1"


def _headers(name: str, settings: ProviderConfig) -> dict[str, str]:
    headers = {}
    for header, variable in settings.headers.items():
        value = os.environ.get(variable, "").strip()
        if not value:
            raise UnknownModel(f"provider {name} sends the header {header}: set the environment variable {variable}")
        headers[header] = value
    return headers


def _warning(name: str, base_url: str, secret: bool) -> str:
    """What to say of an address that would have a key travel in the clear."""
    parts = urlsplit(base_url)
    if parts.scheme != "http" or not secret or _is_loopback(parts.hostname or ""):
        return ""
    return (
        f"the key of {name} goes to {parts.netloc} unencrypted (http): anybody on the way can read it,"
        " and the conversation. Use https:// in base_url"
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _installed(api: str) -> bool:
    try:
        return all(importlib.util.find_spec(m) is not None for m in ("pydantic_ai", _MODULES[api]))
    except (ImportError, ValueError):  # the package around it is missing, or is half there
        return False
