"""The stylesheets of the frozen cell and of exported pages, read from the package once, without needless space."""

from __future__ import annotations

import re
from importlib.resources import files


def _minify(css: str) -> str:
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.S)
    css = re.sub(r"\s+", " ", css)
    css = re.sub(r" ?([{};,]) ?", r"\1", css)
    return re.sub(r": (?=[^{}]*[;}])", ":", css).replace(";}", "}").strip()


FROZEN = _minify(files(__package__).joinpath("frozen.css").read_text("utf-8"))
DOCUMENT = _minify(files(__package__).joinpath("document.css").read_text("utf-8"))
