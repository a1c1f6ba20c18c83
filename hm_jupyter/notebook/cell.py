"""A turn in a cell: the live view while it runs, the frozen transcript when it is over.

With a notebook front-end the widget is shown under a display id and then replaced (``update_display``) by the static
bundle. Without one there is no widget: the static bundle is shown once, since runners of notebooks (nbclient, nbval) do
not follow an update. How a turn is rendered is the business of ``freeze``, how a cell waits that of ``waiting``.
"""

from __future__ import annotations

import contextvars
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from IPython import get_ipython
from IPython.display import display, update_display

from ..commands import Abort
from ..errors import HmError, brief
from ..session.runtime import runtime
from . import host, waiting
from .freeze import freeze
from .show import say

if TYPE_CHECKING:
    from ..session.session import Session
    from ..session.turn import Turn
    from .widget import HmWidget

log = logging.getLogger(__name__)


class TurnStopped(KeyboardInterrupt):
    """The person interrupted the cell. A ``KeyboardInterrupt``, so that "Run All" stops here, told in one line."""

    def _render_traceback_(self) -> list[str]:
        return brief(self)


class TurnTimeout(HmError, TimeoutError):
    """The turn took longer than it was given, and was stopped."""


def run(
    session: Session,
    text: str,
    *,
    attach: Mapping[str, Any] | None = None,
    images: Any = (),
    approve: Any = None,
    when_alone: Any = None,
    timeout: float | None = None,
    background: bool = False,
    started: Callable[[Turn], None] = lambda turn: None,
    shell: Any = None,
) -> Turn:
    """Send a prompt and show its turn under the running cell; wait for it unless ``background``.

    ``started`` is told the turn before the wait. ``timeout`` in seconds: then the turn is stopped. Raises what
    :meth:`Turn.raise_for_status` does, :class:`TurnTimeout`, and :class:`TurnStopped` after an interrupt.
    """
    where = host.host()
    view_of = _views() if where == "notebook" else None  # first of all: importing widgets takes its time
    turn = _begin(
        session,
        text,
        images=images,
        attach=attach or None,
        approve=approve,
        # A turn in the background may be decided by the cells to come; nobody waits for it meanwhile.
        unattended=where == "nobody" and not background,
        when_alone=when_alone,
    )
    started(turn)
    quiet_once(shell, turn)
    limit = _Limit(session, turn, timeout)
    if background:
        if view_of is None:
            _without_view(session, turn, where)
        else:
            show(session, turn, view_of)
        return turn
    outcome = _follow(session, turn, view_of, ask=where != "nobody")
    if view_of is None:
        display(_bundle(session, turn), raw=True)
    limit.check()
    _tell(outcome, session)
    following: Turn | None = turn
    while following is not None:
        following.raise_for_status()
        following = following.following
    return turn


def attend(session: Session, turn: Turn) -> None:
    """Wait for a turn that Python began (``session.prompt``), shown under the running cell where a notebook can.

    Raises :class:`TurnStopped` after an interrupt. How the turn ended is for the caller to look at.
    """
    view_of = _views() if host.host() == "notebook" else None
    if view_of is not None:
        quiet_once(get_ipython(), turn)
    _tell(_follow(session, turn, view_of, ask=True), session)


def show(session: Session, turn: Turn, view_of: Callable[..., HmWidget] | None = None) -> None:
    """Show a running turn under the running cell, if a notebook can, and do not wait: it freezes when it is over."""
    view_of = view_of or (_views() if host.host() == "notebook" else None)
    if view_of is not None:
        quiet_once(get_ipython(), turn)
        LiveOutput(session, turn, view_of(session, turn=turn.number))


def _follow(session: Session, turn: Turn, view_of: Callable[..., HmWidget] | None, *, ask: bool) -> waiting.Outcome:
    """Wait for the end of the turn and those that follow it, live where there is a view; an interrupt stops it."""
    live: LiveOutput | None = None
    try:
        if view_of is not None:
            live = LiveOutput(session, turn, view_of(session, turn=turn.number))
        outcome = waiting.wait_for(session, turn, ask=ask)
        while outcome == "finished" and (following := turn.following) is not None:
            turn = following  # a message that waited: it belongs to this cell too
            outcome = waiting.wait_for(session, turn, ask=ask)
    except KeyboardInterrupt:  # before the wait began
        outcome = _stop(session, turn)
    if live is not None:
        live.freeze()
    return outcome


def _tell(outcome: waiting.Outcome, session: Session) -> None:
    if outcome == "gave_up" and session.state.link:
        raise TurnStopped(
            f"The connection to {session.state.agent} is being made again ({session.state.link.rstrip('.')}); the turn is "
            "stopped when it is there, and this cell no longer waits for that. %hm stop ends the session."
        )
    if outcome == "gave_up":
        raise TurnStopped("The turn has not ended yet, and this cell no longer waits for it; %hm stop ends the agent.")
    if outcome == "stopped":
        raise TurnStopped("You stopped the turn; the agent is still there, and %hm TEXT or s.prompt(…) goes on.")


def _begin(session: Session, text: str, **options: Any) -> Turn:
    """Start the turn. An interrupt before the agent has taken the prompt stops what it may have started."""
    try:
        return session.start(text, **options)
    except KeyboardInterrupt:
        running = session.settled()
        if running is not None and not running.done:
            _stop(session, running)
        raise TurnStopped("You stopped the prompt before the agent had taken it.") from None


def _stop(session: Session, turn: Turn) -> waiting.Outcome:
    """Stop the turn and wait for its end, but not for ever."""
    try:
        runtime().call_soon(_post_abort, session, "interrupt")
        turn.wait(session.stop_grace(waiting.ABORT_WAIT))
    except (KeyboardInterrupt, TimeoutError):
        return "gave_up"
    except HmError:  # how it ended is told by the transcript
        pass
    return "stopped"


def _post_abort(session: Session, via: str) -> None:
    try:
        session.controller.post(Abort(), via=via)
    except HmError as error:  # it has just ended by itself
        log.debug("abort: %s", error)


class _Limit:
    """Stops the turn when its time is over. Kept by the session thread, so that it holds in the background too."""

    def __init__(self, session: Session, turn: Turn, seconds: float | None) -> None:
        self._session = session
        self._turn = turn
        self._seconds = seconds or 0.0
        self._expired = False
        if self._seconds > 0:
            runtime().call_soon(self._start)

    def _start(self) -> None:
        timer = runtime().loop.call_later(self._seconds, self._expire)
        self._turn.when_done(timer.cancel)

    def _expire(self) -> None:
        self._expired = True
        _post_abort(self._session, "timeout")

    def check(self) -> None:
        """Raise :class:`TurnTimeout` when the time was over."""
        if self._expired:
            raise TurnTimeout(
                f"The turn took more than {self._seconds:g} s and was stopped; the agent is still there. Give it "
                "longer with --timeout, or let it run with --background."
            )


# ---- with a notebook -------------------------------------------------------------------------------------------------


class LiveOutput:
    """The output of a cell that shows a running turn, and becomes static at its end, whoever waits for that."""

    def __init__(self, session: Session, turn: Turn, widget: HmWidget) -> None:
        self._session = session
        self._turn = turn
        self._widget: HmWidget | None = widget
        self._display_id = uuid4().hex
        self._context = contextvars.copy_context()  # of this cell: what is published in it belongs to this cell
        display(widget.bundle(), raw=True, display_id=self._display_id)
        turn.when_done(lambda: runtime().spawn(self._freeze))

    def freeze(self) -> None:
        """See to it that the output is static before the cell ends. Of a turn that still runs it becomes so later."""
        if self._turn.last.done:
            runtime().run(self._freeze)

    async def _freeze(self) -> None:
        """On the session thread, where nothing changes the transcript meanwhile; the second time does nothing."""
        last = self._turn.last
        if not last.done:  # a message that waited has begun another
            last.when_done(lambda: runtime().spawn(self._freeze))
            return
        widget, self._widget = self._widget, None
        if widget is None:
            return
        try:
            bundle = freeze(self._session.transcript, self._turn.number, last.number)
            self._context.run(update_display, bundle, raw=True, display_id=self._display_id)
        except Exception:  # the live view stays: better than an empty cell
            log.exception("the output of turn %s could not be frozen", self._turn.number)
            return
        widget.freeze(bundle)


def _views() -> Callable[..., HmWidget] | None:
    """What makes live views; None, with a sentence, where there can be none (the cell then asks with ``input()``)."""
    try:
        from .widget import bundle, live_view

        bundle()
        return live_view
    except (HmError, ImportError) as error:
        say(f"No live view: {error}")
        return None


# ---- without ---------------------------------------------------------------------------------------------------------


def _without_view(session: Session, turn: Turn, where: host.Host) -> None:
    say("The turn runs in the background; hm_jupyter.last.wait() waits for it and shows it.")
    if where == "nobody":
        # Cells to come may decide what needs leave. A cell that waits cannot, so from then on nobody can.
        turn.before_wait(lambda: runtime().call(session.controller.decider.nobody_here))


def _bundle(session: Session, turn: Turn) -> dict[str, Any]:
    return runtime().call(freeze, session.transcript, turn.number, turn.last.number)


# ---- the value of a magic --------------------------------------------------------------------------------------------


def quiet_once(shell: Any, turn: Turn) -> None:
    """Keep IPython from showing ``turn`` when it is the value of this very cell: its output shows it already.

    A printer for turns, taken away again when it was used or when the cell is over.
    """
    formatter = getattr(getattr(shell, "display_formatter", None), "ipython_display_formatter", None)
    if formatter is None:
        return
    kind = type(turn)

    def forget(*_: Any) -> None:
        formatter.type_printers.pop(kind, None)
        try:
            shell.events.unregister("post_run_cell", forget)
        except ValueError:  # it was used before the cell was over
            pass

    def printer(shown: Turn) -> None:
        forget()
        if shown is not turn:
            display(shown)

    formatter.for_type(kind, printer)
    shell.events.register("post_run_cell", forget)
