"""Figures, pictures and data as a prompt can carry them. Pillow and the rest are imported only when needed.

An image becomes base64 of a PNG, JPEG, GIF or WebP file (hm RPC, "Commands": images). An attachment becomes text in the
prompt, and a name beside it.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..commands import ImageData
from ..errors import UsageError

SIGNATURES = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))
MAX_ATTACHMENT = 20_000  # characters of one attachment that go into a prompt


def sniff(data: bytes) -> str | None:
    """The media type of PNG, JPEG, GIF or WebP bytes, told by their first bytes; None for anything else."""
    for head, mime in SIGNATURES:
        if data.startswith(head):
            return mime
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def image_data(value: Any) -> ImageData:
    """An image of any common kind, as data to send.

    Bytes or path of an image file, a matplotlib figure or axes, a Pillow image, an array Pillow understands, or
    anything with ``_repr_png_``. Raises ``UsageError`` for what is no image.
    """
    if isinstance(value, ImageData):
        return value
    raw = _bytes(value)
    mime = sniff(raw)
    if mime is None:
        raw, mime = _converted(raw), "image/png"
    return ImageData(data=base64.b64encode(raw).decode("ascii"), mime=mime)


def image_list(values: Any) -> list[ImageData]:
    """``values`` (one image or several) as images to send."""
    if values is None:
        return []
    several = isinstance(values, (list, tuple))
    return [image_data(v) for v in (values if several else [values])]


def _bytes(value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (str, Path)):
        try:
            return Path(value).expanduser().read_bytes()
        except OSError as error:
            raise UsageError(
                f"The image {str(value)!r} cannot be read ({error.strerror}). Give a path, or an image."
            ) from None
    figure = value if hasattr(value, "savefig") else getattr(value, "figure", None)
    if figure is not None and hasattr(figure, "savefig"):
        out = io.BytesIO()
        figure.savefig(out, format="png", bbox_inches="tight")
        return out.getvalue()
    if hasattr(value, "save") and hasattr(value, "mode"):  # a Pillow image
        return _png(value)
    png = getattr(value, "_repr_png_", None)
    found = png() if callable(png) else None
    if isinstance(found, tuple):
        found = found[0]
    if isinstance(found, str):
        return base64.b64decode(found)
    if isinstance(found, bytes):
        return found
    if hasattr(value, "__array_interface__"):
        from PIL import Image

        try:
            return _png(Image.fromarray(value))
        except (TypeError, ValueError) as error:
            raise UsageError(f"That array is no picture Pillow understands ({error}).") from None
    raise UsageError(
        f"A {type(value).__name__} is no image. Give a matplotlib figure, a Pillow image, an array, bytes, or a path."
    )


def _png(image: Any) -> bytes:
    out = io.BytesIO()
    if image.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"):
        image = image.convert("RGBA")
    image.save(out, format="PNG")
    return out.getvalue()


def _converted(raw: bytes) -> bytes:
    from PIL import Image, UnidentifiedImageError

    try:
        return _png(Image.open(io.BytesIO(raw)))
    except (UnidentifiedImageError, OSError):
        raise UsageError("Those bytes are no image that Pillow can read. Give PNG, JPEG, GIF or WebP.") from None


# ---- attachments ---------------------------------------------------------------------------------------------------


def attachments(attach: Any) -> list[tuple[str, str]]:
    """``attach`` as (name, text) pairs: a mapping of names to values, or a list of values, or one value."""
    if attach is None:
        return []
    if isinstance(attach, Mapping):
        items: Iterable[tuple[str, Any]] = attach.items()
    else:
        values = attach if isinstance(attach, (list, tuple)) else [attach]
        items = ((_name(v, i), v) for i, v in enumerate(values, 1))
    return [(str(name), describe(value)) for name, value in items]


def describe(value: Any) -> str:
    """``value`` as text for a model: a table with shape and dtypes for a DataFrame or Series, else its repr."""
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, Path):
        try:
            return _cut(value.expanduser().read_text(errors="replace"))
        except OSError as error:
            raise UsageError(f"The file {str(value)!r} cannot be read ({error.strerror}).") from None
    if hasattr(value, "to_string") and hasattr(value, "shape"):
        kinds = getattr(value, "dtypes", getattr(value, "dtype", ""))
        kinds = kinds.to_string() if hasattr(kinds, "to_string") else str(kinds)
        rows = value if len(value) <= 60 else value.head(30)
        more = "" if len(value) <= 60 else f"\n… and {len(value) - 30} more rows"
        return _cut(f"{type(value).__name__} of shape {value.shape}\ndtypes:\n{kinds}\n\n{rows.to_string()}{more}")
    return _cut(repr(value))


def compose(text: str, attached: list[tuple[str, str]]) -> str:
    """The prompt's text with its attachments written out beneath it, fenced."""
    parts = [text] if text else []
    for name, body in attached:
        fence = "```"
        while fence in body:
            fence += "`"
        parts.append(f"{name}:\n{fence}\n{body}\n{fence}")
    return "\n\n".join(parts)


def _name(value: Any, number: int) -> str:
    if isinstance(value, Path):
        return value.name
    return getattr(value, "name", None) if isinstance(getattr(value, "name", None), str) else f"attachment {number}"  # type: ignore[return-value]


def _cut(text: str) -> str:
    return text if len(text) <= MAX_ATTACHMENT else f"{text[:MAX_ATTACHMENT]}\n… cut after {MAX_ATTACHMENT} characters"
