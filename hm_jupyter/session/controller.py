"""The owner of one session's transcript: reads the agent, reduces, tells the listeners; carries out commands.

Lives on the session loop. It knows the two seams (transport, adapter), never a concrete protocol or front-end.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import anyio
import anyio.abc

from .. import commands as cmd
from .. import events as ev
from ..errors import AgentError, SessionClosed
from ..protocols.base import Adapter, Step, Texts
from ..transcript import Op, State, Transcript, TurnEntry, to_json
from ..transports.base import Exit, Link, Message, Received, Transport
from .checks import check, resolve
from .decider import Decider
from .endings import end_reason, gone_error, start_again, start_error
from .flood import Flood
from .hosting import Hosting
from .journal import Journal
from .policy import Policy
from .reducer import appended, reduce
from .shelf import Shelf, carry_out, taken
from .state import running_turn
from .turn import TurnOptions, Watch
from .waiters import Waiter, Waiters
from .wakes import Wakes

log = logging.getLogger("hm_jupyter")

Listener = Callable[[int, "list[Op]"], None]


class Controller:
    """One session's engine."""

    def __init__(
        self,
        transport: Transport,
        adapter: Adapter,
        *,
        agent: str,
        policy: Policy,
        alone: Policy | None = None,
        roots: Iterable[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.transcript = Transcript()
        self.journal = Journal()
        self.seq = 0
        self.transport = transport
        self.adapter = adapter
        self.watches: dict[int, Watch] = {}
        self.decider = Decider(self, policy, alone)
        self.hosting = Hosting(self, roots)
        self.shelf: Shelf | None = None
        self._clock = clock
        self._listeners: list[Listener] = []
        self._batch: list[Op] = []
        self._flood = Flood()
        self._waiters = Waiters()
        self._wakes = Wakes(self.start_soon, self._woken)
        self._next_options: TurnOptions | None = None  # of the prompt that is to open the next turn
        self._opening = ""  # the prompt that opened the running turn, until the agent has taken it up
        self._ready = anyio.Event()
        self._gone = anyio.Event()
        self._exit: Exit | None = None
        self._refused: ev.StartRefused | None = None
        self._closing = False
        self._ended_well = False
        self._outgoing: Any = None
        self._tasks: anyio.abc.TaskGroup | None = None
        self.transcript.state.agent = agent
        self.transcript.state.approve = policy.name

    @property
    def capabilities(self) -> ev.Capabilities:
        """What the agent can do."""
        return self.adapter.capabilities

    @property
    def gone(self) -> bool:
        """Has the agent ended?"""
        return self._gone.is_set()

    @property
    def lost(self) -> bool:
        """Has the agent ended without being told to?"""
        return self.gone and not self._closing

    @property
    def start_again(self) -> str:
        """What to do when the agent has ended."""
        return start_again(self.transcript.state.session_id, saved=self.capabilities.resume)

    # ---- life ------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Read and write until the agent ends. Started once, as a task of its own, after the transport is open."""
        send, receive = anyio.create_memory_object_stream[Any](float("inf"))
        self._outgoing = send
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            tasks.start_soon(self._write, receive)
            self._take(self.adapter.start())
            self._publish()
            try:
                async for batch in self.transport.receive():
                    self._read(batch)
            except (
                Exception
            ) as error:  # a fault of ours or of the transport must end the session in words, not in silence
                log.exception("session %s: reading failed", self.transcript.state.agent)
                self.feed(ev.NoticeRaised(f"Reading from the agent failed: {error}", "error"))
            with anyio.CancelScope(shield=True):
                self.hosting.stop()
                found = await self.transport.close()
                await self.hosting.close()
                self._ended(found)
            tasks.cancel_scope.cancel()

    async def wait_ready(self, timeout: float) -> None:
        """Wait for the agent's first word. Raises ``StartError`` when it ends before, opens no
        session, or is silent for ``timeout`` s; ``SignInRequired`` when it wants to know first who asks."""
        with anyio.move_on_after(timeout):
            await self._ready.wait()
        if self.transcript.state.session_id and not self.gone:
            return
        silent = not self.gone
        if silent:
            await self.close()
        raise start_error(
            self.transcript.state.agent,
            self._refused,
            self._exit or Exit(),
            timeout if silent else None,
            self.transport.stderr,
        )

    async def close(self) -> None:
        """End the session: stop the turn, close the agent's input, see it gone. Harmless when repeated."""
        if not self._closing and not self.gone and self._outgoing is not None:
            self._closing = True
            self.hosting.stop()
            if running_turn(self.transcript) is not None:
                for value in self.adapter.stop().messages:
                    await self._try_send(value)
            await self.transport.end_input()
        self._closing = True
        with anyio.CancelScope(shield=True):
            await self.transport.close()
            with anyio.move_on_after(5):
                await self._gone.wait()

    def _ended(self, found: Exit) -> None:
        self._exit = found
        expected = self._closing or (self._ended_well and not found.code)
        self.feed(ev.AgentExited(found.code, end_reason(self.transcript.state.agent, found), found.stderr, expected))
        for watch in self.watches.values():
            watch.code, watch.stderr, watch.again = found.code, found.stderr, self.start_again
        self._gone.set()
        self._ready.set()
        error = (
            SessionClosed("The session was closed.")
            if self._closing
            else gone_error(self.transcript.state.agent, found, self.start_again)
        )
        self._waiters.fail_all(error)
        self._publish()

    # ---- in: what the agent says -----------------------------------------------------------------------------------

    def _read(self, batch: list[Received]) -> None:
        values = [item.value if type(item) is Message else None for item in batch]
        at = 0
        while at < len(batch):
            texts = self.adapter.texts(values, at)
            if texts is not None:
                self._add(texts)
                at += len(texts.pieces)
                continue
            item = batch[at]
            at += 1
            if isinstance(item, Message):
                self._take(self.adapter.receive(item.value))
            elif isinstance(item, Link):
                lost = item.state == "lost"
                self._take(
                    self.adapter.link_lost(item.reason) if lost else self.adapter.link_back(item.state == "fresh")
                )
            else:
                text = f"A line from the agent could not be used: {item.reason}. It was left out; the session goes on."
                self.feed(ev.NoticeRaised(text, "warning", item.text))
        self._publish()

    def _take(self, step: Step) -> None:
        for event in step.events:
            self.feed(event)
        for value in step.messages:
            self._outgoing.send_nowait(value)
        for wake in step.wakes:
            self._wakes.set(wake)
        for call in step.calls:
            self.hosting.take(call)
        for call_id in step.dropped:
            self.hosting.drop(call_id)

    def carry_on(self, step: Step) -> None:
        """Do what an input other than the agent's led to, and tell the listeners."""
        self._take(step)
        self._publish()

    def _woken(self, key: str) -> None:
        self.carry_on(self.adapter.woke(key))

    def feed(self, event: ev.Event) -> None:
        """Reduce one event and apply what it leads to. Listeners are told by the next :meth:`_publish`."""
        now = self._clock()
        kind = type(event)
        if type(event) is ev.TextAppended and (token := appended(self.transcript, event)) is not None:
            self.transcript.apply(token)
            self._batch.append(token)
            self.journal.write(now, self.transcript.state.turn, event)
            return
        shown: ev.Event | None = event
        if kind is not ev.TextAppended:
            shown = event = self._before(event)
            if isinstance(event, (ev.NoticeRaised, ev.UnknownReceived)):
                shown = self._flood.admit(self.transcript.state.turn, event)
        for op in reduce(self.transcript, shown, now) if shown is not None else ():
            self._apply(op)
        self.journal.write(now, self.transcript.state.turn, event)
        if kind is not ev.TextAppended:
            self._after(event)

    def _add(self, texts: Texts) -> None:
        """:meth:`feed` for pieces of text that came together: one operation for all of them, in the journal each."""
        whole = ev.TextAppended(texts.message_id, "".join(texts.pieces), texts.role)
        op = appended(self.transcript, whole)
        if op is None:  # the first of its message makes the entry
            for text in texts.pieces:
                self.feed(ev.TextAppended(texts.message_id, text, texts.role))
            return
        self._apply(op)
        self.journal.write_texts(self._clock(), self.transcript.state.turn, texts.message_id, texts.role, texts.pieces)

    def _apply(self, op: Op) -> None:
        self.transcript.apply(op)
        self._batch.append(op)

    def offer(self, **more: bool) -> None:
        """Tell what the agent can do; ``more``: and what we can for it."""
        for name, can in more.items():
            setattr(self.capabilities, name, can)
        known = to_json(self.capabilities)
        if known != self.transcript.state.capabilities:
            self._apply(State({"capabilities": known}))

    def _before(self, event: ev.Event) -> ev.Event:
        if isinstance(event, ev.SessionStarted) or (
            isinstance(event, ev.SessionUpdated) and "options" in event.changes and self._ready.is_set()
        ):
            self.offer()  # what can be set may come to be known late
        if isinstance(event, ev.TurnEnded) and self._closing and not event.error:
            return replace(event, error="The session was closed.")  # nobody pressed Stop
        if isinstance(event, (ev.ApprovalResolved, ev.QuestionResolved)):
            signed: ev.Event = self.decider.signed(event)
            return signed
        return event

    def _after(self, event: ev.Event) -> None:
        number = self.transcript.state.turn
        if number and number not in self.watches:
            self._watch(number, event)
        self.hosting.saw(event)
        if isinstance(event, ev.CommandAnswered):
            waiter = self._waiters.get(event.command_id)
            if waiter is not None:
                waiter.answer(event)
        elif isinstance(event, ev.TurnStarted):
            self._opening = ""
        elif isinstance(event, ev.SessionStarted):
            self._ready.set()
        elif isinstance(event, ev.StartRefused):
            self._refused = event
            self._ready.set()
        elif isinstance(event, ev.SessionEnded):
            self._ended_well = True
        elif isinstance(event, (ev.ApprovalRequested, ev.QuestionRequested)):
            self.decider.requested(event.request_id)

    def _watch(self, number: int, event: ev.Event) -> None:
        """A turn began. One that a waiting message began, as the one before it ended, is decided as that one was. One that
        nobody asked for is decided by the session's policy; if nobody was there before, nobody is now."""
        before = self.watches.get(number - 1)
        follows = before is not None and not before.done.is_set()
        unasked = isinstance(event, ev.TurnStarted) and not event.command_id and not self.transcript.unread()
        options = self._next_options or TurnOptions()
        if before is not None and self._next_options is None and unasked:
            options = TurnOptions(unattended=before.options.unattended)
        elif before is not None and self._next_options is None and follows:
            options = before.options
        self._next_options = None
        watch = self.watches[number] = Watch(number, options)
        if before is not None and follows:
            before.following = watch
        self._apply(State({"approve": (options.policy or self.decider.policy).name}))

    def _publish(self) -> None:
        if self._batch:
            batch, self._batch = self._batch, []
            self.seq += 1
            for listener in list(self._listeners):
                try:
                    listener(self.seq, batch)
                except Exception:  # one front-end's fault must not stop the session for the others
                    log.exception("a listener of session %s failed", self.transcript.state.agent)
        for watch in self.watches.values():
            if not watch.done.is_set() and not self._running(watch.number):
                watch.finish()

    def _running(self, number: int) -> bool:
        entry = self.transcript.entries.get(f"turn:{number}")
        return isinstance(entry, TurnEntry) and entry.status == "running"

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Have ``listener(seq, ops)`` called for every batch; returns how to stop it.

        Operations hold live entries: a listener turns them into JSON before it returns.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def announce(self, *events: ev.Event) -> None:
        """Reduce events of our own and tell the listeners at once."""
        for event in events:
            self.feed(event)
        self._publish()

    # ---- out: what we say ------------------------------------------------------------------------------------------

    async def dispatch(
        self, command: cmd.Command, *, via: str = "python", options: TurnOptions | None = None
    ) -> ev.CommandAnswered:
        """Carry out a command and wait for the agent's answer. The same id again gives the first answer again.

        Raises ``TurnRunning``, ``NotWaiting``, ``NotSupported``, ``SessionClosed``, ``AgentGone``, ``TransportError``
        while the connection is made again or, when the agent says no, ``AgentError``.
        """
        waiter = self.post(command, via=via, options=options)
        answer = await waiter.wait()
        if not answer.ok:
            raise AgentError(answer.error or f"The agent refused {command.type!r}.", command=command.type)
        return answer

    def post(self, command: cmd.Command, *, via: str, options: TurnOptions | None = None) -> Waiter:
        """Send a command now; its answer comes to the waiter. Raises like :meth:`dispatch` for what cannot be sent."""
        known = self._waiters.get(command.id)
        if known is not None:
            return known
        if self._closing:
            raise SessionClosed("The session was closed. Start another with hm.connect() or %hm start.")
        if self.gone:
            raise gone_error(self.transcript.state.agent, self._exit or Exit(), self.start_again)
        command = resolve(command, self.transcript)
        check(command, self.transcript, self.capabilities)
        if taken(self.shelf, command):
            self.start_soon(self._from_shelf, command)
            return self._waiters.add(command.id)
        step = self.hosting.answer(command) or self.adapter.send(self.decider.for_wire(command, via))
        waiter = self._waiters.add(command.id)
        self._sent(command, via, options)
        self._take(step)
        self._publish()
        assert self._tasks is not None
        self._tasks.start_soon(self._outcome, command, waiter)
        return waiter

    async def _from_shelf(self, command: cmd.Command) -> None:
        assert self.shelf is not None
        self.announce(await carry_out(self.shelf, command))

    def _sent(self, command: cmd.Command, via: str, options: TurnOptions | None) -> None:
        if isinstance(command, (cmd.Prompt, cmd.Steer, cmd.FollowUp)):
            if isinstance(command, cmd.Prompt):
                self._next_options = options or TurnOptions()
                self._opening = command.id
            self.decider.spoken()
            images = [ev.Image(i.data, i.mime) for i in command.images]
            text = command.shown if command.shown is not None else command.text
            self.feed(ev.MessageSent(command.id, text, command.type, images, list(command.attachments)))
        elif isinstance(command, (cmd.Approve, cmd.Answer)):
            self.decider.sent(command, via)
            self.feed(ev.DecisionSent(command.request_id))
        self.hosting.sent(command)

    async def _outcome(self, command: cmd.Command, waiter: Waiter) -> None:
        """What a refused command means for the transcript."""
        try:
            answer = await waiter.wait()
        except Exception:  # told to whoever waits for it
            return
        if answer.ok:
            return
        if isinstance(command, cmd.Prompt):
            self.announce(ev.MessagesDropped([command.id]))
            if self._opening == command.id:  # else the agent has begun a turn of its own, which goes on
                self.announce(ev.TurnEnded("error", answer.error or "The agent refused the prompt."))
        elif isinstance(command, (cmd.Steer, cmd.FollowUp)):
            self.announce(ev.MessagesDropped([command.id]))
        elif isinstance(command, (cmd.Approve, cmd.Answer)):
            self.announce(ev.DecisionSent(command.request_id, sent=False))

    async def _write(self, outgoing: Any) -> None:
        async for value in outgoing:
            await self._try_send(value)

    async def _try_send(self, value: Any) -> None:
        try:
            await self.transport.send(value)
        except Exception as error:  # the reader sees the end too, and says how it ended
            log.debug("writing to %s failed: %s", self.transcript.state.agent, error)

    def start_soon(self, afn: Callable[..., Any], *args: Any) -> None:
        """Run a task for as long as the session lives."""
        if self._tasks is not None:
            self._tasks.start_soon(afn, *args)

    def options_now(self) -> TurnOptions:
        """The options of the turn that runs (or ran last)."""
        watch = self.watches.get(self.transcript.state.turn)
        return watch.options if watch else TurnOptions()
