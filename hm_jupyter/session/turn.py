"""A turn as Python holds it: a view of the transcript's entries of that turn, and something to wait on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import AgentError, AgentGone, ApprovalRequired
from ..events import Event, FileDiff, Usage
from ..transcript import Entry, MessageEntry, ToolEntry, Transcript, TurnEntry, to_json
from .forks import fork_point
from .journal import Journal, Record
from .policy import Policy

if TYPE_CHECKING:
    import pandas as pd

Renderer = Callable[[Transcript, int], dict[str, Any]]


@dataclass
class TurnOptions:
    """How one turn decides what needs leave. ``unattended``: nobody can be asked, so ``alone`` decides, and what that
    leaves open is refused. ``policy`` and ``alone`` None: the session's."""

    policy: Policy | None = None
    unattended: bool = False
    alone: Policy | None = None


@dataclass
class Watch:
    """What the controller keeps about a turn while it runs (and the waiters wait for)."""

    number: int
    options: TurnOptions = field(default_factory=TurnOptions)
    done: threading.Event = field(default_factory=threading.Event)
    refused: list[str] = field(default_factory=list)
    stderr: str = ""
    code: int | None = None
    again: str = ""  # what to do, when its agent has ended
    callbacks: list[Callable[[], object]] = field(default_factory=list)
    following: Watch | None = None

    def finish(self) -> None:
        """The turn is over: wake the waiters, and call each callback once, from whichever thread takes it."""
        self.done.set()
        while self.callbacks:
            try:
                callback = self.callbacks.pop(0)
            except IndexError:
                return
            callback()

    before_wait: Callable[[], object] | None = None
    before_timed_wait: bool = True


class Turn:
    """What came of one prompt. Live while the turn runs, final once ``done``."""

    def __init__(self, transcript: Transcript, journal: Journal, watch: Watch, render: Renderer) -> None:
        self._transcript = transcript
        self._journal = journal
        self._watch = watch
        self._render = render

    # ---- what it holds ---------------------------------------------------------------------------------------------

    @property
    def number(self) -> int:
        """The turn's number in its session, from 1."""
        return self._watch.number

    @property
    def entries(self) -> list[Entry]:
        """The transcript entries of this turn, in order."""
        return self._transcript.of_turn(self.number)

    @property
    def entry(self) -> str:
        """Where a session is forked to go on after this turn (``s.fork(turn)``); "" where the agent names no entries."""
        return fork_point(self._transcript, self.number)

    @property
    def text(self) -> str:
        """All the agent said, its messages joined by blank lines (markdown)."""
        return "\n\n".join(str(e.text) for e in self.entries if isinstance(e, MessageEntry))

    @property
    def answer(self) -> str:
        """The agent's last message (markdown), "" when there was none."""
        texts = [str(e.text) for e in self.entries if isinstance(e, MessageEntry)]
        return texts[-1] if texts else ""

    @property
    def tool_calls(self) -> list[ToolEntry]:
        """The tool calls, in order."""
        return [e for e in self.entries if isinstance(e, ToolEntry)]

    @property
    def diffs(self) -> list[FileDiff]:
        """The file changes that were carried out."""
        return [d for e in self.tool_calls if e.status == "completed" for d in e.diffs]

    @property
    def usage(self) -> Usage:
        """Tokens and cost (US dollars) of this turn's model calls."""
        return self._entry.usage

    @property
    def stop_reason(self) -> str | None:
        """Why it ended: end_turn, cancelled, max_steps, error, agent_exited, …; None while it runs."""
        return self._entry.stop_reason

    @property
    def error(self) -> str:
        """What went wrong, "" when nothing did."""
        return self._entry.error

    @property
    def records(self) -> list[Record]:
        """The events of this turn with their times."""
        return self._journal.of_turn(self.number)

    @property
    def events(self) -> list[Event]:
        """The events of this turn (:mod:`hm_jupyter.events`), in the order they came."""
        return [r.event for r in self.records]

    @property
    def refused(self) -> list[str]:
        """What was refused because nobody could be asked."""
        return list(self._watch.refused)

    @property
    def _entry(self) -> TurnEntry:
        entry = self._transcript.entries[f"turn:{self.number}"]
        assert isinstance(entry, TurnEntry)
        return entry

    # ---- waiting ---------------------------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Is the turn over?"""
        return self._watch.done.is_set()

    @property
    def following(self) -> Turn | None:
        """The turn that began as this one ended, of a message that had waited for that (a steer or a follow-up to an agent
        that hears none while it works, the note of a denial); None when there is none."""
        watch = self._watch.following
        return None if watch is None else Turn(self._transcript, self._journal, watch, self._render)

    @property
    def last(self) -> Turn:
        """The last of the turns that followed one another, so far; this one where none did."""
        turn = self
        while (following := turn.following) is not None:
            turn = following
        return turn

    def wait(self, timeout: float | None = None) -> Turn:
        """Wait until the turn is over; ``timeout`` in seconds. ``KeyboardInterrupt`` breaks the wait, not the turn.

        Where nobody can be asked (a script), a wait without a timeout refuses what needs leave, unless the turn was
        started with ``unattended=False``: else it might never end.

        Raises ``TimeoutError``, ``AgentGone`` when the agent ended in mid-turn, ``AgentError`` when the turn failed,
        ``ApprovalRequired`` when it ran
        unattended and something needed leave.
        """
        if self._watch.before_wait is not None and (timeout is None or self._watch.before_timed_wait):
            hook, self._watch.before_wait = self._watch.before_wait, None
            if not self.done:
                hook()
        if not self._watch.done.wait(timeout):
            raise TimeoutError(
                f"The turn is still running after {timeout:g} s. Wait again, steer it, or stop it with s.abort()."
            )
        self.raise_for_status()
        return self

    def before_wait(self, callback: Callable[[], object], *, timed: bool = True) -> None:
        """Call ``callback`` once, on the waiting thread, when somebody begins to :meth:`wait` for the running turn.

        ``timed`` false: not for a wait with a timeout, which comes back by itself.
        """
        self._watch.before_wait, self._watch.before_timed_wait = callback, timed

    def raise_for_status(self) -> None:
        """Raise for a turn that failed or whose agent ended, and for one refused leave with nobody to ask."""
        if not self.done:
            return
        if self.stop_reason == "agent_exited":
            raise AgentGone(
                f"{self.error or 'The agent ended in mid-turn.'} {self._watch.again}".strip(),
                code=self._watch.code,
                stderr=self._watch.stderr,
            )
        if self.stop_reason == "error":
            raise AgentError(
                f"The turn failed: {self.error.rstrip('.') or 'the agent did not say why'}. The session goes on: try again."
            )
        if self._watch.refused:
            what = "; ".join(self._watch.refused)
            raise ApprovalRequired(
                f"Needed leave, and nobody was there to give it: {what}. Run the notebook interactively, or decide "
                "beforehand: approve='all' (or 'edits', 'deny', a function), when_alone={...}, %%hm --approve all.",
                requests=list(self._watch.refused),
            )

    def when_done(self, callback: Callable[[], object]) -> None:
        """Call ``callback`` once, on the session thread when the turn is over, or here and now if it is."""
        self._watch.callbacks.append(callback)
        if self.done:  # perhaps just now, from the session thread: whoever takes it from the list calls it
            self._watch.finish()

    # ---- showing ---------------------------------------------------------------------------------------------------

    def to_pandas(self) -> pd.DataFrame:
        """The tool calls as a DataFrame: call_id, name, category, status, decision, seconds, input, output."""
        import pandas as pd

        rows = []
        for e in self.tool_calls:
            seconds = e.ended - e.started if e.started is not None and e.ended is not None else None
            decision = e.decision.outcome if e.decision else ""
            rows.append((e.call_id, e.name, e.category, e.status, decision, seconds, to_json(e.input), str(e.output)))
        names = ["call_id", "name", "category", "status", "decision", "seconds", "input", "output"]
        return pd.DataFrame(rows, columns=names)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return self._render(self._transcript, self.number)

    def __repr__(self) -> str:
        state = self.stop_reason or "running"
        return f"<Turn {self.number}: {state}, {len(self.tool_calls)} tool calls, {len(self.text)} characters>"
