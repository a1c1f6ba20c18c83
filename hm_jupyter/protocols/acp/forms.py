"""Forms of an elicitation: the agent's schema as fields, and a person's answers checked against them (reference, section 5).

The schema is flat: texts (free, or one of several), numbers, integers, booleans, several of several. What is wrong with
an answer is said before anything is sent. A ``pattern`` is passed on but not run: a hostile one need not come to an end.
"""

from __future__ import annotations

import datetime
import re
from typing import Any

from ...errors import UsageError
from ...events import Choice, FormField
from .. import hm_read
from . import lenient as read
from .lenient import Malformed

_KINDS: dict[Any, Any] = {
    "string": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
    "array": "multi",
}
_FORMATS = ("email", "uri", "date", "date-time")
_TRUE, _FALSE = ("true", "yes", "y", "1", "on"), ("false", "no", "n", "0", "off")


def form_of(schema: Any) -> list[FormField]:
    """The fields of a ``requestedSchema``, in its order.

    Raises ``Malformed`` when it is none, or requires a field of a kind that is not known (others of those are left out)."""
    if not isinstance(schema, dict) or not isinstance(schema.get("properties", {}), dict):
        raise Malformed("requestedSchema is not a schema of an object")
    required = read.texts(schema.get("required"))
    found = []
    for name, told in schema.get("properties", {}).items():
        made = _field(name, told) if isinstance(told, dict) else None
        if made is None:
            if name in required:
                raise Malformed(f"the required field {name!r} is of a kind that is not known here")
            continue
        made.required = name in required
        found.append(made)
    return found


def checked(form: list[FormField], given: dict[str, Any]) -> dict[str, Any]:
    """The content to send: every value of the right kind and within its bounds; what was left empty is left out.

    Raises ``UsageError`` that names the field and says what it takes."""
    names = [made.name for made in form]
    for name in given:
        if name not in names:
            raise UsageError(f"The form has no field {name!r}; it has {', '.join(map(repr, names)) or 'none'}.")
    content = {}
    for made in form:
        value = given.get(made.name)
        if made.name not in given and made.required:
            value = made.default
        if value is None or value == "" or (value == [] and not made.required):
            if made.required:
                raise UsageError(f"{_title(made)} is required: {_takes(made)}.")
            continue
        content[made.name] = _value(made, value)
    return content


def told(content: dict[str, Any], form: list[FormField]) -> str:
    """An answer in words, for the transcript."""
    titles = {made.name: _title(made) for made in form}
    return "\n".join(f"{titles.get(name, name)}: {_shown(value)}" for name, value in content.items())


# ---- the schema ----------------------------------------------------------------------------------------------------


def _field(name: str, told: dict[str, Any]) -> FormField | None:
    kind = told.get("type")
    if not isinstance(kind, str) or kind not in _KINDS:
        return None
    made = FormField(name, _KINDS[kind], read.text(told.get("title")), read.text(told.get("description")))
    default = told.get("default")
    if kind == "string":
        made.choices = _choices(told, "oneOf")
        if made.choices or isinstance(told.get("enum"), list) or isinstance(told.get("oneOf"), list):
            made.kind = "select"
        made.format = told["format"] if told.get("format") in _FORMATS else ""
        made.pattern = read.text(told.get("pattern"))
        made.min_length, made.max_length = hm_read.count(told.get("minLength")), hm_read.count(told.get("maxLength"))
        made.default = default if isinstance(default, str) else None
    elif kind in ("number", "integer"):
        made.minimum, made.maximum = hm_read.money(told.get("minimum")), hm_read.money(told.get("maximum"))
        made.default = (
            (read.whole(default) if kind == "integer" else hm_read.money(default)) if default is not None else None
        )
    elif kind == "boolean":
        made.default = default if isinstance(default, bool) else None
    else:
        items = read.fields(told.get("items"))
        made.choices = _choices(items, "anyOf")
        if not made.choices:
            return None
        made.min_length, made.max_length = hm_read.count(told.get("minItems")), hm_read.count(told.get("maxItems"))
        made.default = read.texts(default) if isinstance(default, list) else None
    return made


def _choices(told: dict[str, Any], titled: str) -> list[Choice]:
    found = []
    for item in read.objects(told.get(titled)):
        value = item.get("const")
        if isinstance(value, str):
            found.append(Choice(value, read.text(item.get("title"), value), read.text(item.get("description"))))
    return found or [Choice(value, value) for value in read.texts(told.get("enum"))]


# ---- the answer ----------------------------------------------------------------------------------------------------


def _value(made: FormField, value: Any) -> Any:
    if made.kind == "text":
        return _text(made, value)
    if made.kind == "select":
        return _one_of(made, value)
    if made.kind == "multi":
        return _some_of(made, value)
    if made.kind == "boolean":
        return _boolean(made, value)
    return _number(made, value)


def _text(made: FormField, value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(made)
    too_short = made.min_length is not None and len(value) < made.min_length
    too_long = made.max_length is not None and len(value) > made.max_length
    if too_short or too_long or not _formatted(made.format, value):
        raise _wrong(made)
    return value


def _formatted(wanted: str, value: str) -> bool:
    if wanted in ("date", "date-time") and not re.match(r"\d{4}-\d\d-\d\d", value):
        return False  # newer Pythons read other spellings too
    try:
        if wanted == "date":
            datetime.date.fromisoformat(value)
        elif wanted == "date-time":
            moment = re.sub(r"[zZ]\Z", "+00:00", value)
            return "T" in value.upper() and datetime.datetime.fromisoformat(_fraction(moment)).tzinfo is not None
    except ValueError:
        return False
    if wanted == "email":
        name, at, host = value.rpartition("@")
        return bool(name and at and host) and not re.search(r"\s", value)
    if wanted == "uri":
        return re.match(r"[A-Za-z][A-Za-z0-9+.-]*:\S+\Z", value) is not None
    return True


def _fraction(moment: str) -> str:
    """Fractions of a second with the six digits that Python 3.10 reads."""
    return re.sub(r"\.(\d+)", lambda found: "." + found[1][:6].ljust(6, "0"), moment, count=1)


def _one_of(made: FormField, value: Any) -> str:
    for choice in made.choices:
        if value == choice.value:
            return choice.value
    for choice in made.choices:
        if value == choice.label:
            return choice.value
    raise _wrong(made)


def _some_of(made: FormField, value: Any) -> list[str]:
    if not isinstance(value, (list, tuple)):
        raise _wrong(made)
    chosen = list(dict.fromkeys(_one_of(made, item) for item in value))
    too_few = made.min_length is not None and len(chosen) < made.min_length
    if too_few or (made.max_length is not None and len(chosen) > made.max_length):
        raise _wrong(made)
    return chosen


def _boolean(made: FormField, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in (*_TRUE, *_FALSE):
        raise _wrong(made)
    return word in _TRUE


def _number(made: FormField, given: Any) -> int | float:
    value: int | float = given
    if isinstance(given, str):
        try:
            value = int(given) if re.fullmatch(r"\s*[+-]?\d{1,300}\s*", given) else float(given)
        except ValueError:
            raise _wrong(made) from None
    if hm_read.money(value) is None:  # no number, or one without an end
        raise _wrong(made)
    if made.kind == "integer":
        if value != int(value):
            raise _wrong(made)
        value = int(value)
    if (made.minimum is not None and value < made.minimum) or (made.maximum is not None and value > made.maximum):
        raise _wrong(made)
    return value


# ---- words ---------------------------------------------------------------------------------------------------------


def _wrong(made: FormField) -> UsageError:
    return UsageError(f"{_title(made)}: {_takes(made)}.")


def _title(made: FormField) -> str:
    return read.one_line(made.title)[:80] or made.name


def _takes(made: FormField) -> str:
    """What a field takes: ``a number of 1 to 5``"""
    bounds = ""
    low, high = (
        (made.minimum, made.maximum) if made.kind in ("number", "integer") else (made.min_length, made.max_length)
    )
    if low is not None and high is not None:
        bounds = f"{low:g} to {high:g}"
    elif low is not None:
        bounds = f"{low:g} or more"
    elif high is not None:
        bounds = f"at most {high:g}"
    named = ", ".join(repr(choice.value) for choice in made.choices[:20])
    if made.kind == "select":
        return f"one of {named}"
    if made.kind == "multi":
        return f"{bounds or 'some'} of {named}"
    if made.kind == "boolean":
        return "true or false"
    if made.kind in ("number", "integer"):
        what = "a number" if made.kind == "number" else "a whole number"
        return f"{what}, {bounds}" if bounds else what
    what = {
        "email": "an email address",
        "uri": "a URI",
        "date": "a date such as 2026-11-30",
        "date-time": "a date and time such as 2026-11-30T18:00:00Z",
    }.get(made.format, "a text")
    return f"{what} of {bounds} characters" if bounds else what


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
