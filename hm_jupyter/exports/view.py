"""A transcript made ready to write down: the turns asked for, and nothing in them that differs from run to run.

What every exporter needs and none should decide for itself: which entries belong to a turn, paths relative to the
session's folder, no lone surrogates, times only if asked for. The transcript itself is never changed: entries are
copied, generically, so that a new field is treated like the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, Union, cast

from ..events import Image
from ..transcript import (
    Entry,
    NoticeEntry,
    QuestionEntry,
    Rope,
    SessionState,
    ToolEntry,
    Transcript,
    TurnEntry,
    UserEntry,
)  # fmt: skip
from . import safe

T = TypeVar("T")
Turns = Union[int, tuple[int, int], None]  # one turn, first and last, or all of the session
_ABSOLUTE = re.compile(r"(?:[A-Za-z]:)?(?:[/\\][\w.+@-][\w.+@ -]*)+\Z")
DEEPEST = 4  # sub-agents within sub-agents that are nested; the rest stand by themselves
LEFT_OUT = ":left-out"  # how the ids of our notes about cut entries end: each is about another entry
_DEPTH = 60  # levels of an agent's JSON that are shown


@dataclass(slots=True)
class TurnView:
    """One turn: its own entry (None for what came before the first) and what happened in it, in order."""

    number: int
    turn: TurnEntry | None = None
    entries: list[Entry] = field(default_factory=list)
    inner: dict[str, list[ToolEntry]] = field(default_factory=dict)
    """The calls of each sub-agent, by the id of the call it is; all of them are among ``entries`` too."""

    @property
    def top(self) -> list[Entry]:
        """The entries that are not calls of a sub-agent."""
        inside = {id(call) for calls in self.inner.values() for call in calls}
        return [e for e in self.entries if id(e) not in inside]

    @property
    def tools(self) -> list[ToolEntry]:
        return [e for e in self.entries if isinstance(e, ToolEntry)]

    @property
    def prompt(self) -> UserEntry | None:
        """The message that began it."""
        first = next((e for e in self.entries if isinstance(e, UserEntry)), None)
        return first if first is not None and first.delivery != "steer" else None


def shortener(root: str) -> Callable[[str], str]:
    """A function that writes the session's folder as ``.`` wherever it stands as a whole path.

    Only an absolute path of letters, digits and ``._-+@ `` is a folder here: the agent names it, and must not be able
    to make other text disappear by calling it its folder.
    """
    root = root.rstrip("/\\")
    if not _ABSOLUTE.match(root):
        return safe.clean
    # a colour's escape sequence may stand before it: ESC [ 3 6 m
    pattern = re.compile(rf"(?:(?<![\w./-])|(?<=[\d;\[]m)){re.escape(root)}(?![\w-]|\.\w)")

    def shorten(text: str) -> str:
        return safe.clean(pattern.sub(".", text) if root in text else text)

    return shorten


@cache
def names_of(cls: Any) -> tuple[str, ...]:
    """The names of a dataclass's fields."""
    return tuple(f.name for f in fields(cls))


def rewrite(value: T, text: Callable[[str], str], depth: int = 0) -> T:
    """A copy of ``value`` with ``text`` applied to every string in it, keys too; pictures are left as they are."""
    new: Any = value
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, str):
        new = text(value) if value else value
    elif isinstance(value, Rope):
        new = Rope(text(str(value)))
    elif isinstance(value, Image):
        new = Image(safe.clean(str(value.data)), safe.clean(str(value.mime)))
    elif depth > _DEPTH:
        new = "…"
    elif is_dataclass(value) and not isinstance(value, type):
        new = type(value)(**{n: rewrite(getattr(value, n), text, depth + 1) for n in names_of(type(value))})
    elif isinstance(value, dict):
        new = {text(str(k)): rewrite(v, text, depth + 1) for k, v in value.items()}
    elif isinstance(value, (list, tuple)):
        new = [rewrite(v, text, depth + 1) for v in value]
    return cast(T, new)


def model_name(model: str) -> str:
    """A model's name; of a scenario file (a model of the demo provider) the file's name without its folder."""
    return re.split(r"[/\\]", model)[-1] if model.lower().endswith(".toml") else model


def without_secrets(url: str) -> str:
    """A page's address for a file that others may read: one-time codes stand in its query, passwords before its host."""
    where, mark = re.match(r"([^?#]*)([?#])?", url).groups()  # type: ignore[union-attr]
    return re.sub(r"(?<=://)[^/@]*@", "…@", where) + (f"{mark}…" if mark else "")


def ready(entry: Entry, shorten: Callable[[str], str]) -> Entry:
    """A copy to write down. What a shell call was given, and what was decided, stays as it was, letter by letter."""
    copy = rewrite(entry, shorten)
    if isinstance(copy, TurnEntry):
        copy.model = model_name(copy.model)
    if isinstance(copy, QuestionEntry) and copy.url:
        copy.answer = without_secrets(copy.answer) if copy.answer == copy.url else copy.answer
        copy.url = without_secrets(copy.url)
    if isinstance(entry, ToolEntry) and isinstance(copy, ToolEntry):
        if entry.category == "shell":
            copy.input, copy.title = rewrite(entry.input, safe.clean), safe.clean(entry.title)
        if entry.decision and copy.decision:
            copy.decision.rule, copy.decision.note = safe.clean(entry.decision.rule), safe.clean(entry.decision.note)
            copy.decision.option = safe.clean(entry.decision.option)
    return copy


def state_of(transcript: Transcript) -> SessionState:
    """The session's state, ready to write down."""
    state = rewrite(transcript.state, shortener(transcript.state.root))
    state.model = model_name(state.model)
    return state


def wanted(turns: Turns) -> Callable[[int], bool]:
    """Does a turn's number belong to ``turns``?"""
    if turns is None:
        return lambda n: True
    first, last = turns if isinstance(turns, tuple) else (turns, turns)
    return lambda n: first <= n <= last


def select(transcript: Transcript, turns: Turns = None) -> list[TurnView]:
    """The turns asked for, in order, ready to write down."""
    shorten, inside = shortener(transcript.state.root), wanted(turns)
    views: dict[int, TurnView] = {}
    for entry in transcript.entries.values():
        if not inside(entry.turn):
            continue
        copy = ready(entry, shorten)
        view = views.setdefault(entry.turn, TurnView(entry.turn))
        if isinstance(copy, TurnEntry):
            view.turn = copy
        else:
            view.entries.append(copy)
    for view in views.values():
        _without_doubles(view)
        _nest(view)
    return [views[n] for n in sorted(views)]


def _without_doubles(view: TurnView) -> None:
    """A question is shown as a question, not also as the tool call that asked it; the same notice is shown once."""
    asked = {e.call_id for e in view.entries if isinstance(e, QuestionEntry)}
    notices: dict[tuple[str, str], list[NoticeEntry]] = {}
    kept: list[Entry] = []
    for entry in view.entries:
        if isinstance(entry, NoticeEntry) and not entry.id.endswith(LEFT_OUT):
            same = notices.setdefault((entry.text, entry.detail), [])
            same.append(entry)
            if len(same) > 1:
                continue
        elif isinstance(entry, ToolEntry) and entry.call_id in asked and not entry.diffs:
            continue
        kept.append(entry)
    for first, *again in notices.values():
        if again:
            first.text = f"{first.text} (Said {len(again) + 1} times.)"
    view.entries = kept


def _nest(view: TurnView) -> None:
    """Find out which calls are those of a sub-agent. Who names itself, or goes in a circle, stands by itself."""
    calls = {t.call_id: t for t in view.tools}
    for tool in view.tools:
        parent = calls.get(tool.parent)
        above, depth = parent, 0
        while above is not None and above is not tool and depth < DEEPEST:
            above, depth = calls.get(above.parent), depth + 1
        if parent is not None and above is None and calls[tool.call_id] is tool:  # of two with one id the last
            view.inner.setdefault(parent.call_id, []).append(tool)


def runs(entries: Iterable[Entry], belongs: Callable[[Entry], bool], least: int) -> list[list[Entry]]:
    """The entries in order, where ``least`` or more neighbours that belong together are one list."""
    out: list[list[Entry]] = []
    run: list[Entry] = []

    def close() -> None:
        out.extend([run[:]] if len(run) >= least else [[e] for e in run])
        run.clear()

    for entry in entries:
        if belongs(entry):
            run.append(entry)
        else:
            close()
            out.append([entry])
    close()
    return out
