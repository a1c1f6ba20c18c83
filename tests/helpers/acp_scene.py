"""What a person sees of an agent's updates: the parts of the ACP adapter that read them, and a transcript they end up in.

For tests of those parts without the adapter around them: no JSON-RPC, no turns but those a test begins.
"""

from __future__ import annotations

from typing import Any

from hm_jupyter import events as ev
from hm_jupyter.protocols.acp.elicit import Elicitations
from hm_jupyter.protocols.acp.permission import Permissions
from hm_jupyter.protocols.acp.updates import Updates
from hm_jupyter.session.reducer import reduce
from hm_jupyter.transcript import (
    MessageEntry,
    NoticeEntry,
    PlanEntry,
    ThoughtEntry,
    ToolEntry,
    Transcript,
    UnknownEntry,
    UserEntry,
)


def text_block(text: str) -> dict[str, Any]:
    """A text as a content block."""
    return {"type": "text", "text": text}


def output(text: str) -> dict[str, Any]:
    """A text as content of a tool call."""
    return {"type": "content", "content": text_block(text)}


class Scene:
    """One session, in version 1 or 2."""

    def __init__(self, version: int = 1) -> None:
        self.version = version
        self.updates = Updates(version)
        self.permissions = Permissions(version, self.updates.calls)
        self.questions = Elicitations(version, "Scripted")
        self.transcript = Transcript()
        self.now = 0.0
        self.feed([ev.SessionStarted("s")])

    def feed(self, events: list[ev.Event]) -> list[ev.Event]:
        for event in events:
            self.now += 1
            for op in reduce(self.transcript, event, self.now):
                self.transcript.apply(op)
        return events

    # ---- the agent -------------------------------------------------------------------------------------------------

    def hears(self, kind: str, session: str = "s", /, **fields: Any) -> list[ev.Event]:
        """A session/update of a kind."""
        return self.raw({"sessionUpdate": kind, **fields}, session)

    def raw(self, update: Any, session: str = "s") -> list[ev.Event]:
        out: list[ev.Event] = []
        self.updates.update(session, update, out)
        return self.feed(out)

    def says(self, text: str, message_id: str | None = None, kind: str = "agent_message_chunk") -> list[ev.Event]:
        """A chunk of text."""
        named = {} if message_id is None else {"messageId": message_id}
        return self.hears(kind, content=text_block(text), **named)

    def thinks(self, text: str, message_id: str | None = None) -> list[ev.Event]:
        return self.says(text, message_id, "agent_thought_chunk")

    def call(self, call_id: str = "c", /, **fields: Any) -> ToolEntry:
        """A tool_call_update, and the call as it is shown then."""
        self.hears("tool_call_update", toolCallId=call_id, **fields)
        return self.tool(call_id)

    def asks(self, rpc_id: Any = 1, /, **params: Any) -> ev.ApprovalRequested:
        """A request for leave that is put to the person."""
        out: list[ev.Event] = []
        assert self.permissions.request(rpc_id, {"sessionId": "s", **params}, out) is None
        self.feed(out)
        event = out[-1]
        assert isinstance(event, ev.ApprovalRequested)
        return event

    # ---- turns -----------------------------------------------------------------------------------------------------

    def turn(self, prompt: str = "go", command_id: str = "p1") -> Scene:
        """A prompt is sent, and its turn begins."""
        self.feed([ev.MessageSent(command_id, prompt)])
        out: list[ev.Event] = [ev.TurnStarted(command_id)]
        self.updates.begin_turn(out)
        if self.version == 1:
            out.append(ev.MessageUpdated(f"sent:{command_id}", "user", prompt, final=True))
        self.updates.own_prompt(prompt)
        self.feed(out)
        return self

    def ends(self, reason: Any = "end_turn") -> Scene:
        out: list[ev.Event] = []
        self.updates.end_turn(out, finished=reason == "end_turn")
        self.feed([*out, ev.TurnEnded(reason)])
        return self

    # ---- what is seen ----------------------------------------------------------------------------------------------

    def tool(self, call_id: str) -> ToolEntry:
        entry = self.transcript.tool(call_id)
        assert entry is not None, f"no call {call_id}"
        return entry

    def tools(self) -> list[ToolEntry]:
        return [e for e in self.transcript.entries.values() if isinstance(e, ToolEntry)]

    def seen(self) -> list[tuple[str, str]]:
        """The conversation: who (user, message, thought, tool) and what."""
        found = []
        for entry in self.transcript.entries.values():
            if isinstance(entry, (UserEntry, MessageEntry, ThoughtEntry)):
                found.append((entry.TAG[1], str(entry.text)))
            elif isinstance(entry, ToolEntry):
                found.append(("tool", entry.title or entry.name))
        return found

    def notices(self) -> list[str]:
        return [e.text for e in self.transcript.entries.values() if isinstance(e, NoticeEntry)]

    def unknown(self) -> list[str]:
        return [e.name for e in self.transcript.entries.values() if isinstance(e, UnknownEntry)]

    def plans(self) -> list[PlanEntry]:
        return [e for e in self.transcript.entries.values() if isinstance(e, PlanEntry)]
