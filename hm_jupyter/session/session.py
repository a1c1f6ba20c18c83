"""The session a person holds: every call, from any thread, waiting. The same calls for async code are ``a…``.

A thin face of the controller. It knows no protocol and no front-end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from .. import commands as cmd
from ..errors import UsageError
from ..events import Capabilities, CommandAnswered
from ..exports import known_format, render
from ..redact import Redactor
from ..redact import known_secrets as environment_secrets
from ..transcript import Pending, SessionState, Transcript
from .agent_calls import AgentCalls
from .async_calls import AsyncCalls
from .controller import Controller
from .forks import entry_of
from .policy import ApprovePolicy
from .presence import front
from .rpc_calls import RpcCalls
from .runtime import Runtime, follow
from .turn import Turn


class Exported(type(Path())):  # type: ignore[misc]  # PosixPath or WindowsPath: known at run time
    """The file an export was written to, with what was taken out of it."""

    redacted: Sequence[str] = ()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(f"{self}" + (f" (taken out: {', '.join(self.redacted)})" if self.redacted else ""))


STOP_GRACE = 10.0  # seconds an interrupted turn has to end before the interrupt goes on without it
OFFLINE_GRACE = 1.0  # … while its connection is being made again: the stop is kept and sent when it is there


class Session(AsyncCalls, AgentCalls):
    """A conversation with one agent. Made by :func:`hm_jupyter.connect`; a context manager that closes itself."""

    def __init__(self, controller: Controller, runtime: Runtime, *, name: str) -> None:
        self.controller = controller
        self.runtime = runtime
        self.name = name
        self.secrets: Callable[[], list[tuple[str, str]]] = list
        """Gives the secrets this session was opened with (``connect`` sets it)."""

    # ---- what it holds ---------------------------------------------------------------------------------------------

    @property
    def transcript(self) -> Transcript:
        """Everything shown so far."""
        return self.controller.transcript

    @property
    def state(self) -> SessionState:
        """Agent, mode, model, status, usage, what waits, …"""
        return self.controller.transcript.state

    @property
    def capabilities(self) -> Capabilities:
        """What this agent can do."""
        return self.controller.capabilities

    @property
    def pending(self) -> list[Pending]:
        """The approvals and questions that wait, oldest first."""
        return list(self.state.pending)

    @property
    def running(self) -> bool:
        """Does a turn run?"""
        return self.turn is not None and not self.turn.done

    @property
    def turn(self) -> Turn | None:
        """The latest turn."""
        return self._turn(self.state.turn) if self.state.turn in self.controller.watches else None

    def settled(self) -> Turn | None:
        """The latest turn once the session thread has done all it was told so far.

        For whoever was interrupted: the prompt that was just handed over may be about to begin its turn.
        """
        return self.runtime.call(lambda: self.turn)

    @property
    def turns(self) -> list[Turn]:
        """All turns of this session that ran here, in order."""
        return [self._turn(n) for n in sorted(self.controller.watches)]

    @property
    def closed(self) -> bool:
        """Has the agent ended, or was the session closed?"""
        return self.state.status == "ended"

    @property
    def lost(self) -> bool:
        """Has the agent ended by itself, or the connection to it?"""
        return self.controller.lost

    @property
    def rpc(self) -> RpcCalls:
        """The commands of oh-my-pi and pi that no other agent has. Raises ``NotSupported`` for another agent."""
        return RpcCalls(self)

    # ---- prompts ---------------------------------------------------------------------------------------------------

    def prompt(
        self,
        text: str = "",
        *,
        images: Any = (),
        attach: Any = None,
        approve: ApprovePolicy | None = None,
        unattended: bool | None = None,
        when_alone: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Turn:
        """Send a prompt and wait for the end of its turn, and of those that follow it (:attr:`Turn.following`).

        ``images``: figures, Pillow images, arrays, bytes or paths (a prompt may be images alone). ``attach``: values
        or a mapping of names to values, written into the prompt as text. ``approve``: the policy for this turn alone
        (see :class:`~hm_jupyter.session.policy.Policy`). ``unattended``: nobody can be asked; then ``when_alone``
        (``{"approve": …, "answers": …}``, default: the session's) decides what that leaves open, and the rest is refused.
        By default that is found out: in a notebook or a terminal the cell asks what no view shows, a script has nobody.
        Give False where code of yours decides meanwhile, from another thread. ``timeout``: seconds.

        ``KeyboardInterrupt`` stops the turn (the agent lives on). Raises ``TurnRunning``, ``AgentGone``,
        ``ApprovalRequired``, ``AgentError``, ``TimeoutError``.
        """
        here = front()
        if unattended is None:
            unattended = here is None
        try:
            turn = self.start(
                text, images=images, attach=attach, approve=approve, unattended=unattended, when_alone=when_alone
            )
            if here is not None and not unattended and timeout is None:
                here.attend(self, turn)
            until = None if timeout is None else time.monotonic() + timeout
            following: Turn | None = turn
            while following is not None:
                following.wait(None if until is None else max(0.0, until - time.monotonic()))
                following = following.following
            return turn
        except KeyboardInterrupt:
            running = self.settled()  # the interrupt may have come before the agent took the prompt up
            if running is not None and not running.done:
                self.abort()
                running._watch.done.wait(self.stop_grace(STOP_GRACE))
            raise

    def stop_grace(self, usual: float) -> float:
        """The seconds a stopped turn has to end, before nobody waits for it any longer."""
        return min(usual, OFFLINE_GRACE) if self.state.link else usual

    def start(
        self,
        text: str = "",
        *,
        images: Any = (),
        attach: Any = None,
        approve: ApprovePolicy | None = None,
        unattended: bool | None = None,
        when_alone: Mapping[str, Any] | None = None,
    ) -> Turn:
        """Send a prompt and return its running turn at once. Arguments as for :meth:`prompt`.

        With ``unattended`` left out, what needs leave waits for code of yours to decide it. In a script, where nobody
        else can, :meth:`Turn.wait` then refuses what still waits; give False where another thread decides.
        """
        command, options = self._prompt(text, images, attach, approve, unattended, when_alone)
        return self._waited_alone(self.runtime.run(self._begin, command, options), unattended)

    def steer(self, text: str = "", *, images: Any = ()) -> None:
        """Tell the running turn something; the agent reads it after the tool call in progress."""
        self._send(cmd.Steer(text=text, images=self._images(images)))

    def follow_up(self, text: str = "", *, images: Any = ()) -> None:
        """Queue a message for the end of the turn."""
        self._send(cmd.FollowUp(text=text, images=self._images(images)))

    def abort(self) -> None:
        """Stop the turn: what waits is refused, what is queued is dropped; the agent lives on."""
        self._send(cmd.Abort())

    # ---- decisions -------------------------------------------------------------------------------------------------

    def approve(
        self,
        call_id: str = "",
        *,
        allow: bool = True,
        for_session: bool = False,
        note: str = "",
        edits: Mapping[str, str] | None = None,
        option: str = "",
    ) -> None:
        """Allow the call that waits under ``call_id`` ("": the only one that does).

        ``edits``: whole new contents by path; only these files are applied. ``option``: one of the agent's own ways to
        decide, by id or name (the pending approval's ``options``); it may be one that refuses.
        Raises ``NotWaiting``, ``NotSupported``, ``UsageError``.
        """
        self._send(self._decision(call_id, allow, for_session, note, edits, option))

    def deny(self, call_id: str = "", *, note: str = "") -> None:
        """Refuse the call that waits; ``note`` tells the agent why."""
        self.approve(call_id, allow=False, note=note)

    def answer(self, call_id: str = "", text: str | None = None, *, fields: Mapping[str, Any] | None = None) -> None:
        """Answer a question: ``answer(call_id, text)``, or ``answer(text)`` when only one waits.

        A form is answered by its ``fields``, name to value: ``answer(fields={"city": "Oslo"})``. A page to be opened
        (the question's ``url``) is consented to by ``answer(call_id, "yes")``; ``skip`` declines.
        """
        self._send(self._answering(call_id, text, fields))

    def skip(self, call_id: str = "") -> None:
        """Leave a question without an answer; the agent is told so."""
        self._send(cmd.Answer(request_id=self._waiting(call_id, "question"), skip=True))

    # ---- the session -----------------------------------------------------------------------------------------------

    def set_mode(self, mode: str) -> None:
        """Change the mode from the next turn on."""
        self._send(cmd.SetMode(mode=mode))

    def set_model(self, model: str | None = None, *, provider: str | None = None, effort: str | None = None) -> None:
        """Change model, provider and/or effort from the next turn on; what is None stays."""
        self._send(cmd.SetModel(model=model, provider=provider, effort=effort))

    def compact(self, focus: str = "") -> None:
        """Have the agent summarise its context; waits until it has."""
        self._send(cmd.Compact(focus=focus))

    def get_state(self) -> dict[str, Any]:
        """The agent's own account of its state."""
        return dict(self._send(cmd.GetState()).data or {})

    def sessions(self, all: bool = False) -> list[dict[str, Any]]:
        """The agent's saved sessions of this workspace, or of ``all``, newest first."""
        return list((self._send(cmd.ListSessions(all=all)).data or {}).get("sessions", []))

    def fork(self, entry: str | int | Turn = "") -> dict[str, Any]:
        """Go on in a copy of the session, from ``entry`` or the latest message. Only between turns.

        ``entry``: a turn, its number (-1: the latest), or what the agent calls a message (``turn.entry``). What came after
        it is not in the copy, and stays in the session as it was. Raises ``UsageError`` where there is no such turn.
        """
        return dict(self._send(cmd.Fork(entry=entry_of(self.transcript, entry))).data or {})

    def agent_export(self, format: Any = None, path: str = "", all_branches: bool = False) -> dict[str, Any]:
        """Have the *agent* write its session to a file; its answer holds ``path`` and ``redacted``."""
        return dict(self._send(cmd.Export(format=format, path=path, all_branches=all_branches)).data or {})

    def export(self, path: str | Path, *, redact: bool = True) -> Exported:
        """Write the transcript to a file, ``.html``, ``.md``, ``.txt``, ``.json``, ``.jsonl`` or ``.ipynb`` by its ending,
        mid-turn too. The path that is returned has ``redacted``, what was taken out: ``["2 anthropic key"]``.

        ``redact``: take out the secrets this process knows of (of the environment, and those ``connect`` was given) and
        anything shaped like one. Raises ``UsageError`` for another ending and for a path that is a folder, a pipe or a
        device, ``OSError`` for what cannot be written.
        """
        target = Exported(Path(path).expanduser())
        kind = known_format(target.suffix.lstrip("."))
        if target.exists() and not target.is_file():  # opening a pipe would wait for its reader
            what = "a folder" if target.is_dir() else "no ordinary file (a pipe or a device)"
            raise UsageError(f"{target} is {what}, and nothing was written. Name a file, such as session.html.")
        redactor = Redactor(self.known_secrets()) if redact else None
        from ..exports.redacted import copied

        # Copied on the session's thread, written on ours: a long session must not stop the others.
        text = render(self.runtime.call(copied, self.transcript), kind, redactor=redactor)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        target.redacted = redactor.summary() if redactor else []
        return target

    def known_secrets(self) -> list[tuple[str, str]]:
        """``(kind, secret)`` of all an export must not hold as far as this process knows: asked for at each export, so
        that nothing is kept twice."""
        return [*environment_secrets(os.environ), *self.secrets()]

    def close(self) -> None:
        """End the session and its agent. Harmless when repeated, and in a forked copy of the process, whose it is not."""
        if not self.runtime.forked:
            self.runtime.run(self._close)

    # ---- beneath ---------------------------------------------------------------------------------------------------

    def _send(self, command: cmd.Command, via: str = "python") -> CommandAnswered:
        async def send() -> CommandAnswered:
            return await self.controller.dispatch(command, via=via)

        return self.runtime.run(send)

    async def _asend(self, command: cmd.Command) -> CommandAnswered:
        async def send() -> CommandAnswered:
            return await self.controller.dispatch(command, via="python")

        return await follow(self.runtime.spawn(send))

    def _waiting(self, call_id: str, kind: str) -> str:
        """The request meant by ``call_id``; "" means the only one of its kind that waits."""
        if call_id:
            named = [p for p in self.pending if call_id in (p.request_id, p.call_id)]
            if len(named) > 1:
                ids = ", ".join(p.request_id for p in named)
                raise UsageError(f"{len(named)} requests wait under {call_id!r}: say which, by request id: {ids}.")
            return named[0].request_id if named else call_id
        waiting = [p for p in self.pending if p.TAG[1] == kind and p.state == "waiting"]
        if len(waiting) == 1:
            return waiting[0].request_id
        if not waiting:
            return "(none)"
        ids = ", ".join(p.call_id or p.request_id for p in waiting)
        raise UsageError(f"{len(waiting)} wait: say which, by call id: {ids}.")

    def _turn(self, number: int) -> Turn:
        from ..exports import bundle

        return Turn(self.transcript, self.controller.journal, self.controller.watches[number], bundle)

    async def _close(self) -> None:
        await self.controller.close()
        self.runtime.forget(self)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        s = self.state
        waits = f", {len(s.pending)} waiting" if s.pending else ""
        return f"<Session {self.name!r}: {s.agent}, {s.status}, {s.turn} turns{waits}>"
