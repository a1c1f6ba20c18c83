"""Terminal output for people: SGR colours kept, every other escape sequence dropped.

Colours become one of six hues (the theme decides their shade) plus bold; 256-colour and true-colour values are mapped
to the nearest hue, so that no agent can write invisible text. OSC 8 links are not links: only their text stays.
Carriage returns and backspaces are carried out the way a terminal would, so a progress bar is its last state.
Sequences: ECMA-48, sections 5.4 and 8.3.117 (SGR).
"""

from __future__ import annotations

import colorsys
import re
from collections.abc import Iterator

from . import safe

# Classes are in frozen.css. The colour beside each is what a viewer shows that drops <style> and keeps style="":
# readable on white and on near-black (the stylesheet overrides it).
HUES = {"r": "#d32f2f", "g": "#388e3c", "y": "#b26a00", "b": "#1976d2", "m": "#a64ac9", "c": "#00838f"}
_BASIC = [None, "r", "g", "y", "b", "m", "c", None]

_ESCAPE = re.compile(
    "(?:\x1b\\[|\x9b)([0-?]{0,256})[ -/]{0,16}([@-~])"  # CSI parameters final
    "|(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]{0,65536}(?:\x07|\x1b\\\\|\x9c|$)?"  # OSC DCS SOS PM APC
    "|\x1b[ -/]{0,16}[0-~]?"  # two- and three-character escapes
)
_OVERSTRIKE = re.compile("[^\b\n]\b")


def _terminal(text: str) -> str:
    text = text.replace("\r\n", "\n")
    for _ in range(4):
        if "\b" not in text:
            break
        text = _OVERSTRIKE.sub("", text)
    if "\r" not in text:
        return text
    lines = []
    for line in text.split("\n"):
        shown = [part for part in line.split("\r") if part]
        lines.append(shown[-1] if shown else "")
    return "\n".join(lines)


def _hue(red: float, green: float, blue: float) -> str | None:
    hue, light, saturation = colorsys.rgb_to_hls(red, green, blue)
    if saturation < 0.2 or light < 0.08 or light > 0.95:
        return None
    return "rygcbmr"[round(hue * 6) % 7]


def _palette(n: int) -> str | None:
    """A colour of the 256-colour table as one of our hues."""
    if n < 16:
        return _BASIC[n % 8]
    if n < 232:
        n -= 16
        return _hue(n // 36 / 5, n // 6 % 6 / 5, n % 6 / 5)
    return None


def _sgr(params: str, hue: str | None, bold: bool) -> tuple[str | None, bool]:
    codes = [int(p) if p.isdigit() and len(p) < 6 else 0 for p in params.replace(":", ";").split(";")]
    i = 0
    while i < len(codes):
        n = codes[i]
        if n == 0:
            hue, bold = None, False
        elif n == 1:
            bold = True
        elif n == 22:
            bold = False
        elif 30 <= n <= 37 or 90 <= n <= 97:
            hue = _BASIC[n % 10]
        elif n == 39:
            hue = None
        elif n in (38, 48):
            mode = codes[i + 1] if i + 1 < len(codes) else 0
            rest = codes[i + 2 : i + 5]
            if mode == 5:
                colour = _palette(min(rest[0], 255)) if rest else None
                i += 2
            else:
                colour = _hue(*(min(c, 255) / 255 for c in rest)) if len(rest) == 3 else None
                i += 4
            hue = colour if n == 38 else hue
        i += 1
    return hue, bold


def spans(text: str) -> Iterator[tuple[str, str | None, bool]]:
    """``(text, hue, bold)`` in order; ``hue`` is a key of :data:`HUES` or None."""
    text = _terminal(text)
    hue: str | None = None
    bold = False
    at = 0
    for m in _ESCAPE.finditer(text):
        if m.start() > at:
            yield text[at : m.start()], hue, bold
        at = m.end()
        if m[2] == "m" and not (m[1] or "").startswith(("?", ">", "<", "=")):
            hue, bold = _sgr(m[1] or "", hue, bold)
    if at < len(text):
        yield text[at:], hue, bold


def strip(text: str) -> str:
    """Only the text."""
    if "\x1b" not in text and "\x9b" not in text and "\x9d" not in text and "\r" not in text and "\b" not in text:
        return text
    return "".join(s for s, _, _ in spans(text))


def lines(text: str) -> list[str]:
    """The text as HTML, one item a line, so that it can be folded anywhere; no span crosses a line's end."""
    out: list[list[str]] = [[]]
    for piece, hue, bold in spans(text):
        head = tail = ""
        if hue:
            head, tail = f'<span class="hm-a{hue}{" hm-b" if bold else ""}" style="color:{HUES[hue]}">', "</span>"
        elif bold:
            head, tail = "<b>", "</b>"
        for i, line in enumerate(piece.split("\n")):
            if i:
                out.append([])
            if line:
                out[-1].append(f"{head}{safe.markup(line)}{tail}")
    return ["".join(line) for line in out]
