"""Where in a text a secret stands, and a text seen without what may stand in the middle of one.

A terminal colours the middle of a key, a mail program wraps it, a diff puts a mark before each line: a :class:`View` is
the text without such noise, and tells where its characters stand in the whole.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

_ANSI = r"\x1b\[[0-9;:?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Za-z0-9]"
_UNSEEN = "[\u200b-\u200d\u2060\ufeff\xad]"
ESCAPES = re.compile(f"{_ANSI}|{_UNSEEN}")
BROKEN = re.compile(rf"{_ANSI}|{_UNSEEN}|\r|\\?\n[ \t]*")
MARKED = re.compile(rf"{_ANSI}|{_UNSEEN}|\r|\\?\n[ \t]*[+|>-][ \t]{{0,8}}|\\?\n[ \t]*")
"""What may stand in the middle of a secret: escapes alone; line breaks too; line breaks and the marks of a diff or quote."""

HAS_ESCAPES = re.compile("[\x1b\u200b-\u200d\u2060\ufeff\xad]")


class Span(NamedTuple):
    """From ``start`` to before ``end`` stands a secret of ``kind``; of two that overlap the lower ``rank`` names both."""

    start: int
    end: int
    kind: str
    rank: int = 0


@dataclass(slots=True)
class View:
    """``text`` without noise. ``cuts`` are the places in it behind which something was left out, ``gone`` how much by then."""

    text: str
    cuts: list[int]
    gone: list[int]

    def start(self, at: int) -> int:
        """Where the character at ``at`` stands in the whole."""
        return at + self._gone(at)

    def end(self, at: int) -> int:
        """The end, in the whole, of what ends before ``at``."""
        return at - 1 + self._gone(at - 1) + 1

    def broken(self, start: int, end: int) -> list[int]:
        """The places between ``start`` and ``end`` at which something was left out."""
        return self.cuts[bisect_right(self.cuts, start) : bisect_right(self.cuts, end - 1)]

    def _gone(self, at: int) -> int:
        n = bisect_right(self.cuts, at)
        return self.gone[n - 1] if n else 0


def without(text: str, noise: re.Pattern[str]) -> View:
    """``text`` without all that ``noise`` matches."""
    kept: list[str] = []
    cuts: list[int] = []
    gone: list[int] = []
    at = total = 0
    for m in noise.finditer(text):
        kept.append(text[at : m.start()])
        total += m.end() - m.start()
        at = m.end()
        cuts.append(at - total)
        gone.append(total)
    kept.append(text[at:])
    return View("".join(kept), cuts, gone)


def whole(text: str) -> View:
    """``text`` as it is."""
    return View(text, [], [])


def merged(spans: list[Span]) -> list[Span]:
    """The spans in order, those that overlap as one."""
    out: list[Span] = []
    for span in sorted(spans):
        if out and span.start < out[-1].end:
            last = out[-1]
            named = min(last, span, key=lambda s: s.rank)
            out[-1] = Span(last.start, max(last.end, span.end), named.kind, named.rank)
        else:
            out.append(span)
    return out
