"""Shared by all tests."""

import atexit
import os
import shutil
import tempfile

import pytest

# No test may use a developer's own keys, address a provider they set up, or read their settings.
for _name in (
    "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_API_KEY",
    "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "OLLAMA_HOST",
):  # fmt: skip
    os.environ.pop(_name, None)
os.environ["HM_CONFIG"] = ""
# Nor may one read or write their saved sessions. Before any test module is imported: some start an agent from there.
os.environ["HM_SESSIONS"] = tempfile.mkdtemp(prefix="hm-test-sessions-")
atexit.register(shutil.rmtree, os.environ["HM_SESSIONS"], ignore_errors=True)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
