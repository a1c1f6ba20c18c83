"""What the parts of one ACP session share: the peer, what the agent can do, which session is open.

Holds state and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...events import Capabilities
from ..base import Step
from ..jsonrpc import CANCELLED, Peer
from .elicit import Elicitations
from .handshake import Agent
from .permission import Permissions
from .updates import Updates


@dataclass(frozen=True)
class Setup:
    """How a person wants the session: paths absolute; ``resume`` an id, or "" for a new one (with ``latest``: for the one
    used last); ``replay`` whether the history of a resumed one is to be shown; ``sign_in`` the method to sign in by
    first, "" for none; ``streams``: updates come by another stream than some answers, so that one may overtake the other."""

    cwd: str
    mcp_servers: Sequence[Any] = ()
    roots: Sequence[str] = ()
    resume: str = ""
    replay: bool = True
    sign_in: str = ""
    mode: str = ""
    model: str = ""
    options: Mapping[str, str | bool] = field(default_factory=dict)
    latest: bool = False
    streams: bool = False


@dataclass
class Context:
    """One connection's state, made anew when the protocol begins anew.

    ``check``, where it is set, has the session told again before the running turn is closed, since something of it may have
    been lost, and then calls what it is given.
    """

    peer: Peer
    setup: Setup
    agent: Agent
    can: Capabilities
    updates: Updates
    permissions: Permissions
    elicitations: Elicitations
    session_id: str = ""
    check: Callable[[Callable[[Step], None], Step], None] | None = None

    @property
    def version(self) -> int:
        """The version of ACP spoken."""
        return self.agent.version

    @property
    def waits(self) -> bool:
        """Does the agent wait for a person?"""
        return self.permissions.waits or self.elicitations.waits

    def cancel_waiting(self, step: Step) -> None:
        """Answer everything a person was asked with "cancelled", at once (ACP v1, session/cancel; pitfall 12)."""
        for waiting in (self.permissions.cancel_all(step.events), self.elicitations.cancel_all(step.events)):
            for rpc_id, result in waiting:
                self.peer.answer(step, rpc_id, result)

    def withdraw(self, rpc_id: Any, step: Step) -> bool:
        """The agent does not wait for this decision any more. False: nothing of that id waits with a person."""
        for part in (self.permissions, self.elicitations):
            result = part.withdraw(rpc_id, step.events)
            if result is not None:
                if not self.peer.answer(step, rpc_id, result):
                    self.peer.fail(step, rpc_id, CANCELLED, "withdrawn")
                return True
        return False
