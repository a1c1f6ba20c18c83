"""Our own messages when the agent sends them back: never shown twice (ACP, user_message and user_message_chunk).

An echo may come in pieces, before or after the prompt's answer, with our text or with more around it. Its pieces are held
until they are ours or can no longer be; then it is told once that the agent has read the message. What another client
wrote, or a loaded session holds, becomes a message of its own.
"""

from __future__ import annotations

from typing import Any

from ...events import Event, Image, MessageUpdated
from ...transcript import Rope
from . import lenient as read
from .content import all_said, for_people, said


class Own:
    """The prompts we sent and the agent has not sent back, and the one that is coming back.

    Args:
        version: with 1 the agent need not send a prompt back, so whoever sends it tells that it was read; with 2 the
            echo tells it.
    """

    def __init__(self, version: int) -> None:
        self._version = version
        self._sent: list[tuple[str, bool]] = []  # text, and whether it was told that it was read
        self._serial = 0
        self._wire_id: str | None = None  # of the message that is coming in
        self._text = Rope()
        self._length = 0
        self._images: list[Image] = []
        self._settled = False  # it was told, or was an echo: its further pieces say nothing new

    @property
    def coming(self) -> bool:
        """Is a message of the person's coming in?"""
        return self._wire_id is not None

    def sent(self, text: str, *, told: bool = False) -> None:
        """This prompt is on its way. ``told``: whoever sends it has told that it was read."""
        self._sent.append((text, told or self._version == 1))
        del self._sent[:-50]  # an agent that never sends them back

    def read(self, out: list[Event]) -> None:
        """The agent took the oldest prompt that was not told as read (v2, the prompt's answer): its echo adds nothing."""
        for at, (text, told) in enumerate(self._sent):
            if not told:
                self._sent[at] = (text, True)
                self._tell(text, [], out)
                return

    def chunk(self, wire_id: str, block: dict[str, Any], out: list[Event]) -> None:
        """A piece of a message of the person's. Raises ``Malformed``."""
        if self._wire_id is not None and wire_id != self._wire_id:
            self.close(out)
        if not for_people(block):
            return
        piece = said(block)
        if self._wire_id is None and not piece.text and not piece.images:
            return
        self._wire_id = wire_id
        if self._settled:
            return
        text = piece.text if block.get("type") == "text" or not self._text else f"\n{piece.text}"
        self._text.append(text)
        self._length += len(text)
        self._images += piece.images
        near = any(abs(len(ours) - self._length) < 64 for ours, _ in self._sent)  # else it is not worth the comparison
        if near and self._echo(out, exactly=True):
            self._settled = True

    def whole(self, wire_id: str, blocks: list[Any], out: list[Event]) -> None:
        """A whole message of the person's (v2)."""
        if self._settled and wire_id == self._wire_id:
            return
        if self._wire_id is not None and wire_id != self._wire_id:
            self.close(out)
        if not blocks:  # emptied: what follows in pieces is the message (codex-acp, a loaded session)
            self._begin(wire_id, "", [])
            return
        for_us = [block for block in blocks if for_people(block)]
        content = all_said(for_us)
        words = all_said([b for b in for_us if read.fields(b).get("type") == "text"]).text
        self._begin(wire_id, words, content.images)
        if not self._echo(out, exactly=True):
            self._begin(wire_id, content.text, content.images)
            if not self._echo(out, exactly=False) and (content.text or content.images):
                self._tell(content.text, content.images, out)
        self._settled = True

    def close(self, out: list[Event]) -> None:
        """Something else follows: the message that was coming in is whole."""
        if self._wire_id is None:
            return
        if not self._settled and not self._echo(out, exactly=False) and (self._text or self._images):
            self._tell(str(self._text), self._images, out)
        self._begin(None, "", [])
        self._settled = False

    def _begin(self, wire_id: str | None, text: str, images: list[Image]) -> None:
        self._wire_id, self._text, self._length, self._images = wire_id, Rope(text), len(text), images

    def _echo(self, out: list[Event], *, exactly: bool) -> bool:
        """Whether the message coming in is a prompt of ours; then it is told as read, once."""
        at = self._place(str(self._text).strip(), exactly)
        if at is None:
            return False
        text, told = self._sent.pop(at)
        if not told:
            self._tell(text, [], out)
        return True

    def _place(self, came: str, exactly: bool) -> int | None:
        for at, (text, _) in enumerate(self._sent):
            ours = text.strip()
            if came == ours or (not exactly and ours and (came.startswith(ours) or came.endswith(ours))):
                return at
        if exactly or self._version == 1:
            return None
        # a v2 agent sends every prompt back: it is the oldest one, in other words
        return next((at for at, (_, told) in enumerate(self._sent) if not told), None)

    def _tell(self, text: str, images: list[Image], out: list[Event]) -> None:
        self._serial += 1
        out.append(MessageUpdated(f"own{self._serial}", "user", text, final=True, images=images or None))
