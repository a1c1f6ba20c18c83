"""The client side of ACP, v1 and v2, sans-I/O: an agent's messages become events, commands become messages.

This one says who is to deal with what, and nothing else: :mod:`..jsonrpc` knows which answer belongs to which request,
:mod:`.handshake` the version, :mod:`.lifecycle` sessions and signing in, :mod:`.turns` when a turn begins and ends,
:mod:`.updates` what an agent tells, :mod:`.permission` and :mod:`.elicit` what it asks people, :mod:`.hosting` what it
asks of our side. It knows no process, no connection, no time, no policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...commands import Abort, Answer, Approve, Command, FollowUp, Prompt, SetMode, SetModel, SetOption, Steer
from ...errors import NotSupported
from ...events import (
    Capabilities,
    CommandAnswered,
    Event,
    LinkChanged,
    NoticeRaised,
    SessionStarted,
    SessionUpdated,
    StartRefused,
    UnknownReceived,
)
from ..base import Adapter, HostFailure, Step
from ..jsonrpc import CANCELLED, INVALID_PARAMS, METHOD_NOT_FOUND, Handler, Peer, RpcError, RpcId
from .asks import Asks
from .context import Context, Setup
from .elicit import Elicitations
from .handshake import Again, Agent, Offer, Refused, Version, judge
from .hosting import Hosting
from .inbox import Inbox
from .lifecycle import Lifecycle, Setting
from .permission import Permissions
from .turns import Turns
from .turns_v1 import TurnsV1
from .turns_v2 import TurnsV2
from .updates import Updates


class AcpAdapter(Adapter, Handler):
    """One ACP session as its client sees it.

    Args:
        cwd: the workspace, an absolute path.
        version: 1 or 2, or "auto": the newest both sides speak.
        client: our name and version, as the agent is told.
        mcp_servers: :class:`~.servers.McpServer` objects, or mappings as the wire takes them.
        roots: further folders (``additionalDirectories``), where the agent takes them.
        resume: the id of a saved session to take up, "" for a new one.
        latest: take up the saved session of this folder that was used last.
        replay: show the history of a session that is taken up, where the agent can tell it.
        sign_in: the id of the method to sign in by before anything else.
        mode, model, options: settings to make before the first prompt, such as the mode that asks.
        host: offer our files and terminals to an agent of v1.
        fs_read: with ``host``, offer the reading of files too.
        quirks: faults of this agent to allow for: ``missing_file_is_empty``, ``reinitialize``.
    """

    name = "acp"

    def __init__(
        self,
        *,
        cwd: str,
        version: Version = "auto",
        client: tuple[str, str] = ("hm_jupyter", "0"),
        mcp_servers: Sequence[Any] = (),
        roots: Sequence[str] = (),
        resume: str = "",
        replay: bool = True,
        sign_in: str = "",
        mode: str = "",
        model: str = "",
        options: Mapping[str, str | bool] | None = None,
        host: bool = False,
        fs_read: bool = True,
        quirks: Iterable[str] = (),
        latest: bool = False,
    ) -> None:
        self.capabilities = Capabilities()
        self._version = version
        self._offer = Offer(client[0], client[1], host, fs_read)
        self._setup = Setup(
            cwd, tuple(mcp_servers), tuple(roots), resume, replay, sign_in, mode, model, dict(options or {}), latest
        )
        self._quirks = frozenset(quirks)
        self._peer = Peer(self)
        self._inbox = Inbox()
        self._context: Context | None = None
        self._turns: Turns | None = None
        self._life: Lifecycle | None = None
        self._asks: Asks | None = None
        self._hosting: Hosting | None = None
        self._ready = False

    # ---- the calls of the seam ---------------------------------------------------------------------------------------

    def start(self) -> Step:
        """``initialize``; the rest follows from its answer."""
        step = Step()
        self._inbox.begin()
        self._initialize(self._version, step)
        return step

    def receive(self, value: Any) -> Step:
        """One JSON value arrived. Never raises."""
        step = Step()
        self._peer.receive(value, step)
        return step

    def send(self, command: Command) -> Step:
        """What a command becomes on the wire. Raises ``NotSupported``, ``NotWaiting``."""
        if self._context is None or self._turns is None or self._asks is None or not self._ready:
            raise NotSupported("The session is not open yet; wait until it is.")
        step = Step()
        context, turns = self._context, self._turns
        if isinstance(command, (Prompt, Steer, FollowUp)):
            turns.say(command, step)
        elif isinstance(command, Abort):
            turns.abort(step)
            step.events.append(CommandAnswered(command.id, True))
        elif isinstance(command, Approve):
            rpc_id, result = context.permissions.decide(command, step.events)
            self._peer.answer(step, rpc_id, result)
            step.events.append(CommandAnswered(command.id, True))
            if command.note and not command.allow:
                turns.note(command.note, step)
        elif isinstance(command, Answer):
            rpc_id, result = context.elicitations.answer(command, step.events)
            self._peer.answer(step, rpc_id, result)
            step.events.append(CommandAnswered(command.id, True))
        else:
            self._asks.ask(command, step)
        return step

    def stop(self) -> Step:
        """``session/cancel`` while a turn runs, with everything that waits answered "cancelled"."""
        step = Step()
        if self._turns is not None:
            self._turns.stop(step)
        return step

    def woke(self, key: str) -> Step:
        """A deadline, or an alarm of the turns'."""
        step = Step()
        if not self._peer.woke(key, step) and self._turns is not None:
            self._turns.woke(key, step)
        return step

    def host_done(self, call_id: str, result: dict[str, Any] | HostFailure) -> Step:
        """What a file or a terminal came to; the agent is told."""
        step = Step()
        if self._hosting is not None:
            self._hosting.done(call_id, result, step)
        return step

    def host_output(self, terminal_id: str, text: str) -> Step:
        """A terminal of ours wrote something; it is shown with the call that shows the terminal."""
        step = Step()
        if self._context is not None:
            self._context.updates.host_output(terminal_id, text, step.events)
        return step

    # ---- from the agent ------------------------------------------------------------------------------------------------

    def on_request(self, rpc_id: RpcId, method: str, params: dict[str, Any], step: Step) -> None:
        """Something the agent wants: a decision, an answer, a file, a terminal."""
        context = self._context
        if context is not None and method == "session/request_permission":
            if self._turns is not None and self._turns.stopping:
                self._peer.answer(step, rpc_id, {"outcome": {"outcome": "cancelled"}})
            else:
                self._wrong(rpc_id, context.permissions.request(rpc_id, params, step.events), step)
        elif context is not None and method == "elicitation/create":
            if self._turns is not None and self._turns.stopping:
                self._peer.answer(step, rpc_id, {"action": "cancel"})
            else:
                self._wrong(rpc_id, context.elicitations.request(rpc_id, params, step.events), step)
        elif self._hosting is None or not self._hosting.request(rpc_id, method, params, step):
            self._peer.fail(step, rpc_id, METHOD_NOT_FOUND, f"Method not found: {method[:100]}")

    def _wrong(self, rpc_id: RpcId, why: str | None, step: Step) -> None:
        """What is wrong with a request, if anything, is told to the agent."""
        if why is not None:
            self._peer.fail(step, rpc_id, INVALID_PARAMS, why)

    def on_notification(self, method: str, params: dict[str, Any], raw: Any, step: Step) -> None:
        """Something the agent tells. What is not known is kept as it is, and never fatal."""
        if method == "session/update":
            self._update(params, raw, step)
        elif method == "elicitation/complete":
            if self._context is not None:
                self._context.elicitations.complete(str(params.get("elicitationId", "")), step.events)
        else:
            step.events.append(UnknownReceived(method, raw))

    def on_cancelled(self, rpc_id: RpcId, step: Step) -> None:
        """``$/cancel_request``: the agent takes a request back; a dialog for it comes down (pitfall 13)."""
        if self._context is not None and self._context.withdraw(rpc_id, step):
            return
        if self._hosting is not None and self._hosting.withdraw(rpc_id, step):
            return
        self._peer.fail(step, rpc_id, CANCELLED, "Given up.")

    def _update(self, params: dict[str, Any], raw: Any, step: Step) -> None:
        session_id, update = params.get("sessionId"), params.get("update")
        if not isinstance(session_id, str) or not isinstance(update, dict):
            text = "The agent sent an update that cannot be read; it was left out."
            step.events.append(NoticeRaised(text, "warning", str(raw)[:500]))
        elif self._inbox.opening and (not self._ready or not self._ours(session_id)):
            self._inbox.keep(session_id, update)
        elif self._context is not None:
            self._take(session_id, update, step)

    def _ours(self, session_id: str) -> bool:
        return self._context is not None and session_id == self._context.session_id

    def _take(self, session_id: str, update: dict[str, Any], step: Step) -> None:
        context = self._context
        assert context is not None
        state = update.get("sessionUpdate") == "state_update"
        if state and isinstance(self._turns, TurnsV2) and self._ours(session_id):
            self._turns.state(update, step)
        else:
            context.updates.update(session_id, update, step.events)

    # ---- the handshake ---------------------------------------------------------------------------------------------------

    def _initialize(self, version: Version, step: Step, *, last: bool = False) -> None:
        def answered(result: Any, error: RpcError | None, step: Step) -> None:
            found = judge(version, result, error, last=last)
            if isinstance(found, Again):
                self._initialize(found.protocol, step, last=True)
            elif isinstance(found, Refused):
                step.events.append(StartRefused(found.reason))
            elif found.version == 1 and version == "auto" and "reinitialize" in self._quirks:
                self._initialize_again(found, step)
            else:
                self._agreed(found, step)

        self._peer.request(step, "initialize", self._offer.params(version), answered)

    def _initialize_again(self, found: Agent, step: Step) -> None:
        """Once more with v1 fields alone; where that is refused, what was answered first holds."""

        def answered(result: Any, error: RpcError | None, step: Step) -> None:
            better = judge(1, result, error, last=True)
            self._agreed(better if isinstance(better, Agent) else found, step)

        self._peer.request(step, "initialize", self._offer.params(1), answered)

    def _agreed(self, agent: Agent, step: Step) -> None:
        self.capabilities = agent.capabilities()
        updates = Updates(agent.version)
        context = self._context = Context(
            self._peer,
            self._setup,
            agent,
            self.capabilities,
            updates,
            Permissions(agent.version, updates.calls),
            Elicitations(agent.version, agent.name),
        )
        self._turns = TurnsV2(context) if agent.version == 2 else TurnsV1(context)
        if self._offer.host and agent.version == 1:
            self._hosting = Hosting(
                self._peer,
                updates,
                missing_is_empty="missing_file_is_empty" in self._quirks,
                read=self._offer.fs_read,
            )
        self._life = Lifecycle(context, self._opened, self._refused)
        self._asks = Asks(context, self._life, self._turns, self._inbox, self._take)
        self._life.open(step)

    # ---- the session -------------------------------------------------------------------------------------------------------

    def _opened(self, session_id: str, resumed: bool, result: Any, step: Step) -> None:
        """A session is open. It is ready when the settings asked for are made; what it told so far comes after that."""
        context, life = self._context, self._life
        assert context is not None and life is not None
        context.session_id = session_id
        told: list[Event] = []
        context.updates.result(result, told)
        self._note_settings(context)

        def settled(step: Step) -> None:
            context.updates.result({}, told)  # as they are now: ``told`` holds what they were when it opened
            self._started(session_id, resumed, told, step)

        life.settle(self._wanted(), settled, step)

    def _started(self, session_id: str, resumed: bool, told: list[Event], step: Step) -> None:
        context = self._context
        assert context is not None
        step.events.append(SessionStarted(session_id, context.setup.cwd, resumed=resumed))
        step.events.append(SessionUpdated({"protocol": f"ACP v{context.version}", "auth": context.agent.auth}))
        step.events.extend(told)
        self._ready = True
        for update in self._inbox.end(session_id):
            self._take(session_id, update, step)

    def _refused(self, event: StartRefused, step: Step) -> None:
        self._inbox.end("")
        step.events.append(event)

    def _wanted(self) -> list[Setting]:
        setup = self._setup
        wanted: list[Setting] = []
        if setup.model:
            wanted.append(SetModel(model=setup.model))
        wanted.extend(SetOption(option=name, value=value) for name, value in setup.options.items())
        if setup.mode:
            wanted.append(SetMode(mode=setup.mode))
        return wanted

    def _note_settings(self, context: Context) -> None:
        settings = context.updates.settings
        can = self.capabilities
        can.set_mode, can.set_model = settings.modes, settings.models
        can.effort, can.options = settings.effort, settings.options

    # ---- the connection ------------------------------------------------------------------------------------------------------

    def link_lost(self, reason: str) -> Step:
        """The connection broke; nothing can be said of what runs until it is back."""
        return Step([LinkChanged(False, reason)])
