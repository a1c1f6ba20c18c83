"""A small agent on the official Python SDK, for the tests of every day: a plan, a call that needs leave, streamed text.

The prompt "wait" makes it wait until it is cancelled.
"""

from __future__ import annotations

import asyncio
from typing import Any

from acp import (
    PROTOCOL_VERSION,
    Agent,
    InitializeResponse,
    NewSessionResponse,
    PromptResponse,
    plan_entry,
    run_agent,
    start_tool_call,
    text_block,
    tool_content,
    update_agent_message,
    update_plan,
    update_tool_call,
)
from acp.schema import PermissionOption, ToolCallUpdate

OPTIONS = [
    PermissionOption(option_id="yes", name="Go ahead", kind="allow_once"),
    PermissionOption(option_id="no", name="Rather not", kind="reject_once"),
]


class Example(Agent):
    def on_connect(self, conn: Any) -> None:
        self._client = conn
        self._cancelled = asyncio.Event()

    async def initialize(self, protocol_version: int, **kwargs: Any) -> InitializeResponse:
        return InitializeResponse(protocol_version=PROTOCOL_VERSION)

    async def new_session(self, cwd: str, **kwargs: Any) -> NewSessionResponse:
        return NewSessionResponse(session_id="only")

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        self._cancelled.set()

    async def prompt(self, session_id: str, prompt: list[Any], **kwargs: Any) -> PromptResponse:
        async def say(update: Any) -> None:
            await self._client.session_update(session_id, update)

        self._cancelled.clear()
        if prompt[0].text == "wait":
            await say(update_agent_message(text_block("Waiting.")))
            await self._cancelled.wait()
            return PromptResponse(stop_reason="cancelled")
        await say(update_plan([plan_entry("look", status="completed"), plan_entry("write", status="in_progress")]))
        await say(start_tool_call("t1", "Write notes.txt", kind="edit", status="pending"))
        call = ToolCallUpdate(tool_call_id="t1")
        answer = await self._client.request_permission(session_id=session_id, tool_call=call, options=OPTIONS)
        allowed = getattr(answer.outcome, "option_id", "") == "yes"
        await say(
            update_tool_call(
                "t1", status="completed" if allowed else "failed", content=[tool_content(text_block("noted"))]
            )
        )
        for word in ("It ", "was ", "allowed." if allowed else "refused."):
            await say(update_agent_message(text_block(word)))
        return PromptResponse(stop_reason="end_turn")


if __name__ == "__main__":
    asyncio.run(run_agent(Example()))
