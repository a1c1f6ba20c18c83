"""A recorded run of a real omp or pi, played to our adapter: what the agent wrote as it was, what was said to it by commands.

A row is ``{"t", "dir": "out" | "in" | "meta" | "exit" | "err", "line"}``. Our own requests (``hm-…``) were not part of the
recording: the state is answered with the recording's first, the rest is refused, as an agent would that does not know them.
Time is the recording's, so alarms go off as they would have.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hm_jupyter import events as ev
from hm_jupyter.commands import (
    Abort,
    Answer,
    Approve,
    CallAgent,
    Command,
    Compact,
    FollowUp,
    ImageData,
    Prompt,
    Steer,
)
from hm_jupyter.errors import HmError
from hm_jupyter.protocols.base import HostCall, Step
from hm_jupyter.protocols.omp.adapter import OmpAdapter
from hm_jupyter.session.reducer import reduce
from hm_jupyter.session.state import pending_request, running_turn
from hm_jupyter.transcript import PendingApproval, PendingQuestion, Transcript, to_json

Json = dict[str, Any]

ROOT = Path(__file__).parents[3] / "shared" / "omp" / "fixtures"
STATE = {
    "sessionId": "recorded", "model": {"id": "mock-1", "provider": "mock", "name": "Mock One"}, "thinkingLevel": "medium",
    "isStreaming": False, "messageCount": 0,
}  # fmt: skip


def rows_of(path: Path) -> list[Json]:
    """The rows of a recording."""
    with path.open(encoding="utf-8", newline="\n") as lines:
        return [json.loads(line) for line in lines]


class Run:
    """One recorded process, played."""

    def __init__(self, rows: list[Json], dialect: str, **options: Any) -> None:
        self.rows = rows
        self.adapter = OmpAdapter("pi" if dialect.startswith("pi") else "omp", root="/home/me/app", **options)
        self.transcript = Transcript()
        self.events: list[ev.Event] = []
        self.sent: list[Json] = []
        self.calls: list[HostCall] = []
        self.refused: list[str] = []
        self.noise: list[str] = []
        self.prompts: set[str] = set()
        self._alarms: dict[str, float] = {}
        self._ids: set[str] = set()

    def play(self) -> Run:
        """Play all of it."""
        self.take(self.adapter.start(), 0.0)
        for row in self.rows:
            self.until(row["t"])
            if row["dir"] == "out":
                self.heard(row["line"], row["t"])
            elif row["dir"] == "in":
                self.said(row["line"], row["t"])
        self.until(self.rows[-1]["t"] + 30)
        return self

    def until(self, now: float) -> None:
        """Let the alarms go off that are due."""
        while due := sorted((at, key) for key, at in self._alarms.items() if at <= now):
            at, key = due[0]
            del self._alarms[key]
            self.take(self.adapter.woke(key), at)

    def heard(self, line: str, now: float) -> None:
        """The agent wrote that."""
        try:
            value = json.loads(line)
        except ValueError:
            self.noise.append(line)
            start = line.find('{"')
            if start > 0:
                self.heard(line[start:], now)
            return
        answers = isinstance(value, dict) and value.get("type") == "response" and value.get("id") is not None
        if not answers or str(value["id"]) in self._ids:  # else it answers what our client never sends
            self.take(self.adapter.receive(value), now)

    def said(self, line: str, now: float) -> None:
        """The recorder wrote that: we say the same by a command."""
        try:
            value = json.loads(line)
        except ValueError:
            return
        command = self.command(value) if isinstance(value, dict) else None
        if command is None:
            return
        if isinstance(command, (Prompt, Steer, FollowUp)):
            self.feed(ev.MessageSent(command.id, command.text, command.type), now)
        try:
            step = self.adapter.send(command)
        except HmError as no:
            self.refused.append(f"{command.type}: {no}")
            return
        self._ids.add(command.id)
        if isinstance(command, Prompt):
            self.prompts.add(command.id)
        self.take(step, now)

    def command(self, value: Json) -> Command | None:
        """Our command for a line of the recorder's; None for what our client never says."""
        kind, wire_id = value.get("type"), str(value.get("id") or "")
        if kind == "extension_ui_response":
            return self.decision(value, wire_id)
        if not isinstance(kind, str) or not wire_id or kind.startswith("host_"):
            return None
        if kind in ("prompt", "steer", "follow_up"):
            if not isinstance(value.get("message"), str):
                return None
            cls: Any = {"steer": Steer, "follow_up": FollowUp}.get(kind, Prompt)
            behavior = value.get("streamingBehavior")
            if kind == "prompt" and behavior:
                cls = Steer if behavior == "steer" else FollowUp
            elif kind == "prompt" and running_turn(self.transcript) is not None:
                return None  # the client never does that
            pictures = [
                ImageData(data=i["data"], mime=i["mimeType"]) for i in value.get("images", ()) if "mimeType" in i
            ]
            return cls(id=wire_id, text=value["message"], images=pictures)
        if kind == "abort":
            return Abort(id=wire_id)
        if kind == "compact":
            return Compact(id=wire_id, focus=value.get("customInstructions", ""))
        params = {k: v for k, v in value.items() if k not in ("id", "type")}
        return CallAgent(id=wire_id, method=kind, params=params)

    def decision(self, value: Json, request_id: str) -> Command | None:
        """A dialog's answer as a decision of ours."""
        request = pending_request(self.transcript.state, request_id)
        if isinstance(request, PendingApproval):
            return Approve(request_id=request_id, allow=value.get("value") == "Approve")
        if isinstance(request, PendingQuestion):
            if value.get("cancelled") or not {"value", "confirmed"} & set(value):
                return Answer(request_id=request_id, skip=True)
            if request.form and isinstance(value.get("value"), str):
                return Answer(request_id=request_id, fields={"value": value["value"]})
            said = {True: "yes", False: "no"}.get(value.get("confirmed"), value.get("value"))
            return Answer(request_id=request_id, text=str(said))
        return None

    def take(self, step: Step, now: float) -> None:
        """Do what a step says; what we ask for ourselves is answered."""
        for event in step.events:
            self.feed(event, now)
        for wake in step.wakes:
            if wake.seconds > 0:
                self._alarms[wake.key] = now + wake.seconds
            else:
                self._alarms.pop(wake.key, None)
        self.calls += step.calls
        for message in step.messages:
            self.sent.append(message)
            if str(message.get("id", "")).startswith("hm-"):
                self.take(self.adapter.receive(self.answer(message)), now)

    def answer(self, message: Json) -> Json:
        """The answer to a request that is not in the recording."""
        head = {"type": "response", "id": message["id"], "command": message["type"]}
        if message["type"] == "get_state":
            return {**head, "success": True, "data": self.state()}
        if message["type"] in ("negotiate_protocol", "clear_queue"):
            return {**head, "success": True, "data": {}}
        return {**head, "success": False, "error": f"Unknown command: {message['type']}"}

    def state(self) -> Json:
        """The first state in the recording."""
        for row in self.rows:
            if row["dir"] == "out" and '"command":"get_state"' in row["line"]:
                data = json.loads(row["line"]).get("data")
                if isinstance(data, dict):
                    return {**data, "messageCount": 0}
        return dict(STATE)

    def feed(self, event: ev.Event, now: float) -> None:
        """Into the transcript; a refused prompt ends its turn, as the controller does it."""
        self.events.append(event)
        for op in reduce(self.transcript, event, now):
            self.transcript.apply(op)
        if isinstance(event, ev.CommandAnswered) and not event.ok and event.command_id in self.prompts:
            self.feed(ev.MessagesDropped([event.command_id]), now)
            self.feed(ev.TurnEnded("error", event.error), now)

    def notices(self) -> list[str]:
        """What people were told beside the conversation."""
        return [e.text for e in self.events if isinstance(e, ev.NoticeRaised)]

    def unknown(self) -> list[ev.UnknownReceived]:
        """What was not understood."""
        return [e for e in self.events if isinstance(e, ev.UnknownReceived)]


def lines_of(transcript: Transcript) -> list[str]:
    """A transcript in a line for each entry, for golden files."""
    found = []
    for entry in transcript.entries.values():
        value = to_json(entry)
        told = [value["kind"], value.get("status") or ("open" if value.get("open") else "")]
        told += [
            value.get("name") or "",
            value.get("title") or "",
            value.get("stop_reason") or value.get("delivery") or "",
        ]
        decision = value.get("decision") or {}
        told += [
            decision.get("outcome", ""),
            f"exit {value['exit_code']}" if value.get("exit_code") is not None else "",
        ]
        told += [
            f"{len(value['diffs'])} diffs" if value.get("diffs") else "",
            "in " + value["parent"] if value.get("parent") else "",
        ]
        told += [
            str(value.get(name) or "")[:100] for name in ("text", "output", "answer", "summary", "error", "detail")
        ]
        if value.get("items"):
            told.append("; ".join(f"{i['text']} ({i['status']})" for i in value["items"]))
        found.append(" | ".join(part for part in told if part))
    return found


def trimmed(rows: list[Json]) -> list[Json]:
    """A recording without what repeats itself or is long and says nothing here, to be carried along."""
    found = []
    for row in rows:
        if row["dir"] in ("out", "in"):
            try:
                value = json.loads(row["line"])
            except ValueError:
                found.append(row)
                continue
            if isinstance(value, dict) and value.get("type") in ("available_commands_update", "turn_end"):
                continue
            found.append({**row, "line": json.dumps(_trim(value), ensure_ascii=False, separators=(",", ":"))})
        elif row["dir"] == "meta" and row["line"].startswith("{"):
            found.append({**row, "line": "{}"})
    return found


_LEFT_OUT = frozenset(
    {"partial", "thinkingSignature", "systemPrompt", "dumpTools", "sections", "toolsAdded", "compat", "baseUrl", "contextSnapshot",
     "api", "timestamp", "completedAt", "duration", "ttft", "errorId", "responseId", "cost", "attribution"}
)  # fmt: skip


def _trim(value: Any) -> Any:
    if isinstance(value, list):
        return [_trim(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("type")
    out = {k: _trim(v) for k, v in value.items() if k not in _LEFT_OUT}
    if kind == "message_update":
        out.pop("message", None)
        out.pop("usage", None)
    elif kind == "agent_end":
        out["messages"] = []
    elif kind == "message_start":
        out["message"] = {"role": value.get("message", {}).get("role"), "content": []}
    elif kind == "response" and value.get("command") == "get_messages":
        out["data"] = {"messages": []}
    return out
