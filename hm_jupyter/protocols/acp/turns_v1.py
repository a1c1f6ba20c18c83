"""Turns of ACP v1: a turn is as long as its ``session/prompt`` is unanswered (ACP v1, "Prompt turn")."""

from __future__ import annotations

from typing import Any

from ...events import NoticeRaised, StopReason, UnknownReceived
from ..base import Step, Wake
from ..jsonrpc import RpcError
from .turns import NOT_REACHED, STOP_REASONS, Running, Turns, failure, report_usage

OUT_OF_SIGHT = (
    "The connection was lost before the agent was done, and it may still be at work: what it says is shown. "
    "%hm abort stops it; prompt again to go on."
)
UNSEEN = 5.0  # seconds a turn out of sight is shown after what it waited for was decided
_UNSEEN = "acp:unseen"


class TurnsV1(Turns):
    """The answer to the prompt ends the turn. What the agent sends after it is still shown (pitfall 8)."""

    def _send(self, running: Running, blocks: list[dict[str, Any]], step: Step) -> None:
        params = {"sessionId": self.context.session_id, "prompt": blocks}

        def answered(result: Any, error: RpcError | None, step: Step) -> None:
            if self.running is running:
                self._answered(result, error, step)

        self.context.peer.request(step, "session/prompt", params, answered, seconds=0)

    def state(self, update: dict[str, Any], step: Step) -> None:
        """v1 has no such thing: shown as what it is."""
        step.events.append(UnknownReceived("state_update", update))

    def go_on(self, state: dict[str, Any] | None, reached: bool, step: Step) -> None:
        """The answer to the prompt went with the connection, and v1 has no other word for the end of a turn. The agent may
        still work on it: who has stopped it meanwhile is not to be disobeyed for that. Where it asks again what it waits for,
        it does, and the turn stays open until that is decided."""
        running = self.running
        if running is not None and reached:
            if running.cancelled:
                self._cancel(step)
            elif self.context.waits:
                running.unseen = True
                return
            else:
                self._adrift = True
        self._end("error", OUT_OF_SIGHT if reached else NOT_REACHED, step)

    def decided(self, step: Step) -> None:
        if self.running is not None and self.running.unseen and not self.context.waits:
            step.wakes.append(Wake(_UNSEEN, UNSEEN))

    def woke(self, key: str, step: Step) -> bool:
        if key != _UNSEEN:
            return super().woke(key, step)
        if self.running is not None and self.running.unseen and not self.context.waits:
            self._adrift = True
            self._end("error", OUT_OF_SIGHT, step)
        return True

    def _answered(self, result: Any, error: RpcError | None, step: Step) -> None:
        if error is not None:
            self._end("error", failure(error), step)
            return
        told = result if isinstance(result, dict) else {}
        report_usage(told.get("usage"), step)
        self._end(stop_reason(told.get("stopReason"), step), "", step)


def stop_reason(value: Any, step: Step) -> StopReason:
    """A stop reason of the wire as ours. One we do not know ends the turn like any other, and is said."""
    if isinstance(value, str) and value in STOP_REASONS:
        return STOP_REASONS[value]
    if isinstance(value, str) and value:
        step.events.append(NoticeRaised(f"The agent ended the turn for a reason of its own: {value[:100]}.", "info"))
    return "end_turn"
