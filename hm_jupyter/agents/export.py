"""The agent's own export: its session, or all branches of it, as html, md or jsonl, without secrets.

Html and md are written by :mod:`hm_jupyter.exports`, so that they look like a notebook's own. A jsonl file is the events
as they were told, a ``{"type": "session", …}`` line before those of each branch. Source: hm RPC, "Commands", export.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..events import Usage
from ..exports import render
from ..redact import Redactor
from ..transcript import Entry, NoticeEntry, SessionState, Transcript
from . import saved, told
from .journal import rows_of
from .known_secrets import secrets_of
from .session import Session
from .tools import TOOLS


@dataclass(slots=True)
class _Branch:
    """One line of a session: ``head`` is how the list of sessions has it; the first ``shared`` events are told above."""

    head: dict[str, Any]
    events: list[dict[str, Any]] = field(default_factory=list)
    shared: int = 0


def export_session(session: Session, format: str, path: str, all_branches: bool = False) -> tuple[Path, list[str]]:
    """Write the session; returns the file and what was taken out. Raises ``ValueError`` with what to do instead."""
    target = _target(session, format, path)
    branches = list(_branches(session, all_branches))
    redactor = Redactor(secrets_of(session, (e for b in branches for e in b.events)))
    if format == "jsonl":
        text = "".join(
            json.dumps(redactor.value(row), ensure_ascii=False) + "\n" for row in _rows(branches, redactor.uncounted)
        )
    else:
        text = render(_transcript(session, branches), format, session.title, redactor)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise ValueError(f"{target} cannot be written: {error.strerror or error}; give another path") from None
    return target, redactor.summary()


def _target(session: Session, format: str, path: str) -> Path:
    """Where to: ``path`` in the workspace, a folder gets the default name, and without one it goes to Downloads."""
    try:
        target = session.workspace.locate(path) if path else _downloads()
    except (ValueError, OSError) as error:
        raise ValueError(f"path: {error}") from None
    if target.is_dir() or path.endswith("/"):
        target /= f"hm-{session.id}.{format}"
    if target.exists() and not target.is_file():
        raise ValueError(f"{target} is no regular file; give another path")  # a pipe would be waited for
    return target


def _downloads() -> Path:
    folder = Path.home() / "Downloads"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


# ---- branches ----


def _branches(session: Session, all_branches: bool) -> Iterator[_Branch]:
    """This session, then with ``all_branches`` each other that was forked from it or it from, without what they share."""
    mine = list(session.events())
    yield _Branch(_head(session), mine)
    if not all_branches or not session.journal.saved:
        return
    heads = {entry["id"]: entry for entry in saved.listed()}
    for name in saved.branches(session.id):
        if name == session.id or name not in heads:
            continue
        try:
            theirs = list(saved.events(rows_of(saved.file_of(name))))  # maybe of another process, which writes it now
        except OSError:
            continue
        yield _Branch(heads[name], theirs, _shared(mine, theirs))


def _head(session: Session) -> dict[str, Any]:
    names = ("id", "title", "mode", "provider", "model", "effort", "fork_of")
    head = {name: getattr(session, name) for name in names}
    return {**head, "root": str(session.workspace.root), "usage": session.usage.to_json()}


def _shared(mine: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> int:
    """How many events both begin with, up to the end of a turn."""
    n = end = 0
    for a, b in zip(mine, theirs, strict=False):
        if {**a, "time": ""} != {**b, "time": ""}:
            break
        n += 1
        end = n if a.get("type") == "turn_end" else end
    return n if n == len(theirs) else end


def _rows(branches: list[_Branch], title: Callable[[str], str]) -> Iterator[dict[str, Any]]:
    for branch in branches:
        head = {"type": "session", **branch.head, "title": title(str(branch.head.get("title") or ""))}
        yield {**head, "shared": branch.shared} if branch.shared else head
        yield from branch.events[branch.shared :]


# ---- as a document ----


def _transcript(session: Session, branches: list[_Branch]) -> Transcript:
    """All branches one after the other, their turns numbered on."""
    used = session.usage
    state = SessionState(
        session_id=session.id, agent="hm", root=str(session.workspace.root), title=session.title, mode=session.mode,
        provider=session.provider, model=session.model, effort=session.effort,
        usage=Usage(used.input, used.output, used.cache_read, used.cache_write, used.cost),
    )  # fmt: skip
    whole = told.transcript(branches[0].events, state, _category)
    for n, branch in enumerate(branches[1:], 2):
        part = told.transcript(branch.events[branch.shared :], SessionState(), _category)
        before = whole.state.turn
        title = branch.head.get("title") or branch.head["id"]
        text = f"Branch “{title}” ({branch.head['id']})" + (", from a turn above on." if branch.shared else ".")
        entries: list[Entry] = [NoticeEntry(f"b{n}", 1, text, "info"), *part.entries.values()]
        for entry in entries if part.entries else ():
            whole.entries[f"b{n}:{entry.id}"] = replace(entry, id=f"b{n}:{entry.id}", turn=entry.turn + before)
        whole.state.turn += part.state.turn
    return whole


def _category(tool: str) -> str:
    return TOOLS[tool].category if tool in TOOLS else "other"
