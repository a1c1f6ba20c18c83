"""The life of sessions: sign in, new, load, resume, list, close, delete, fork, settings (reference, sections 3 and 4).

What an opened session means for the rest of the adapter is told by two calls, ``opened`` and ``refused``. Turns and updates
are not known here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import NotSupported
from ...events import AuthMethod, NoticeRaised, StartRefused
from ..base import Step
from ..jsonrpc import INVALID_PARAMS, LINK_LOST, TIMED_OUT, RpcError, Then
from .context import Context
from .handshake import auth_methods
from .turns import AUTH_REQUIRED

BEHIND = "_hm_jupyter/told"  # an extension no agent needs to know: its refusal is answer enough
BEHIND_WAIT = 5.0  # seconds for that
RETELLING = 30.0  # seconds for a session to be told again that is open
OPENING = 300.0  # seconds a session may take to open: agents install, index and sign in meanwhile
SIGNING_IN = 900.0  # seconds a person may take in a browser
RESOURCE_NOT_FOUND = -32002

Opened = Callable[[str, bool, Any, Step], None]


class Lifecycle:
    """How sessions come about on one connection.

    ``opened(session_id, resumed, result, step)`` is called when one is open; ``refused(event, step)`` when none is.
    """

    def __init__(
        self,
        context: Context,
        opened: Opened,
        refused: Callable[[StartRefused, Step], None],
    ) -> None:
        self.context = context
        self.replays = False  # the session was taken up in a way that has its history told
        self.stale = False  # the connection is gone: what it opens or does not open means nothing any more
        self._opened = opened
        self._refused = refused

    # ---- the first session -----------------------------------------------------------------------------------------

    def open(self, step: Step) -> None:
        """Sign in if that was asked for, then make or resume the session."""
        wanted = self.context.setup.sign_in
        if not wanted:
            self._open(step)
            return
        method = next((m for m in self.context.agent.auth if m.id == wanted), None)
        if method is not None and method.kind != "agent":
            self._refuse(by_hand(method), step, [method])
            return

        def signed_in(result: Any, error: RpcError | None, step: Step) -> None:
            if self.stale:
                return
            if error is not None:
                self._refuse(f"signing in by {wanted!r} failed: {error.text}.", step, self.context.agent.auth)
            else:
                self._open(step)

        name, params = self.sign_in(wanted)
        self.context.peer.request(step, name, params, signed_in, seconds=SIGNING_IN)

    def _open(self, step: Step) -> None:
        setup = self.context.setup
        if setup.resume:
            self._resume(setup.resume, step, replay=setup.replay)
        elif setup.latest:
            self._latest(step)
        else:
            self._new(step)

    def reopen(self, step: Step) -> None:
        """Take the session up on a new connection; where the agent has forgotten it, make a new one."""
        agent = self.context.agent
        if not (agent.load or agent.resume):
            self._new(step)
            return

        def forgotten(error: RpcError, step: Step) -> None:
            if error.code in (AUTH_REQUIRED, TIMED_OUT, LINK_LOST):
                self._failed("session/resume", error, step)
            else:
                self._new(step)

        self._resume(self.context.session_id, step, replay=True, otherwise=forgotten)

    def retell(self, then: Then, step: Step) -> bool:
        """Have the open session told again on the same connection. False: this agent cannot."""
        agent = self.context.agent
        params = {"sessionId": self.context.session_id, **self._where(Step())}
        if agent.version == 2:
            params["replayFrom"] = {"type": "start"}
        method = (
            ("session/resume" if agent.resume else "") if agent.version == 2 else "session/load" if agent.load else ""
        )

        def answered(result: Any, error: RpcError | None, step: Step) -> None:
            self._told(self.context.session_id, lambda step: then(result, error, step), step)

        if method:
            self.context.peer.request(step, method, params, answered, seconds=RETELLING)
        return bool(method)

    def _told(self, session_id: str, then: Callable[[Step], None], step: Step) -> None:
        """Go on when a session's whole history is here. By HTTP it comes on the session's stream, while the answer to the
        request for it comes on that of the connection (ACP reference 10): so something is asked, whatever the agent makes of
        it, whose answer comes behind the history."""
        if not self.context.setup.streams:
            then(step)
            return
        params = {"sessionId": session_id}

        def answered(result: Any, error: RpcError | None, step: Step) -> None:
            if not self.stale:
                then(step)

        self.context.peer.request(step, BEHIND, params, answered, seconds=BEHIND_WAIT)

    def _new(self, step: Step) -> None:
        def answered(result: Any, error: RpcError | None, step: Step) -> None:
            session_id = result.get("sessionId") if isinstance(result, dict) else None
            if self.stale:
                return
            if error is not None:
                self._failed("session/new", error, step)
            elif not isinstance(session_id, str) or not session_id:
                self._refuse("it answered session/new without the id of a session.", step)
            else:
                self._opened(session_id, False, result, step)

        self.context.peer.request(step, "session/new", self._where(step), answered, seconds=OPENING)

    def _latest(self, step: Step) -> None:
        """Take up the session of this folder that was used last, as far as the agent says when (else its first)."""
        if not self.context.agent.listing:
            self._refuse("it cannot list its saved sessions. Give the id of the one to take up.", step)
            return

        def listed(found: list[dict[str, Any]], error: RpcError | None, step: Step) -> None:
            if self.stale:
                return
            if error is not None:
                self._failed("session/list", error, step)
            elif not found:
                self._refuse("it has no saved session in this folder. Start a new one.", step)
            else:
                newest = max(found, key=lambda one: str(one.get("updated", "")))
                self._resume(str(newest["id"]), step, replay=self.context.setup.replay)

        self.list(False, listed, step)

    def _resume(
        self,
        session_id: str,
        step: Step,
        *,
        replay: bool,
        again: bool = False,
        otherwise: Callable[[RpcError, Step], None] | None = None,
    ) -> None:
        """Take up a saved session, by whichever way the agent has. ``again``: without a replay, which it cannot give;
        ``otherwise``: what to do where it refuses."""
        agent = self.context.agent
        params = {"sessionId": session_id, **self._where(step)}
        if agent.version == 2:
            if replay and not again:
                params["replayFrom"] = {"type": "start"}
            method = "session/resume" if agent.resume else ""
        elif agent.load and (replay or not agent.resume):
            method = "session/load"
        else:
            method = "session/resume" if agent.resume else ""
        if not method:
            self._refuse("it cannot take up a saved session. Start a new one.", step)
            return

        def answered(result: Any, error: RpcError | None, step: Step) -> None:
            if self.stale:
                return
            if error is None:  # the result may well be null (pitfall 21)
                self.replays = method == "session/load" or "replayFrom" in params
                self._told(session_id, lambda step: self._opened(session_id, True, result, step), step)
            elif error.code == INVALID_PARAMS and "replayFrom" in params:
                self._resume(session_id, step, replay=replay, again=True, otherwise=otherwise)
            elif otherwise is not None:
                otherwise(error, step)
            else:
                self._failed(method, error, step)

        self.context.peer.request(step, method, params, answered, seconds=OPENING)

    def _where(self, step: Step) -> dict[str, Any]:
        """The params that say where a session works and what it may use; what the agent cannot take is left out, and said."""
        setup, agent = self.context.setup, self.context.agent
        params: dict[str, Any] = {"cwd": setup.cwd, "mcpServers": []}
        for server in setup.mcp_servers:
            written = server.wire(agent.version) if hasattr(server, "wire") else dict(server)
            kind = str(written.get("type", "stdio"))
            if kind in agent.mcp:
                params["mcpServers"].append(written)
            else:
                name = str(written.get("name", ""))[:60]
                step.events.append(
                    NoticeRaised(f"The MCP server {name!r} was left out: this agent connects to none by {kind}.")
                )
        if setup.roots and agent.folders:
            params["additionalDirectories"] = list(setup.roots)
        elif setup.roots:
            step.events.append(NoticeRaised("This agent works in one folder only: the further ones were left out."))
        return params

    def _failed(self, method: str, error: RpcError, step: Step) -> None:
        if error.code == AUTH_REQUIRED:
            data = error.data if isinstance(error.data, dict) else {}
            ways = auth_methods(data.get("authMethods")) or self.context.agent.auth
            self._refuse(f"you have to sign in first ({error.text}).", step, ways)
        elif error.code in (TIMED_OUT, LINK_LOST):
            self._refuse(f"{error.text}.", step)
        else:
            self._refuse(f"{method} failed: {error.text} (code {error.code}).", step)

    def _refuse(self, reason: str, step: Step, ways: list[AuthMethod] | None = None) -> None:
        self._refused(StartRefused(reason, list(ways or [])), step)

    # ---- the rest --------------------------------------------------------------------------------------------------

    def sign_in(self, method_id: str) -> tuple[str, dict[str, Any]]:
        """The request that signs in. Raises ``NotSupported`` for a method that is none of the agent's own doing."""
        method = next((m for m in self.context.agent.auth if m.id == method_id), None)
        if method is not None and method.kind != "agent":
            raise NotSupported(by_hand(method))
        return "auth/login" if self.context.version == 2 else "authenticate", {"methodId": method_id}

    def sign_out(self) -> tuple[str, dict[str, Any]]:
        """The request that signs out. Raises ``NotSupported``."""
        if not self.context.agent.logout:
            raise NotSupported("This agent has no way to sign out; do it in its own program.")
        return "auth/logout" if self.context.version == 2 else "logout", {}

    def fork(self, step: Step) -> tuple[str, dict[str, Any]]:
        """The request for a copy of the session (unstable)."""
        return "session/fork", {"sessionId": self.context.session_id, **self._where(step)}

    def list(
        self, everything: bool, done: Callable[[list[dict[str, Any]], RpcError | None, Step], None], step: Step
    ) -> None:
        """All saved sessions, page by page (session/list, ``nextCursor``)."""
        found: list[dict[str, Any]] = []
        seen: set[str] = set()

        def ask(cursor: str | None, step: Step) -> None:
            params: dict[str, Any] = {} if everything else {"cwd": self.context.setup.cwd}
            if cursor is not None:
                params["cursor"] = cursor
            self.context.peer.request(step, "session/list", params, answered)

        def answered(result: Any, error: RpcError | None, step: Step) -> None:
            if error is not None:
                done(found, error, step)
                return
            page = result if isinstance(result, dict) else {}
            sessions = page.get("sessions")
            found.extend(s for s in map(saved, sessions if isinstance(sessions, list) else ()) if s)
            following = page.get("nextCursor")
            more = isinstance(following, str) and (following != "" or self.context.version == 2)
            if more and following not in seen:
                seen.add(str(following))
                ask(following, step)
            else:
                done(found, None, step)

        ask(None, step)


def saved(value: Any) -> dict[str, Any]:
    """A saved session as people are shown it; {} for what has no id."""
    if not isinstance(value, dict) or not isinstance(value.get("sessionId"), str):
        return {}
    names = {"sessionId": "id", "title": "title", "cwd": "root", "updatedAt": "updated"}
    return {ours: value[theirs] for theirs, ours in names.items() if isinstance(value.get(theirs), str)}


def by_hand(method: AuthMethod) -> str:
    """How to sign in by a method that no message of ours can carry out."""
    if method.kind == "terminal":
        extra = f" with {' '.join(method.args)}" if method.args else ""
        return f"{method.name!r} is done in a terminal: run the agent's own command{extra}, then start again."
    return f"{method.name!r} is no way to sign in that we know; do it as the agent's manual says, then start again."


def gone_already(error: RpcError) -> bool:
    """Closing or deleting what is not there has succeeded (session/close, session/delete)."""
    return error.code == RESOURCE_NOT_FOUND
