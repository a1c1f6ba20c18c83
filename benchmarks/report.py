"""A row of the table, and running a measurement in a fresh interpreter so that none warms up another's caches."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any


@dataclass
class Row:
    """What was measured, our figure, the peer's (or "" ), and what was aimed at. Figures are text, with their unit."""

    what: str
    ours: str
    peer: str = ""
    aim: str = ""


def fresh(module: str, *args: str, timeout: float = 300) -> dict[str, Any]:
    """Runs ``python -m module args`` and gives the JSON object it printed last. Raises, with its stderr, on failure."""
    done = subprocess.run(
        [sys.executable, "-m", module, *args], capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise RuntimeError(f"python -m {module} {' '.join(args)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def table(rows: list[Row]) -> str:
    """The rows in columns."""
    cells = [["", "hm_jupyter", "peer", "aim"], *([r.what, r.ours, r.peer, r.aim] for r in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(4)]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    lines.insert(1, "-" * sum((*widths, 6)))
    return "\n".join(lines)
