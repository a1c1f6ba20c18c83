"""Shared by all tests."""

import os

import pytest

# No test may use a developer's own keys, address a provider they set up, or read their settings.
for _name in (
    "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_API_KEY",
    "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "OLLAMA_HOST",
):  # fmt: skip
    os.environ.pop(_name, None)
os.environ["HM_CONFIG"] = ""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
