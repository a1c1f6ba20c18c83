"""What we tell an agent: commands, in the imperative. The browser may send the same ones, so they are validated.

Every command has an ``id``; the same id twice is one command (a click that travels by two routes is harmless).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Union
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr, TypeAdapter


def new_id() -> str:
    """A command id, unique among all commands of all front-ends."""
    return uuid4().hex[:12]


class _Command(BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: str = Field(default_factory=new_id, min_length=1, max_length=64)


class ImageData(BaseModel):
    """A picture to send: base64 ``data`` of a PNG, JPEG, GIF or WebP file, and its media type."""

    model_config = ConfigDict(extra="forbid")
    data: str
    mime: str = "image/png"


class FileEdit(BaseModel):
    """A file to apply in place of what the call planned: its whole new ``content`` (hm RPC, "Approvals", edits)."""

    model_config = ConfigDict(extra="forbid")
    path: str
    content: str


class _Message(_Command):
    text: str = ""
    images: list[ImageData] = Field(default_factory=list)
    attachments: list[str] = Field(default_factory=list, description="names shown beside the message")
    shown: str | None = Field(default=None, description="what a person sees of it, where the text carries attachments")


class Prompt(_Message):
    """Start a turn. Refused while one runs."""

    type: Literal["prompt"] = "prompt"


class Steer(_Message):
    """Tell the running turn something: it reaches the model after the tool call in progress."""

    type: Literal["steer"] = "steer"


class FollowUp(_Message):
    """Queue a message for when the turn is over."""

    type: Literal["follow_up"] = "follow_up"


class Abort(_Command):
    """Stop the turn: what waits is refused, what is queued is dropped."""

    type: Literal["abort"] = "abort"


class Approve(_Command):
    """Decide an approval. ``edits`` None applies the call as planned; a list applies exactly those files."""

    type: Literal["approve"] = "approve"
    request_id: str
    allow: bool
    for_session: bool = False
    note: str = ""
    edits: list[FileEdit] | None = None
    option_id: str = ""


class Answer(_Command):
    """Answer a question; a form by its ``fields``. ``skip`` ends it without an answer."""

    type: Literal["answer"] = "answer"
    request_id: str
    text: str = ""
    skip: bool = False
    fields: dict[str, Any] | None = None


class SetMode(_Command):
    """Change the mode from the next turn on."""

    type: Literal["set_mode"] = "set_mode"
    mode: str


class SetModel(_Command):
    """Change provider, model and/or effort from the next turn on. ``None`` leaves a field out (hm RPC, "Commands")."""

    type: Literal["set_model"] = "set_model"
    provider: str | None = None
    model: str | None = None
    effort: str | None = None


class SetOption(_Command):
    """Change a setting the agent offers (``SessionState.options``)."""

    type: Literal["set_option"] = "set_option"
    option: str
    value: StrictBool | StrictStr


class CancelWork(_Command):
    """Stop one tool call, terminal or sub-agent, and nothing else."""

    type: Literal["cancel_work"] = "cancel_work"
    kind: Literal["tool", "terminal", "subagent"] = "tool"
    work: str


class CloseSession(_Command):
    """Have the agent free one of its sessions (it stays saved, where the agent saves)."""

    type: Literal["close_session"] = "close_session"
    session: str


class DeleteSession(_Command):
    """Have the agent delete a saved session for good."""

    type: Literal["delete_session"] = "delete_session"
    session: str


class SignIn(_Command):
    """Sign in by one of the agent's methods (``SessionState.auth``)."""

    type: Literal["sign_in"] = "sign_in"
    method: str


class SignOut(_Command):
    """Forget the sign-in."""

    type: Literal["sign_out"] = "sign_out"


class CallAgent(_Command):
    """A request of the agent's own protocol, sent as it is (an extension, something unstable); its result is ``data``."""

    type: Literal["call_agent"] = "call_agent"
    method: str
    params: dict[str, Any] = Field(default_factory=dict)


class Compact(_Command):
    """Summarise the context, with an optional focus."""

    type: Literal["compact"] = "compact"
    focus: str = ""


class GetState(_Command):
    """Ask the agent for its state."""

    type: Literal["get_state"] = "get_state"


class ListSessions(_Command):
    """List the saved sessions of the workspace, or ``all``."""

    type: Literal["list_sessions"] = "list_sessions"
    all: bool = False


class Fork(_Command):
    """Go on as a fork from ``entry``, or from the latest message."""

    type: Literal["fork"] = "fork"
    entry: str = ""


class Export(_Command):
    """Have the *agent* write its session to a file."""

    type: Literal["export"] = "export"
    format: Literal["html", "md", "jsonl"] | None = None
    path: str = ""
    all_branches: bool = False


Command = Annotated[
    Union[
        Prompt, Steer, FollowUp, Abort, Approve, Answer, SetMode, SetModel,
        SetOption, CancelWork, CloseSession, DeleteSession, SignIn, SignOut, CallAgent,
        Compact, GetState, ListSessions, Fork, Export,
    ],
    Field(discriminator="type"),
]  # fmt: skip

_adapter: TypeAdapter[Any] | None = None


def parse_command(value: Any) -> Command:
    """A command from JSON-like data (a browser's message). Raises ``pydantic.ValidationError`` when it is not one."""
    global _adapter
    if _adapter is None:
        _adapter = TypeAdapter(Command)
    command: Command = _adapter.validate_python(value)
    return command
