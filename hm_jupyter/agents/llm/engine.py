"""pydantic-ai's model for an API: its client, made once, with our keys, address, headers and no retries of its own.

The only maker of clients. Proxies and TLS settings come from the environment, as httpx reads them. Imported with the
first step: with it come the provider's SDK and pydantic-ai.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

import httpx2
from pydantic_ai.models import Model

from .effort import effort_settings

CONNECT = 10.0
"""Seconds to wait for a connection."""

_answers: ContextVar[list[httpx2.Response] | None] = ContextVar("answers", default=None)


@lru_cache(maxsize=1)
def _tls() -> Any:
    return httpx2.create_ssl_context()  # reads the certificates: once is enough


async def _keep_track(response: httpx2.Response) -> None:
    kept = _answers.get()
    if kept is not None:
        kept.append(response)


@asynccontextmanager
async def closing_answers() -> AsyncGenerator[None, None]:
    """Closes, on the way out, every connection that still brings an answer to a request made within.

    An SDK that is cancelled in mid-answer may leave its connection to the garbage collector (google-genai does), and
    the server would go on writing, and charging, for nobody.
    """
    kept: list[httpx2.Response] = []
    _answers.set(kept)
    try:
        yield
    finally:
        for response in kept:
            if not response.is_closed:
                await response.aclose()


def make_engine(
    api: str, model: str, *, name: str, key: str, base_url: str, known: bool, headers: Mapping[str, str], timeout: float
) -> Model[Any]:
    """The model ``model`` of ``api`` at ``base_url``. ``key`` "": none. ``known``: it is the API's own address."""
    http = httpx2.AsyncClient(
        verify=_tls(), timeout=httpx2.Timeout(timeout, connect=CONNECT), headers=dict(headers),
        event_hooks={"response": [_keep_track]},
    )  # fmt: skip
    if api == "anthropic":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        client = AsyncAnthropic(api_key=key or "none", base_url=base_url, max_retries=0, http_client=http)
        return AnthropicModel(model, provider=AnthropicProvider(anthropic_client=client))
    if api == "google":
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        return GoogleModel(model, provider=GoogleProvider(api_key=key or "none", base_url=base_url, http_client=http))
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel

    sdk = AsyncOpenAI(api_key=key or "none", base_url=base_url, max_retries=0, http_client=http)
    provider = _openai_provider(sdk, name, known)
    return (OpenAIResponsesModel if api == "openai-responses" else OpenAIChatModel)(model, provider=provider)


def _openai_provider(client: Any, name: str, known: bool) -> Any:
    from pydantic_ai.providers.openai import OpenAIProvider

    if not known:
        try:  # since pydantic-ai 2.55 or so: without what only OpenAI's own server takes
            from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
        except ImportError:
            pass
        else:
            return OpenAICompatibleProvider(name, openai_client=client)
    return OpenAIProvider(openai_client=client)


def settings_for(api: str, *, effort: str, known: bool, max_tokens: int, cache: bool) -> Any:
    """pydantic-ai's settings for one request."""
    settings: dict[str, Any] = effort_settings(effort, api, known=known)
    if max_tokens:
        settings["max_tokens"] = max_tokens
    if api == "anthropic" and cache:
        # Tools, instructions and the end of the conversation are marked; other APIs cache by themselves.
        settings.update(
            anthropic_cache_tool_definitions=True, anthropic_cache_instructions=True, anthropic_cache_messages=True
        )
    return settings


async def served_models(engine: Model[Any], seconds: float) -> Sequence[str]:
    """What an OpenAI-compatible server says it has (GET /models); nothing where it does not say so in time."""
    client = getattr(engine, "client", None)
    if client is None or not hasattr(client, "models"):
        return []
    try:
        page = await asyncio.wait_for(client.models.list(), seconds)
        return [m.id for m in page.data if isinstance(m.id, str)][:200]
    except Exception:  # no such route, no server, no time: it is only an offer
        return []
