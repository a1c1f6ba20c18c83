"""Private keys in blocks of lines (PEM, OpenSSH, PGP, PuTTY), also with their beginning or end cut off.

Followed line by line from where one shows itself, with what a diff, a listing or a JSON text puts around each line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .spans import Span, View

_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: \d{1,4}")
_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
# The base64 of what an OpenSSH key, and a key in DER (a sequence that begins with the integer 0), begin with.
_BARE = re.compile(r"(?<![A-Za-z0-9+/])(?:b3BlbnNzaC1rZXktdjE|MII[A-Za-z0-9+/]{3}IBA[A-Za-z0-9+/])[A-Za-z0-9+/]{24}")
_BREAK = r"(?:[ \t]*\r?\n|\\{1,2}r\\{1,2}n|\\{1,2}n|\\\r?\n)"
_MARGIN = r"[ \t]{0,40}(?:\d{1,6}[ \t]{0,4}[:|\u2192\t ])?[ \t]{0,8}[+\->|#\"'*]{0,3}[ \t]{0,8}[\"']?"
_NEXT = re.compile(
    rf"{_BREAK}{_MARGIN}(?:(?P<b64>[A-Za-z0-9+/=]{{1,2000}})|(?P<head>[A-Z][A-Za-z-]{{2,24}}: [^\n\\]{{0,200}})|(?P<none>))"
    rf"(?=[ \t\"',+;\\]{{0,8}}(?:\r?\n|\\|$|-----END|<))"
)
_INLINE = re.compile(r"[ \t]{0,4}[A-Za-z0-9+/=]{24,20000}(?:[ \t][A-Za-z0-9+/=]{1,200}){0,400}")
_CLOSE = re.compile(r"[ \t\"',+;]{0,8}")
_LAST = re.compile(rf"{_MARGIN}[A-Za-z0-9+/=]{{0,200}}[ \t\"',+;]{{0,8}}")
_BEFORE = re.compile(r"[A-Za-z0-9+/=]{32,2000}")


def private_keys(view: View) -> Iterator[Span]:
    """Each private key as one span, from its first line to its last as far as they are there."""
    text = view.text
    if "-----" not in text and "Private-Lines" not in text and "b3BlbnNza" not in text and "MII" not in text:
        return
    done = 0
    for begin in sorted([*_BEGIN.finditer(text), *_BARE.finditer(text)], key=lambda m: m.start()):
        if begin.start() < done:
            continue
        bare = begin.re is _BARE
        end, size = _follow(text, begin.end() if not bare else _run(text, begin.end()))
        if not bare and size < 16 and not _END.match(text, end):
            continue  # somebody speaks of such a line
        close = _END.match(text, end)
        done = close.end() if close else end
        yield Span(view.start(begin.start()), view.end(done), "private key", 0)
    for close in _END.finditer(text):
        if close.start() >= done:
            start = _back(text, close.start(), done)
            if start < close.start():
                yield Span(view.start(start), view.end(close.end()), "private key", 0)
        done = max(done, close.end())


def _run(text: str, at: int) -> int:
    m = re.compile(r"[A-Za-z0-9+/=]*").match(text, at)
    return m.end() if m else at


def _follow(text: str, at: int) -> tuple[int, int]:
    """Where the key's lines end that follow ``at``, and how much of it they hold."""
    size = 0
    inline = _INLINE.match(text, at)
    if inline:
        at, size = inline.end(), len(inline[0])
    last, blank = at, 0
    while (m := _NEXT.match(text, at)) is not None:
        at = m.end()
        if m["b64"]:
            size += len(m["b64"])
            last, blank = at, 0
        elif m["head"]:
            last, blank = at, 0
        else:
            blank += 1
            if blank > 2:
                break
        skip = _CLOSE.match(text, at)
        at = skip.end() if skip and skip.end() < len(text) and text[skip.end()] in "\r\n\\-<" else at
    to_end = re.compile(rf"(?:{_BREAK}{_MARGIN})?(?={_END.pattern})").match(text, at)
    if to_end:
        return to_end.end(), size
    if (here := _END.match(text, at)) is not None:
        return here.start(), size
    return last, size


def _back(text: str, end: int, least: int) -> int:
    """The start of the base64 lines right before ``end``."""
    start = end
    while start > least:
        first = max(least, start - 2_100)  # no line is longer
        edge = text.rfind("\n", first, max(first, start - 1))
        escaped = text.rfind("\\n", first, max(first, start - 2))
        edge = max(edge + 1, escaped + 2 if escaped >= 0 else 0, first)
        line = text[edge:start].rstrip()
        while line.endswith(("\\n", "\\r")):
            line = line[:-2]
        if not line.strip(" \t+->|\"'\\") and start == end:
            start = edge  # what stands before it on its line: a margin
            if not line:
                continue
        found = _BEFORE.search(line)
        if found is None and not (end - start < 100 and _LAST.fullmatch(line)):
            break
        if found is not None and found.start() > 60:
            return edge + found.start()
        start = edge
    return start
