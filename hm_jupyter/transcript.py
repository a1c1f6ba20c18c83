"""The transcript: what a session shows, as a list of entries, and the three operations that change it.

``Put`` places an entry (new or whole anew), ``Append`` adds to one text field, ``State`` patches the session's state.
The reducer emits operations, :meth:`Transcript.apply` carries them out, and the browser carries out the very same
ones, so that widget, magics, Python and exports agree by construction. Knows no wire, no clock, no I/O.

JSON shapes (the browser's copy is ``js/src/model.ts``): an entry is ``{"kind", "id", "turn", …}`` with its fields as
named below, and every field is always present; an operation is ``{"op": "put", "entry": …}``,
``{"op": "append", "id", "field", "text"}`` or ``{"op": "state", "patch": {…}}``. Times are seconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, ClassVar, Literal, Union

from .events import (
    ApprovalOption,
    AuthMethod,
    Background,
    Choice,
    ConfigOption,
    FileDiff,
    FormField,
    Image,
    Level,
    NoteWay,
    SlashCommand,
    StopReason,
    ToolStatus,
    Usage,
)

Status = Literal["starting", "ready", "working", "waiting", "offline", "ended"]
Delivery = Literal["prompt", "steer", "follow_up"]


def to_json(value: Any) -> Any:
    """``value`` as JSON data: dataclasses become objects (with their ``kind`` or ``op`` tag), ropes become text."""
    if isinstance(value, Rope):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        tag = getattr(value, "TAG", None)
        out: dict[str, Any] = {tag[0]: tag[1]} if tag else {}
        for f in fields(value):
            out[f.name] = to_json(getattr(value, f.name))
        return out
    if isinstance(value, dict):
        return {str(k): to_json(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(v) for v in value]
    return value


class Rope:
    """Text that is appended to thousands of times: pieces are joined only when somebody reads it."""

    __slots__ = ("_parts",)

    def __init__(self, text: str = "") -> None:
        self._parts = [text] if text else []

    def append(self, text: str) -> None:
        self._parts.append(text)

    def __str__(self) -> str:
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    def __bool__(self) -> bool:
        return any(self._parts)

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, (Rope, str)) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __repr__(self) -> str:
        return repr(str(self))


# ---- entries -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class TurnEntry:
    """A turn: the first of its entries, whole again at its end."""

    TAG: ClassVar[tuple[str, str]] = ("kind", "turn")
    id: str
    turn: int
    status: Literal["running", "finished", "stopped", "failed"] = "running"
    stop_reason: StopReason | None = None
    error: str = ""
    model: str = ""
    mode: str = ""
    usage: Usage = field(default_factory=Usage)
    started: float = 0.0
    ended: float | None = None


@dataclass(slots=True)
class UserEntry:
    """A message of the person. ``status``: sent (on its way), queued (waits), read (the model has it), dropped.

    ``entry``: where a session may be forked, in the agent's terms ("": it does not say).
    """

    TAG: ClassVar[tuple[str, str]] = ("kind", "user")
    id: str
    turn: int
    text: str = ""
    delivery: Delivery = "prompt"
    status: Literal["sent", "queued", "read", "dropped"] = "sent"
    images: list[Image] = field(default_factory=list)
    attachments: list[str] = field(default_factory=list)
    at: float = 0.0
    entry: str = ""


@dataclass(slots=True)
class MessageEntry:
    """Text of the agent (markdown). ``open`` while it streams; ``interrupted`` when it was cut off. ``entry`` as above."""

    TAG: ClassVar[tuple[str, str]] = ("kind", "message")
    id: str
    turn: int
    text: Rope = field(default_factory=Rope)
    open: bool = True
    interrupted: bool = False
    images: list[Image] = field(default_factory=list)
    entry: str = ""


@dataclass(slots=True)
class ThoughtEntry:
    """The agent's thinking, shown folded."""

    TAG: ClassVar[tuple[str, str]] = ("kind", "thought")
    id: str
    turn: int
    text: Rope = field(default_factory=Rope)
    open: bool = True
    started: float = 0.0
    ended: float | None = None


@dataclass(slots=True)
class Decision:
    """How an approval was decided (see :class:`hm_jupyter.events.ApprovalResolved`), and how its note travels."""

    outcome: Literal["allowed", "denied", "chosen", "withdrawn", "interrupted"]
    by: Literal["you", "policy", "agent"] = "agent"
    via: str = ""
    note: str = ""
    for_session: bool = False
    rule: str = ""
    files: list[str] | None = None
    edited: list[str] | None = None
    option: str = ""
    deny_note: NoteWay = ""


@dataclass(slots=True)
class ToolEntry:
    """A tool call: what it was given, how it went, what it put out."""

    TAG: ClassVar[tuple[str, str]] = ("kind", "tool")
    id: str
    turn: int
    call_id: str
    name: str = ""
    title: str = ""
    category: str = "other"
    status: ToolStatus = "pending"
    input: Any = None
    output: Rope = field(default_factory=Rope)
    diffs: list[FileDiff] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    decision: Decision | None = None
    exit_code: int | None = None
    started: float | None = None
    ended: float | None = None
    parent: str = ""
    locations: list[str] = field(default_factory=list)
    cancelable: bool = False


@dataclass(slots=True)
class QuestionEntry:
    """A question of the agent and what became of it."""

    TAG: ClassVar[tuple[str, str]] = ("kind", "question")
    id: str
    turn: int
    call_id: str
    text: str = ""
    choices: list[Choice] = field(default_factory=list)
    status: Literal["waiting", "answered", "skipped", "withdrawn", "interrupted"] = "waiting"
    answer: str = ""
    by: Literal["you", "policy", "agent"] = "you"
    via: str = ""
    form: list[FormField] = field(default_factory=list)
    url: str = ""
    source: str = ""


@dataclass(slots=True)
class PlanEntry:
    """A plan of the agent's (see :class:`hm_jupyter.events.PlanUpdated`); ``removed`` when it is no longer one."""

    TAG: ClassVar[tuple[str, str]] = ("kind", "plan")
    id: str
    turn: int
    items: list[dict[str, str]] = field(default_factory=list)
    markdown: str = ""
    removed: bool = False


@dataclass(slots=True)
class CompactionEntry:
    """The context was summarised."""

    TAG: ClassVar[tuple[str, str]] = ("kind", "compaction")
    id: str
    turn: int
    status: Literal["running", "done", "failed", "interrupted"] = "running"
    summary: str = ""
    error: str = ""


@dataclass(slots=True)
class NoticeEntry:
    """One sentence and what to do; ``detail`` folded beneath it (a raw line, the agent's stderr)."""

    TAG: ClassVar[tuple[str, str]] = ("kind", "notice")
    id: str
    turn: int
    text: str
    level: Level = "warning"
    detail: str = ""


@dataclass(slots=True)
class UnknownEntry:
    """A message of a kind we do not know, kept raw."""

    TAG: ClassVar[tuple[str, str]] = ("kind", "unknown")
    id: str
    turn: int
    name: str
    raw: Any = None


Entry = Union[
    TurnEntry, UserEntry, MessageEntry, ThoughtEntry, ToolEntry, QuestionEntry,
    PlanEntry, CompactionEntry, NoticeEntry, UnknownEntry,
]  # fmt: skip


CLOSED = frozenset({"completed", "failed", "denied", "skipped", "interrupted"})
"""The statuses a tool call stays in."""


def is_open(entry: Entry) -> bool:
    """Whether something of it is still to come: text, a result, an answer."""
    if isinstance(entry, ToolEntry):
        return entry.status not in CLOSED
    if isinstance(entry, (MessageEntry, ThoughtEntry)):
        return entry.open
    return (isinstance(entry, QuestionEntry) and entry.status == "waiting") or (
        isinstance(entry, CompactionEntry) and entry.status == "running"
    )


# ---- what waits, and the session's state ---------------------------------------------------------------------------


@dataclass(slots=True)
class PendingApproval:
    """An approval that waits for a decision. Fields as in :class:`hm_jupyter.events.ApprovalRequested`."""

    TAG: ClassVar[tuple[str, str]] = ("kind", "approval")
    request_id: str
    call_id: str
    turn: int
    tool: str = ""
    category: str = ""
    summary: str = ""
    command: str = ""
    cwd: str = ""
    paths: list[str] = field(default_factory=list)
    diffs: list[FileDiff] = field(default_factory=list)
    input: Any = None
    rule: str = ""
    reason: str = ""
    for_session: bool = False
    options: list[ApprovalOption] = field(default_factory=list)
    since: float = 0.0
    state: Literal["waiting", "sending"] = "waiting"
    deny_note: NoteWay = ""


@dataclass(slots=True)
class PendingQuestion:
    """A question that waits for an answer. Fields as in :class:`hm_jupyter.events.QuestionRequested`."""

    TAG: ClassVar[tuple[str, str]] = ("kind", "question")
    request_id: str
    call_id: str
    turn: int
    text: str = ""
    choices: list[Choice] = field(default_factory=list)
    multi: bool = False
    free: bool = True
    form: list[FormField] = field(default_factory=list)
    url: str = ""
    source: str = ""
    since: float = 0.0
    state: Literal["waiting", "sending"] = "waiting"


Pending = Union[PendingApproval, PendingQuestion]


@dataclass(slots=True)
class SessionState:
    """The session as a whole. ``status``: starting, ready, working, waiting (for the person), offline, ended.

    ``offline`` is a remote agent whose connection is being made again; ``link`` says why. ``labels`` are names for the ids
    in ``modes`` and ``models``, also under ``mode:ID`` and ``model:ID`` (one id may be both). ``context`` of
    ``context_size`` tokens are in use; ``spent`` is what the agent says the session has cost. ``protocol`` is for people:
    what is spoken, over what.
    """

    session_id: str = ""
    agent: str = ""
    root: str = ""
    title: str = ""
    mode: str = ""
    modes: list[str] = field(default_factory=list)
    provider: str = ""
    model: str = ""
    models: list[str] = field(default_factory=list)
    effort: str = ""
    status: Status = "starting"
    approve: str = "ask"
    turn: int = 0
    usage: Usage = field(default_factory=Usage)
    context: int | None = None
    pending: list[Pending] = field(default_factory=list)
    capabilities: dict[str, Any] = field(default_factory=dict)
    ended: str = ""
    protocol: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    options: list[ConfigOption] = field(default_factory=list)
    commands: list[SlashCommand] = field(default_factory=list)
    auth: list[AuthMethod] = field(default_factory=list)
    background: list[Background] = field(default_factory=list)
    context_size: int | None = None
    spent: str = ""
    link: str = ""


# ---- operations ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Put:
    """Place ``entry``: after the last one if its id is new, else instead of the one with that id."""

    TAG: ClassVar[tuple[str, str]] = ("op", "put")
    entry: Entry


@dataclass(slots=True)
class Append:
    """Add ``text`` to the text ``field`` ("text" or "output") of the entry ``id``."""

    TAG: ClassVar[tuple[str, str]] = ("op", "append")
    id: str
    field: str
    text: str


@dataclass(slots=True)
class State:
    """Set the named fields of the session's state."""

    TAG: ClassVar[tuple[str, str]] = ("op", "state")
    patch: dict[str, Any]


Op = Union[Put, Append, State]


@dataclass(slots=True)
class Transcript:
    """The entries of a session in order, and its state. Changed by :meth:`apply` only."""

    state: SessionState = field(default_factory=SessionState)
    entries: dict[str, Entry] = field(default_factory=dict)
    _calls: dict[str, list[str]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _unread: dict[str, None] = field(default_factory=dict, init=False, repr=False, compare=False)
    _open: dict[str, None] = field(default_factory=dict, init=False, repr=False, compare=False)
    _indexed: int = field(default=0, init=False, repr=False, compare=False)

    def apply(self, op: Op) -> None:
        """Carry out one operation. Appending to an entry that is not there is an error of ours (``KeyError``)."""
        if type(op) is Append:
            getattr(self.entries[op.id], op.field).append(op.text)
        elif type(op) is Put:
            self._put(op.entry)
        elif type(op) is State:
            for name, value in op.patch.items():
                setattr(self.state, name, value)

    def of_turn(self, turn: int) -> list[Entry]:
        """The entries of one turn, in order."""
        return [e for e in self.entries.values() if e.turn == turn]

    def tool(self, call_id: str) -> ToolEntry | None:
        """The newest tool call with that call id."""
        return next((entry for entry in self._of_call(call_id) if isinstance(entry, ToolEntry)), None)

    def call(self, call_id: str) -> ToolEntry | QuestionEntry | None:
        """The newest tool call or question with that call id."""
        return next(self._of_call(call_id), None)

    def turns(self) -> list[TurnEntry]:
        """The turns, in order."""
        return [e for e in self.entries.values() if isinstance(e, TurnEntry)]

    def unread(self) -> list[UserEntry]:
        """The messages of ours the agent has not read yet, in order."""
        self._make_index()
        found = [self.entries[entry_id] for entry_id in list(self._unread)]
        return [entry for entry in found if isinstance(entry, UserEntry)]

    def open(self) -> list[Entry]:
        """The entries of which something is still to come, in order of when they were opened."""
        self._make_index()
        return [self.entries[entry_id] for entry_id in list(self._open)]

    # ---- what is looked for again and again is found at once: a session may hold hundreds of thousands of entries ----

    def _put(self, entry: Entry) -> None:
        known = self.entries.get(entry.id)
        self.entries[entry.id] = entry
        if isinstance(entry, UserEntry) and known is not None:
            self._index_unread(entry)
        if is_open(entry):
            self._open.setdefault(entry.id)
        else:
            self._open.pop(entry.id, None)
        if known is None:
            if self._indexed == len(self.entries) - 1:
                self._indexed += 1
                self._index(entry)
        elif isinstance(known, (ToolEntry, QuestionEntry)) and known.call_id != getattr(entry, "call_id", ""):
            with suppress(KeyError, ValueError):
                self._calls[known.call_id].remove(known.id)
            if self._calls.get(getattr(entry, "call_id", "")):
                self._indexed = -1  # which of them is the newest is looked up: seldom enough
            else:
                self._index(entry)

    def _index(self, entry: Entry) -> None:
        if isinstance(entry, (ToolEntry, QuestionEntry)):
            self._calls.setdefault(entry.call_id, []).append(entry.id)
        elif isinstance(entry, UserEntry):
            self._index_unread(entry)

    def _index_unread(self, entry: UserEntry) -> None:
        if entry.status in ("sent", "queued"):
            self._unread.setdefault(entry.id)
        else:
            self._unread.pop(entry.id, None)

    def _make_index(self) -> None:
        """Make it anew where entries came by another way. Other threads may look too: it is taken in place when it is whole,
        and made once more where something came meanwhile."""
        if self._indexed == len(self.entries):
            return
        fresh = Transcript()
        entries = list(self.entries.values())
        for entry in entries:
            fresh._index(entry)
            if is_open(entry):
                fresh._open[entry.id] = None
        self._calls, self._unread, self._open = fresh._calls, fresh._unread, fresh._open
        self._indexed = len(entries)

    def _of_call(self, call_id: str) -> Iterator[ToolEntry | QuestionEntry]:
        """The tool calls and questions with that call id, newest first."""
        self._make_index()
        for entry_id in reversed(self._calls.get(call_id, ())):
            found = self.entries[entry_id]
            if isinstance(found, (ToolEntry, QuestionEntry)):
                yield found
