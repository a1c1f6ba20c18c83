"""``--attach NAME`` and ``--image NAME``: which value a name in a magic's line stands for.

A name is a variable, an attribute of one (``self.df``) or an item of one (``tables['orders']``); a picture may be a
file too. What becomes of the value is ``session.media``'s business, which imports Pillow and the rest when used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import UsageError
from .options import closest

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff")


def attached(names: Iterable[str], scope: Mapping[str, Any]) -> dict[str, Any]:
    """The values to write into a prompt, by the names they were given under. Raises :class:`UsageError`."""
    return {name: look_up(name, scope, option="--attach") for name in names}


def pictures(names: Iterable[str], scope: Mapping[str, Any]) -> list[Any]:
    """The pictures to send: variables or files, turned into base64. Raises :class:`UsageError`."""
    from ..session.media import image_data

    found = []
    for name in names:
        value = _picture(name, scope)
        try:
            found.append(image_data(value))
        except UsageError as error:
            raise UsageError(f"--image {name}: {error}") from None
    return found


def look_up(name: str, scope: Mapping[str, Any], *, option: str) -> Any:
    """The value ``name`` stands for. Raises :class:`UsageError`, naming ``option``."""
    head = _head(name)
    if head not in scope:
        near = closest(head, [n for n in scope if not n.startswith("_")])
        hint = f"did you mean {near}?" if near else "run the cell that makes it first."
        raise UsageError(f"{option} {name}: there is no variable {head!r}; {hint}")
    if head == name:
        return scope[name]
    try:
        return _value(ast.parse(name, mode="eval").body, scope)
    except Exception as error:
        raise UsageError(f"{option} {name}: {type(error).__name__}: {error}") from None


def _head(name: str) -> str:
    return name.split(".")[0].split("[")[0]


def _picture(name: str, scope: Mapping[str, Any]) -> Any:
    path = Path(name).expanduser()
    if _head(name) not in scope and (path.suffix.lower() in PICTURES or "/" in name):
        if not path.is_file():
            raise UsageError(f"--image {name}: there is no such file in {Path.cwd()}.")
        return path
    return look_up(name, scope, option="--image")


def _value(node: ast.AST, scope: Mapping[str, Any]) -> Any:
    """Follow attributes and constant items; calls and operators are refused: this is a name, not code."""
    if isinstance(node, ast.Name):
        return scope[node.id]
    if isinstance(node, ast.Attribute):
        return getattr(_value(node.value, scope), node.attr)
    if isinstance(node, ast.Subscript):
        return _value(node.value, scope)[ast.literal_eval(node.slice)]
    raise UsageError("give a variable, an attribute of one, or an item of one")
