"""One tool call from beginning to end: plan, leave, run, result; and every event of it in the documented order.

Source: hm RPC, "Approvals", "Questions", "A session". A cancelled call still gets its result written, so that nothing
stays open for a reader.
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from .approvals import Decision, Verdict, judge, with_edits
from .messages import Message, ToolCall
from .tools.base import Context, Plan, Result, Task, Tool, ToolError, secret_name

if TYPE_CHECKING:
    from .loop import Host


class _Refused(Exception):
    """The call is not to run; the text is for the model."""

    def __init__(self, text: str, note: str = "") -> None:
        super().__init__(text)
        self.note = note


async def run_call(call: ToolCall, host: Host, mode: str, approve: str) -> None:
    """Make ``call``; its result goes into the history. Only a cancellation gets out, once the result is written."""
    tool = host.tools.get(call.tool)
    summary = tool.summary(call.input) if tool else ""
    host.emit("tool_call", tool=call.tool, call_id=call.id, summary=summary, input=call.input)
    message = Message("", "tool", call_id=call.id)
    try:
        if call.error:
            raise ToolError(call.error)
        if tool is None:
            raise ToolError(f"there is no tool {call.tool!r}; the tools are {', '.join(host.tools)}")
        result = await _make(call, tool, host, mode, approve, message)
    except _Refused as refusal:
        result = Result(str(refusal), True)
        message.outcome, message.note = "denied", refusal.note
        host.session.refused.append(
            {"call_id": call.id, "tool": call.tool, "summary": summary, "note": refusal.note or str(refusal)}
        )
    except ToolError as error:
        result = Result(str(error), True)
    except asyncio.CancelledError:
        result = Result("Stopped by the user.", True)
        message.outcome = "interrupted"
        _finish(call, host, result, message)
        raise
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        result = Result(f"the tool failed: {type(error).__name__}: {error}", True)
    _finish(call, host, result, message)


def _finish(call: ToolCall, host: Host, result: Result, message: Message) -> None:
    message.id = host.session.new_entry()
    message.text, message.is_error, message.answer = result.text, result.is_error, result.answer
    message.skipped_files, message.images = result.skipped_files, result.images
    fields: dict[str, object] = {}
    if result.changes is not None:
        fields["files"] = [c.to_json() for c in result.changes]
    if result.exit_code is not None:
        fields["exit_code"] = result.exit_code
    if message.outcome == "denied":
        fields["refused"] = True
    elif message.outcome != "done":
        fields["outcome"] = message.outcome
    host.session.append(message)
    host.emit(
        "tool_result", tool=call.tool, call_id=call.id, text=result.text, is_error=result.is_error,
        entry=message.id, **fields,
    )  # fmt: skip


async def _make(call: ToolCall, tool: Tool, host: Host, mode: str, approve: str, message: Message) -> Result:
    session, workspace = host.session, host.session.workspace
    plan = tool.plan(call.input, workspace)
    verdict = judge(
        plan, mode=host.modes.get(mode, mode), approve=approve, rules=session.rules, workspace=workspace,
        guard=host.guard, tool=tool.name,
    )  # fmt: skip
    if verdict.what == "refuse":
        raise _Refused(f"Refused: {verdict.reason}.")
    decision = await _decision(call, tool, plan, verdict, host)
    notes: list[str] = []
    skipped: list[str] = []
    if decision is not None:
        message.note = decision.note
        if not decision.allow:
            who = "The user refused this call." if decision.by == "user" else "This call was refused."
            raise _Refused(f"{who} {decision.note}".rstrip(), decision.note)
        if decision.for_session and verdict.rule:
            session.rules.add(verdict.rule)
        if decision.edits is not None:
            edited = with_edits(plan, decision.edits, workspace)
            plan, skipped = edited.plan, edited.skipped
            if skipped:
                notes.append(f"The user left out, so not written: {', '.join(skipped)}.")
            notes += [f"The user changed the new text of {name} before it was applied." for name in edited.changed]
        if decision.note:
            notes.append(f"The user says: {decision.note}")
    result = await tool.run(plan, _context(call, host, mode, approve))
    fitting = host.room.fit(result.text, lambda whole: host.kept().keep(tool.name, whole))
    if plan.risk in ("read", "edit") and (beside := host.nested.note(plan.paths, workspace)):
        notes.append(beside)
    text = "\n".join([fitting, *notes]) if fitting else "\n".join(notes)
    return replace(result, text=text, skipped_files=skipped)


async def _decision(call: ToolCall, tool: Tool, plan: Plan, verdict: Verdict, host: Host) -> Decision | None:
    """Get leave where it is needed, with its events. None: none was needed."""
    if verdict.what == "run":
        if not verdict.rule:
            return None
        decided = Decision(True, "rule")
        _tell(call, tool, plan, verdict, decided, host)
        return decided
    fields: dict[str, object] = {}
    if plan.changes:
        fields["files"] = [c.to_json() for c in plan.changes]
    if plan.cwd:
        fields["cwd"] = plan.cwd
    if verdict.rule:
        fields["rule"] = verdict.rule
    if verdict.what == "flag":
        fields["auto"] = True
    host.emit(
        "approval_needed", call_id=call.id, tool=tool.name, category=tool.category,
        summary=tool.summary(call.input), command=plan.command, paths=[str(p) for p in plan.paths],
        reason=verdict.reason, **fields,
    )  # fmt: skip
    if verdict.what == "flag":
        decision = Decision(True, "flag")
    else:
        try:
            decision = await host.desk.decision(call.id, plan)
        except asyncio.CancelledError:
            _tell(call, tool, plan, verdict, Decision(False, "agent", "The turn was stopped."), host)
            raise
    _tell(call, tool, plan, verdict, decision, host)
    return decision


def _tell(call: ToolCall, tool: Tool, plan: Plan, verdict: Verdict, decision: Decision, host: Host) -> None:
    fields: dict[str, object] = {"by": decision.by}
    if decision.note:
        fields["note"] = decision.note
    if decision.for_session and verdict.rule and decision.allow:
        fields["for_session"] = True
    if decision.by == "rule":
        fields["rule"] = verdict.rule
    if plan.changes and decision.allow:
        kept = plan if decision.edits is None else with_edits(plan, decision.edits, host.session.workspace).plan
        fields["files"] = [c.name for c in kept.changes]
    host.emit("approval", call_id=call.id, tool=tool.name, allow=decision.allow, **fields)


def _context(call: ToolCall, host: Host, mode: str, approve: str) -> Context:
    async def output(text: str) -> None:
        host.emit("tool_output", call_id=call.id, text=text)
        await host.drained()

    async def ask(text: str, choices: list[dict[str, str]], multi: bool, free: bool) -> str | None:
        fields: dict[str, object] = {}
        if choices:
            fields = {"choices": choices, "multi": multi, "free": free}
        host.emit("question", call_id=call.id, text=text, **fields)
        return await host.desk.reply(call.id)

    def show_plan(items: list[dict[str, str]]) -> None:
        host.emit("plan", items=items)

    async def spawn(task: Task) -> Result:
        if host.crew is None:
            raise ToolError("a sub-agent has none below it; do it yourself")
        return await host.crew.spawn(task, call.id)

    def hidden(path: Path) -> bool:
        return secret_name(path) or host.guard.denies_path(path, workspace)

    def allowed(plan: Plan) -> bool:
        verdict = judge(
            plan, mode=host.modes.get(mode, mode), approve=approve, rules=host.session.rules, workspace=workspace,
            guard=host.guard, tool=call.tool,
        )  # fmt: skip
        return verdict.what == "run"

    workspace = host.session.workspace
    return Context(
        workspace, output, ask, show_plan, spawn, lambda name, text: host.kept().keep(name, text),
        lambda id: host.kept().text(id), hidden, allowed,
    )  # fmt: skip
