"""``--attach NAME`` and ``--image NAME``: a notebook's variables as text and as pictures for an agent.

Nothing heavy is imported here: a pandas table is recognised by its module's name (it has been imported then), and
Pillow is imported for the pictures that need it. Knows no session.
"""

from __future__ import annotations

import base64
import io
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..commands import ImageData
from ..errors import UsageError
from .options import closest

MAX_ROWS = 60  # of a table: what a model can use, without filling its context
MAX_COLUMNS = 40
MAX_CHARS = 20_000  # of any one attachment
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def look_up(name: str, scope: Mapping[str, Any], *, option: str) -> Any:
    """The variable called ``name`` (dots and ``[0]`` or ``['x']`` may follow). Raises :class:`UsageError`."""
    head = name.split(".")[0].split("[")[0]
    if head not in scope:
        near = closest(head, [n for n in scope if not n.startswith("_")])
        hint = f"did you mean {near}?" if near else "run the cell that makes it first."
        raise UsageError(f"{option} {name}: there is no variable {head!r}; {hint}")
    if head == name:
        return scope[name]
    try:
        return _walk(name, scope)
    except Exception as error:
        raise UsageError(f"{option} {name}: {type(error).__name__}: {error}") from error


def _walk(path: str, scope: Mapping[str, Any]) -> Any:
    """Follow attributes and constant subscripts; calls and operators are refused (this is a name, not code)."""
    import ast

    def value(node: ast.AST) -> Any:
        if isinstance(node, ast.Name):
            return scope[node.id]
        if isinstance(node, ast.Attribute):
            return getattr(value(node.value), node.attr)
        if isinstance(node, ast.Subscript):
            return value(node.value)[ast.literal_eval(node.slice)]
        raise UsageError("give a variable, an attribute of one, or an item of one")

    return value(ast.parse(path, mode="eval").body)


# ---- text ------------------------------------------------------------------------------------------------------------


def as_text(name: str, value: Any) -> str:
    """``value`` described for a model: what it is, and its content, whole or its beginning."""
    kind, body = _describe(value)
    if len(body) > MAX_CHARS:
        body = f"{body[:MAX_CHARS]}\n… ({len(body) - MAX_CHARS} more characters)"
    fence = "```"
    while fence in body:
        fence += "`"
    return f"`{name}` ({kind}):\n{fence}\n{body}\n{fence}"


def _describe(value: Any) -> tuple[str, str]:
    if isinstance(value, str):
        return f"text, {len(value)} characters", value
    if isinstance(value, (bytes, bytearray)):
        try:
            return f"{len(value)} bytes of text", bytes(value).decode()
        except UnicodeDecodeError:
            return f"{len(value)} bytes", repr(bytes(value[:400]))
    if isinstance(value, os.PathLike):
        return _file(Path(value))
    home = type(value).__module__.split(".")[0]
    if home == "pandas":
        return _pandas(value)
    if home == "numpy" and hasattr(value, "dtype"):
        shape = " x ".join(map(str, value.shape)) or "scalar"
        return f"numpy array, {shape}, {value.dtype}", str(value)
    if home == "polars":
        return f"polars {type(value).__name__}", str(value)
    if callable(value):
        import inspect

        try:
            return f"source of {type(value).__name__}", inspect.getsource(value)
        except (OSError, TypeError):
            return type(value).__name__, repr(value)
    from pprint import pformat

    return type(value).__name__, pformat(value, width=110, compact=True, sort_dicts=False)


def _file(path: Path) -> tuple[str, str]:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(MAX_CHARS * 4)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}; check the path.") from error
    return f"file {path}, {size} bytes", head.decode("utf-8", "replace")


def _pandas(value: Any) -> tuple[str, str]:
    if not hasattr(value, "head") or not hasattr(value, "dtypes"):
        return f"pandas {type(value).__name__}", str(value)
    rows = value.head(MAX_ROWS)
    cut = f"\n… ({len(value) - MAX_ROWS} more rows)" if len(value) > MAX_ROWS else ""
    if hasattr(value, "columns"):
        types = "\n".join(f"{c}: {t}" for c, t in list(zip(value.columns, value.dtypes, strict=False))[:MAX_COLUMNS])
        if len(value.columns) > MAX_COLUMNS:
            types += f"\n… ({len(value.columns) - MAX_COLUMNS} more columns)"
        kind = f"pandas DataFrame, {len(value)} rows x {len(value.columns)} columns"
        table = rows.to_string(max_cols=MAX_COLUMNS, max_colwidth=200)
        return kind, f"{types}\n\n{table}{cut}"
    return f"pandas {type(value).__name__}, {len(value)} values, {value.dtype}", rows.to_string() + cut


# ---- pictures --------------------------------------------------------------------------------------------------------


def as_image(name: str, scope: Mapping[str, Any]) -> ImageData:
    """The picture called ``name``: a variable, else a file. Raises :class:`UsageError` when it is neither."""
    head = name.split(".")[0].split("[")[0]
    path = Path(name).expanduser()
    if head not in scope and path.is_file():
        return image(path, name=name)
    if head not in scope and ("/" in name or path.suffix.lower() in (".png", ".jpg", ".jpeg", ".gif", ".webp")):
        raise UsageError(f"--image {name}: there is no such file in {Path.cwd()}.")
    return image(look_up(name, scope, option="--image"), name=name)


def image(value: Any, *, name: str = "image") -> ImageData:
    """``value`` as base64 with its media type: PNG, JPEG, GIF and WebP bytes as they are, all else as PNG.

    Takes a matplotlib figure (or axes, or plot), a Pillow image, an array (grey, RGB or RGBA; 0-255 integers or 0-1
    floats), bytes, a path, and whatever has ``_repr_png_``. Raises :class:`UsageError`.
    """
    if isinstance(value, ImageData):
        return value
    if isinstance(value, (str, os.PathLike)):
        try:
            data = Path(value).expanduser().read_bytes()
        except OSError as error:
            raise UsageError(f"--image {name}: cannot read {value}: {error.strerror}; check the path.") from error
        return _bytes(data, name)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _bytes(bytes(value), name)
    figure = _figure(value)
    if figure is not None:
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", bbox_inches="tight")
        return _encoded(buffer.getvalue(), "image/png")
    pillow = sys.modules.get("PIL.Image")
    if pillow is not None and isinstance(value, pillow.Image):
        return _png(value)
    if hasattr(value, "__array_interface__") or hasattr(value, "__array__"):
        return _array(value, name)
    if callable(png := getattr(value, "_repr_png_", None)):
        made = png()
        made = made[0] if isinstance(made, tuple) else made
        if made:
            return _bytes(base64.b64decode(made) if isinstance(made, str) else made, name)
    raise UsageError(
        f"--image {name}: a {type(value).__name__} is no picture; give a figure, a Pillow image, an array, bytes or a file."
    )


def _figure(value: Any) -> Any:
    """The matplotlib figure behind a figure, an axes or a plot of another library; None when there is none."""
    for found in (value, getattr(value, "figure", None), getattr(value, "fig", None)):
        if found is not None and hasattr(found, "savefig"):
            return found
    return None


def _bytes(data: bytes, name: str) -> ImageData:
    for signature, mime in _SIGNATURES:
        if data.startswith(signature):
            return _encoded(data, mime)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _encoded(data, "image/webp")
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data)) as picture:
            return _png(picture)
    except (UnidentifiedImageError, OSError) as error:
        raise UsageError(f"--image {name}: these bytes are no picture Pillow can read.") from error


def _array(value: Any, name: str) -> ImageData:
    import numpy
    from PIL import Image

    array = numpy.asarray(value)
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (1, 3, 4)):
        raise UsageError(f"--image {name}: an array of shape {array.shape} is no picture; give height x width [x 3 or 4].")
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.dtype.kind == "f":
        # Not-a-number has no colour; black, as matplotlib's lowest.
        array = numpy.nan_to_num(array).clip(0, 1) * 255 + 0.5
    elif array.dtype.kind == "b":
        array = array * 255
    return _png(Image.fromarray(array.clip(0, 255).astype("uint8")))


def _png(picture: Any) -> ImageData:
    buffer = io.BytesIO()
    if picture.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"):
        picture = picture.convert("RGB")
    picture.save(buffer, format="PNG")
    return _encoded(buffer.getvalue(), "image/png")


def _encoded(data: bytes, mime: str) -> ImageData:
    return ImageData(data=base64.b64encode(data).decode("ascii"), mime=mime)
