"""Forms of an agent (ACP, elicitation): what a person typed becomes a value, and is it one the form allows?

Pure. It never runs a pattern the agent sent: a hostile one can take for ever, and the agent checks its answers anyway.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit

from ..errors import UsageError
from ..events import Choice, FormField

YES = frozenset({"y", "yes", "true", "on", "1"})
NO = frozenset({"n", "no", "false", "off", "0"})


def checked(form: Sequence[FormField], given: Mapping[str, Any]) -> dict[str, Any]:
    """``given`` as the answer to ``form``: texts are read as what a field wants, defaults fill what was left out.

    Raises ``UsageError`` naming the field and what it takes.
    """
    fields = {f.name: f for f in form}
    unknown = [name for name in given if name not in fields]
    if unknown:
        raise UsageError(f"The form has no field {unknown[0]!r}; it has {', '.join(fields) or 'none'}.")
    answer = {}
    for field in form:
        value = given.get(field.name, field.default)
        if value is None or (value == "" and field.kind != "text"):
            if field.required:
                raise UsageError(f"{field.name} is needed: {wants(field)}.")
            continue
        answer[field.name] = value_of(field, value)
    return answer


def value_of(field: FormField, value: Any) -> Any:
    """``value`` (text too, as typed) as a value of that field. Raises ``UsageError``."""
    reader = {"boolean": _boolean, "number": _number, "integer": _number, "select": _one, "multi": _several}
    found = reader.get(field.kind, _text)(field, value)
    size = len(found) if isinstance(found, (str, list)) and field.kind in ("text", "multi") else None
    low, high = (field.min_length, field.max_length) if size is not None else (field.minimum, field.maximum)
    measured: Any = size if size is not None else found
    measurable = isinstance(measured, (int, float)) and not isinstance(measured, bool)
    if measurable and ((low is not None and measured < low) or (high is not None and measured > high)):
        raise _wrong(field)
    return found


def wants(field: FormField) -> str:
    """What a field takes, for people."""
    if field.kind in ("select", "multi"):
        choices = ", ".join(c.value for c in field.choices)
        return f"{'any' if field.kind == 'multi' else 'one'} of {choices}{_bounds(field.min_length, field.max_length, 'items')}"
    if field.kind == "boolean":
        return "yes or no"
    if field.kind in ("number", "integer"):
        return ("a whole number" if field.kind == "integer" else "a number") + _bounds(field.minimum, field.maximum, "")
    kind = {"email": "an email address", "uri": "an address, https://…", "date": "a date, 2026-01-31",
            "date-time": "a time, 2026-01-31T12:00:00Z"}.get(field.format, "text")  # fmt: skip
    return kind + _bounds(field.min_length, field.max_length, "characters")


def _bounds(low: float | None, high: float | None, what: str) -> str:
    if low is None and high is None:
        return ""
    numbers = f"{low:g} to {high:g}" if low is not None and high is not None else ""
    numbers = numbers or (f"at least {low:g}" if low is not None else f"at most {high:g}")
    return f" ({numbers}{' ' + what if what else ''})"


def _wrong(field: FormField) -> UsageError:
    return UsageError(f"{field.name}: give {wants(field)}.")


def _boolean(field: FormField, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word not in YES | NO:
        raise _wrong(field)
    return word in YES


def _number(field: FormField, value: Any) -> int | float:
    if isinstance(value, bool):
        raise _wrong(field)
    try:
        number = float(str(value).strip())
    except ValueError:
        raise _wrong(field) from None
    if not math.isfinite(number) or (field.kind == "integer" and number != int(number)):
        raise _wrong(field)
    return int(number) if field.kind == "integer" or (isinstance(value, int)) else number


def _text(field: FormField, value: Any) -> str:
    text = str(value)
    good = True
    if field.format == "email":
        good = bool(re.fullmatch(r"[^@\s]+@[^@\s]+", text))
    elif field.format == "uri":
        good = bool(urlsplit(text).scheme) and not re.search(r"\s", text)
    elif field.format in ("date", "date-time"):
        try:
            date.fromisoformat(text) if field.format == "date" else datetime.fromisoformat(text.replace("Z", "+00:00"))
        except ValueError:
            good = False
    if not good:
        raise _wrong(field)
    return text


def choice(choices: Sequence[Choice], text: str) -> str | None:
    """The value of the choice meant by its number (from 1), value or label; None when it is none of them."""
    text = text.strip()
    exact = next((c.value for c in choices if text == c.value), None)
    if exact is not None:
        return exact
    if text.isdecimal() and 1 <= int(text) <= len(choices):
        return choices[int(text) - 1].value
    return next((c.value for c in choices if text == c.label), None)


def _one(field: FormField, value: Any) -> str:
    found = choice(field.choices, str(value))
    if found is None:
        raise _wrong(field)
    return found


def _several(field: FormField, value: Any) -> list[str]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, Sequence):
        raise _wrong(field)
    found = [choice(field.choices, str(part)) for part in parts if str(part).strip()]
    if any(part is None for part in found):
        raise _wrong(field)
    return list(dict.fromkeys(part for part in found if part is not None))
