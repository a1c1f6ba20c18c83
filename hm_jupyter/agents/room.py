"""How much of what its tools give reaches a model: a bound for each result and for all of a turn, so that long outputs
never flood the context. What is cut is kept whole, and the model is told how to see more.
"""

from __future__ import annotations

from collections.abc import Callable

from .tools.plain import shortened

LARGEST, SMALLEST = 60_000, 6_000
"""Most characters of one result, with a large context and with a small one."""

TURN = 400_000
"""Most characters of a turn's results at full length; those after it are cut to :data:`LEAST`."""

LEAST = 3_000


class Room:
    """The room there is in a turn. ``context_size``: the tokens the model takes (0: not known)."""

    def __init__(self, context_size: Callable[[], int] = lambda: 0) -> None:
        self._context_size = context_size
        self._taken = 0

    def fit(self, text: str, keep: Callable[[str], str]) -> str:
        """``text``, cut in the middle where there is not room for all of it; ``keep`` as for :func:`shortened`."""
        size = self._context_size()
        one = max(SMALLEST, min(LARGEST, size)) if size else LARGEST  # a token has about four characters: a quarter
        whole = max(4 * SMALLEST, min(TURN, 2 * size)) if size else TURN  # … and half of the context
        most = min(one, max(LEAST, whole - self._taken))
        if len(text) > most:
            text = shortened(text, keep, head=most * 2 // 3, tail=most // 3)
        self._taken += len(text)
        return text
