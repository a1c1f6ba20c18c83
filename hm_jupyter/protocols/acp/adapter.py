"""The client side of ACP, v1 and v2, sans-I/O: an agent's messages become events, commands become messages.

This one says who is to deal with what, and nothing else: :mod:`..jsonrpc` knows which answer belongs to which request,
:mod:`.connection` how an open session comes about, the first time and again, :mod:`.turns` when a turn begins and ends,
:mod:`.updates` what an agent tells, :mod:`.permission` and :mod:`.elicit` what it asks people, :mod:`.hosting` what it
asks of our side, :mod:`.asks` the requests of ours. It knows no process, no connection, no time, no policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...commands import Abort, Answer, Approve, Command, FollowUp, Prompt, Steer
from ...errors import NotSupported, TransportError
from ...events import Capabilities, CommandAnswered, LinkChanged, NoticeRaised, UnknownReceived
from ..base import Adapter, HostFailure, Step, Texts
from ..jsonrpc import CANCELLED, INVALID_PARAMS, METHOD_NOT_FOUND, Handler, Peer, RpcId, brief
from .connection import Connection
from .context import Setup
from .handshake import Offer, Version


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
        streams: a session's updates come by another stream than some answers (ACP over HTTP), and may be overtaken.
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
        streams: bool = False,
    ) -> None:
        chosen = dict(options or {})
        setup = Setup(
            cwd, tuple(mcp_servers), tuple(roots), resume, replay, sign_in, mode, model, chosen, latest, streams
        )
        self._peer = Peer(self)
        self._link = Connection(
            self._peer, setup, Offer(client[0], client[1], host, fs_read), version, frozenset(quirks)
        )

    @property
    def capabilities(self) -> Capabilities:  # type: ignore[override]
        """What the agent can do, as far as it has said."""
        return self._link.can

    # ---- the calls of the seam ---------------------------------------------------------------------------------------

    def start(self) -> Step:
        """``initialize``; the rest follows from its answer."""
        step = Step()
        self._link.start(step)
        return step

    def receive(self, value: Any) -> Step:
        """One JSON value arrived. Never raises."""
        step = Step()
        self._peer.receive(value, step)
        return self._link.tell(step)

    def texts(self, values: Sequence[Any], at: int) -> Texts | None:
        """The pieces of the message being written that come next."""
        return self._link.texts(values, at)

    def send(self, command: Command) -> Step:
        """What a command becomes on the wire. Raises ``NotSupported``, ``NotWaiting``, ``TransportError``,
        ``UsageError``."""
        step = Step()
        parts = self._link.parts
        if parts is not None and isinstance(command, (Approve, Answer)):
            self._decide(command, step)  # an agent may ask before it opens a session
        elif parts is None or not self._link.ready:
            if not isinstance(command, Abort) or parts is None:
                if self._link.over:
                    raise NotSupported(self._link.over)
                raise TransportError("The connection to the agent is being made again: try again when it is there.")
            parts.turns.abort_later(step)  # the connection is being made again
            step.events.append(CommandAnswered(command.id, True))
        elif isinstance(command, (Prompt, Steer, FollowUp)):
            parts.turns.say(command, step)
        elif isinstance(command, Abort):
            parts.turns.abort(step)
            step.events.append(CommandAnswered(command.id, True))
        else:
            parts.asks.ask(command, step)
        return self._link.tell(step)

    def _decide(self, command: Approve | Answer, step: Step) -> None:
        """The answer to a request of the agent's that still waits (pitfall 13)."""
        parts = self._link.parts
        assert parts is not None
        if isinstance(command, Approve):
            rpc_id, result = parts.context.permissions.decide(command, step.events)
        else:
            rpc_id, result = parts.context.elicitations.answer(command, step.events)
        self._peer.answer(step, rpc_id, result)
        step.events.append(CommandAnswered(command.id, True))
        parts.turns.decided(step)
        if isinstance(command, Approve) and command.note and not command.allow:
            parts.turns.note(command.note, step)

    def stop(self) -> Step:
        """``session/cancel`` while a turn runs, with everything that waits answered "cancelled"."""
        step = Step()
        if self._link.parts is not None:
            self._link.parts.turns.stop(step)
        return self._link.tell(step)

    def woke(self, key: str) -> Step:
        """A deadline, or an alarm of the turns'."""
        step = Step()
        if not self._peer.woke(key, step) and not self._link.woke(key, step) and self._link.parts is not None:
            self._link.parts.turns.woke(key, step)
        return self._link.tell(step)

    def host_done(self, call_id: str, result: dict[str, Any] | HostFailure) -> Step:
        """What a file or a terminal came to; the agent is told."""
        step = Step()
        if self._link.parts is not None:
            self._link.parts.hosting.done(call_id, result, step)
        return self._link.tell(step)

    def host_output(self, terminal_id: str, text: str) -> Step:
        """A terminal of ours wrote something; it is shown with the call that shows the terminal."""
        step = Step()
        if self._link.parts is not None:
            self._link.parts.context.updates.host_output(terminal_id, text, step.events)
        return self._link.tell(step)

    def link_lost(self, reason: str) -> Step:
        """The connection broke; nothing can be said of what runs until it is back."""
        return Step([LinkChanged(False, reason)])

    def link_back(self, fresh: bool) -> Step:
        """It is there again. On a fresh one everything begins anew, and the session is taken up where it was; on the same,
        what was lost of the running turn is asked for at its end."""
        step = Step()
        if fresh:
            self._link.again(step)
        else:
            self._link.doubt()
            step.events.append(LinkChanged(True))
        return self._link.tell(step)

    # ---- from the agent ------------------------------------------------------------------------------------------------

    def on_request(self, rpc_id: RpcId, method: str, params: dict[str, Any], step: Step) -> None:
        """Something the agent wants: a decision, an answer, a file, a terminal."""
        parts = self._link.parts
        if parts is not None and method == "session/request_permission":
            if parts.turns.stopping:
                self._peer.answer(step, rpc_id, {"outcome": {"outcome": "cancelled"}})
            else:
                self._wrong(rpc_id, parts.context.permissions.request(rpc_id, params, step.events), step)
        elif parts is not None and method == "elicitation/create":
            if parts.turns.stopping:
                self._peer.answer(step, rpc_id, {"action": "cancel"})
            else:
                self._wrong(rpc_id, parts.context.elicitations.request(rpc_id, params, step.events), step)
        elif parts is None or not parts.hosting.request(rpc_id, method, params, step):
            self._peer.fail(step, rpc_id, METHOD_NOT_FOUND, f"Method not found: {method[:100]}")

    def _wrong(self, rpc_id: RpcId, why: str | None, step: Step) -> None:
        """What is wrong with a request, if anything, is told to the agent."""
        if why is not None:
            self._peer.fail(step, rpc_id, INVALID_PARAMS, why)

    def on_notification(self, method: str, params: dict[str, Any], raw: Any, step: Step) -> None:
        """Something the agent tells. What is not known is never fatal: of the session it is kept as it is, anything else
        is ignored (ACP reference, section 1). Agents tell of their sign-in and the like in every session."""
        if method == "session/update":
            session_id, update = params.get("sessionId"), params.get("update")
            if isinstance(session_id, str) and isinstance(update, dict):
                self._link.update(session_id, update, step)
            else:
                text = "The agent sent an update that cannot be read; it was left out."
                step.events.append(NoticeRaised(text, "warning", brief(raw)))
        elif method == "elicitation/complete":
            if self._link.parts is not None:
                self._link.parts.context.elicitations.complete(str(params.get("elicitationId", "")), step.events)
        elif method.startswith("session/"):
            step.events.append(UnknownReceived(method, raw))

    def on_cancelled(self, rpc_id: RpcId, step: Step) -> None:
        """``$/cancel_request``: the agent takes a request back; a dialog for it comes down (pitfall 13)."""
        parts = self._link.parts
        if parts is None or not (parts.context.withdraw(rpc_id, step) or parts.hosting.withdraw(rpc_id, step)):
            self._peer.fail(step, rpc_id, CANCELLED, "Given up.")
        if parts is not None:
            parts.turns.decided(step)
