"""Messages and thoughts of the agent, and our own when they come back (ACP reference, section 6).

v1 may leave message ids out, so they are made up here: a chunk goes on with the open message of its role, and a call, another
role or another id closes it. In v2 every message has an id, several may be written at once, and a whole message replaces
what was streamed. Ids of messages, thoughts and the person's messages are spaces of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ...events import Event, Image, MessageUpdated, Role, TextAppended
from ..base import Texts
from . import lenient as read
from .content import all_said, said
from .lenient import KEEP, Malformed
from .own import Own

_PREFIX = {"assistant": "a", "thought": "t"}
_ROLES: dict[str, Role] = {"agent_message_chunk": "assistant", "agent_thought_chunk": "thought"}


@dataclass(slots=True)
class _Message:
    """A message being written. ``id`` is ours, ``wire_id`` the agent's ("": none); ``told``: it is in the transcript."""

    id: str
    role: Role
    wire_id: str
    told: bool = False
    open: bool = True
    images: list[Image] = field(default_factory=list)


class Messages:
    """What is being written, in the main session.

    Args:
        version: 1 or 2, of the protocol.
    """

    def __init__(self, version: int) -> None:
        self._version = version
        self._serial = 0
        self._current: _Message | None = None  # v1: the one message that is written
        self._known: dict[tuple[Role, str], _Message] = {}  # v2
        self._open: list[_Message] = []  # … of them, those being written
        self.own = Own(version)

    # ---- what the agent tells ----------------------------------------------------------------------------------------

    def chunk(self, role: Role, value: dict[str, Any], out: list[Event]) -> None:
        """``agent_message_chunk``, ``agent_thought_chunk``: the next piece. Raises ``Malformed``."""
        block = value.get("content")
        wire_id = value.get("messageId")
        if not isinstance(wire_id, str):
            wire_id = ""
        if type(block) is dict and block.get("type") == "text" and type(block.get("text")) is str:  # the hot path
            text, images = block["text"], None
        else:
            whole = said(block)
            text, images = whole.text, whole.images or None
        if not text and not images:
            return
        self.own.close(out)
        message = self._message(role, wire_id, out)
        if text:
            message.told = True
            out.append(TextAppended(message.id, text, role))
        if images and role == "thought":
            message.told = True
            out.append(TextAppended(message.id, "[A picture]", role))
        elif images:
            message.told = True
            message.images += images
            out.append(MessageUpdated(message.id, role, images=list(message.images)))

    def texts(self, updates: Iterable[dict[str, Any]]) -> Texts | None:
        """What :meth:`chunk` would tell of the updates at the head that are plain pieces of one message being written, in
        one. None: the first is not that. Each update costs a token's time, so nothing is called for it."""
        message: _Message | None = None
        pieces: list[str] = []
        kind = wire_id = None
        for update in updates:
            block = update.get("content")
            if type(block) is not dict or block.get("type") != "text":
                break
            text = block.get("text")
            if type(text) is not str or not text:
                break
            if message is None:
                kind, wire_id = update.get("sessionUpdate"), update.get("messageId")
                message = self._written(kind, wire_id)
                if message is None:
                    break
            elif update.get("sessionUpdate") != kind or update.get("messageId") != wire_id:
                break
            pieces.append(text)
        if message is None:
            return None
        message.told = True
        return Texts(message.id, message.role, pieces)

    def whole(self, role: Role, value: dict[str, Any], out: list[Event]) -> None:
        """``agent_message``, ``agent_thought`` (v2): content left out keeps, null or ``[]`` clears, a list replaces."""
        wire_id = read.need_text(value, "messageId")
        given = value.get("content", KEEP)
        if given is KEEP or not (given is None or isinstance(given, list)):
            return
        self.own.close(out)
        content = all_said(given)
        known = self._known.get((role, wire_id))
        if not content.text and not content.images and (known is None or not known.told):
            return
        message = self._message(role, wire_id, out)
        message.images = content.images if role == "assistant" else []
        message.told = True
        out.append(
            MessageUpdated(
                message.id,
                role,
                content.text,
                final=not message.open,
                images=list(message.images) if role == "assistant" else None,
            )
        )

    def user_chunk(self, value: dict[str, Any], out: list[Event]) -> None:
        """``user_message_chunk``: our prompt coming back, or what another client wrote. Raises ``Malformed``."""
        if not isinstance(value.get("content"), dict):
            raise Malformed("content is not an object")
        self._close_current(out)
        self.own.chunk(read.text(value.get("messageId")), value["content"], out)

    def user_whole(self, value: dict[str, Any], out: list[Event]) -> None:
        """``user_message`` (v2). Raises ``Malformed``."""
        wire_id = read.need_text(value, "messageId")
        if isinstance(value.get("content"), list):
            self._close_current(out)
            self.own.whole(wire_id, value["content"], out)

    # ---- what else happens -------------------------------------------------------------------------------------------

    def new_call(self, out: list[Event]) -> None:
        """A tool call appears: what was being written stands above it, and ends there."""
        self.own.close(out)
        self._close_current(out)
        self._close_known(out)

    def begin_turn(self, out: list[Event]) -> None:
        """A turn begins; what was written between turns is closed."""
        self.close(out)

    def end_turn(self, out: list[Event], *, finished: bool) -> None:
        """The turn ends. Unless it ``finished``, what is open stays so, and is marked as cut off by the turn's end."""
        self.own.close(out)
        if finished:
            self.close(out)
        self._current = None
        for message in self._open:
            message.open = False
        self._open.clear()

    def close(self, out: list[Event]) -> None:
        """Nothing of what was written goes on."""
        self.own.close(out)
        self._close_current(out)
        self._close_known(out)

    # ---- within ------------------------------------------------------------------------------------------------------

    def _message(self, role: Role, wire_id: str, out: list[Event]) -> _Message:
        if self._version == 1 or not wire_id:
            current = self._current
            if current is not None and current.role == role and (not wire_id or wire_id == current.wire_id):
                return current
            self._close_current(out)
            self._close_known(out)
            self._serial += 1
            self._current = _Message(f"{_PREFIX[role]}{self._serial}", role, wire_id)
            return self._current
        message = self._known.get((role, wire_id))
        if message is None:
            self._close_known(out)
            message = self._known[role, wire_id] = _Message(f"{_PREFIX[role]}:{wire_id}", role, wire_id)
            self._open.append(message)
        elif not message.open:
            message.open = True  # several are written at once, or one goes on after a call
            self._open.append(message)
            if message.told:
                out.append(MessageUpdated(message.id, role))
        return message

    def _written(self, kind: Any, wire_id: Any) -> _Message | None:
        """The message that a chunk of this kind goes on with, where it changes nothing else. None: :meth:`chunk` knows."""
        role = _ROLES.get(kind) if type(kind) is str else None
        if role is None or self.own.coming:
            return None
        if self._version == 1 or wire_id is None:
            message = self._current
            same = message is not None and message.role == role and (wire_id is None or wire_id == message.wire_id)
            return message if same else None
        message = self._known.get((role, wire_id)) if type(wire_id) is str else None
        return message if message is not None and message.open and message.told else None

    def _close_current(self, out: list[Event]) -> None:
        if self._current is not None:
            out.append(MessageUpdated(self._current.id, self._current.role, final=True))
            self._current = None

    def _close_known(self, out: list[Event]) -> None:
        for message in self._open:
            message.open = False
            if message.told:
                out.append(MessageUpdated(message.id, message.role, final=True))
        self._open.clear()
