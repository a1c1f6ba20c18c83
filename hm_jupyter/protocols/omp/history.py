"""The messages of a session that is taken up again, as the events they would have led to.

``get_messages`` gives them whole and without a time; each of the person's messages begins a turn. It is pure: messages in,
events out. Roles we do not know are kept as they are.
"""

from __future__ import annotations

from typing import Any

from ...events import (
    CompactionEnded,
    Event,
    MessageUpdated,
    NoticeRaised,
    ToolCallUpdated,
    TurnEnded,
    TurnStarted,
    UnknownReceived,
)
from . import read
from .bash import TOLD, UNTOLD, result
from .calls import Calls

HIDDEN = frozenset({"system", "developer", "fileMention", "hookMessage"})
"""Roles of messages that the agent writes for the model alone."""


def earlier(messages: Any) -> list[Event]:
    """The events of earlier messages, turn by turn."""
    out: list[Event] = []
    told = _Teller(out)
    for number, message in enumerate(read.objects(messages)):
        told.message(message, number)
    told.end()
    return out


class _Teller:
    def __init__(self, out: list[Event]) -> None:
        self._out = out
        self._calls = Calls()
        self._open = False

    def message(self, message: dict[str, Any], number: int) -> None:
        role = read.text(message.get("role"))
        if role in HIDDEN:
            return
        if role == "user":
            self.end()
        self._begin()
        if role == "user":
            said = read.content_text(message.get("content"))
            pictures = read.images(message.get("content"), message.get("attachments")) or None
            self._out.append(MessageUpdated(f"h{number}", "user", said, final=True, images=pictures))
        elif role == "assistant":
            self._assistant(message, number)
        elif role == "toolResult":
            self._calls.result(message, self._out)
        elif role == "bashExecution":
            self._bash(message, number)
        elif role in ("compactionSummary", "branchSummary"):
            self._out.append(CompactionEnded(read.text(message.get("summary"))))
        else:
            other(message, self._out)

    def end(self) -> None:
        if self._open:
            self._out.append(TurnEnded())
        self._open = False

    def _begin(self) -> None:
        if not self._open:
            self._open = True
            self._calls.new_turn()
            self._out.append(TurnStarted(earlier=True))

    def _assistant(self, message: dict[str, Any], number: int) -> None:
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        for index, block in enumerate(read.objects(content)):
            kind = block.get("type")
            said = read.text(block.get("text" if kind == "text" else "thinking"))
            if kind == "toolCall":
                self._calls.block("end", block, self._out)
            elif said:
                role: Any = "assistant" if kind == "text" else "thought"
                self._out.append(MessageUpdated(f"h{number}:{index}", role, said, final=True))

    def _bash(self, message: dict[str, Any], number: int) -> None:
        command = read.text(message.get("command"))
        where = UNTOLD if message.get("excludeFromContext") is True else TOLD.replace("goes", "went")
        shown = f"{command.split(chr(10), 1)[0][:200]} ({where})"
        card = f"bash:h{number}"
        self._out.append(ToolCallUpdated(card, "bash", shown, "shell", "running", {"command": command}))
        self._out.append(result(card, message))


def other(message: dict[str, Any], out: list[Event]) -> None:
    """A message of another role. ``custom`` ones say themselves whether they are for people (a background result)."""
    role = read.text(message.get("role"))
    if role in HIDDEN:
        return
    if role == "custom":
        if message.get("display") is not False:
            kind = read.text(message.get("customType")).replace("-", " ") or "message"
            said = read.content_text(message.get("content")).strip()
            out.append(NoticeRaised(f"{kind}: what was left running has something to say." if kind == "async result"
                                    else f"A message of the agent's own ({kind}).", "info", said))  # fmt: skip
        return
    out.append(UnknownReceived(role or "message", message))
