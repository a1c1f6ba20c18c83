"""What happened, in order: the events of each turn, for ``Turn.events`` and for looking into trouble.

Bounded: a session of many days keeps the newest events and says how many it let go.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from ..events import Event

KEEP = 200_000


@dataclass(slots=True)
class Record:
    """One event: when it came (seconds since the epoch), in which turn."""

    at: float
    turn: int
    event: Event


class Journal:
    """The newest ``keep`` records."""

    def __init__(self, keep: int = KEEP) -> None:
        self._records: deque[Record] = deque(maxlen=keep)
        self.written = 0

    def write(self, at: float, turn: int, event: Event) -> None:
        self.written += 1
        self._records.append(Record(at, turn, event))

    @property
    def dropped(self) -> int:
        """How many records were let go."""
        return self.written - len(self._records)

    def of_turn(self, turn: int) -> list[Record]:
        """The records of one turn that are still kept."""
        return [r for r in self._records if r.turn == turn]
