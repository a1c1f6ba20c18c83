"""What a person says: prompts, steers, follow-ups, and when the agent has taken them up.

A response means accepted, no more. pi answers a command of an extension's only when its dialogs are over, so whatever shows
that a prompt was taken up counts as its answer; omp may take one back that it has accepted.
"""

from __future__ import annotations

from ...commands import FollowUp, Prompt, Steer
from ...errors import NotSupported
from ...events import CommandAnswered, MessagesDropped, NoticeRaised
from ..base import Step
from . import read
from .send import message
from .settings import Settings
from .turns import Turns
from .unread import Queue
from .wire import Answer, Wire


class Speaking:
    """The messages of the person's on their way."""

    def __init__(self, wire: Wire, turns: Turns, unread: Queue, settings: Settings) -> None:
        self._wire = wire
        self._turns = turns
        self._unread = unread
        self._settings = settings
        self._unanswered: set[str] = set()  # prompts whose response has not come
        self._names: dict[str, str] = {}  # wire ids that are not those of their commands

    def prompt(self, command: Prompt, step: Step) -> None:
        """Start a turn. Raises ``NotSupported`` for pictures the model cannot take."""
        self._check_images(command)
        busy = self._turns.running is not None
        kind, fields = message(command, "prompt", "followUp" if busy else "")
        self._unread.sent(command)
        self._turns.waiting.append(command.id)

        def answered(answer: Answer, step: Step) -> None:
            self._settle(command.id, answer, step)

        def again(answer: Answer, step: Step) -> None:  # taken back (omp: it had begun something else meanwhile)
            self._unread.refused(command.id)
            step.events.append(MessagesDropped([command.id]))
            if self._turns.running is None or self._turns.running.command_id != command.id:
                step.events.append(NoticeRaised(f"The agent did not take the prompt after all: {answer.error}"))
            self._turns.refused(command.id, answer.error, step)

        self._unanswered.add(command.id)
        wire_id = self._wire.send(step, kind, fields, answered, wire_id=command.id, again=again)
        if wire_id != command.id:
            self._names[wire_id] = command.id

    def _settle(self, command_id: str, answer: Answer, step: Step) -> None:
        """The response to a prompt: accepted or not. It is not the end of the run."""
        told_already = command_id not in self._unanswered
        self._unanswered.discard(command_id)
        if answer.ok:
            if "disposition" in read.fields(answer.data):
                self._turns.probes = False
            if not told_already:
                step.events.append(CommandAnswered(command_id, True, answer.data))
            self._turns.accepted(command_id, answer.data, step)
            return
        self._unread.refused(command_id)
        if told_already:
            step.events.append(MessagesDropped([command_id]))
        else:
            step.events.append(CommandAnswered(command_id, False, error=answer.error))
        self._turns.refused(command_id, answer.error, step)

    def accept(self, command_id: str, step: Step) -> None:
        """What comes shows that a prompt was taken up, though its response has not come (pi answers late)."""
        if command_id in self._unanswered:
            self._unanswered.remove(command_id)
            step.events.append(CommandAnswered(command_id, True))

    def say(self, command: Steer | FollowUp, step: Step, answered: bool = True) -> None:
        """A steer or a follow-up; while nothing runs it is a prompt (pi would keep it until the next one). Without
        ``answered`` it is a note that nobody waits for. Raises ``NotSupported``."""
        self._check_images(command)
        idle = self._turns.running is None and not self._turns.waiting
        kind, fields = message(command, "prompt" if idle else command.type)
        if idle:
            self._turns.waiting.append(command.id)
        self._unread.sent(command, "prompt" if idle else "")

        def done(answer: Answer, step: Step) -> None:
            if answered:
                step.events.append(CommandAnswered(command.id, answer.ok, answer.data, answer.error))
            if answer.ok:
                if idle:
                    self._turns.accepted(command.id, answer.data, step)
            else:
                self._unread.refused(command.id)
                self._turns.refused(command.id, answer.error, step)
                if not answered:
                    text = f"Your note did not reach the agent ({answer.error}). Send it as a message: {command.text[:300]}"
                    step.events.append(NoticeRaised(text))

        self._wire.send(step, kind, fields, done, wire_id=command.id)

    def command_of(self, wire_id: str) -> str:
        """The command that went out under that id."""
        return self._names.get(wire_id, wire_id)

    def _check_images(self, command: Prompt | Steer | FollowUp) -> None:
        if command.images and not self._settings.takes_images:
            raise NotSupported(
                f"The model {self._settings.key()} takes no images: describe them, or choose another with %hm model."
            )
