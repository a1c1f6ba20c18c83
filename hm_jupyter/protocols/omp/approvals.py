"""Approvals: omp's ``select`` dialogs titled ``Allow tool: …``, and those of our gate, as approval requests.

No release has a frame for approvals (docs/approval-mode.md of omp): a call that needs leave arrives as a dialog with the
options Approve and Deny and a title of several lines, without the call's id. It is matched with the calls told before it, by
name, then by what the title quotes of their arguments, then by order. Our gate (``omp_gate``) names the call in the title.

"Allow for session" is kept here, since the agent knows no such thing: the same command word for word, edits of the same
path, or else the same tool with the same input. Nothing but a person's or a policy's "allow" is sent as Approve.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from ...commands import Approve
from ...events import ApprovalRequested, ApprovalResolved, Event
from . import read
from .calls import Call, Calls

ALLOW, DENY = "Approve", "Deny"
_HEAD = re.compile(r"Allow tool: (.+)")
_LONGEST_NOTE = 4000


@dataclass(slots=True)
class Asked:
    """A dialog that asks for leave. ``gate``: it is our gate's, which takes a note with a denial."""

    request_id: str
    call: Call
    gate: bool = False
    key: str = ""
    named: str = ""  # the rule, for people


@dataclass(slots=True)
class Title:
    """What the title of such a dialog says. ``call_id`` and ``input`` are our gate's (``cut``: the input is not whole)."""

    tool: str
    call_id: str = ""
    input: Any = None
    cut: bool = False
    reason: str = ""
    command: str = ""
    path: str = ""
    lines: list[str] = field(default_factory=list)


def parse(title: str, options: Any) -> Title | None:
    """The title taken apart; None when the dialog is another one."""
    head, _, rest = title.partition("\n")
    match = _HEAD.fullmatch(head)
    if match is None or not isinstance(options, list) or ALLOW not in options or DENY not in options:
        return None
    found = Title(match[1].strip())
    lines = rest.split("\n") if rest else []
    if len(lines) >= 2 and lines[0].startswith("Call: ") and lines[1].startswith("Input"):
        found.call_id = lines[0][6:].strip()
        found.cut = lines[1].startswith("Input cut: ")
        if lines[1].startswith("Input: "):
            try:
                found.input = json.loads("\n".join(lines[1:])[7:])
            except ValueError:
                found.cut = True
        return found
    while lines and lines[0].startswith(("Origin: ", "Reason: ")):
        found.reason = "; ".join(filter(None, [found.reason, lines.pop(0).partition(": ")[2]]))
    found.lines = lines
    body = "\n".join(lines)
    if body.startswith("Command: "):
        found.command = body[9:]
    elif body.startswith(("Path: ", "File: ")):
        found.path = lines[0][6:]
    return found


class Approvals:
    """What waits for leave, and what the session allows already.

    Args:
        calls: the calls of the turn.
        gate: our gate extension is loaded, so a title that names a call is its.
    """

    def __init__(self, calls: Calls, gate: bool) -> None:
        self._calls = calls
        self._gate = gate
        self._asked: dict[str, Asked] = {}
        self._rules: dict[str, str] = {}

    def __contains__(self, request_id: object) -> bool:
        return request_id in self._asked

    def ids(self) -> list[str]:
        """The dialogs that wait."""
        return list(self._asked)

    def request(self, dialog_id: str, title: Title, out: list[Event]) -> str | None:
        """A dialog asks for leave. Returns the answer to send at once, where the session allows it already, else None."""
        gate = bool(title.call_id) and (self._gate or self._calls.get(title.call_id) is not None)
        call = self._call(title, gate, out)
        given = title.input if gate and self._gate and title.input is not None else call.input
        differs = given is not call.input and given != call.input
        command = read.command_line(given)
        if title.command and title.command.strip() != command.strip():
            command, differs = title.command, bool(command)
        category = call.category
        diffs = list(call.planned) if not differs else read.planned(given)
        paths = read.touched_paths(given, diffs) or ([title.path] if title.path else [])
        key, rule = _rule(title.tool, category, command, paths, given, certain=not (differs or title.cut))
        asked = Asked(dialog_id, call, gate and self._gate, key, rule)
        kept = self._rules.get(key) if key else None
        reason = title.reason
        if differs:
            reason = "; ".join(filter(None, [reason, "what is asked for is not what the model wrote: read it here"]))
        if title.cut:
            reason = "; ".join(filter(None, [reason, "the input is too long to be shown whole"]))
        call.asked = True
        event = ApprovalRequested(
            call.id if kept is not None else dialog_id,
            call.id,
            tool=title.tool,
            category=category,
            summary=_summary(title, command, paths),
            command=command if category == "shell" or title.command else "",
            cwd=read.working_folder(given),
            paths=paths,
            diffs=diffs,
            input=given,
            rule=rule,
            reason=reason,
            for_session=bool(rule),
            auto=kept is not None,
            deny_note="denial" if asked.gate else "next_message",
        )
        out.append(event)
        if kept is not None:
            self._calls.decided(call, True, out)
            out.append(ApprovalResolved(call.id, "allowed", "policy", via="session rule", for_session=True))
            return ALLOW
        call.waits, call.running = True, False
        self._asked[dialog_id] = asked
        return None

    def decide(self, command: Approve, out: list[Event]) -> tuple[str, str]:
        """A person or a policy has decided: the answer to send, and a note that has to go as a message of its own."""
        asked = self._asked.pop(command.request_id)
        note = command.note.strip()
        if command.allow and command.for_session and asked.key:
            self._rules[asked.key] = asked.named
        self._calls.decided(asked.call, command.allow, out)
        out.append(
            ApprovalResolved(
                asked.request_id,
                "allowed" if command.allow else "denied",
                "you",
                note=command.note,
                for_session=command.for_session and bool(asked.key),
            )
        )
        if command.allow:
            return ALLOW, ""
        if note and asked.gate:
            return f"{DENY}: {note[:_LONGEST_NOTE]}", ""
        return DENY, note

    def gone(self, dialog_id: str, outcome: Any, out: list[Event]) -> None:
        """The dialog was taken down, by whom it may be: the call will not run."""
        asked = self._asked.pop(dialog_id, None)
        if asked is not None:
            asked.call.waits, asked.call.cancelled = False, True
            out.append(ApprovalResolved(dialog_id, outcome))

    # ---- within ------------------------------------------------------------------------------------------------------

    def _call(self, title: Title, gate: bool, out: list[Event]) -> Call:
        """The call that is asked about; one that nobody told of is made up from what the title says."""
        known = self._calls.get(title.call_id) if gate else None
        if known is None and not gate:
            known = self._match(title)
        if known is not None:
            return known
        call_id = title.call_id if gate else f"asked:{title.tool}:{len(self._asked)}"
        given = title.input
        if given is None:
            given = {"command": title.command} if title.command else {"path": title.path} if title.path else {}
            given = given or ({"asked": "\n".join(title.lines)} if title.lines else {})
        self._calls.block("end", {"id": call_id, "name": title.tool, "arguments": given}, out)
        made = self._calls.get(call_id)
        assert made is not None
        return made

    def _match(self, title: Title) -> Call | None:
        same = [c for c in self._calls.open() if c.tool == title.tool and not c.asked and not c.parent]
        if len(same) < 2:
            return same[0] if same and _quotes(title, same[0]) is not False else None
        quoted = [call for call in same if _quotes(title, call)]
        return quoted[0] if quoted else next((call for call in same if _quotes(title, call) is None), None)


def _quotes(title: Title, call: Call) -> bool | None:
    """Does the title quote this call's arguments? None: it quotes nothing that could be compared."""
    if title.command:
        return read.command_line(call.input).strip() == title.command.strip()
    if title.path:
        paths = read.touched_paths(call.input, call.planned)
        if not paths:
            return None
        return any(p == title.path or p.endswith("/" + title.path) or title.path.endswith("/" + p) for p in paths)
    return None


def _rule(tool: str, category: str, command: str, paths: list[str], given: Any, *, certain: bool) -> tuple[str, str]:
    """What "allow for session" would allow, as a key and in words; neither where it is not certain what was shown."""
    if not certain:
        return "", ""
    if category == "shell" and command:
        return f"shell\0{tool}\0{command}", "this command, word for word"
    if category == "edit" and len(set(paths)) == 1:
        return f"edit\0{paths[0]}", f"edits of {paths[0]}"
    try:
        return f"call\0{tool}\0{json.dumps(given, sort_keys=True)}", f"{tool} with the same input"
    except (TypeError, ValueError, RecursionError):
        return "", ""


def _summary(title: Title, command: str, paths: list[str]) -> str:
    if command:
        return command.split("\n", 1)[0][:200]
    if paths:
        return ", ".join(paths)[:200]
    return " ".join(title.lines)[:200] or title.tool
