"""The agent's messages as the hm wire streams them: each told once, in one piece, and no empty ones.

:class:`Messages` holds the message and the thought being written. It does not know turns (it is told how to begin one)
nor our own messages that come back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..events import Event, MessageUpdated, TextAppended, UnknownReceived
from . import hm_read as read
from .base import Texts


class Messages:
    """What the agent is writing now.

    Args:
        begin: called before the first event of anything that can only be part of a turn.
    """

    def __init__(self, begin: Callable[[list[Event]], None]) -> None:
        self._begin = begin
        self._serial = 0
        self._message = ""  # the message being written ("": none, or nothing of it yet)
        self._parts: list[str] = []
        self._thought = ""
        self._stream: str | None = None  # where the next text_delta goes with no further ado

    def text_delta(self, value: dict[str, Any], out: list[Event]) -> None:
        """``text_delta``: the hot path, one per token."""
        text = value.get("text")
        if type(text) is not str:
            out.append(UnknownReceived("text_delta", value))
            return
        stream = self._stream
        if stream is None:
            if not text:
                return
            self._begin(out)
            self.close_thought(out)
            self._message = self._message or self.new_id("m")
            stream = self._stream = self._message
        self._parts.append(text)
        out.append(TextAppended(stream, text))

    def texts(self, values: Sequence[Any], at: int) -> Texts | None:
        """The ``text_delta`` of the message being written that come next, in one."""
        if self._stream is None:
            return None
        pieces: list[str] = []
        for n in range(at, len(values)):
            value = values[n]
            if type(value) is not dict or value.get("type") != "text_delta" or "agent" in value:
                break
            text = value.get("text")
            if type(text) is not str:
                break
            pieces.append(text)
        self._parts += pieces
        return Texts(self._stream, "assistant", pieces) if pieces else None

    def thinking_delta(self, value: dict[str, Any], out: list[Event]) -> None:
        """``thinking_delta`` (an extension)."""
        text = read.text(value.get("text"))
        if text:
            self._begin(out)
            self._stream = None
            self._thought = self._thought or self.new_id("t")
            out.append(TextAppended(self._thought, text, "thought"))

    def start(self, out: list[Event]) -> None:
        """``message_start``: nothing to show yet, for a message of tool calls only leaves no empty bubble."""
        self._begin(out)
        self.close_thought(out)
        if self._parts:
            out.append(MessageUpdated(self._message, final=True))
        self.forget()

    def end(self, text: str, whole: bool, out: list[Event], *, entry: str = "") -> None:
        """``message_end``, with the whole text: what was streamed is not told twice, what differs is put right.

        One that was cut off (``whole`` false) stays open, so that the end of its turn marks it as interrupted.
        """
        self.close_thought(out)
        if self._parts:
            # "" with text streamed is an agent that leaves the text out: what was read stays.
            same = not text or text == "".join(self._parts)
            if whole or not same or entry:
                out.append(MessageUpdated(self._message, text=None if same else text, final=whole, entry=entry))
        elif text:
            self._begin(out)
            out.append(MessageUpdated(self.new_id("m"), text=text, final=whole, entry=entry))
        self.forget()

    def close_thought(self, out: list[Event]) -> None:
        """A thought ends where something else begins."""
        if self._thought:
            out.append(MessageUpdated(self._thought, "thought", final=True))
            self._thought = ""

    def forget(self) -> None:
        """The message is over, or will not be."""
        self._message, self._parts, self._stream = "", [], None

    def new_id(self, prefix: str) -> str:
        """An id that no message of this session had."""
        self._serial += 1
        return f"{prefix}{self._serial}"
