"""The agent's messages: blocks of text and thinking as they stream, and the whole of them when they are over.

The view is built from the deltas and the ``*_end`` events; of a ``message_start`` nothing is shown (omp's holds text that
the deltas then repeat), and ``message`` and ``partial`` of an update are never read: they grow with every token.
:class:`Messages` knows neither turns nor tools; it hands both on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ...events import Event, MessageUpdated, Role, TextAppended, UnknownReceived
from ..base import Texts
from . import read

_ELIDED = re.compile(r"…\[\d+ chars elided for RPC frame\]\s*\Z")
"""What protocol v1 of omp puts in the place of text that made a line too long."""

ToolBlock = Callable[[str, dict[str, Any], "list[Event]"], None]


class Block:
    """One text or thinking block of the message being written. Its pieces are joined now and then: a million of two
    characters each would take thirty times the room of their text."""

    __slots__ = ("_joined", "_pieces", "closed", "id", "role")

    def __init__(self, block_id: str, role: Role) -> None:
        self.id = block_id
        self.role = role
        self.closed = False
        self._joined: list[str] = []
        self._pieces: list[str] = []

    def add(self, pieces: Sequence[str]) -> None:
        """The next pieces of its text."""
        self._pieces += pieces
        if len(self._pieces) > 1000:
            self._joined.append("".join(self._pieces))
            self._pieces.clear()

    def text(self) -> str:
        """What was streamed of it."""
        self._joined = ["".join(self._joined + self._pieces)]
        self._pieces.clear()
        return self._joined[0]

    def replace(self, text: str) -> None:
        """It is that text and no other."""
        self._joined, self._pieces = [text], []


class Messages:
    """The message the agent is writing.

    Args:
        tool: told of ``toolcall_start`` ("start"), ``toolcall_end`` and the calls in a ``message_end`` ("end").
    """

    def __init__(self, tool: ToolBlock) -> None:
        self._tool = tool
        self._serial = 0
        self._blocks: dict[int, Block] = {}
        self._stream: Block | None = None  # where the next text_delta goes with no further ado …
        self._index: Any = None  # … if it is of this block

    # ---- streaming -------------------------------------------------------------------------------------------------

    def update(self, value: dict[str, Any], out: list[Event]) -> None:
        """``message_update``: the hot path, one per token."""
        event = value.get("assistantMessageEvent")
        if type(event) is not dict:
            out.append(UnknownReceived("message_update", _without(value)))
            return
        kind = event.get("type")
        if kind == "text_delta" or kind == "thinking_delta":
            delta = event.get("delta")
            if type(delta) is str and delta:
                block = self._block(event.get("contentIndex"), "assistant" if kind == "text_delta" else "thought")
                if block.role == "assistant":
                    self._stream, self._index = block, event.get("contentIndex")
                else:
                    self._stream = None
                block.add((delta,))
                out.append(TextAppended(block.id, delta, block.role))
        elif kind == "text_end" or kind == "thinking_end":
            self._end_block(event, "assistant" if kind == "text_end" else "thought", out)
        elif kind == "toolcall_start":
            self._stream = None
            self._tool("start", self._draft(event), out)
        elif kind == "toolcall_end":
            self._stream = None
            self._tool("end", read.fields(event.get("toolCall")), out)
        elif kind not in ("start", "text_start", "thinking_start", "toolcall_delta", "done", "error", "image_end"):
            out.append(UnknownReceived("message_update", _without(value)))

    def texts(self, values: Sequence[Any], at: int) -> Texts | None:
        """The ``text_delta`` of the block being written that come next, in one."""
        stream = self._stream
        if stream is None:
            return None
        pieces: list[str] = []
        for n in range(at, len(values)):
            value = values[n]
            if type(value) is not dict or value.get("type") != "message_update":
                break
            event = value.get("assistantMessageEvent")
            if type(event) is not dict or event.get("type") != "text_delta" or event.get("contentIndex") != self._index:
                break
            delta = event.get("delta")
            if type(delta) is not str or not delta:
                break
            pieces.append(delta)
        stream.add(pieces)
        return Texts(stream.id, "assistant", pieces) if pieces else None

    # ---- its beginning and its end -----------------------------------------------------------------------------------

    def start(self, out: list[Event]) -> None:
        """``message_start`` of the agent's: nothing to show yet."""
        self.forget()

    def end(self, message: dict[str, Any], out: list[Event]) -> None:
        """``message_end``: the whole message. What was streamed is not told twice, what differs is put right.

        One that was cut off stays open, so that the end of its turn marks it as interrupted.
        """
        whole = message.get("stopReason") not in ("error", "aborted")
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        seen = set()
        for index, item in enumerate(blocks if isinstance(blocks, list) else ()):
            kind = item.get("type") if isinstance(item, dict) else None
            if kind == "text" or kind == "thinking":
                seen.add(index)
                said = read.text(item.get(kind))
                role: Role = "assistant" if kind == "text" else "thought"
                known = self._blocks.get(index)
                if known is not None and known.role != role:
                    del self._blocks[index]
                    known = None
                if known is not None or said:
                    self._finish(self._block(index, role), said, whole, out)
            elif kind == "toolCall":
                self._tool("end", item, out)
        pictures = read.images(blocks)
        if pictures:
            out.append(MessageUpdated(self._new_id("m"), images=pictures, final=True))
        for index, block in self._blocks.items():
            if index not in seen and not block.closed and (whole or block.role == "thought"):
                out.append(MessageUpdated(block.id, block.role, final=True))
        self.forget()

    def forget(self) -> None:
        """The message is over, or will not be."""
        self._blocks, self._stream = {}, None

    def say(self, text: str, out: list[Event]) -> None:
        """A message of its own, whole: what a local command put out."""
        out.append(MessageUpdated(self._new_id("m"), text=text, final=True))

    def user(self, text: str, message: dict[str, Any], out: list[Event], *, ours: bool) -> None:
        """The agent has read a message (ours: its pictures are shown already)."""
        pictures = None if ours else read.images(message.get("content"), message.get("attachments")) or None
        out.append(MessageUpdated(self._new_id("u"), "user", text, final=True, images=pictures))

    # ---- within ------------------------------------------------------------------------------------------------------

    def _block(self, index: Any, role: Role) -> Block:
        key = index if type(index) is int else -1
        block = self._blocks.get(key)
        if block is None or block.role != role:
            block = self._blocks[key] = Block(self._new_id("m" if role == "assistant" else "t"), role)
        return block

    def _end_block(self, event: dict[str, Any], role: Role, out: list[Event]) -> None:
        self._stream = None
        content = read.text(event.get("content"))
        index = event.get("contentIndex")
        if content or index in self._blocks:
            self._finish(self._block(index, role), content, True, out)

    def _finish(self, block: Block, content: str, whole: bool, out: list[Event]) -> None:
        """The block is over: ``content`` wins over the deltas, but for text that was only cut to fit a line."""
        streamed = block.text()
        cut = _ELIDED.search(content)
        if cut and len(streamed) > cut.start() and streamed.startswith(content[: cut.start()]):
            content = streamed
        same = not content or content == streamed
        if not same:
            block.replace(content)
        if not same or (whole and not block.closed):
            out.append(MessageUpdated(block.id, block.role, None if same else content, final=whole))
            block.closed = whole

    def _draft(self, event: dict[str, Any]) -> dict[str, Any]:
        """The id and name of a call that begins: pi gives them, omp has them in ``partial`` (read once a call)."""
        if "toolName" in event:
            return {"id": event.get("id"), "name": event.get("toolName")}
        content = read.fields(event.get("partial")).get("content")
        index = event.get("contentIndex")
        if isinstance(content, list) and type(index) is int and 0 <= index < len(content):
            return read.fields(content[index])
        return {}

    def _new_id(self, prefix: str) -> str:
        self._serial += 1
        return f"{prefix}{self._serial}"


def _without(value: dict[str, Any]) -> dict[str, Any]:
    """An update without what grows with every token."""
    event = value.get("assistantMessageEvent")
    kept = {k: v for k, v in value.items() if k not in ("message", "assistantMessageEvent")}
    if isinstance(event, dict):
        kept["assistantMessageEvent"] = {k: v for k, v in event.items() if k != "partial"}
    return kept
