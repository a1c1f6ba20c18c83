"""Requests for leave that are ours and not the agent's: asked like any other, answered here.

The decision comes by the same ``Approve`` command, from a person or the policy; it is not for the adapter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

import anyio

from .. import commands as cmd
from .. import events as ev
from ..errors import NotSupported
from ..protocols.base import HostCall, Step
from ..workspace.refused import Refused
from .cards import OWN

if TYPE_CHECKING:
    from .controller import Controller

STOPPED = "The person stopped the turn."

MOST = 50
"""Requests that may wait at once: what nobody can look through is not asked."""

Outcome = Literal["allowed", "denied", "withdrawn", "interrupted"]


@dataclass
class Request:
    """One that waits."""

    done: anyio.Event
    outcome: Outcome = "interrupted"
    note: str = ""
    for_session: bool = False


class Asking:
    """What waits of one session."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._waiting: dict[str, Request] = {}

    async def ask(self, call: HostCall, card: str, *, rule: str = "", **shown: Any) -> Request:
        """Ask for leave, and wait for it however long. ``shown``: fields of ``ApprovalRequested``.

        Raises :class:`Refused` where it is not given.
        """
        if len(self._waiting) >= MOST:
            raise Refused("failed", f"{MOST} requests wait for the person: wait until some are decided.")
        request_id = OWN + call.id
        request = self._waiting[request_id] = Request(anyio.Event())
        self._controller.announce(  # a refusal holds its reason, whatever the agent can read with decisions of its own
            ev.ApprovalRequested(request_id, card, rule=rule, for_session=bool(rule), deny_note="denial", **shown)
        )
        try:
            await request.done.wait()
        finally:
            self.settle(request_id, "withdrawn")  # nothing to do but where the wait was broken off
        if request.outcome == "denied":
            raise Refused("denied", f"Leave was refused. {request.note}".strip())
        if request.outcome != "allowed":
            raise Refused("cancelled", STOPPED)
        return request

    def owns(self, command: cmd.Command) -> TypeGuard[cmd.Approve]:
        """Does ``command`` decide a request of ours?"""
        return isinstance(command, cmd.Approve) and command.request_id in self._waiting

    def decide(self, command: cmd.Approve) -> Step:
        """Take the decision. Raises ``NotSupported`` for edits: the agent would not know of them."""
        if command.edits is not None:
            raise NotSupported("The agent would not know of your edits: deny it with a note that says what to change.")
        request = self._waiting.pop(command.request_id)
        request.outcome = "allowed" if command.allow else "denied"
        request.note, request.for_session = command.note, command.for_session
        request.done.set()
        resolved = ev.ApprovalResolved(
            command.request_id, request.outcome, "you", note=command.note, for_session=command.for_session
        )
        return Step([resolved, ev.CommandAnswered(command.id, True)])

    def settle(self, request_id: str, outcome: Outcome, *, told: bool = False) -> None:
        """Take a request down undecided, if it waits. ``told``: the transcript knows."""
        request = self._waiting.pop(request_id, None)
        if request is not None:
            request.outcome = outcome
            request.done.set()
            if not told:
                self._controller.announce(ev.ApprovalResolved(request_id, outcome))

    def settle_all(self, *, told: bool = False) -> None:
        """The turn or the session is over: take all of them down."""
        for request_id in list(self._waiting):
            self.settle(request_id, "interrupted", told=told)
