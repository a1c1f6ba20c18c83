"""What a model reads of what a program wrote for a terminal; and a long text cut in its middle, with where the rest is."""

from __future__ import annotations

import re
from collections.abc import Callable

HEAD, TAIL = 16_000, 8_000
"""Characters of a long output that the model gets: so many from its beginning and its end."""

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[PX^_][^\x1b\n]*\x1b\\|[ -/]+[0-~]|[@-Z\\-_a-z0-9=>])"
)
_LONG_LINE = re.compile(r"[^\n]{4000}(?=[^\n])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_ODD = re.compile(r"[\x00-\x06\x0e-\x1a\ufffd]")


def plain(text: str) -> str:
    """``text`` without colours and cursor movements; of a line written over and over (a progress bar) the last state."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = "\n".join(_last_state(line) if "\r" in line else line for line in text.split("\n"))
    if "\b" in text:
        text = re.sub(r"[^\n\x08]\x08", "", text)
    return _CONTROLS.sub("", text)


def _last_state(line: str) -> str:
    return next((part for part in reversed(line.split("\r")) if part), "")


def looks_binary(text: str) -> bool:
    """Whether a program's decoded output is no text: a good part of its beginning is not."""
    begin = text[:4000]
    return len(begin) > 40 and ("\0" in begin or len(_ODD.findall(begin)) * 5 > len(begin))


def shortened(text: str, keep: Callable[[str], str], *, head: int = HEAD, tail: int = TAIL) -> str:
    """``text``, or its beginning and end where it is longer than ``head`` and ``tail`` together.

    ``keep`` stores the whole and returns its id ("" where it cannot); the note in the middle says how to see more. Very
    long lines are broken.
    """
    if len(text) <= head + tail:
        return text
    text = _LONG_LINE.sub(r"\g<0>\n", text)  # or nobody could ask for a part of it by its lines
    first, last = text[:head], text[len(text) - tail :]
    if "\n" in first[-4001:]:  # whole lines where they are short enough
        first = first[: first.rindex("\n") + 1]
    if "\n" in last[:4001]:
        last = last[last.index("\n") + 1 :]
    return first + _left_out(text, first, last, keep(text)) + last


def _left_out(text: str, first: str, last: str, id: str) -> str:
    count = len(text) - len(first) - len(last)
    gap = "" if first.endswith("\n") else "\n"
    if not id:
        return f"{gap}[{count} characters are left out here]\n"
    begin = first.count("\n") + 1
    return (
        f"{gap}[{count} characters are left out here, from line {begin} to {text.count(chr(10)) - last.count(chr(10))}."
        f' All of it is kept: read_file with path="{id}", first and last; or search with that path]\n'
    )
