"""A transcript without secrets, as a copy: every text in it, and what is written into its pictures beside the pixels.

Entry by entry, so that a key that came in pieces is seen whole. The transcript itself is never changed.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import fields, is_dataclass, replace
from typing import Any

from ..events import Image
from ..redact import Redactor
from ..redact.pictures import without_metadata
from ..transcript import Rope, Transcript
from .view import names_of

_DEPTH = 60


def copied(transcript: Transcript) -> Transcript:
    """A copy that does not change when the session goes on. Cheap: texts are shared, pieces of text are joined."""
    entries = {}
    for key, entry in transcript.entries.items():
        ropes: dict[str, Any] = {
            f.name: Rope(str(v)) for f in fields(entry) if isinstance(v := getattr(entry, f.name), Rope)
        }
        entries[key] = replace(entry, **ropes)
    return Transcript(replace(transcript.state), entries)


def redacted(transcript: Transcript, redactor: Redactor) -> Transcript:
    """A copy without secrets; ``redactor`` counts what was taken out."""
    entries = {key: _without(entry, redactor) for key, entry in transcript.entries.items()}
    # What only stands in the state stands nowhere in a document but its title and names: not counted twice.
    uncounted = redactor.found.copy()
    state = _without(replace(transcript.state, pending=[]), redactor)
    redactor.found = uncounted
    return Transcript(state, entries)


def _without(value: Any, redactor: Redactor, depth: int = 0) -> Any:
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, str):
        return redactor.text(value) if value else value
    if isinstance(value, Rope):
        return Rope(redactor.text(str(value)))
    if isinstance(value, Image):
        return _picture(value)
    if depth > _DEPTH:
        return value
    if is_dataclass(value) and not isinstance(value, type):
        new = {n: _without(getattr(value, n), redactor, depth + 1) for n in names_of(type(value)) if n != "input"}
        if hasattr(value, "input"):
            new["input"] = redactor.value(value.input)
        return type(value)(**new)
    if isinstance(value, dict):
        return redactor.value(value)
    if isinstance(value, (list, tuple)):
        return [_without(v, redactor, depth + 1) for v in value]
    return value


def _picture(image: Image) -> Image:
    """The picture bare; one that cannot be read is left out, since nobody knows what is in it."""
    try:
        data = base64.b64decode("".join(image.data.split()), validate=True)
    except (binascii.Error, ValueError, AttributeError, TypeError):
        return replace(image, data="")
    bare = without_metadata(data)
    return replace(image, data=base64.b64encode(bare).decode() if bare else "")
