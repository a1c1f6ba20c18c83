"""Events that only tell something: retries, compaction, notices, todos, names. Each becomes one of ours or nothing.

Nothing here knows turns, but for what a handler is given: :class:`Told` asks to be told when a retry or a compaction of the
agent's own goes on.
"""

from __future__ import annotations

from typing import Any

from ...events import (
    CompactionEnded,
    CompactionStarted,
    Event,
    Level,
    NoticeRaised,
    PlanRemoved,
    PlanUpdated,
    SessionUpdated,
)
from ..base import Step
from . import read
from .turns import Turns

QUIET = frozenset(
    {
        "ready", "turn_start", "turn_end", "advisor_cost_changed", "advisor_yielded", "config_warnings_changed",
        "entry_appended", "queue_update", "summarization_retry_scheduled", "summarization_retry_attempt_start",
        "summarization_retry_finished",
    }
)  # fmt: skip
"""Events with nothing in them for a person that something else does not tell."""

_LEVELS: dict[str, Level] = {"info": "info", "warning": "warning", "error": "error"}


class Told:
    """Retries and compactions, which may hold a turn open, and what a compaction of ours became."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self.compacting = False

    # ---- retries -----------------------------------------------------------------------------------------------------

    def retry_start(self, value: dict[str, Any], step: Step) -> None:
        """``auto_retry_start``: the agent waits and asks again by itself; the turn goes on."""
        self._turns.going_on(step)
        if self._turns.running is not None:
            self._turns.running.retrying = True
        attempt, of = read.count(value.get("attempt")), read.count(value.get("maxAttempts"))
        delay = read.money(value.get("delayMs"))
        which = f" (attempt {attempt} of {of})" if attempt and of else ""
        when = f" in {delay / 1000:.3g} s" if delay is not None and delay > 0 else ""
        reason = read.reason(value.get("errorMessage"))
        text = f"The model did not answer: {reason}. It is asked again{when}{which}; Stop ends that."
        step.events.append(NoticeRaised(text, "info"))

    def retry_end(self, value: dict[str, Any], step: Step) -> None:
        """``auto_retry_end``: it worked, or the turn has failed."""
        if value.get("success") is True:
            if self._turns.running is not None:
                self._turns.running.retrying = False
            return
        self._turns.maybe_over(step, read.reason(value.get("finalError")) or "The model did not answer.")

    # ---- compaction --------------------------------------------------------------------------------------------------

    def compact(self, focus: str, step: Step) -> None:
        """A compaction of ours is on its way: omp tells no more of it than its result."""
        self.compacting = True
        step.events.append(CompactionStarted(focus))

    def compaction_start(self, value: dict[str, Any], step: Step) -> None:
        """``compaction_start``, ``auto_compaction_start``."""
        self._turns.going_on(step)
        if not self.compacting:
            self.compacting = True
            step.events.append(CompactionStarted(read.text(value.get("reason"))))

    def compaction_end(self, value: dict[str, Any], step: Step) -> None:
        """``compaction_end``, ``auto_compaction_end``. With ``willRetry`` the agent goes on with the prompt by itself."""
        error = read.text(value.get("errorMessage"))[:500]
        if value.get("aborted") is True:
            error = "It was stopped."
        elif value.get("skipped") is True:
            error = error or "There was nothing to be gained."
        self.compacted(value.get("result"), error, step)
        if value.get("willRetry") is not True:
            self._turns.maybe_over(step)

    def compacted(self, result: Any, error: str, step: Step) -> None:
        """The end of a compaction, told once."""
        if not self.compacting:
            return
        self.compacting = False
        told = read.fields(result)
        summary = read.text(told.get("summary"))
        before, after = read.count(told.get("tokensBefore")), read.count(told.get("estimatedTokensAfter"))
        if before is not None:
            size = f"{before:,} tokens before" + (f", about {after:,} after" if after is not None else "")
            summary = f"{summary}\n\n({size})" if summary else f"({size})"
        step.events.append(CompactionEnded(summary, error))


# ---- what has no memory --------------------------------------------------------------------------------------------------


def notice(value: dict[str, Any], out: list[Event]) -> None:
    """``notice``."""
    said = read.plain(value.get("message")) or "(an empty notice)"
    out.append(NoticeRaised(said, _LEVELS.get(read.text(value.get("level")), "warning")))


def extension_error(value: dict[str, Any], out: list[Event]) -> None:
    """``extension_error``: the run goes on."""
    path, event = read.text(value.get("extensionPath")) or "an extension", read.text(value.get("event"))
    error = read.plain(value.get("error")).rstrip(". ")[:500] or "no reason given"
    during = f" on {event}" if event else ""
    text = f"An extension failed{during}: {error}. The run goes on; mend or remove {path}."
    out.append(NoticeRaised(text, "warning", read.brief(value)))


def session_info(value: dict[str, Any], out: list[Event]) -> None:
    """``session_info_update`` (omp), ``session_info_changed`` (pi): the session's name."""
    name = value.get("title", value.get("name"))
    if isinstance(name, str):
        out.append(SessionUpdated({"title": name}))


def fallback(value: dict[str, Any], out: list[Event]) -> None:
    """``retry_fallback_applied`` and ``_succeeded``: another model takes over."""
    if value.get("type") == "retry_fallback_applied":
        why = read.reason(value.get("reason"))
        text = f"{read.text(value.get('from')) or 'The model'} failed{f' ({why})' if why else ''}; "
        out.append(NoticeRaised(text + f"{read.text(value.get('to')) or 'another'} takes over.", "info"))


def todos(value: dict[str, Any], out: list[Event]) -> None:
    """``todo_reminder`` and ``todo_auto_clear``."""
    items = read.todos(value.get("todos"))
    if value.get("type") == "todo_auto_clear" or not items:
        out.append(PlanRemoved())
    else:
        out.append(PlanUpdated(items))


def happening(value: dict[str, Any], out: list[Event]) -> None:
    """``goal_updated``, ``ttsr_triggered``, ``irc_message``: named, with what they hold."""
    name = read.text(value.get("type")).replace("_", " ")
    said = read.plain(value.get("message")) or read.plain(value.get("text"))
    out.append(NoticeRaised(f"{name}: {said}" if said else f"{name}.", "info", read.brief(value)))


def frame_error(value: dict[str, Any], out: list[Event]) -> None:
    """``rpc_frame_error``: a line was too long even for what replaces it."""
    kind, error = read.text(value.get("originalType")) or "a line", read.text(value.get("error")) or "too long"
    out.append(NoticeRaised(f"The agent could not send {kind} ({error}). What it held is missing here.", "warning"))
