"""What a conversation is made of, as a model sees it: messages, tool calls, their results, and usage.

Knows no wire and no provider. Everything is plain data so that a saved session (a later issue) can hold it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["user", "assistant", "tool", "summary"]
Delivery = Literal["prompt", "steer", "follow_up", "agent"]
"""How a user message came; ``agent``: it is a sub-agent's answer, no person wrote it."""


@dataclass(slots=True)
class Usage:
    """Tokens (counts; ``input`` includes what came from the cache) and cost (US dollars)."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0

    def add(self, other: Usage) -> None:
        self.input += other.input
        self.output += other.output
        self.cache_read += other.cache_read
        self.cache_write += other.cache_write
        self.cost = round(self.cost + other.cost, 8)

    def to_json(self) -> dict[str, Any]:
        return {
            "input": self.input,
            "output": self.output,
            "cache_read": self.cache_read,
            "cache_write": self.cache_write,
            "cost": self.cost,
        }


@dataclass(slots=True)
class Picture:
    """An image for a model: base64 ``data``, its media type and its size in pixels (0: not known)."""

    data: str
    mime: str
    width: int = 0
    height: int = 0


@dataclass(slots=True)
class ToolCall:
    """A call the model wants made. ``error``: why it cannot be, where what the model wrote is no call."""

    id: str
    tool: str
    input: dict[str, Any]
    error: str = ""


@dataclass(slots=True)
class Message:
    """One message of the conversation. ``id`` is the entry id that ``fork`` takes.

    ``user`` messages say how they came (``delivery``); ``assistant`` ones hold ``calls``; a ``tool`` message is the
    result of ``call_id`` and says what became of it (``outcome``). ``private`` is the provider's own, kept with it.
    """

    id: str
    role: Role
    text: str = ""
    thinking: str = ""
    delivery: Delivery = "prompt"
    images: list[Picture] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    call_id: str = ""
    is_error: bool = False
    outcome: Literal["done", "denied", "skipped", "interrupted"] = "done"
    note: str = ""
    skipped_files: list[str] = field(default_factory=list)
    answer: str = ""
    private: Any = None


def size(message: Message) -> int:
    """About how many characters a model reads for ``message``."""
    calls = sum(len(c.tool) + sum(len(str(v)) for v in c.input.values()) for c in message.calls)
    return len(message.text) + calls + 6000 * len(message.images)


def tokens(characters: int) -> int:
    """Characters as tokens, roughly: four to one."""
    return (characters + 3) // 4
