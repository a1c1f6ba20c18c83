"""Functions of the notebook that an agent may call (omp RPC: host tools, host URIs): what is offered, and one call of it.

A function's name, docstring and annotations are what the model is told. It runs in a thread of its own, since the kernel's is
mostly busy waiting for the turn. Who may call it when is :mod:`.offering`'s business.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from ..errors import UsageError
from ..workspace.refused import Refused
from .media import describe, image_data

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{1,30}")


@dataclass
class Tool:
    """A function that is offered. ``ask``: each call needs leave, unless the agent has asked for that very call."""

    name: str
    call: Callable[..., Any]
    arguments: type[BaseModel]
    description: str
    ask: bool = True

    def definition(self) -> dict[str, Any]:
        """As omp's ``set_host_tools`` takes it; in the model's first list of tools (``essential``)."""
        schema = self.arguments.model_json_schema()
        schema.pop("title", None)
        return {
            "name": self.name,
            "label": self.name,
            "description": self.description,
            "parameters": schema,
            "loadMode": "essential",
        }

    def run(self, arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Call it, and give what came of it as content for the agent. Raises :class:`Refused`, which it is told."""
        try:
            given = self.arguments.model_validate(dict(arguments))
        except ValidationError as error:
            raise Refused("invalid", f"Wrong arguments for {self.name}: {_said(error)}.") from None
        try:
            found = self.call(**{name: getattr(given, name) for name in type(given).model_fields})
            if inspect.isawaitable(found):
                found = asyncio.run(_awaited(found))
        except Exception as error:
            raise Refused("failed", f"{type(error).__name__}: {error}") from None
        return content(found)


@dataclass
class Scheme:
    """A kind of address that is answered here. ``ask``: each write needs leave, unless the agent asked for that one."""

    scheme: str
    read: Callable[[str], Any]
    write: Callable[[str, str], Any] | None = None
    description: str = ""
    ask: bool = True

    def definition(self) -> dict[str, Any]:
        """As omp's ``set_host_uri_schemes`` takes it."""
        return {"scheme": self.scheme, "description": self.description, "writable": self.write is not None}


@dataclass
class Offered:
    """What a session's agent is offered."""

    tools: dict[str, Tool] = field(default_factory=dict)
    schemes: dict[str, Scheme] = field(default_factory=dict)


def tool(function: Callable[..., Any], *, ask: bool = True) -> Tool:
    """``function`` as a tool. Raises ``UsageError`` where it cannot be told to a model."""
    name = getattr(function, "__name__", "")
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name or function!r} is no name for a tool: give a function with a plain name.")
    description = inspect.getdoc(function) or ""
    if not description:
        raise UsageError(f"{name} has no docstring, and that is what the model is told of it: write one.")
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise UsageError(f"{name}({parameter}) cannot be told to a model: give plain, named parameters only.")
        kind = Any if parameter.annotation is parameter.empty else parameter.annotation
        fields[parameter.name] = (kind, ... if parameter.default is parameter.empty else parameter.default)
    try:
        model = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
        model.model_json_schema()
    except Exception as error:
        raise UsageError(f"The parameters of {name} cannot be told to a model ({type(error).__name__}).") from None
    return Tool(name, function, model, description, ask)


def scheme(
    name: str, read: Callable[[str], Any], write: Callable[[str, str], Any] | None, description: str, *, ask: bool
) -> Scheme:
    """An address scheme. Raises ``UsageError`` for a name that is none."""
    if not _SCHEME.fullmatch(name):
        raise UsageError(f"{name!r} is no scheme: small letters and digits, such as cell for cell://3.")
    return Scheme(name, read, write, description or inspect.getdoc(read) or f"addresses {name}://…", ask)


def content(value: Any) -> list[dict[str, Any]]:
    """What a function returned, as content: pictures as pictures, data as JSON, the rest as text for a model."""
    if value is None:
        return [{"type": "text", "text": "done"}]
    if isinstance(value, (str, int, float, bool)):
        return [{"type": "text", "text": str(value)}]
    if isinstance(value, (dict, list, tuple)):
        try:
            return [{"type": "text", "text": json.dumps(value, ensure_ascii=False, allow_nan=False)}]
        except (TypeError, ValueError, RecursionError):
            return [{"type": "text", "text": describe(value)}]
    if hasattr(value, "savefig") or hasattr(value, "_repr_png_") or (hasattr(value, "save") and hasattr(value, "mode")):
        picture = image_data(value)
        return [{"type": "image", "data": picture.data, "mimeType": picture.mime}]
    return [{"type": "text", "text": describe(value)}]


async def _awaited(value: Any) -> Any:
    return await value


def _said(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_input=False, include_context=False)[:5]
    return "; ".join(f"{'.'.join(map(str, e['loc'])) or 'all'}: {e['msg']}" for e in found)
