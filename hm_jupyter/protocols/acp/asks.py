"""Commands that are one request each, and whose answer is the command's answer (reference, section 4).

Prompts, decisions and answers are not here: they have lives of their own (:mod:`.turns`, :mod:`.permission`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...commands import (
    CallAgent,
    CancelWork,
    CloseSession,
    Command,
    DeleteSession,
    Fork,
    ListSessions,
    SetMode,
    SetModel,
    SetOption,
    SignIn,
    SignOut,
)
from ...errors import NotSupported
from ...events import CommandAnswered, SessionStarted
from ..base import Step
from ..jsonrpc import DEADLINE, RpcError, Then
from .context import Context
from .inbox import Inbox
from .lifecycle import OPENING, SIGNING_IN, Lifecycle, gone_already
from .settle import Settle
from .turns import AUTH_REQUIRED, Turns

RAW_DEADLINE = 600.0  # seconds a request of the agent's own protocol may take (CallAgent)


class Asks:
    """The requests of one connection. ``take`` reads an update of the session that is open."""

    def __init__(
        self,
        context: Context,
        life: Lifecycle,
        settle: Settle,
        turns: Turns,
        inbox: Inbox,
        take: Callable[[str, dict[str, Any], Step], None],
    ) -> None:
        self._context = context
        self._life = life
        self._settle = settle
        self._turns = turns
        self._inbox = inbox
        self._take = take

    def ask(self, command: Command, step: Step) -> None:
        """Send the request a command stands for. Raises ``NotSupported``."""
        agent = self._context.agent
        if isinstance(command, (SetMode, SetModel, SetOption)):
            self._settle.change(command, self._answer(command), step)
        elif isinstance(command, ListSessions):
            _need(agent.listing, "list its sessions")
            self._list(command, step)
        elif isinstance(command, Fork):
            _need(agent.fork and not command.entry, "fork a session" + (" at an entry" if command.entry else ""))
            self._fork(command, step)
        elif isinstance(command, CloseSession):
            _need(agent.close, "close a session")
            self._request(command, "session/close", {"sessionId": command.session}, step)
        elif isinstance(command, DeleteSession):
            _need(agent.delete, "delete a session")
            self._request(command, "session/delete", {"sessionId": command.session}, step)
        elif isinstance(command, SignIn):
            self._request(command, *self._life.sign_in(command.method), step, seconds=SIGNING_IN)
        elif isinstance(command, SignOut):
            self._request(command, *self._life.sign_out(), step)
        elif isinstance(command, CancelWork):
            self._cancel_work(command, step)
        elif isinstance(command, CallAgent):
            self._request(command, command.method, dict(command.params), step, seconds=RAW_DEADLINE)
        else:
            raise NotSupported(f"ACP has no way to {command.type.replace('_', ' ')}.")

    def _request(
        self, command: Command, method: str, params: dict[str, Any], step: Step, *, seconds: float = DEADLINE
    ) -> None:
        self._context.peer.request(step, method, params, self._answer(command), seconds=seconds)

    @staticmethod
    def _answer(command: Command) -> Then:
        def answered(result: Any, error: RpcError | None, step: Step) -> None:
            if error is None:
                step.events.append(CommandAnswered(command.id, True, result))
            elif isinstance(command, (CloseSession, DeleteSession)) and gone_already(error):
                step.events.append(CommandAnswered(command.id, True))
            else:
                step.events.append(CommandAnswered(command.id, False, error=why(error)))

        return answered

    def _list(self, command: ListSessions, step: Step) -> None:
        def done(sessions: list[dict[str, Any]], error: RpcError | None, step: Step) -> None:
            if error is not None:
                step.events.append(CommandAnswered(command.id, False, error=why(error)))
            else:
                step.events.append(CommandAnswered(command.id, True, {"sessions": sessions}))

        self._life.list(command.all, done, step)

    def _fork(self, command: Fork, step: Step) -> None:
        """The session goes on in its copy; what the copy tells before the answer is told after it (pitfall 10)."""
        if self._turns.running is not None:
            raise NotSupported("A session is forked between turns: wait for the end of this one, or stop it.")
        self._inbox.begin()

        def answered(result: Any, error: RpcError | None, step: Step) -> None:
            session_id = result.get("sessionId") if isinstance(result, dict) else None
            if error is not None or not isinstance(session_id, str) or not session_id:
                self._inbox.end("")
                text = why(error) if error is not None else "The agent answered without the id of a session."
                step.events.append(CommandAnswered(command.id, False, error=text))
                return
            context = self._context
            context.session_id = session_id
            step.events.append(SessionStarted(session_id, context.setup.cwd))
            context.updates.result(result, step.events)
            step.events.append(CommandAnswered(command.id, True, {"session": session_id}))
            for update in self._inbox.end(session_id):
                self._take(session_id, update, step)

        method, params = self._life.fork(step)
        self._context.peer.request(step, method, params, answered, seconds=OPENING)

    def _cancel_work(self, command: CancelWork, step: Step) -> None:
        """One piece of work, where the agent says that it can be stopped (ACP v2, tool_call/cancel, terminal/cancel)."""
        method, params, answered = self._context.updates.cancel_work(command, self._context.session_id)
        if answered:
            self._request(command, method, params, step)
        else:
            self._context.peer.notify(step, method, params)
            step.events.append(CommandAnswered(command.id, True))


def _need(has: bool, what: str) -> None:
    if not has:
        raise NotSupported(f"This agent cannot {what}.")


def why(error: RpcError) -> str:
    """Why a request failed, in a sentence that says what to do."""
    if error.code == AUTH_REQUIRED:
        return f"The agent wants you to sign in first ({error.text}). Sign in, then try again."
    return f"{error.text[:1].upper()}{error.text[1:]}"
