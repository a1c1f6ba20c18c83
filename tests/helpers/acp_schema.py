"""ACP's JSON schemas, where they lie beside the project: validators, and instances made from them.

Both generations of the v2 draft and of v1's unstable part are read. The instances of a definition are few and cover it: every
alternative of every union, every optional field once, and nulls where they are allowed.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

ROOT = Path(__file__).parents[3] / "shared" / "acp" / "schema"
FILES = {
    "v1": "v1/schema.unstable.json",
    "v1-new": "sdk-2.4.0/v1/schema.unstable.json",
    "v2": "v2/schema.unstable.json",
    "v2-new": "sdk-2.4.0/v2/schema.unstable.json",
}
NAMES = list(FILES)
needed = pytest.mark.skipif(not ROOT.is_dir(), reason="ACP's schemas (../shared/acp/schema) are not here")

_DISCRIMINATORS = ("sessionUpdate", "type", "mode", "state", "operation", "outcome", "action", "format")
_TEXTS = ("text", "USD", "/abs/path", "image/png", "https://a.example/b")


def version_of(name: str) -> int:
    return int(name[1])


@cache
def schema(name: str) -> dict[str, Any]:
    """One schema file."""
    found: dict[str, Any] = json.loads((ROOT / FILES[name]).read_text("utf-8"))
    return found


@cache
def validator(name: str, definition: str) -> Draft202012Validator:
    """What checks an instance of one definition."""
    return Draft202012Validator({"$ref": f"#/$defs/{definition}", "$defs": schema(name)["$defs"]})


def wrong(name: str, definition: str, instance: Any) -> str:
    """What is wrong with an instance, or ""."""
    errors = sorted(validator(name, definition).iter_errors(instance), key=lambda error: len(error.path))
    return f"{errors[0].json_path}: {errors[0].message[:300]}" if errors else ""


@cache
def instances(name: str, definition: str) -> list[Any]:
    """Instances of one definition, each once."""
    made = _Maker(schema(name)["$defs"]).make({"$ref": f"#/$defs/{definition}"}, (), "")
    return [json.loads(written) for written in dict.fromkeys(json.dumps(instance) for instance in made)]


def variants(name: str, definition: str, field: str) -> list[str]:
    """The values of the field that tells the variants of a definition apart."""
    told = schema(name)["$defs"][definition]
    found = [
        alternative.get("properties", {}).get(field, {}).get("const")
        for alternative in told.get("oneOf") or told["anyOf"]
    ]
    return [value for value in found if value]


class _Maker:
    def __init__(self, defs: dict[str, Any]) -> None:
        self.defs = defs

    def make(self, told: Any, above: tuple[str, ...], name: str) -> list[Any]:
        """Instances; the first is the plainest. ``above``: the definitions this is part of, so that it comes to an end."""
        if not isinstance(told, dict):
            return ["anything"]
        if "$ref" in told:
            target = told["$ref"].rsplit("/", 1)[1]
            if above.count(target) > 1:
                return []
            return self.make(self.defs[target], (*above, target), name)
        if "const" in told:
            return [told["const"]]
        if "enum" in told:
            return list(told["enum"])
        parts = [self.make(sub, above, name) for sub in told.get("allOf", ())]
        for union in ("oneOf", "anyOf"):
            if union in told:
                parts.append([made for sub in told[union] for made in self.make(sub, above, name)])
        kinds = told.get("type", "object" if "properties" in told else None)
        if kinds is not None:
            kinds = kinds if isinstance(kinds, list) else [kinds]
            parts.append([made for kind in kinds for made in self._of_type(kind, told, above, name)])
        return self._together([part for part in parts if part])

    def _of_type(self, kind: str, told: dict[str, Any], above: tuple[str, ...], name: str) -> list[Any]:
        if kind == "object":
            return self._object(told, above)
        if kind == "array":
            items = self.make(told.get("items", {"type": "string"}), above, name)
            return [items[:1], items, *([] if told.get("minItems") else [[]])]
        if kind == "string":
            if name in _DISCRIMINATORS:
                return ["_other"]
            pattern = told.get("pattern", "")
            return (
                [next((text for text in _TEXTS if re.search(pattern, text)), "text")]
                if "contentEncoding" not in told
                else ["AAAA"]
            )
        return {"integer": [max(1, told.get("minimum", 1))], "number": [0.5], "boolean": [True, False], "null": [None]}[
            kind
        ]

    def _object(self, told: dict[str, Any], above: tuple[str, ...]) -> list[Any]:
        made = {key: self.make(sub, above, key) for key, sub in told.get("properties", {}).items() if key != "_meta"}
        plain = {key: made[key][0] for key in told.get("required", ()) if made.get(key)}
        full = {key: values[0] for key, values in made.items() if values}
        found = [plain, full]
        for key, values in made.items():
            found += [{**plain, key: value} for value in values]
        if "properties" not in told and isinstance(told.get("additionalProperties"), dict):
            found.append({f"k{n}": value for n, value in enumerate(self.make(told["additionalProperties"], above, ""))})
        return found

    def _together(self, parts: list[list[Any]]) -> list[Any]:
        """Instances that are one of each part at once: the plainest of all, and then each of each with those."""
        if len(parts) <= 1:
            return parts[0] if parts else [{"a": 1}]
        if not all(isinstance(part[0], dict) for part in parts):
            return parts[0]
        found = []
        for at, part in enumerate(parts):
            for value in part:
                if isinstance(value, dict):
                    others = [other[0] for n, other in enumerate(parts) if n != at]
                    found.append({key: v for one in (*others, value) for key, v in one.items()})
        return found
