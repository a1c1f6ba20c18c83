"""One session of the agent: its settings, its conversation, what it has used. Held in memory.

Saved sessions come with a later issue: a store will load and save exactly these fields. Knows no wire beyond the shape
of a session in ``data`` (hm RPC, "Commands").
"""

from __future__ import annotations

import copy
import secrets
import time
from dataclasses import dataclass, field
from typing import Any

from .messages import Message, Usage, size, tokens
from .tools.workspace import Workspace

SYSTEM_TOKENS = 600
"""About what instructions and tool descriptions add to every call."""


def new_session_id() -> str:
    """A session id that sorts by time."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(3)}"


@dataclass(slots=True)
class Session:
    """The fields of a session. ``rules`` are what "allow for session" has allowed."""

    workspace: Workspace
    mode: str
    provider: str
    model: str = ""
    effort: str = ""
    id: str = field(default_factory=new_session_id)
    title: str = ""
    fork_of: str = ""
    history: list[Message] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    rules: set[str] = field(default_factory=set)
    refused: list[dict[str, str]] = field(default_factory=list)
    answer: str = ""
    calls: int = 0
    entries: int = 0

    def new_entry(self) -> str:
        """The next message's id."""
        self.entries += 1
        return f"e{self.entries}"

    def new_call(self) -> str:
        """The next tool call's id."""
        self.calls += 1
        return f"call_{self.calls:02d}"

    @property
    def context(self) -> int:
        """About how many tokens the next model call sends."""
        return SYSTEM_TOKENS + tokens(sum(size(m) for m in self.history))

    def forked(self, entry: str) -> Session:
        """A new session with the conversation up to and including ``entry`` ("": all of it).

        Raises ``KeyError`` for an entry that is not there. A call in the middle of a batch brings its whole batch, so
        that no call is left without a result.
        """
        end = len(self.history)
        if entry:
            end = next((i + 1 for i, m in enumerate(self.history) if m.id == entry), 0)
            if not end:
                raise KeyError(entry)
            while end < len(self.history) and self.history[end].role == "tool":
                end += 1
        return Session(
            self.workspace, self.mode, self.provider, self.model, self.effort,
            title=self.title, fork_of=self.id, history=copy.deepcopy(self.history[:end]),
            usage=copy.copy(self.usage), rules=set(self.rules), answer=self.answer,
            calls=self.calls, entries=self.entries,
        )  # fmt: skip

    def to_json(self, *, running: bool, status: str) -> dict[str, Any]:
        """The session as it stands in ``data`` (hm RPC, "Commands", last paragraph)."""
        out: dict[str, Any] = {
            "id": self.id,
            "title": self.title,
            "root": str(self.workspace.root),
            "mode": self.mode,
            "provider": self.provider,
            "model": self.model,
            "status": status,
            "running": running,
            "saved": False,
            "context": self.context,
            "usage": self.usage.to_json(),
        }
        if self.effort:
            out["effort"] = self.effort
        if self.fork_of:
            out["fork_of"] = self.fork_of
        return out
