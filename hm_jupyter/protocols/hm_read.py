"""Tolerant readers for the hm wire: one JSON value of any kind in, a part of our vocabulary out.

Every agent deviates somewhere, so nothing here raises and nothing here believes: a field of the wrong kind is a field
that is not there. It does not know the order of events or what was said before; that is
:mod:`hm_jupyter.protocols.hm`.
"""

from __future__ import annotations

import math
import shlex
from typing import Any

from ..events import Choice, FileDiff, Usage

CATEGORIES = ("shell", "read", "edit", "search", "fetch", "ask", "plan", "agent", "other")

_CATEGORY_OF = {
    **dict.fromkeys(("shell", "bash", "sh", "exec", "run", "run_command", "command", "execute", "terminal"), "shell"),
    **dict.fromkeys(("read", "read_file", "view", "cat", "list_files", "list", "ls", "list_dir"), "read"),
    **dict.fromkeys(
        ("edit", "edits", "write", "edit_file", "write_file", "multi_edit", "apply_patch", "patch"), "edit"
    ),
    **dict.fromkeys(("search", "grep", "glob", "find", "search_files", "find_files"), "search"),
    **dict.fromkeys(("fetch", "web_fetch", "fetch_url", "http", "web_search"), "fetch"),
    **dict.fromkeys(("ask", "ask_user", "question"), "ask"),
    **dict.fromkeys(("plan", "todo", "todo_write", "update_plan"), "plan"),
    **dict.fromkeys(("agent", "sub_agent", "subagent", "task"), "agent"),
}
# The names under which wires give the passage an edit replaces and what it puts there.
_PAIRS = (("old_text", "new_text"), ("old_string", "new_string"), ("old_str", "new_str"), ("old", "new"))


def text(value: Any, default: str = "") -> str:
    """``value`` if it is text, else ``default``."""
    return value if isinstance(value, str) else default


def texts(value: Any) -> list[str]:
    """The texts in a list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def count(value: Any) -> int | None:
    """A number from 0 to what a browser can count (2**53), as an integer; else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 2**53:
        return None
    return int(value)


def money(value: Any) -> float | None:
    """A finite amount as a float, else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        amount = float(value)
    except OverflowError:
        return None
    return amount if math.isfinite(amount) else None


def usage(value: Any) -> Usage | None:
    """Usage from an object with the fields of hm's ``usage`` event; None when not one of them is a number."""
    if not isinstance(value, dict):
        return None
    given, put, cache_read, cache_write = (
        count(value.get(name)) for name in ("input", "output", "cache_read", "cache_write")
    )
    cost = money(value.get("cost"))
    if given is put is cache_read is cache_write is cost is None:
        return None
    return Usage(given or 0, put or 0, cache_read or 0, cache_write or 0, cost)


def failed(value: dict[str, Any]) -> bool:
    """Whether a ``tool_result`` is a failure: ``is_error``, or without it an exit code (an extension)."""
    error = value.get("is_error")
    return error if isinstance(error, bool) else bool(count(value.get("exit_code")))


def category(tool: str, given: Any = None) -> str:
    """The category of a call: what the agent says if we know the word, else what the tool's name says, else other."""
    if isinstance(given, str) and given:
        word = given.lower()
        return _CATEGORY_OF.get(word, word if word in CATEGORIES else "other")
    return _CATEGORY_OF.get(tool.lower(), "other")


def command_line(arguments: Any) -> str:
    """The command in a tool call's arguments: a text, or a list of words quoted for a shell."""
    if isinstance(arguments, dict):
        for name in ("command", "cmd", "script"):
            value = arguments.get(name)
            if isinstance(value, str) and value:
                return value
            if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
                return shlex.join(value)
    return ""


def working_folder(arguments: Any) -> str:
    """Where a call's arguments say it runs."""
    if isinstance(arguments, dict):
        for name in ("cwd", "workdir", "working_directory"):
            if isinstance(arguments.get(name), str):
                return str(arguments[name])
    return ""


def file_changes(value: Any) -> list[FileDiff] | None:
    """The extension ``files``: whole texts before and after. None when it is not given."""
    if not isinstance(value, list):
        return None
    found = []
    for item in value:
        if isinstance(item, dict) and isinstance(item.get("path"), str):
            old, new = item.get("old"), item.get("new")
            found.append(
                FileDiff(
                    item["path"],
                    old if isinstance(old, str) else None,
                    new if isinstance(new, str) else None,
                )
            )
    return found


def planned_changes(arguments: Any) -> list[FileDiff]:
    """What an edit call would change, as far as its arguments tell.

    ``path`` and ``content`` are a whole new file; ``path`` and an old and a new text are a passage (``partial``),
    several of them when the call has a list ``edits``.
    """
    if not isinstance(arguments, dict):
        return []
    path = _path(arguments)
    found: list[FileDiff] = []
    if path and isinstance(arguments.get("content"), str):
        found.append(FileDiff(path, new=arguments["content"]))
    edits = arguments.get("edits")
    for part in [arguments, *(edits if isinstance(edits, list) else [])]:
        if not isinstance(part, dict):
            continue
        where = _path(part) or path
        for old, new in _PAIRS:
            if where and isinstance(part.get(old), str) and isinstance(part.get(new), str):
                found.append(FileDiff(where, part[old], part[new], partial=True))
                break
    return found


def _path(arguments: dict[Any, Any]) -> str:
    return text(arguments.get("path")) or text(arguments.get("file_path"))


def touched_paths(arguments: Any, diffs: list[FileDiff]) -> list[str]:
    """The paths a call names, where the agent did not list them."""
    if diffs:
        return list(dict.fromkeys(diff.path for diff in diffs))
    path = _path(arguments) if isinstance(arguments, dict) else ""
    return [path] if path else []


def choices(value: Any) -> list[Choice]:
    """The extension ``choices``: objects with ``value``, ``label``, ``help``; plain texts are taken too."""
    found = []
    for item in value if isinstance(value, list) else ():
        if isinstance(item, str):
            found.append(Choice(item, item))
        elif isinstance(item, dict) and isinstance(item.get("value"), str):
            found.append(Choice(item["value"], text(item.get("label"), item["value"]), text(item.get("help"))))
    return found


def session_extras(value: dict[str, Any]) -> dict[str, Any]:
    """What ``session_start`` tells of the session beyond the document, as fields of ``SessionState``."""
    changes: dict[str, Any] = {
        name: texts(value[name]) for name in ("modes", "models") if isinstance(value.get(name), list)
    }
    changes |= {name: value[name] for name in ("title", "effort") if isinstance(value.get(name), str)}
    size = count(value.get("context_size"))
    if size:
        changes["context_size"] = size
    return changes


def session_changes(value: Any) -> dict[str, Any]:
    """The fields of :class:`hm_jupyter.transcript.SessionState` in a session object (hm RPC, "Commands").

    ``effort`` is left out there when it is not set, so an object without it clears ours.
    """
    if not isinstance(value, dict):
        return {}
    changes: dict[str, Any] = {}
    for ours, theirs in (
        ("session_id", "id"),
        ("title",) * 2,
        ("root",) * 2,
        ("mode",) * 2,
        ("provider",) * 2,
        ("model",) * 2,
    ):
        if isinstance(value.get(theirs), str):
            changes[ours] = value[theirs]
    if changes:
        changes["effort"] = text(value.get("effort"))
    tokens = count(value.get("context"))
    if tokens is not None:
        changes["context"] = tokens
    total = usage(value.get("usage"))
    if total is not None:
        changes["usage"] = total
    return changes
