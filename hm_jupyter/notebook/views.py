"""The views of this kernel and what a browser may say to them, by whichever route it comes.

A view is one display of a session, named by a random id. What arrives (control socket or comm) is hostile until it was
checked: it must be a message of the widget's wire, name a view that is open, and carry a command that a person could
have given with the widget. Runs on the session thread only; knows neither sockets nor comms, only functions to send with.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ..commands import Command, parse_command
from ..errors import HmError
from .feed import Feed
from .outbox import Message

if TYPE_CHECKING:
    from ..session.session import Session

Reply = Callable[[Message], None]

CLICKABLE = frozenset(
    {
        "prompt", "steer", "follow_up", "abort", "cancel_work", "approve", "answer",
        "set_mode", "set_model", "set_option", "compact",
    }
)  # fmt: skip
"""What the widget offers. Commands that write files or read other sessions are for Python and magics only."""

COMM_FRESH = 7.5
"""Seconds for which a view heard by its comm counts as live: the widget pings every 5 s."""
CONTROL_FRESH = 120.0
"""The same for an open control connection: a browser may hold a hidden page's timers back to one a minute, and a page
that is gone closes its connection."""


class View:
    """One display of ``session``: its messages go to ``send``. Made, used and closed on the session thread."""

    def __init__(self, session: Session, send: Reply, *, turn: int = 0) -> None:
        self.id = secrets.token_hex(8)
        self.session = session
        self.turn = turn
        self.heard = NEVER  # when a browser last spoke for this view on its comm (s, monotonic)
        self._send = send
        self._feed = Feed(session.controller, send, turn=turn)
        _views[self.id] = self

    def snapshot(self) -> Message:
        """Everything this view shows, numbered."""
        return self._feed.snapshot()

    def refresh(self) -> None:
        """Send everything anew, and which routes decide now."""
        self._send(self.snapshot())
        self._send(route_message(self.session))

    def tell(self, message: Message) -> None:
        """Send one message that is not part of the numbered ones."""
        self._send(message)

    def close(self) -> None:
        """Stop sending; the id means nothing from now on. Harmless when repeated."""
        if _views.pop(self.id, None) is not None:
            self._feed.close()


class Browser:
    """A page at the other end of a control connection."""

    def __init__(self) -> None:
        self.heard = NEVER
        self.views: set[str] = set()  # those it spoke for; a ping names none
        _browsers.add(self)

    async def receive(self, message: Any, reply: Reply) -> None:
        """Carry out one of its messages and answer with ``reply``."""
        self.heard = time.monotonic()
        view = view_of(message.get("view")) if isinstance(message, dict) else None
        if view is not None:
            self.views.add(view.id)
        await receive(message, reply, view)

    def gone(self) -> None:
        """The connection ended."""
        _browsers.discard(self)


NEVER = float("-inf")
_views: dict[str, View] = {}
_browsers: set[Browser] = set()
_waiting: dict[int, dict[str, bool]] = {}  # by session: what the cell that waits for it does


def view_of(view_id: Any) -> View | None:
    """The open view with that id."""
    return _views.get(view_id) if isinstance(view_id, str) else None


def views_of(session: Session) -> list[View]:
    """The open views of a session. Any thread."""
    return [v for v in list(_views.values()) if v.session is session]


def alive(session: Session, now: float | None = None) -> bool:
    """Is there a browser that shows this session and can be heard now? Any thread."""
    now = time.monotonic() if now is None else now
    views = views_of(session)
    ids = {v.id for v in views}
    if not views:
        return False
    if any(now - v.heard < COMM_FRESH for v in views):
        return True
    return any(now - b.heard < CONTROL_FRESH and (not b.views or b.views & ids) for b in list(_browsers))


def route_message(session: Session) -> Message:
    """Whether a cell waits for ``session`` and whether it decides by ``input()``."""
    now = _waiting.get(id(session), {})
    return {"t": "route", "waiting_cell": bool(now), "stdin": now.get("stdin", False)}


def set_waiting(session: Session, *, waiting: bool, stdin: bool = False) -> None:
    """Note what the waiting cell does and tell the session's views."""
    before = route_message(session)
    if waiting:
        _waiting[id(session)] = {"stdin": stdin}
    else:
        _waiting.pop(id(session), None)
    message = route_message(session)
    if message != before:
        for view in views_of(session):
            view.tell(message)


async def receive(message: Any, reply: Reply, view: View | None) -> None:
    """Carry out one message about ``view`` (None: none that is open). ``reply`` answers on the route it came by. Never
    raises for what the message holds."""
    if not isinstance(message, dict):
        return
    kind = message.get("t")
    if kind == "ping":
        reply({"t": "pong", "n": message.get("n") if _small(message.get("n")) else None})
    elif kind in ("hello", "resync"):
        if view is not None:
            view.refresh()
    elif kind == "command":
        reply(await _command(message.get("command"), view))


def _small(value: Any) -> bool:
    return value is None or isinstance(value, (int, float)) or (isinstance(value, str) and len(value) <= 64)


async def _command(value: Any, view: View | None) -> Message:
    id_ = value.get("id") if isinstance(value, dict) else None
    id_ = id_ if isinstance(id_, str) and len(id_) <= 64 else ""

    def refused(error: str) -> Message:
        return {"t": "ack", "id": id_, "ok": False, "error": error}

    if not id_:
        return refused("The command has no id; reload the page and click again.")
    if view is None:
        return refused("This view is closed; run the cell again, or use %hm.")
    try:
        command = check(value)
    except HmError as e:
        return refused(str(e))
    try:
        answered = await view.session.controller.dispatch(command, via="widget")
    except HmError as e:
        return refused(str(e))
    return {"t": "ack", "id": id_, "ok": answered.ok, "error": answered.error}


def check(value: Any) -> Command:
    """The command in ``value``, if a person could give it with the widget. Raises :class:`HmError` with what is wrong."""
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in CLICKABLE:
        raise HmError("A browser cannot send that command; use Python or %hm for it.")
    try:
        return parse_command(value)
    except ValidationError as e:
        # Only where and why: the value itself is not repeated (it may be large, or a secret typed by mistake).
        problems = "; ".join(f"{'.'.join(map(str, p['loc'])) or 'command'}: {p['msg']}" for p in e.errors()[:3])
        raise HmError(f"The {kind} command is not valid ({problems}); reload the page and try again.") from None
