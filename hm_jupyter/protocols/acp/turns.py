"""Turns: one prompt at a time, what waits for its turn, and how a turn is stopped. The same for both versions.

When a turn begins and ends differs: :mod:`turns_v1` and :mod:`turns_v2`. Nothing here reads a ``session/update``.

A steer or a follow-up waits here and is sent as the next prompt (agents take one prompt at a time, and do very different
things with a second). A note on a denial goes the same way. One cancel a turn; after it the next prompt is held back
until the agent has ended the cancelled turn, lest the cancel hits that (pitfall 14).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Union

from ...commands import FollowUp, Prompt, Steer
from ...events import (
    CommandAnswered,
    MessagesDropped,
    MessageUpdated,
    NoticeRaised,
    StopReason,
    TurnEnded,
    TurnStarted,
    Usage,
    UsageReported,
)
from ..base import Step, Wake
from ..jsonrpc import LINK_LOST, RpcError
from .content import prompt_blocks
from .context import Context

Said = Union[Prompt, Steer, FollowUp]

AUTH_REQUIRED = -32000  # ACP v1 and v2, "Error codes"
SLOW_STOP = 10.0  # seconds after which an agent that has not stopped is said to be slow
_SLOW = "acp:slow-stop"

LOST = "The connection was lost before the agent was done. What it said is shown; prompt again to go on."
NOT_REACHED = "The connection was lost before the agent had read the prompt; send it again."
FORGOTTEN = (
    "The connection was lost before the agent was done, and the agent has forgotten this session. "
    "Tell it again what it needs to know."
)
STILL_WORKS = "The agent still works on what was stopped. The next prompt waits until it has ended that."
AWAY = "The agent cannot be reached. What was stopped is stopped there too as soon as it can."

STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "end_turn",
    "cancelled": "cancelled",
    "max_tokens": "max_tokens",
    "max_turn_requests": "max_steps",
    "refusal": "refusal",
}


@dataclass(slots=True)
class Running:
    """A turn the agent works on. ``command_id`` is "" when the agent began it; ``cancelled``: we have asked it to stop;
    ``shown``: a person sees it as running. ``acked`` and ``busy`` are of v2: the prompt was taken in, and the agent said
    that it works. ``over``: it has ended and is only not closed yet. ``unseen``: nobody will say when it ends."""

    command_id: str = ""
    cancelled: bool = False
    shown: bool = True
    acked: bool = False
    busy: bool = False
    failed: str = ""
    over: bool = False
    unseen: bool = False


class Turns(ABC):
    """The turns of one session."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.running: Running | None = None
        self._queue: list[Said] = []
        self._adrift = False  # we have lost sight of a turn that the agent may still work on

    # ---- what people say -------------------------------------------------------------------------------------------

    def say(self, command: Said, step: Step) -> None:
        """Send a message, now or when the agent is free."""
        step.events.append(CommandAnswered(command.id, True))
        if self.running is None:
            self._begin(command, step)
        else:
            self._queue.append(command)

    def note(self, text: str, step: Step) -> None:
        """What a person wrote to a denial goes as a message of its own, before what waits (ACP has no place for it)."""
        note = FollowUp(text=text)
        if self.running is None:
            self._begin(note, step)
        else:
            self._queue.insert(0, note)

    def abort(self, step: Step) -> None:
        """Stop the turn and drop what waits. Nothing is sent where nothing runs: some agents would take it for the next
        prompt. Asked again while the agent does not stop, the turn ends here, and the next prompt waits."""
        dropped = self._drop(step)
        running = self.running
        if running is None:
            if self._adrift:
                self._cancel(step)
            self.context.cancel_waiting(step)  # asked for work that outlived its turn
            return
        if running.over:
            return
        if running.cancelled:
            self._give_up(running, dropped, STILL_WORKS, step)
            return
        running.cancelled = True
        self._cancel(step)
        self.context.cancel_waiting(step)
        step.wakes.append(Wake(_SLOW, SLOW_STOP))
        if running.unseen:
            self._end("cancelled", "", step)

    def stop(self, step: Step) -> None:
        """What ends a turn at once, before the agent's input is closed."""
        if self.running is not None and not self.running.cancelled:
            self.abort(step)

    def abort_later(self, step: Step) -> None:
        """Stop the turn while there is no connection: it is not gone on with when there is one again. Asked again, it
        ends here."""
        dropped = self._drop(step)
        if self.running is None:
            return
        if self.running.cancelled:
            self._give_up(self.running, dropped, AWAY, step)
        self.running.cancelled = True

    def decided(self, step: Step) -> None:  # noqa: B027 — nothing to do where the agent says when a turn ends
        """A person has decided, or need not any more."""

    @property
    def stopping(self) -> bool:
        """Was the running turn cancelled by us, and has not ended yet?"""
        return self.running is not None and self.running.cancelled

    # ---- a connection that was lost ---------------------------------------------------------------------------------

    def hold(self) -> None:
        """The connection is gone: whether the turn goes on is not known, and no answer to its prompt will come."""
        if self.running is not None:
            self.running = replace(self.running)  # who waits for the old one's answer does not find it any more

    @abstractmethod
    def go_on(self, state: dict[str, Any] | None, reached: bool, step: Step) -> None:
        """The session is taken up again. ``state``: the last ``state_update`` told; ``reached``: the agent knows our prompt."""

    def forgotten(self, step: Step) -> None:
        """The agent goes on in a new session and knows nothing: not of the turn, nor of what the messages that wait for
        its end are about."""
        self._drop(step)
        self._end("error", FORGOTTEN, step)

    def lost(self, step: Step) -> None:
        """The session is gone for good."""
        self._drop(step)
        self._end("error", LOST, step)

    # ---- what becomes of it ----------------------------------------------------------------------------------------

    @abstractmethod
    def state(self, update: dict[str, Any], step: Step) -> None:
        """A ``state_update`` of our session."""

    def woke(self, key: str, step: Step) -> bool:
        """An alarm. False: it is not one of these."""
        if key != _SLOW:
            return False
        if self.running is not None and self.running.cancelled and self.running.shown:
            text = "The agent has not stopped yet. Stop again to go on without it, or close the session to end it."
            step.events.append(NoticeRaised(text))
        return True

    @abstractmethod
    def _send(self, running: Running, blocks: list[dict[str, Any]], step: Step) -> None:
        """Send the prompt itself."""

    def _begin(self, command: Said, step: Step) -> None:
        context = self.context
        blocks, left_out = prompt_blocks(command, context.can)
        self.running = Running(command.id)
        self._adrift = False
        step.events.append(TurnStarted(command.id))
        context.updates.begin_turn(step.events)
        shown = command.text if command.shown is None else command.shown
        told = context.version == 1 or shown != command.text  # else an agent of v2 says itself that it has read it
        if told:
            step.events.append(MessageUpdated(f"sent:{command.id}", "user", shown, final=True))
        step.events.extend(NoticeRaised(text) for text in left_out)
        context.updates.own_prompt(command.text, told=told)
        self._send(self.running, blocks, step)

    def _end(self, reason: StopReason, error: str, step: Step) -> None:
        """The agent has ended the turn: close it, and send what waits."""
        running = self.running
        if running is None:
            return
        if running.cancelled:
            reason, error = "cancelled", ""
            step.wakes.append(Wake(_SLOW, 0))
        check, self.context.check = self.context.check, None
        if check is not None and running.shown:
            running = self.running = replace(running, over=True)  # no answer ends it twice
            self.context.cancel_waiting(step)
            self.context.updates.end_turn(step.events, finished=reason == "end_turn")
            check(lambda step: self._ended(running, reason, error, step), step)
        else:
            self._ended(running, reason, error, step)

    def _ended(self, running: Running, reason: StopReason, error: str, step: Step) -> None:
        if self.running is not running:
            return  # the connection was lost meanwhile, and that has ended it
        self.running = None
        if running.shown:
            self._close(reason, error, step)
        if self._queue:
            self._begin(self._queue.pop(0), step)

    def _close(self, reason: StopReason, error: str, step: Step) -> None:
        self.context.cancel_waiting(step)
        self.context.updates.end_turn(step.events, finished=reason == "end_turn")
        step.events.append(TurnEnded(reason, error))

    def _cancel(self, step: Step) -> None:
        self._adrift = False
        self.context.peer.notify(step, "session/cancel", {"sessionId": self.context.session_id})

    def _give_up(self, running: Running, dropped: bool, text: str, step: Step) -> None:
        if running.shown:
            running.shown = False
            self._close("cancelled", "", step)
            step.events.append(NoticeRaised(text))
        elif dropped:
            step.events.append(TurnEnded("cancelled"))  # that of the prompt that waited

    def _drop(self, step: Step) -> bool:
        if not self._queue:
            return False
        step.events.append(MessagesDropped([c.id for c in self._queue]))
        self._queue.clear()
        return True


def failure(error: RpcError) -> str:
    """Why a prompt failed, in a sentence that says what to do."""
    if error.code == AUTH_REQUIRED:
        return f"The agent wants you to sign in first ({error.text}). Sign in, then send the prompt again."
    if error.code == LINK_LOST:
        return LOST
    return f"The agent failed: {error.text}"


def report_usage(value: Any, step: Step) -> None:
    """The tokens of one turn (unstable; prompt results in v1, ``state_update`` in v2)."""
    if not isinstance(value, dict):
        return
    names = ("inputTokens", "outputTokens", "cachedReadTokens", "cachedWriteTokens")
    counts = [value.get(n) for n in names]
    usage = Usage(*(int(c) if isinstance(c, (int, float)) and 0 <= c < 2**53 else 0 for c in counts))
    if usage != Usage():
        step.events.append(UsageReported(usage))
