"""What a crash or a damaged file left of a conversation, made such that a model takes it. Pure.

Providers refuse a call without its result, and a result without its call. Knows no file and no wire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .messages import Message

GONE = "Stopped: the agent ended before this call was done."
LOST = "The result of this call could not be read from the saved session."


ENDED = "the agent ended before the turn was over"

Event = dict[str, Any]


class OpenTurn:
    """Listens to what was told in a session, and knows what its last turn left open."""

    def __init__(self) -> None:
        self.ended = True
        self.summary: str | None = None
        """What a compaction that is not over has written already."""
        self._open: dict[str, str] = {}  # the calls that were told and have no result: their tools
        self._asked: set[str] = set()
        self._last = ""  # the newest entry that was told
        self._compacting = False

    def heard(self, event: Event) -> None:
        """One event, in their order."""
        kind, call_id = event.get("type"), event.get("call_id")
        if kind == "turn_end":
            self.ended = True
            self._open.clear()
            self._asked.clear()
        elif kind == "message_end":
            self._last = str(event.get("entry", self._last))
        elif kind in ("compaction_start", "compaction_end"):
            self._compacting, self.summary = kind == "compaction_start", None
        elif not isinstance(call_id, str):
            pass
        elif kind == "tool_call":
            self._open[call_id] = str(event.get("tool", ""))
        elif kind == "tool_result":
            self._open.pop(call_id, None)
        elif kind == "approval_needed":
            self._asked.add(call_id)
        elif kind == "approval":
            self._asked.discard(call_id)

    def compaction_end(self) -> list[Event]:
        """What is to be told of a compaction that nobody was told the end of."""
        if not self._compacting:
            return []
        if self.summary is None:
            return [{"type": "compaction_end", "summary": "", "error": "the agent ended; the context is as it was"}]
        return [{"type": "compaction_end", "summary": self.summary}]

    def closing(self, history: Sequence[Message], results: Sequence[Message]) -> list[Event]:
        """The events that end the turn. ``history`` ends with ``results``, those that were added to end it included."""
        last = next((m for m in reversed(history) if m.role in ("user", "assistant")), None)
        out: list[Event] = []
        if last is not None and last.id != self._last:
            out.append({"type": "message_end", "role": last.role, "text": last.text, "entry": last.id})
        for result in results:
            if result.call_id in self._open:
                out += self._result(result, {"call_id": result.call_id, "tool": self._open[result.call_id]})
        if results:
            out.append({"type": "message_end", "role": "tool", "text": ""})
        return [*out, {"type": "turn_end", "stop_reason": "error", "error": ENDED}]

    def _result(self, message: Message, head: Event) -> list[Event]:
        asked: list[Event] = []
        if message.call_id in self._asked:
            asked.append({"type": "approval", **head, "allow": False, "by": "agent", "note": "The agent ended."})
        more: Event = {"refused": True} if message.outcome == "denied" else {}
        if message.outcome in ("skipped", "interrupted"):
            more = {"outcome": message.outcome}
        text = {"text": message.text, "is_error": message.is_error, "entry": message.id}
        return [*asked, {"type": "tool_result", **head, **text, **more}]


def unanswered(history: Sequence[Message]) -> tuple[list[str], list[Message]]:
    """The calls at the end of ``history`` that have no result there, and the results that are."""
    results: list[Message] = []
    for message in reversed(history):
        if message.role != "tool":
            done = {m.call_id for m in results}
            return [c.id for c in message.calls if c.id not in done], results[::-1]
        results.append(message)
    return [], []


def interrupted(call_id: str, entry: str, text: str = GONE) -> Message:
    """The result of a call that was never done."""
    return Message(entry, "tool", text, call_id=call_id, is_error=True, outcome="interrupted")


def legal(history: Iterable[Message], new_entry: Callable[[], str]) -> list[Message]:
    """``history`` with each call's one result right behind it, and no other results."""
    out: list[Message] = []
    open_: dict[str, Message | None] = {}

    def close() -> None:
        out.extend(found or interrupted(id, new_entry(), LOST) for id, found in open_.items())
        open_.clear()

    for message in history:
        if message.role == "tool":
            if open_.get(message.call_id, message) is None:
                open_[message.call_id] = message
            continue
        close()
        out.append(message)
        open_.update(dict.fromkeys((c.id for c in message.calls), None))
    close()
    return out
