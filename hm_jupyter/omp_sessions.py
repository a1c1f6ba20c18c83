"""The saved sessions of omp and pi, read from their folder: neither has a command that lists them.

Both keep ``<agent folder>/sessions/<named after the working folder>/<time>_<id>.jsonl`` (omp in ``~/.omp/agent``, pi in
``~/.pi/agent``). How the folder in the middle is named differs and has changed, so the files' own heads are believed: a row
``{"type": "session", "id", "cwd", "timestamp"}``, in omp behind a row ``{"type": "title"}``. Of a long file only the two ends
are read. Knows no session of ours and starts nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .errors import UsageError

HEAD, TAIL = 128 * 1024, 64 * 1024
"""Bytes read of a file's beginning and, where it is longer, of its end."""

TITLE = 80
"""Characters of the first prompt that stand for a name."""


class SavedSessions:
    """The sessions of one program.

    Args:
        dialect: "omp" or "pi".
        cwd: the working folder; ``sessions(all=False)`` lists its own.
        env: the agent's environment, which may name other folders.
        folder: where they are, whatever the environment says (the program's ``--session-dir``).
    """

    def __init__(self, dialect: str, cwd: str, env: Mapping[str, str], *, folder: str = "") -> None:
        self._cwd = os.path.realpath(cwd)
        agent = env.get("PI_CODING_AGENT_DIR") or str(Path(env.get("HOME") or Path.home()) / f".{dialect}" / "agent")
        named = folder or (env.get("PI_CODING_AGENT_SESSION_DIR") if dialect == "pi" else "")
        self._folder = Path(named or Path(agent) / "sessions").expanduser()

    def sessions(self, *, all: bool = False) -> list[dict[str, Any]]:
        """The sessions of the working folder, or of ``all``, newest first: id, title, updated, turns, model, cwd, path.

        ``turns`` is left out of a session too long to be counted, ``title`` is its name or else its first prompt.
        """
        found = [s for s in map(_read, self._files()) if s is not None]
        if not all:
            found = [s for s in found if os.path.realpath(s["cwd"]) == self._cwd]
        return sorted(found, key=lambda s: (s["updated"], s["id"]), reverse=True)

    def find(self, session: str) -> str:
        """The file of the session with that id (or the beginning of one); "" when there is none.

        Raises:
            UsageError: it is the beginning of several.
        """
        if session.endswith(".jsonl"):
            return session
        matching = [f for f in self._files() if f.stem.rpartition("_")[2].startswith(session)] if session else []
        exact = [f for f in matching if f.stem.rpartition("_")[2] == session]
        if len(exact or matching) > 1:
            raise UsageError(f"{session!r} is the beginning of {len(matching)} sessions; write more of its id.")
        return str((exact or matching)[0]) if matching else ""

    def delete(self, session: str) -> None:
        """Delete a saved session, for good. Raises ``UsageError`` where there is none."""
        file = self.find(session)
        if not any(str(known) == file for known in self._files()):
            raise UsageError(f"There is no saved session {session[:80]!r}; %hm sessions --all lists them.")
        os.unlink(file)

    def _files(self) -> Iterator[Path]:
        """All of them: one folder deep, or (a folder of the person's own) right in it."""
        for pattern in ("*.jsonl", "*/*.jsonl"):
            yield from self._folder.glob(pattern)


def _read(file: Path) -> dict[str, Any] | None:
    """A session as a list shows it; None for a file that is none or cannot be read."""
    try:
        with file.open("rb") as stream:
            head = stream.read(HEAD)
            size = os.fstat(stream.fileno()).st_size
            changed = os.fstat(stream.fileno()).st_mtime
            tail = b""
            if size > HEAD:
                stream.seek(max(HEAD, size - TAIL))
                tail = stream.read(TAIL)
    except OSError:
        return None
    rows = _rows(head, whole=size <= HEAD)
    header = next((row for row in rows[:4] if row.get("type") == "session"), None)
    if header is None or not isinstance(header.get("id"), str) or not isinstance(header.get("cwd"), str):
        return None
    later = _rows(b"\n" + tail, whole=True)[1:] if tail else []
    prompts = [row for row in rows if _role(row) == "user"]
    found: dict[str, Any] = {
        "id": header["id"],
        "title": _name([*rows, *later]) or _first_line(prompts[0] if prompts else {}),
        "updated": datetime.fromtimestamp(changed, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "model": _model([*rows, *later]),
        "cwd": header["cwd"],
        "path": str(file),
    }
    if size <= HEAD:
        found["turns"] = len(prompts)
    return found


def _rows(data: bytes, *, whole: bool) -> list[dict[str, Any]]:
    """The objects among the lines; without ``whole`` the last line is cut off and left out. (Split at LF: nothing else
    ends a line here.)"""
    lines = data.split(b"\n")
    if not whole:
        lines.pop()
    found = []
    for line in lines:
        try:
            row = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            row = None
        found.append(row if isinstance(row, dict) else {})
    return found


def _role(row: Mapping[str, Any]) -> str:
    message = row.get("message")
    return str(message.get("role")) if row.get("type") == "message" and isinstance(message, dict) else ""


def _name(rows: list[dict[str, Any]]) -> str:
    """What the session was called last (pi: rows ``session_info``; omp: the row ``title``, written over in place)."""
    for row in reversed(rows):
        name = {"session_info": row.get("name"), "title": row.get("title")}.get(str(row.get("type")))
        if isinstance(name, str) and name.strip():
            return name.strip()
    return ""


def _first_line(row: Mapping[str, Any]) -> str:
    message = row.get("message")
    content = message.get("content") if isinstance(message, dict) else ""
    if isinstance(content, list):
        content = next((p.get("text") for p in content if isinstance(p, dict) and p.get("type") == "text"), "")
    text = " ".join(str(content or "").split())
    return text if len(text) <= TITLE else text[: TITLE - 1] + "…"


def _model(rows: list[dict[str, Any]]) -> str:
    """``provider/id`` of the model that was set last (pi tells two fields, omp one)."""
    for row in reversed(rows):
        if row.get("type") == "model_change":
            model = row.get("model") or "/".join(str(row[k]) for k in ("provider", "modelId") if row.get(k))
            return str(model)
    return ""
