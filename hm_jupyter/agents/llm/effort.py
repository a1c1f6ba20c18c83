"""How hard the model is to think: hm RPC's efforts as pydantic-ai's settings.

Source: hm RPC, "Commands", set_model: off, low, medium, high, xhigh, max; "" is the provider's own. What a model does
not have becomes the nearest it has, or nothing; pydantic-ai knows which. Knows no wire.
"""

from __future__ import annotations

from typing import Any

EFFORTS = ("off", "low", "medium", "high", "xhigh", "max")


def effort_settings(effort: str, api: str, *, known: bool) -> dict[str, Any]:
    """The settings for ``effort``. ``known``: whether the address is the API's own, so that the model is known too."""
    if not effort:
        return {}
    level = _level(effort)
    if api == "openai" and not known:
        # Nobody knows the models of somebody's own server: what was asked for is sent as it is.
        return {"openai_reasoning_effort": "none" if level is False else level}
    settings: dict[str, Any] = {"thinking": level}
    if api == "openai-responses" and level is not False:
        settings["openai_reasoning_summary"] = "auto"  # else there is nothing of it to see
    return settings


def _level(effort: str) -> str | bool:
    if effort == "off":
        return False
    if effort == "max" and "max" not in _levels():
        return "xhigh"
    return effort


def _levels() -> tuple[str, ...]:
    """The levels this pydantic-ai has."""
    from typing import get_args

    from pydantic_ai import settings

    return tuple(get_args(settings.ThinkingEffort))
