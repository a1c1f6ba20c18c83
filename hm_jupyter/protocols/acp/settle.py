"""Making settings: before the first prompt, one after the other, and whenever a person changes one.

How an agent wants a setting written is :mod:`.settings`; here it is sent, and remembered for a connection to come.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Union

from ...commands import SetMode, SetModel, SetOption
from ...errors import NotSupported, UsageError
from ...events import Event, NoticeRaised
from ..base import Step
from ..jsonrpc import RpcError, Then
from .context import Context

Setting = Union[SetMode, SetModel, SetOption]


class Settle:
    """The settings of one connection. ``chosen``: those made so far, in order; ``stale``: the connection is gone."""

    def __init__(self, context: Context, chosen: dict[str, Setting] | None = None) -> None:
        self.context = context
        self.chosen = chosen or {}
        self.stale = False

    def settle(self, wanted: list[Setting], told: list[Event], done: Callable[[Step], None], step: Step) -> None:
        """Make settings one after the other, then call ``done``; what that changed is added to ``told``. One that cannot be
        made is said and does not stop the rest: a mode that asks may be what somebody relies on."""
        if not wanted:
            done(step)
            return

        def made(result: Any, error: RpcError | None, step: Step) -> None:
            if self.stale:
                return
            if error is not None:
                self._unsettled(wanted[0], error.text, step)
            self.settle(wanted[1:], told, done, step)

        try:
            self.change(wanted[0], made, step, told)
        except (NotSupported, UsageError) as no:
            self._unsettled(wanted[0], str(no), step)
            self.settle(wanted[1:], told, done, step)

    def change(self, command: Setting, then: Then, step: Step, told: list[Event] | None = None) -> None:
        """Make one setting, which may take several requests; ``then`` gets the last result, or the first error. What it
        changed is told at once, unless ``told`` is to hold it.

        Raises ``NotSupported`` and ``UsageError``."""
        settings = self.context.updates.settings
        if isinstance(command, SetMode):
            messages = settings.set_mode(command)
        elif isinstance(command, SetModel):
            messages = settings.set_model(command)
        else:
            messages = settings.set_option(command)

        def made(result: Any, error: RpcError | None, step: Step) -> None:
            if error is None:
                key = f"option {command.option}" if isinstance(command, SetOption) else command.type
                self.chosen.pop(key, None)
                self.chosen[key] = command
            then(result, error, step)

        self._send_all(list(messages), None, made, step, told)

    def _send_all(
        self,
        messages: list[tuple[str, dict[str, Any]]],
        result: Any,
        then: Then,
        step: Step,
        told: list[Event] | None,
    ) -> None:
        if not messages:
            then(result, None, step)
            return
        method, params = messages[0]

        def answered(result: Any, error: RpcError | None, step: Step) -> None:
            if error is not None:
                then(None, error, step)
                return
            self.context.updates.settings.done(messages[0], result, step.events if told is None else told)
            self._send_all(messages[1:], result, then, step, told)

        self.context.peer.request(step, method, {"sessionId": self.context.session_id, **params}, answered)

    def _unsettled(self, command: Setting, reason: str, step: Step) -> None:
        what = {"set_mode": "mode", "set_model": "model"}.get(command.type, "option")
        text = f"The {what} was not set, and the session has the agent's own: {reason}"
        step.events.append(NoticeRaised(text, "warning"))
