"""Placeholders in a scenario's texts: ``{{result.1.text|find:joined +(\\d+)}}``. Pure; what it cannot find is "".

They are filled in one pass, so what a tool put out is never read as a placeholder itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_PLACEHOLDER = re.compile(r"\{\{\s*([\w.-]+)((?:\s*\|\s*\w+(?::[^|}]*)?)*)\s*\}\}")
_FILTER = re.compile(r"\|\s*(\w+)(?::([^|}]*))?")


def fill(value: Any, known: Mapping[str, str]) -> Any:
    """``value`` with its placeholders filled in, in lists and objects too."""
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda m: _one(m, known), value)
    if isinstance(value, list):
        return [fill(v, known) for v in value]
    if isinstance(value, dict):
        return {k: fill(v, known) for k, v in value.items()}
    return value


def _one(found: re.Match[str], known: Mapping[str, str]) -> str:
    text = known.get(found[1], "")
    for name, argument in _FILTER.findall(found[2]):
        text = _filtered(text, name, argument.strip(), known)
    return text


def _filtered(text: str, name: str, argument: str, known: Mapping[str, str]) -> str:
    lines = text.splitlines()
    if name == "find":
        hit = re.search(argument, text)
        return (hit[1] if hit.re.groups else hit[0]) or "" if hit else ""
    if name == "line":
        number = int(argument)
        return lines[number - (number > 0)] if -len(lines) <= number - (number > 0) < len(lines) else ""
    if name == "lines":
        first, _, last = argument.partition("-")
        return "\n".join(lines[int(first) - 1 : int(last or 10**9)])
    if name == "row":  # the line of a CSV text whose first column is the value of the placeholder named
        return next((line for line in lines if line.split(",")[0] == known.get(argument, "")), "")
    if name == "column":
        cells = text.split(",")
        return cells[int(argument) - 1] if 0 < int(argument) <= len(cells) else ""
    if name == "count":
        return str(len(lines))
    if name == "trim":
        return text.strip()
    return ""


FILTERS = ("find", "line", "lines", "row", "column", "count", "trim")
"""Every filter."""
