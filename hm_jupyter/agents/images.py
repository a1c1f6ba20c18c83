"""Pictures that come with a prompt: told apart by their bytes, scaled down when a model would not take them.

Source: hm RPC, "Commands", images. Pillow is needed only to scale, and imported only then.
"""

from __future__ import annotations

import base64
import binascii
import io
import struct
from typing import Any

from .messages import Picture

MAX_SIDE = 1568
"""Longest side a model gets, in pixels."""

MAX_BYTES = 5_000_000
"""Largest picture a model gets, in bytes of the file."""


class NotAnImage(ValueError):
    """The data is no picture we take; the text says what to send instead."""


def picture(data: str) -> Picture:
    """The picture in base64 ``data``, scaled down where it must be. Raises :class:`NotAnImage`."""
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise NotAnImage("an image is not base64; send the bytes of a PNG, JPEG, GIF or WebP file in base64") from None
    mime = _mime(raw)
    width, height = _size(raw, mime)
    if len(raw) <= MAX_BYTES and max(width, height) <= MAX_SIDE:
        return Picture(data, mime, width, height)
    return _scaled(raw)


def _mime(raw: bytes) -> str:
    if raw.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if raw.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if raw[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif"
    if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
        return "image/webp"
    raise NotAnImage("an image is not one; send the bytes of a PNG, JPEG, GIF or WebP file in base64")


def _size(raw: bytes, mime: str) -> tuple[int, int]:
    """Width and height in pixels as the header says, (0, 0) where it is cut off."""
    try:
        if mime == "image/png":
            return struct.unpack(">II", raw[16:24])
        if mime == "image/gif":
            return struct.unpack("<HH", raw[6:10])
        if mime == "image/webp":
            return _webp_size(raw)
        return _jpeg_size(raw)
    except (struct.error, IndexError):
        return 0, 0


def _webp_size(raw: bytes) -> tuple[int, int]:
    kind = raw[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(raw[24:27], "little"), 1 + int.from_bytes(raw[27:30], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(raw[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = struct.unpack("<HH", raw[26:30])
    return width & 0x3FFF, height & 0x3FFF


def _jpeg_size(raw: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 < len(raw):
        marker, length = raw[at + 1], int.from_bytes(raw[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", raw[at + 5 : at + 9])
            return width, height
        at += 2 + length
    return 0, 0


def _scaled(raw: bytes) -> Picture:
    try:
        from PIL import Image
    except ImportError:
        raise NotAnImage(
            f"an image is over {MAX_SIDE} pixels or {MAX_BYTES // 10**6} MB; send a smaller one,"
            " or install pillow where the agent runs so that it can scale it"
        ) from None
    try:
        with Image.open(io.BytesIO(raw)) as opened:
            image: Any = opened.convert("RGBA" if "A" in opened.getbands() else "RGB")
    except Exception:
        raise NotAnImage("an image cannot be read; send a whole PNG, JPEG, GIF or WebP file") from None
    image.thumbnail((MAX_SIDE, MAX_SIDE))
    while True:
        out = io.BytesIO()
        image.save(out, "PNG")
        if out.tell() <= MAX_BYTES or min(image.size) < 64:
            break
        image.thumbnail((image.width * 3 // 4, image.height * 3 // 4))
    return Picture(base64.b64encode(out.getvalue()).decode("ascii"), "image/png", *image.size)
