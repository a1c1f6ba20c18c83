"""The providers that need no entry in hm.toml, and what is known of their models without asking.

Data only. Names, key variables and addresses are those of the providers' own documentation; models are a choice of the
current ones, the first is used when none is named. Any other model can be given by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "anthropic": {
        "api": "anthropic",
        "key_variable": "ANTHROPIC_API_KEY",
        "models": ["claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5"],
    },
    "openai": {
        "api": "openai-responses",
        "key_variable": "OPENAI_API_KEY",
        "models": ["gpt-6.1-terra", "gpt-6.1-sol", "gpt-5.6-luna"],
    },
    "google": {
        "api": "google",
        "key_variable": "GEMINI_API_KEY",
        "models": ["gemini-3.8-flash", "gemini-4-argon", "gemini-3.5-flash-lite"],
    },
    "openrouter": {
        "api": "openai",
        "base_url": "https://openrouter.ai/api/v1",
        "key_variable": "OPENROUTER_API_KEY",
    },
    "ollama": {"api": "openai", "base_url": "http://127.0.0.1:11434/v1"},
    "lmstudio": {"api": "openai", "base_url": "http://127.0.0.1:1234/v1"},
    "vllm": {"api": "openai", "base_url": "http://127.0.0.1:8000/v1"},
}
"""Settings by provider, as in hm.toml."""

DEFAULT_ORDER = ("anthropic", "openai", "google", "openrouter")
"""Which is taken when hm.toml names none: the first whose key is in the environment."""

OTHER_KEY_VARIABLES: Mapping[str, str] = {"GEMINI_API_KEY": "GOOGLE_API_KEY"}
"""A second name a key is known by."""

BASE_URL_VARIABLES: Mapping[str, str] = {
    "anthropic": "ANTHROPIC_BASE_URL",
    "openai": "OPENAI_BASE_URL",
    "google": "GOOGLE_GEMINI_BASE_URL",
    "ollama": "OLLAMA_HOST",
}
"""What else says where a provider is, where hm.toml does not."""

OWN_URLS: Mapping[str, str] = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
    "openai-responses": "https://api.openai.com/v1",
    "google": "https://generativelanguage.googleapis.com",
}
"""Where each API is when nothing else is said."""

CONTEXT_SIZES: tuple[tuple[str, int], ...] = (
    ("claude-haiku-4", 200_000),
    ("claude-", 1_000_000),
    ("gpt-5.6", 1_050_000),
    ("gpt-6", 1_050_000),
    ("gpt-5", 400_000),
    ("gpt-4.1", 1_000_000),
    ("gpt-4o", 128_000),
    ("gemini-", 1_000_000),
)
"""Tokens a model takes in all, by how its name begins: the first that fits. For a first guess; see ``price``."""


def context_size(model: str) -> int:
    """Tokens ``model`` takes in all, as far as its name tells; 0: not known."""
    name = model.rsplit("/", 1)[-1]
    return next((size for prefix, size in CONTEXT_SIZES if name.startswith(prefix)), 0)
