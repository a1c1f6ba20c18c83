"""One session of the agent: its settings, its conversation, what it has used; and how all of it reaches its journal.

In memory is what a model sees. Everything that was told is in the journal, so that a long session costs no memory.
Knows no wire beyond the shape of a session in ``data`` (hm RPC, "Commands").
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import Any, get_args

from . import repair, saved
from .journal import Journal
from .messages import Message, Picture, Role, ToolCall, Usage, size, tokens
from .tools.workspace import Workspace

SYSTEM_TOKENS = 600
"""About what instructions and tool descriptions add to every call."""

RECORDED = frozenset(
    {
        "message_end", "tool_call", "tool_result", "approval_needed", "approval", "question", "usage", "plan", "notice",
        "retry", "compaction_start", "compaction_end", "agent_start", "agent_end", "turn_end",
    }
)  # fmt: skip
"""The events that are kept. Deltas are not: what they add up to is."""


def new_session_id() -> str:
    """A session id that sorts by time."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(3)}"


def now() -> str:
    """The time for a line's header and for rows: UTC, milliseconds."""
    at = time.time()
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(at))}.{int(at * 1000) % 1000:03d}Z"


@dataclass(slots=True)
class Session:
    """The fields of a session. ``rules`` are what "allow for session" has allowed: they are not saved, leave is given
    to the agent that runs. ``turns`` counts the prompts and what followed them."""

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
    turns: int = 0
    running: bool = False
    resumed: bool = False
    journal: Journal = field(default_factory=lambda: Journal(None))
    overhead: int = SYSTEM_TOKENS
    """Tokens of a model call besides the history's characters (:meth:`measured`)."""
    compact_again: int = 0
    """Tokens of context below which no compaction is tried: the last one failed."""
    lost: str = ""
    """Why nothing more can be saved ("": it can)."""
    _begun: bool = False

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
        return self.overhead + tokens(sum(size(m) for m in self.history))

    def measured(self, input: int) -> None:
        """A model call sent the history as it stands, and counted ``input`` tokens: what we do not see of them (instructions,
        tools, how the model cuts words) is expected of the next call too."""
        if input > 0:
            self.overhead = max(SYSTEM_TOKENS, input - tokens(sum(size(m) for m in self.history)))

    # ---- what is written ----

    def append(self, message: Message) -> None:
        """The one way a message enters the history. To be called before its event is told."""
        self.history.append(message)
        self._write({"message": _plain(message)})

    def record(self, event: dict[str, Any]) -> None:
        """Keep an event that is about to be told (its ``type`` and fields, without the header).

        What is told before anybody says something is not kept: a session nobody spoke in leaves no file.
        """
        if event["type"] not in RECORDED or not self._begun:
            return
        last = self.history[-1] if self.history else None
        if last is not None and event.get("entry") == last.id and event.get("text") == last.text:
            event = {k: v for k, v in event.items() if k != "text"}  # the message's row has it
        self._write({"event": {**event, "time": now()}})
        if event["type"] == "turn_end":
            self.running = False
            self.summarise()

    def turn_began(self) -> None:
        """A turn begins: whoever lists the sessions sees that it runs."""
        self.turns += 1
        self.running = True
        self.summarise()

    def summarise(self) -> None:
        """Write what a list of sessions shows, and what is set."""
        self._write({"summary": self._summary()})

    def set_changed(self) -> None:
        """A setting is another: whoever takes the session up again finds it so. (One nobody wrote in is not saved.)"""
        if self._begun:
            self.summarise()

    def compacted(self, summary: Message, kept: list[Message]) -> None:
        """The history is ``summary`` and ``kept`` from now on; what it was stays in the journal."""
        self.history[:] = [summary, *kept]
        self.overhead = max(self.overhead, SYSTEM_TOKENS)
        self._write({"compacted": {"summary": _plain(summary), "kept": [m.id for m in kept]}})

    def _summary(self) -> dict[str, Any]:
        return {
            "title": self.title, "mode": self.mode, "provider": self.provider, "model": self.model,
            "effort": self.effort, "status": "running" if self.running else "idle", "turns": self.turns,
            "cost": self.usage.cost, "updated": now(),
        }  # fmt: skip

    def _head(self) -> dict[str, Any]:
        return {
            "v": 1, "id": self.id, "root": str(self.workspace.root), "created": now(), "fork_of": self.fork_of,
            "parent_id": "", **self._summary(),
        }  # fmt: skip

    def _write(self, row: dict[str, Any]) -> None:
        """A full disk must not end a turn: it goes on unsaved, and ``lost`` says so."""
        if self.lost:
            return
        try:
            if not self._begun:
                self._begun = True
                self.journal.append({"session": self._head()})
            self.journal.append(row)
        except (OSError, ValueError) as error:
            self.lost = f"the session cannot be saved any more: {getattr(error, 'strerror', None) or error}"

    # ---- what is read ----

    def events(self) -> Iterator[dict[str, Any]]:
        """Everything that was told, oldest first: what compaction took out of the history included."""
        return saved.events(self.journal.rows())

    def told(self, before: int | None, limit: int) -> dict[str, Any]:
        """What ``get_history`` gives: the events of ``limit`` turns, the newest before turn ``before`` (None: all)."""
        last = min(self.turns, before - 1) if before is not None else self.turns
        first = max(1, last - limit + 1)
        events, turn = [], 1
        for event in self.events():
            if first <= turn <= last:
                events.append(event)
            if event["type"] == "turn_end":
                turn += 1
        return {"events": events, "first": first}

    def read(self) -> None:
        """Take up what the journal holds. A turn whose process died in it is closed as interrupted."""
        turn = repair.OpenTurn()
        by_id: dict[str, Message] = {}
        for row in self.journal.rows():
            self._begun = True
            if "message" in row:
                message = _message(row["message"])
                if message is not None:
                    self.history.append(message)
                    by_id[message.id] = message
                    self._count(message)
            elif isinstance(told := row.get("compacted"), dict):
                summary, kept = _message(told.get("summary")), told.get("kept")
                if summary is not None and isinstance(kept, list):
                    self._count(summary)
                    self.history[:] = [summary, *(by_id[i] for i in kept if isinstance(i, str) and i in by_id)]
                    by_id = {m.id: m for m in self.history}
                    turn.summary = summary.text
            elif isinstance(event := row.get("event"), dict):
                turn.heard(event)
                self._hear(event)
            for kind in ("session", "summary"):
                if isinstance(row.get(kind), dict):
                    self._settle(row[kind])
                    turn.ended = row[kind].get("status") != "running"
        for event in turn.compaction_end():
            self.record(event)
        if not turn.ended:
            self._close(turn)
        self.history[:] = repair.legal(self.history, self.new_entry)

    def _close(self, turn: repair.OpenTurn) -> None:
        """The turn ended with its process. No call is left without a result, or no model goes on from here."""
        calls, results = repair.unanswered(self.history)
        for call_id in calls:
            results.append(repair.interrupted(call_id, self.new_entry()))
            self.append(results[-1])
        for event in turn.closing(self.history, results):
            self.record(event)

    def _hear(self, event: dict[str, Any]) -> None:
        if event.get("type") == "usage":
            given = {f.name: event.get(f.name, 0) for f in fields(Usage)}
            if all(isinstance(v, (int, float)) for v in given.values()):
                self.usage.add(Usage(**given))
                if not event.get("agent"):
                    self.measured(int(given["input"]))

    def _settle(self, row: dict[str, Any]) -> None:
        for name in ("title", "mode", "provider", "model", "effort", "fork_of"):
            if isinstance(row.get(name), str):
                setattr(self, name, row[name])
        if isinstance(row.get("turns"), int):
            self.turns = row["turns"]

    def _count(self, message: Message) -> None:
        self.entries = max(self.entries, _number(message.id, "e"))
        self.calls = max([self.calls, *(_number(c.id, "call_") for c in message.calls)])
        if message.role == "assistant" and message.text:
            self.answer = message.text

    # ---- forks ----

    def forked(self, entry: str) -> Session:
        """A new session with the conversation up to and including ``entry`` ("": all of it), saved as this one is.

        Raises ``KeyError`` for an entry that is not there, ``ValueError`` where the fork cannot be written. A call in
        the middle of a batch brings its whole batch, so that no call is left without a result.
        """
        if self.lost:
            raise ValueError(f"a fork is made from what is saved, and {self.lost}")
        if not self._begun:
            if entry:
                raise KeyError(entry)
            rows: list[dict[str, Any]] = []
        else:
            rows = _up_to(self.journal.rows(), entry)
        id = new_session_id()
        fork = Session(
            self.workspace, self.mode, self.provider, self.model, self.effort, id=id, title=self.title,
            fork_of=self.id, journal=saved.journal(id, save=self.journal.saved),
        )  # fmt: skip
        fork.turns = sum(1 for r in rows if _kind(r) == "turn_end")
        for row in rows:
            fork._write(row)
        settings = (self.mode, self.provider, self.model, self.effort, self.title)
        fork.read()
        fork.mode, fork.provider, fork.model, fork.effort, fork.title = settings
        fork.fork_of, fork.rules = self.id, set(self.rules)
        fork.summarise()
        if fork.lost:
            fork.journal.close()
            raise ValueError(f"the fork cannot be written: {fork.lost}; make room and try again")
        return fork

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
            "saved": self.journal.saved and not self.lost,
            "context": self.context,
            "usage": self.usage.to_json(),
        }
        if self.effort:
            out["effort"] = self.effort
        if self.fork_of:
            out["fork_of"] = self.fork_of
        return out


def _plain(message: Message) -> dict[str, Any]:
    """A message as a row: what is as it mostly is, is left out."""
    return {k: v for k, v in asdict(message).items() if v not in ("", [], None, False) or k in ("id", "role")}


def _message(row: Any) -> Message | None:
    """The message in a row; None for one of another version, or a damaged one."""
    if not isinstance(row, dict) or row.get("role") not in get_args(Role):
        return None
    known = {f.name for f in fields(Message)}
    try:
        given = {k: v for k, v in row.items() if k in known}
        given["images"] = [Picture(**p) for p in given.get("images", ())]
        given["calls"] = [ToolCall(**c) for c in given.get("calls", ())]
        message = Message(**given)
    except TypeError:
        return None
    texts = [
        message.id,
        message.text,
        message.call_id,
        *(c.id for c in message.calls),
        *(c.tool for c in message.calls),
    ]
    right = all(isinstance(t, str) for t in texts) and all(isinstance(c.input, dict) for c in message.calls)
    return message if right else None


def _kind(row: dict[str, Any]) -> Any:
    """The type of the event in a row, None where there is none."""
    event = row.get("event")
    return event.get("type") if isinstance(event, dict) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(id: str, prefix: str) -> int:
    rest = id[len(prefix) :] if id.startswith(prefix) else ""
    return int(rest) if rest.isascii() and rest.isdigit() and len(rest) < 10 else 0


def _up_to(rows: Iterator[dict[str, Any]], entry: str) -> list[dict[str, Any]]:
    """The rows of a conversation up to the message ``entry`` and what cannot be parted from it."""
    out: list[dict[str, Any]] = []
    found, ids = not entry, set[str]()
    for row in rows:
        if "session" in row or "summary" in row:
            continue
        message = row.get("message")
        if found and entry and not _belongs(row, ids):
            break
        out.append(row)
        if isinstance(message, dict):
            ids.add(str(message.get("id")))
            ids.update(str(c.get("id")) for c in _list(message.get("calls")) if isinstance(c, dict))
            found = found or message.get("id") == entry
    if not found:
        raise KeyError(entry)
    told = [kind for row in out if (kind := _kind(row))]
    if told and told[-1] != "turn_end":
        out.append({"event": {"type": "turn_end", "time": now()}})
    return out


def _belongs(row: dict[str, Any], ids: set[str]) -> bool:
    """Whether a row after the wanted message still is part of it: its own event, and all results of a batch."""
    message, event = row.get("message"), row.get("event")
    if isinstance(message, dict):
        return message.get("role") == "tool" and str(message.get("call_id")) in ids
    if isinstance(event, dict):
        kind = event.get("type")
        if kind == "turn_end":
            return True
        return str(event.get("entry")) in ids or str(event.get("call_id")) in ids or event.get("role") == "tool"
    return False
