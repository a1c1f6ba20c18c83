"""The wait of a cell: until its turn is over, asking with ``input()`` where no click can be heard.

Runs on the kernel's main thread and waits only on what an interrupt breaks at once. It decides nothing itself
(``asking.py`` knows what a line means, the session's controller carries it out) and shows no transcript.

Where a decision comes by another route while ``input()`` waits, the line is taken back (``line.py``) if this cell runs on
the main thread; else it is noticed once the line was answered, which then says that it was not used.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from ..commands import Abort, Answer, Approve
from ..errors import HmError, NotWaiting
from ..session.runtime import runtime
from ..transcript import Append, Op, Pending, PendingQuestion
from . import asking, views
from .asking_forms import ask_form
from .line import Line

if TYPE_CHECKING:
    from ..session.session import Session
    from ..session.turn import Turn

log = logging.getLogger(__name__)

Outcome = Literal["finished", "stopped", "gave_up"]

GRACE = 6.0
"""Seconds a view has to be heard from before the cell asks with ``input()`` itself."""
ABORT_WAIT = 10.0
"""Seconds an agent has to end a turn that was stopped, before the cell no longer waits for it."""
POLL = 0.2


def wait_for(session: Session, turn: Turn, *, ask: bool = True) -> Outcome:
    """Wait until ``turn`` is over. ``ask``: a person can be asked with ``input()`` when no view answers.

    The first ``KeyboardInterrupt`` stops the turn and waits for its end ("stopped"), which is bounded; the second gives
    up waiting ("gave_up"), and so does an agent that does not stop. The agent lives on in each case. Raises nothing for
    how the turn ended: see ``turn.raise_for_status()``.
    """
    watch: _Watch | None = None
    interrupted = aborted = False
    deadline = float("inf")
    try:
        while True:
            try:
                watch = watch or _Watch(session, turn)  # in here: an interrupt can come as soon as the cell runs
                if interrupted and not aborted:
                    runtime().spawn(_abort, session)  # in here, since the second interrupt may come at once
                    aborted = True
                _until_done(watch, deadline, ask=ask and not interrupted)
                if not turn.done:
                    return "gave_up"
                return "stopped" if interrupted else "finished"
            except KeyboardInterrupt:
                if interrupted:
                    return "gave_up"
                interrupted = True
                deadline = time.monotonic() + session.stop_grace(ABORT_WAIT)
    finally:
        if watch is not None:
            watch.close()


class _Watch:
    """Wakes the waiting thread whenever there may be something to do."""

    def __init__(self, session: Session, turn: Turn) -> None:
        self.session = session
        self.turn = turn
        self.wake = threading.Event()
        self.asked: tuple[Pending, Line] | None = None  # the input line that waits now, and for what
        self._stop: Callable[[], None] | None = None
        runtime().call_soon(self._start)  # not waited for: nothing here is to be broken half-way by an interrupt

    def _start(self) -> None:
        self._stop = self.session.controller.subscribe(self._listen)
        self.turn.when_done(self.wake.set)
        views.set_waiting(self.session, waiting=True)

    def _listen(self, seq: int, ops: list[Op]) -> None:
        if any(type(op) is not Append for op in ops):
            self.wake.set()
            asked = self.asked
            if asked is not None and not _still(self.session, asked[0]):
                asked[1].take_back()

    def close(self) -> None:
        """Stop listening."""
        runtime().call_soon(self._close)

    def _close(self) -> None:
        if self._stop is not None:
            self._stop()
        views.set_waiting(self.session, waiting=False)


def _until_done(watch: _Watch, deadline: float, *, ask: bool) -> None:
    """Return when the turn is over or ``deadline`` (monotonic) has come; ask for what waits meanwhile."""
    seen: dict[str, float] = {}
    while not watch.turn.done and time.monotonic() < deadline:
        request = _unheard(watch.session, seen) if ask else None
        if request is None:
            watch.wake.wait(POLL)
            watch.wake.clear()
        elif not _ask(watch, request):
            ask = False
            # It said it could and then could not: from here on the turn is unattended.
            runtime().call_soon(watch.session.controller.decider.nobody_here)


def _unheard(session: Session, seen: dict[str, float]) -> Pending | None:
    """What waits for a person whom no live view serves, once a view had its time to be heard."""
    waiting = next((p for p in list(session.state.pending) if p.state == "waiting"), None)
    if waiting is None or waiting.request_id in session.controller.decider.thinking:
        return None
    now = time.monotonic()
    since = seen.setdefault(waiting.request_id, now)
    if views.alive(session, now):
        return None
    return waiting if now - since >= GRACE or not views.views_of(session) else None


def _ask(watch: _Watch, request: Pending) -> bool:
    """Ask until the line decides, or the request no longer waits. False when this front-end cannot ask after all."""
    session = watch.session
    print(asking.describe(request), flush=True)  # noqa: T201
    runtime().call_soon(_deciding, session, True)
    try:
        while _still(session, request):
            line = Line()
            watch.asked = (request, line)
            try:
                meant = _read(session, request, line)
            except Exception as error:  # StdinNotImplementedError (ipykernel), EOFError, OSError: all mean "no"
                log.debug("input() is not to be had: %r", error)
                return False
            finally:
                watch.asked = None
            if meant is None or not _still(session, request):
                print("That was decided elsewhere meanwhile.")  # noqa: T201
                return True
            if isinstance(meant, str):
                print(meant)  # noqa: T201
                continue
            _decide(session, meant)
            return True
        return True
    finally:
        runtime().call_soon(_deciding, session, False)


def _read(session: Session, request: Pending, line: Line) -> asking.Meaning | None:
    """What was typed, as a decision or a sentence why it is none; None when the request no longer waits."""
    if isinstance(request, PendingQuestion) and request.form:
        return ask_form(request, line.read, lambda: _still(session, request))
    text = line.read(asking.prompt(request)) if _still(session, request) else None
    return None if text is None else asking.meaning(request, text)


def _decide(session: Session, command: Approve | Answer) -> None:
    try:
        runtime().run(_dispatch, session, command, "stdin")
    except NotWaiting as error:
        print(f"Your answer was not used: {error}")  # noqa: T201
    except HmError as error:
        print(error)  # noqa: T201


def _still(session: Session, request: Pending) -> bool:
    return any(p.request_id == request.request_id and p.state == "waiting" for p in list(session.state.pending))


async def _dispatch(session: Session, command: Any, via: str) -> None:
    await session.controller.dispatch(command, via=via)


async def _abort(session: Session) -> None:
    try:
        await _dispatch(session, Abort(), "interrupt")
    except HmError as error:  # the turn has just ended, or the agent has: the wait notices either
        log.debug("abort: %s", error)


def _deciding(session: Session, stdin: bool) -> None:
    views.set_waiting(session, waiting=True, stdin=stdin)
