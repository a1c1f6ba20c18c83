"""The protocol seam, sans-I/O: an adapter turns received JSON values into events and commands into JSON values.

It holds only what its wire needs remembered (ids, the open message). No ``async``, no clock, no files, no threads,
so a recorded session is a test.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..commands import Command
from ..events import Capabilities, Event, LinkChanged, Role


@dataclass(slots=True)
class HostCall:
    """Something the agent wants done on our side, outside the protocol: a file, a terminal (ACP v1, fs/* and terminal/*).

    ``name`` and ``args`` (JSON values, snake case; paths as the agent wrote them):

    ``read_file``: path, line (1-based or None), limit (lines or None) -> ``{"content"}``
    ``write_file``: path, content -> ``{}``
    ``terminal_create``: terminal_id (chosen by the adapter), command, args, env (name to value), cwd or None,
    output_limit (bytes or None), call_id (the tool call it belongs to, or "") -> ``{}``
    ``terminal_output``: terminal_id -> ``{"output", "truncated", "exit": {"code", "signal"} or None}``
    ``terminal_wait``: terminal_id -> ``{"code", "signal"}``
    ``terminal_kill``, ``terminal_release``: terminal_id -> ``{}``

    And what a notebook offers an agent (omp RPC, host tools and host URIs):

    ``tool``: name, arguments (an object), call_id -> ``{"content"}``, blocks as omp's tools give them
    ``uri_read``: url -> ``{"content", "content_type"}``
    ``uri_write``: url, content, call_id ("": it does not say) -> ``{}``
    """

    id: str
    name: str
    args: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class HostFailure:
    """Why a host call could not be done. ``kind`` is what the adapter maps onto an error code of its wire."""

    kind: Literal["not_found", "denied", "invalid", "failed", "cancelled"]
    message: str


@dataclass(slots=True)
class Wake:
    """Call :meth:`Adapter.woke` with ``key`` after ``seconds``; the same key again replaces it, 0 or less forgets it."""

    key: str
    seconds: float


@dataclass(slots=True)
class Step:
    """What one input led to, each list in order.

    ``events`` for us, ``messages`` (JSON values) to be sent to the agent, ``calls`` for the host (each to be answered by
    :meth:`Adapter.host_done`), ``dropped`` the ids of host calls the agent does not wait for any more, ``wakes``.
    """

    events: list[Event] = field(default_factory=list)
    messages: list[Any] = field(default_factory=list)
    calls: list[HostCall] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    wakes: list[Wake] = field(default_factory=list)


@dataclass(slots=True)
class Texts:
    """Pieces of one message's text that came in a row: what as many ``TextAppended`` would tell."""

    message_id: str
    role: Role
    pieces: list[str]


class Adapter(ABC):
    """One protocol's side of one session."""

    name: str = ""
    capabilities: Capabilities

    @abstractmethod
    def start(self) -> Step:
        """What to send first, if anything. The session is ready once ``SessionStarted`` was emitted."""

    @abstractmethod
    def receive(self, value: Any) -> Step:
        """One JSON value arrived. Never raises: what cannot be understood becomes a notice or an unknown event."""

    def texts(self, values: Sequence[Any], at: int) -> Texts | None:
        """The short way of what comes most: the pieces of text that ``values`` go on with from ``at``, one of each value.
        None: :meth:`receive` has to see that value. (A step for each token is most of what a long answer costs.)"""
        return None

    @abstractmethod
    def send(self, command: Command) -> Step:
        """A command to send. Raises ``NotSupported`` for one this agent cannot take.

        A :class:`CommandAnswered` with the command's id follows, now or later."""

    @abstractmethod
    def stop(self) -> Step:
        """What to send to end a session at once (before its input is closed)."""

    # ---- for wires that need more than lines ---------------------------------------------------------------------

    def woke(self, key: str) -> Step:
        """The time of a :class:`Wake` has come."""
        return Step()

    def host_done(self, call_id: str, result: dict[str, Any] | HostFailure) -> Step:
        """A host call is done."""
        return Step()

    def host_output(self, terminal_id: str, text: str) -> Step:
        """A terminal of the host wrote ``text``; to be shown with the tool call that shows this terminal."""
        return Step()

    def link_lost(self, reason: str) -> Step:
        """The connection broke; the transport is making it again."""
        return Step([LinkChanged(False, reason)])

    def link_back(self, fresh: bool) -> Step:
        """The connection is there again; ``fresh``: as a new one on which nothing is open yet, so begin anew on it.

        With ``fresh`` false the same connection goes on, but something may have been lost on the way."""
        return Step([LinkChanged(True)])
