"""Agent text made safe to show: HTML escaping, and characters one cannot see or could mistake written as ``[U+202E]``.

Two strengths. ``prose`` leaves what honest text needs (joiners in emoji and in Arabic or Indic words, no-break spaces);
``exact``, for commands, paths and rules, shows everything that is not what it looks like, look-alike letters inside a
Latin word included (the sources of U+202E tricks and of ``p\u0430ip``). Knows no markdown and no transcript.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator

_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 controls, tab and newline excepted
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\uffff"
    "\ud800-\udfff\U000e0000-\U000e0fff\U0001d173-\U0001d17a"
)
_PROSE = re.compile(f"[{_HIDDEN}]")
_EXACT = re.compile(f"[{_HIDDEN}\u200c\u200d\ufe00-\ufe0f\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_WORD = re.compile(r"\w+")
_FOREIGN = re.compile("[\u0370-\u03ff\u0400-\u052f\u0530-\u058f\u13a0-\u13ff\uff21-\uff5a\U0001d400-\U0001d7ff]")
_LATIN = re.compile(r"[A-Za-z]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """``text`` without lone surrogates, which no UTF-8 file can hold; each becomes U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def name_of(char: str) -> str:
    """How a character that cannot be shown is written: ``U+202E``, or ``ESC`` for the terminal's escape."""
    return "ESC" if char == "\x1b" else f"U+{ord(char):04X}"


def describe(char: str) -> str:
    """Its Unicode name in lower case, for people who listen: "right-to-left override"."""
    return unicodedata.name(char, "control character").lower()


def _suspects(text: str, exact: bool) -> list[int]:
    found = {m.start() for m in (_EXACT if exact else _PROSE).finditer(text)}
    if exact and not text.isascii():
        for word in _WORD.finditer(text):
            if _LATIN.search(word[0]):
                found.update(word.start() + m.start() for m in _FOREIGN.finditer(word[0]))
    return sorted(found)


def pieces(text: str, *, exact: bool = False) -> Iterator[tuple[bool, str]]:
    """``text`` in order as ``(is_escape, piece)``; an escape is the one character it stands for."""
    at = 0
    for i in _suspects(text, exact):
        if i > at:
            yield False, text[at:i]
        yield True, text[i]
        at = i + 1
    if at < len(text):
        yield False, text[at:]


def has_hidden(text: str) -> bool:
    """Does it hold anything that :func:`pieces` would show as an escape, in the exact reading?"""
    return bool(_suspects(text, True))


def plain(text: str, *, exact: bool = False) -> str:
    """For text/plain and markdown sources: hidden characters as ``[U+202E]``."""
    return "".join(f"[{name_of(s)}]" if hidden else s for hidden, s in pieces(text, exact=exact))


def markup(text: str, *, exact: bool = False) -> str:
    """For HTML: escaped, hidden characters as ``<b class="hm-esc">[U+202E]</b>``."""
    if not (_EXACT if exact else _PROSE).search(text) and (not exact or text.isascii()):  # nearly all of it
        return html.escape(text, quote=False)
    return "".join(
        f'<b class="hm-esc">[{name_of(s)}]</b>' if hidden else html.escape(s, quote=False)
        for hidden, s in pieces(text, exact=exact)
    )


def attribute(text: str) -> str:
    """For a quoted HTML attribute."""
    return html.escape(plain(text, exact=True).replace("\n", " "), quote=True)


def one_line(text: str, limit: int = 200) -> str:
    """Its first ``limit`` characters on one line, with an ellipsis where something was left out."""
    flat = " ".join(text[: limit * 4].split())
    return flat if len(flat) <= limit and len(text) <= limit * 4 else flat[: limit - 1].rstrip() + "…"
