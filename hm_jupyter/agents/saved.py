"""The saved sessions: where they are, which there are, one taken up again, one copied up to an entry.

A session is ``<id>.jsonl`` in one folder for all workspaces (private to the user). Its rows (docs/sessions.md):
``{"session": …}`` first, ``{"message": …}`` what the model sees, ``{"event": …}`` what was told, ``{"compacted": …}``,
and ``{"summary": …}`` with what a list shows, at the start and end of each turn.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .journal import Journal, peek

VARIABLE = "HM_SESSIONS"
"""Names another folder."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,80}")


class NoSuchSession(ValueError):
    """There is no such saved session. The text says which there are."""


def folder() -> Path:
    """The folder of the saved sessions. It need not be there yet."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser()
    from platformdirs import user_data_path

    return user_data_path("hm_jupyter", appauthor=False) / "sessions"


def file_of(session_id: str) -> Path:
    """The file of that session."""
    return folder() / f"{session_id}.jsonl"


def journal(session_id: str, *, save: bool) -> Journal:
    """The journal of a new session."""
    return Journal(file_of(session_id) if save else None)


def find(name: str, root: Path) -> str:
    """The id of the session called ``name`` (an id, or the beginning of just one). Raises :class:`NoSuchSession`."""
    known = _names()
    if name in known:
        return name
    found = [k for k in known if name and k.startswith(name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise NoSuchSession(f"{name!r} is the beginning of {len(found)} sessions; write more of its id")
    here = [s["id"] for s in listed(root)[:5]]
    raise NoSuchSession(
        f"there is no saved session {name[:80]!r}; "
        + (f"the newest of this workspace are {', '.join(here)}" if here else "this workspace has none yet")
    )


def newest(root: Path) -> str:
    """The id of the newest session of a workspace, "" when there is none."""
    found = listed(root)
    return str(found[0]["id"]) if found else ""


def listed(root: Path | None = None) -> list[dict[str, Any]]:
    """The saved sessions of a workspace (None: of all), newest first, as ``list_sessions`` gives them (hm RPC)."""
    out = []
    for name in _names():
        entry = _entry(name)
        if entry is not None and (root is None or entry["root"] == str(root)):
            out.append(entry)
    out.sort(key=lambda e: (e["updated"], e["id"]), reverse=True)
    return out


def _names() -> list[str]:
    try:
        with os.scandir(folder()) as found:
            names = [f.name for f in found if f.name.endswith(".jsonl") and f.is_file(follow_symlinks=False)]
    except OSError:
        return []
    return [n[:-6] for n in names if _ID.fullmatch(n[:-6])]


def _entry(name: str) -> dict[str, Any] | None:
    """A session as a list shows it; None for a file that is none, or can not be read."""
    try:
        first, newest, busy = peek(file_of(name), "summary")
    except OSError:
        return None
    head = first.get("session") if first else None
    if not isinstance(head, dict):
        return None
    tail = newest.get("summary") if newest else None
    seen = {**head, **(tail if isinstance(tail, dict) else {})}
    status = _text(seen, "status") or "idle"
    if status != "idle" and not busy:
        status = "interrupted"  # its process is gone
    turns, cost = seen.get("turns"), seen.get("cost")
    return {
        "id": name,
        **{field: _text(seen, field) for field in ("title", "mode", "provider", "root", "parent_id", "fork_of")},
        "status": status,
        "updated": _text(seen, "updated") or _text(seen, "created"),
        "turns": turns if isinstance(turns, int) else 0,
        "cost": cost if isinstance(cost, (int, float)) else 0.0,
    }


def _text(row: dict[str, Any], field: str) -> str:
    value = row.get(field)
    return value if isinstance(value, str) else ""


def events(rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The events among ``rows``, each with its text and pictures (a row leaves out what its message holds already)."""
    message: dict[str, Any] = {}
    for row in rows:
        if isinstance(row.get("message"), dict):
            message = row["message"]
        event = row.get("event")
        if not isinstance(event, dict) or not isinstance(event.get("type"), str):
            continue
        if event.get("entry") == message.get("id") and event.get("type") in ("message_end", "tool_result"):
            event = {**event, "text": event.get("text", message.get("text", ""))}
            if message.get("images") and event.get("role") == "user":
                event["images"] = message["images"]
        yield event


def branches(session_id: str) -> list[str]:
    """The session, what it was forked from, and all forks of these: the ids, oldest first."""
    of = {e["id"]: e["fork_of"] for e in listed()}
    of.setdefault(session_id, "")
    top, seen = session_id, {session_id}
    while of.get(top) and of[top] in of and of[top] not in seen:
        top = of[top]
        seen.add(top)
    family = {top}
    grew = True
    while grew:
        more = {name for name, parent in of.items() if parent in family} - family
        family |= more
        grew = bool(more)
    return sorted(family)
