"""The transport seam: JSON values in, JSON values out, whatever carries them. Knows no protocol.

A transport never raises for what the other side sends: a line that is not JSON, too long or cut off is a
:class:`BadLine` among the values, and the end of the stream is the end of iteration.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Literal, Union


@dataclass(slots=True)
class BadLine:
    """A line that could not be used: ``reason`` in words, ``text`` the first 500 characters of it."""

    reason: str
    text: str


@dataclass(slots=True)
class Exit:
    """How the other side ended: exit ``code`` (negative: by that signal; None: not known), and ``stderr``'s tail.
    ``reason``: of a connection, why it ended, in a sentence that says what to do."""

    code: int | None = None
    stderr: str = ""
    reason: str = ""


@dataclass(slots=True)
class Message:
    """One JSON value that arrived."""

    value: Any


@dataclass(slots=True)
class Link:
    """The connection itself changed. ``lost``: it broke, and is being made again (``reason`` for people). ``back``: the
    same connection goes on, though something may have been lost (it may come without a ``lost`` before it: the break was
    too short to be shown). ``fresh``: a new connection, on which the protocol must
    begin anew; what was sent meanwhile and could not be delivered is gone.
    """

    state: Literal["lost", "back", "fresh"]
    reason: str = ""


Received = Union[Message, BadLine, Link]


class Transport(ABC):
    """A two-way channel of JSON values. Opened once, closed once; all methods run on the session loop."""

    @abstractmethod
    async def open(self) -> None:
        """Start the process or connection. Raises ``AgentNotFound`` or ``TransportError``."""

    @abstractmethod
    def receive(self) -> AsyncIterator[list[Received]]:
        """Batches of what arrived, in order, each as large as one read gave; ends when the other side ends."""

    @abstractmethod
    async def send(self, value: Any) -> None:
        """Write one JSON value. Raises ``AgentGone`` when nobody reads any more."""

    @abstractmethod
    async def end_input(self) -> None:
        """Tell the other side that nothing more will come (close its stdin). Harmless when repeated."""

    @abstractmethod
    async def close(self) -> Exit:
        """End it, politely first, for certain in bounded time; nothing is left behind. Harmless when repeated."""

    @property
    def stderr(self) -> str:
        """The last lines the other side wrote for people."""
        return ""
