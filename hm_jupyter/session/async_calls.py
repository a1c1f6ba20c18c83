"""The session's calls for async code: ``aprompt`` is ``prompt``, and so on. From any event loop of asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .. import commands as cmd
from ..errors import AgentError, UsageError
from ..events import CommandAnswered
from ..forms import checked
from ..transcript import PendingQuestion
from .checks import option_of
from .forks import entry_of
from .media import attachments, compose, image_list
from .policy import ApprovePolicy, Policy, edits_of
from .presence import front
from .runtime import Runtime, follow
from .state import pending_request
from .turn import Turn, TurnOptions

if TYPE_CHECKING:
    from .controller import Controller


class AsyncCalls:
    """Mixed into :class:`~hm_jupyter.session.session.Session`, whose docstrings say what each call does."""

    controller: Controller
    runtime: Runtime

    async def aprompt(
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
        """``prompt``; cancelling it stops the turn. A notebook shows the live view; a task of yours may decide too."""
        here = front()
        if unattended is None:
            unattended = here is None
        loop = asyncio.get_running_loop()
        until = None if timeout is None else loop.time() + timeout
        try:
            turn = await self.astart(
                text, images=images, attach=attach, approve=approve, unattended=unattended, when_alone=when_alone
            )
            if here is not None and not unattended:
                here.show(self, turn)  # type: ignore[arg-type]  # the session is what this is mixed into
            following: Turn | None = turn
            while following is not None:
                await _ended(following, until)
                following.raise_for_status()
                following = following.following
        except asyncio.CancelledError:
            self.runtime.spawn(self._stop)
            raise
        return turn

    async def astart(
        self,
        text: str = "",
        *,
        images: Any = (),
        attach: Any = None,
        approve: ApprovePolicy | None = None,
        unattended: bool | None = None,
        when_alone: Mapping[str, Any] | None = None,
    ) -> Turn:
        """``start``"""
        command, options = self._prompt(text, images, attach, approve, unattended, when_alone)
        return self._waited_alone(await follow(self.runtime.spawn(self._begin, command, options)), unattended)

    async def asteer(self, text: str = "", *, images: Any = ()) -> None:
        """``steer``"""
        await self._asend(cmd.Steer(text=text, images=self._images(images)))

    async def afollow_up(self, text: str = "", *, images: Any = ()) -> None:
        """``follow_up``"""
        await self._asend(cmd.FollowUp(text=text, images=self._images(images)))

    async def aabort(self) -> None:
        """``abort``"""
        await self._asend(cmd.Abort())

    async def aapprove(
        self,
        call_id: str = "",
        *,
        allow: bool = True,
        for_session: bool = False,
        note: str = "",
        edits: Mapping[str, str] | None = None,
        option: str = "",
    ) -> None:
        """``approve``"""
        await self._asend(self._decision(call_id, allow, for_session, note, edits, option))

    async def adeny(self, call_id: str = "", *, note: str = "") -> None:
        """``deny``"""
        await self.aapprove(call_id, allow=False, note=note)

    async def aanswer(
        self, call_id: str = "", text: str | None = None, *, fields: Mapping[str, Any] | None = None
    ) -> None:
        """``answer``"""
        await self._asend(self._answering(call_id, text, fields))

    async def askip(self, call_id: str = "") -> None:
        """``skip``"""
        await self._asend(cmd.Answer(request_id=self._waiting(call_id, "question"), skip=True))

    async def aset_mode(self, mode: str) -> None:
        """``set_mode``"""
        await self._asend(cmd.SetMode(mode=mode))

    async def aset_model(
        self, model: str | None = None, *, provider: str | None = None, effort: str | None = None
    ) -> None:
        """``set_model``"""
        await self._asend(cmd.SetModel(model=model, provider=provider, effort=effort))

    async def acompact(self, focus: str = "") -> None:
        """``compact``"""
        await self._asend(cmd.Compact(focus=focus))

    async def aget_state(self) -> dict[str, Any]:
        """``get_state``"""
        return dict((await self._asend(cmd.GetState())).data or {})

    async def asessions(self, all: bool = False) -> list[dict[str, Any]]:
        """``sessions``"""
        return list(((await self._asend(cmd.ListSessions(all=all))).data or {}).get("sessions", []))

    async def afork(self, entry: str | int | Turn = "") -> dict[str, Any]:
        """``fork``"""
        return dict((await self._asend(cmd.Fork(entry=entry_of(self.controller.transcript, entry)))).data or {})

    async def aagent_export(self, format: Any = None, path: str = "", all_branches: bool = False) -> dict[str, Any]:
        """``agent_export``"""
        return dict((await self._asend(cmd.Export(format=format, path=path, all_branches=all_branches))).data or {})

    async def aexport(self, path: str | Path, *, redact: bool = True) -> Path:
        """``export``"""
        return await asyncio.to_thread(self.export, path, redact=redact)  # type: ignore[attr-defined]  # Session has it

    async def aclose(self) -> None:
        """``close``"""
        if not self.runtime.forked:
            await follow(self.runtime.spawn(self._close))

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.aclose()

    # ---- beneath ---------------------------------------------------------------------------------------------------

    def _prompt(
        self,
        text: str,
        images: Any,
        attach: Any,
        approve: ApprovePolicy | None,
        unattended: bool | None,
        when_alone: Mapping[str, Any] | None,
    ) -> tuple[cmd.Prompt, TurnOptions]:
        attached = attachments(attach)
        pictures = image_list(images)
        if not text.strip() and not attached and not pictures:
            raise UsageError("The prompt is empty: write what the agent should do, or give images.")
        whole = compose(text, attached)
        command = cmd.Prompt(
            text=whole,
            shown=text if attached else None,
            images=pictures,
            attachments=[name for name, _ in attached],
        )
        policy = None if approve is None else Policy(approve)
        return command, TurnOptions(policy, bool(unattended), Policy(**when_alone) if when_alone else None)

    def _decision(
        self, call_id: str, allow: bool, for_session: bool, note: str, edits: Mapping[str, str] | None, option: str
    ) -> cmd.Approve:
        request = self._waiting(call_id, "approval")
        if option:
            chosen = option_of(pending_request(self.controller.transcript.state, request), option)
            if not allow and chosen.kind.startswith("allow"):
                raise UsageError(f"{chosen.name!r} allows the call; leave allow=False out, or choose another option.")
            allow, for_session = chosen.kind.startswith("allow"), chosen.kind.endswith("session")
            option = chosen.id
        return cmd.Approve(
            request_id=request,
            allow=allow,
            for_session=for_session,
            note=note,
            edits=edits_of(edits),
            option_id=option,
        )

    def _answering(self, call_id: str, text: str | None, fields: Mapping[str, Any] | None) -> cmd.Answer:
        if fields is not None:
            if text is not None:
                raise UsageError("A form is answered by fields= alone.")
            request = self._waiting(call_id, "question")
            asked = pending_request(self.controller.transcript.state, request)
            if not isinstance(asked, PendingQuestion):  # what is wrong is said when it is sent
                return cmd.Answer(request_id=request, fields=dict(fields))
            if not asked.form:
                raise UsageError("That question is no form: answer it with a text.")
            return cmd.Answer(request_id=request, fields=checked(asked.form, fields, defaults=True))
        if text is None:
            call_id, text = "", call_id
        return cmd.Answer(request_id=self._waiting(call_id, "question"), text=text)

    def _images(self, images: Any) -> list[cmd.ImageData]:
        return image_list(images)

    async def _begin(self, command: cmd.Prompt, options: TurnOptions) -> Turn:
        waiter = self.controller.post(command, via="python", options=options)
        turn = self._turn(self.controller.transcript.state.turn)
        answer = await waiter.wait()
        if not answer.ok:
            raise AgentError(answer.error or "The agent refused the prompt.", command="prompt")
        return turn

    def _waited_alone(self, turn: Turn, unattended: bool | None) -> Turn:
        """A running turn that somebody may wait for where nobody can be asked, and nothing was said about that."""
        if unattended is None and front() is None:
            turn.before_wait(lambda: self.runtime.call(self.controller.decider.nobody_here), timed=False)
        return turn

    async def _stop(self) -> None:
        await self.controller.dispatch(cmd.Abort(), via="python")

    if TYPE_CHECKING:

        async def _asend(self, command: cmd.Command) -> CommandAnswered: ...

        async def _close(self) -> None: ...

        def _turn(self, number: int) -> Turn: ...

        def _waiting(self, call_id: str, kind: str) -> str: ...


async def _ended(turn: Turn, until: float | None) -> None:
    """Wait for the end of one turn; ``until``: the loop's time. Raises ``TimeoutError``."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    turn.when_done(lambda: loop.call_soon_threadsafe(_settle, ended))
    while not turn.done:
        left = 0.25 if until is None else min(0.25, until - loop.time())
        if left <= 0:
            turn.wait(0)
        await asyncio.wait({ended}, timeout=left)  # wakes often: a sleeping loop misses an interrupt


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
