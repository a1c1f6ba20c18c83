"""sub_agent: a task for an agent with a conversation of its own, waited for or in the background."""

from __future__ import annotations

from typing import Any

from .base import Context, Plan, Result, Task, Tool, ToolError, flag_field, schema, text_field
from .workspace import Workspace


class SubAgent(Tool):
    name = "sub_agent"
    category = "agent"
    description = (
        "Give a self-contained task to a sub-agent: it works in the same folder with your tools, knows nothing of this"
        " conversation, and you get only its last answer. So say in task all it has to know and what it is to report."
        " Good for searching through much, and for parts that do not depend on each other. With background you go on at"
        " once, and its answer comes to you as a message when it is done; several may work at the same time, so let two"
        " not change the same files. You need not wait for it: if you have nothing more to do, just end your answer."
    )
    schema = schema(
        ["task", "title"],
        task={"type": "string", "description": "what to do, all that must be known for it, and what to report"},
        title={"type": "string", "description": "three to six words, for people"},
        background={"type": "boolean"},
    )

    def plan(self, input: dict[str, Any], workspace: Workspace) -> Plan:
        if not text_field(input, "task").strip():
            raise ToolError("'task' is empty")
        text_field(input, "title", "")
        flag_field(input, "background")
        return Plan(input, "agent")

    async def run(self, plan: Plan, context: Context) -> Result:
        text = plan.input["task"]
        return await context.spawn(Task(text, self.summary(plan.input), flag_field(plan.input, "background")))

    def summary(self, input: dict[str, Any]) -> str:
        title = str(input.get("title") or "").strip() or str(input.get("task", "")).strip()
        return title.splitlines()[0][:80] if title else ""
