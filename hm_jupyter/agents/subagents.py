"""Sub-agents: agents with a conversation of their own that work for a ``sub_agent`` call, waited for or in the background.

Each plays a turn like the main one's, with the same mode, guard, rules and desk, so nothing is allowed to it that is not
to the main agent. Its events carry its name. A turn does not end before those in the background have: each one's answer
reaches the model as a message when it is done, and an abort ends them all (hm RPC, "Commands", abort).
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .messages import Message, Usage
from .session import Session
from .tools import OF_SUB_AGENTS
from .tools.base import Result, Task, ToolError

if TYPE_CHECKING:
    from .loop import Host, Settings

AT_ONCE, A_TURN = 4, 20
"""Most sub-agents at the same time, and most in a turn."""

STEPS = 60
"""Most model calls of a sub-agent, where --max-steps does not say less."""

INSTRUCTIONS = (
    "You are a sub-agent: another agent gave you the task below and reads nothing of what you do but your last answer."
    " Do the task and no more, then report what was asked for, complete and short, with paths and line numbers where they"
    " help. If it cannot be done, say why."
)


@dataclass(slots=True)
class SubSession(Session):
    """A sub-agent's own conversation. Its calls have ids that no other agent's have."""

    agent: str = ""

    def new_call(self) -> str:
        self.calls += 1
        return f"{self.agent}_call_{self.calls:02d}"


@dataclass(slots=True)
class _Worker:
    """One sub-agent at work."""

    name: str
    task: Task
    call_id: str
    session: SubSession
    end: dict[str, Any] = field(default_factory=dict)

    @property
    def result(self) -> Result:
        reason, error, answer = self.end.get("stop_reason", ""), self.end.get("error", ""), self.session.answer
        if reason == "cancelled":
            return Result("Stopped by the user.", True)
        if error:
            return Result(f"It ended early: {error}.\n\n{answer}".rstrip(), True)
        return Result(answer or "It ended without an answer.", not answer)


class Crew:
    """The sub-agents of a session's main agent."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._settings: Settings | None = None
        self._turns: dict[asyncio.Task[None], Any] = {}
        self._begun = 0
        self._done: deque[str] = deque()
        self._news = asyncio.Event()

    @property
    def at_work(self) -> bool:
        """Whether one works, or has just ended and was not heard."""
        return bool(self._turns or self._done)

    def begin(self, settings: Settings) -> None:
        """A turn of the main agent's begins; its sub-agents go by ``settings`` too."""
        self._settings, self._begun = settings, 0
        self._done.clear()

    async def spawn(self, task: Task, call_id: str) -> Result:
        """Have ``task`` done for that call. Raises :class:`ToolError` when there are too many."""
        if len(self._turns) >= AT_ONCE:
            raise ToolError(f"{AT_ONCE} sub-agents are at work, the most there may be; go on when one is done")
        if self._begun >= A_TURN:
            raise ToolError(f"this turn has had {A_TURN} sub-agents, the most it may; do the rest yourself")
        self._begun += 1
        worker = self._hire(task, call_id)
        turn, running = self._start(worker)
        if task.background:
            running.add_done_callback(lambda _: self._hand_in(worker))
            return Result(
                f"Sub-agent {worker.name} works on it. Its answer comes as a message when it is done; go on meanwhile, or"
                " end your answer to wait for it."
            )
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            turn.abort()
            await running
            raise
        return worker.result

    def _hire(self, task: Task, call_id: str) -> _Worker:
        main = self._host.session
        name = f"a{self._begun}-{secrets.token_hex(2)}"
        session = SubSession(
            main.workspace, main.mode, main.provider, main.model, main.effort, title=task.title, rules=main.rules,
            refused=main.refused, agent=name,
        )  # fmt: skip
        return _Worker(name, task, call_id, session)

    def _start(self, worker: _Worker) -> tuple[Any, asyncio.Task[None]]:
        from .loop import Host, Turn

        assert self._settings is not None
        host, task = self._host, worker.task
        own = Host(
            worker.session, self._emitter(worker), host.drained, desk=host.desk, guard=host.guard, modes=host.modes,
            tools=OF_SUB_AGENTS, outputs=host.kept(),
        )  # fmt: skip
        steps = min(STEPS, self._settings.max_steps or STEPS)
        system = f"{self._settings.system}\n\n{INSTRUCTIONS}".lstrip()
        turn = Turn(own, replace(self._settings, max_steps=steps, system=system), Message("", "user", task.text))
        host.emit(
            "agent_start", agent=worker.name, call_id=worker.call_id, title=task.title, background=task.background
        )
        running = asyncio.ensure_future(self._work(turn, worker))
        self._turns[running] = turn
        running.add_done_callback(self._turns.pop)
        return turn, running

    async def _work(self, turn: Any, worker: _Worker) -> None:
        try:
            await turn.run()
        finally:
            worker.session.journal.close()
            result = worker.result
            fields = {"outcome": "interrupted"} if worker.end.get("stop_reason") == "cancelled" else {}
            self._host.emit(
                "agent_end", agent=worker.name, call_id=worker.call_id, text=result.text, is_error=result.is_error,
                **fields,
            )  # fmt: skip

    def _emitter(self, worker: _Worker) -> Any:
        """How a sub-agent's events are told: with its name. No client's message begins its turn, and no client's turn
        ends with it; its messages are no entries that a fork could name."""

        def emit(type: str, /, **fields: Any) -> None:
            if type == "turn_end":
                worker.end = fields
                return
            if type == "message_end" and fields.get("role") == "user":
                return
            fields.pop("entry", None)
            if type == "usage":
                self._host.session.usage.add(Usage(**fields))
            self._host.emit(type, **fields, agent=worker.name)

        return emit

    # ---- those in the background ----

    def _hand_in(self, worker: _Worker) -> None:
        if worker.end.get("stop_reason") != "cancelled":
            text = self._host.room.fit(worker.result.text, lambda whole: self._host.kept().keep("sub_agent", whole))
            self._done.append(
                f"[From sub-agent {worker.name}, not from the user: “{worker.task.title}” is done]\n\n{text}"
            )
        self._news.set()

    def answers(self) -> list[str]:
        """What those that ended since it was last asked have to say, for the model."""
        out = list(self._done)
        self._done.clear()
        return out

    def poke(self) -> None:
        """Something else came that whoever waits for news should see to."""
        self._news.set()

    async def news(self) -> None:
        """Wait until one is done, or the person sent something."""
        self._news.clear()
        if not self._done and self._turns:
            await self._news.wait()

    async def stop(self) -> None:
        """End all of them, and wait until they have ended."""
        turns = dict(self._turns)
        for turn in turns.values():
            turn.abort()
        if turns:
            await asyncio.wait(set(turns))
        self._done.clear()
