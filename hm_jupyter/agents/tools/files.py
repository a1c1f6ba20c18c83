"""What the tools that read and change files share: locating a path, and carrying out planned changes."""

from __future__ import annotations

from pathlib import Path

from .base import Context, Plan, Result, ToolError
from .changes import Change, FileProblem, apply, read_text
from .workspace import Workspace


def locate(workspace: Workspace, path: str) -> Path:
    """``path`` resolved. Raises :class:`ToolError`."""
    try:
        return workspace.locate(path)
    except ValueError as error:
        raise ToolError(str(error)) from None


def current(path: Path, name: str) -> str | None:
    """The file's text, or None. Raises :class:`ToolError`."""
    try:
        return read_text(path, name)
    except FileProblem as problem:
        raise ToolError(str(problem)) from None


def edit_plan(input: dict[str, object], changes: list[Change], workspace: Workspace) -> Plan:
    """The plan of a call that makes ``changes``."""
    paths = [c.path for c in changes]
    outside = [p for p in paths if not workspace.inside(p)]
    return Plan(dict(input), "edit", paths=paths, outside=outside, changes=changes)


async def make_changes(plan: Plan, context: Context) -> Result:
    """Write the planned changes, each on its own: one that cannot be written does not stop the others."""
    made: list[Change] = []
    lines: list[str] = []
    failed = False
    for change in plan.changes:
        try:
            apply(change)
        except FileProblem as problem:
            failed = True
            lines.append(str(problem) + ".")
            continue
        made.append(change)
        count = len(change.new.splitlines())
        lines.append(f"{'Created' if change.old is None else 'Changed'} {change.name} ({count} lines).")
    return Result("\n".join(lines), failed, made)
