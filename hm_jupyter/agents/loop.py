"""The turn: model step, tool calls, results, until the model has nothing more to do.

Source: hm RPC, "Life of a session", "Commands" (steer, follow_up, abort), "A session" (the order of events). Knows no
pipes: it emits events by a function and finds what the person sent in queues.
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Literal, Protocol

from .approvals import Desk
from .calls import run_call
from .compaction import KEEP, compact, due
from .guard.judge import Guard
from .instructions import Nested
from .messages import Message, ToolCall
from .modes import Mode, modes
from .providers import Call, CallStarted, ContextTooLong, Finished, Model, ModelError, Notice, Retrying, Text, Thinking
from .room import Room
from .session import Session
from .subagents import Crew
from .tools import TOOLS
from .tools.base import Tool
from .tools.outputs import Outputs

SKIPPED = "Not run: the user sent a message before this call began. Read it, then decide anew."
INTERRUPTED = "Stopped by the user."


class Emit(Protocol):
    """Writes one event with its header."""

    def __call__(self, type: str, /, **fields: object) -> None: ...


@dataclass(slots=True)
class Host:
    """What a turn needs from the agent around it. ``drained`` waits while the reader of the events is slow; ``outputs``
    has the long outputs that were kept, ``room`` what more of them fits; ``crew`` are the sub-agents (None: of one)."""

    session: Session
    emit: Emit
    drained: Callable[[], Awaitable[None]]
    desk: Desk = field(default_factory=Desk)
    steers: deque[Message] = field(default_factory=deque)
    follow_ups: deque[Message] = field(default_factory=deque)
    guard: Guard = field(default_factory=Guard)
    modes: dict[str, Mode] = field(default_factory=modes)
    tools: Mapping[str, Tool] = field(default_factory=lambda: TOOLS)
    outputs: Outputs | None = None
    room: Room = field(default_factory=Room)
    crew: Crew | None = None
    nested: Nested = field(default_factory=Nested)

    def kept(self) -> Outputs:
        """The session's kept outputs."""
        if self.outputs is None:
            self.outputs = Outputs.of(self.session.journal.path, self.session.fork_of)
        return self.outputs


@dataclass(slots=True)
class Settings:
    """What a turn goes by, fixed when it starts: later changes apply from the next turn."""

    mode: str
    model: Model
    effort: str
    approve: str
    max_steps: int | None = None
    system: str = ""
    compact_at: float = 0.0


class Turn:
    """One turn. :meth:`run` never raises: however it ends, ``turn_end`` is the last event."""

    def __init__(self, host: Host, settings: Settings, prompt: Message) -> None:
        self._host = host
        self._session = host.session
        self._settings = settings
        self._prompt = prompt
        self._open: list[ToolCall] = []
        self._ending: dict[str, str] = {}
        self._task: asyncio.Task[object] | None = None
        self._aborted = False

    def abort(self) -> None:
        """Stop it as soon as can be. Harmless when repeated, and before :meth:`run` has begun."""
        if not self._aborted and self._task is not None:
            self._task.cancel()
        self._aborted = True

    async def run(self) -> None:
        self._task = asyncio.current_task()
        end: dict[str, str] = {}
        self._session.turn_began()
        self._host.room = Room(lambda: self._settings.model.context_size)
        if self._host.crew is not None:
            self._host.crew.begin(self._settings)
        try:
            self._hear(self._prompt)
            if self._aborted:
                raise asyncio.CancelledError
            self._hear_steers()
            end = await self._steps()
        except asyncio.CancelledError:
            end = {"stop_reason": "cancelled"}
        except ModelError as error:
            end = {"stop_reason": "error", "error": str(error)}
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            end = {"stop_reason": "error", "error": f"the agent failed: {type(error).__name__}: {error}"}
        self._close_calls("interrupted")
        if self._host.crew is not None:
            await self._host.crew.stop()
        if self._aborted:
            self._host.steers.clear()
            self._host.follow_ups.clear()
        self._host.emit("turn_end", **end)

    async def _steps(self) -> dict[str, str]:
        steps = 0
        while True:
            steps += 1
            message = await self._answer()
            if message.calls:
                await self._batch(message.calls)
            heard = self._hear_steers()
            while not message.calls and not heard and self._host.crew is not None and self._host.crew.at_work:
                await self._host.crew.news()
                heard = self._hear_steers()
            if not message.calls and not heard:
                if not self._host.follow_ups:
                    return self._ending
                self._hear(self._host.follow_ups.popleft())
            if self._settings.max_steps is not None and steps >= self._settings.max_steps:
                text = f"stopped after {steps} steps, the most --max-steps allows; send a prompt to go on"
                return {"stop_reason": "max_steps", "error": text}

    # ---- messages of the person, and of sub-agents ----

    def _hear(self, message: Message) -> None:
        message.id = self._session.new_entry()
        self._session.append(message)
        self._host.emit("message_end", role="user", text=message.text, entry=message.id)

    def _hear_steers(self) -> bool:
        heard = bool(self._host.steers)
        while self._host.steers:
            self._hear(self._host.steers.popleft())
        for text in self._host.crew.answers() if self._host.crew is not None else ():
            heard = True  # told as agent_end already
            self._session.append(Message(self._session.new_entry(), "user", text, delivery="agent"))
        return heard

    # ---- one answer of the model ----

    async def _answer(self) -> Message:
        """The model's next message. A context that is too long, or soon will be, is made shorter first."""
        model = self._settings.model
        if due(self._session, model, self._settings.compact_at):
            await compact(self._session, model, self._host.emit, keep=KEEP)
        try:
            return await self._model_step()
        except ContextTooLong:
            if await compact(self._session, model, self._host.emit, keep=KEEP):
                raise
            return await self._model_step()

    async def _model_step(self) -> Message:
        emit, drained = self._host.emit, self._host.drained
        message = Message(self._session.new_entry(), "assistant")
        parts: list[str] = []
        begun = False  # whether anything of the message was told
        self._ending = {}
        emit("message_start", role="assistant")
        try:
            step = self._settings.model.step(
                self._session.history,
                tools=list(self._host.tools.values()),
                effort=self._settings.effort,
                system=self._settings.system,
            )
            async with aclosing(step):  # a connection is closed at once, wherever a cancellation finds us
                async for delta in step:
                    if type(delta) is Text:
                        begun = True
                        parts.append(delta.text)
                        emit("text_delta", text=delta.text)
                    elif type(delta) is Thinking:
                        begun = True
                        emit("thinking_delta", text=delta.text)
                    elif type(delta) is CallStarted:
                        begun = True
                        emit("tool_start", tool=delta.tool)
                    elif type(delta) is Call:
                        id = delta.id or self._session.new_call()
                        message.calls.append(ToolCall(id, delta.tool, delta.input, delta.error))
                    elif type(delta) is Retrying:
                        self._begin_anew(message, parts, begun, delta)
                        begun = False
                    elif type(delta) is Notice:
                        emit("notice", level=delta.level, text=delta.text)
                    elif type(delta) is Finished:
                        self._finished(message, delta)
                    await drained()
        except BaseException:
            message.text = "".join(parts)
            message.calls.clear()
            if message.text:
                self._session.append(message)
            emit("message_end", role="assistant", text=message.text, entry=message.id, interrupted=True)
            raise
        message.text = "".join(parts)
        if message.text:
            self._session.answer = message.text
        self._session.append(message)
        self._open = list(message.calls)
        emit("message_end", role="assistant", text=message.text, entry=message.id)
        return message

    def _begin_anew(self, message: Message, parts: list[str], begun: bool, delta: Retrying) -> None:
        """The model is asked again: what it said is void. A reader who saw some of it sees it cut off."""
        if begun:
            self._host.emit("message_end", role="assistant", text="".join(parts), interrupted=True)
        self._host.emit("retry", attempt=delta.attempt, of=delta.of, wait=delta.wait, reason=delta.reason)
        if begun:
            self._host.emit("message_start", role="assistant")
        parts.clear()
        message.calls.clear()

    def _finished(self, message: Message, delta: Finished) -> None:
        self._session.usage.add(delta.usage)
        self._session.measured(delta.usage.input)
        self._host.emit("usage", **delta.usage.to_json())
        message.private = delta.private
        if delta.stop:
            self._ending = {"stop_reason": delta.stop, "error": delta.note}
        elif delta.note:
            self._host.emit("notice", level="warning", text=delta.note)

    # ---- its calls ----

    async def _batch(self, calls: list[ToolCall]) -> None:
        """One call after the other; what the person sent meanwhile is heard before the next one begins."""
        for call in calls:
            if self._host.steers:
                break
            self._open.remove(call)
            try:
                await run_call(call, self._host, self._settings.mode, self._settings.approve)
            except asyncio.CancelledError:
                self._host.emit("message_end", role="tool", text="")
                raise
        self._close_calls("skipped")
        self._host.emit("message_end", role="tool", text="")

    def _close_calls(self, outcome: Literal["skipped", "interrupted"]) -> None:
        """Results for calls that were never begun, so that neither the model nor a reader waits for them."""
        text, tools = SKIPPED if outcome == "skipped" else INTERRUPTED, self._host.tools
        for call in self._open:
            entry = self._session.new_entry()
            self._session.append(Message(entry, "tool", text, call_id=call.id, is_error=True, outcome=outcome))
            if outcome == "skipped":
                summary = tools[call.tool].summary(call.input) if call.tool in tools else ""
                head = {"tool": call.tool, "call_id": call.id}
                self._host.emit("tool_call", **head, summary=summary, input=call.input)
                self._host.emit("tool_result", **head, text=text, is_error=True, outcome=outcome, entry=entry)
        self._open = []
