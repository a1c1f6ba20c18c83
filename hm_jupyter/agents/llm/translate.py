"""Our conversation as pydantic-ai's messages, and what of an answer a provider wants to see again.

A provider rejects a conversation in which a call has no result, an id stands twice, a text is empty or its own signed
thinking is not as it was: this is where that is seen to. What is kept of an answer (``Message.private``) is plain JSON;
texts and inputs, which the message holds already, are left out of it. Knows no provider by name.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition

from ..messages import Message, Picture

SUMMARY = "This is a summary of the conversation so far; the messages before it were left out to save room.\n\n"
NO_RESULT = "There is no result: this call was cut off before it was done."
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOT_NAME = re.compile(r"[^A-Za-z0-9_-]")
_KEPT = ("parts", "model_name", "provider_name", "provider_url", "canonical_system", "provider_response_id",
         "provider_details", "finish_reason", "timestamp", "kind")  # fmt: skip


def tool_name(name: str) -> str:
    """A name as every provider takes it: letters, digits, dashes and underscores, 64 at most."""
    return _NOT_NAME.sub("_", name)[:64] or "unnamed"


def definitions(tools: Iterable[Any]) -> list[ToolDefinition]:
    """Our tools as pydantic-ai describes them to a model."""
    return [
        ToolDefinition(name=t.name, description=t.description, parameters_json_schema=t.schema, strict=False)
        for t in tools
    ]


def conversation(history: Sequence[Message], origin: str, *, plain: bool = False) -> list[ModelMessage]:
    """``history`` for a provider. ``origin`` says whose private parts fit it; ``plain`` leaves all of them out."""
    return _Translation(origin, plain).run(history)


class _Translation:
    def __init__(self, origin: str, plain: bool) -> None:
        self._origin = origin
        self._plain = plain
        self._out: list[ModelMessage] = []
        self._parts: list[Any] = []  # of the request being put together
        self._open: dict[str, tuple[str, str]] = {}  # our call id: theirs, and the tool's name
        self._taken: set[str] = set()

    def run(self, history: Sequence[Message]) -> list[ModelMessage]:
        for message in history:
            if message.role == "assistant":
                self._assistant(message)
            elif message.role == "tool":
                self._result(message)
            else:
                self._close_calls()
                text = SUMMARY + message.text if message.role == "summary" else message.text
                self._user([text] if text.strip() else [], message.images)
        self._end_request()
        return self._out

    def _user(self, texts: list[str], images: list[Picture]) -> None:
        content: list[Any] = [*texts, *map(_image, images)]
        if content:
            self._parts.append(UserPromptPart(content=content))

    def _result(self, message: Message) -> None:
        known = self._open.pop(message.call_id, None)
        if known is None:  # of a call that is not there: nothing a provider would take
            return
        text = message.text or "(no output)"
        outcome: Any = "denied" if message.outcome == "denied" else "failed" if message.is_error else "success"
        content: Any = [text, *map(_image, message.images)] if message.images else text
        self._parts.append(ToolReturnPart(known[1], content, known[0], outcome=outcome))

    def _close_calls(self) -> None:
        for id, name in self._open.values():
            self._parts.append(ToolReturnPart(name, NO_RESULT, id, outcome="failed"))
        self._open.clear()

    def _end_request(self) -> None:
        self._close_calls()
        if self._parts:
            self._out.append(ModelRequest(parts=self._parts))
            self._parts = []

    def _assistant(self, message: Message) -> None:
        response = None if self._plain else restore(message, self._origin)
        if response is None:
            response = _rebuilt(message)
        calls = [p for p in response.parts if isinstance(p, ToolCallPart)]
        for ours, theirs in zip(message.calls, calls, strict=True):
            theirs.tool_call_id = self._id(theirs.tool_call_id, ours.id)
            theirs.tool_name = tool_name(ours.tool)
        if not response.parts:
            return
        self._end_request()
        self._out.append(response)
        for ours, theirs in zip(message.calls, calls, strict=True):
            self._open[ours.id] = (theirs.tool_call_id, theirs.tool_name)

    def _id(self, theirs: str, ours: str) -> str:
        """An id that stands nowhere else in this conversation: the provider's own where it can be."""
        id = theirs if _ID.fullmatch(theirs) and theirs not in self._taken else tool_name(ours)
        while id in self._taken:
            id = f"{id[:60]}_2"
        self._taken.add(id)
        return id


def _image(picture: Picture) -> BinaryContent:
    return BinaryContent(data=base64.b64decode(picture.data), media_type=picture.mime)


def _rebuilt(message: Message) -> ModelResponse:
    parts: list[Any] = [TextPart(message.text)] if message.text.strip() else []
    parts += [ToolCallPart(tool_name(c.tool), c.input, c.id) for c in message.calls]
    return ModelResponse(parts=parts)


# ---- what a provider wants to see again ----


def keep(response: ModelResponse, origin: str, text: str) -> dict[str, Any]:
    """What to hold on to of ``response`` as JSON. ``text`` is the message's, which texts are taken from again."""
    whole = ModelMessagesTypeAdapter.dump_python([response], mode="json")[0]
    kept = {k: whole[k] for k in _KEPT if whole.get(k) is not None}
    at = 0
    for part in kept["parts"]:
        if part["part_kind"] == "tool-call":
            part["args"] = None
        elif part["part_kind"] == "text" and text.startswith(part["content"], at):
            length = len(part["content"])
            part["content"] = ""
            part["length"] = length
            at += length
    return {"by": origin, "response": kept}


def restore(message: Message, origin: str) -> ModelResponse | None:
    """The answer as the provider gave it; None when it was another's, or is not as it was kept."""
    private = message.private
    if not isinstance(private, dict) or private.get("by") != origin:
        return None
    try:
        parts, at = [], 0
        calls = iter(message.calls)
        for kept in private["response"]["parts"]:
            part = dict(kept)
            if part["part_kind"] == "tool-call":
                part["args"] = next(calls).input
            elif "length" in part:
                length = part.pop("length")
                part["content"] = message.text[at : at + length]
                at += length
            if part["part_kind"] != "text" or part["content"].strip():
                parts.append(part)
        if next(calls, None) is not None:
            return None
        response = ModelMessagesTypeAdapter.validate_python([{**private["response"], "parts": parts}])[0]
    except (KeyError, TypeError, AttributeError, StopIteration, ValidationError):
        return None
    return response if isinstance(response, ModelResponse) else None
