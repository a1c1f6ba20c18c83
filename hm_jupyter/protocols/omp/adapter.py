"""One session with oh-my-pi (``omp``) or pi over RPC, sans-I/O."""

from __future__ import annotations

from typing import Any, Literal

from ...commands import Command
from ...events import Capabilities
from ..base import Adapter, Step

Dialect = Literal["omp", "pi"]


class OmpAdapter(Adapter):
    """One session with oh-my-pi or pi.

    Whatever command of the wire has none of ours is sent by ``CallAgent(method="get_session_stats", params={…})``; what
    its response says of the session (a model, a name, …) is told as events all the same. ``CallAgent("bash",
    {"command": …})`` makes a card of its own.

    Args:
        dialect: whose commands and ends of a run are spoken.
        root: the folder it was started in; the wire does not tell.
        asks: whether the agent asks before it acts (``--approval-mode``, the gate): the name of the mode, for people.
        gate: our gate extension is loaded, so a denial may carry its note.
        history: tell the messages a taken up session already has.
    """

    def __init__(
        self, dialect: Dialect = "omp", *, root: str = "", asks: str = "", gate: bool = False, history: bool = False
    ) -> None:
        self.name = dialect
        self.dialect = dialect
        self.capabilities = Capabilities(
            steer=True, follow_up=True, for_session=True, images=True, set_model=True, effort=True, compact=True,
            fork=True, export=True, state=True, options=True, raw_calls=True, deny_note="next_message",
        )  # fmt: skip

    def start(self) -> Step:
        """Ask for the state: its answer is the session's beginning."""
        return Step([], [{"id": "start", "type": "get_state"}])

    def receive(self, value: Any) -> Step:
        """One line arrived. Never raises."""
        return Step()

    def send(self, command: Command) -> Step:
        """The line for a command."""
        return Step()

    def stop(self) -> Step:
        """``abort``, after every open dialog was cancelled."""
        return Step()
