"""A recorded conversation of a real agent, played to our adapter: what the agent wrote as it was, what was said to it by commands.

A row is ``{"dir": "a>c" | "c>a", "msg"}``. Each ``initialize`` begins a process of the agent's, a :class:`Run`. What the
recorder tried that our client never sends (unknown methods, a second session, modes there are not) is left out, and its
answers with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hm_jupyter import events as ev
from hm_jupyter.commands import Abort, Approve, Command, ImageData, Prompt, SetMode, SetModel, SetOption
from hm_jupyter.errors import NotSupported, NotWaiting, UsageError
from hm_jupyter.protocols.acp.adapter import AcpAdapter
from hm_jupyter.protocols.base import HostCall, HostFailure, Step
from hm_jupyter.session.reducer import reduce
from hm_jupyter.transcript import Transcript

Json = dict[str, Any]

ROOT = Path(__file__).parents[3] / "shared" / "agents" / "transcripts"


def rows_of(path: Path) -> Iterator[Json]:
    """The messages of a recording; the recorder's notes and what is no JSON object are left out."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row.get("dir") in ("a>c", "c>a") and isinstance(row.get("msg"), dict):
                yield row


def runs_of(rows: Iterable[Json]) -> list[list[Json]]:
    """The processes of a recording."""
    runs: list[list[Json]] = []
    for row in rows:
        if row["msg"].get("method") == "initialize":
            runs.append([])
        if runs:
            runs[-1].append(row)
    return runs


class Run:
    """One process, played from its ``initialize`` on."""

    def __init__(self, rows: list[Json]) -> None:
        self.rows = rows
        hello = rows[0]["msg"]["params"]["protocolVersion"]
        self.version = hello if hello in (1, 2) else 1
        resume = _loaded(rows)
        self.adapter = AcpAdapter(cwd="/home/me/app", version=self.version, host=self.version == 1, resume=resume)
        self.transcript = Transcript()
        self.events: list[ev.Event] = []
        self.refused: list[str] = []  # our commands the adapter would not take
        self.resumed = bool(resume)
        self.session = resume
        self._sent: list[Json] = []  # requests of ours that no recorded one stands for yet
        self._ids: dict[Any, Any] = {}  # recorded request ids to ours
        self._asked: dict[str, str] = {}  # the agent's request ids to the dialogs they became
        self._calls: dict[str, HostCall] = {}  # … and to the host calls
        self._terminals: dict[str, str] = {}
        self._wrote: set[str] = set()
        self._take(self.adapter.start())

    def play(self) -> Run:
        """All of it, and what is left running is stopped by the process's end."""
        for row in self.rows:
            message = row["msg"]
            if row["dir"] == "a>c":
                self._hear(message)
            elif "method" in message:
                self._say(message)
            else:
                self._answer(message)
        self._take(self.adapter.woke("acp:quiet"))
        self._feed([ev.AgentExited(0, "The recording ends here.", expected=True)])
        return self

    # ---- the agent's side --------------------------------------------------------------------------------------------

    def _hear(self, message: Json) -> None:
        if "method" not in message:
            if message.get("id") in self._ids:
                self._take(self.adapter.receive({**message, "id": self._ids.pop(message["id"])}))
            return
        session = message.get("params", {}).get("sessionId") if isinstance(message.get("params"), dict) else None
        if self.session and session not in (None, self.session):
            return  # of a second session in the same process
        step = self._take(self.adapter.receive(self._translated(message)))
        if "id" in message:
            key = repr(message["id"])
            for event in step.events:
                if isinstance(event, ev.ApprovalRequested):
                    self._asked[key] = event.request_id
            for call in step.calls:
                self._calls[key] = call

    def _translated(self, value: Any) -> Any:
        """The same with our terminals' ids in place of the recorder's."""
        if isinstance(value, list):
            return [self._translated(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {
            name: self._terminals.get(held, held)
            if name == "terminalId" and isinstance(held, str)
            else self._translated(held)
            for name, held in value.items()
        }

    # ---- ours --------------------------------------------------------------------------------------------------------

    def _say(self, message: Json) -> None:
        method, params = message["method"], message.get("params") or {}
        self._take(self.adapter.woke("acp:quiet"))  # the recorder waited for as long as anything came
        if method in ("initialize", "session/new", "session/load", "session/resume"):
            self._pair(
                message,
                ("session/load", "session/resume") if method in ("session/load", "session/resume") else (method,),
            )
        elif params.get("sessionId") == self.session:
            command = _command(method, params)
            if command is not None and self._send(command):
                self._pair(message, (method,))

    def _pair(self, message: Json, methods: tuple[str, ...]) -> None:
        ours = next((sent for sent in self._sent if sent["method"] in methods), None)
        if ours is not None and "id" in message:
            self._sent.remove(ours)
            self._ids[message["id"]] = ours["id"]

    def _send(self, command: Command) -> bool:
        try:
            if isinstance(command, Prompt):
                self._feed([ev.MessageSent(command.id, command.text)])
            self._take(self.adapter.send(command))
        except (NotSupported, NotWaiting, UsageError) as error:
            self.refused.append(str(error))
            return False
        return True

    def _answer(self, message: Json) -> None:
        key = repr(message.get("id"))
        result, error = message.get("result") or {}, message.get("error")
        if key in self._asked:
            request_id = self._asked.pop(key)
            chosen = result.get("outcome", {}).get("optionId", "")
            asked = next(
                e for e in reversed(self.events) if isinstance(e, ev.ApprovalRequested) and e.request_id == request_id
            )
            kind = next((option.kind for option in asked.options if option.id == chosen), "")
            if kind:  # else the recorder cancelled
                self._send(Approve(request_id=request_id, allow=kind.startswith("allow"), option_id=chosen))
        elif key in self._calls:
            call = self._calls.pop(key)
            if error:
                self._take(self.adapter.host_done(call.id, HostFailure("not_found", error["message"])))
                return
            ours = call.args.get("terminal_id", "")
            if call.name == "terminal_create":
                self._terminals[result["terminalId"]] = ours
            if call.name == "terminal_output" and result.get("output") and ours not in self._wrote:
                self._wrote.add(ours)
                self._take(self.adapter.host_output(ours, result["output"]))
            self._take(self.adapter.host_done(call.id, _host_result(call.name, result)))

    def _take(self, step: Step) -> Step:
        self._sent += [message for message in step.messages if "method" in message and "id" in message]
        self._feed(step.events)
        return step

    def _feed(self, events: list[ev.Event]) -> None:
        for event in events:
            self.events.append(event)
            if isinstance(event, ev.SessionStarted):
                self.session = event.session_id
            for op in reduce(self.transcript, event, 0.0):  # no time passes in a golden transcript
                self.transcript.apply(op)

    # ---- what is seen ------------------------------------------------------------------------------------------------

    def odd(self) -> list[str]:
        """Notices, and kinds nobody knows, in order."""
        return [
            event.text if isinstance(event, ev.NoticeRaised) else f"unknown: {event.name}"
            for event in self.events
            if isinstance(event, (ev.NoticeRaised, ev.UnknownReceived))
        ]


def _loaded(rows: list[Json]) -> str:
    """The session the process took up, if it opened none of its own before."""
    failed = {row["msg"].get("id") for row in rows if row["dir"] == "a>c" and "error" in row["msg"]}
    for row in rows:
        message = row["msg"]
        if row["dir"] == "c>a" and message.get("method") == "session/new":
            return ""
        if (
            row["dir"] == "c>a"
            and message.get("method") in ("session/load", "session/resume")
            and message["id"] not in failed
        ):
            return str(message["params"]["sessionId"])
    return ""


def _command(method: str, params: Json) -> Command | None:
    if method == "session/prompt" and isinstance(params.get("prompt"), list):  # the recorder also sent wrong ones
        texts = [block["text"] for block in params["prompt"] if block["type"] == "text"]
        images = [ImageData(data=b["data"], mime=b["mimeType"]) for b in params["prompt"] if b["type"] == "image"]
        return Prompt(text="".join(texts), images=images)
    if method == "session/cancel":
        return Abort()
    if method == "session/set_mode":
        return SetMode(mode=params["modeId"])
    if method == "session/set_model":
        return SetModel(model=params["modelId"])
    if method == "session/set_config_option":
        return SetOption(option=params["configId"], value=params["value"])
    return None


def _host_result(name: str, result: Json) -> Json:
    if name == "terminal_output":
        ended = result.get("exitStatus")
        exit = {"code": ended.get("exitCode"), "signal": ended.get("signal")} if ended else None
        return {"output": result.get("output", ""), "truncated": bool(result.get("truncated")), "exit": exit}
    if name == "terminal_wait":
        return {"code": result.get("exitCode"), "signal": result.get("signal")}
    return {"content": result.get("content", "")} if name == "read_file" else {}
