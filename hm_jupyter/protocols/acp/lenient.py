"""Tolerant readers for ACP's JSON: what is optional and malformed falls to its default, a bad list item is dropped.

ACP's schemas declare this themselves (``x-deserialize-default-on-error``, ``x-deserialize-skip-invalid-items``). What a
message cannot do without raises :class:`Malformed`, which becomes one notice and never more. Nothing here knows what the
fields mean.
"""

from __future__ import annotations

import json
from typing import Any

KEEP: Any = object()
"""A field that was not sent, or says nothing: leave what is known as it is."""


class Malformed(Exception):
    """A message of a known kind that cannot be read; the text says what is wrong with it. Never leaves this package."""


def text(value: Any, default: str = "") -> str:
    """``value`` if it is text, else ``default``."""
    return value if isinstance(value, str) else default


def need_text(holder: dict[str, Any], name: str) -> str:
    """A field that must be a text and not empty. Raises :class:`Malformed`."""
    value = holder.get(name)
    if not isinstance(value, str) or not value:
        raise Malformed(f"{name} is not a text" if name in holder else f"{name} is missing")
    return value


def fields(value: Any) -> dict[str, Any]:
    """``value`` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def need_fields(holder: dict[str, Any], name: str) -> dict[str, Any]:
    """A field that must be an object. Raises :class:`Malformed`."""
    value = holder.get(name)
    if not isinstance(value, dict):
        raise Malformed(f"{name} is not an object" if name in holder else f"{name} is missing")
    return value


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; anything else in it, or in its place, is dropped."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts(value: Any) -> list[str]:
    """The texts in a list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def whole(value: Any) -> int | None:
    """An integer a browser can count to (2**53) as such, else None. ``true`` is not one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -(2**53) <= value <= 2**53:
        return None
    return int(value) if value == int(value) else None


def one_line(value: Any) -> str:
    """A text with its line breaks and runs of blanks made into single blanks."""
    return " ".join(text(value).split())


def excerpt(value: Any, limit: int = 2000) -> str:
    """``value`` as JSON for a notice's detail, cut to ``limit`` characters."""
    try:
        written = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        written = type(value).__name__
    return written if len(written) <= limit else written[:limit] + " …"
