"""One turn of the scripted ACP agent: the verbs its scenes are written in, and how a turn begins and ends.

In v1 the prompt's answer ends the turn; in v2 it only confirms it, and states tell how it goes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from acp_peer import Json, Peer, Refused, Waiting
from acp_sessions import Session
from acp_voice import V2, text

if TYPE_CHECKING:
    from acp_agent import Agent

OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "always", "name": "Always allow this", "kind": "allow_always"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    {"optionId": "never", "name": "Never allow this", "kind": "reject_always"},
]


class Cancelled(Exception):
    """The turn was cancelled."""


class Ends(Exception):
    """The turn ends with this stop reason."""


class Turn:
    """One prompt and all that comes of it."""

    def __init__(self, agent: Agent, session: Session, rpc_id: Any, blocks: list[Json], peer: Peer) -> None:
        self.agent = agent
        self.session = session
        self.rpc_id = rpc_id
        self.blocks = blocks
        self.peer = peer
        self.voice = agent.voice
        self.cancelled = threading.Event()
        self.deaf = False
        self.script = ""  # played instead of the prompt
        self.afterwards: list[Callable[[], None]] = []
        self.background: list[Json] = []
        self._message = ""
        self._thought = ""
        self._withdrawable: list[Waiting] = []

    @property
    def prompt(self) -> str:
        """What the person wrote."""
        return "".join(str(b.get("text", "")) for b in self.blocks if b.get("type") == "text")

    # ---- the verbs -------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Stop here if the turn was cancelled."""
        if self.cancelled.is_set() and not self.deaf:
            raise Cancelled

    def pause(self, seconds: float) -> None:
        """Let time pass, or stop here."""
        if self.deaf:
            threading.Event().wait(seconds)
        elif self.cancelled.wait(seconds):
            raise Cancelled

    def tell(self, update: Json, child: str = "") -> None:
        """A session/update."""
        self.session.tell(update, child)
        if self.agent.args.repeat and update["sessionUpdate"] in ("state_update", "tool_call_update", "plan"):
            self.session.tell(update, child)

    def say(self, said: str) -> None:
        """The next piece of the answer. After a thought or a tool call it is a new message."""
        self._thought = ""
        self._message = self._message or self.session.fresh("m")
        with self.session.telling:
            self.session.remember("agent", self._message, [text(said)])
            self.tell(self.voice.chunk("agent", self._message, text(said)))

    def show(self, block: Json) -> None:
        """Something in the answer that is no text."""
        self._message = self._message or self.session.fresh("m")
        with self.session.telling:
            self.session.remember("agent", self._message, [block])
            self.tell(self.voice.chunk("agent", self._message, block))

    def think(self, said: str) -> None:
        """The next piece of a thought."""
        self._message = ""
        self._thought = self._thought or self.session.fresh("t")
        with self.session.telling:
            self.session.remember("thought", self._thought, [text(said)])
            self.tell(self.voice.chunk("thought", self._thought, text(said)))

    def call(self, title: str, kind: str = "other", **fields: Any) -> str:
        """Begin a tool call; returns its id."""
        self._message = self._thought = ""
        call_id = self.session.fresh("c")
        fields = {"title": title, "kind": kind, "status": "pending", **fields}
        with self.session.telling:
            self.session.remember_call(call_id, fields)
            self.tell(self.voice.call(call_id, dict(fields)))
        return call_id

    def update(self, call_id: str, **fields: Any) -> None:
        """News of a tool call."""
        with self.session.telling:
            self.session.remember_call(call_id, fields)
            self.tell(self.voice.call_update(call_id, fields))

    def done(self, call_id: str, said: str, ok: bool = True) -> None:
        """The tool call has ended, and this is what it put out."""
        status = "completed" if ok else "failed"
        self.update(call_id, status=status, content=[content(said)], rawOutput={"output": said})

    def request(self, method: str, **params: Any) -> Any:
        """A request to the client, and its result."""
        return self.answer_of(self.session.ask(method, params))

    def answer_of(self, waiting: Waiting) -> Any:
        """Wait for that answer."""
        try:
            return waiting.result()
        finally:
            self.session.open.pop(waiting, None)

    def ask_leave(self, title: str, call_id: str, **fields: Any) -> Waiting:
        """Ask the person for leave, without waiting; see :meth:`outcome`."""
        self.state("requires_action")
        params = self.voice.permission(title, call_id, fields, OPTIONS)
        waiting = self.session.ask("session/request_permission", params)
        self._withdrawable.append(waiting)
        if self.cancelled.is_set():  # it came just before
            self.withdraw()
        return waiting

    def outcome(self, waiting: Waiting) -> str:
        """The option that was chosen. ``Cancelled`` when the work is, "" for an outcome we do not know: no leave."""
        try:
            outcome = (self.answer_of(waiting) or {}).get("outcome") or {}
        except Refused as error:
            if error.code == -32800:
                raise Cancelled from None
            return ""
        finally:
            self._withdrawable.remove(waiting)
            self.state("running")
        if outcome.get("outcome") == "cancelled":
            raise Cancelled
        return str(outcome.get("optionId", "")) if outcome.get("outcome") == "selected" else ""

    def withdraw(self) -> None:
        """Take back what waits for leave: in the newest v2 the agent does so itself when it is cancelled."""
        if isinstance(self.voice, V2) and not self.voice.old and not self.deaf:
            for waiting in self._withdrawable:
                if not waiting.done:
                    self.session.peer and self.session.peer.withdraw(waiting)

    def state(self, state: str, **fields: Any) -> None:
        """What we are about (v2)."""
        if isinstance(self.voice, V2):
            self.tell(self.voice.state(state, **fields))

    # ---- its life --------------------------------------------------------------------------------------------------

    def cancel(self) -> None:
        """The client cancels it."""
        self.cancelled.set()
        self.withdraw()

    def run(self, play: Callable[[Turn], None]) -> None:
        """From the prompt to the end."""
        self._begin()
        stop, error = "end_turn", None
        try:
            play(self)
        except Cancelled:
            stop = "cancelled"
        except Ends as end:
            stop = str(end)
        except Refused as refused:
            stop, error = "error", refused
        self.session.title = self.session.title or self.prompt[:40]
        self.agent.store.save(self.session)
        with self.session.lock:
            self.session.turn = None
            self._end(stop, error)
        for later in self.afterwards:
            later()

    def _begin(self) -> None:
        message_id = self.session.fresh("u")
        with self.session.telling:
            self.session.remember("user", message_id, self.blocks)
            if isinstance(self.voice, V2):
                self.state("running")
                for update in self.voice.whole("user", message_id, self.blocks):
                    self.tell(update)
        if isinstance(self.voice, V2):
            self.peer.answer(self.rpc_id, {} if self.voice.old else {"messageId": message_id})
        elif self.agent.args.echo:
            for block in self.blocks:
                self.tell(self.voice.chunk("user", message_id, block))

    def _end(self, stop: str, error: Refused | None) -> None:
        if isinstance(self.voice, V2):
            more: Json = {"background": self.background} if self.background else {}
            if error is not None and self.voice.old:
                self.say(f"Error: {error}")
                stop = "end_turn"
            elif error is not None:
                more["error"] = error.to_json()
            self.state("idle", stopReason=stop, **more)
        elif error is not None:
            self.peer.refuse(self.rpc_id, error)
        else:
            self.peer.answer(self.rpc_id, {"stopReason": stop})

    def drop(self) -> None:
        """It was queued, and never began."""
        if isinstance(self.voice, V2):
            self.peer.refuse(self.rpc_id, Refused(-32800, "Request cancelled"))
        else:
            self.peer.answer(self.rpc_id, {"stopReason": "cancelled"})


def content(said: str) -> Json:
    """A tool call's content that is text."""
    return {"type": "content", "content": text(said)}
