"""todo: the agent's plan, shown to the person as it changes."""

from __future__ import annotations

from typing import Any

from .base import Context, Plan, Result, Tool, ToolError, schema
from .workspace import Workspace

STATUSES = ("pending", "in_progress", "completed")
MOST, LONGEST = 50, 500
"""Most items of a plan, and most characters of each."""


class Todo(Tool):
    name = "todo"
    category = "plan"
    description = (
        "Show your plan for work of several steps, and keep it up to date: give all items each time, one of them"
        " in_progress, and mark each completed when it is. An empty list takes the plan down. Not for single steps."
    )
    schema = schema(
        ["items"],
        items={
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "content": {"type": "string", "description": "what is to be done, in a few words"},
                    "status": {"type": "string", "enum": list(STATUSES)},
                },
                "required": ["content", "status"],
            },
        },
    )

    def plan(self, input: dict[str, Any], workspace: Workspace) -> Plan:
        _items(input)
        return Plan(input)

    async def run(self, plan: Plan, context: Context) -> Result:
        items = _items(plan.input)
        context.show_plan(items)
        done = sum(item["status"] == "completed" for item in items)
        return Result(f"The plan is shown: {done} of {len(items)} done." if items else "The plan is taken down.")

    def summary(self, input: dict[str, Any]) -> str:
        try:
            items = _items(input)
        except ToolError:
            return ""
        now = next((i["text"] for i in items if i["status"] == "in_progress"), "")
        done = sum(item["status"] == "completed" for item in items)
        return f"{done} of {len(items)} done" + (f": {now}" if now else "")


def _items(input: dict[str, Any]) -> list[dict[str, str]]:
    items = input.get("items")
    if not isinstance(items, list) or len(items) > MOST:
        raise ToolError(f"'items' must be a list of at most {MOST} objects with content and status")
    out = []
    for item in items:
        text, status = (item.get("content"), item.get("status", "pending")) if isinstance(item, dict) else (None, "")
        if not isinstance(text, str) or not text.strip() or status not in STATUSES:
            raise ToolError(f"each of 'items' is an object with content (a text) and status ({', '.join(STATUSES)})")
        out.append({"text": text.strip()[:LONGEST], "status": status})
    return out
