"""Content blocks, both ways: what an agent's blocks say, and a message of ours as blocks (ACP reference, section 6).

Text stays text and pictures stay pictures. What a transcript has no place for (sound, embedded resources, kinds to come)
is said in words, with its address and size, so that nothing is dropped without a trace. Which message a block belongs
to is not known here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...commands import FollowUp, Prompt, Steer
from ...events import Capabilities, Image
from . import lenient as read
from .lenient import Malformed


@dataclass(slots=True)
class Said:
    """What one or several blocks amount to."""

    text: str = ""
    images: list[Image] = field(default_factory=list)


def said(block: Any, *, whole: bool = False) -> Said:
    """One block. ``whole``: the text of an embedded resource is wanted too (a tool's output), not only its name.

    Raises ``Malformed`` for what is no block at all."""
    if not isinstance(block, dict):
        raise Malformed("content is not an object")
    kind = block.get("type")
    if kind == "text":
        words = block.get("text")
        if not isinstance(words, str):
            raise Malformed("the text block has no text")
        return Said(words)
    if not isinstance(kind, str):
        raise Malformed("the content block has no type")
    if kind == "image":
        data, mime = block.get("data"), block.get("mimeType")
        if isinstance(data, str) and data and isinstance(mime, str):
            return Said("", [Image(data, mime)])
        return Said(f"[A picture without data{_address(block)}]")
    if kind == "audio":
        return Said(_words("Audio", block, _decoded(block.get("data"))))
    if kind == "resource_link":
        name = read.one_line(block.get("title")) or read.one_line(block.get("name")) or "a resource"
        return Said(_words(f"Link to {name}:", block, read.whole(block.get("size")), comma=False))
    if kind == "resource":
        return Said(_resource(read.fields(block.get("resource")), whole))
    return Said(f"[Content of a kind not known here: {read.one_line(kind)}]")


def all_said(blocks: Any, *, whole: bool = False) -> Said:
    """A list of blocks as one; bad items are dropped. Texts follow one another as they are, words get lines of their own."""
    out = Said()
    for block in read.objects(blocks):
        try:
            part = said(block, whole=whole)
        except Malformed:
            continue
        if out.text and part.text and block.get("type") != "text" and not out.text.endswith("\n"):
            out.text += "\n"
        out.text += part.text
        out.images += part.images
    return out


def for_people(block: Any) -> bool:
    """Whether a block is meant to be seen by the person (its ``annotations.audience`` may name the model alone)."""
    audience = read.fields(read.fields(block).get("annotations")).get("audience")
    return not (isinstance(audience, list) and audience and "user" not in audience)


def _resource(held: dict[str, Any], whole: bool) -> str:
    inside = held.get("text")
    if isinstance(inside, str):
        words = _words("Embedded", held, len(inside.encode("utf-8", "replace")))
        return f"{words}\n{inside}" if whole else words
    return _words("Embedded", held, _decoded(held.get("blob")))


def _words(what: str, block: dict[str, Any], size: int | None, *, comma: bool = True) -> str:
    """``[Audio, audio/wav, 12 kB]``"""
    parts = [read.one_line(block.get("uri")), read.one_line(block.get("mimeType"))]
    if size is not None:
        parts.append(_bytes(size))
    rest = ", ".join(part for part in parts if part)
    return f"[{what}{',' if comma and rest else ''}{' ' if rest else ''}{rest}]"


def _address(block: dict[str, Any]) -> str:
    uri = read.one_line(block.get("uri"))
    return f", {uri}" if uri else ""


def _decoded(data: Any) -> int | None:
    """How many bytes a base64 text holds."""
    return len(data.rstrip("=")) * 3 // 4 if isinstance(data, str) else None


def _bytes(size: int) -> str:
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1000:.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


# ---- ours ----------------------------------------------------------------------------------------------------------

_GATED = {
    "image": (
        "images",
        "A picture was not sent: this agent takes no images. Save it as a file and name its path instead.",
    ),
    "audio": ("audio", "Audio was not sent: this agent takes none. Save it as a file and name its path instead."),
    "resource": (
        "resources",
        "An embedded resource was not sent: this agent takes none. Put its text into the message, or name its path.",
    ),
}


def prompt_blocks(command: Prompt | Steer | FollowUp, caps: Capabilities) -> tuple[list[dict[str, Any]], list[str]]:
    """A message of ours as content blocks, and what had to be left out of it, in sentences for people.

    Never empty (ACP, session/prompt). The names in ``attachments`` are written out in the text already."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": command.text}] if command.text else []
    blocks += [{"type": "image", "data": image.data, "mimeType": image.mime} for image in command.images]
    sent, left_out = gate(blocks, caps)
    return sent or [{"type": "text", "text": command.text}], left_out


def gate(blocks: list[dict[str, Any]], caps: Capabilities) -> tuple[list[dict[str, Any]], list[str]]:
    """The blocks the agent takes (``promptCapabilities``), and a sentence for each that it does not."""
    sent, left_out = [], []
    for block in blocks:
        needs = _GATED.get(block["type"])
        if needs is None or getattr(caps, needs[0]):
            sent.append(block)
        else:
            left_out.append(needs[1])
    return sent, left_out
