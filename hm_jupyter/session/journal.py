"""What happened, in order: the events of each turn, for ``Turn.events`` and for looking into trouble.

Bounded: a session of many days keeps the newest events and says how many it let go. A streamed message, thousands of
events in a row, is kept as one run of strings: an object each would cost more in garbage collection than all the rest
of the hot path.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat

from ..events import Event, Role, TextAppended

KEEP = 200_000  # events
RUN = 10_000  # pieces in one run, so that what is let go is let go in small portions


@dataclass(slots=True)
class Record:
    """One event: when it came (seconds since the epoch), in which turn."""

    at: float
    turn: int
    event: Event


class _Run:
    """Pieces of one message, one after the other."""

    __slots__ = ("message_id", "role", "texts", "times", "turn")

    def __init__(self, turn: int, message_id: str, role: Role) -> None:
        self.turn = turn
        self.message_id = message_id
        self.role: Role = role
        self.texts: list[str] = []
        self.times = array("d")

    def __len__(self) -> int:
        return len(self.texts)

    def records(self) -> Iterator[Record]:
        for at, text in zip(self.times, self.texts, strict=True):
            yield Record(at, self.turn, TextAppended(self.message_id, text, self.role))


class Journal:
    """The newest events, about ``keep`` of them."""

    def __init__(self, keep: int = KEEP) -> None:
        self._keep = keep
        self._kept: deque[Record | _Run] = deque()
        self._run: _Run | None = None
        self._size = 0
        self.dropped = 0  # how many were let go

    def write(self, at: float, turn: int, event: Event) -> None:
        """Keep ``event``, which came at ``at`` (seconds since the epoch) in ``turn``."""
        if type(event) is TextAppended:
            self.write_texts(at, turn, event.message_id, event.role, (event.text,))
            return
        self._run = None
        self._kept.append(Record(at, turn, event))
        self._size += 1
        self._let_go()

    def write_texts(self, at: float, turn: int, message_id: str, role: Role, pieces: Sequence[str]) -> None:
        """Keep as many ``TextAppended`` as there are ``pieces``, which came together."""
        run = self._run
        if run is None or run.message_id != message_id or run.turn != turn or len(run.texts) >= RUN:
            run = self._run = _Run(turn, message_id, role)
            self._kept.append(run)
        run.texts.extend(pieces)
        run.times.extend(repeat(at, len(pieces)))
        self._size += len(pieces)
        self._let_go()

    def _let_go(self) -> None:
        while self._size > self._keep and len(self._kept) > 1:
            gone = self._kept.popleft()
            count = len(gone) if isinstance(gone, _Run) else 1
            self._size -= count
            self.dropped += count

    def of_turn(self, turn: int) -> list[Record]:
        """The records of one turn that are still kept, in order."""
        found: list[Record] = []
        for kept in list(self._kept):
            if kept.turn == turn:
                found.extend(kept.records() if isinstance(kept, _Run) else [kept])
        return found
