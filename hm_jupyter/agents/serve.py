"""The agent on its pipes: reads command lines, answers each once, and lets turns run meanwhile.

Source: hm RPC, "Life of a session", "Commands", "Order". Everything happens on one loop: a line is handled whole when
it is read, so a response is written before anything that follows from its command.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from . import instructions
from .compaction import compact
from .config import Config
from .guard.judge import Guard
from .loop import Host, Settings, Turn
from .messages import Message
from .modes import DEFAULT_MODE, mode_help, modes
from .providers import UnknownModel, make_model, provider_named, provider_names
from .session import Session, now
from .stdio import LineReader, LineWriter
from .subagents import Crew

INTERRUPTED = 130
"""Exit code after SIGINT or SIGTERM."""

_PATIENCE = 1.5
"""Seconds a turn gets to end once it was told to stop, before we end without it."""


@dataclass(slots=True)
class Options:
    """The flags that matter while running."""

    session: Session
    approve: str = "ask"
    max_steps: int | None = None
    config: Config = field(default_factory=Config)


class Agent:
    """One session served over two file descriptors."""

    def __init__(self, options: Options, stdin: int, stdout: int) -> None:
        self.options = options
        self.session = options.session
        self._out = LineWriter(stdout, self._unheard)
        self._in = LineReader(stdin, self._line, self._input_ended)
        self.host = Host(
            self.session, self.emit, self._out.drained,
            guard=Guard.load(self.session.workspace.root), modes=modes(options.config.modes),
        )  # fmt: skip
        self.crew = self.host.crew = Crew(self.host)
        self.turn: Turn | None = None
        self._task: asyncio.Task[None] | None = None
        self.compaction: asyncio.Task[None] | None = None
        self._code = 0
        self._ended = asyncio.Event()
        self._stop_now = asyncio.Event()
        self._told_lost = False
        self._later: list[str] = []  # warnings that belong behind session_start, or into the turn
        self._said: set[str] = set()
        self._later += [*self.host.guard.problems, *self.host.guard.notes]
        if lines := self.session.journal.unreadable:
            self._later.append(
                f"{lines} lines of the saved session cannot be read; they stay in {self.session.journal.path}"
            )

    async def serve(self) -> int:
        """Run until the input ends or a signal comes; returns the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._signalled)
        self._out.start(loop)
        self.announce()
        await self._out.flushed()  # what is slow to import comes once we are seen to be there
        from .commands import answer

        self._warn()
        self._answer = answer
        self._in.start(loop)
        await self._ended.wait()
        await self._finish_work()
        self._in.stop()
        self.emit(
            "session_end", answer=self.session.answer, exit_code=self._code, refused=self.session.refused,
            usage=self.session.usage.to_json(),
        )  # fmt: skip
        await self._until_stopped({asyncio.ensure_future(self._out.flushed())})
        return self._code

    async def _finish_work(self) -> None:
        while tasks := {t for t in (self._task, self.compaction) if t is not None and not t.done()}:
            await self._until_stopped(tasks)
            if self._code:
                return

    async def _until_stopped(self, tasks: Collection[asyncio.Future[None]]) -> None:
        """Wait for ``tasks``: without limit as long as nobody stops us, and then for a moment."""
        stopping: asyncio.Future[Any] = asyncio.ensure_future(self._stop_now.wait())
        left: set[asyncio.Future[Any]] = set(tasks)
        while left and not self._stop_now.is_set():
            await asyncio.wait({*left, stopping}, return_when=asyncio.FIRST_COMPLETED)
            left = {t for t in left if not t.done()}
        stopping.cancel()
        if left:
            await asyncio.wait(left, timeout=_PATIENCE)

    # ---- how it ends ----

    def _input_ended(self) -> None:
        self.host.desk.close()
        self._ended.set()

    def _signalled(self) -> None:
        self._code = INTERRUPTED
        self._stop_everything()

    def _unheard(self) -> None:
        """Nobody reads what we write any more."""
        self._code = self._code or 1
        self._stop_everything()

    def _stop_everything(self) -> None:
        self.stop()
        self._stop_now.set()
        self._ended.set()

    def stop(self) -> None:
        self.host.steers.clear()
        self.host.follow_ups.clear()
        if self.turn is not None:
            self.turn.abort()
        if self.compaction is not None:
            self.compaction.cancel()

    # ---- what it writes ----

    def emit(self, type: str, /, **fields: Any) -> None:
        """Keep one event, then write it (hm RPC, "A session"): the same header as :func:`hm_wire.event`."""
        self.session.record({"type": type, **fields})
        self.send({"v": 1, "type": type, "session": self.session.id, "time": now(), **fields})
        if self.session.lost and not self._told_lost:
            self._told_lost = True
            self.emit("notice", level="error", text=self.session.lost)

    def send(self, line: dict[str, Any]) -> None:
        """Write one line."""
        self._out.send(line)

    def announce(self) -> None:
        s = self.session
        known = self.host.modes
        fields: dict[str, Any] = {"modes": list(known), "mode_help": mode_help(known), "saved": s.journal.saved}
        try:
            fields |= {"models": provider_named(s.provider).models(), "providers": provider_names()}
            model = make_model(s.provider, s.model)
            fields |= {"efforts": list(model.efforts), "context_size": model.context_size}
        except UnknownModel as error:
            fields["models"] = []
            self._later.append(str(error))
        if s.effort:
            fields["effort"] = s.effort
        if s.fork_of:
            fields["fork_of"] = s.fork_of
        if s.turns:
            fields["earlier"] = s.turns
        found = instructions.find(s.workspace)
        if found.files:
            fields["instructions"] = found.names
        self._note(found.problems)
        self.emit(
            "session_start", root=str(s.workspace.root), mode=s.mode, provider=s.provider, model=s.model,
            resumed=s.resumed, prompt="", title=s.title, **fields,
        )  # fmt: skip

    def _note(self, problems: list[str]) -> None:
        """To be told, once each."""
        self._later += [p for p in problems if p not in self._said]
        self._said.update(problems)

    def _warn(self) -> None:
        later, self._later = self._later, []
        for text in later:
            self.emit("notice", level="warning", text=text)

    def _line(self, line: bytes | None) -> None:
        self._answer(self, line)
        self.go_on()

    # ---- what it does ----

    @property
    def running(self) -> bool:
        """Whether a turn runs, from its prompt's acceptance to ``turn_end``."""
        return self.turn is not None

    @property
    def busy(self) -> bool:
        """Whether a turn or a compaction runs."""
        return self.running or self.compaction is not None

    @property
    def status(self) -> str:
        if self.host.desk.approvals or self.host.desk.questions:
            return "waiting"
        return "running" if self.busy else "idle"

    def begin(self, message: Message) -> None:
        """Make a turn ready; it runs once the response is written. Raises ``UnknownModel``."""
        s = self.session
        model = make_model(s.provider, s.model)
        if not s.title:
            s.title = next((line.strip() for line in message.text.splitlines() if line.strip()), "pictures")[:60]
        settings = Settings(
            s.mode, model, s.effort, self.options.approve, self.options.max_steps,
            system=self._system(), compact_at=self.options.config.compact_at,
        )  # fmt: skip
        self.turn = Turn(self.host, settings, message)

    def _system(self) -> str:
        """What the model is told first; what of it cannot be read is said once."""
        s = self.session
        told = instructions.find(s.workspace)
        self._note(told.problems)
        mode = self.host.modes.get(s.mode) or self.host.modes[DEFAULT_MODE]
        return instructions.system_prompt(s.workspace, mode, told.files)

    def go_on(self) -> None:
        """Start the turn that was made ready, if one was."""
        if self.turn is not None and self._task is None:
            self._task = asyncio.ensure_future(self._run(self.turn))

    async def _run(self, turn: Turn) -> None:
        self._warn()
        await turn.run()
        self.turn = self._task = None

    def compact(self, focus: str, answer: Callable[[str | None], None]) -> None:
        """Summarise the context; ``answer`` is called when it is done, with an error or None."""
        self.compaction = asyncio.ensure_future(self._compact(focus, answer))

    async def _compact(self, focus: str, answer: Callable[[str | None], None]) -> None:
        s = self.session
        try:
            error = await compact(s, make_model(s.provider, s.model), self.emit, focus) or None
        except asyncio.CancelledError:
            error = "stopped before it was done; the context is as it was"
        except UnknownModel as problem:
            error = str(problem)
        s.set_changed()
        self.compaction = None
        answer(error)
        if self.host.follow_ups:
            self.begin(self.host.follow_ups.popleft())
            self.go_on()
