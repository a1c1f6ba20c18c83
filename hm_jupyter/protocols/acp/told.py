"""What was told of a session, as little of it as a later replay has to be compared with.

Kept for every session while it runs, so it is cheap: a token is one ``append`` to a list, and nothing is joined before
somebody asks. Of all prompts the text is kept, of the last one alone what followed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Union

from ...events import (
    CompactionEnded,
    CompactionStarted,
    Event,
    Image,
    MessageUpdated,
    NoticeRaised,
    PlanRemoved,
    PlanUpdated,
    Role,
    TextAppended,
    ToolCallUpdated,
    ToolOutputAppended,
    TurnStarted,
    UnknownReceived,
)

OVER = frozenset({"completed", "failed", "denied", "skipped", "interrupted"})
_CALL_FIELDS = (
    "name", "title", "category", "status", "input", "output", "diffs", "images", "exit_code", "parent", "locations",
    "cancelable",
)  # fmt: skip


@dataclass(slots=True)
class Said:
    """A message or a thought, in the pieces it came in."""

    id: str
    role: Role
    parts: list[str] = field(default_factory=list)
    images: list[Image] | None = None
    final: bool = False

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self.parts)


@dataclass(slots=True)
class Called:
    """A tool call: all that was told of it in one event, and its output in pieces."""

    id: str
    known: ToolCallUpdated
    output: list[str] = field(default_factory=list)

    @property
    def over(self) -> bool:
        """It came to its end."""
        return self.known.status in OVER


Item = Union[Said, Called]


@dataclass(slots=True)
class Stretch:
    """A prompt and what followed it. The first one of a session has no prompt: it is what came before any.

    ``lost``: the agent did not have this prompt when the session was last told again.
    """

    prompt: str = ""
    prompt_id: str = ""
    images: list[Image] | None = None
    items: list[Item] = field(default_factory=list)
    others: list[Event] = field(default_factory=list)
    lost: bool = False

    def said(self, role: Role) -> list[Said]:
        """The messages of a role, in order."""
        return [item for item in self.items if isinstance(item, Said) and item.role == role]

    def calls(self) -> list[Called]:
        """The tool calls, in order."""
        return [item for item in self.items if isinstance(item, Called)]

    @property
    def empty(self) -> bool:
        """Nothing was told here."""
        return not self.items and not self.others


def joined(stretches: list[Stretch]) -> Stretch:
    """Several as one: where an agent goes on with what it was asked first while the next prompt waits, they overlap."""
    last = stretches[-1]
    items = [item for stretch in stretches for item in stretch.items]
    others = [event for stretch in stretches for event in stretch.others]
    return Stretch(last.prompt, last.prompt_id, last.images, items, others)


class Told:
    """A session as its events told it.

    Args:
        whole: keep what followed every prompt, and not that of the last one alone.
    """

    def __init__(self, *, whole: bool = False) -> None:
        self.stretches = [Stretch()]
        self.messages: set[str] = set()  # the ids of all there ever were
        self.running: dict[str, Called] = {}  # calls of earlier stretches that are not over
        self.unsure = 0  # how many prompts more what came before them is kept, since the agent may still work on it
        self._whole = whole
        self._items: dict[str, Item] = {}  # of the last stretch
        self._open: Said | None = None
        self._turn_begins = False

    @property
    def last(self) -> Stretch:
        """The last prompt and what followed it."""
        return self.stretches[-1]

    def latest(self) -> list[Stretch]:
        """Those of which what followed is kept, the last of them in any case."""
        first = next((n for n, stretch in enumerate(self.stretches) if not stretch.empty), len(self.stretches) - 1)
        return self.stretches[first:]

    @property
    def empty(self) -> bool:
        """Nothing was told at all."""
        return len(self.stretches) == 1 and self.last.empty

    @property
    def heard(self) -> bool:
        """Was there more than a first prompt, to which nothing was said?"""
        return len(self.stretches) > 2 or any(not stretch.empty for stretch in self.stretches)

    def text(self, event: TextAppended) -> None:
        """The next piece of a message."""
        self.texts(event.message_id, event.role, (event.text,))

    def texts(self, message_id: str, role: Role, pieces: Sequence[str]) -> None:
        """The next pieces of a message."""
        said = self._open
        if said is None or said.id != message_id:
            said = self._open = self._said(message_id, role)
        said.parts.extend(pieces)

    def add(self, event: Event) -> None:
        """Any other event. What does not belong to the conversation is passed over."""
        if isinstance(event, TextAppended):
            self.text(event)
        elif isinstance(event, MessageUpdated):
            self._message(event)
        elif isinstance(event, ToolCallUpdated):
            self._call(event)
        elif isinstance(event, ToolOutputAppended):
            self._called(event.call_id).output.append(event.text)
        elif isinstance(
            event, (PlanUpdated, PlanRemoved, CompactionStarted, CompactionEnded, NoticeRaised, UnknownReceived)
        ):
            self.last.others.append(event)
        elif isinstance(event, TurnStarted):
            self._turn_begins = True

    # ---- within ----------------------------------------------------------------------------------------------------

    def _said(self, message_id: str, role: Role) -> Said:
        item = self._items.get("m:" + message_id)
        if isinstance(item, Said):
            return item
        said = self._items["m:" + message_id] = Said(message_id, role)
        self.messages.add(message_id)
        self.last.items.append(said)
        return said

    def _message(self, event: MessageUpdated) -> None:
        if event.role == "user":
            self._prompt(event)
            return
        if event.message_id in self.messages and "m:" + event.message_id not in self._items:
            return  # one of an earlier stretch is closed
        said = self._said(event.message_id, event.role)
        if event.text is not None:
            said.parts = [event.text]
        if event.images is not None:
            said.images = event.images
        said.final = event.final

    def _prompt(self, event: MessageUpdated) -> None:
        last = self.last
        text = event.text or ""
        echo = not self._whole and not self._turn_begins and text == last.prompt
        if last.empty and len(self.stretches) > 1 and (echo or event.message_id == last.prompt_id):
            last.prompt, last.prompt_id = text, event.message_id
            return
        self._turn_begins = False
        if self.unsure:
            self.unsure -= 1
        elif not self._whole:
            self._let_go()
        self._items, self._open = {}, None
        self.stretches.append(Stretch(text, event.message_id, event.images))

    def _let_go(self) -> None:
        """Forget what followed all prompts so far, but for calls that are not over."""
        for stretch in self.latest():
            for call in stretch.calls():
                if not call.over:
                    self.running[call.id] = call
            stretch.items, stretch.others = [], []

    def _called(self, call_id: str) -> Called:
        item = self._items.get("c:" + call_id)
        if isinstance(item, Called):
            return item
        if call_id in self.running:
            return self.running[call_id]
        called = self._items["c:" + call_id] = Called(call_id, ToolCallUpdated(call_id))
        self.last.items.append(called)
        return called

    def _call(self, event: ToolCallUpdated) -> None:
        if event.replaces:
            draft = self._items.pop("c:" + event.replaces, None)
            if isinstance(draft, Called):
                draft.id = draft.known.call_id = event.call_id
                self._items["c:" + event.call_id] = draft
        called = self._called(event.call_id)
        for name in _CALL_FIELDS:
            value = getattr(event, name)
            if value is not None:
                setattr(called.known, name, value)
        if event.output is not None:
            called.output = [event.output]
        if called.over:
            self.running.pop(called.id, None)
