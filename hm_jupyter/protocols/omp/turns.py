"""Turns: when one begins and when it is over, which differs from version to version.

==============  ====================================================================================================
over with       said by
==============  ====================================================================================================
agent_end       the first document, omp 18.2 (unless ``isTerminal`` is false), pi 0.73; after an error the agent may
                be about to ask again, so a moment is waited
prompt_result   omp 18.3, for our prompts; and in all of omp what was done without the model (``agentInvoked`` false)
agent_settled   pi 1.x; ``agent_end`` there says only whether a retry follows
disposition     pi 1.x, "handled": done without the model
nothing         pi 0.73 after a command of an extension's: asked for the state after a moment
==============  ====================================================================================================

A run that begins without a prompt of ours (a background result, a follow-up) is a turn that the agent began.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...events import NoticeRaised, StopReason, TurnEnded, TurnStarted
from ..base import Step, Wake
from . import read

END, PROBE, SLOW = "omp:end", "omp:probe", "omp:slow"

MOMENT = 0.5  # seconds an agent has to go on after an end that may be none
SETTLE = 5.0  # … until it says that it has settled
PROBED = 1.0  # … to begin with a prompt it has taken up
SLOW_STOP = 10.0  # … to stop

SLOW_TEXT = "The agent has not stopped yet. Stop again to go on without it, or close the session to end it."
GIVEN_UP = "The agent may still work on what was stopped: what it says is shown. If it does not end, close the session."


@dataclass(slots=True)
class Running:
    """The turn that runs. ``command_id``: the prompt that began it; ``active``: the agent's own run goes on."""

    command_id: str = ""
    active: bool = False
    begun: bool = False
    aborting: bool = False
    ending: bool = False
    retrying: bool = False


class Turns:
    """The turn that runs, if one does.

    Args:
        dialect: omp or pi.
        started, ended: told when a turn begins and when it is over.
    """

    def __init__(
        self, dialect: str, started: Callable[[Step], None], ended: Callable[[StopReason, Step], None]
    ) -> None:
        self._dialect = dialect
        self._started = started
        self._ended = ended
        self.running: Running | None = None
        self.waiting: list[str] = []  # prompts that are out and have not begun, by command id
        self.results = False  # omp 18.3: a prompt_result ends our prompts
        self.probes = dialect == "pi"  # nothing else tells that a prompt was done without the model
        self.stop = ""  # the stop reason of the last message
        self.error = ""

    # ---- its beginning -----------------------------------------------------------------------------------------------

    def begin(self, step: Step, command_id: str | None = None) -> Running:
        """A turn begins, if none runs: of the prompt that waits, else the agent's own."""
        running = self.running
        if running is not None:
            return running
        if command_id is None:
            command_id = self.waiting[0] if self.waiting else ""
        if command_id in self.waiting:
            self.waiting.remove(command_id)
        self.running = running = Running(command_id)
        self.stop, self.error = "", ""
        step.events.append(TurnStarted(command_id))
        self._started(step)
        return running

    def accepted(self, command_id: str, data: Any, step: Step) -> None:
        """The agent has taken a prompt up (its response)."""
        told = read.fields(data)
        disposition = told.get("disposition")
        if disposition == "queued":
            return
        if command_id in self.waiting:
            self.begin(step, command_id)
        running = self.running
        if running is None or running.command_id != command_id:
            return
        if (told.get("agentInvoked") is False or disposition == "handled") and not running.active:
            self.end("end_turn", "", step)
        elif self.probes and disposition is None and not running.begun:
            step.wakes.append(Wake(PROBE, PROBED))

    def refused(self, command_id: str, error: str, step: Step) -> None:
        """The agent has not taken a prompt up after all."""
        if command_id in self.waiting:
            self.waiting.remove(command_id)
        running = self.running
        if running is not None and running.command_id == command_id and not running.begun:
            self.end("error", error, step)

    def agent_start(self, step: Step) -> None:
        """``agent_start``: the agent's run begins, or goes on after a retry."""
        running = self.begin(step)
        running.active = running.begun = True
        running.ending = running.retrying = False
        step.wakes += [Wake(END, 0), Wake(PROBE, 0)]

    # ---- its end -----------------------------------------------------------------------------------------------------

    def message_over(self, message: dict[str, Any]) -> None:
        """A message of the agent's is over; the last one tells how the turn ended."""
        self.stop = read.text(message.get("stopReason"))
        self.error = read.reason(message.get("errorMessage"))

    def agent_end(self, value: dict[str, Any], step: Step) -> None:
        """``agent_end``."""
        running = self.running
        if running is None:
            return
        running.active = False
        if value.get("isTerminal") is False or value.get("willRetry") is True:
            return
        if "willRetry" in value or (self.results and running.command_id):
            self._soon(SETTLE, step)
        elif self.stop == "error" and "isTerminal" not in value and not running.aborting:
            self._soon(MOMENT, step)
        else:
            self.over(step)

    def settled(self, value: dict[str, Any], step: Step) -> None:
        """``agent_settled`` (pi 1.x), ``session_settled`` (omp 18.3): nothing follows by itself."""
        if self.running is not None and not self.running.active:
            if value.get("aborted") is True:
                self.stop = "aborted"
            self.over(step)

    def prompt_result(self, command_id: str, value: dict[str, Any], step: Step) -> None:
        """``prompt_result`` (omp): what became of one of our prompts."""
        status = value.get("status")
        if isinstance(status, str):
            self.results = True
        if command_id in self.waiting:
            self.begin(step, command_id)
        running = self.running
        if running is None or running.command_id != command_id:
            return
        if value.get("agentInvoked") is False and not running.active:
            self.end("end_turn", "", step)
        elif status == "error":
            error = read.text(read.fields(value.get("error")).get("message")) or self.error
            self.end("error", error or "The agent gave no reason.", step)
        elif status == "aborted":
            self.end("cancelled", "", step)
        elif isinstance(status, str):
            self.over(step)

    def going_on(self, step: Step) -> None:
        """Something says that the agent goes on by itself: a retry, a compaction."""
        if self.running is not None and self.running.ending:
            self.running.ending = False
            step.wakes.append(Wake(END, 0))

    def maybe_over(self, step: Step, error: str = "") -> None:
        """What it went on with is over: unless it begins anew, so is the turn."""
        running = self.running
        if running is None:
            return
        running.retrying = False
        if error:
            self.stop, self.error = "error", error
        if not running.active and running.begun:
            self._soon(SETTLE if self._dialect == "pi" and not self.probes else MOMENT, step)

    def over(self, step: Step) -> None:
        """The turn is over, as its last message says."""
        running = self.running
        if running is None:
            return
        if running.aborting or self.stop == "aborted":
            self.end("cancelled", "", step)
        elif self.stop == "error":
            self.end("error", self.error or "The model failed and gave no reason.", step)
        else:
            self.end("max_tokens" if self.stop == "length" else "end_turn", "", step)

    def end(self, reason: StopReason, error: str, step: Step) -> None:
        """End the turn."""
        if self.running is None:
            return
        step.wakes += [Wake(END, 0), Wake(PROBE, 0), Wake(SLOW, 0)]
        self._ended(reason, step)
        self.running = None
        step.events.append(TurnEnded(reason, error))

    # ---- stopping ----------------------------------------------------------------------------------------------------

    def abort(self, step: Step) -> bool:
        """A stop is sent. False: it is the second, and the turn ends here."""
        running = self.running
        if running is None:
            return True
        if running.aborting:
            self.end("cancelled", "", step)
            step.events.append(NoticeRaised(GIVEN_UP))
            return False
        running.aborting = True
        step.wakes.append(Wake(SLOW, SLOW_STOP))
        return True

    def aborted(self, ok: bool, step: Step) -> None:
        """The answer to a stop. What the agent says of it may come after."""
        running = self.running
        if running is None:
            return
        if not ok:
            running.aborting = False
        elif not running.active:
            self._soon(MOMENT, step)

    def woke(self, key: str, step: Step) -> bool:
        """An alarm. True: ask for the state."""
        running = self.running
        if running is None:
            return False
        if key == END and running.ending:
            self.over(step)
        elif key == SLOW and running.aborting:
            step.events.append(NoticeRaised(SLOW_TEXT))
        return key == PROBE and not running.begun

    def state(self, data: dict[str, Any], step: Step) -> None:
        """What ``get_state`` says of a run."""
        running = self.running
        if running is not None and data.get("isStreaming") is False and not running.begun:
            self.end("end_turn", "", step)

    def _soon(self, seconds: float, step: Step) -> None:
        if self.running is not None:
            self.running.ending = True
            step.wakes.append(Wake(END, seconds))
