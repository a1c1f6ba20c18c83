"""Pure functions of a transcript: text, markdown, html, mime bundles."""

from typing import Any


def bundle(t: Any, n: int) -> dict[str, Any]:
    return {}


def render(t: Any, k: str, n: str) -> str:
    return ""
