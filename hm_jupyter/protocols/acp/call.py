"""One tool call as ACP tells it, and what its fields come to in our words (ACP reference, section 6)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...events import FileDiff, Image, ToolStatus
from ...transcript import Rope
from .. import hm_read
from . import content, patches, raw_output
from . import lenient as read
from .lenient import Malformed
from .terminals import Terminal

CLOSED = frozenset({"completed", "failed", "interrupted"})

_CATEGORY = {
    "read": "read",
    "edit": "edit",
    "delete": "edit",
    "move": "edit",
    "search": "search",
    "execute": "shell",
    "fetch": "fetch",
}
_STATUS: dict[str, ToolStatus] = {
    "pending": "pending",
    "in_progress": "running",
    "paused": "paused",
    "completed": "completed",
    "failed": "failed",
    "cancelled": "interrupted",
    "canceled": "interrupted",
}


@dataclass(slots=True)
class Call:
    """What was told of a call.

    ``key`` is its id among our events, ``id`` the agent's, ``session`` the child session it belongs to ("" is the main
    one). ``announced``: the agent told of it by itself, and not only in asking for leave. ``parts``: its content in order,
    texts and terminals. ``shown``: the output as our events have told it. ``allowed``, ``denied``: what was last decided.
    """

    key: str
    id: str
    session: str = ""
    turn: int = 0
    name: str = ""
    title: str = ""
    kind: str = ""
    category: str = "other"
    status: ToolStatus = "pending"
    input: Any = None
    locations: list[str] = field(default_factory=list)
    diffs: list[FileDiff] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    parts: list[Rope | Terminal] = field(default_factory=list)
    raw: Any = None
    exit_code: int | None = None
    cancelable: bool = False
    announced: bool = True
    allowed: bool = False
    denied: bool = False
    shown: Rope = field(default_factory=Rope)

    @property
    def over(self) -> bool:
        """It came to its end, as far as the agent said."""
        return self.status in CLOSED

    def output(self) -> str:
        """Its output: the content, or, where that says nothing, the raw output."""
        out = ""
        for part in self.parts:
            text = str(part.written if isinstance(part, Terminal) else part)
            if text:
                out += ("\n" if out and not out.endswith("\n") else "") + text
        return raw_output.unfenced(out) if out else raw_output.words(self.raw)

    def forget(self) -> None:
        """Let go of what takes memory; the transcript has it."""
        self.parts, self.raw, self.shown, self.images = [], None, Rope(), []


@dataclass(slots=True)
class Content:
    """A call's ``content``, sorted: texts and terminal ids in order, changes, pictures."""

    parts: list[str | tuple[str]] = field(default_factory=list)
    diffs: list[FileDiff] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)

    def add(self, item: dict[str, Any], given: Any) -> None:
        """One ToolCallContent. ``given``: the call's input. Raises ``Malformed`` for one that cannot be read."""
        kind = item.get("type")
        if kind == "content":
            said = content.said(item.get("content"), whole=True)
            self.images += said.images
            self.parts.append(said.text)
        elif kind == "diff" and "changes" in item:
            diffs, words = patches.structured(item)
            self.diffs += diffs
            self.parts += words
        elif kind == "diff":
            diff = patches.old_and_new(item, given)
            if diff is None:
                raise Malformed("the diff has no path or no new text")
            self.diffs.append(diff)
        elif kind == "terminal":
            self.parts.append((read.need_text(item, "terminalId"),))
        elif isinstance(kind, str):
            self.parts.append(f"[Content of a kind not known here: {read.one_line(kind)}]")
        else:
            raise Malformed("the content has no type")


def content_of(items: list[Any], given: Any) -> Content:
    """A call's whole ``content``; bad items are dropped."""
    found = Content()
    for item in read.objects(items):
        try:
            found.add(item, given)
        except Malformed:
            continue
    return found


def status_of(value: Any) -> ToolStatus:
    """A ToolCallStatus; one that is not known is still in progress."""
    return _STATUS.get(value, "running") if isinstance(value, str) else "pending"


def category_of(kind: str, name: str) -> str:
    """The category of a ToolKind, or, where that says nothing, of the tool's name."""
    return _CATEGORY.get(kind) or (hm_read.category(name) if name else "other")


def locations_of(value: Any) -> list[str]:
    """ToolCallLocations as ``path`` or ``path:line``."""
    found = []
    for item in read.objects(value):
        path, line = item.get("path"), read.whole(item.get("line"))
        if isinstance(path, str) and path:
            found.append(path if line is None else f"{path}:{line}")
    return list(dict.fromkeys(found))
