"""Changes of a file as a unified diff that can be read, copied and applied (``patch -p0``, ``git apply -p0``).

The lines are computed once (:func:`unified`) and written by every exporter. Time is bounded on hostile files: a common
head and tail are cut off first, and where the rest is too large to compare it is one block out, one block in.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from ..events import FileDiff
from . import safe

CONTEXT = 3
MAX_LINES = 2_000  # lines of one file's diff that are shown
_MAX_PRODUCT = 1_000_000
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(slots=True)
class Line:
    """One line of a diff: ``sign`` is "-", "+", " ", "@" (a hunk's head), "h" (a file's head) or "\\\\"."""

    sign: str
    text: str

    def __str__(self) -> str:
        return self.text if self.sign in "@h\\" else self.sign + self.text


@dataclass(slots=True)
class Unified:
    """A file's diff: its lines, and how many lines it adds and removes."""

    path: str
    lines: list[Line]
    added: int
    removed: int

    def __str__(self) -> str:
        return "\n".join(map(str, self.lines))


def _split(text: str | None) -> tuple[list[str], bool]:
    """Lines split on newlines only, and whether the last one lacks its newline."""
    if not text:
        return [], False
    lines = text.split("\n")
    if lines[-1] == "":
        return lines[:-1], False
    return lines, True


Opcode = tuple[str, int, int, int, int]


def _opcodes(a: list[str], b: list[str]) -> list[Opcode]:
    head = 0
    while head < len(a) and head < len(b) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < len(a) - head and tail < len(b) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    mid_a, mid_b = a[head : len(a) - tail], b[head : len(b) - tail]
    ops: list[Opcode] = [("equal", 0, head, 0, head)] if head else []
    if len(mid_a) * len(mid_b) > _MAX_PRODUCT:
        ops.append(("replace", head, head + len(mid_a), head, head + len(mid_b)))
    else:
        ops += [
            (tag, i1 + head, i2 + head, j1 + head, j2 + head)
            for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, mid_a, mid_b).get_opcodes()
        ]
    if tail:
        ops.append(("equal", len(a) - tail, len(a), len(b) - tail, len(b)))
    return ops


def _groups(ops: list[Opcode]) -> list[list[Opcode]]:
    """Opcodes in hunks with :data:`CONTEXT` lines around each change."""
    groups: list[list[Opcode]] = [[]]
    last = len(ops) - 1
    for n, (tag, i1, i2, j1, j2) in enumerate(ops):
        if tag != "equal":
            groups[-1].append((tag, i1, i2, j1, j2))
            continue
        length = i2 - i1
        before = 0 if n == 0 else CONTEXT  # lines kept behind the change that came before
        after = 0 if n == last else CONTEXT
        if length > before + after:
            if before:
                groups[-1].append((tag, i1, i1 + before, j1, j1 + before))
            if n not in (0, last):
                groups.append([])
            if after:
                groups[-1].append((tag, i2 - after, i2, j2 - after, j2))
        else:
            groups[-1].append((tag, i1, i2, j1, j2))
    return [g for g in groups if any(tag != "equal" for tag, *_ in g)]


def _span(start: int, stop: int) -> str:
    length = stop - start
    return f"{start + 1 if length else start}" if length == 1 else f"{start + 1 if length else start},{length}"


def _path(path: str) -> str:
    return safe.plain(path.replace("\n", "\\n").replace("\t", "\\t"), exact=True)


def unified(diff: FileDiff) -> Unified:
    """The diff of one file. A ``partial`` one (only the replaced passage is known) has no line numbers."""
    a, open_a = _split(diff.old)
    b, open_b = _split(diff.new)
    path = _path(diff.path)
    lines = [
        Line("h", f"--- {'/dev/null' if diff.old is None and not diff.partial else path}"),
        Line("h", f"+++ {'/dev/null' if diff.new is None and not diff.partial else path}"),
    ]
    # A missing newline at the end is a change of that line, as in diff(1).
    key_a = [*a[:-1], a[-1] + "\0"] if open_a else a
    key_b = [*b[:-1], b[-1] + "\0"] if open_b else b
    added = removed = 0
    for group in _groups(_opcodes(key_a, key_b)):
        first, last = group[0], group[-1]
        if diff.partial:
            lines.append(Line("@", "@@ passage @@"))
        else:
            lines.append(Line("@", f"@@ -{_span(first[1], last[2])} +{_span(first[3], last[4])} @@"))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                for i in range(i1, i2):
                    lines.append(Line(" ", a[i]))
                    if open_a and i == len(a) - 1:
                        lines.append(Line("\\", "\\ No newline at end of file"))
                continue
            for i in range(i1, i2):
                lines.append(Line("-", a[i]))
                if open_a and i == len(a) - 1:
                    lines.append(Line("\\", "\\ No newline at end of file"))
            for j in range(j1, j2):
                lines.append(Line("+", b[j]))
                if open_b and j == len(b) - 1:
                    lines.append(Line("\\", "\\ No newline at end of file"))
            removed += i2 - i1
            added += j2 - j1
    return Unified(path, lines, added, removed)


def _mark(old: str, new: str) -> tuple[str, str] | None:
    """Both lines as HTML with the changed words in ``del`` and ``ins``; None if they have too little in common."""
    if len(old) > 400 or len(new) > 400:
        return None
    a, b = _TOKEN.findall(old), _TOKEN.findall(new)
    if len(a) * len(b) > 10_000:
        return None
    matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
    same = sum(len("".join(a[i : i + n]).strip()) for i, _, n in matcher.get_matching_blocks())
    if same * 2 < max(len(old.strip()), len(new.strip())) * 0.8:
        return None
    left, right = [], []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        x, y = safe.markup("".join(a[i1:i2])), safe.markup("".join(b[j1:j2]))
        left.append(x if tag == "equal" or not x else f"<del>{x}</del>")
        right.append(y if tag == "equal" or not y else f"<ins>{y}</ins>")
    return "".join(left), "".join(right)


def _marked(lines: list[Line]) -> dict[int, str]:
    """HTML of the lines in runs "- - + +" of equal length, whose changed words can be marked."""
    out: dict[int, str] = {}
    i = budget = 0
    while i < len(lines) and budget < 300:
        if lines[i].sign != "-":
            i += 1
            continue
        minus = i
        while i < len(lines) and lines[i].sign == "-":
            i += 1
        plus = i
        while i < len(lines) and lines[i].sign == "+":
            i += 1
        if plus - minus == i - plus:
            for n in range(plus - minus):
                budget += 1
                pair = _mark(lines[minus + n].text, lines[plus + n].text)
                if pair:
                    out[minus + n], out[plus + n] = pair
    return out


_CLASS = {"-": "hm-u hm-del", "+": "hm-u hm-add", "@": "hm-u hm-at", "\\": "hm-u hm-at"}


def markup(diff: Unified) -> str:
    """One ``<pre>``: with the stylesheet coloured lines, without it a unified diff all the same."""
    shown = diff.lines[:MAX_LINES]
    marks = _marked(shown)
    rows = []
    for i, line in enumerate(shown):
        sign = line.sign if line.sign in "-+ " else ""
        rows.append(
            f'<span class="{_CLASS.get(line.sign, "hm-u")}">{sign}{marks.get(i) or safe.markup(line.text)}</span>'
        )
    more = len(diff.lines) - len(shown)
    if more:
        rows.append(f'<span class="hm-u hm-at">and {more:,} more lines</span>')
    return '<pre class="hm-pre hm-udiff">' + "\n".join(rows) + "</pre>"
