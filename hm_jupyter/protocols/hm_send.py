"""Our commands as hm's (hm RPC, "Commands"): a pure mapping, one JSON object a command.

It does not know whether a command makes sense now; the agent says so in its response.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..commands import Command

SKIPPED = "The person chose not to answer this question. Go on without an answer."
"""What is sent for ``Answer(skip=True)``: hm has no way to end a question unanswered but to stop the turn."""


def to_wire(command: Command, wire_id: str) -> dict[str, Any]:
    """The JSON object for ``command``. Fields at their default are left out where hm calls them optional."""
    return {"id": wire_id, "type": command.type, **_FIELDS[command.type](command)}


def _message(command: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if command.text or not command.images:  # images alone: no text (hm RPC, "Commands", images)
        fields["text"] = command.text
    if command.images:
        fields["images"] = [{"data": image.data} for image in command.images]
    return fields


def _approve(command: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"call_id": command.request_id, "allow": command.allow}
    if command.for_session:
        fields["for_session"] = True
    if command.note:
        fields["note"] = command.note
    if command.edits is not None:  # an empty list is a decision too: apply none of the files
        fields["edits"] = [{"path": edit.path, "content": edit.content} for edit in command.edits]
    return fields


def _answer(command: Any) -> dict[str, Any]:
    return {"call_id": command.request_id, "text": SKIPPED if command.skip else command.text}


def _set_model(command: Any) -> dict[str, Any]:
    # Left out and empty differ here, so only None is left out.
    given = {"provider": command.provider, "model": command.model, "effort": command.effort}
    return {name: value for name, value in given.items() if value is not None}


def _export(command: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if command.format is not None:
        fields["format"] = command.format
    if command.path:
        fields["path"] = command.path
    if command.all_branches:
        fields["all_branches"] = True
    return fields


_FIELDS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "prompt": _message,
    "steer": _message,
    "follow_up": _message,
    "abort": lambda command: {},
    "approve": _approve,
    "answer": _answer,
    "set_mode": lambda command: {"mode": command.mode},
    "set_model": _set_model,
    "compact": lambda command: {"focus": command.focus} if command.focus else {},
    "get_state": lambda command: {},
    "list_sessions": lambda command: {"all": True} if command.all else {},
    "fork": lambda command: {"entry": command.entry} if command.entry else {},
    "export": _export,
}
