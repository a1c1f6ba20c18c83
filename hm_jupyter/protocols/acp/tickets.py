"""Ids for what a person is asked: one for each request, and never again for another.

A JSON-RPC id may be used again as soon as it is answered or taken back, and after a reconnect. A click on what is no longer
there must not decide what has come in its place, so whatever is asked under an id a second time gets another one of ours.
"""

from __future__ import annotations

from typing import Any

MOST = 100
"""Requests that may wait at once, of each kind: what nobody can look through is not asked."""

TOO_MANY = f"{MOST} requests wait for the person already: wait until some are decided."

LONGEST = 100
"""Characters of an agent's id that are kept in ours."""


class Tickets:
    """The ids of one session, for as long as it lives. ``letter`` tells those of several kinds apart."""

    def __init__(self, letter: str) -> None:
        self._letter = letter
        self._given: dict[str, int] = {}

    def next(self, rpc_id: Any) -> str:
        """An id for the request that came as ``rpc_id``."""
        stem = f"{self._letter}{rpc_id!r}"[:LONGEST]
        number = self._given[stem] = self._given.get(stem, 0) + 1
        return stem if number == 1 else f"{stem}#{number}"


def same_id(one: Any, other: Any) -> bool:
    """Are these the same JSON-RPC id? 1, 1.0, "1" and true are not."""
    return type(one) is type(other) and bool(one == other)
