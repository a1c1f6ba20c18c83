"""Pictures that come with a prompt: told apart by their bytes, scaled down when a model would not take them.

Source: hm RPC, "Commands", images. Pillow is imported when the first picture comes, so that the agent starts quickly.
"""

from __future__ import annotations

import base64
import binascii
import io
from typing import Any

from .messages import Picture

MAX_SIDE = 1568
"""Longest side a model gets, in pixels."""

MAX_BYTES = 5_000_000
"""Largest picture a model gets, in bytes of the file."""

FORMATS = ("PNG", "JPEG", "GIF", "WEBP")


class NotAnImage(ValueError):
    """The data is no picture we take; the text says what to send instead."""


def picture(data: str) -> Picture:
    """The picture in base64 ``data``, scaled down where it must be. Raises :class:`NotAnImage`."""
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise NotAnImage("an image is not base64; send the bytes of a PNG, JPEG, GIF or WebP file in base64") from None
    from PIL import Image

    try:
        with Image.open(io.BytesIO(raw), formats=FORMATS) as image:
            size, mime = image.size, Image.MIME[image.format or ""]
    except Exception:  # Pillow raises many kinds for bytes that are no picture, and for one that is a bomb
        raise NotAnImage("an image is not one; send the bytes of a PNG, JPEG, GIF or WebP file in base64") from None
    if len(raw) <= MAX_BYTES and max(size) <= MAX_SIDE:
        return Picture(data, mime, *size)
    return _scaled(raw)


def _scaled(raw: bytes) -> Picture:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(raw), formats=FORMATS) as opened:
            image: Any = opened.convert("RGBA" if "A" in opened.getbands() else "RGB")
    except Exception:  # as above: what it cannot decode whole
        raise NotAnImage("an image cannot be read; send a whole PNG, JPEG, GIF or WebP file") from None
    image.thumbnail((MAX_SIDE, MAX_SIDE))
    while True:
        out = io.BytesIO()
        image.save(out, "PNG")
        if out.tell() <= MAX_BYTES or min(image.size) < 64:
            break
        image.thumbnail((image.width * 3 // 4, image.height * 3 // 4))
    return Picture(base64.b64encode(out.getvalue()).decode("ascii"), "image/png", *image.size)
