"""Which of what is replayed is which of what is known: prompts by their words, text by its place. Pure functions.

Agents number messages anew, cut text elsewhere, join what stood apart, and tell prompts in other words than ours; that a
text comes in the order in which it was said is all that can be relied on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .told import Said

_LAST = 8  # prompts that are compared: a session's end tells enough
_BEGINNING = 24  # characters by which two tellings of a message that differ further on are known for the same


def alike(ours: str, theirs: str) -> int:
    """How well two tellings of a prompt go together: 0 not at all, 1 perhaps, 2 the one holds the other, 3 the same."""
    a, b = " ".join(ours.split()), " ".join(theirs.split())
    if a == b:
        return 3 if a else 1
    if not a or not b:
        return 1
    return 2 if a in b or b in a else 0


def place_of_last(ours: Sequence[str], theirs: Sequence[str]) -> tuple[int, int]:
    """Where among their prompts our last one stands, or would (``len(theirs)``: it is not there; it may be 0 or less), and how
    well the prompts agree then.

    Theirs may lack what came first, or begin before ours does; the shift under which most of the last prompts agree is
    taken, and no shift at all before any other.
    """
    best, found = -1, 0
    for shift in sorted(range(1 - len(theirs), len(ours)), key=abs):  # of two that agree as well, the smaller
        pairs = ((i, i - shift) for i in range(max(0, len(ours) - _LAST), len(ours)))
        score = sum(alike(ours[i], theirs[k]) for i, k in pairs if 0 <= k < len(theirs))
        if score > best:
            best, found = score, shift
    return len(ours) - 1 - found, best


@dataclass(slots=True)
class Match:
    """A replayed message and the known ones that stand in it: each with where it begins and ends there."""

    theirs: Said
    text: str
    ours: list[tuple[int, int, Said]] = field(default_factory=list)


def match_texts(ours: Sequence[Said], theirs: Sequence[Said], *, ids: bool) -> list[Match]:
    """Where each of our messages stands in theirs. Those that stand nowhere are left out.

    ``ids``: messages keep their ids (ACP v2), so the same id is the same message. Without that, and for the others, the
    order tells.
    """
    matches = [Match(said, said.text) for said in theirs]
    same = {m.theirs.id: m for m in matches} if ids else {}
    rest: list[Said] = []
    for said in ours:
        match = same.pop(said.id, None)
        if match is None:
            rest.append(said)
        else:
            match.ours.append((0, len(match.text), said))
    free = [m for m in matches if not m.ours]
    if not _nothing_between(rest, free) and _one_to_one(rest, free):
        return matches
    at, offset = 0, 0
    for said in rest:
        for way in (_going_on, _with_gaps, _loosely):
            spans = way(said, free, at, offset)
            if spans:
                break
        for where, start, end in spans:
            free[where].ours.append((start, end, said))
            at, offset = where, end
    return matches


Spans = list[tuple[int, int, int]]  # index of the match, start, end


def _nothing_between(ours: list[Said], matches: list[Match]) -> bool:
    """Is ours, run together, what theirs begins with? Then nothing was lost but the end."""
    a, b = "".join(said.text for said in ours), "".join(match.text for match in matches)
    return a.startswith(b) or b.startswith(a)


def _one_to_one(ours: list[Said], matches: list[Match]) -> bool:
    """Match each of ours with one of theirs that has all its pieces, in order; False, and nothing done, when one has none."""
    found: list[tuple[Match, tuple[int, int, Said]]] = []
    at = 0
    for said in ours:
        for where in range(at, len(matches)):
            place = _fit(said.parts, matches[where].text, 0)
            if place:
                found.append((matches[where], (*place, said)))
                at = where + 1
                break
        else:
            return False
    for match, one in found:
        match.ours.append(one)
    return True


def _going_on(said: Said, matches: list[Match], at: int, offset: int) -> Spans:
    """From here on, word for word, over as many of theirs as it takes; theirs may end before ours does."""
    rest = said.text
    spans: Spans = []
    for where in range(at, len(matches) if rest else at):
        start = offset if where == at else 0
        here = matches[where].text[start:]
        if not here:
            continue
        if here.startswith(rest):
            return [*spans, (where, start, start + len(rest))]
        if not rest.startswith(here):
            return []
        spans.append((where, start, start + len(here)))
        rest = rest[len(here) :]
    return spans


def _with_gaps(said: Said, matches: list[Match], at: int, offset: int) -> Spans:
    """In the first of theirs that has all its pieces in order, whatever stands between them (it was lost on the way)."""
    for where in range(at, len(matches)):
        found = _fit(said.parts, matches[where].text, offset if where == at else 0)
        if found:
            return [(where, *found)]
    return []


def _fit(parts: list[str], text: str, start: int) -> tuple[int, int] | None:
    whole = "".join(parts)
    if not whole:
        return None
    at = text.find(whole, start)
    if at >= 0:
        return at, at + len(whole)
    first, at = -1, start
    for part in parts:
        found = text.find(part, at)
        if found < 0:
            return None
        first = found if first < 0 else first
        at = found + len(part)
    return first, at


def _loosely(said: Said, matches: list[Match], at: int, offset: int) -> Spans:
    """In the first of theirs that begins as ours does, white space aside: the agent has written it down differently."""
    ours = "".join(said.text.split())
    if not ours:
        return []
    for where in range(at, len(matches)):
        start = offset if where == at else 0
        here = matches[where].text[start:]
        theirs = "".join(here.split())
        length = min(_BEGINNING, len(ours), len(theirs))
        if theirs and theirs[:length] == ours[:length]:
            if not theirs.startswith(ours):
                return [(where, start, start + len(here))]
            end = _after(here, len(ours))
            return [(where, start, start + end)]
    return []


def _after(text: str, count: int) -> int:
    """The index after the first ``count`` characters of ``text`` that are no white space."""
    for at, character in enumerate(text):
        if not character.isspace():
            count -= 1
            if count == 0:
                return at + 1
    return len(text)
