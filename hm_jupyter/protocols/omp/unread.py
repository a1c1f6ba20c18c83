"""The messages of ours that the model has not read: which one a ``user`` message is, and which are dropped by a stop."""

from __future__ import annotations

from dataclasses import dataclass

from ...commands import FollowUp, Prompt, Steer


@dataclass(slots=True)
class Unread:
    """A message that is out. ``kind``: prompt, steer or follow_up; ``shown``: what a person sees of it."""

    kind: str
    text: str
    shown: str


class Queue:
    """The messages that are out, oldest first."""

    def __init__(self) -> None:
        self._unread: dict[str, Unread] = {}

    def sent(self, command: Prompt | Steer | FollowUp, kind: str = "") -> None:
        """It is on its way."""
        shown = command.text if command.shown is None else command.shown
        self._unread[command.id] = Unread(kind or command.type, command.text, shown)

    def refused(self, command_id: str) -> None:
        """It never arrived."""
        self._unread.pop(command_id, None)

    def read(self, text: str, prompt: str) -> Unread | None:
        """The model has read ``text``: the oldest of ours with that text, else the turn's ``prompt`` (a template of the
        agent's writes it anew), else None: it is none of ours."""
        said = text.strip()
        mine = next((i for i, u in self._unread.items() if u.text.strip() == said), None)
        if mine is None and prompt in self._unread:
            mine = prompt
        return self._unread.pop(mine) if mine is not None else None

    def turn_over(self, prompt: str) -> Unread | None:
        """The turn of that prompt is over; returns it where the model did not read it."""
        return self._unread.pop(prompt, None)

    def waiting(self) -> dict[str, Unread]:
        """What waits beside prompts."""
        return {i: unread for i, unread in self._unread.items() if unread.kind != "prompt"}
