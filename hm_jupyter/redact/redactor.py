"""The redactor: text and JSON in, the same without secrets out, and a count by kind.

Knows no files and no sessions. Redacting what was redacted changes nothing. What it cannot know is a secret that looks
like any other word and stands beside nothing that says so; such secrets are given to it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import blocks, names, places, shapes
from .known import Finder
from .spans import BROKEN, ESCAPES, HAS_ESCAPES, Span, merged, whole, without

DONE = re.compile(r"\[redacted [a-z0-9][a-z0-9 ._-]{0,40}\]")
"""What stands in a secret's place."""

_FINDERS = (
    blocks.private_keys, shapes.find, places.addresses, places.assignments, places.bearers, places.command_lines
)  # fmt: skip
_DEPTH = 200
_ROUNDS = 5
_SHORT, _MOST = 300, 20_000


def in_words(found: Mapping[str, int]) -> list[str]:
    """The count as the document has it: ``["2 anthropic key", "1 password"]``, most first."""
    return [f"{n} {kind}" for kind, n in sorted(found.items(), key=lambda item: (-item[1], item[0])) if n]


class Redactor:
    """Takes out ``known`` secrets, each with its kind, and anything shaped like one.

    ``found`` counts what was taken out, by kind: places, so that a key that stands there twice counts twice.
    """

    def __init__(self, known: Iterable[tuple[str, str]] = ()) -> None:
        self._known = Finder((_plain(kind), secret) for kind, secret in known)
        self.found: Counter[str] = Counter()
        self._clean: set[str] = set()  # short texts that were looked at: names and states stand in every entry
        self._least = min(8, self._known.shortest or 8)

    def __repr__(self) -> str:
        return f"<Redactor: {self._known!r}, {sum(self.found.values())} taken out>"

    def summary(self) -> list[str]:
        """``["2 anthropic key"]``"""
        return in_words(self.found)

    def text(self, text: str) -> str:
        """``text`` without secrets. Takes time in proportion to its length."""
        for _ in range(_ROUNDS):  # where something was taken out, what stood against it may show itself now
            made = self._once(text)
            if made == text:
                break
            text = made
        return text

    def _once(self, text: str) -> str:
        if len(text) < self._least or text in self._clean:
            return text
        made = self._pieces(text)
        if made == text and len(text) < _SHORT and len(self._clean) < _MOST:
            self._clean.add(text)
        return made

    def _pieces(self, text: str) -> str:
        if "[redacted " not in text:
            return self._piece(text)
        out: list[str] = []
        at = 0
        for done in DONE.finditer(text):
            out += [self._piece(text[at : done.start()]), done[0]]
            at = done.end()
        return "".join([*out, self._piece(text[at:])])

    def uncounted(self, text: str) -> str:
        """``text`` without secrets, for what only repeats what is counted elsewhere: a title."""
        found = self.found.copy()
        try:
            return self.text(text)
        finally:
            self.found = found

    def value(self, value: Any, name: str = "") -> Any:
        """JSON without secrets: every text and key in it; a text under a secret's name counts as given to that name."""
        return self._value(value, name, 0)

    def _value(self, value: Any, name: str, depth: int) -> Any:
        if isinstance(value, str):
            return self._named(value, name)
        if depth > _DEPTH:
            return value if isinstance(value, (int, float)) or value is None else "…"
        if isinstance(value, Mapping):
            return {
                self.text(k) if isinstance(k, str) else k: self._value(v, k if isinstance(k, str) else "", depth + 1)
                for k, v in value.items()
            }
        if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
            return self._listed(value, name, depth)
        return value

    def _listed(self, value: Sequence[Any], name: str, depth: int) -> list[Any]:
        """A list, where a flag may stand before its value: ``["--password", "…"]``."""
        out: list[Any] = []
        before = ""
        for item in value:
            out.append(self._value(item, before or name, depth + 1))
            before = (
                item if isinstance(item, str) and item.startswith("-") and "=" not in item and len(item) < 60 else ""
            )
        return out

    def _named(self, value: str, name: str) -> str:
        cleaned = self.text(value)
        if not name or cleaned != value or len(value) > 10_000:
            return cleaned
        if name.lower() in ("authorization", "cookie", "set-cookie", "proxy-authorization"):
            line = self._piece(f"{name}: {value}")
            return line[len(name) + 2 :]
        what = names.category(name)
        if what and names.quoted_secret(value.strip(), what):
            kind = {"password": "password", "secret": "secret", "token": "token", "key": "api key"}[what]
            self.found[kind] += 1
            return f"[redacted {kind}]"
        return cleaned

    def _piece(self, text: str) -> str:
        view = without(text, ESCAPES) if HAS_ESCAPES.search(text) else whole(text)
        broken = without(text, BROKEN) if "\n" in text and (self._known or shapes.may_hold_across(text)) else None
        spans: list[Span] = list(self._known.find(text, broken)) if self._known else []
        for find in _FINDERS:
            spans += find(view)
        spans += shapes.find_cut(view)
        if broken is not None:
            spans += shapes.find_wrapped(broken)
        if not spans:
            return text
        out: list[str] = []
        at = 0
        for span in merged(spans):
            self.found[span.kind] += 1
            out += [text[at : span.start], f"[redacted {span.kind}]"]
            at = span.end
        return "".join([*out, text[at:]])


def _plain(kind: str) -> str:
    """A kind as it may stand in our brackets."""
    return re.sub(r"[^a-z0-9 ._-]+", " ", kind.lower()).strip()[:40] or "secret"
