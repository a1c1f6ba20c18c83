"""Small static outputs of the magics: a table, a sentence. HTML in the notebook's own colours, and plain text.

All text is escaped here; control and direction characters are made visible, because names and notes come from agents.
"""

from __future__ import annotations

import html
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

_BORDER = "1px solid var(--jp-border-color2, #d0d0d0)"
_MUTED = "color:var(--jp-ui-font-color2, #616161)"
CODE = "font-family:var(--jp-code-font-family, monospace);font-size:0.95em"


def visible(text: object) -> str:
    """``text`` with control and direction characters shown as ``\\xNN`` or ``\\uNNNN`` (line breaks and tabs stay)."""
    return "".join(
        c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs") else c.encode("unicode_escape").decode()
        for c in str(text)
    )


def escaped(text: object) -> str:
    """``text`` for HTML, with nothing hidden in it."""
    return html.escape(visible(text))


@dataclass
class Table:
    """Rows under headings. ``rows`` are kept as they are, for use from Python."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    title: str = ""
    note: str = ""
    code: Sequence[str] = field(default_factory=tuple)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": self.text()}

    def __repr__(self) -> str:
        return self.text()

    def html(self) -> str:
        """As an HTML table (text left, wrapping, no fixed widths)."""
        parts = []
        if self.title:
            parts.append(f'<div style="font-weight:600;margin-bottom:4px">{escaped(self.title)}</div>')
        if self.rows:
            cell = f"text-align:left;vertical-align:top;padding:3px 16px 3px 0;border-bottom:{_BORDER}"
            head = "".join(f'<th style="{cell};font-weight:600">{escaped(c)}</th>' for c in self.columns)
            parts.append(f'<table style="border-collapse:collapse;margin:0"><thead><tr>{head}</tr></thead><tbody>')
            for row in self.rows:
                cells = []
                for column, value in zip(self.columns, row, strict=False):
                    style = f"{cell};{CODE}" if column in self.code else cell
                    cells.append(f'<td style="{style};white-space:pre-wrap">{escaped(value)}</td>')
                parts.append(f"<tr>{''.join(cells)}</tr>")
            parts.append("</tbody></table>")
        if self.note:
            parts.append(f'<div style="{_MUTED};margin-top:4px">{escaped(self.note)}</div>')
        return "".join(parts)

    def text(self) -> str:
        """As aligned plain text."""
        lines = [self.title] if self.title else []
        if self.rows:
            cells = [[visible(v) for v in row] for row in self.rows]
            widths = [
                max(len(line) for value in (column, *(r[i] for r in cells)) for line in (value.splitlines() or [""]))
                for i, column in enumerate(self.columns)
            ]
            for row in ([str(c) for c in self.columns], *cells):
                split = [value.splitlines() or [""] for value in row]
                for k in range(max(map(len, split))):
                    pieces = [(s[k] if k < len(s) else "").ljust(w) for s, w in zip(split, widths, strict=True)]
                    lines.append("  ".join(pieces).rstrip())
        if self.note:
            lines.append(self.note)
        return "\n".join(lines)


def say(text: str) -> None:
    """One line under the cell."""
    sys.stdout.write(visible(text) + "\n")
