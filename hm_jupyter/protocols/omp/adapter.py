"""One session with oh-my-pi (``omp``) or pi over RPC, sans-I/O: lines become events, commands become lines.

The parts: :mod:`.wire` (responses), :mod:`.frames` (long lines), :mod:`.opening` (how a session begins), :mod:`.turns` (when
one is over), :mod:`.messages`, :mod:`.calls`, :mod:`.approvals`, :mod:`.dialogs`, :mod:`.settings`, :mod:`.told` (what is only
told), :mod:`.bash`, :mod:`.subagents`, :mod:`.host`, :mod:`.speaking` (prompts), :mod:`.unread`,
:mod:`.stopping`, :mod:`.learned` (what an answer says of the session). This one knows which line goes where.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from ...commands import (
    Abort,
    Answer,
    Approve,
    Command,
    Compact,
    FollowUp,
    Prompt,
    SetModel,
    SetOption,
    Steer,
)
from ...events import (
    Capabilities,
    CommandAnswered,
    Event,
    NoticeRaised,
    SessionUpdated,
    StopReason,
    UnknownReceived,
    UsageReported,
)
from ..base import Adapter, HostFailure, Step, Texts
from . import read, told
from .approvals import Approvals
from .bash import OwnBash
from .calls import Calls
from .dialogs import Dialogs
from .frames import Broken, Frames
from .history import other
from .host import Host
from .learned import Learned
from .messages import Messages
from .opening import Opening
from .send import to_wire
from .settings import Settings
from .speaking import Speaking
from .stopping import Stopping
from .subagents import SubAgents
from .told import QUIET, Told
from .turns import Turns
from .unread import Queue
from .wire import Answer as Answered
from .wire import Wire

Dialect = Literal["omp", "pi"]
Handler = Callable[[dict[str, Any], Step], None]


class OmpAdapter(Adapter):
    """One session with oh-my-pi or pi.

    Whatever command of the wire has none of ours is sent by ``CallAgent(method="get_session_stats", params={…})``; what
    its response says of the session (a model, a name, …) is told as events all the same. ``CallAgent("bash",
    {"command": …})`` makes a card of its own.

    Args:
        dialect: whose commands and ends of a run are spoken.
        root: the folder it was started in; the wire does not tell.
        asks: whether the agent asks before it acts (``--approval-mode``, the gate): the name of the mode, for people.
        gate: our gate extension is loaded, so a denial may carry its note.
        history: tell the messages a taken up session already has.
    """

    def __init__(
        self, dialect: Dialect = "omp", *, root: str = "", asks: str = "", gate: bool = False, history: bool = False
    ) -> None:
        self.name = dialect
        self.dialect = dialect
        self.capabilities = Capabilities(
            steer=True, follow_up=True, for_session=True, images=True, set_model=True, effort=True, compact=True,
            fork=True, export=True, state=True, options=True, raw_calls=True,
            deny_note="native" if gate else "next_message",
        )  # fmt: skip
        self._wire = Wire()
        self._frames = Frames()
        self._settings = Settings()
        self._turns = Turns(dialect, self._turn_started, self._turn_ended)
        self._opening = Opening(
            self._wire, self._settings, dialect, root, asks, history, lambda: self._turns.running is not None
        )
        self._calls = Calls()
        self._messages = Messages(self._calls.block)
        self._approvals = Approvals(self._calls, gate)
        self._dialogs = Dialogs(self._approvals, self._asked)
        self._told = Told(self._turns)
        self._bash = OwnBash()
        self._agents = SubAgents(self._calls)
        self._host = Host()
        self._unread = Queue()
        self._learned = Learned(self._wire, self._settings, self._opening, self._dialogs)
        self._stopping = Stopping(dialect, self._wire, self._turns, self._dialogs, self._unread, self._bash)
        self._speaking = Speaking(self._wire, self._turns, self._unread, self._settings)
        self._handlers: dict[str, Handler] = {
            "response": self._on_response,
            "rpc_chunk": self._on_chunk,
            "ready": self._on_ready,
            "agent_start": lambda value, step: self._turns.agent_start(step),
            "agent_end": self._on_agent_end,
            "agent_settled": self._turns.settled,
            "session_settled": self._turns.settled,
            "prompt_result": self._on_prompt_result,
            "message_start": self._on_message_start,
            "message_end": self._on_message_end,
            "tool_execution_start": self._in_turn(self._calls.start),
            "tool_execution_update": self._in_turn(self._calls.update),
            "tool_execution_end": self._in_turn(self._calls.end),
            "tool_stream_update": _plain(self._calls.stream),
            "extension_ui_request": self._dialogs.request,
            "auto_retry_start": self._told.retry_start,
            "auto_retry_end": self._told.retry_end,
            "auto_compaction_start": self._told.compaction_start,
            "compaction_start": self._told.compaction_start,
            "auto_compaction_end": self._told.compaction_end,
            "compaction_end": self._told.compaction_end,
            "retry_fallback_applied": _plain(told.fallback),
            "retry_fallback_succeeded": _plain(told.fallback),
            "notice": _plain(told.notice),
            "extension_error": _plain(told.extension_error),
            "session_info_update": _plain(told.session_info),
            "session_info_changed": _plain(told.session_info),
            "todo_reminder": _plain(told.todos),
            "todo_auto_clear": _plain(told.todos),
            "goal_updated": _plain(told.happening),
            "ttsr_triggered": _plain(told.happening),
            "irc_message": _plain(told.happening),
            "rpc_frame_error": _plain(told.frame_error),
            "command_output": self._on_command_output,
            "available_commands_update": lambda value, step: self._opening.told_commands(value.get("commands"), step),
            "bash_execution_update": _plain(self._bash.output),
            "model_changed": self._learned.model_changed,
            "config_update": self._learned.model_changed,
            "thinking_level_changed": self._learned.level_changed,
            "subagent_lifecycle": _plain(self._agents.lifecycle),
            "subagent_progress": _plain(self._agents.progress),
            "subagent_event": _plain(self._agents.event),
            "host_tool_call": self._host.tool,
            "host_uri_request": self._host.uri,
            "host_tool_cancel": self._host.cancel,
            "host_uri_cancel": self._host.cancel,
        }

    # ---- what comes --------------------------------------------------------------------------------------------------

    def start(self) -> Step:
        """Ask for the state: its answer is the session's beginning."""
        step = Step()
        self._opening.start(step)
        return step

    def receive(self, value: Any) -> Step:
        """One line arrived. Never raises: kinds we do not know are kept raw, what is no event at all is a notice."""
        step = Step()
        self._take(value, step)
        return step

    def _take(self, value: Any, step: Step) -> None:
        kind = value.get("type") if type(value) is dict else None
        if kind == "message_update":  # the hot path
            if self._turns.running is None:
                self._turns.begin(step)
            self._messages.update(value, step.events)
            return
        if self._frames.open and kind != "rpc_chunk":
            self._frames.drop()
            step.events.append(NoticeRaised("A long line of the agent's was cut off by another; it was left out."))
        handler = self._handlers.get(kind) if isinstance(kind, str) else None
        if handler is not None:
            handler(value, step)
        elif isinstance(kind, str) and kind:
            if kind not in QUIET:
                step.events.append(UnknownReceived(kind, value))
        else:
            text = "The agent wrote a line that is no event; it was left out. If this goes on, check what you started."
            step.events.append(NoticeRaised(text, detail=read.brief(value)))

    def texts(self, values: Sequence[Any], at: int) -> Texts | None:
        """The pieces of the text being written that come next."""
        return self._messages.texts(values, at)

    def woke(self, key: str) -> Step:
        """The time of a ``Wake`` has come."""
        step = Step()
        if key.startswith("omp:dialog:"):
            self._dialogs.woke(key[11:], step)
        elif self._turns.woke(key, step):
            self._wire.send(step, "get_state", then=self._probed)
        return step

    def host_done(self, call_id: str, result: dict[str, Any] | HostFailure) -> Step:
        """A host tool or a document of the notebook's is done."""
        step = Step()
        self._host.done(call_id, result, step)
        return step

    def host_output(self, terminal_id: str, text: str) -> Step:
        """A running host tool (by the id of its call) put out ``text`` so far."""
        step = Step()
        self._host.update(terminal_id, text, step)
        return step

    # ---- what is sent ------------------------------------------------------------------------------------------------

    def send(self, command: Command) -> Step:
        """The lines for a command. Raises ``NotSupported`` and ``UsageError`` for what this agent cannot take."""
        step = Step()
        if isinstance(command, Prompt):
            self._speaking.prompt(command, step)
        elif isinstance(command, (Steer, FollowUp)):
            self._speaking.say(command, step)
        elif isinstance(command, Abort):
            self._calls.aborting = True
            self._stopping.abort(command.id, step)
        elif isinstance(command, Approve):
            note = self._dialogs.decide(command, step)
            step.events.append(CommandAnswered(command.id, True))
            if note:
                self._speaking.say(Steer(text=note), step, answered=False)
        elif isinstance(command, Answer):
            self._dialogs.answer(command, step)
            step.events.append(CommandAnswered(command.id, True))
        elif isinstance(command, SetModel):
            self._set(command.id, self._settings.set_model(command), step)
        elif isinstance(command, SetOption):
            self._set(command.id, self._settings.set_option(command), step)
        else:
            self._call(command, step)
        return step

    def stop(self) -> Step:
        """What to send to end the turn at once, before the agent's input is closed."""
        step = Step()
        self._stopping.stop(step)
        return step

    def _set(self, command_id: str, messages: list[tuple[str, dict[str, Any]]], step: Step) -> None:
        """Settings one after the other; the first that fails is the answer."""
        if not messages:
            step.events.append(CommandAnswered(command_id, True))
            return
        kind, fields = messages[0]

        def done(answer: Answered, step: Step) -> None:
            self._learned.done(kind, fields, answer, step)
            if answer.ok and len(messages) > 1:
                self._set(command_id, messages[1:], step)
            else:
                step.events.append(CommandAnswered(command_id, answer.ok, answer.data, answer.error))

        self._wire.send(step, kind, fields, done, wire_id=command_id)

    def _call(self, command: Command, step: Step) -> None:
        kind, fields = to_wire(command, self.dialect)
        if kind == "abort_and_prompt":
            self._calls.aborting = True
            self._dialogs.cancel_all(step)

        def done(answer: Answered, step: Step) -> None:
            if kind == "bash":
                self._bash.end(wire_id, answer.ok, answer.data, answer.error, step.events)
            elif kind == "compact":
                self._told.compacted(answer.data, answer.error, step)
            said = CommandAnswered(command.id, answer.ok, answer.data, answer.error)
            self._learned.done(kind, fields, answer, step, lambda step: step.events.append(said))

        wire_id = self._wire.send(step, kind, fields, done, wire_id=command.id)
        if kind == "bash":
            self._bash.begin(wire_id, fields, step.events)
        elif kind == "compact":
            self._told.compact(command.focus if isinstance(command, Compact) else "", step)

    # ---- lines -------------------------------------------------------------------------------------------------------

    def _on_response(self, value: dict[str, Any], step: Step) -> None:
        if self._wire.settle(value, step) is not None:
            return
        said = read.text(value.get("error"))[:300]
        if value.get("success") is True:
            name = read.text(value.get("command"))[:40] or "a command"
            step.events.append(
                NoticeRaised(f"The agent answered {name}, which we did not send.", "info", read.brief(value))
            )
        else:
            text = f"The agent could not use a line we sent ({said or 'no reason given'}). Repeat what had no effect."
            step.events.append(NoticeRaised(text, detail=read.brief(value)))

    def _on_chunk(self, value: dict[str, Any], step: Step) -> None:
        try:
            whole = self._frames.chunk(value)
        except Broken as why:
            step.events.append(NoticeRaised(f"A long line of the agent's was left out: {why}."))
            return
        if type(whole) is dict and whole.get("type") != "rpc_chunk":
            self._take(whole, step)
        elif whole is not None:
            step.events.append(NoticeRaised("A long line of the agent's is no event; it was left out."))

    def _on_ready(self, value: dict[str, Any], step: Step) -> None:
        self._turns.probes = False
        self._opening.ready(value, step)

    def _on_agent_end(self, value: dict[str, Any], step: Step) -> None:
        if "isSettled" in self._opening.state:
            self._turns.results = True
        self._turns.agent_end(value, step)

    def _on_prompt_result(self, value: dict[str, Any], step: Step) -> None:
        command_id = self._speaking.command_of(read.text(value.get("id")))
        self._speaking.accept(command_id, step)
        self._turns.prompt_result(command_id, value, step)

    def _on_message_start(self, value: dict[str, Any], step: Step) -> None:
        if read.fields(value.get("message")).get("role") == "assistant":
            self._turns.begin(step)
            self._messages.start(step.events)

    def _on_message_end(self, value: dict[str, Any], step: Step) -> None:
        whole = read.fields(value.get("message"))
        role = whole.get("role")
        if role == "assistant":
            self._turns.begin(step)
            self._messages.end(whole, step.events)
            self._turns.message_over(whole)
            usage = read.usage(whole.get("usage"))
            if usage is not None:
                step.events.append(UsageReported(usage))
                used = usage.input + usage.cache_read + usage.cache_write + usage.output
                step.events.append(SessionUpdated({"context": used}))
        elif role == "toolResult":
            self._turns.begin(step)
            self._calls.result(whole, step.events)
        elif role == "user":
            self._on_user(whole, step)
        elif role == "bashExecution":
            pass  # its card is made from the response
        elif role is None:
            step.events.append(UnknownReceived("message_end", value))
        else:
            other(whole, step.events)

    def _on_user(self, whole: dict[str, Any], step: Step) -> None:
        """A message was read by the model: one of ours, which is shown already, or one of somebody else's."""
        running = self._turns.begin(step)
        said = read.content_text(whole.get("content"))
        mine = self._unread.read(said, running.command_id)
        self._messages.user(said if mine is None else mine.shown, whole, step.events, ours=mine is not None)

    def _on_command_output(self, value: dict[str, Any], step: Step) -> None:
        said = read.plain(value.get("text")).strip("\n")
        if said:
            fence = "````" if "```" in said else "```"
            self._messages.say(f"{fence}\n{said}\n{fence}", step.events)

    # ---- turns -------------------------------------------------------------------------------------------------------

    def _in_turn(self, handler: Callable[[dict[str, Any], list[Event]], None]) -> Handler:
        def within(value: dict[str, Any], step: Step) -> None:
            if self._turns.running is None:
                self._turns.begin(step)
            handler(value, step.events)

        return within

    def _asked(self, step: Step) -> None:
        """Something is asked: the prompt that led to it was taken up."""
        if self._turns.running is None and self._turns.waiting:
            self._speaking.accept(self._turns.waiting[0], step)
            self._turns.begin(step)

    def _turn_started(self, step: Step) -> None:
        running = self._turns.running
        if running is not None and running.command_id:
            self._speaking.accept(running.command_id, step)
        self._calls.new_turn()
        self._messages.forget()

    def _turn_ended(self, reason: StopReason, step: Step) -> None:
        running = self._turns.running
        self._dialogs.turn_ended(step)
        self._messages.forget()
        if running is None:
            return
        unread = self._unread.turn_over(running.command_id)
        if unread is not None and reason != "error":  # done without the model
            self._messages.user(unread.shown, {}, step.events, ours=True)

    def _probed(self, answer: Answered, step: Step) -> None:
        if answer.ok and not self._dialogs.open:
            self._turns.state(read.fields(answer.data), step)


def _plain(handler: Callable[[dict[str, Any], list[Event]], None]) -> Handler:
    """A handler that only adds events."""
    return lambda value, step: handler(value, step.events)
