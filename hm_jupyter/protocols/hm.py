"""The client side of hm RPC, sans-I/O: lines of ``hm agent --rpc`` become events, commands become its lines.

The whole document "RPC protocol" is here and in the modules beside it: :mod:`hm_send` (commands as JSON),
:mod:`hm_messages`, :mod:`hm_calls`, :mod:`hm_requests` (approvals and questions), :mod:`hm_read` (tolerant readers),
:mod:`hm_flags` (start options). This one knows the session, its turns, and which response belongs to which command. It
does not know processes, time, policies or how anything is shown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, get_args

from ..commands import Abort, Answer, Approve, Command, FollowUp, Prompt, SetMode, SetModel, SetOption, Steer
from ..events import (
    Capabilities,
    CommandAnswered,
    CompactionEnded,
    CompactionStarted,
    Event,
    MessagesDropped,
    MessageUpdated,
    NoticeRaised,
    SessionEnded,
    SessionStarted,
    SessionUpdated,
    StopReason,
    TurnEnded,
    TurnStarted,
    UnknownReceived,
    UsageReported,
)
from . import hm_extras as extras
from . import hm_read as read
from .base import Adapter, Step, Texts
from .hm_agents import SubAgents
from .hm_calls import Calls
from .hm_history import History
from .hm_messages import Messages
from .hm_requests import Requests
from .hm_send import to_wire
from .hm_settings import Settings

_STOP_REASONS = frozenset(get_args(StopReason))


class HmAdapter(Adapter):
    """One hm RPC session as its client sees it.

    Args:
        agent_approve: the agent's own ``--approve`` (ask, edits or all): with the others it decides some approvals
            itself, and those are marked ``auto`` (hm RPC, "Approvals", last sentence).
    """

    name = "hm"

    def __init__(self, *, agent_approve: str = "ask") -> None:
        self.capabilities = Capabilities(
            steer=True,
            follow_up=True,
            deny_note="native",
            edits=True,
            for_session=True,
            images=True,
            set_mode=True,
            set_model=True,
            effort=True,
            compact=True,
            list_sessions=True,
            fork=True,
            export=True,
            state=True,
        )
        self._messages = Messages(self._begin)
        self._calls = Calls()
        self._requests = Requests(self._calls, agent_approve)
        self._sent: dict[str, Command] = {}  # wire id -> command whose response has not come
        self._unread: dict[str, tuple[str, str]] = {}  # message id -> (kind, text): the model has not seen it yet
        self._dropping: dict[str, list[str]] = {}  # abort's id -> the messages it drops
        self._running = False
        self._prompt = ""  # the command that started the running turn
        self._early: set[str] = set()  # prompts whose turn began before their response
        self._aborts: set[str] = set()  # the aborts sent in this turn and not refused
        self._handlers: dict[str, Callable[[dict[str, Any], list[Event]], None]] = {
            "text_delta": self._messages.text_delta,
            "thinking_delta": self._messages.thinking_delta,
            "tool_output": self._calls.output,
            "response": self._on_response,
            "session_start": self._on_session_start,
            "session_end": self._on_session_end,
            "message_start": self._on_message_start,
            "message_end": self._on_message_end,
            "tool_start": self._in_turn(self._calls.draft),
            "tool_call": self._in_turn(self._calls.call),
            "tool_result": self._requests.result,
            "approval_needed": self._in_turn(self._requests.approval_needed),
            "approval": self._requests.approval,
            "question": self._in_turn(self._requests.question),
            "usage": self._on_usage,
            "compaction_start": self._on_compaction_start,
            "compaction_end": self._on_compaction_end,
            "turn_end": self._on_turn_end,
            "plan": self._in_turn(extras.plan),
            "retry": extras.retry,
            "notice": extras.notice,
        }
        self._agents = SubAgents(
            {
                "tool_call": self._calls.call,
                "tool_output": self._calls.output,
                "tool_result": self._requests.result,
                "approval_needed": self._requests.approval_needed,
                "approval": self._requests.approval,
                "question": self._requests.question,
                "usage": self._on_usage,
                "retry": extras.retry,
                "notice": extras.notice,
            }
        )
        self._handlers |= {"agent_start": self._agents.start, "agent_end": self._agents.end}
        self._history = History(HmAdapter)
        self._to_send: list[Any] = []
        self._told_instructions = False
        self._sized = False  # it is known how much context there is, so that a share of it says something
        self._settings = Settings()

    # ---- the four calls ---------------------------------------------------------------------------------------------

    def start(self) -> Step:
        """Nothing to send: hm writes ``session_start`` by itself (hm RPC, "Life of a session")."""
        return Step()

    def receive(self, value: Any) -> Step:
        """One line arrived. Kinds we do not know are kept raw; what is no event at all is a notice. Never raises."""
        events: list[Event] = []
        try:
            handler = self._handlers[value["type"]]
            whose = value.get("agent")
        except (KeyError, TypeError, IndexError):
            whose, handler = None, self._on_strange
        if whose is not None and isinstance(whose, str):
            self._agents.event(whose, value, events)
        else:
            handler(value, events)
        if self._to_send:
            messages, self._to_send = self._to_send, []
            return Step(events, messages)
        return Step(events, [])

    def texts(self, values: Sequence[Any], at: int) -> Texts | None:
        """The pieces of the message being written that come next."""
        return self._messages.texts(values, at)

    def send(self, command: Command) -> Step:
        """The line for a command. Its id goes out as it is, or with a suffix while another with that id is open."""
        if isinstance(command, SetOption) and command.option == "mode":
            command = SetMode(id=command.id, mode=str(command.value))
        elif isinstance(command, SetOption):
            command = self._settings.command(command)
        wire_id, again = command.id, 1
        while wire_id in self._sent:
            again += 1
            wire_id = f"{command.id}~{again}"
        self._sent[wire_id] = command
        if isinstance(command, (Prompt, Steer, FollowUp)):
            self._unread[command.id] = (command.type, command.text)
            self._note_steering()
        elif isinstance(command, Abort):
            if self._running or self._waiting_prompt() is not None:
                self._aborts.add(command.id)
            self._dropping[command.id] = [i for i, (kind, _) in self._unread.items() if kind != "prompt"]
        elif isinstance(command, (Approve, Answer)):
            self._requests.sent(command)
        return Step([], [to_wire(command, wire_id)])

    def stop(self) -> Step:
        """``abort``, to be followed by closing the agent's input (hm RPC, "Life of a session")."""
        return self.send(Abort())

    # ---- the session ------------------------------------------------------------------------------------------------

    def _on_session_start(self, value: dict[str, Any], out: list[Event]) -> None:
        """The first is readiness; a later one announces a fork, which the session goes on in (hm RPC, fork)."""
        told: list[Event] = [
            SessionStarted(
                read.text(value.get("session")),
                read.text(value.get("root")),
                read.text(value.get("mode")),
                read.text(value.get("provider")),
                read.text(value.get("model")),
                value.get("resumed") is True,
            )
        ]
        more = read.session_extras(value)
        self._sized = "context_size" in more
        if self._settings.started(value):
            self.capabilities.options = True
            more["options"] = self._settings.options
        if "modes" in more or "models" in more:
            self._requests.extended = True
        if more:
            told.append(SessionUpdated(more))
        files = read.texts(value.get("instructions"))
        if files and not self._told_instructions:
            self._told_instructions = True
            told.append(NoticeRaised(f"Read as instructions: {', '.join(files)}.", "info"))
        request = self._history.wanted(value, told)
        if request is None:
            out.extend(told)
        else:
            self._to_send.append(request)

    def _on_session_end(self, value: dict[str, Any], out: list[Event]) -> None:
        """The orderly goodbye. Its usage is the sum of what came before, so it is told but not counted again."""
        out.extend(self._history.held_back())
        if self._running:
            reason: StopReason = "cancelled" if self._aborts else "agent_exited"
            error = "" if self._aborts else "The agent ended its session before the turn was over; start it again."
            self._end_turn(reason, error, out)
        code = value.get("exit_code")
        refused = value.get("refused")
        out.append(
            SessionEnded(
                code if isinstance(code, int) and not isinstance(code, bool) else None,
                read.text(value.get("answer")),
                list(refused) if isinstance(refused, list) else [],
                read.usage(value.get("usage")),
            )
        )

    def _on_usage(self, value: dict[str, Any], out: list[Event]) -> None:
        usage = read.usage(value)
        out.append(UnknownReceived("usage", value) if usage is None else UsageReported(usage))
        if (
            usage is not None and self._sized and "agent" not in value
        ):  # what the next call sends is this and its answer
            out.append(SessionUpdated({"context": usage.input + usage.output}))

    def _on_compaction_start(self, value: dict[str, Any], out: list[Event]) -> None:
        out.append(CompactionStarted(read.text(value.get("focus"))))

    def _on_compaction_end(self, value: dict[str, Any], out: list[Event]) -> None:
        # The document does not give the fields; these are our agent's.
        out.append(CompactionEnded(read.text(value.get("summary")), read.text(value.get("error"))))
        context = read.count(value.get("context"))
        if context is not None:
            out.append(SessionUpdated({"context": context}))

    def _on_strange(self, value: Any, out: list[Event]) -> None:
        name = value.get("type") if isinstance(value, dict) else None
        if isinstance(name, str) and name:
            out.append(UnknownReceived(name, value))
        else:
            text = "The agent wrote a line that is no event; it was left out. If this goes on, check what you started."
            out.append(NoticeRaised(text, detail=_brief(value)))

    # ---- turns ------------------------------------------------------------------------------------------------------

    def _in_turn(
        self, handler: Callable[[dict[str, Any], list[Event]], None]
    ) -> Callable[[dict[str, Any], list[Event]], None]:
        def within(value: dict[str, Any], out: list[Event]) -> None:
            self._begin(out)
            self._messages.close_thought(out)
            handler(value, out)

        return within

    def _begin(self, out: list[Event]) -> None:
        """Something of a turn came while none runs: a follow-up's step after ``turn_end``, or a late response."""
        if self._running:
            return
        prompt = self._waiting_prompt() or ""
        if prompt:
            self._early.add(prompt)
        self._start_turn(prompt, out)

    def _start_turn(self, prompt: str, out: list[Event]) -> None:
        self._running = True
        self._prompt = prompt
        self._calls.end(self._agents.going_on())  # what trickled in while idle belongs to no turn
        out.append(TurnStarted(prompt))

    def _on_turn_end(self, value: dict[str, Any], out: list[Event]) -> None:
        if not self._running:
            return
        error = read.text(value.get("error"))
        said = value.get("stop_reason")
        if self._aborts:
            self._end_turn("cancelled", "", out)
        elif isinstance(said, str) and said in _STOP_REASONS:
            self._end_turn(said, error, out)  # type: ignore[arg-type]
        else:
            self._end_turn("error" if error else "end_turn", error, out)

    def _end_turn(self, reason: StopReason, error: str, out: list[Event]) -> None:
        self._messages.close_thought(out)
        going_on = self._agents.going_on(aborted=bool(self._aborts))
        asked_again = self._requests.end(out, aborted=bool(self._aborts), going_on=going_on)
        self._calls.end(going_on)
        self._messages.forget()
        self._running = False
        self._aborts.clear()
        self._unread.pop(self._prompt, None)
        self._note_steering()
        out.append(TurnEnded(reason, error))
        self._agents.turn_ended(going_on, out)
        out.extend(asked_again)

    def _waiting_prompt(self) -> str | None:
        """The oldest prompt that has not been answered and has not begun."""
        for command in self._sent.values():
            if isinstance(command, Prompt) and command.id not in self._early:
                return command.id
        return None

    # ---- messages ---------------------------------------------------------------------------------------------------

    def _on_message_start(self, value: dict[str, Any], out: list[Event]) -> None:
        if read.text(value.get("role"), "assistant") == "assistant":
            self._messages.start(out)
            self._calls.new_message(out)

    def _on_message_end(self, value: dict[str, Any], out: list[Event]) -> None:
        role = read.text(value.get("role"), "assistant")
        text = value.get("text")
        if role == "user":
            self._begin(out)
            self._on_user_message(read.text(text), read.text(value.get("entry")), out)
        elif role == "assistant":
            whole = value.get("interrupted") is not True
            self._messages.end(read.text(text), whole, out, entry=read.text(value.get("entry")))
        elif role != "tool":  # of a batch's results nothing is left to show (hm RPC, "A session")
            out.append(UnknownReceived("message_end", value))

    def _on_user_message(self, text: str, entry: str, out: list[Event]) -> None:
        """The model has read a message of ours: the oldest unread one with that text, else the oldest."""
        mine = next((i for i, (_, sent) in self._unread.items() if sent == text), next(iter(self._unread), None))
        if mine is not None:
            del self._unread[mine]
            self._note_steering()
        out.append(MessageUpdated(self._messages.new_id("u"), "user", text, final=True, entry=entry))

    def _note_steering(self) -> None:
        self._calls.steered = any(kind == "steer" for kind, _ in self._unread.values())

    # ---- responses --------------------------------------------------------------------------------------------------

    def _on_response(self, value: dict[str, Any], out: list[Event]) -> None:
        """Matched by id, never by position (hm RPC, "Order"). One that matches nothing is a notice."""
        if self._history.answered(value, out):
            return
        wire_id = value.get("id")
        command = self._sent.pop(wire_id, None) if isinstance(wire_id, str) else None
        ok = value.get("ok")
        if not isinstance(ok, bool):
            ok = "error" not in value
        error = read.text(value.get("error"))
        if command is None:
            out.append(_unmatched(value, ok, error))
            return
        data = value.get("data")
        if ok:
            self._on_done(command, data, out)
        else:
            self._on_refused(command, out)
            error = error or f"The agent refused {command.type} and gave no reason."
        out.append(CommandAnswered(command.id, ok, data, "" if ok else error))

    def _on_done(self, command: Command, data: Any, out: list[Event]) -> None:
        kind = command.type
        if isinstance(command, Prompt):
            if command.id in self._early:
                self._early.discard(command.id)
            else:
                if self._running:  # begun by itself and never ended: a new turn says that it is over
                    self._end_turn("cancelled" if self._aborts else "end_turn", "", out)
                self._start_turn(command.id, out)
        elif isinstance(command, Abort):
            dropped = [i for i in self._dropping.pop(command.id, ()) if self._unread.pop(i, None)]
            self._note_steering()
            if dropped:
                out.append(MessagesDropped(dropped))
        elif isinstance(command, Answer):
            self._requests.accepted(command, out)
        elif isinstance(command, SetMode):
            self._update({"mode": command.mode}, out)
        elif isinstance(command, SetModel):
            changes = {"model": command.model, "effort": command.effort, "provider": command.provider or None}
            given = {name: value for name, value in changes.items() if value is not None}
            self._update(given, out)
        elif isinstance(data, dict) and kind in ("get_state", "fork"):
            self._update(read.session_changes(data.get("session") if kind == "get_state" else data), out)
            if kind == "get_state":
                missed: list[Event] = []
                self._requests.restore(data, missed)
                if missed:
                    self._begin(out)
                    out.extend(missed)

    def _update(self, changes: dict[str, Any], out: list[Event]) -> None:
        if self._settings.changed(changes):
            changes = {**changes, "options": self._settings.options}
        if changes:
            out.append(SessionUpdated(changes))

    def _on_refused(self, command: Command, out: list[Event]) -> None:
        if isinstance(command, (Prompt, Steer, FollowUp)):
            self._early.discard(command.id)
            if self._unread.pop(command.id, None):
                self._note_steering()
                out.append(MessagesDropped([command.id]))
        elif isinstance(command, (Approve, Answer)):
            self._requests.refused(command)
        if isinstance(command, Abort):
            self._dropping.pop(command.id, None)
            self._aborts.discard(command.id)
        elif isinstance(command, Prompt) and not self._running and self._waiting_prompt() is None:
            self._aborts.clear()


def _unmatched(value: dict[str, Any], ok: bool, error: str) -> NoticeRaised:
    """A response that nothing waits for: to a line that could not be read (id null), or to nothing of ours."""
    said = error[:300] or ("done" if ok else "no reason given")
    if value.get("id") is None and not ok:
        text = f"The agent could not use a line we sent ({said}). If something you did had no effect, do it again."
    else:
        name = read.text(value.get("command"))[:40] or "a command"
        text = f"The agent answered {name}, which we did not send or which was answered before ({said}). Go on."
    return NoticeRaised(text, "info" if ok else "warning", _brief(value))


def _brief(value: Any) -> str:
    """A line as JSON, the first 500 characters."""
    try:
        return json.dumps(value, ensure_ascii=False)[:500]
    except (TypeError, ValueError, RecursionError):
        return ""
