"""list_files and glob: the files below a folder, sorted, without what Git ignores and nobody wants to see."""

from __future__ import annotations

from typing import Any

from .base import Context, Plan, Result, Tool, ToolError, flag_field, schema, text_field
from .files import locate
from .listing import listing
from .wildcards import BadPattern, Wildcards
from .workspace import Workspace

LIMIT = 500
"""Most names a model gets at once."""


class ListFiles(Tool):
    name = "list_files"
    category = "search"
    description = (
        "List the files below a folder (default: the workspace), those of its subfolders included. pattern narrows it"
        f" down: *.py by name, src/**/test_*.py by path. Files that Git ignores are left out unless ignored is true."
        f" At most {LIMIT} are shown."
    )
    schema = schema(
        [],
        path={"type": "string", "description": "the folder, relative to the workspace"},
        pattern={"type": "string", "description": "* and ? within a name, ** for any folders, {a,b} for either"},
        ignored={"type": "boolean", "description": "also what Git ignores"},
    )
    required = False

    def plan(self, input: dict[str, Any], workspace: Workspace) -> Plan:
        path = locate(workspace, text_field(input, "path", ".") or ".")
        pattern = text_field(input, "pattern", None if self.required else "")
        if pattern:
            try:
                Wildcards(pattern)
            except BadPattern as error:
                raise ToolError(str(error)) from None
        flag_field(input, "ignored")
        return Plan(input, "read", paths=[path], outside=[] if workspace.inside(path) else [path])

    async def run(self, plan: Plan, context: Context) -> Result:
        top = plan.paths[0]
        name = context.workspace.name(top)
        if not top.is_dir():
            raise ToolError(f"{name} is not a folder" if top.exists() else f"there is no folder {name}")
        found = await listing(top, ignored=flag_field(plan.input, "ignored"))
        names = found.names
        if pattern := plan.input.get("pattern"):
            wildcards = Wildcards(pattern)
            names = [n for n in names if wildcards.match(n)]
        notes = []
        if len(names) > LIMIT:
            notes.append(f"[{len(names) - LIMIT} more: give a folder or a pattern]")
        if found.cut:
            notes.append("[there are too many files to look at all of them: give a folder]")
        if not names:
            return Result("\n".join(["no files", *notes]))
        return Result("\n".join([*names[:LIMIT], *notes]))

    def summary(self, input: dict[str, Any]) -> str:
        return " ".join(str(input[k]) for k in ("path", "pattern") if input.get(k)) or "."


class Glob(ListFiles):
    name = "glob"
    description = (
        "Find files by a pattern such as **/*.py or src/**/test_*.{py,toml}. A pattern without a slash looks at names"
        f" in all subfolders. Files that Git ignores are left out unless ignored is true. At most {LIMIT} are shown."
    )
    schema = schema(["pattern"], **ListFiles.schema["properties"])
    required = True
