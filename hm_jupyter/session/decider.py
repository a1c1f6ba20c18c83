"""Carries out policies: decides what needs no person, refuses what nobody can be asked, and signs decisions.

To sign: a decision comes back from the agent as "approved", and only we know by whom and by which route.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from .. import commands as cmd
from .. import events as ev
from ..errors import HmError
from ..forms import YES, checked
from ..transcript import PendingApproval, PendingQuestion
from .policy import REFUSES_ALL, Policy, Ruling
from .runtime import beside
from .state import pending_request, running_turn

if TYPE_CHECKING:
    from .controller import Controller
    from .waiters import Waiter

log = logging.getLogger("hm_jupyter")

NOBODY = "Nobody is here to decide: the notebook runs unattended. Do without it, or stop and say what you would need."
NOTES = 5
"""Notes a policy may send as messages before a person says something: each of them is a turn, in which it may deny again."""

NOTED = (
    "The policy's notes are kept with its denials from here on, and not sent to the agent: each would begin another turn, "
    "and it was told already. Say it what to do instead."
)
NO_ANSWER = "Nobody is here to answer: the notebook runs unattended. Choose a safe default and say so, or stop."


class Decider:
    """One session's decisions by policy."""

    def __init__(self, controller: Controller, policy: Policy, alone: Policy | None) -> None:
        self._controller = controller
        self.policy = policy
        self.alone = alone
        self.thinking: set[str] = set()
        """The requests a function of the person's is deciding just now: nobody else is to be asked meanwhile."""
        self._refused: set[str] = set()  # requests refused because nobody can be asked
        self._noted: set[str] = set()  # notes of a policy's that were sent as messages since a person said something
        self._hushed = False  # … and that no more are was said
        self._signatures: dict[str, tuple[Literal["you", "policy"], str, str]] = {}

    # ---- what waits, just now --------------------------------------------------------------------------------------

    def requested(self, request_id: str) -> None:
        """A request has just been put into ``pending``: decide it at once if that needs no person and no function."""
        request = pending_request(self._controller.transcript.state, request_id)
        policies = self._policies()
        if request is None or request.state != "waiting":
            return
        if any(not p.quick or callable(p.answers) for p in policies):
            self.thinking.add(request_id)
            self._controller.start_soon(self._think, request, policies)
            return
        self._rule(request, policies)

    def nobody_here(self) -> None:
        """From here on nobody can be asked in the turn that runs: decide or refuse what waits, and what is to come."""
        self._controller.options_now().unattended = True
        for request in list(self._controller.transcript.state.pending):
            self.requested(request.request_id)
        self._controller.announce()

    def _policies(self) -> list[Policy]:
        options = self._controller.options_now()
        over = running_turn(self._controller.transcript) is None  # what a turn's own policy is for ends with it
        policies = [self.policy if over else options.policy or self.policy]
        alone = self.alone if over else options.alone or self.alone
        if options.unattended and alone is not None:
            policies.append(alone)
        return policies

    async def _think(self, request: PendingApproval | PendingQuestion, policies: list[Policy]) -> None:
        """Ask somebody's function, in a thread of its own: it may take its time, and may never return."""
        found: Ruling | str | Mapping[str, Any] | None = None
        try:
            found = await beside(_ask, request, policies)
        except Exception as error:
            self._failed(request, error)
            self._controller.announce()
        finally:
            self.thinking.discard(request.request_id)
        still = pending_request(self._controller.transcript.state, request.request_id)
        if still is not None and still.state == "waiting":
            self._carry_out(request, found)

    def _rule(self, request: PendingApproval | PendingQuestion, policies: list[Policy]) -> None:
        found: Ruling | str | Mapping[str, Any] | None = None
        try:
            found = _ask(request, policies)
        except Exception as error:  # whatever somebody wrote into a policy: it must not end the session
            self._failed(request, error)
        self._carry_out(request, found)

    def _failed(self, request: PendingApproval | PendingQuestion, error: Exception) -> None:
        why = str(error) if isinstance(error, HmError) else repr(error)
        text = (
            f"The approval policy failed on {request.call_id}: {why.rstrip('.')}. Decide by hand, and mend the policy."
        )
        self._controller.feed(ev.NoticeRaised(text, "error"))

    def _carry_out(
        self, request: PendingApproval | PendingQuestion, found: Ruling | str | Mapping[str, Any] | None
    ) -> None:
        if found is None and self._controller.options_now().unattended:
            found = self._refuse(request)
        if found is None:
            return
        command: cmd.Approve | cmd.Answer
        try:
            if isinstance(found, Ruling):
                command = cmd.Approve(
                    request_id=request.request_id,
                    allow=found.allow,
                    note=found.note,
                    for_session=found.for_session,
                    edits=found.edits,
                )
            else:
                command = _answer(request, found, refused=request.request_id in self._refused)
            waiter = self._controller.post(command, via="policy")
        except HmError as error:
            self._not_taken(request, f"The policy's decision on {request.call_id} could not be sent: {error}")
            return
        self._controller.start_soon(self._see_taken, request, waiter)

    async def _see_taken(self, request: PendingApproval | PendingQuestion, waiter: Waiter) -> None:
        """The agent may refuse a decision (edits for a call that edits nothing); then somebody else must decide."""
        try:
            answer = await waiter.wait()
        except Exception:  # the session ends, and says so itself
            return
        if not answer.ok:
            self._not_taken(
                request, f"The agent refused the policy's decision on {request.call_id}: {answer.error or 'no reason'}."
            )

    def _not_taken(self, request: PendingApproval | PendingQuestion, why: str) -> None:
        """A decision came to nothing. Where nobody can be asked the call is refused, and if not even that can be done
        the turn is stopped: nothing may wait for ever."""
        self._controller.announce(ev.NoticeRaised(why, "error"))
        still = pending_request(self._controller.transcript.state, request.request_id)
        if still is None or not self._controller.options_now().unattended:
            return
        if request.request_id not in self._refused:
            self._carry_out(request, None)
            return
        try:
            self._controller.post(cmd.Abort(), via="policy")
        except HmError as error:  # it has ended
            log.debug("abort: %s", error)

    def _refuse(self, request: PendingApproval | PendingQuestion) -> Ruling | str:
        self._refused.add(request.request_id)
        watch = self._controller.watches.get(request.turn)
        if isinstance(request, PendingApproval):
            what = request.command or request.summary or request.tool or request.call_id
        else:
            what = request.text
        if watch is not None:
            watch.refused.append(what)
        return Ruling(False, NOBODY) if isinstance(request, PendingApproval) else NO_ANSWER

    # ---- signatures ------------------------------------------------------------------------------------------------

    def for_wire(self, command: cmd.Command, via: str) -> cmd.Command:
        """The command as the agent gets it. Where a note would go as a message of its own, with a turn of its own, our set
        phrases are kept for the record, and so is what a policy has said before: an agent that asks again would be
        answered with another turn, and so on for ever."""
        if isinstance(command, cmd.Approve) and (self._set_phrase(command) or self._told_enough(command, via)):
            return command.model_copy(update={"note": ""})
        return command

    def spoken(self) -> None:
        """A person has said something: what follows is about that, and notes are worth sending again."""
        self._noted.clear()
        self._hushed = False

    def _set_phrase(self, command: cmd.Approve) -> bool:
        return self._is_message(command) and command.note in (NOBODY, REFUSES_ALL)

    def _told_enough(self, command: cmd.Approve, via: str) -> bool:
        """Is it one more note of a policy's that would do nothing but begin a turn?"""
        if via != "policy" or not self._is_message(command):
            return False
        return command.note in self._noted or len(self._noted) >= NOTES

    def _is_message(self, command: cmd.Approve) -> bool:
        """Would its note be sent as the next message?"""
        return bool(command.note and not command.allow and self._controller.capabilities.deny_note == "next_message")

    def sent(self, command: cmd.Approve | cmd.Answer, via: str) -> None:
        """A decision goes out: remember who made it, and what was said to it."""
        note = command.note if isinstance(command, cmd.Approve) else ""
        if isinstance(command, cmd.Approve) and not self._set_phrase(command):
            if self._told_enough(command, via):
                if not self._hushed:
                    self._hushed = True
                    self._controller.feed(ev.NoticeRaised(NOTED, "info"))
            elif via == "policy" and self._is_message(command):
                self._noted.add(note)
        self._signatures[command.request_id] = ("policy" if via == "policy" else "you", via, note)

    def signed(self, event: ev.ApprovalResolved | ev.QuestionResolved) -> Any:
        """The agent's word of a decision, with who made it where that was us."""
        signature = self._signatures.pop(event.request_id, None)
        if signature is None or event.by == "agent" or event.outcome in ("withdrawn", "interrupted"):
            return event  # the agent decided otherwise, or was faster
        if isinstance(event, ev.ApprovalResolved) and not event.note:
            return replace(event, by=signature[0], via=signature[1], note=signature[2])
        return replace(event, by=signature[0], via=signature[1])


def _answer(request: PendingApproval | PendingQuestion, found: str | Mapping[str, Any], *, refused: bool) -> cmd.Answer:
    """The answer a policy gave, or (``refused``) the one for where there is nobody: a form and a page to open are declined
    then, and a page is consented to only by a plain yes. Raises ``UsageError`` for fields the form does not take."""
    form = request.form if isinstance(request, PendingQuestion) else []
    url = request.url if isinstance(request, PendingQuestion) else ""
    if (refused and (form or url)) or (url and str(found).strip().lower() not in YES):
        return cmd.Answer(request_id=request.request_id, skip=True)
    if isinstance(found, Mapping):
        return cmd.Answer(request_id=request.request_id, fields=checked(form, found, defaults=True))
    return cmd.Answer(request_id=request.request_id, text=found)


def _ask(request: PendingApproval | PendingQuestion, policies: list[Policy]) -> Ruling | str | Mapping[str, Any] | None:
    for policy in policies:
        found = policy.rule(request) if isinstance(request, PendingApproval) else policy.answer(request)
        if found is not None:
            return found
    return None
