"""Forms of an elicitation: the agent's schema as fields (reference, section 5). What an answer may be: ``hm_jupyter.forms``.

The schema is flat: texts (free, or one of several), numbers, integers, booleans, several of several.
"""

from __future__ import annotations

from typing import Any

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
