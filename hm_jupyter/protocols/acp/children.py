"""Sub-agents: child sessions whose updates arrive on the same connection (ACP, unstable: subagent_update, session_message).

Each is shown as one call of category "agent", with the id ``sub:<session>``: what it writes is that call's output, the
calls it makes carry it as their parent. What it thinks is left out. Its calls themselves are :mod:`.calls`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...events import Event, ToolCallUpdated, ToolOutputAppended, ToolStatus, UnknownReceived
from ...transcript import Rope
from . import lenient as read
from .content import all_said, said

_GAP = "\n\n"


@dataclass(slots=True)
class Child:
    """A sub-agent. ``texts``: its messages in order, by id."""

    session: str
    status: ToolStatus = "running"
    prompt: str = ""
    texts: dict[str, Rope] = field(default_factory=dict)
    cancelable: bool = False

    @property
    def key(self) -> str:
        """The id of its call."""
        return f"sub:{self.session}"

    def output(self) -> str:
        """All it wrote."""
        return _GAP.join(str(text) for text in self.texts.values() if text)


@dataclass(slots=True)
class _Letter:
    """A message between sessions."""

    sender: str = ""
    recipient: str = ""
    text: str = ""
    told: int = 0


class Children:
    """The sub-agents of a connection."""

    def __init__(self) -> None:
        self._all: dict[str, Child] = {}
        self._letters: dict[tuple[str, str], _Letter] = {}

    def get(self, session: str) -> Child | None:
        """The sub-agent whose session that is."""
        return self._all.get(session)

    # ---- on the parent's session -------------------------------------------------------------------------------------

    def announced(self, parent: str, value: dict[str, Any], out: list[Event]) -> None:
        """``subagent_update``: omitted keeps, null clears. Raises ``Malformed``."""
        session = read.need_text(value, "sessionId")
        child = self._all.get(session)
        told = ToolCallUpdated(f"sub:{session}")
        if child is None:
            child = self._all[session] = Child(session)
            told.name, told.title, told.category, told.status = "subagent", "Sub-agent", "agent", "running"
            if parent in self._all:
                told.parent = f"sub:{parent}"
        if isinstance(value.get("title"), str):
            told.title = value["title"] or "Sub-agent"
        if isinstance(value.get("description"), str) and value["description"] and not child.prompt:
            told.input = {"description": value["description"]}
        if "capabilities" in value:
            child.cancelable = isinstance(read.fields(value["capabilities"]).get("cancel"), dict)
            told.cancelable = child.cancelable
        if told != ToolCallUpdated(child.key):
            out.append(told)
        if isinstance(value.get("state"), dict):
            self.state(child, value["state"], out)

    def letter(self, session: str, value: dict[str, Any], out: list[Event]) -> None:
        """``session_message``: to a sub-agent it is its task, from one it is part of what it says. Raises ``Malformed``."""
        message_id = read.need_text(value, "messageId")
        letter = self._letters.setdefault((session, message_id), _Letter())
        for name in ("sender", "recipient"):
            field_name = f"{name}SessionId"
            if field_name in value:
                setattr(letter, name, read.text(value[field_name]))
        if value.get("content", 0) is None or isinstance(value.get("content"), list):
            letter.text, letter.told = all_said(value["content"]).text, 0
        child = self._told(session, letter, out)
        if child is None and (letter.sender or letter.recipient):
            out.append(UnknownReceived("session_message", value))

    def letter_chunk(self, session: str, value: dict[str, Any], out: list[Event]) -> None:
        """``session_message_chunk``: held until it is known between whom. Raises ``Malformed``."""
        letter = self._letters.setdefault((session, read.need_text(value, "messageId")), _Letter())
        letter.text += said(value.get("content")).text
        self._told(session, letter, out)

    # ---- on its own session ------------------------------------------------------------------------------------------

    def state(self, child: Child, value: dict[str, Any], out: list[Event]) -> None:
        """A ``state_update`` of the sub-agent's: it is done for now when it is idle."""
        status: ToolStatus = "running"
        if value.get("state") == "idle":
            reason = value.get("stopReason")
            status = "interrupted" if reason == "cancelled" else "failed" if reason == "error" else "completed"
        if status != child.status:
            again = child.status != "running" and status == "running"
            child.status = status
            out.append(ToolCallUpdated(child.key, "subagent" if again else None, status=status))

    def chunk(self, child: Child, value: dict[str, Any], out: list[Event]) -> None:
        """``agent_message_chunk`` of a sub-agent. Raises ``Malformed``."""
        self._say(child, read.text(value.get("messageId")), said(value.get("content")).text, out)

    def whole(self, child: Child, value: dict[str, Any], out: list[Event]) -> None:
        """``agent_message`` of a sub-agent (v2). Raises ``Malformed``."""
        message_id = read.need_text(value, "messageId")
        if value.get("content", 0) is None or isinstance(value.get("content"), list):
            child.texts[message_id] = Rope(all_said(value["content"]).text)
            out.append(ToolCallUpdated(child.key, output=child.output()))

    def prompt(self, child: Child, value: dict[str, Any], out: list[Event]) -> None:
        """``user_message`` and ``user_message_chunk`` of a sub-agent: its task. Raises ``Malformed``."""
        content = value.get("content")
        if value.get("sessionUpdate") == "user_message":
            self._ask(child, all_said(content).text, out)
        else:
            self._ask(child, child.prompt + said(content).text, out)

    # ---- within ------------------------------------------------------------------------------------------------------

    def _say(self, child: Child, message_id: str, text: str, out: list[Event]) -> None:
        if not text:
            return
        last = not child.texts or message_id == next(reversed(child.texts))
        written = child.texts.setdefault(message_id, Rope())
        goes_on = bool(written)
        written.append(text)
        if goes_on and not last:
            out.append(ToolCallUpdated(child.key, output=child.output()))
            return
        alone = goes_on or not any(said for key, said in child.texts.items() if key != message_id)
        out.append(ToolOutputAppended(child.key, text if alone else _GAP + text))

    def _ask(self, child: Child, prompt: str, out: list[Event]) -> None:
        if prompt and prompt != child.prompt:
            child.prompt = prompt
            out.append(ToolCallUpdated(child.key, input={"prompt": prompt}))

    def _told(self, session: str, letter: _Letter, out: list[Event]) -> Child | None:
        """Tell what of a letter was not told; the child it is to or from. A child's own view of it repeats the parent's."""
        to, by = self._all.get(letter.recipient), self._all.get(letter.sender)
        if to is not None:
            self._ask(to, letter.text, out)
            return to
        if by is not None and session != by.session:
            rest, letter.told = letter.text[letter.told :], len(letter.text)
            self._say(by, f"letter:{letter.sender}", rest, out)
        return by
