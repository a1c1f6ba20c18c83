"""A session with the omp adapter, for tests that read as a conversation: what the agent writes, what we say, what is shown."""

from __future__ import annotations

from typing import Any

from hm_jupyter import events as ev
from hm_jupyter.commands import CallAgent, Command, FollowUp, Prompt, Steer
from hm_jupyter.protocols.base import HostCall, Step
from hm_jupyter.protocols.omp.adapter import OmpAdapter
from hm_jupyter.session.reducer import reduce
from hm_jupyter.session.state import running_turn
from hm_jupyter.transcript import Entry, Transcript

Json = dict[str, Any]

MODELS = [
    {"id": "big", "name": "Big", "provider": "acme", "input": ["text", "image"], "contextWindow": 200000},
    {"id": "blind", "name": "Blind", "provider": "acme", "input": ["text"]},
    {"id": "big", "name": "Other big", "provider": "zeta", "input": ["text"]},
]
STATE: Json = {
    "model": MODELS[0], "thinkingLevel": "medium", "isStreaming": False, "isCompacting": False, "steeringMode": "all",
    "followUpMode": "one-at-a-time", "interruptMode": "immediate", "sessionFile": "/s/1.jsonl", "sessionId": "s-1",
    "autoCompactionEnabled": True, "messageCount": 0, "queuedMessageCount": 0,
}  # fmt: skip


class Talk:
    """One session; ``sent`` is what we wrote since it was last looked at."""

    def __init__(self, dialect: Any = "omp", *, opened: bool = True, state: Json | None = None, **options: Any) -> None:
        self.adapter = OmpAdapter(dialect, root="/home/me/app", **options)
        self.transcript = Transcript()
        self.events: list[ev.Event] = []
        self.calls: list[HostCall] = []
        self.dropped: list[str] = []
        self.wakes: dict[str, float] = {}
        self._sent: list[Json] = []
        self._take(self.adapter.start())
        if opened:
            self.answers(data={**STATE, **(state or {})})
            self.answers("get_available_models", data={"models": MODELS})
            while self._sent:
                self.refuses(self._sent[0]["type"], "Unknown command")
        self._sent.clear()
        self.events.clear()

    # ---- the agent ---------------------------------------------------------------------------------------------------

    def hears(self, *lines: Any) -> list[ev.Event]:
        """The agent wrote these lines; the events they led to."""
        before = len(self.events)
        for line in lines:
            self._take(self.adapter.receive(line))
        return self.events[before:]

    def answers(self, kind: str = "", *, data: Any = None, **more: Any) -> list[ev.Event]:
        """The agent does a command of ours (the oldest of that kind, or of all)."""
        line = self._pop(kind)
        reply = {"type": "response", "id": line["id"], "command": line["type"], "success": True, **more}
        return self.hears(reply if data is None else {**reply, "data": data})

    def refuses(self, kind: str = "", error: str = "no") -> list[ev.Event]:
        """The agent refuses a command of ours."""
        line = self._pop(kind)
        return self.hears(
            {"type": "response", "id": line["id"], "command": line["type"], "success": False, "error": error}
        )

    def dialog(self, dialog_id: str, method: str, **fields: Any) -> list[ev.Event]:
        """An extension (or the agent) asks."""
        return self.hears({"type": "extension_ui_request", "id": dialog_id, "method": method, **fields})

    def delta(self, text: str, kind: str = "text", index: int = 0) -> list[ev.Event]:
        """A piece of a message."""
        return self.hears(update(f"{kind}_delta", contentIndex=index, delta=text))

    def calls_tool(self, call_id: str, name: str, **arguments: Any) -> list[ev.Event]:
        """The model has written a tool call."""
        call = {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}
        return self.hears(update("toolcall_end", contentIndex=0, toolCall=call))

    def runs(self, call_id: str, name: str, **arguments: Any) -> list[ev.Event]:
        """… and it runs."""
        return self.hears({"type": "tool_execution_start", "toolCallId": call_id, "toolName": name, "args": arguments})

    def ran(self, call_id: str, name: str, text: str = "", *, error: bool = False, **details: Any) -> list[ev.Event]:
        """… and has its result."""
        result = {"content": [{"type": "text", "text": text}], "details": details}
        return self.hears(
            {"type": "tool_execution_end", "toolCallId": call_id, "toolName": name, "result": result, "isError": error}
        )

    def ends(self, stop: str = "stop", error: str = "", **fields: Any) -> list[ev.Event]:
        """The run is over (of the first document, unless ``fields`` say more)."""
        message: Json = {"role": "assistant", "content": [], "stopReason": stop}
        if error:
            message["errorMessage"] = error
        return self.hears({"type": "message_end", "message": message}, {"type": "agent_end", "messages": [], **fields})

    # ---- we ----------------------------------------------------------------------------------------------------------

    def says(self, command: Command) -> list[Json]:
        """We send a command: the lines it became."""
        if isinstance(command, (Prompt, Steer, FollowUp)):
            self._feed(ev.MessageSent(command.id, command.text, command.type))
        at = len(self._sent)
        self._take(self.adapter.send(command))
        return self._sent[at:]

    def call(self, method: str, **params: Any) -> list[Json]:
        """We send a command of the wire's own."""
        return self.says(CallAgent(method=method, params=params))

    def prompt(self, text: str = "go", command_id: str = "p1") -> Talk:
        """We prompt, and the agent begins."""
        self.says(Prompt(id=command_id, text=text))
        self.answers("prompt")
        self.hears({"type": "agent_start"}, read_by_model(text))
        return self

    def wake(self, key: str) -> list[ev.Event]:
        """An alarm that was set goes off."""
        assert key in self.wakes, f"{key} is not set; set: {list(self.wakes)}"
        del self.wakes[key]
        before = len(self.events)
        self._take(self.adapter.woke(key))
        return self.events[before:]

    def written(self) -> list[Json]:
        """What we wrote since this was asked last."""
        found, self._sent = self._sent, []
        return found

    # ---- what is shown -----------------------------------------------------------------------------------------------

    def shown(self, kind: str) -> list[Any]:
        """The entries of that kind."""
        return [e for e in self.transcript.entries.values() if e.TAG[1] == kind]

    def tool(self, call_id: str) -> Any:
        """The card of a call."""
        found = self.transcript.tool(call_id)
        assert found is not None, call_id
        return found

    def last(self) -> Entry:
        """The newest entry."""
        return list(self.transcript.entries.values())[-1]

    def of(self, kind: type) -> list[Any]:
        """The events of that kind so far."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def running(self) -> bool:
        """Does a turn run?"""
        return running_turn(self.transcript) is not None

    @property
    def turn(self) -> Any:
        """The newest turn."""
        return self.transcript.turns()[-1]

    @property
    def pending(self) -> list[Any]:
        """What waits for a person."""
        return self.transcript.state.pending

    def _pop(self, kind: str) -> Json:
        line = next(line for line in self._sent if line["type"] == kind or not kind)
        self._sent.remove(line)
        return line

    def _take(self, step: Step) -> None:
        for event in step.events:
            self._feed(event)
        for wake in step.wakes:
            self.wakes.pop(wake.key, None)
            if wake.seconds > 0:
                self.wakes[wake.key] = wake.seconds
        self._sent += step.messages
        self.calls += step.calls
        self.dropped += step.dropped

    def _feed(self, event: ev.Event) -> None:
        self.events.append(event)
        for op in reduce(self.transcript, event, 1.0):
            self.transcript.apply(op)


def update(kind: str, **fields: Any) -> Json:
    """A ``message_update``."""
    return {"type": "message_update", "assistantMessageEvent": {"type": kind, **fields}}


def read_by_model(text: str, role: str = "user", **more: Any) -> Json:
    """A ``message_end`` of a message of the person's."""
    return {
        "type": "message_end",
        "message": {"role": role, "content": [{"type": "text", "text": text}], "timestamp": 1, **more},
    }


def said(*content: Json, stop: str = "stop", **more: Any) -> Json:
    """A ``message_end`` of the agent's."""
    return {
        "type": "message_end",
        "message": {"role": "assistant", "content": list(content), "stopReason": stop, **more},
    }
