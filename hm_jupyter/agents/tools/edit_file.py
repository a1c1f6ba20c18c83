"""edit_file: replace exact passages, in one file or in several at once (a person can then take some, leave some)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .base import Context, Plan, Result, Tool, ToolError, flag_field, schema, text_field
from .changes import MAX_SIZE, Change
from .files import current, edit_plan, locate, make_changes
from .workspace import Workspace

_HINT = 500
"""Longest line a hint is looked for, in characters: comparing takes time by the square of it."""

_EFFORT = 6_000_000
"""Most pairs of characters that are compared for a hint: well under a second, whatever the lines are like."""

_TOO_MUCH = f"that makes more than {MAX_SIZE // 2**20} MiB of text in one call; change less at once, or use a command"

_ONE = {
    "path": {"type": "string"},
    "old": {"type": "string", "description": "the passage as it is in the file, enough of it to occur once"},
    "new": {"type": "string", "description": "what is to stand there"},
    "replace_all": {"type": "boolean", "description": "replace it wherever it occurs"},
}


class EditFile(Tool):
    name = "edit_file"
    category = "edit"
    description = (
        "Replace passages of files. Each edit's old text must occur exactly once in its file, white space included"
        " (or set replace_all); an empty old text creates the file. Give path, old and new for one change, or edits for"
        " several in one call, of one file or of more (path beside edits stands for those that name none); they are made"
        " one after the other. Read a file before you edit"
        " it. In a file whose lines end in CR LF, write plain line breaks: they are turned into what it has."
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
                change.new = self._replaced(change.new, old, new, name, edit) if existing else _created(old, new, name)
            except ToolError:
                if workspace.inside(path):
                    raise
                # A hint would tell what nobody has given leave to read.
                raise ToolError(f"that edit does not fit {name}, outside the workspace; read it first") from None
            changes[path] = change
            if sum(len(c.new) for c in changes.values()) > MAX_SIZE:
                raise ToolError(_TOO_MUCH)
        return edit_plan(input, list(changes.values()), workspace)

    @staticmethod
    def _replaced(text: str, old: str, new: str, name: str, edit: dict[str, Any]) -> str:
        if "\r\n" in text and "\r" not in old + new and text.count("\n") == text.count("\r\n"):
            old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
        return _replaced(text, old, new, name, everywhere=flag_field(edit, "replace_all"))

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
        # One file, several edits: models often give the path once, beside the list.
        common = {"path": input["path"]} if "path" in input else {}
        return [common | e for e in edits]


def _created(old: str, new: str, name: str) -> str:
    if old:
        raise ToolError(f"there is no file {name}; leave old empty to create it, or see what there is with list_files")
    return new


def _replaced(text: str, old: str, new: str, name: str, *, everywhere: bool) -> str:
    if not old:
        raise ToolError(f"{name} exists: give the old text to replace, or use write_file to replace all of it")
    if old == new:
        raise ToolError(f"old and new are the same for {name}: nothing would change")
    count = text.count(old)
    if count == 1 or (everywhere and count):
        if len(text) + count * (len(new) - len(old)) > MAX_SIZE:  # a few edits could double it without end
            raise ToolError(_TOO_MUCH)
        return text.replace(old, new)
    if count == 0:
        raise ToolError(f"that old text does not occur in {name}.{_closest(text, old)}")
    starts: list[str] = []
    at = -1
    while (at := text.find(old, at + 1)) >= 0 and len(starts) < 5:
        starts.append(str(text.count("\n", 0, at) + 1))
    more = ", …" if count > len(starts) else ""
    raise ToolError(
        f"that old text occurs {count} times in {name} (lines {', '.join(starts)}{more}); add lines around it"
        " so that it occurs once, or set replace_all"
    )


def _closest(text: str, old: str) -> str:
    """A hint: where the passage is but for its white space, else the line most like the first one looked for."""
    import difflib  # only on this path: it is slow to import

    first = next((line for line in old.splitlines() if line.strip()), "")
    lines = text.splitlines()
    if not first or not lines:
        return " Read it again."
    if old.replace("\r\n", "\n") in text.replace("\r\n", "\n"):
        return " Some of its lines end in CR LF and some do not: write_file can give it one kind."
    if spaced := _but_for_white_space(lines, old):
        return spaced
    if len(first) > _HINT:
        return " Read it again."
    best = difflib.get_close_matches(first, _comparable(first, lines), n=1, cutoff=0.5)
    if not best:
        return " Nothing is like it; read the file again."
    number = lines.index(best[0]) + 1
    return f" The closest is line {number}:\n{best[0]}\nTake the text from there, white space included."


def _comparable(first: str, lines: list[str]) -> list[str]:
    """The lines that may be like ``first`` going by their length, as many as can be compared while others wait."""
    out: list[str] = []
    effort = 0
    for line in dict.fromkeys(lines[:5000]):
        if len(first) <= 3 * len(line) <= 9 * len(first):
            effort += len(first) * len(line)
            if effort > _EFFORT:
                break
            out.append(line)
    return out


def _but_for_white_space(lines: list[str], old: str) -> str:
    """Where the passage stands with other white space at the begin or end of its lines ("": nowhere)."""
    wanted = [line.strip() for line in old.strip("\n").splitlines()]
    if not any(wanted) or len(wanted) > 400:
        return ""
    bare = [line.strip() for line in lines[:200_000]]
    for at, line in enumerate(bare):
        if line == wanted[0] and bare[at : at + len(wanted)] == wanted:
            there = lines[at : at + len(wanted)]
            end_only = [li.rstrip() for li in there] == [li.rstrip() for li in old.strip("\n").splitlines()]
            what = "white space at the end of lines" if end_only else "its indentation or other white space"
            passage = "\n".join(there)[:4000]
            return f" It does at line {at + 1} but for {what}. Take it from here:\n{passage}"
    return ""
