"""Where several readers of one connection put what arrived, and the one consumer takes it in batches. Knows no sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable

from .base import Received

FULL = 64
"""Messages waiting after which readers stop until they are taken: what a slow consumer costs is bounded by this, and what a
flood costs Python's garbage collector, which walks over all that are alive. Fewer than one read gives
(:data:`.direct.READ`), so that no second read is decoded while the first one waits."""


class Inbox:
    """An ordered queue with an end. Made and used on the loop."""

    def __init__(self) -> None:
        self._items: list[Received] = []
        self._ready = asyncio.Event()
        self._taken = asyncio.Event()
        self.ended = False

    def put(self, items: Iterable[Received]) -> None:
        """Add items behind those that wait. What comes after the end is not told."""
        if not self.ended:
            self._items += items
            self._ready.set()

    def end(self) -> None:
        """Nothing more comes; what waits is still told."""
        self.ended = True
        self._ready.set()
        self._taken.set()

    async def room(self) -> None:
        """Wait until the consumer keeps up."""
        while len(self._items) > FULL and not self.ended:
            self._taken.clear()
            await self._taken.wait()

    async def batches(self) -> AsyncIterator[list[Received]]:
        """All that waits, again and again, until the end."""
        while True:
            await self._ready.wait()
            self._ready.clear()
            batch, self._items = self._items, []
            self._taken.set()
            if batch:
                yield batch
            if self.ended and not self._items:
                return
            if self._items:
                self._ready.set()
