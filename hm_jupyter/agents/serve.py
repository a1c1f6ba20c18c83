"""The agent on its pipes: reads command lines, answers each once, and lets turns run meanwhile.

Source: hm RPC, "Life of a session", "Commands", "Order". Everything happens on one loop: a line is handled whole when
it is read, so a response is written before anything that follows from its command.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from ..protocols import hm_wire as wire
from .approvals import MODES, Decision, EditedFile
from .export import export_session
from .images import NotAnImage, picture
from .loop import Host, Settings, Turn
from .messages import Message
from .providers import UnknownModel, make_model, provider_named
from .session import Session
from .stdio import LineReader, LineWriter, parse_line

INTERRUPTED = 130
"""Exit code after SIGINT or SIGTERM."""

_PATIENCE = 3.0
"""Seconds a turn gets to end once it was told to stop, before we end without it."""


class Refusal(Exception):
    """A command fails; the text goes into its response."""


@dataclass(slots=True)
class Options:
    """The flags that matter while running."""

    session: Session
    approve: str = "ask"
    max_steps: int | None = None


class Agent:
    """One session served over two file descriptors."""

    def __init__(self, options: Options, stdin: int, stdout: int) -> None:
        self._options = options
        self._session = options.session
        self._out = LineWriter(stdout, self._unheard)
        self._in = LineReader(stdin, self._line, self._input_ended)
        self._host = Host(self._session, self._emit, self._out.drained)
        self._turn: Turn | None = None
        self._task: asyncio.Task[None] | None = None
        self._compaction: asyncio.Task[None] | None = None
        self._code = 0
        self._ended = asyncio.Event()
        self._stop_now = asyncio.Event()

    async def serve(self) -> int:
        """Run until the input ends or a signal comes; returns the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._signalled)
        self._out.start(loop)
        self._announce()
        self._in.start(loop)
        await self._ended.wait()
        await self._finish_work()
        self._in.stop()
        self._emit(
            "session_end", answer=self._session.answer, exit_code=self._code, refused=self._session.refused,
            usage=self._session.usage.to_json(),
        )  # fmt: skip
        await self._until_stopped({asyncio.ensure_future(self._out.flushed())})
        return self._code

    async def _finish_work(self) -> None:
        while tasks := {t for t in (self._task, self._compaction) if t is not None and not t.done()}:
            await self._until_stopped(tasks)
            if self._code:
                return

    async def _until_stopped(self, tasks: set[asyncio.Future[None]]) -> None:
        """Wait for ``tasks``: without limit as long as nobody stops us, and then for a moment."""
        stopping = asyncio.ensure_future(self._stop_now.wait())
        left = set(tasks)
        while left and not self._stop_now.is_set():
            await asyncio.wait({*left, stopping}, return_when=asyncio.FIRST_COMPLETED)
            left = {t for t in left if not t.done()}
        stopping.cancel()
        if left:
            await asyncio.wait(left, timeout=_PATIENCE)

    # ---- how it ends ----

    def _input_ended(self) -> None:
        self._host.desk.close()
        self._ended.set()

    def _signalled(self) -> None:
        self._code = INTERRUPTED
        self._stop_everything()

    def _unheard(self) -> None:
        """Nobody reads what we write any more."""
        self._code = self._code or 1
        self._stop_everything()

    def _stop_everything(self) -> None:
        self._stop()
        self._stop_now.set()
        self._ended.set()

    def _stop(self) -> None:
        self._host.steers.clear()
        self._host.follow_ups.clear()
        if self._turn is not None:
            self._turn.abort()
        if self._compaction is not None:
            self._compaction.cancel()

    # ---- what it writes ----

    def _emit(self, type: str, /, **fields: Any) -> None:
        self._out.send(wire.event(type, self._session.id, _now(), **fields))

    def _announce(self) -> None:
        s = self._session
        self._emit(
            "session_start", root=str(s.workspace.root), mode=s.mode, provider=s.provider, model=s.model,
            resumed=False, prompt="", title=s.title, modes=list(MODES), models=provider_named(s.provider).models(),
        )  # fmt: skip

    def _respond(self, id: Any, command: str, *, error: str | None = None, data: Any = None) -> None:
        self._out.send(wire.response(self._session.id, _now(), id=id, command=command, error=error, data=data))

    # ---- what it reads ----

    def _line(self, line: bytes | None) -> None:
        try:
            value = parse_line(line) if line is not None else None
        except ValueError:
            self._respond(None, "", error=wire.NOT_JSON)
            return
        id, name = wire.command_head(value)
        if line is None:
            self._respond(None, "", error="that line is too long; send at most 64 MiB a line")
            return
        try:
            command = wire.parse_hm_command(value)
            if isinstance(command, wire.HmCompact):
                self._compact(command)
                return
            data = self._handlers[type(command)](self, command)
        except (Refusal, ValueError) as refusal:  # ValueError: not a command
            self._respond(id, name, error=str(refusal))
            return
        self._respond(id, name, data=data)
        if self._turn is not None and self._task is None:
            self._task = asyncio.ensure_future(self._run(self._turn))

    @property
    def _running(self) -> bool:
        return self._turn is not None

    def _status(self) -> str:
        if self._host.desk.approvals or self._host.desk.questions:
            return "waiting"
        return "running" if self._running else "idle"

    def _message(self, command: wire.HmPrompt | wire.HmSteer | wire.HmFollowUp) -> Message:
        try:
            images = [picture(i.data) for i in command.images]
        except NotAnImage as error:
            raise Refusal(str(error)) from None
        return Message("", "user", command.text, delivery=command.type, images=images)

    # ---- turns ----

    def _prompt(self, command: wire.HmPrompt) -> None:
        if self._running:
            raise Refusal(wire.TURN_RUNNING)
        if self._compaction is not None:
            raise Refusal("the context is being summarised; wait for compaction_end or send abort first")
        self._begin(self._message(command))

    def _begin(self, message: Message) -> None:
        """Make a turn ready; it runs once the response is written."""
        s = self._session
        try:
            model = make_model(s.provider, s.model)
        except UnknownModel as error:
            raise Refusal(str(error)) from None
        if not s.title:
            s.title = next((line.strip() for line in message.text.splitlines() if line.strip()), "pictures")[:60]
        settings = Settings(s.mode, model, s.effort, self._options.approve, self._options.max_steps)
        self._turn = Turn(self._host, settings, message)

    async def _run(self, turn: Turn) -> None:
        await turn.run()
        self._turn = self._task = None

    def _steer(self, command: wire.HmSteer) -> None:
        self._host.steers.append(self._message(command))

    def _follow_up(self, command: wire.HmFollowUp) -> None:
        message = self._message(command)
        if self._running or self._compaction is not None:
            self._host.follow_ups.append(message)
        else:  # there is no end to wait for: the step starts now
            self._begin(message)

    def _abort(self, command: wire.HmAbort) -> None:
        self._stop()

    # ---- leave and answers ----

    def _approve(self, command: wire.HmApprove) -> None:
        plan = self._host.desk.planned(command.call_id)
        if plan is None:
            raise Refusal(wire.not_waiting_for_approval(command.call_id))
        edits = None
        if command.allow and command.edits is not None:
            if not plan.changes:
                raise Refusal("edits are for a call that changes files; this one does not. Allow or refuse it whole")
            edits = [EditedFile(e.path, e.content) for e in command.edits]
        decision = Decision(command.allow, "user", command.note, command.for_session, edits)
        self._host.desk.decide(command.call_id, decision)

    def _answer(self, command: wire.HmAnswer) -> None:
        if not self._host.desk.answer(command.call_id, command.text):
            raise Refusal(wire.not_waiting_for_answer(command.call_id))

    # ---- settings ----

    def _set_mode(self, command: wire.HmSetMode) -> None:
        if command.mode not in MODES:
            raise Refusal(f"there is no mode {command.mode[:60]!r}; the modes are {', '.join(MODES)}")
        self._session.mode = command.mode

    def _set_model(self, command: wire.HmSetModel) -> None:
        s = self._session
        provider = command.provider or s.provider
        # Another provider does not know the old one's model: left out then means its configured one.
        model = command.model if command.model is not None else s.model if provider == s.provider else ""
        try:
            make_model(provider, model)
        except UnknownModel as error:
            raise Refusal(str(error)) from None
        s.provider, s.model = provider, model
        if command.effort is not None:
            s.effort = command.effort

    # ---- the session ----

    def _get_state(self, command: wire.HmGetState) -> dict[str, Any]:
        desk = self._host.desk
        return {
            "session": self._session.to_json(running=self._running, status=self._status()),
            "running": self._running,
            "pending_approvals": desk.approvals,
            "pending_questions": desk.questions,
        }

    def _list_sessions(self, command: wire.HmListSessions) -> dict[str, Any]:
        return {"sessions": []}  # saved sessions come with a later issue: nothing is saved yet

    def _fork(self, command: wire.HmFork) -> dict[str, Any]:
        if self._running or self._compaction is not None:
            raise Refusal(wire.ONLY_WHEN_IDLE)
        try:
            fork = self._session.forked(command.entry)
        except KeyError:
            raise Refusal(f"this session has no entry {command.entry[:60]!r}; message_end names them") from None
        self._session = self._host.session = fork
        self._announce()
        return fork.to_json(running=False, status="idle")

    def _export(self, command: wire.HmExport) -> dict[str, Any]:
        try:
            path = export_session(self._session, command.format, command.path)
        except ValueError as error:
            raise Refusal(str(error)) from None
        return {"path": str(path), "redacted": []}

    def _compact(self, command: wire.HmCompact) -> None:
        if self._running or self._compaction is not None:
            raise Refusal(wire.ONLY_WHEN_IDLE)
        self._compaction = asyncio.ensure_future(self._compact_now(command))

    async def _compact_now(self, command: wire.HmCompact) -> None:
        s = self._session
        error: str | None = None
        self._emit("compaction_start", focus=command.focus)
        try:
            summary = await make_model(s.provider, s.model).summarize(s.history, command.focus)
            s.history[:] = [Message(s.new_entry(), "summary", summary)]
            self._emit("compaction_end", summary=summary, context=s.context)
        except asyncio.CancelledError:
            error = "stopped before it was done; the context is as it was"
        except Exception as problem:
            error = f"the context could not be summarised: {problem}"
        if error:
            self._emit("compaction_end", summary="", error=error)
        self._compaction = None
        self._respond(command.id, command.type, error=error)
        if self._host.follow_ups and not self._ended.is_set():
            self._begin(self._host.follow_ups.popleft())
            assert self._turn is not None
            self._task = asyncio.ensure_future(self._run(self._turn))

    _handlers: dict[type, Callable[[Agent, Any], Any]] = {  # noqa: RUF012  (a table, never changed)
        wire.HmPrompt: _prompt,
        wire.HmSteer: _steer,
        wire.HmFollowUp: _follow_up,
        wire.HmAbort: _abort,
        wire.HmApprove: _approve,
        wire.HmAnswer: _answer,
        wire.HmSetMode: _set_mode,
        wire.HmSetModel: _set_model,
        wire.HmGetState: _get_state,
        wire.HmListSessions: _list_sessions,
        wire.HmFork: _fork,
        wire.HmExport: _export,
    }


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
