"""The commands that run for the agent on our side: shown as they go, stopped one by one, with their turn, or by hand.

Those that go on after their turn (a server) are told as background work, so that a person sees and can stop them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from .. import commands as cmd
from ..events import Background, SessionUpdated, ToolCallUpdated
from ..workspace.process import Process
from .cards import OWN, Cards
from .display import LINK_WAIT, Display

if TYPE_CHECKING:
    from .controller import Controller


@dataclass
class _Work:
    process: Process
    card: str
    title: str
    fresh: bool = True  # of the turn that runs (or ran last)


class AtWork:
    """One session's."""

    def __init__(self, controller: Controller, cards: Cards) -> None:
        self._controller = controller
        self._cards = cards
        self._all: dict[str, _Work] = {}  # by terminal id

    def begin(self, terminal_id: str, process: Process, card: str, title: str) -> None:
        """Show a command that has just been started on ``card``, until it ends."""
        self._all[terminal_id] = _Work(process, card, title)
        self._controller.offer(cancel_work=True)
        self._controller.announce(ToolCallUpdated(card, cancelable=True))
        self._controller.start_soon(self._follow, terminal_id)

    async def _follow(self, terminal_id: str) -> None:
        work = self._all[terminal_id]
        shown = Display(self._controller, self._cards, terminal_id, work.card)
        work.process.follow(shown.add)
        if shown.waits:
            with anyio.move_on_after(LINK_WAIT):
                await work.process.wait()
            shown.decide()
        ended = await work.process.wait()
        del self._all[terminal_id]
        self._cards.end_of_command(work.card, work.process.stopped, ended)
        self.tell_background()
        self._controller.announce()

    # ---- stopping --------------------------------------------------------------------------------------------------

    def named(self, command: cmd.Command) -> list[Process]:
        """The running commands that ``command`` wants stopped (as background work, or by the call they are shown on)."""
        if not isinstance(command, cmd.CancelWork) or command.kind == "subagent":
            return []
        return [
            work.process for name, work in self._all.items() if command.work in (OWN + name, self._cards.now(work.card))
        ]

    def stop_turn(self) -> None:
        """Stop what was begun in this turn."""
        for work in self._all.values():
            if work.fresh:
                work.process.stop()

    def turn_over(self) -> None:
        """What still runs goes on in the background."""
        for work in self._all.values():
            work.fresh = False
        self.tell_background()

    def tell_background(self) -> None:
        """Have the state say what runs in the background (``Background``), where that changed."""
        state = self._controller.transcript.state
        others = [b for b in state.background if not (b.kind == "terminal" and b.id.startswith(OWN))]
        ours = [
            Background("terminal", OWN + name, work.title, True)
            for name, work in self._all.items()
            if not work.fresh and not work.process.stopped
        ]
        if [*others, *ours] != state.background:
            self._controller.feed(SessionUpdated({"background": [*others, *ours]}))
