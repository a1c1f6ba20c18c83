"""Puts one text into every string of every entry kind, generically, so that a field added tomorrow is covered too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import count
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hm_jupyter.events import Image
from hm_jupyter.transcript import Entry, Put, Rope, State, Transcript, TurnEntry

KINDS = get_args(Entry)


def plant(hint: Any, text: str) -> Any:
    """A value of the type ``hint`` with ``text`` in all its strings."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is str:
        return text
    if hint is Rope:
        return Rope(text)
    if hint is Any:
        return {
            "command": text,
            "path": text,
            "pattern": text,
            text or "x": [text, {text or "y": text}],
            "n": 1,
            "none": None,
        }
    if hint is Image:
        return Image(text, text)
    if is_dataclass(hint):
        return planted(hint, text)
    if origin is Literal:
        return args[0]
    if origin in (Union, UnionType):
        return plant(next(a for a in args if a is not type(None)), text)
    if origin is list:
        return [plant(args[0], text), plant(args[0], text)]
    if origin is dict:
        return {"text": text, "status": text, text or "x": text}
    return {int: 1, float: 2.0, bool: True}[hint]


def planted(cls: Any, text: str, **given: Any) -> Any:
    """An object of the dataclass ``cls`` with ``text`` in all its strings."""
    hints = get_type_hints(cls)
    return cls(**{f.name: given[f.name] if f.name in given else plant(hints[f.name], text) for f in fields(cls)})


def literals(cls: Any) -> Iterator[tuple[str, Any]]:
    """``(field, value)`` for every value a field of fixed words can have."""
    for name, hint in get_type_hints(cls).items():
        hints = [hint, *get_args(hint)] if get_origin(hint) in (Union, UnionType) else [hint]
        for h in hints:
            if get_origin(h) is Literal:
                yield from ((name, value) for value in get_args(h))


def transcripts(text: str, *, thorough: bool = True) -> Transcript:
    """One transcript: each kind of entry with ``text`` everywhere, in every state it can be in, and ``text`` in the state."""
    told, number = Transcript(), count(1)
    told.apply(State({f.name: plant(get_type_hints(type(told.state))[f.name], text) for f in fields(told.state)
                      if get_type_hints(type(told.state))[f.name] is str}))  # fmt: skip
    for cls in KINDS:
        if cls is TurnEntry:
            continue
        base = planted(cls, text, turn=1)
        variants = [base, *(replace(base, **{name: value}) for name, value in literals(cls) if thorough)]
        if hasattr(base, "category"):
            categories = (
                ("shell", "read", "edit", "search", "fetch", "ask", "plan", "agent", "other")
                if thorough
                else ("shell",)
            )
            variants += [replace(base, category=c) for c in categories]
            variants += [replace(base, category=c, diffs=[], images=[]) for c in categories]
            variants += [replace(base, category="other", diffs=[], input=text)]
            for name, value in literals(type(base.decision)):
                variants.append(replace(base, decision=replace(base.decision, **{name: value})))
        for entry in variants:
            n = next(number)
            ids = {"id": f"{n}"} | ({"call_id": f"{n}"} if hasattr(entry, "call_id") else {})
            told.apply(Put(replace(entry, **ids)))
    turns = [TurnEntry(f"turn{status}", 1, status, reason, text, text, text) for status, reason in
             (("finished", "end_turn"), ("stopped", "cancelled"), ("failed", "error"))]  # fmt: skip
    for n, turn in enumerate(turns, 1):
        told.apply(Put(replace(turn, turn=n)))
        told.apply(Put(planted(KINDS[2], text, id=f"last{n}", turn=n)))
    return told
