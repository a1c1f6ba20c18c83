"""What pydantic-ai streams, as our deltas; and whether the stream came to its end.

The calls are told when the stream is over, whole: only then is their input known to be all there.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from typing import Any

from pydantic_ai.messages import (
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
)  # fmt: skip

from ..providers import Call, CallStarted, Delta, Text, Thinking


class Reader:
    """Reads the events of one answer. ``text`` is what it said so far."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self._texts)

    def read(self, event: Any) -> Iterator[Delta]:
        """The deltas of one event."""
        if isinstance(event, PartStartEvent):
            part = event.part
            if isinstance(part, TextPart):
                yield from self._text(part.content)
            elif isinstance(part, ThinkingPart):
                if part.content:
                    yield Thinking(part.content)
            elif isinstance(part, ToolCallPart):
                yield CallStarted(shown_name(part.tool_name))
        elif isinstance(event, PartDeltaEvent):
            delta = event.delta
            if isinstance(delta, TextPartDelta):
                yield from self._text(delta.content_delta)
            elif isinstance(delta, ThinkingPartDelta) and delta.content_delta:
                yield Thinking(delta.content_delta)

    def _text(self, text: str) -> Iterator[Delta]:
        if text:
            self._texts.append(text)
            yield Text(text)

    def ended(self, whole: ModelResponse, *, strict: bool) -> bool:
        """Whether the end was told. Not ``strict``: a server that tells none is believed if it said anything."""
        if getattr(whole, "state", "complete") in ("incomplete", "interrupted"):
            return False
        if strict:
            told = whole.finish_reason or (whole.provider_details or {}).get("finish_reason")
            return bool(told)
        return bool(whole.parts) or bool((whole.provider_details or {}).get("finish_reason"))

    def calls(self, whole: ModelResponse) -> Iterator[Call]:
        """The calls, with their input read; where that is no JSON object, with what is wrong instead."""
        for part in whole.parts:
            if isinstance(part, ToolCallPart):
                input, problem = arguments(part.args)
                yield Call(shown_name(part.tool_name), input, error=problem)


def shown_name(name: str) -> str:
    """A tool's name as a model gave it, fit to be shown: no control characters, not endless."""
    return "".join(c for c in name if unicodedata.category(c)[0] != "C")[:64] or "unnamed"


def arguments(raw: Any) -> tuple[dict[str, Any], str]:
    """A call's input (JSON text, or read already), and what is wrong with it ("": nothing). None at all is empty."""
    if raw is not None and not isinstance(raw, str):
        raw = json.dumps(raw)
    if raw is None or not raw.strip():
        return {}, ""
    try:
        # Models leave line breaks in texts as they are; NaN and the like are no JSON, and no event could hold them.
        value = json.loads(raw, strict=False, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "nested too deeply"
        return {}, (
            f"the input of this call is not valid JSON ({reason}), so it did not run. It began: {raw[:200]!r}."
            " Make the call again with a complete JSON object."
        )
    if not isinstance(value, dict):
        return {}, f"the input of this call must be a JSON object, not {raw[:80]!r}. Make the call again."
    return value, ""


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is too large")
    return value
