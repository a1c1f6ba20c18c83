"""list_files: the files below a folder, sorted, without what nobody wants to see."""

from __future__ import annotations

import asyncio
import fnmatch
import os
from typing import Any

from .base import Context, Plan, Result, Tool, ToolError, schema, text_field
from .files import locate
from .workspace import Workspace

LIMIT = 500
SKIPPED = {".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", ".ipynb_checkpoints", ".mypy_cache"}


class ListFiles(Tool):
    name = "list_files"
    category = "search"
    description = "List the files below a folder (default: the workspace). pattern is a file name such as *.py."
    schema = schema([], path={"type": "string"}, pattern={"type": "string"})

    def plan(self, input: dict[str, Any], workspace: Workspace) -> Plan:
        path = locate(workspace, text_field(input, "path", ".") or ".")
        text_field(input, "pattern", "*")
        return Plan(input, "read", paths=[path], outside=[] if workspace.inside(path) else [path])

    async def run(self, plan: Plan, context: Context) -> Result:
        top = plan.paths[0]
        name = context.workspace.name(top)
        if not top.is_dir():
            raise ToolError(f"{name} is not a folder" if top.exists() else f"there is no folder {name}")
        pattern = plan.input.get("pattern") or "*"
        found: list[str] = []
        for folder, folders, files in os.walk(top):
            await asyncio.sleep(0)  # a whole disk takes its time: be stopped meanwhile
            folders[:] = sorted(f for f in folders if f not in SKIPPED)
            for file in sorted(files):
                if fnmatch.fnmatch(file, pattern):
                    found.append(os.path.relpath(os.path.join(folder, file), top).replace(os.sep, "/"))
            if len(found) > LIMIT:
                break
        more = f"\n[more than {LIMIT} files: give a folder or a pattern]" if len(found) > LIMIT else ""
        return Result("\n".join(found[:LIMIT]) + more if found else "no files")

    def summary(self, input: dict[str, Any]) -> str:
        return " ".join(str(input[k]) for k in ("path", "pattern") if input.get(k)) or "."
