"""How much of a turn its cell may hold: a notebook is opened, saved and sent whole, and each cell holds a text four times.

What is longer is cut, and a note behind it says how much was left out and where the whole is. The session keeps
everything, and documents of whole sessions are not cut here. Texts a person reads from the top lose their end; a tool's
output, whose last lines say how it went, loses its middle. The transcript itself is never changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from ..events import FileDiff, Image
from ..transcript import (
    Entry,
    MessageEntry,
    NoticeEntry,
    QuestionEntry,
    Rope,
    ThoughtEntry,
    ToolEntry,
    Transcript,
    to_json,
)  # fmt: skip
from . import diffs
from .view import LEFT_OUT, Turns, wanted

TOTAL = 1_000_000
"""Characters all long texts of one cell may have together."""
STEPS = (100_000, 30_000, 10_000, 3_000, 1_000)
"""Characters one text may have: the first of these with which the cell keeps to :data:`TOTAL`."""
ITEMS = 2_000
"""Members of one list or object that are kept."""
NAMES = 1_000  # characters of what the session's state is called by
DEPTH = 60

_WHERE = {MessageEntry: ("message", "turn.text"), ToolEntry: ("tool call", "turn.tool_calls"),
          ThoughtEntry: ("thought", "turn.entries"), QuestionEntry: ("question", "turn.entries")}  # fmt: skip


def within(transcript: Transcript, turns: Turns = None, *, whole_diffs: bool = True) -> Transcript:
    """The turns with no text too long for a cell; the very same entries where nothing is.

    ``whole_diffs`` false: of a large file only the passage that changes is kept, as for data that holds the file's
    contents and not the difference.
    """
    inside = wanted(turns)
    entries = [e for e in transcript.entries.values() if inside(e.turn)]
    lengths = [n for e in entries for n in _lengths(e)]
    cap = next((c for c in STEPS if sum(min(n, c) for n in lengths) <= TOTAL), STEPS[-1])
    out: dict[str, Entry] = {}
    for entry in entries:
        cut = _Cut(cap, whole_diffs)
        kept = cut.entry(entry)
        out[entry.id] = kept if cut.changed else entry
        if cut.left:
            what, where = _WHERE.get(type(entry), ("message", "turn.entries"))
            text = (
                f"{cut.left:,} characters of this {what} were left out of the cell. The whole is in {where}, and "
                "%hm export session.jsonl (or s.export) writes it to a file."
            )
            out[entry.id + LEFT_OUT] = NoticeEntry(entry.id + LEFT_OUT, entry.turn, text, "info")
    names = _Cut(NAMES, True)
    state = names.value(replace(transcript.state, pending=[]))
    return Transcript(state if names.changed else transcript.state, out)


def _lengths(value: Any, depth: int = 0) -> Iterator[int]:
    """The lengths of the texts in a value that are longer than the least that may be kept."""
    if isinstance(value, (str, Rope)):
        if len(value) > STEPS[-1]:
            yield len(value)
    elif depth < DEPTH and not isinstance(value, Image):
        for inner in _members(value):
            yield from _lengths(inner, depth + 1)


def _members(value: Any) -> Iterator[Any]:
    if is_dataclass(value):
        yield from (getattr(value, f.name) for f in fields(value))
    elif isinstance(value, dict):
        yield from value.keys()
        yield from value.values()
    elif isinstance(value, (list, tuple)):
        yield from value


class _Cut:
    """Cuts one entry, and counts what it left out."""

    def __init__(self, cap: int, whole_diffs: bool) -> None:
        self._cap = cap
        self._whole_diffs = whole_diffs
        self.left = 0  # characters
        self.changed = False

    def entry(self, entry: Entry) -> Entry:
        """A copy that is short enough."""
        copy: Any = self.value(entry)
        if isinstance(entry, ToolEntry):
            copy.output = Rope(self._middle(str(entry.output)))
        for name in ("input", "raw"):  # an agent's JSON: many short texts are long too
            if hasattr(copy, name):
                setattr(copy, name, self._json(getattr(copy, name)))
        done: Entry = copy
        return done

    def value(self, value: Any, depth: int = 0) -> Any:
        """A copy of any part of an entry."""
        if isinstance(value, str):
            return self._end(value)
        if isinstance(value, Rope):
            return Rope(self._end(str(value)))
        if isinstance(value, Image) or depth > DEPTH:
            return value
        if isinstance(value, FileDiff):
            return self._diff(value)
        if is_dataclass(value) and not isinstance(value, type):
            output = isinstance(value, ToolEntry)  # cut by itself
            new = {f.name: getattr(value, f.name) for f in fields(value)}
            return type(value)(
                **{k: v if output and k == "output" else self.value(v, depth + 1) for k, v in new.items()}
            )
        if isinstance(value, dict):
            return {self._end(str(k)): self.value(v, depth + 1) for k, v in self._first(list(value.items()))}
        if isinstance(value, (list, tuple)):
            return [self.value(v, depth + 1) for v in self._first(value)]
        return value

    def _gone(self, count: int) -> None:
        self.left += count
        self.changed = True

    def _end(self, text: str) -> str:
        if len(text) <= self._cap:
            return text
        self._gone(len(text) - self._cap)
        return text[: self._cap] + "…"

    def _middle(self, text: str) -> str:
        if len(text) <= self._cap:
            return text
        left, tail = len(text) - self._cap, self._cap // 4
        self._gone(left)
        return f"{text[: self._cap - tail]}\n… {left:,} characters left out …\n{text[-tail:]}"

    def _first(self, members: Any) -> Any:
        if len(members) > ITEMS:
            self._gone(sum(len(str(m)) for m in members[ITEMS:]))
        return members[:ITEMS]

    def _json(self, value: Any) -> Any:
        if not isinstance(value, (dict, list)):
            return value
        text = json.dumps(to_json(value), ensure_ascii=False, default=str)
        return value if len(text) <= 2 * self._cap else self._end(text)

    def _diff(self, diff: FileDiff) -> FileDiff:
        if len(diff.old or "") + len(diff.new or "") <= self._cap:
            return diff
        if self._whole_diffs and len(str(diffs.unified(diff))) <= self._cap:
            return diff
        old, new = _passage(diff)
        self.changed = True
        return FileDiff(diff.path, old and self._end(old), new and self._end(new), True)


def _passage(diff: FileDiff) -> tuple[str | None, str | None]:
    """The lines of both sides from the first change to the last, with some around."""
    if diff.old is None or diff.new is None:
        return diff.old, diff.new
    a, b = diff.old.splitlines(keepends=True), diff.new.splitlines(keepends=True)
    head = tail = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    start, rest = max(head - diffs.CONTEXT, 0), max(tail - diffs.CONTEXT, 0)
    return "".join(a[start : len(a) - rest]), "".join(b[start : len(b) - rest])
