"""Turns of ACP v2: the agent says by ``state_update`` whether it works; the answer to a prompt only says it was taken in.

Both generations of the draft are read: the answer ``{}`` or ``{"messageId"}``, failures as an error or as stop reason
``error``, permissions taken back by the agent or by us.
"""

from __future__ import annotations

from typing import Any, Literal

from ...events import Background, SessionUpdated, StopReason, TurnStarted
from ..base import Step, Wake
from ..jsonrpc import CANCELLED, RpcError
from .turns import LOST, NOT_REACHED, Running, Turns, failure, report_usage
from .turns_v1 import stop_reason

SETTLE = 3.0  # seconds an agent has to say "running" after it took a prompt and says that it is idle
UNANSWERED = 2.0  # … and, after a break, to answer a prompt although it is idle: what it ended may be the turn before
LATE = 0.3  # … and then to say "running" after all
_IDLE = "acp:idle"

Kind = Literal["tool", "terminal", "subagent", "other"]
_WORK: dict[str, tuple[Kind, str]] = {
    "terminal": ("terminal", "terminalId"),
    "tool_call": ("tool", "toolCallId"),
    "subagent": ("subagent", "sessionId"),
}


class TurnsV2(Turns):
    """``running`` may come before the prompt's answer, an ``idle`` of before after it; snapshots repeat (pitfall 26).

    So a turn of ours ends with the first ``idle`` after the agent has said that it works. An ``idle`` before that is
    taken for the end only when nothing else comes for a while: a command may be done without any work to speak of.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._idle: tuple[StopReason, str] | None = (
            None  # the idle that may be the end of a turn that never said it runs
        )
        self._after_break = False  # the connection broke; what comes may belong to the turn that ended by it

    def _send(self, running: Running, blocks: list[dict[str, Any]], step: Step) -> None:
        params = {"sessionId": self.context.session_id, "prompt": blocks}

        def answered(result: Any, error: RpcError | None, step: Step) -> None:
            if self.running is running:
                self._taken(running, error, step)

        self._idle = None
        self.context.peer.request(step, "session/prompt", params, answered, seconds=0)

    def _taken(self, running: Running, error: RpcError | None, step: Step) -> None:
        """The prompt was taken in, or will never be."""
        if error is None:
            running.acked = True
            self.context.updates.prompt_read(step.events)
            if self._idle is not None:
                step.wakes.append(Wake(_IDLE, LATE if running.busy else SETTLE))
            return
        cancelled = error.code == CANCELLED
        reason: tuple[StopReason, str] = ("cancelled", "") if cancelled else ("error", failure(error))
        if running.busy:  # it works on something; its idle will come, unless it was all about this prompt
            self._idle = reason
            running.failed = reason[1]
            step.wakes.append(Wake(_IDLE, SETTLE))
        else:
            self._end(*reason, step)

    def state(self, update: dict[str, Any], step: Step) -> None:
        """A ``state_update`` of our session. An unknown state counts as work, never as the end (ACP v2, state_update)."""
        state = update.get("state")
        self._background(update.get("background"), step)
        if state == "idle":
            self._on_idle(update, step)
        elif isinstance(state, str):
            self._on_busy(step)

    def go_on(self, state: dict[str, Any] | None, reached: bool, step: Step) -> None:
        """The agent has told whether it works (ACP v2, session/resume); where it has not, the turn ends here."""
        self._after_break = True
        running = self.running
        if running is None:
            if state is not None:
                self.state(state, step)
        elif state is None:
            self._end("error", LOST if reached else NOT_REACHED, step)
        elif state.get("state") == "idle" and not reached:
            self._end("error", NOT_REACHED, step)
        else:
            running.acked = running.busy = True
            if running.cancelled and state.get("state") != "idle":
                self._cancel(step)
            self.state(state, step)

    def woke(self, key: str, step: Step) -> bool:
        if key != _IDLE:
            return super().woke(key, step)
        if self.running is not None and self._idle is not None:
            if self.running.busy:
                self._heard(self.running, step)
            self._end(*self._idle, step)
        return True

    def _heard(self, running: Running, step: Step) -> None:
        """It has worked, so it has read the prompt, answered or not."""
        if running.command_id and not running.acked:
            running.acked = True
            self.context.updates.prompt_read(step.events)

    def _on_busy(self, step: Step) -> None:
        if self._idle is not None and (self.running is None or not self.running.failed):
            self._idle = None
            step.wakes.append(Wake(_IDLE, 0))
        if self.running is None:
            self.running = Running(acked=True, busy=True)
            step.events.append(TurnStarted())
            self.context.updates.begin_turn(step.events)
        self.running.busy = True

    def _on_idle(self, update: dict[str, Any], step: Step) -> None:
        running = self.running
        if running is None:
            return  # a snapshot of what is known
        ended: tuple[StopReason, str]
        if update.get("stopReason") == "error":
            ended = ("error", failure(RpcError.read(update.get("error"))))
        else:
            ended = (stop_reason(update.get("stopReason"), step), "")
        if running.busy:
            report_usage(update.get("usage"), step)
            if running.command_id and not running.acked and self._after_break and not running.failed:
                self._idle = ended
                step.wakes.append(Wake(_IDLE, UNANSWERED))
                return
            self._heard(running, step)
            self._idle = None
            self._after_break = False
            if running.failed:
                ended = ("error", running.failed)
            self._end(*ended, step)
            return
        if running.acked and running.cancelled and ended[0] == "cancelled":
            self._end(*ended, step)  # it was stopped before it had begun, and says so
            return
        self._idle = ended
        if running.acked:
            step.wakes.append(Wake(_IDLE, SETTLE))

    def _background(self, value: Any, step: Step) -> None:
        """Work that goes on by itself. Not told: as it was; an empty list: none (ACP v2, state_update, background)."""
        if not isinstance(value, list):
            return
        found = []
        for one in value:
            if not isinstance(one, dict):
                continue
            kind, name = _WORK.get(str(one.get("type")), ("other", "id"))
            ident = one.get(name)
            found.append(self._work(kind, ident if isinstance(ident, str) else "", str(one.get("type", ""))[:60]))
        step.events.append(SessionUpdated({"background": found}))

    def _work(self, kind: Kind, ident: str, title: str) -> Background:
        """One piece of it, with the name it is known by."""
        updates = self.context.updates
        shown = (
            updates.calls.of_terminal(ident) if kind == "terminal" else f"sub:{ident}" if kind == "subagent" else ident
        )
        call = updates.calls.get(shown)
        terminal = updates.calls.terminals.known(ident) if kind == "terminal" else None
        if terminal is not None:
            return Background(
                kind, ident, terminal.command or (call.title if call else "") or title, terminal.cancelable
            )
        child = updates.children.get(ident) if kind == "subagent" else None
        if child is not None:
            return Background(kind, ident, child.prompt[:60] or title, child.cancelable)
        return Background(kind, ident, (call.title if call else "") or title, call is not None and call.cancelable)
