"""An adapter's alarm clock: it has no clock of its own, so it asks to be called again after so many seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio

from ..protocols.base import Wake


class Wakes:
    """The alarms of one session. ``start_soon`` runs a task for as long as the session lives."""

    def __init__(self, start_soon: Callable[..., Any], ring: Callable[[str], None]) -> None:
        self._start_soon = start_soon
        self._ring = ring
        self._set: dict[str, Wake] = {}

    def set(self, wake: Wake) -> None:
        """Set an alarm, in place of the one with the same key; with no seconds left it is only taken back."""
        self._set.pop(wake.key, None)
        if wake.seconds > 0:
            self._set[wake.key] = wake
            self._start_soon(self._wait, wake)

    async def _wait(self, wake: Wake) -> None:
        await anyio.sleep(wake.seconds)
        if self._set.get(wake.key) is wake:
            del self._set[wake.key]
            self._ring(wake.key)
