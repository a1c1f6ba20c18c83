"""Size of the widget's bundle as a server would send it (gzip -9), beside the loader every anywidget needs anyway."""

from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path

from .report import Row


def gzipped(paths: list[Path]) -> int:
    return sum(len(gzip.compress(p.read_bytes(), 9)) for p in paths)


def measure() -> list[Row]:
    static = Path(__file__).resolve().parent.parent / "hm_jupyter" / "static"
    mine = gzipped([static / "widget.js", static / "widget.css"])
    spec = importlib.util.find_spec("anywidget")
    peer = 0
    if spec and spec.origin:
        peer = gzipped([p for p in (Path(spec.origin).parent / "labextension").rglob("*.js") if p.is_file()])
    return [
        Row(
            "widget bundle, gzipped",
            f"{mine / 1000:.1f} kB",
            f"{peer / 1000:.1f} kB (anywidget's own loader)" if peer else "",
            "<= 80 kB",
        )
    ]
