"""The agent's own export, for now without html, branches or redaction: those come with saved sessions.

Source: hm RPC, "Commands", export.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from .messages import Message
from .session import Session


def export_session(session: Session, format: str, path: str) -> Path:
    """Write the session; returns the file. Raises ``ValueError`` with what to do instead."""
    if format == "html":
        raise ValueError("this agent does not write html yet; use format md or jsonl, or hm_jupyter's own export")
    try:
        target = session.workspace.locate(path) if path else _downloads()
    except ValueError as error:
        raise ValueError(f"path: {error}") from None
    if target.is_dir():
        target /= f"hm-{session.id}.{format}"
    if target.exists() and not target.is_file():
        raise ValueError(f"{target} is no regular file; give another path")  # a pipe would be waited for
    text = _markdown(session) if format == "md" else _jsonl(session)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise ValueError(f"{target} cannot be written: {error.strerror or error}; give another path") from None
    return target


def _downloads() -> Path:
    folder = Path.home() / "Downloads"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _jsonl(session: Session) -> str:
    return "".join(json.dumps(_row(m)) + "\n" for m in session.history)


def _row(message: Message) -> dict[str, object]:
    row = dataclasses.asdict(message)
    del row["private"]
    return {k: v for k, v in row.items() if v not in ("", [], None) or k in ("id", "role", "text")}


def _markdown(session: Session) -> str:
    parts = [f"# {session.title or 'Session'}\n"]
    for message in session.history:
        if message.role == "tool":
            parts.append(_fenced(message.text))
            continue
        if message.text:
            name = {"user": "You", "assistant": "Agent", "summary": "Summary of what came before"}[message.role]
            parts.append(f"**{name}**\n\n{message.text}\n")
        for call in message.calls:
            parts.append(f"`{call.tool}`\n\n" + _fenced(json.dumps(call.input, indent=1, ensure_ascii=False)))
    return "\n".join(parts)


def _fenced(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text.rstrip()}\n{fence}\n"
