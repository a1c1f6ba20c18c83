"""Where a command's output is shown as it comes: with the call that shows its terminal, as soon as one does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..events import ToolOutputAppended
from .cards import OWN, Cards

if TYPE_CHECKING:
    from .controller import Controller

LINK_WAIT = 0.3
"""Seconds an agent has to say which of its calls shows a terminal, before its output is shown where we think best."""


class Display:
    """Shows one terminal's output. The adapter is told all of it, and says where the agent shows that; what the agent
    shows nowhere goes on ``card``.

    A card of our own waits a moment with it: an agent says only after a terminal was made which of its calls shows it.
    On a card of the agent's there is nothing to wait for: if it is the one, its output is told whole then.
    """

    def __init__(self, controller: Controller, cards: Cards, terminal_id: str, card: str) -> None:
        self._controller = controller
        self._cards = cards
        self._terminal_id = terminal_id
        self._card = card
        self._held: list[str] | None = [] if card.startswith(OWN) else None

    @property
    def waits(self) -> bool:
        """Is :meth:`decide` to be called, ``LINK_WAIT`` from now?"""
        return self._held is not None

    def add(self, text: str) -> None:
        """The next piece."""
        if self._held is not None:
            self._held.append(text)
            return
        step = self._controller.adapter.host_output(self._terminal_id, text)
        if not step.events and text:
            step.events.append(ToolOutputAppended(self._cards.now(self._card), text))
        self._controller.carry_on(step)

    def decide(self) -> None:
        """The agent has had the time to say."""
        held, self._held = "".join(self._held or ()), None
        if held:
            self.add(held)
