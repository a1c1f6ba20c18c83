"""read_file: the text of a file, or some of its lines."""

from __future__ import annotations

from typing import Any

from .base import Context, Plan, Result, Tool, ToolError, number_field, schema, text_field
from .files import current, locate
from .workspace import Workspace

LIMIT = 50_000
"""Most characters a model gets at once."""


class ReadFile(Tool):
    name = "read_file"
    category = "read"
    description = "Read a text file. Give first and last (line numbers from 1) for a part of a long one."
    schema = schema(["path"], path={"type": "string"}, first={"type": "integer"}, last={"type": "integer"})

    def plan(self, input: dict[str, Any], workspace: Workspace) -> Plan:
        path = locate(workspace, text_field(input, "path"))
        number_field(input, "first", 1, 1, 10**9)
        number_field(input, "last", 1, 1, 10**9)
        return Plan(input, "read", paths=[path], outside=[] if workspace.inside(path) else [path])

    async def run(self, plan: Plan, context: Context) -> Result:
        path = plan.paths[0]
        name = context.workspace.name(path)
        if path.resolve() != path:
            raise ToolError(f"{name} now leads somewhere else; call again")
        text = current(path, name)
        if text is None:
            raise ToolError(f"there is no file {name}; see what there is with list_files")
        if "first" in plan.input or "last" in plan.input:
            first = int(plan.input.get("first", 1))
            last = int(plan.input.get("last", 10**9))
            text = "".join(text.splitlines(keepends=True)[max(first, 1) - 1 : max(last, 0)])
        if len(text) > LIMIT:
            text = text[:LIMIT] + f"\n[cut: {len(text) - LIMIT} more characters; read on with first and last]"
        return Result(text)
