"""Tool calls as the hm wire tells them: drafts, arguments, output, results.

:class:`Calls` remembers what one turn needs of its calls: which draft became which call, what each was given (an
approval may leave it out), what it would change. What a person is asked about them is
:mod:`hm_jupyter.protocols.hm_requests`; turns and messages are not known here.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from ..events import Event, FileDiff, ToolCallUpdated, ToolOutputAppended, ToolStatus, UnknownReceived
from . import hm_read as read

_OUTCOMES: dict[Any, ToolStatus] = {"skipped": "skipped", "interrupted": "interrupted"}


@dataclass(slots=True)
class Call:
    """One tool call. ``planned``: the changes it would make; ``applied``: those a decision left of them.

    ``agent``: the sub-agent that makes it ("": the main one does).
    """

    tool: str
    category: str
    title: str = ""
    input: Any = None
    planned: list[FileDiff] = field(default_factory=list)
    status: ToolStatus = "pending"
    asked: bool = False
    over: bool = False
    streamed: bool = False
    applied: list[FileDiff] | None = None
    agent: str = ""

    @property
    def open(self) -> bool:
        """Runs, or may still run."""
        return not self.over and self.status != "denied"


class Calls:
    """The tool calls of the running turn."""

    def __init__(self) -> None:
        self.steered = False  # a steer is on its way: what has not started will be skipped
        self._calls: dict[str, Call] = {}
        self._drafts: list[tuple[str, str]] = []
        self._serial = 0

    # ---- what the agent says ----------------------------------------------------------------------------------------

    def draft(self, value: dict[str, Any], out: list[Event]) -> None:
        """``tool_start``: the model begins to write a call. Its id is mostly not known yet (hm RPC, "A session")."""
        tool = read.text(value.get("tool"))
        call_id = read.text(value.get("call_id"))
        if not call_id:
            self._serial += 1
            call_id = f"draft:{self._serial}"
            self._drafts.append((tool, call_id))
        out.append(ToolCallUpdated(call_id, tool, category=read.category(tool), status="drafting"))

    def call(self, value: dict[str, Any], out: list[Event]) -> None:
        """``tool_call``: a call with its arguments. Calls of a batch run one after the other as far as we can tell."""
        call_id = read.text(value.get("call_id"))
        if not call_id:
            self._serial += 1
            call_id = f"call:{self._serial}"
        tool = read.text(value.get("tool"))
        arguments = value.get("input")
        agent = read.text(value.get("agent"))
        waits = self.steered or any(c.open and c.agent == agent and call_id != i for i, c in self._calls.items())
        call = Call(
            tool,
            read.category(tool, value.get("category")),
            read.text(value.get("summary")),
            arguments,
            status="pending" if waits else "running",
            agent=agent,
        )
        if call.category != "shell":
            call.planned = read.planned_changes(arguments)
        self._calls[call_id] = call
        out.append(
            ToolCallUpdated(
                call_id,
                tool or None,
                call.title or None,
                call.category,
                call.status,
                arguments,
                replaces=None if agent else self._join(tool),
                parent=read.text(value.get("parent")) or None,
            )
        )

    def output(self, value: dict[str, Any], out: list[Event]) -> None:
        """``tool_output`` (an extension): a piece of a running tool's output."""
        call_id, text = read.text(value.get("call_id")), read.text(value.get("text"))
        if not call_id:
            out.append(UnknownReceived("tool_output", value))
            return
        call = self.known(call_id, value, out)
        self.set_status(call_id, call, "running", out)
        if text:
            call.streamed = True
            out.append(ToolOutputAppended(call_id, text))

    def result(self, value: dict[str, Any], out: list[Event]) -> None:
        """``tool_result``: the call is over."""
        call_id = read.text(value.get("call_id"))
        if not call_id:
            out.append(UnknownReceived("tool_result", value))
            return
        call = self.known(call_id, value, out)
        failed = read.failed(value)
        if call.status == "denied" or value.get("refused") is True:
            call.status = "denied"
        else:
            outcome = value.get("outcome")
            known = _OUTCOMES.get(outcome) if isinstance(outcome, str) else None
            call.status = known or ("failed" if failed else "completed")
        diffs = read.file_changes(value.get("files"))
        if diffs is None and call.status == "completed" and call.category == "edit":
            diffs = call.planned if call.applied is None else call.applied
        text = value.get("text")
        if not isinstance(text, str) or (not text and call.streamed):
            text = None  # what was streamed stays
        code = value.get("exit_code")
        code = code if isinstance(code, int) and not isinstance(code, bool) else None
        out.append(ToolCallUpdated(call_id, status=call.status, output=text, diffs=diffs or None, exit_code=code))
        call.over, call.input, call.planned, call.applied = True, None, [], None
        self._start_next(call.agent, out)

    # ---- what else happens ------------------------------------------------------------------------------------------

    def new_message(self, out: list[Event]) -> None:
        """The model writes anew: drafts of the message before never became calls."""
        for _, call_id in self._drafts:
            out.append(ToolCallUpdated(call_id, status="interrupted"))
        self._drafts.clear()

    def end(self, going_on: Collection[str] = ()) -> None:
        """The turn is over; nothing of it is remembered but the calls of those sub-agents."""
        self._calls = {i: call for i, call in self._calls.items() if call.agent and call.agent in going_on}
        self._drafts.clear()

    def agent(self, call_id: str) -> str:
        """The sub-agent that makes that call ("": the main agent, or nobody knows it)."""
        call = self._calls.get(call_id)
        return call.agent if call else ""

    def known(self, call_id: str, value: dict[str, Any], out: list[Event]) -> Call:
        """The call, made up from what ``value`` tells when its ``tool_call`` never came."""
        call = self._calls.get(call_id)
        if call is None:
            tool = read.text(value.get("tool"))
            agent = read.text(value.get("agent"))
            call = Call(tool, read.category(tool, value.get("category")), read.text(value.get("summary")), agent=agent)
            self._calls[call_id] = call
            out.append(
                ToolCallUpdated(
                    call_id,
                    tool or None,
                    call.title or None,
                    call.category,
                    "pending",
                    replaces=None if agent else self._join(tool),
                    parent=read.text(value.get("parent")) or None,
                )
            )
        return call

    def title(self, call_id: str) -> str:
        """What a call says of itself, if it is known."""
        call = self._calls.get(call_id)
        return call.title if call else ""

    def set_status(self, call_id: str, call: Call, status: ToolStatus, out: list[Event]) -> None:
        """A call that is not over goes on to ``status``."""
        if call.status != status and not call.over:
            call.status = status
            out.append(ToolCallUpdated(call_id, status=status))

    # ---- within ------------------------------------------------------------------------------------------------------

    def _join(self, tool: str) -> str | None:
        """The oldest draft of the same tool becomes this call."""
        for at, (drafted, call_id) in enumerate(self._drafts):
            if drafted == tool:
                del self._drafts[at]
                return call_id
        return None

    def _start_next(self, agent: str, out: list[Event]) -> None:
        if self.steered:
            return
        for call_id, call in self._calls.items():
            if call.open and call.agent == agent:
                if call.status == "pending" and not call.asked:
                    self.set_status(call_id, call, "running", out)
                return
