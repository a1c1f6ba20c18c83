"""A transcript made ready to write down: the turns asked for, and nothing in them that differs from run to run.

What every exporter needs and none should decide for itself: which entries belong to a turn, paths relative to the
session's folder, no lone surrogates, times only if asked for. The transcript itself is never changed: entries are
copied, generically, so that a new field is treated like the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, TypeVar, Union, cast

from ..events import Image
from ..transcript import Entry, QuestionEntry, Rope, SessionState, ToolEntry, Transcript, TurnEntry, UserEntry
from . import safe

T = TypeVar("T")
Turns = Union[int, tuple[int, int], None]  # one turn, first and last, or all of the session
_ABSOLUTE = re.compile(r"(?:[A-Za-z]:)?(?:[/\\][\w.+@-][\w.+@ -]*)+\Z")
_DEPTH = 60  # levels of an agent's JSON that are shown


@dataclass(slots=True)
class TurnView:
    """One turn: its own entry (None for what came before the first) and what happened in it, in order."""

    number: int
    turn: TurnEntry | None = None
    entries: list[Entry] = field(default_factory=list)

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


def rewrite(value: T, text: Callable[[str], str], depth: int = 0) -> T:
    """A copy of ``value`` with ``text`` applied to every string in it, keys too; pictures are left as they are."""
    new: Any = value
    if isinstance(value, str):
        new = text(value)
    elif isinstance(value, Rope):
        new = Rope(text(str(value)))
    elif isinstance(value, Image):
        new = Image(safe.clean(str(value.data)), safe.clean(str(value.mime)))
    elif depth > _DEPTH:
        new = "…"
    elif is_dataclass(value) and not isinstance(value, type):
        new = type(value)(**{f.name: rewrite(getattr(value, f.name), text, depth + 1) for f in fields(value)})
    elif isinstance(value, dict):
        new = {text(str(k)): rewrite(v, text, depth + 1) for k, v in value.items()}
    elif isinstance(value, (list, tuple)):
        new = [rewrite(v, text, depth + 1) for v in value]
    return cast(T, new)


def model_name(model: str) -> str:
    """A model's name; of a scenario file (a model of the demo provider) the file's name without its folder."""
    return re.split(r"[/\\]", model)[-1] if model.lower().endswith(".toml") else model


def ready(entry: Entry, shorten: Callable[[str], str]) -> Entry:
    """A copy to write down. What a shell call was given, and what was decided, stays as it was, letter by letter."""
    copy = rewrite(entry, shorten)
    if isinstance(copy, TurnEntry):
        copy.model = model_name(copy.model)
    if isinstance(entry, ToolEntry) and isinstance(copy, ToolEntry):
        if entry.category == "shell":
            copy.input, copy.title = rewrite(entry.input, safe.clean), safe.clean(entry.title)
        if entry.decision and copy.decision:
            copy.decision.rule, copy.decision.note = safe.clean(entry.decision.rule), safe.clean(entry.decision.note)
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
    return [_without_doubles(views[n]) for n in sorted(views)]


def _without_doubles(view: TurnView) -> TurnView:
    """A question is shown as a question, not also as the tool call that asked it."""
    asked = {e.call_id for e in view.entries if isinstance(e, QuestionEntry)}
    view.entries = [e for e in view.entries if not (isinstance(e, ToolEntry) and e.call_id in asked and not e.diffs)]
    return view


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
