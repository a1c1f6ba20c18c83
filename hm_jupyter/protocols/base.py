"""The protocol seam, sans-I/O: an adapter turns received JSON values into events and commands into JSON values.

It holds only what its wire needs remembered (ids, the open message). No ``async``, no clock, no files, no threads,
so a recorded session is a test.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from ..commands import Command
from ..events import Capabilities, Event


@dataclass(slots=True)
class Step:
    """What one input led to: ``events`` for us, ``messages`` (JSON values) to be sent to the agent, both in order."""

    events: list[Event] = field(default_factory=list)
    messages: list[Any] = field(default_factory=list)


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

    @abstractmethod
    def send(self, command: Command) -> Step:
        """A command to send. Raises ``NotSupported`` for one this agent cannot take.

        A :class:`CommandAnswered` with the command's id follows, now or later."""

    @abstractmethod
    def stop(self) -> Step:
        """What to send to end a session at once (before its input is closed)."""
