"""From ``initialize`` to a session that is open: the first time, and again after the connection was lost.

While a session is being opened, what is told of it is kept (:mod:`.inbox`) and shown once it is: as earlier turns when it is
a history, and as no more than what is missing when it is told again (:mod:`.replay`). What turns, requests and updates
mean is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...commands import SetMode, SetModel, SetOption
from ...events import (
    ApprovalResolved,
    Capabilities,
    Event,
    LinkChanged,
    NoticeRaised,
    QuestionResolved,
    SessionStarted,
    SessionUpdated,
    StartRefused,
)
from ..base import Step, Texts, Wake
from ..jsonrpc import Peer, RpcError
from .asks import Asks
from .context import Context, Setup
from .elicit import Elicitations
from .handshake import Again, Agent, Offer, Refused, Version, judge
from .hosting import Hosting
from .inbox import Inbox, updates_of
from .lifecycle import Lifecycle
from .permission import Permissions
from .replay import History, Reconcile
from .settle import Setting, Settle
from .turns import Turns
from .turns_v1 import TurnsV1
from .turns_v2 import TurnsV2
from .updates import Updates

QUIET = 0.3  # seconds without a word after which a session that was taken up has told what it wanted to tell
LONGEST = 5.0  # seconds this is waited for at the most
_QUIET, _LONGEST = "acp:quiet", "acp:longest"


@dataclass
class Parts:
    """Who deals with what on a connection whose version is agreed."""

    context: Context
    turns: Turns
    life: Lifecycle
    settle: Settle
    asks: Asks
    hosting: Hosting


class Connection:
    """One session's way to its agent. ``parts`` are there from the handshake on, ``ready`` says that a session is open."""

    def __init__(self, peer: Peer, setup: Setup, offer: Offer, version: Version, quirks: frozenset[str]) -> None:
        self.can = Capabilities()
        self.parts: Parts | None = None
        self.ready = False
        self.over = ""  # why no session will ever be open here again
        self._peer = peer
        self._setup = setup
        self._offer = offer
        self._version = version
        self._quirks = quirks
        self._inbox = Inbox()
        self._retelling = False  # the open session is told again
        self._number = 0  # of the connection: how often it was made again
        self._shown: Reconcile | None = None
        self._told: list[Event] = []  # what a replay has told in this step: it is known already
        self._awaits_quiet: Callable[[Step], None] | None = None

    # ---- updates -----------------------------------------------------------------------------------------------------

    def update(self, session_id: str, update: dict[str, Any], step: Step) -> None:
        """A ``session/update``: for now, or for when its session is open."""
        if self._inbox.opening and (not self.ready or self._retelling or not self._ours(session_id)):
            self._inbox.keep(session_id, update)
            if self._awaits_quiet is not None:
                step.wakes.append(Wake(_QUIET, QUIET))
        elif self.parts is not None:
            self._take(session_id, update, step)

    def texts(self, values: Sequence[Any], at: int) -> Texts | None:
        """The commonest messages by far, on a short way: pieces of the text being written, until something else comes."""
        parts = self.parts
        if parts is None or not self.ready or self._retelling:
            return None
        found = parts.context.updates.messages.texts(updates_of(parts.context.session_id, values, at))
        if found is not None and self._shown is not None:
            self._shown.told_texts(found)
        return found

    def tell(self, step: Step) -> Step:
        """What is about to be told is remembered, to know later what a replay adds to it."""
        if self._shown is not None and step.events:
            if self._told:
                known = {id(event) for event in self._told}
                self._shown.told([event for event in step.events if id(event) not in known])
                self._told.clear()
            else:
                self._shown.told(step.events)
        return step

    def woke(self, key: str, step: Step) -> bool:
        """False: the alarm is not one of ours."""
        if key not in (_QUIET, _LONGEST):
            return False
        done, self._awaits_quiet = self._awaits_quiet, None
        step.wakes += [Wake(_QUIET, 0), Wake(_LONGEST, 0)]
        if done is not None:
            done(step)
        return True

    def _when_told(self, session_id: str, done: Callable[[Step], None], step: Step) -> None:
        """Call ``done`` once a session that was taken up has told its history.

        It should have when it answers. Gemini CLI answers first, and over HTTP the answer comes on another stream than the
        history and may overtake it. ACP v2 tells how things stand when the history is over (session/resume).
        """
        assert self.parts is not None
        states = any(u.get("sessionUpdate") == "state_update" for u in self._inbox.of(session_id))
        if states or not self.parts.life.replays:
            done(step)
            return
        self._awaits_quiet = done
        step.wakes += [Wake(_QUIET, QUIET), Wake(_LONGEST, LONGEST)]

    def _ours(self, session_id: str) -> bool:
        return self.parts is not None and session_id == self.parts.context.session_id

    def _take(self, session_id: str, update: dict[str, Any], step: Step) -> None:
        assert self.parts is not None
        if update.get("sessionUpdate") == "state_update" and self._ours(session_id):
            self.parts.turns.state(update, step)
        else:
            self.parts.context.updates.update(session_id, update, step.events)
            if update.get("sessionUpdate") == "config_option_update":
                self._note_settings()

    def _note_settings(self) -> None:
        """What can be set is known from what the agent offers."""
        assert self.parts is not None
        settings = self.parts.context.updates.settings
        self.can.set_mode, self.can.set_model = settings.modes, settings.models
        self.can.effort, self.can.options = settings.effort, settings.options

    # ---- the handshake -----------------------------------------------------------------------------------------------

    def start(self, step: Step) -> None:
        """Ask which version both sides speak; the rest follows from the answer."""
        self._inbox.begin()
        self._initialize(self._version, step)

    def _initialize(self, version: Version, step: Step, *, last: bool = False) -> None:
        number = self._number

        def answered(result: Any, error: RpcError | None, step: Step) -> None:
            if number != self._number:
                return  # of a connection that is gone
            found = judge(version, result, error, last=last)
            if isinstance(found, Again):
                self._initialize(found.protocol, step, last=True)
            elif isinstance(found, Refused):
                refused = self._refused if self.parts is None else self._not_reopened
                refused(StartRefused(found.reason), step)
            elif found.version == 1 and version == "auto" and "reinitialize" in self._quirks:
                self._initialize_again(found, step)
            else:
                self._agreed(found, step)

        self._peer.request(step, "initialize", self._offer.params(version), answered)

    def _initialize_again(self, found: Agent, step: Step) -> None:
        """Once more with v1 fields alone; where that is refused, what was answered first holds."""

        number = self._number

        def answered(result: Any, error: RpcError | None, step: Step) -> None:
            if number != self._number:
                return
            better = judge(1, result, error, last=True)
            self._agreed(better if isinstance(better, Agent) else found, step)

        self._peer.request(step, "initialize", self._offer.params(1), answered)

    def _agreed(self, agent: Agent, step: Step) -> None:
        before = self.parts
        self.can = agent.capabilities()
        context = self._new_context(agent)
        if before is None:
            turns: Turns = TurnsV2(context) if agent.version == 2 else TurnsV1(context)
            self._shown = Reconcile(ids=agent.version == 2)
        else:
            turns = before.turns
            turns.context = context
            context.session_id = before.context.session_id
        opened, refused = (self._opened, self._refused) if before is None else (self._reopened, self._not_reopened)
        life = Lifecycle(context, opened, refused)
        settle = Settle(context, before.settle.chosen if before else None)
        asks = Asks(context, life, settle, turns, self._inbox, self._take)
        hosting = Hosting(
            self._peer,
            context.updates,
            offered=self._offer.host and agent.version == 1,
            missing_is_empty="missing_file_is_empty" in self._quirks,
            read=self._offer.fs_read,
        )
        self.parts = Parts(context, turns, life, settle, asks, hosting)
        if before is None:
            life.open(step)
        else:
            life.reopen(step)

    def _new_context(self, agent: Agent) -> Context:
        updates = Updates(agent.version)
        before = self.parts.context if self.parts is not None else None
        return Context(
            self._peer,
            self._setup,
            agent,
            self.can,
            updates,
            Permissions(agent.version, updates.calls, before.permissions.tickets if before else None),
            Elicitations(agent.version, agent.name, before.elicitations.tickets if before else None),
        )

    # ---- a session, the first time -----------------------------------------------------------------------------------

    def _opened(self, session_id: str, resumed: bool, result: Any, step: Step) -> None:
        """A session is open. It is ready when the settings asked for are made; what it told so far comes after that."""

        def settled(step: Step) -> None:
            assert self.parts is not None
            context = self.parts.context
            step.events.append(SessionStarted(session_id, context.setup.cwd, resumed=resumed))
            step.events.append(SessionUpdated({"protocol": f"ACP v{context.version}", "auth": context.agent.auth}))
            step.events.extend(told)
            if self._number:  # lost before anything was open on it
                step.events.append(LinkChanged(True))
            self.ready = True
            kept = self._inbox.end(session_id)
            if resumed:
                self._history(kept, step)
            else:
                for update in kept:
                    self._take(session_id, update, step)

        def quiet(step: Step) -> None:
            if resumed:
                self._when_told(session_id, settled, step)
            else:
                settled(step)

        told: list[Event] = []
        self._settle(session_id, result, told, _wanted(self._setup), quiet, step)

    def _settle(
        self, session_id: str, result: Any, told: list[Event], wanted: list[Setting], done: Any, step: Step
    ) -> None:
        assert self.parts is not None
        context = self.parts.context
        context.session_id = session_id
        context.updates.result(result, told)
        self._note_settings()
        self.parts.settle.settle(wanted, told, done, step)

    def _history(self, kept: list[dict[str, Any]], step: Step) -> None:
        """What came before the answer is the session's history. Where none is wanted, of settings alone is told."""
        assert self.parts is not None
        updates, session_id = self.parts.context.updates, self.parts.context.session_id
        history, state = History(), None
        for update in kept:
            if update.get("sessionUpdate") == "state_update":
                state = update
                continue
            events: list[Event] = []
            updates.update(session_id, update, events)
            if self._setup.replay:
                history.feed(events, step.events)
            else:
                step.events.extend(e for e in events if isinstance(e, SessionUpdated))
        works = state is not None and state.get("state") != "idle"
        closing: list[Event] = []
        if not works:
            updates.end_turn(closing)
        if self._setup.replay:
            history.feed(closing, step.events)
            history.end(step.events, running=works)
        if state is not None:
            self.parts.turns.state(state, step)

    def _refused(self, event: StartRefused, step: Step) -> None:
        self._inbox.end("")
        step.events.append(event)

    # ---- … and again -------------------------------------------------------------------------------------------------

    def again(self, step: Step) -> None:
        """A fresh connection is there. Nothing is open on it: say hello, and take the session up where it was.

        What waited on the old one is answered by nobody any more: requests of ours have failed, dialogs come down (the agent
        asks again what it still wants to know), and whether the turn goes on is told by what the agent tells."""
        self._number += 1
        self.over = ""
        self._inbox = Inbox()
        self._inbox.begin()
        self._awaits_quiet = None
        self._retelling = False
        if self.parts is not None:
            self.parts.life.stale = self.parts.settle.stale = True
        if self.parts is None or not self.parts.context.session_id:
            self.parts, self.ready = None, False
            self._peer.forget(step)
            self._initialize(self._version, step)
            return
        self.ready = False
        parts = self.parts
        parts.turns.hold()
        gone: list[Event] = []
        parts.context.permissions.cancel_all(gone)
        parts.context.elicitations.cancel_all(gone)
        for event in gone:
            if isinstance(event, (ApprovalResolved, QuestionResolved)):
                event.outcome = "withdrawn"
        step.events.extend(gone)
        parts.hosting.forget(step)
        self._peer.lost(step)
        self._initialize(1 if parts.context.version == 1 else 2, step)

    def doubt(self) -> None:
        """The same connection goes on, but something of the running turn may have been lost: it is seen to at its end."""
        if self.parts is not None and self.ready and self.parts.turns.running is not None:
            self.parts.context.check = self._retell

    def _retell(self, done: Callable[[Step], None], step: Step) -> None:
        """Have the session told again, tell what is missing, then call ``done``."""
        assert self.parts is not None
        parts, session_id = self.parts, self.parts.context.session_id

        def answered(result: Any, error: RpcError | None, step: Step) -> None:
            if not self._retelling:
                return  # the connection is another now, and the session was taken up on it
            self._retelling = False
            kept = self._inbox.end(session_id)
            state = None
            if error is None:
                state, _ = self._missing(kept, step, Updates(parts.context.version))
            else:
                for update in kept:
                    self._take(session_id, update, step)
                step.events.append(NoticeRaised(MAY_BE_MISSING, "info"))
            done(step)
            if state is not None and state.get("state") != "idle":
                parts.turns.state(state, step)

        if parts.life.retell(answered, step):
            self._inbox.begin()
            self._retelling = True
        else:
            step.events.append(NoticeRaised(MAY_BE_MISSING, "info"))
            done(step)

    def _reopened(self, session_id: str, resumed: bool, result: Any, step: Step) -> None:
        """The session is taken up again: what was missed is told, then what runs is known."""
        before = self._session()
        told: list[Event] = []

        def settled(step: Step) -> None:
            assert self.parts is not None and self._shown is not None
            kept = self._inbox.end(session_id)
            step.events.extend(told)
            state, reached = None, False
            if resumed:
                state, reached = self._missing(kept, step)
            else:
                self._shown.begin()
                self._shown.end([], running=False)
                text = "The agent could not take the session up again: it goes on in a new one and remembers nothing."
                step.events += [SessionUpdated({"session_id": session_id}), NoticeRaised(text, "error")]
            self.ready = True
            step.events.append(LinkChanged(True))
            if resumed:
                self.parts.turns.go_on(state, reached, step)
            else:
                self.parts.turns.forgotten(step)
            if not resumed and before != session_id:
                for update in kept:
                    self._take(session_id, update, step)

        def quiet(step: Step) -> None:
            if resumed:
                self._when_told(session_id, settled, step)
            else:
                settled(step)

        assert self.parts is not None
        self._settle(session_id, result, told, list(self.parts.settle.chosen.values()), quiet, step)

    def _session(self) -> str:
        return self.parts.context.session_id if self.parts is not None else ""

    def _missing(
        self, kept: list[dict[str, Any]], step: Step, apart: Updates | None = None
    ) -> tuple[dict[str, Any] | None, bool]:
        """Tell what the replay adds. The last state it told, and whether the agent knows our last prompt. ``apart``: reads
        this replay alone, and those that read the session go on with it."""
        assert self.parts is not None and self._shown is not None
        updates, session_id = apart or self.parts.context.updates, self.parts.context.session_id
        self._shown.begin()
        state = None
        found: list[Event] = []
        for update in kept:
            if update.get("sessionUpdate") == "state_update":
                state = update
                continue
            events: list[Event] = []
            updates.update(session_id, update, events)
            self._shown.feed(events, found)
        running = self.parts.turns.running is not None
        works = running and apart is None and state is not None and state.get("state") != "idle"
        if not works:
            closing: list[Event] = []
            updates.end_turn(closing)
            self._shown.feed(closing, found)
        outcome = self._shown.end(found, running=running, apart=apart is not None)
        self._told += found
        step.events.extend(found)
        return state, outcome.reached

    def _not_reopened(self, event: StartRefused, step: Step) -> None:
        """Nothing of the session is to be had any more."""
        self._inbox.end("")
        assert self.parts is not None
        self.over = f"The agent is there again but opens no session: {event.reason} Start another."
        step.events.append(NoticeRaised(self.over, "error"))
        step.events.append(LinkChanged(True))
        self.parts.turns.lost(step)


MAY_BE_MISSING = (
    "The connection broke while the agent was talking, and it cannot tell again what it said: "
    "some of it may be missing here."
)


def _wanted(setup: Setup) -> list[Setting]:
    """The settings to make before the first prompt; the mode last, since a model may bring one with it."""
    wanted: list[Setting] = []
    if setup.model:
        wanted.append(SetModel(model=setup.model))
    wanted.extend(SetOption(option=name, value=value) for name, value in setup.options.items())
    if setup.mode:
        wanted.append(SetMode(mode=setup.mode))
    return wanted
