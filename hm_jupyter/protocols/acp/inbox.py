"""Updates of sessions that are not open yet: they are kept until the answer says which session is ours (pitfall 10).

Agents may tell things of a session before the request that makes it is answered, and a loaded session tells its whole
history then. Nothing here reads an update.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

MOST = 500_000  # updates kept; an agent that sends more before it answers is not waited for


class Inbox:
    """What came too early, in order."""

    def __init__(self) -> None:
        self._opening = 0
        self._kept: list[tuple[str, Any]] = []

    @property
    def opening(self) -> bool:
        """Is a session being opened, so that an unknown id may be its id?"""
        return self._opening > 0

    def begin(self) -> None:
        """A request that opens a session was sent."""
        self._opening += 1

    def keep(self, session_id: str, update: Any) -> None:
        """An update of a session that is not known."""
        if len(self._kept) < MOST:
            self._kept.append((session_id, update))

    def of(self, session_id: str) -> list[Any]:
        """What is kept of a session."""
        return [update for owner, update in self._kept if owner == session_id]

    def end(self, session_id: str) -> list[Any]:
        """The request was answered with ``session_id`` ("": refused): its updates. Those of others stay while another is
        being opened, and are dropped with the last."""
        mine = [update for owner, update in self._kept if owner == session_id]
        self._opening = max(0, self._opening - 1)
        self._kept = [kept for kept in self._kept if kept[0] != session_id] if self._opening else []
        return mine


def updates_of(session_id: str, values: Sequence[Any], at: int) -> Iterator[dict[str, Any]]:
    """The updates of this session that ``values`` are from ``at`` on, one after the other, until one is anything else."""
    for n in range(at, len(values)):
        value = values[n]
        if type(value) is not dict or value.get("method") != "session/update" or "id" in value:
            return
        params = value.get("params")
        if type(params) is not dict or params.get("sessionId") != session_id:
            return
        update = params.get("update")
        if type(update) is not dict:
            return
        yield update
