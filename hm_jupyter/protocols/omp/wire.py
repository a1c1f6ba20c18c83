"""Commands and their responses: which response answers which command. Knows no command's meaning.

A response repeats its command's ``id``; some failures leave it out (unknown commands before omp 18.3, lines that could not
be parsed, "Error handling"), so one without an id is matched by its ``command``, oldest first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Union

from ..base import Step
from . import read


@dataclass(slots=True)
class Answer:
    """A response: ``ok``, its ``data`` (nothing when it failed) and ``error``, a sentence, when it failed."""

    ok: bool
    data: Any = None
    error: str = ""


Then = Union[Callable[[Answer, Step], None], None]


@dataclass(slots=True)
class Sent:
    """A command that is out. ``again`` is told of a second answer: omp may take a prompt back after it has taken it up."""

    kind: str
    fields: dict[str, Any] = field(default_factory=dict)
    then: Then = None
    again: Then = None


class Wire:
    """The commands of one connection whose responses have not come."""

    def __init__(self) -> None:
        self._open: dict[str, Sent] = {}
        self._taken: dict[str, Sent] = {}  # answered with true, and may yet be answered with false
        self._serial = 0

    def send(
        self, step: Step, kind: str, fields: dict[str, Any] | None = None, then: Then = None, *,
        wire_id: str = "", again: Then = None,
    ) -> str:  # fmt: skip
        """Send a command; returns the id it went out with."""
        if not wire_id:
            self._serial += 1
            wire_id = f"hm-{self._serial}"
        number, stem = 1, wire_id
        while wire_id in self._open or wire_id in self._taken:
            number += 1
            wire_id = f"{stem}~{number}"
        self._open[wire_id] = Sent(kind, fields or {}, then, again)
        step.messages.append({**(fields or {}), "id": wire_id, "type": kind})
        return wire_id

    def waits(self, *kinds: str) -> bool:
        """Is one of those out and not answered?"""
        return any(sent.kind in kinds for sent in self._open.values())

    def settle(self, value: dict[str, Any], step: Step) -> Sent | None:
        """A response came: tell whoever waits for it. Returns what it answers, or None: nothing of ours."""
        wire_id, kind = value.get("id"), value.get("command")
        ok = value.get("success") is True
        error = read.text(value.get("error"))[:2000]
        if not ok and not error:
            error = f"The agent refused {read.text(kind) or 'the command'} and gave no reason."
        answer = Answer(ok, value.get("data") if ok else None, "" if ok else error)
        key = wire_id if isinstance(wire_id, str) and wire_id in self._open else None
        if key is None and isinstance(wire_id, str) and wire_id in self._taken:
            if ok:
                return self._taken[wire_id]
            sent = self._taken.pop(wire_id)
            if sent.again is not None:
                sent.again(answer, step)
            return sent
        if key is None and wire_id is None:
            key = self._unnamed(kind, ok)
        if key is None:
            return None
        sent = self._open.pop(key)
        if ok and sent.again is not None:
            self._taken[key] = sent
            for old in list(self._taken)[:-20]:
                del self._taken[old]
        if sent.then is not None:
            sent.then(answer, step)
        return sent

    def _unnamed(self, kind: Any, ok: bool) -> str | None:
        if not ok and kind in (
            "parse",
            None,
        ):  # a line of ours that could not be read: the oldest, as far as we can tell
            return next(iter(self._open), None)
        return next((key for key, sent in self._open.items() if sent.kind == kind), None)
