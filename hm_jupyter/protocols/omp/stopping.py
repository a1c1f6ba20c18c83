"""Stopping a run. First whatever asks is cancelled, for an ``abort`` hangs while a dialog is open, in both programs; then what
waits is taken back as far as the agent can, then the stop itself.

After an abort both agents keep what was queued and send it after the next prompt. pi 1.x can be told to forget it
(``clear_queue``), omp's newest too, message by message (``remove_queued_message``); where neither is known, that is said.
"""

from __future__ import annotations

from ...events import CommandAnswered, MessagesDropped, NoticeRaised
from ..base import Step
from .bash import OwnBash
from .dialogs import Dialogs
from .turns import Turns
from .unread import Queue
from .wire import Answer, Wire

_QUEUES = {"steer": "steering", "follow_up": "followUp"}


class Stopping:
    """Stops what runs."""

    def __init__(self, dialect: str, wire: Wire, turns: Turns, dialogs: Dialogs, unread: Queue, bash: OwnBash) -> None:
        self._dialect = dialect
        self._wire = wire
        self._turns = turns
        self._dialogs = dialogs
        self._unread = unread
        self._bash = bash

    def abort(self, command_id: str, step: Step) -> None:
        """Stop the turn; without one, a command of the person's that runs."""
        self._dialogs.cancel_all(step)
        running = self._turns.running
        if running is None and self._bash.open:
            self._wire.send(step, "abort_bash", then=lambda answer, step: _answered(command_id, answer, step),
                            wire_id=command_id)  # fmt: skip
            return
        self._dialogs.refuse = running is not None
        if running is not None and running.retrying:
            self._wire.send(step, "abort_retry")
        self._forget(step)
        if not self._turns.abort(step):
            step.events.append(CommandAnswered(command_id, True))
            return

        def done(answer: Answer, step: Step) -> None:
            self._turns.aborted(answer.ok, step)
            if not answer.ok or self._turns.running is None:
                self._dialogs.refuse = False
            _answered(command_id, answer, step)

        self._wire.send(step, "abort", then=done, wire_id=command_id)

    def stop(self, step: Step) -> None:
        """End the turn before the input is closed; omp waits for a command of the person's to end, however long."""
        self._dialogs.cancel_all(step)
        if self._bash.open:
            self._wire.send(step, "abort_bash")
        if self._turns.running is not None and self._turns.abort(step):
            self._wire.send(step, "abort")

    def _forget(self, step: Step) -> None:
        waiting = self._unread.waiting()
        if not waiting:
            return

        def forgotten(ids: list[str]) -> None:
            for one in ids:
                self._unread.refused(one)

        if self._dialect == "pi":

            def cleared(answer: Answer, step: Step) -> None:
                if answer.ok:
                    ids = [i for i in waiting if i in self._unread.waiting()]
                    forgotten(ids)
                    step.events.append(MessagesDropped(ids))
                else:
                    step.events.append(NoticeRaised(_kept(len(waiting))))

            self._wire.send(step, "clear_queue", then=cleared)
            return
        for one, unread in waiting.items():

            def removed(answer: Answer, step: Step, one: str = one) -> None:
                if answer.ok:
                    forgotten([one])
                    step.events.append(MessagesDropped([one]))
                elif one == next(iter(waiting)):
                    step.events.append(NoticeRaised(_kept(len(waiting))))

            fields = {"message": unread.text, "queue": _QUEUES.get(unread.kind, "followUp")}
            self._wire.send(step, "remove_queued_message", fields, removed)


def _answered(command_id: str, answer: Answer, step: Step) -> None:
    step.events.append(CommandAnswered(command_id, answer.ok, answer.data, answer.error))


def _kept(number: int) -> str:
    which = "the message" if number == 1 else f"the {number} messages"
    return f"This version of the agent cannot take back {which} that waited: it is given them after your next prompt."
