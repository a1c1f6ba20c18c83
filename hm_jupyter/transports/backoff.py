"""How long to wait for what on a connection that can break: delays that grow, and a server's own ``Retry-After``.

Knows no sockets and reads no clock.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime


@dataclass(frozen=True)
class Patience:
    """All in seconds."""

    first: float = 0.25
    """Before the second attempt to come back (the first is made at once)."""
    longest: float = 15.0
    """… and the most between two attempts."""
    give_up: float = 300.0
    """Of attempts without success, after which the session ends."""
    show: float = 1.0
    """A break shorter than this is not shown as a lost connection."""
    stable: float = 30.0
    """A connection that lived so long was a good one: the next break is met without delay again."""
    keepalive: float = 15.0
    """Between two comments of a quiet event stream (ACP reference 10). Three missed: the stream is opened anew."""
    taken: float = 2.0
    """A POST whose body was written and which is not answered after this lets the next message go."""
    unanswered: float = 300.0
    """A request's POST that is not answered after this, while nothing of its session came, counts as unanswered."""
    stream: float = 5.0
    """How long a message waits for the stream its answer will come on."""
    connect: float = 10.0
    """For a connection to be made."""
    leave: float = 2.0
    """For saying goodbye."""


class Backoff:
    """Delays that double, from ``first`` to ``longest``, each shortened by chance so that clients do not come in step."""

    def __init__(self, patience: Patience, chance: Callable[[], float] = random.random) -> None:
        self._patience = patience
        self._chance = chance
        self.attempts = 0
        self.waited = 0.0

    def reset(self) -> None:
        """It worked; begin anew."""
        self.attempts = 0
        self.waited = 0.0

    def delay(self, asked: float | None = None) -> float:
        """Seconds before the next attempt; ``asked`` is what the server asked for, and no less is waited then."""
        grown = min(self._patience.longest, self._patience.first * 2.0 ** min(self.attempts, 30))
        seconds = grown * (0.5 + 0.5 * self._chance())
        if asked is not None:
            seconds = max(seconds, min(asked, self._patience.give_up))
        self.attempts += 1
        self.waited += seconds
        return seconds

    @property
    def exhausted(self) -> bool:
        """Was it tried for ``give_up`` seconds (of waiting)?"""
        return self.waited >= self._patience.give_up


def retry_after(value: str | None, now: float) -> float | None:
    """Seconds that a ``Retry-After`` header asks for: a number, or an HTTP date beside ``now`` (seconds since 1970)."""
    if not value:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None
