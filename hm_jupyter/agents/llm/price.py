"""What a step has used and cost: pydantic-ai's usage as ours, prices from hm.toml or else from genai-prices.

Knows no wire. Where nobody knows the price, the cost is 0: a guess would be taken for a bill.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..config import Price
from ..messages import Usage

_PROVIDER_IDS = {"anthropic": "anthropic", "openai-responses": "openai", "google": "google"}
"""genai-prices' names for those whose model names say enough, whatever gateway they are reached by."""


def usage_of(used: Any, model: str, *, api: str, base_url: str, known: bool, prices: Mapping[str, Price]) -> Usage:
    """``used`` (pydantic-ai's ``RequestUsage``; its input includes what the cache gave) with its cost in US dollars."""
    usage = Usage(
        max(0, used.input_tokens),
        max(0, used.output_tokens),
        max(0, used.cache_read_tokens),
        max(0, used.cache_write_tokens),
    )
    price = prices.get(model)
    if price is None:
        usage.cost = _looked_up(used, model, api=api, base_url=base_url, known=known)
    else:
        plain = max(0, usage.input - usage.cache_read - usage.cache_write)
        usage.cost = round(
            (
                plain * price.input
                + usage.output * price.output
                + usage.cache_read * price.cache_read
                + usage.cache_write * price.cache_write
            )
            / 1e6,
            8,
        )
    return usage


def _looked_up(used: Any, model: str, *, api: str, base_url: str, known: bool) -> float:
    from genai_prices import calc_price

    ways: list[dict[str, Any]] = [{"provider_api_url": base_url}] if base_url else []
    if known and api == "openai":
        ways.append({"provider_id": "openai"})
    elif api in _PROVIDER_IDS:
        ways.append({"provider_id": _PROVIDER_IDS[api]})
    for way in ways:
        try:
            return round(float(calc_price(used, model, **way).total_price), 8)
        except (LookupError, ValueError):
            continue
    return 0.0


def context_window(model: str, api: str) -> int:
    """Tokens ``model`` takes in all, from genai-prices' data where that is loaded already; 0: not known."""
    import sys

    if "genai_prices.data_snapshot" not in sys.modules or api not in _PROVIDER_IDS:
        return 0
    from genai_prices.data_snapshot import get_snapshot

    try:
        return get_snapshot().find_provider_model(model, None, _PROVIDER_IDS[api], None)[1].context_window or 0
    except LookupError:
        return 0
