"""Tolerant readers for the omp / pi wire: one JSON value of any kind in, a part of our vocabulary out. Nothing raises.

What is the same on every wire (texts, counts, categories of tools) is :mod:`hm_jupyter.protocols.hm_read`'s.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ...events import FileDiff, Image, Usage
from ..hm_read import category, command_line, count, money, text, texts, touched_paths, working_folder

__all__ = [
    "brief", "category", "command_line", "content_text", "count", "details", "exit_code", "fields", "images", "model_id",
    "money", "objects", "plain", "planned", "reason", "result_diffs", "stream_diffs", "text", "texts", "todos", "touched_paths",
    "usage", "working_folder",
]  # fmt: skip

# The names under which the edit tools of both agents give the passage an edit replaces and what it puts there.
_PAIRS = (("oldText", "newText"), ("old_text", "new_text"), ("old_string", "new_string"), ("old", "new"))
_PATHS = ("path", "file_path", "filePath", "file")
_DIFF_LINE = re.compile(r"([ +-])\s*\d+\|(.*)")
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_STATUS = {
    "pending": "pending", "in_progress": "active", "active": "active", "completed": "done", "done": "done",
    "abandoned": "cancelled", "cancelled": "cancelled", "dropped": "cancelled",
}  # fmt: skip


def fields(value: Any) -> dict[str, Any]:
    """``value`` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; anything else in it, or in its place, is dropped."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def brief(value: Any) -> str:
    """A line as JSON, the first 500 characters, for a notice's detail."""
    try:
        return json.dumps(value, ensure_ascii=False)[:500]
    except (TypeError, ValueError, RecursionError):
        return ""


def plain(value: Any) -> str:
    """A text without its terminal escapes (``command_output`` may hold colours)."""
    return _ANSI.sub("", text(value))


def content_text(content: Any) -> str:
    """The text of a message's or a result's ``content``: a text, or blocks of it."""
    if isinstance(content, str):
        return content
    return "".join(text(block.get("text")) for block in objects(content) if block.get("type", "text") == "text")


def images(content: Any, attachments: Any = None) -> list[Image]:
    """The pictures in ``content`` (``data``, ``mimeType``; the older document has them in ``source``) and of attachments."""
    found = []
    for block in objects(content):
        if block.get("type") == "image":
            source = fields(block.get("source"))
            data = text(block.get("data")) or text(source.get("data"))
            mime = text(block.get("mimeType")) or text(source.get("mediaType")) or "image/png"
            if data and mime.startswith("image/"):
                found.append(Image(data, mime))
    for item in objects(attachments):
        mime = text(item.get("mimeType"))
        if mime.startswith("image/") and text(item.get("content")):
            found.append(Image(item["content"], mime))
    return found


def usage(value: Any) -> Usage | None:
    """A message's ``usage``; ``cost.total`` counts. None when it tells nothing."""
    given = fields(value)
    counts = [count(given.get(name)) for name in ("input", "output", "cacheRead", "cacheWrite")]
    cost = money(fields(given.get("cost")).get("total"))
    if not any(counts) and not cost:
        return None
    sent, got, cache_read, cache_write = (n or 0 for n in counts)
    return Usage(sent, got, cache_read, cache_write, cost)


def model_id(value: Any) -> tuple[str, str]:
    """A Model's provider and id."""
    model = fields(value)
    return text(model.get("provider")), text(model.get("id"))


def details(result: Any) -> dict[str, Any]:
    """The ``details`` of a tool's result."""
    return fields(fields(result).get("details"))


def exit_code(result: Any) -> int | None:
    """The exit code in a tool's result: omp has it in ``details``, pi in ``structuredContent``."""
    for code in (
        details(result).get("exitCode"),
        fields(fields(result).get("structuredContent")).get("exit_code"),
    ):
        if isinstance(code, int) and not isinstance(code, bool) and abs(code) < 2**31:
            return code
    return None


def _path(value: dict[str, Any]) -> str:
    return next((value[name] for name in _PATHS if isinstance(value.get(name), str) and value[name]), "")


def planned(arguments: Any) -> list[FileDiff]:
    """What an edit call would change, as far as its arguments tell: whole contents, or passages (``partial``)."""
    given = fields(arguments)
    path = _path(given)
    found: list[FileDiff] = []
    if path and isinstance(given.get("content"), str):
        found.append(FileDiff(path, new=given["content"]))
    for part in [given, *objects(given.get("edits"))]:
        where = _path(part) or path
        for old, new in _PAIRS:
            if where and isinstance(part.get(old), str) and isinstance(part.get(new), str):
                found.append(FileDiff(where, part[old], part[new], partial=True))
                break
    return found


def stream_diffs(update: Any) -> list[FileDiff]:
    """The changes in a ``tool_stream_update`` (omp): passages, from its numbered diff."""
    found = []
    for item in objects(fields(update).get("files")):
        old: list[str] = []
        new: list[str] = []
        for line in text(item.get("diff")).split("\n"):
            match = _DIFF_LINE.fullmatch(line)
            if match is not None:
                sign, rest = match.groups()
                old += [rest] if sign != "+" else []
                new += [rest] if sign != "-" else []
        if _path(item) and old != new:
            found.append(FileDiff(_path(item), "\n".join(old), "\n".join(new), partial=True))
    return found


def result_diffs(result: Any, arguments: Any) -> list[FileDiff]:
    """The changes a finished edit made, where it says (omp: ``details.oldText`` and ``newText``, whole files)."""
    told = details(result)
    found = []
    named = [diff.path for diff in planned(arguments)] or [_path(fields(arguments))]
    for item in [told, *objects(told.get("perFileResults")), *objects(told.get("files"))]:
        old, new, path = item.get("oldText"), item.get("newText"), _path(item)
        if path and isinstance(new, str):
            shown = next((name for name in named if name and path.endswith(name)), path)
            found.append(FileDiff(shown, old if isinstance(old, str) else None, new))
    return found


def todos(phases: Any) -> list[dict[str, str]]:
    """Todo phases (or plain tasks) as the items of a plan; a task of a later phase names its phase."""
    items = []
    groups = [(text(p.get("name")), objects(p.get("tasks"))) for p in objects(phases) if "tasks" in p]
    if not groups:
        groups = [("", objects(phases))]
    for name, tasks in groups:
        for task in tasks:
            said = text(task.get("content"))
            status = task.get("status")
            if said:
                shown = f"{name}: {said}" if name and len(groups) > 1 else said
                items.append({"text": shown, "status": _STATUS.get(text(status), "pending")})
    return items


def reason(error: Any) -> str:
    """An error's message for people: what providers send is a status and JSON, and the sentence is in the JSON."""
    said = text(error).strip()
    start = said.find("{")
    if start >= 0:
        try:
            inner = fields(json.loads(said[start:]))
            message = text(fields(inner.get("error")).get("message")) or text(inner.get("message"))
            if message:
                said = f"{message} ({said[:start].strip(' :')})" if said[:start].strip(" :") else message
        except (ValueError, RecursionError):
            pass
    return " ".join(said.split())[:300].rstrip(". ")
