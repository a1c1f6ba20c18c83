"""Tool calls: drafts, arguments, running, output, results.

A call is told up to five times: ``toolcall_start`` and ``toolcall_end`` while the model writes, ``message_end``,
``tool_execution_start`` / ``_update`` / ``_end``, and a message of role ``toolResult``. They are joined by the call's id into
one entry. ``partialResult`` is the whole output so far. Approvals are :mod:`.approvals`'.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...events import Event, FileDiff, PlanUpdated, ToolCallUpdated, ToolOutputAppended, ToolStatus, UnknownReceived
from . import read

_ABORTED = ("Command aborted", "Tool was not executed because the run was aborted")
_SKIPPED = "Skipped due to queued user message"


@dataclass(slots=True)
class Call:
    """One tool call. ``asked``: a dialog about it is or was open; ``denied``: it was refused by us;
    ``cancelled``: what it waited for was taken down.

    ``parent``: the call of the sub-agent that makes it.
    """

    id: str
    tool: str = ""
    category: str = "other"
    input: Any = None
    planned: list[FileDiff] = field(default_factory=list)
    output: str = ""
    running: bool = False
    asked: bool = False
    waits: bool = False
    denied: bool = False
    cancelled: bool = False
    over: bool = False
    parent: str = ""


class Calls:
    """The tool calls of the running turn, in the order in which they were told."""

    def __init__(self) -> None:
        self._calls: dict[str, Call] = {}
        self._serial = 0
        self._drafts: list[str] = []  # drafts without an id, oldest first
        self.aborting = False

    def get(self, call_id: str) -> Call | None:
        """The call, if it is known."""
        return self._calls.get(call_id)

    def open(self) -> list[Call]:
        """Those that have no result yet."""
        return [call for call in self._calls.values() if not call.over]

    def new_turn(self) -> None:
        """A turn begins: nothing of the one before is remembered but what still runs."""
        self._calls = {i: call for i, call in self._calls.items() if call.parent and not call.over}
        self._drafts.clear()
        self.aborting = False

    # ---- while the model writes --------------------------------------------------------------------------------------

    def block(self, what: str, value: dict[str, Any], out: list[Event]) -> None:
        """A ``toolCall`` block: it begins ("start", perhaps without an id) or is whole ("end")."""
        call_id, tool = read.text(value.get("id")), read.text(value.get("name"))
        if what == "start":
            if call_id and call_id in self._calls:
                return
            if not call_id:
                self._serial += 1
                call_id = f"draft:{self._serial}"
                self._drafts.append(call_id)
            else:
                self._calls[call_id] = Call(call_id, tool, read.category(tool))
            out.append(ToolCallUpdated(call_id, tool or "tool", category=read.category(tool), status="drafting"))
            return
        if not call_id:
            return
        known = self._calls.get(call_id)
        if known is not None and known.input is not None:
            return  # told already: message_end repeats what toolcall_end said
        replaces = self._drafts.pop(0) if known is None and self._drafts else None
        self._announce(call_id, tool, value.get("arguments"), out, replaces=replaces)

    def stream(self, value: dict[str, Any], out: list[Event]) -> None:
        """``tool_stream_update`` (omp): what an edit will change, for an approval to show where its arguments do not."""
        call_id = read.text(value.get("toolCallId"))
        call = self._calls.get(call_id)
        if call is None or call.over or read.planned(call.input):
            return
        diffs = read.stream_diffs(value.get("update"))
        if diffs:
            call.planned = diffs

    # ---- while it runs -----------------------------------------------------------------------------------------------

    def start(self, value: dict[str, Any], out: list[Event], parent: str = "") -> None:
        """``tool_execution_start``. With parallel approvals it comes before they are decided: then the call still waits."""
        call = self._known(value, out, parent)
        if call is not None and not call.waits and not call.denied and not call.running:
            call.running = True
            out.append(ToolCallUpdated(call.id, status="running"))

    def update(self, value: dict[str, Any], out: list[Event], parent: str = "") -> None:
        """``tool_execution_update``: the whole output so far, so only what is new is told."""
        call = self._known(value, out, parent)
        if call is None or call.over:
            return
        said = read.content_text(read.fields(value.get("partialResult")).get("content"))
        if said == call.output:
            return
        if call.output and said.startswith(call.output):
            out.append(ToolOutputAppended(call.id, said[len(call.output) :]))
        else:
            out.append(ToolCallUpdated(call.id, output=said))
        call.output = said

    def end(self, value: dict[str, Any], out: list[Event], parent: str = "") -> None:
        """``tool_execution_end``."""
        call = self._known(value, out, parent)
        if call is not None:
            self._finish(call, value.get("result"), value.get("isError") is True, out)

    def result(self, message: dict[str, Any], out: list[Event]) -> None:
        """A message of role ``toolResult``: what ended the call, where no ``tool_execution_end`` did."""
        call = self._known(message, out, "")
        if call is not None and not call.over:
            self._finish(call, message, message.get("isError") is True, out)

    def decided(self, call: Call, allow: bool, out: list[Event]) -> None:
        """An approval was decided; whether it runs then, its result tells."""
        call.waits = False
        call.denied = not allow
        call.running = allow

    # ---- within ------------------------------------------------------------------------------------------------------

    def _known(self, value: dict[str, Any], out: list[Event], parent: str) -> Call | None:
        call_id = read.text(value.get("toolCallId"))
        if not call_id:
            out.append(UnknownReceived(read.text(value.get("type")) or "toolResult", value))
            return None
        key = f"{parent}/{call_id}" if parent else call_id
        call = self._calls.get(key)
        if call is None or call.input is None:
            arguments = value.get("args")
            call = self._announce(key, read.text(value.get("toolName")), arguments, out, parent=parent)
        return call

    def _announce(
        self,
        call_id: str,
        tool: str,
        arguments: Any,
        out: list[Event],
        *,
        parent: str = "",
        replaces: str | None = None,
    ) -> Call:
        category = read.category(tool)
        known = self._calls.get(call_id)
        call = known or Call(call_id)
        call.tool, call.category, call.parent = tool or call.tool, category, parent
        call.input = arguments if arguments is not None else {}
        if category != "shell" and not call.planned:
            call.planned = read.planned(arguments)
        self._calls[call_id] = call
        out.append(
            ToolCallUpdated(
                call_id,
                call.tool or "tool",
                title(call.tool, arguments),
                category,
                None if call.running or call.waits else "pending",
                arguments,
                replaces=replaces,
                parent=parent or None,
                locations=read.touched_paths(arguments, call.planned) or None,
            )
        )
        return call

    def _finish(self, call: Call, result: Any, failed: bool, out: list[Event]) -> None:
        if call.over:
            return
        said = read.content_text(read.fields(result).get("content"))
        status: ToolStatus = "failed" if failed else "completed"
        if failed and call.denied:
            status = "denied"
        elif (failed and call.cancelled) or (failed and self.aborting and said.startswith(_ABORTED)):
            status = "interrupted"
        elif failed and said.startswith(_SKIPPED):
            status = "skipped"
        diffs = read.result_diffs(result, call.input) if status == "completed" else []
        if not diffs and status == "completed" and call.category == "edit":
            diffs = call.planned
        pictures = read.images(read.fields(result).get("content"))
        out.append(
            ToolCallUpdated(
                call.id,
                status=status,
                output=None if said == call.output else said,
                diffs=diffs or None,
                images=pictures or None,
                exit_code=read.exit_code(result),
            )
        )
        if call.category == "plan" and "phases" in read.details(result):
            out.append(PlanUpdated(read.todos(read.details(result)["phases"])))
        call.over, call.waits, call.planned, call.output = True, False, [], ""


def title(tool: str, arguments: Any) -> str | None:
    """What a call does, in a line: its command, its path, its pattern."""
    given = read.fields(arguments)
    for name in ("command", "path", "file_path", "pattern", "query", "url", "code"):
        said = given.get(name)
        if isinstance(said, str) and said.strip():
            return said.strip().split("\n", 1)[0][:200]
    return None
