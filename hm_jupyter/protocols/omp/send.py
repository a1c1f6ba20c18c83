"""Our commands as the wire's: what each is called in which dialect, and what neither has. Pure."""

from __future__ import annotations

from typing import Any

from ...commands import CallAgent, Command, Compact, Export, FollowUp, Fork, GetState, Prompt, Steer
from ...errors import NotSupported, UsageError

Message = tuple[str, dict[str, Any]]

OURS = {
    "prompt": "s.prompt(text)",
    "steer": "s.steer(text)",
    "follow_up": "s.follow_up(text)",
    "abort": "s.abort()",
}
"""Commands that are not sent as they are: a session keeps account of them."""


def message(command: Prompt | Steer | FollowUp, kind: str, behavior: str = "") -> Message:
    """A message. Pictures go as today's agents take them, ``{type, data, mimeType}``: the older document's form breaks the
    session for good in omp. A steer with pictures is a prompt to be queued, for not every version takes them otherwise."""
    fields: dict[str, Any] = {"message": command.text}
    if command.images:
        fields["images"] = [{"type": "image", "data": i.data, "mimeType": i.mime} for i in command.images]
        if kind != "prompt":
            kind, behavior = "prompt", "steer" if kind == "steer" else "followUp"
    if behavior:
        fields["streamingBehavior"] = behavior
    return kind, fields


def to_wire(command: Command, dialect: str) -> Message:
    """The command and its fields. Raises ``NotSupported`` and ``UsageError`` for what cannot be said."""
    if isinstance(command, GetState):
        return "get_state", {}
    if isinstance(command, Compact):
        return "compact", {"customInstructions": command.focus} if command.focus else {}
    if isinstance(command, Export):
        if command.format not in (None, "html") or command.all_branches:
            raise NotSupported("The agent exports HTML of the branch you are on; s.export(path) writes other formats.")
        return "export_html", {"outputPath": command.path} if command.path else {}
    if isinstance(command, Fork):
        return _fork(command, dialect)
    if isinstance(command, CallAgent):
        if command.method in OURS:
            raise UsageError(f"{command.method} is sent by {OURS[command.method]}.")
        if {"id", "type"} & set(command.params):
            raise UsageError("id and type are the line's own: give the other fields.")
        return command.method, dict(command.params)
    raise NotSupported(f"The agent has no {command.type.replace('_', ' ')}.")


def _fork(command: Fork, dialect: str) -> Message:
    if command.entry:
        return ("branch" if dialect == "omp" else "fork"), {"entryId": command.entry}
    if dialect == "pi":
        return "clone", {}
    raise UsageError(
        "omp goes on from before one of your messages: name it, s.fork(entry=…). "
        "s.call('get_branch_messages') lists them, each with its entryId."
    )
