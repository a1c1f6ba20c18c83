"""How the scripted ACP agent says one and the same thing in v1, in v2 and in v2's older draft.

Each method returns the ``update`` of a session/update (or a part of one). What is said, and when, stands elsewhere.
"""

from __future__ import annotations

import base64
from typing import Any

Json = dict[str, Any]

MODES = {"ask": "Ask first", "code": "Code", "yolo": "Never ask"}
MODELS = {"small": "Small 1", "large": "Large 2"}


def text(said: str) -> Json:
    """A content block of text."""
    return {"type": "text", "text": said}


class V1:
    """Version 1. ``ids``: messages carry ids (few real agents of v1 give them)."""

    version = 1
    ids = False
    id_key = "id"
    group_key = "group"

    def chunk(self, role: str, message_id: str, block: Json) -> Json:
        """The next piece of a message. ``role``: user, agent or thought."""
        kind = {"user": "user_message_chunk", "agent": "agent_message_chunk", "thought": "agent_thought_chunk"}[role]
        said: Json = {"sessionUpdate": kind, "content": block}
        if self.ids or self.version == 2:
            said["messageId"] = message_id
        return said

    def whole(self, role: str, message_id: str, blocks: list[Json]) -> list[Json]:
        """A message that is complete."""
        return [self.chunk(role, message_id, block) for block in blocks]

    def call(self, call_id: str, fields: Json) -> Json:
        """A tool call, first told of."""
        return {"sessionUpdate": "tool_call", "toolCallId": call_id, "title": call_id, **fields}

    def call_update(self, call_id: str, fields: Json) -> Json:
        """News of a tool call."""
        return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, **fields}

    def diff(self, path: str, old: str | None, new: str) -> Json:
        """The content of a call that changes a file."""
        return {"type": "diff", "path": path, "oldText": old, "newText": new}

    def permission(self, title: str, call_id: str, fields: Json, options: list[Json]) -> Json:
        """The parameters of session/request_permission, but for the session."""
        return {"toolCall": {"toolCallId": call_id, "title": title, **fields}, "options": options}

    def plan(self, entries: list[Json]) -> Json:
        """A plan, whole."""
        return {"sessionUpdate": "plan", "entries": entries}

    def commands(self, names: list[str]) -> list[Json]:
        """The slash commands."""
        return [{"name": n, "description": f"Do {n}.", "input": {"hint": f"what to {n}"}} for n in names]

    def options(self, now: Json) -> list[Json]:
        """The settings with their values now."""
        found: list[Json] = []
        for name, title, category, choices in (
            ("mode", "Mode", "mode", MODES),
            ("model", "Model", "model", MODELS),
        ):
            listed = [{"value": v, "name": n} for v, n in choices.items()]
            found.append(self._option(name, title, {"type": "select", "category": category,
                                                    "currentValue": now[name], "options": listed}))  # fmt: skip
        groups = [
            {self.group_key: "quick", "name": "Quick", "options": [{"value": "low", "name": "Low"}]},
            {self.group_key: "slow", "name": "Thorough", "options": [{"value": "high", "name": "High"}]},
        ]
        found.append(self._option("effort", "Effort", {"type": "select", "category": "thought_level",
                                                       "currentValue": now["effort"], "options": groups}))  # fmt: skip
        if now.get("booleans"):
            found.append(self._option("web", "Use the web", {"type": "boolean", "currentValue": now["web"]}))
        return found

    def _option(self, name: str, title: str, fields: Json) -> Json:
        return {self.id_key: name, "name": title, "description": f"The {title.lower()}.", **fields}


class V2(V1):
    """Version 2, as newest; ``old``: as its first draft had it."""

    version = 2
    id_key = "configId"
    group_key = "groupId"

    def __init__(self, old: bool = False) -> None:
        self.old = old

    def whole(self, role: str, message_id: str, blocks: list[Json]) -> list[Json]:
        kind = {"user": "user_message", "agent": "agent_message", "thought": "agent_thought"}[role]
        return [{"sessionUpdate": kind, "messageId": message_id, "content": blocks}]

    def call(self, call_id: str, fields: Json) -> Json:
        return self.call_update(call_id, {"title": call_id, **fields})

    def diff(self, path: str, old: str | None, new: str) -> Json:
        import difflib  # takes longer than all the rest to load

        change = {"operation": "add" if old is None else "modify", "path": path}
        before, after = (old or "").splitlines(True), new.splitlines(True)
        name = path.lstrip("/")
        lines = list(difflib.unified_diff(before, after, "/dev/null" if old is None else f"a/{name}", f"b/{name}"))
        patch = f"diff --git a/{name} b/{name}\n" + ("new file mode 100644\n" if old is None else "")
        for line in lines:
            patch += line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
        return {"type": "diff", "changes": [change], "patch": {"format": "git_patch", "text": patch}}

    def permission(self, title: str, call_id: str, fields: Json, options: list[Json]) -> Json:
        subject = {"type": "tool_call", "toolCall": {"toolCallId": call_id, "title": title, **fields}}
        return {"title": title, "description": "The agent asks first.", "subject": subject, "options": options}

    def plan(self, entries: list[Json]) -> Json:
        return {"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "plan", "entries": entries}}

    def commands(self, names: list[str]) -> list[Json]:
        kind: Json = {} if self.old else {"type": "command"}
        return [
            {**kind, "name": n, "description": f"Do {n}.", "input": {"type": "text", "hint": f"what to {n}"}}
            for n in names
        ]

    def state(self, state: str, **fields: Any) -> Json:
        """What the agent is about (running, requires_action, idle)."""
        return {"sessionUpdate": "state_update", "state": state, **fields}

    def terminal(self, terminal_id: str, **fields: Any) -> Json:
        """A terminal of the agent's own."""
        return {"sessionUpdate": "terminal_update", "terminalId": terminal_id, **fields}

    def terminal_chunk(self, terminal_id: str, data: bytes) -> Json:
        """The next bytes of its output."""
        encoded = base64.b64encode(data).decode()
        return {"sessionUpdate": "terminal_output_chunk", "terminalId": terminal_id, "data": encoded}

    def call_chunk(self, call_id: str, content: Json) -> Json:
        """One more piece of a tool call's content."""
        return {"sessionUpdate": "tool_call_content_chunk", "toolCallId": call_id, "content": content}
