"""Where a command's output is shown as it comes: with the call that shows its terminal, as soon as one does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..events import ToolOutputAppended
from ..protocols.base import Step

if TYPE_CHECKING:
    from .controller import Controller

LINK_WAIT = 0.3
"""Seconds an agent has to say which of its calls shows a terminal, before its output is shown where we think best."""


class Display:
    """Shows one terminal's output: on the card on which the agent shows it, else on ours, or the one we take to be meant.

    An agent says only after it was made which of its calls shows a terminal, so the first pieces wait a moment. What the
    adapter was given and could not place it keeps; from then on it gets nothing more, else there would be two of it.
    """

    def __init__(self, controller: Controller, terminal_id: str, card: str) -> None:
        self._controller = controller
        self._terminal_id = terminal_id
        self._card = card
        self._held: list[str] | None = []
        self._placed = False

    def add(self, text: str) -> None:
        if self._held is not None:
            self._held.append(text)
            return
        step = self._controller.adapter.host_output(self._terminal_id, text) if self._placed else Step()
        if not self._placed:
            step.events.append(ToolOutputAppended(self._card, text))
        self._controller.carry_on(step)

    def decide(self) -> None:
        """It has had the time to say."""
        text, self._held = "".join(self._held or ()), None
        step = self._controller.adapter.host_output(self._terminal_id, text)
        self._placed = any(isinstance(event, ToolOutputAppended) for event in step.events)
        if not self._placed and text:
            step.events.append(ToolOutputAppended(self._card, text))
        self._controller.carry_on(step)
