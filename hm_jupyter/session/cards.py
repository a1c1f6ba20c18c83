"""Which card of the transcript shows what is done for the agent on our side: one of the agent's, else one of our own.

An agent mostly announces a call, asks, and then has it done by us; that call's card is the place. Only what no card of
the agent's is about gets a card here, so that nothing is done unseen and nothing shown twice.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import events as ev
from ..protocols.base import HostCall
from ..transcript import CLOSED, ToolEntry
from ..workspace.command import Command, joined
from ..workspace.process import Ended

if TYPE_CHECKING:
    from .controller import Controller

OWN = "host:"
"""What the ids of our own requests and cards begin with."""


class Cards:
    """One session's."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._renamed: dict[str, str] = {}

    def own(self, call: HostCall) -> str:
        """The id of our own card (and request) for a host call."""
        return OWN + call.id

    # ---- names -----------------------------------------------------------------------------------------------------

    def saw(self, event: ev.ToolCallUpdated) -> None:
        """A call may come to have another id than the one it was asked about under (``replaces``; fast-agent)."""
        self._renamed.pop(event.call_id, None)
        if event.replaces and event.replaces != event.call_id:
            self._renamed[event.replaces] = event.call_id

    def now(self, card: str) -> str:
        """The id of that card by now."""
        return self._renamed.get(card, card)

    # ---- of the agent's --------------------------------------------------------------------------------------------

    def of_command(self, command: Command) -> str:
        """The agent's open call that says it runs ``command``, or else the only one that does not say what; or ""."""
        silent = []
        for entry in self._open("shell"):
            said = joined(entry.input.get("command")) if isinstance(entry.input, dict) else ""
            if any(command.is_shown_by(text) for text in (said, entry.title) if text):
                return entry.call_id
            if not said and not entry.output:
                silent.append(entry.call_id)
        return silent[0] if len(silent) == 1 else ""

    def of_edit(self, path: Path, locate: Callable[[str], Path | None]) -> str:
        """The agent's open call that says it changes the file at ``path``, or ""."""
        for entry in self._open("edit"):
            if any(locate(name) == path for name in _named(entry)):
                return entry.call_id
        return ""

    def named(self) -> list[str]:
        """The paths the agent's open edits name, as it wrote them."""
        return [name for entry in self._open("edit") for name in _named(entry)]

    def _open(self, category: str) -> list[ToolEntry]:
        t = self._controller.transcript
        return [
            entry
            for entry in t.of_turn(t.state.turn)
            if isinstance(entry, ToolEntry)
            and entry.category == category
            and entry.status not in CLOSED
            and not entry.call_id.startswith(OWN)
        ]

    # ---- that what was done stands in them --------------------------------------------------------------------------

    def shows_command(self, card: str, command: Command) -> None:
        """A card of the agent's that names no command, or another, is told what we run on it."""
        entry = self._controller.transcript.tool(card)
        if entry is None:
            return
        given = entry.input if isinstance(entry.input, dict) else {}
        if not command.is_shown_by(joined(given.get("command"))):
            told = {**given, "command": command.line, "cwd": str(command.cwd)}
            self._controller.announce(ev.ToolCallUpdated(card, input=told))

    def shows_change(self, card: str, diff: ev.FileDiff, shown_by: Callable[[list[ev.FileDiff]], bool]) -> None:
        """… and one that shows no change of that file, or another, the change we make."""
        entry = self._controller.transcript.tool(card)
        if entry is not None and not shown_by(entry.diffs):
            others = [one for one in entry.diffs if one.path != diff.path]
            self._controller.announce(ev.ToolCallUpdated(card, diffs=[*others, diff]))

    # ---- of our own ------------------------------------------------------------------------------------------------

    def begin(self, card: str, name: str, title: str, category: str, **more: Any) -> None:
        """Show something we do that no card is about."""
        self._controller.announce(ev.ToolCallUpdated(card, name, title, category, "running", **more))

    def end(self, card: str, status: ev.ToolStatus, output: str | None = None) -> None:
        """It is done, if it has a card of our own that is still open."""
        entry = self._controller.transcript.tool(card)
        if card.startswith(OWN) and entry is not None and entry.status not in CLOSED:
            self._controller.announce(ev.ToolCallUpdated(card, status=status, output=output))

    def end_of_command(self, card: str, stopped: bool, ended: Ended) -> None:
        """How a command ended; the status of a card of the agent's is the agent's to tell."""
        card = self.now(card)
        entry = self._controller.transcript.tool(card)
        if entry is None:
            return
        told = ev.ToolCallUpdated(card, exit_code=ended.code, cancelable=False)
        if card.startswith(OWN) and not stopped:  # the turn may have ended meanwhile, and closed the card
            told.status = "completed" if ended.code == 0 else "failed"
        elif card.startswith(OWN) and entry.status not in CLOSED:
            told.status = "interrupted"
        self._controller.announce(told)


def _named(entry: ToolEntry) -> list[str]:
    places = [place.rpartition(":")[0] if place.rpartition(":")[2].isdigit() else place for place in entry.locations]
    return [*(diff.path for diff in entry.diffs), *places]
