"""Pictures of a transcript: only PNG, JPEG, GIF and WebP, told by their bytes, never by what the agent says they are."""

from __future__ import annotations

import base64
import binascii
import re

from ..events import Image

_SPACE = re.compile(r"\s+")


def media_type(head: bytes) -> str | None:
    """The media type the first bytes of a file say it has, if it is one that cannot carry script."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return None


def data_uri(image: Image) -> str | None:
    """A ``data:`` address for the picture, or None if its bytes are not a picture we show."""
    data = _SPACE.sub("", image.data) if isinstance(image.data, str) else ""
    try:
        head = base64.b64decode(data[:64], validate=True)
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    kind = media_type(head)
    return f"data:{kind};base64,{data}" if kind else None


def size(image: Image) -> tuple[int, int] | None:
    """Width and height in pixels, where a PNG or GIF says them in its first bytes."""
    try:
        head = base64.b64decode(_SPACE.sub("", image.data[:80])[:64], validate=True)
    except (binascii.Error, ValueError, TypeError):
        return None
    kind = media_type(head)
    if kind == "image/png" and len(head) >= 24:
        return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    if kind == "image/gif" and len(head) >= 10:
        return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    return None


def caption(image: Image, what: str = "Figure") -> str:
    """Words for the picture, also its alt text: "Figure, 640 × 480"."""
    pixels = size(image)
    return f"{what}, {pixels[0]} × {pixels[1]}" if pixels else what
