"""What one view of a session is sent, and when: many small operations become few messages.

Pure: it is told the time and handed operations, and answers with messages of the widget's wire
(``docs/architecture.md``, "The widget's wire"). Knows no comm, no loop, no thread; ``feed.py`` drives it.

Nothing is queued in order. What has to be known of an entry since the last message is either *all of it* (it was put,
so it is sent as it stands when the message goes out, later appends included) or *what was appended*. So a message is
never longer than the entries it touches, however many operations led to it, and repeating itself costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..transcript import Append, Entry, Op, Put, State, Transcript, to_json
from .wire import wire_safe

INTERVAL = 0.055
"""Seconds between two messages of one session: a little over 1/20, so that a late timer does not make it 21 a second."""
TAIL = 3.0
"""Seconds after the last message at which an empty one follows. A Jupyter server over its rate limit drops messages
without a word, most often the last of a burst; the empty one shows the browser the gap (the limit's window is 3 s)."""

Message = dict[str, Any]


class Outbox:
    """The operations one view has not been sent yet.

    ``turn`` is the first turn the view shows, 0 the whole session. ``interval`` is the least time between two messages
    in seconds; several views of one session share its 20 messages a second, so their feed widens it.
    """

    def __init__(self, transcript: Transcript, *, turn: int = 0, interval: float = INTERVAL) -> None:
        self.transcript = transcript
        self.turn = turn
        self.interval = interval
        self.seq = 0
        self._changed: dict[str, Entry | dict[str, list[str]]] = {}
        self._patch: dict[str, Any] = {}
        self._sent: float | None = None
        self._tail_due = False

    def offer(self, ops: Iterable[Op]) -> None:
        """Take in operations that were just applied to the transcript (they must have been: a put is read later)."""
        for op in ops:
            if type(op) is Append:
                self._append(op)
            elif type(op) is Put:
                if op.entry.turn >= self.turn:
                    self._changed[op.entry.id] = op.entry
            elif type(op) is State:
                self._patch.update(op.patch)

    def _append(self, op: Append) -> None:
        known = self._changed.get(op.id)
        if known is None:
            if self.transcript.entries[op.id].turn < self.turn:
                return
            self._changed[op.id] = {op.field: [op.text]}
        elif type(known) is dict:
            known.setdefault(op.field, []).append(op.text)

    @property
    def waiting(self) -> bool:
        """Is there something the view has not been sent?"""
        return bool(self._changed or self._patch)

    def due(self) -> float | None:
        """When :meth:`take` has something to give: a time (0.0 for at once), or None while there is nothing to say."""
        if self.waiting:
            return 0.0 if self._sent is None else self._sent + self.interval
        if self._tail_due and self._sent is not None:
            return self._sent + TAIL
        return None

    def take(self, now: float) -> Message | None:
        """The message to send at ``now`` (seconds of a monotonic clock), or None when none is due."""
        due = self.due()
        if due is None or now < due:
            return None
        ops: list[Any] = []
        for id_, change in self._changed.items():
            if type(change) is dict:
                ops.extend({"op": "append", "id": id_, "field": f, "text": "".join(t)} for f, t in change.items())
            else:
                ops.append({"op": "put", "entry": to_json(change)})
        if self._patch:
            # Last: what the state says waits is in the entries by then.
            ops.append({"op": "state", "patch": to_json(self._patch)})
        self._tail_due = bool(ops)
        return self._numbered({"t": "ops", "ops": ops}, now)

    def snapshot(self, now: float, wall: float) -> Message:
        """Everything the view shows, in place of what was not sent yet. ``wall`` is the kernel's clock (s since the epoch).

        It takes a number of its own: another tab of the same view that misses it must notice the gap too.
        """
        self._tail_due = True
        entries = [to_json(e) for e in self.transcript.entries.values() if e.turn >= self.turn]
        message = {"t": "snapshot", "state": to_json(self.transcript.state), "entries": entries, "now": wall}
        return self._numbered(message, now)

    def _numbered(self, message: Message, now: float) -> Message:
        self._changed, self._patch = {}, {}
        self._sent = now
        self.seq += 1
        message["seq"] = self.seq
        safe: Message = wire_safe(message)
        return safe
