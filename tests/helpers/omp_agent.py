"""A program that speaks the RPC of omp or pi as far as approvals go: a prompt has it want a command and an edit at once.

omp asks about both together by its own dialogs, pi about one after the other as our gate does. Standard library only.
"""

from __future__ import annotations

import json
import sys
from typing import Any

CALLS = [
    ("toolu_1", "bash", {"command": "pytest -q"}),
    ("toolu_2", "write", {"path": "stats.py", "content": "mean = 3\n"}),
]
MODEL = {"id": "mock-1", "name": "Mock", "provider": "mock", "input": ["text"]}


def say(**value: Any) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def heard() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    value: dict[str, Any] = json.loads(line)
    return value


class Agent:
    """One session; ``dialect`` is omp or pi."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect

    def state(self) -> dict[str, Any]:
        return {"model": MODEL, "thinkingLevel": "off", "isStreaming": False, "sessionId": "s-1", "messageCount": 0}

    def serve(self) -> None:
        if self.dialect == "omp":
            say(type="ready", protocolVersion=1, supportedProtocolVersions=[1])
        while True:
            value = heard()
            self.answer(value)
            if value["type"] == "prompt":
                self.turn(value["message"])

    def answer(self, value: dict[str, Any]) -> None:
        data: Any = {"get_state": self.state(), "get_available_models": {"models": [MODEL]}}.get(value["type"], {})
        if value["type"] == "prompt" and self.dialect == "pi":
            data = {"disposition": "started"}
        say(type="response", id=value.get("id"), command=value["type"], success=True, data=data)

    def turn(self, text: str) -> None:
        say(type="agent_start")
        say(type="message_end", message={"role": "user", "content": [{"type": "text", "text": text}]})
        blocks = [{"type": "toolCall", "id": i, "name": n, "arguments": a} for i, n, a in CALLS]
        for at, block in enumerate(blocks):
            said = {"type": "toolcall_end", "contentIndex": at, "toolCall": block}
            say(type="message_update", assistantMessageEvent=said)
        say(type="message_end", message={"role": "assistant", "content": blocks, "stopReason": "toolUse"})
        allowed = self.ask_both() if self.dialect == "omp" else [self.ask(call) for call in CALLS]
        for (call_id, name, _), leave in zip(CALLS, allowed, strict=True):
            out = f"{name} ran" if leave else f"Tool call denied by user: {name}"
            result = {"content": [{"type": "text", "text": out}]}
            say(type="tool_execution_end", toolCallId=call_id, toolName=name, result=result, isError=not leave)
        told = ", ".join(
            f"{call[1]} {'allowed' if leave else 'denied'}" for call, leave in zip(CALLS, allowed, strict=True)
        )
        whole = {"role": "assistant", "content": [{"type": "text", "text": told}], "stopReason": "stop"}
        say(type="message_end", message=whole)
        say(type="agent_end", messages=[], **({"isTerminal": True} if self.dialect == "omp" else {"willRetry": False}))
        if self.dialect == "pi":
            say(type="agent_settled", aborted=False)

    def ask_both(self) -> list[bool]:
        """omp: neither dialog names its call."""
        select = {"type": "extension_ui_request", "method": "select", "options": ["Approve", "Deny"]}
        say(**select, id="d1", title="Allow tool: bash\nCommand: pytest -q")
        say(**select, id="d2", title="Allow tool: write\nPath: stats.py\nContent:\nmean = 3\n")
        for call_id, name, given in CALLS:
            say(type="tool_execution_start", toolCallId=call_id, toolName=name, args=given)
        answers = {}
        while len(answers) < 2:
            answers.update(self.answered())
        return [answers["d1"], answers["d2"]]

    def ask(self, call: tuple[str, str, dict[str, Any]]) -> bool:
        """pi, with the gate."""
        call_id, name, given = call
        say(type="tool_execution_start", toolCallId=call_id, toolName=name, args=given)
        title = f"Allow tool: {name}\nCall: {call_id}\nInput: {json.dumps(given)}"
        say(type="extension_ui_request", id=call_id, method="select", title=title, options=["Approve", "Deny"])
        while True:
            found = self.answered()
            if call_id in found:
                return found[call_id]

    def answered(self) -> dict[str, bool]:
        value = heard()
        if value["type"] != "extension_ui_response":
            self.answer(value)
            return {}
        return {value["id"]: value.get("value") == "Approve"}


if __name__ == "__main__":
    Agent(sys.argv[1]).serve()
