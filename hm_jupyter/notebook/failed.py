"""A start that failed is remembered: what was meant for that agent must go to no other one without a word."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from .registry import registry


@contextmanager
def remembered(agent: str, name: str = "", *, again: str = "start") -> Iterator[None]:
    """Around a start of ``agent`` (as it was typed; "" what the settings say), under ``name``: what goes wrong in it,
    an interrupt too, is remembered until a start succeeds or another session is chosen."""
    try:
        yield
    except BaseException:
        registry.fail(_sentence(_shown(agent), name, again), name)
        raise


def _sentence(agent: str, name: str, again: str) -> str:
    who = f"{name} ({agent})" if name and agent else name or agent or "The agent"
    line = f"%hm {again} {agent}".rstrip() + (f" --name {name}" if name else "")
    others = registry.names()
    open_ones = f"; to go on with {others[-1]}, which is open: %hm use {others[-1]}" if others else ""
    return (
        f"{who} could not be started, so there is nobody this could go to. Try again: {line} (with the options you gave "
        f"it); for the built-in agent: %hm start builtin{open_ones}."
    )


def _shown(agent: str) -> str:
    """An address without what may be a secret in it."""
    if "://" not in agent:
        return agent
    try:
        parts = urlsplit(agent)
    except ValueError:
        return "ADDRESS"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
