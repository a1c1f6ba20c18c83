"""What a session says and asks of its agent beside prompts: settings, commands, sign-in, saved sessions, raw requests.

Mixed into :class:`~hm_jupyter.session.session.Session`. Every call waits; the same for async code begins with ``a``.
What an agent does not offer raises ``NotSupported``, and ``session.capabilities`` tells beforehand.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from .. import commands as cmd
from ..errors import NotSupported, UsageError
from ..events import AuthMethod, Background, CommandAnswered, ConfigOption, SlashCommand
from ..transcript import PlanEntry, SessionState, Transcript
from .runtime import Runtime, follow

if TYPE_CHECKING:
    from .session import Session


class Context(NamedTuple):
    """How full the model's context is, in tokens; None where the agent does not say."""

    used: int | None
    size: int | None


class AgentCalls:
    """The calls of a session that are about its agent."""

    runtime: Runtime
    reopen: Callable[[Mapping[str, Any]], Awaitable[Session]] | None = None
    """Opens another session with the same agent, given what is to differ (arguments of ``connect``)."""
    agent: str | Sequence[str] | None = None
    """What ``connect`` was given as the agent: a name, an address, a command."""

    # ---- what the agent offers -------------------------------------------------------------------------------------

    @property
    def modes(self) -> dict[str, str]:
        """The modes there are: id to name."""
        return {mode: self._label("mode", mode) for mode in self.state.modes}

    @property
    def models(self) -> dict[str, str]:
        """The models there are: id to name."""
        return {model: self._label("model", model) for model in self.state.models}

    @property
    def options(self) -> list[ConfigOption]:
        """The settings the agent offers, most important first."""
        return list(self.state.options)

    @property
    def commands(self) -> list[SlashCommand]:
        """The agent's slash commands: sent as a prompt that begins ``/name``."""
        return list(self.state.commands)

    @property
    def background(self) -> list[Background]:
        """What goes on after the turn's end."""
        return list(self.state.background)

    @property
    def sign_in_methods(self) -> list[AuthMethod]:
        """The ways to sign in."""
        return list(self.state.auth)

    @property
    def plan(self) -> PlanEntry | None:
        """The agent's latest plan that still is one."""
        plans = [e for e in list(self.transcript.entries.values()) if isinstance(e, PlanEntry) and not e.removed]
        return plans[-1] if plans else None

    @property
    def context(self) -> Context:
        """How full the context is."""
        return Context(self.state.context, self.state.context_size)

    # ---- settings --------------------------------------------------------------------------------------------------

    def set_option(self, option: str, value: bool | str) -> None:
        """Change a setting of ``options`` by its id (or its name). A switch takes True or False, on or off."""
        self._send(self._setting(option, value))

    async def aset_option(self, option: str, value: bool | str) -> None:
        """``set_option``"""
        await self._asend(self._setting(option, value))

    def _label(self, what: str, value: str) -> str:
        """The name of a mode or a model; the two may share an id."""
        labels = self.state.labels
        return labels.get(f"{what}:{value}") or labels.get(value, value)

    def _setting(self, option: str, value: bool | str) -> cmd.SetOption:
        found = next((o for o in self.state.options if option in (o.id, o.name)), None)
        if found is None:
            if not self.state.options:
                raise NotSupported(f"{self.state.agent} offers no settings.")
            raise UsageError(
                f"There is no setting {option!r}; there are {', '.join(o.id for o in self.state.options)}."
            )
        if found.kind == "boolean" and isinstance(value, str):
            word = value.strip().lower()
            if word not in ("on", "true", "yes", "off", "false", "no"):
                raise UsageError(f"{found.id} is a switch: on or off.")
            value = word in ("on", "true", "yes")
        elif found.kind == "select" and found.choices and value not in [c.value for c in found.choices]:
            by_name = next((c.value for c in found.choices if c.label == value), None)
            if by_name is None:
                offered = ", ".join(c.value for c in found.choices)
                raise UsageError(f"{found.id} cannot be {value!r}; it is one of {offered}.")
            value = by_name
        return cmd.SetOption(option=found.id, value=value)

    # ---- work ------------------------------------------------------------------------------------------------------

    def cancel(self, work: str, kind: Literal["tool", "terminal", "subagent"] | None = None) -> None:
        """Stop one call, terminal or sub-agent by its id, and nothing else (``abort`` stops the turn)."""
        self._send(self._cancelling(work, kind))

    async def acancel(self, work: str, kind: Literal["tool", "terminal", "subagent"] | None = None) -> None:
        """``cancel``"""
        await self._asend(self._cancelling(work, kind))

    def _cancelling(self, work: str, kind: Literal["tool", "terminal", "subagent"] | None) -> cmd.CancelWork:
        known = next((b.kind for b in self.state.background if b.id == work and b.kind != "other"), "tool")
        return cmd.CancelWork.model_validate({"work": work, "kind": kind or known})

    # ---- saved sessions --------------------------------------------------------------------------------------------

    def resume(self, session: str = "", **changes: Any) -> Session:
        """Another session with the same agent that goes on with a saved one ("": the latest); this one stays open.

        ``changes`` are arguments of :func:`hm_jupyter.connect` that are to differ.
        """
        return self.runtime.run(self._again, session, changes)

    async def aresume(self, session: str = "", **changes: Any) -> Session:
        """``resume``"""
        return await follow(self.runtime.spawn(self._again, session, changes))

    async def _again(self, session: str, changes: Mapping[str, Any]) -> Session:
        if self.reopen is None:
            raise NotSupported("This session was not made by hm.connect(), so it is not known how to make another.")
        what = {"session": session} if session else {"resume": True}
        return await self.reopen({**what, **changes})

    def close_session(self, session: str) -> None:
        """Have the agent free one of its sessions; it stays saved where the agent saves. Ours is ended by ``close()``."""
        self._send(cmd.CloseSession(session=self._other(session)))

    async def aclose_session(self, session: str) -> None:
        """``close_session``"""
        await self._asend(cmd.CloseSession(session=self._other(session)))

    def delete_session(self, session: str) -> None:
        """Have the agent delete a saved session, for good."""
        self._send(cmd.DeleteSession(session=self._other(session)))

    async def adelete_session(self, session: str) -> None:
        """``delete_session``"""
        await self._asend(cmd.DeleteSession(session=self._other(session)))

    def _other(self, session: str) -> str:
        if not session or session == self.state.session_id:
            raise UsageError("That is this very session: close() ends it here. Name another (sessions() lists them).")
        return session

    # ---- who we are ------------------------------------------------------------------------------------------------

    def sign_in(self, method: str = "") -> None:
        """Sign in by one of ``sign_in_methods`` ("": the only one the agent can carry out itself)."""
        self._send(cmd.SignIn(method=self._method(method)))

    async def asign_in(self, method: str = "") -> None:
        """``sign_in``"""
        await self._asend(cmd.SignIn(method=self._method(method)))

    def sign_out(self) -> None:
        """Forget the sign-in. Sessions that are open may no longer answer."""
        self._send(cmd.SignOut())

    async def asign_out(self) -> None:
        """``sign_out``"""
        await self._asend(cmd.SignOut())

    def _method(self, method: str) -> str:
        able = [m for m in self.state.auth if m.kind == "agent"]
        if method:
            found = next((m for m in self.state.auth if method in (m.id, m.name)), None)
            if found is None and self.state.auth:
                raise UsageError(
                    f"There is no such way to sign in; there are {', '.join(m.id for m in self.state.auth)}."
                )
            if found is not None and found.kind != "agent":
                raise UsageError(f"{found.id} is not carried out by the agent: %hm login does it, or a terminal.")
            return found.id if found is not None else method
        if len(able) != 1:
            which = ", ".join(m.id for m in able)
            raise UsageError(f"Say by which: {which}." if able else f"{self.state.agent} offers no way to sign in.")
        return able[0].id

    # ---- anything else ---------------------------------------------------------------------------------------------

    def call(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Send a request of the agent's own protocol as it is (an extension, something unstable); gives its result.

        Nothing is checked or shown. Raises ``AgentError`` for an error that comes back.
        """
        return self._send(cmd.CallAgent(method=method, params=dict(params or {}))).data

    async def acall(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """``call``"""
        return (await self._asend(cmd.CallAgent(method=method, params=dict(params or {})))).data

    if TYPE_CHECKING:

        @property
        def state(self) -> SessionState: ...

        @property
        def transcript(self) -> Transcript: ...

        def _send(self, command: cmd.Command, via: str = "python") -> CommandAnswered: ...

        async def _asend(self, command: cmd.Command) -> CommandAnswered: ...
