"""edit_file: replace exact passages, in one file or in several at once (a person can then take some, leave some)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .base import Context, Plan, Result, Tool, ToolError, schema, text_field
from .changes import Change
from .files import current, edit_plan, locate, make_changes
from .workspace import Workspace

_HINT = 500
"""Longest line a hint is looked for, in characters: comparing takes time by the square of it."""

_ONE = {"path": {"type": "string"}, "old": {"type": "string"}, "new": {"type": "string"}}


class EditFile(Tool):
    name = "edit_file"
    category = "edit"
    description = (
        "Replace passages of files. Each edit's old text must occur exactly once in its file, white space included;"
        " an empty old text creates the file. Give edits for several changes in one call, or path, old and new for one."
    )
    schema = schema([], **_ONE, edits={"type": "array", "items": {"type": "object", "properties": _ONE}})

    def plan(self, input: dict[str, Any], workspace: Workspace) -> Plan:
        changes: dict[Path, Change] = {}
        for edit in self._edits(input):
            path = locate(workspace, text_field(edit, "path"))
            name = workspace.name(path)
            change = changes.get(path)
            if change is None:
                before = current(path, name)
                change = Change(path, name, before, before or "")
                existing = before is not None
            else:
                existing = True
            old, new = text_field(edit, "old", ""), text_field(edit, "new")
            try:
                change.new = _replaced(change.new, old, new, name) if existing else _created(old, new, name)
            except ToolError:
                if workspace.inside(path):
                    raise
                # A hint would tell what nobody has given leave to read.
                raise ToolError(f"that edit does not fit {name}, outside the workspace; read it first") from None
            changes[path] = change
        return edit_plan(input, list(changes.values()), workspace)

    async def run(self, plan: Plan, context: Context) -> Result:
        return await make_changes(plan, context)

    def summary(self, input: dict[str, Any]) -> str:
        try:
            return ", ".join(dict.fromkeys(str(e.get("path", "")) for e in self._edits(input)))
        except ToolError:
            return ""

    @staticmethod
    def _edits(input: dict[str, Any]) -> list[dict[str, Any]]:
        edits = input.get("edits")
        if edits is None:
            return [input]
        if not isinstance(edits, list) or not edits or not all(isinstance(e, dict) for e in edits):
            raise ToolError("'edits' must be a list of objects with path, old and new")
        return edits


def _created(old: str, new: str, name: str) -> str:
    if old:
        raise ToolError(f"there is no file {name}; leave old empty to create it, or see what there is with list_files")
    return new


def _replaced(text: str, old: str, new: str, name: str) -> str:
    if not old:
        raise ToolError(f"{name} exists: give the old text to replace, or use write_file to replace all of it")
    count = text.count(old)
    if count == 1:
        return text.replace(old, new)
    if count == 0:
        raise ToolError(f"that old text does not occur in {name}.{_closest(text, old)}")
    starts: list[str] = []
    at = -1
    while (at := text.find(old, at + 1)) >= 0 and len(starts) < 5:
        starts.append(str(text.count("\n", 0, at) + 1))
    raise ToolError(
        f"that old text occurs {count} times in {name} (lines {', '.join(starts)}); add lines around it"
        " so that it occurs once"
    )


def _closest(text: str, old: str) -> str:
    """A hint: the lines most like the first line of what was looked for."""
    import difflib  # only on this path: it is slow to import

    first = next((line for line in old.splitlines() if line.strip()), "")
    lines = text.splitlines()
    if not first or not lines:
        return " Read it again."
    if old.replace("\r\n", "\n") in text.replace("\r\n", "\n"):
        return " Its lines end in CR LF: write them so."
    if len(first) > _HINT:
        return " Read it again."
    best = difflib.get_close_matches(first, [li for li in lines[:5000] if len(li) <= 2 * _HINT], n=1, cutoff=0.5)
    if not best:
        return " Nothing is like it; read the file again."
    number = lines.index(best[0]) + 1
    return f" The closest is line {number}:\n{best[0]}\nTake the text from there, white space included."
