"""The stylesheets of the frozen cell and of exported pages, read from the package once, without needless space."""

from __future__ import annotations

import re
from importlib.resources import files


def _minify(css: str) -> str:
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.S)
    css = re.sub(r"\s+", " ", css)
    css = re.sub(r" ?([{};,]) ?", r"\1", css)
    return re.sub(r"(?<=[\w-]): (?=[^{}]*[;}])", ":", css).replace(";}", "}").strip()


def _sections(css: str) -> list[tuple[tuple[str, ...], str]]:
    """The stylesheet's parts, each with the class names of which one must be there for it to be needed."""
    first, *rest = re.split(r"/\* only with ([\w -]+) \*/", css)
    parts: list[tuple[tuple[str, ...], str]] = [((), _minify(first))]
    for names, part in zip(rest[::2], rest[1::2], strict=True):
        parts.append((tuple(names.split()), _minify(part)))
    return parts


_FROZEN = _sections(files(__package__).joinpath("frozen.css").read_text("utf-8"))


def frozen(body: str) -> str:
    """The frozen cell's stylesheet: of its parts those whose classes ``body`` uses."""
    used = set(re.findall(r"\bhm-[\w-]+", body))
    return "".join(part for names, part in _FROZEN if not names or used.intersection(names))


DOCUMENT = _minify(files(__package__).joinpath("document.css").read_text("utf-8"))
