"""write_file: a file's whole new content."""

from __future__ import annotations

from typing import Any

from .base import Context, Plan, Result, Tool, schema, text_field
from .changes import Change
from .files import current, edit_plan, locate, make_changes
from .workspace import Workspace


class WriteFile(Tool):
    name = "write_file"
    category = "edit"
    description = "Create a file, or replace all of its text."
    schema = schema(["path", "content"], path={"type": "string"}, content={"type": "string"})

    def plan(self, input: dict[str, Any], workspace: Workspace) -> Plan:
        path = locate(workspace, text_field(input, "path"))
        content = text_field(input, "content")
        name = workspace.name(path)
        return edit_plan(input, [Change(path, name, current(path, name), content)], workspace)

    async def run(self, plan: Plan, context: Context) -> Result:
        return await make_changes(plan, context)
