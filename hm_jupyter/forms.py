"""Forms of an agent: what a person gave becomes the value a field takes, or an error that says what the field takes.

Pure, and of no wire. A ``pattern`` the agent sent is never run: a hostile one can take for ever, and the agent checks its
answers anyway. (The widget checks beside each field before it sends: js/src/form.ts.)
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from .errors import UsageError
from .events import Choice, FormField

YES = frozenset({"y", "yes", "true", "on", "1"})
NO = frozenset({"n", "no", "false", "off", "0"})

NAMED = 20
"""Choices an error names; a person who is asked sees all of them."""


def checked(form: Sequence[FormField], given: Mapping[str, Any], *, defaults: bool = False) -> dict[str, Any]:
    """``given`` as the answer to ``form``: each value of its field's kind and within its bounds; what is empty is left out.

    A required field that was not given takes its default, with ``defaults`` every field does (where somebody names only
    what matters to them; in a form that was shown whole, what is not given was emptied on purpose).

    Raises ``UsageError`` naming the field and what it takes.
    """
    fields = {f.name: f for f in form}
    for name in given:
        if name not in fields:
            raise UsageError(f"The form has no field {name!r}; it has {', '.join(map(repr, fields)) or 'none'}.")
    answer = {}
    for field in form:
        value = given.get(field.name, field.default if defaults or field.required else None)
        found = None if value is None or value == "" else value_of(field, value, bounded=False)
        if found is None or (found == [] and not field.required):
            if field.required:
                raise UsageError(f"{named(field)} is needed: {wants(field)}.")
            continue
        answer[field.name] = _within(field, found)
    return answer


def value_of(field: FormField, value: Any, *, bounded: bool = True) -> Any:
    """``value`` (a text too, as typed) as a value of that field. Raises ``UsageError``."""
    reader = {"boolean": _boolean, "number": _number, "integer": _number, "select": _one, "multi": _several}
    found = reader.get(field.kind, _text)(field, value)
    return _within(field, found) if bounded else found


def named(field: FormField) -> str:
    """A field for people who answer it by its name: ``city (Your city)``."""
    name, title = _line(field.name), _line(field.title)
    return f"{name} ({title})" if title not in ("", name) else name


def wants(field: FormField) -> str:
    """What a field takes, for people."""
    if field.kind in ("select", "multi"):
        choices = ", ".join([c.value for c in field.choices[:NAMED]] + ["…"] * (len(field.choices) > NAMED))
        return f"{'any' if field.kind == 'multi' else 'one'} of {choices}{_bounds(field.min_length, field.max_length, 'items')}"
    if field.kind == "boolean":
        return "yes or no"
    if field.kind in ("number", "integer"):
        return ("a whole number" if field.kind == "integer" else "a number") + _bounds(field.minimum, field.maximum, "")
    kind = {"email": "an email address", "uri": "an address, https://…", "date": "a date, 2026-01-31",
            "date-time": "a time, 2026-01-31T12:00:00Z"}.get(field.format, "text")  # fmt: skip
    return kind + _bounds(field.min_length, field.max_length, "characters")


def told(form: Sequence[FormField], answer: Mapping[str, Any]) -> str:
    """An answer in words, a line for each field."""
    titles = {f.name: _line(f.title) or f.name for f in form}
    return "\n".join(f"{titles.get(name, name)}: {shown(value)}" for name, value in answer.items())


def shown(value: Any) -> str:
    """A field's value in words, as it may be typed too."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


# ---- words ---------------------------------------------------------------------------------------------------------


def _line(text: str) -> str:
    return " ".join(text.split())[:80]


def _bounds(low: float | None, high: float | None, what: str) -> str:
    if low is None and high is None:
        return ""
    numbers = f"{low:g} to {high:g}" if low is not None and high is not None else ""
    numbers = numbers or (f"at least {low:g}" if low is not None else f"at most {high:g}")
    return f" ({numbers}{' ' + what if what else ''})"


def _wrong(field: FormField) -> UsageError:
    return UsageError(f"{named(field)}: give {wants(field)}.")


# ---- values --------------------------------------------------------------------------------------------------------


def _within(field: FormField, found: Any) -> Any:
    low, high = field.minimum, field.maximum
    measured = found
    if field.kind in ("text", "multi"):
        low, high, measured = field.min_length, field.max_length, len(found)
    elif field.kind not in ("number", "integer"):
        return found
    if (low is not None and measured < low) or (high is not None and measured > high):
        raise _wrong(field)
    return found


def _text(field: FormField, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise _wrong(field)
    text = str(value)
    if not _formatted(field.format, text):
        raise _wrong(field)
    return text


def _formatted(wanted: str, text: str) -> bool:
    if wanted == "email":
        return re.fullmatch(r"[^@\s]+@[^@\s]+", text) is not None
    if wanted == "uri":
        return re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:\S+", text) is not None
    if wanted not in ("date", "date-time"):
        return True
    if not re.match(r"\d{4}-\d\d-\d\d", text):
        return False  # newer Pythons read other spellings too
    try:
        if wanted == "date":
            date.fromisoformat(text)
            return True
        moment = re.sub(r"[zZ]\Z", "+00:00", text)
        return "T" in text.upper() and datetime.fromisoformat(_fraction(moment)).tzinfo is not None
    except ValueError:
        return False


def _fraction(moment: str) -> str:
    """Fractions of a second with the six digits that Python 3.10 reads."""
    return re.sub(r"\.(\d+)", lambda found: "." + found[1][:6].ljust(6, "0"), moment, count=1)


def _boolean(field: FormField, value: Any) -> bool:
    word = str(value).strip().lower()
    if word not in YES | NO:
        raise _wrong(field)
    return word in YES


def _number(field: FormField, value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise _wrong(field)
    try:
        whole = isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d{1,300}\s*", value)
        number = int(value) if whole else float(value) if isinstance(value, str) else value
        finite = math.isfinite(number)
    except (ValueError, OverflowError):
        raise _wrong(field) from None
    if not finite or (field.kind == "integer" and number != int(number)):
        raise _wrong(field)
    return int(number) if field.kind == "integer" else number


def _choice(choices: Sequence[Choice], text: str) -> str | None:
    """The value of the choice meant by its value, label or number (from 1); None when it is none of them."""
    bare = text.strip()
    by_number = choices[int(bare) - 1 : int(bare)] if re.fullmatch(r"[1-9]\d{0,5}", bare) else []
    meant = [c for c in choices if text == c.value] + [c for c in choices if bare in (c.value, c.label)]
    return next((c.value for c in (*meant, *by_number)), None)


def _one(field: FormField, value: Any) -> str:
    found = _choice(field.choices, str(value))
    if found is None:
        raise _wrong(field)
    return found


def _several(field: FormField, value: Any) -> list[str]:
    if isinstance(value, str):  # a choice may hold a comma itself
        parts: Sequence[Any] = [value] if _choice(field.choices, value) is not None else value.split(",")
    elif isinstance(value, (list, tuple)):
        parts = value
    else:
        raise _wrong(field)
    found = [_choice(field.choices, str(part)) for part in parts if str(part).strip()]
    if any(part is None for part in found):
        raise _wrong(field)
    return list(dict.fromkeys(part for part in found if part is not None))
