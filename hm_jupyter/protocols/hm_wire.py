"""The shapes of the hm RPC wire, shared by our client (:mod:`hm_jupyter.protocols.hm`) and our built-in agent.

Names, the thirteen commands as strictly validated models (for the side that *reads* commands: an agent), the header
that every line from an agent carries, and the tables of fields. It deliberately does not know what any of it means:
no session, no state, no events of ours. The source is the document "RPC protocol" of hm; sections are named in the
docstrings as (hm RPC, "Section").
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypedDict

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

VERSION: Final = 1

APPROVE_MODES: Final = ("ask", "edits", "all")
"""Values of ``--approve`` (hm RPC, "Approvals")."""

EFFORTS: Final = ("off", "low", "medium", "high", "xhigh", "max", "")
"""Values of ``set_model``'s ``effort``; "" is the provider's own (hm RPC, "Commands", set_model)."""

EXPORT_FORMATS: Final = ("html", "md", "jsonl")

# ---- error texts ---------------------------------------------------------------------------------------------------

TURN_RUNNING: Final = "a turn is running; steer it or queue a follow-up"
"""Why a second prompt is refused: the one text the document gives word for word (hm RPC, "Commands")."""

NOT_JSON: Final = "that line is not JSON; send one JSON object per line"
NOT_AN_OBJECT: Final = 'a command is a JSON object such as {"type": "get_state"}'
NOTHING_TO_SEND: Final = "there is nothing to send: give text, images or both"
NOT_AN_IMAGE: Final = "an entry of images is not a PNG, JPEG, GIF or WebP picture in base64"
ONLY_WHEN_IDLE: Final = "a turn is running; wait for turn_end or send abort first"


def not_waiting_for_approval(call_id: str) -> str:
    """The error of an ``approve`` whose call does not wait for approval (hm RPC, "Commands", approve)."""
    return f"call {call_id!r} is not waiting for approval; get_state lists those that are"


def not_waiting_for_answer(call_id: str) -> str:
    """The error of an ``answer`` whose call does not wait for an answer (hm RPC, "Commands", answer)."""
    return f"call {call_id!r} is not waiting for an answer; get_state lists those that are"


# ---- commands: what goes into an agent -----------------------------------------------------------------------------


class _Part(BaseModel):
    """Validated without conversion (``1`` is no ``true``). Unknown fields are let be, and null means left out."""

    model_config = ConfigDict(strict=True, extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, value: Any) -> Any:
        return {k: v for k, v in value.items() if v is not None} if isinstance(value, dict) else value


class HmImage(_Part):
    """A picture in base64; its bytes tell the format (hm RPC, "Commands", images)."""

    data: str


class HmEdit(_Part):
    """A file to apply with its whole new content; ``path`` is relative to the workspace (hm RPC, "Approvals")."""

    path: str
    content: str


class _HmCommand(_Part):
    """``id`` is any JSON value and comes back unchanged; None stands for null and for left out alike."""

    id: Any = None


class _HmMessage(_HmCommand):
    text: str = ""
    images: list[HmImage] = Field(default_factory=list)

    @model_validator(mode="after")
    def _something(self) -> _HmMessage:
        if not self.text and not self.images:
            raise ValueError(NOTHING_TO_SEND)
        return self


class HmPrompt(_HmMessage):
    """Start a turn. Answered when it starts; fails while another runs."""

    type: Literal["prompt"]


class HmSteer(_HmMessage):
    """A message for after the tool call in progress; while idle it waits for the next prompt."""

    type: Literal["steer"]


class HmFollowUp(_HmMessage):
    """A message for when the turn has ended."""

    type: Literal["follow_up"]


class HmAbort(_HmCommand):
    """Stop the turn and its sub-agents; what waits is refused, what is queued is dropped."""

    type: Literal["abort"]


class HmApprove(_HmCommand):
    """Decide a waiting call. ``edits`` None: as planned; a list: exactly those files (hm RPC, "Approvals")."""

    type: Literal["approve"]
    call_id: str
    allow: bool
    for_session: bool = False
    note: str = ""
    edits: list[HmEdit] | None = None


class HmAnswer(_HmCommand):
    """Answer a waiting question (hm RPC, "Questions")."""

    type: Literal["answer"]
    call_id: str
    text: str


class HmSetMode(_HmCommand):
    """Change the mode from the next turn on."""

    type: Literal["set_mode"]
    mode: str = Field(min_length=1)


class HmSetModel(_HmCommand):
    """Change provider, model and/or effort from the next turn on.

    None is "left out". An empty ``provider`` keeps the current one, an empty ``model`` is the provider's configured
    one, an empty ``effort`` the provider's own; with only ``effort`` the model stays (hm RPC, "Commands", set_model).
    """

    type: Literal["set_model"]
    provider: str | None = None
    model: str | None = None
    effort: Literal["off", "low", "medium", "high", "xhigh", "max", ""] | None = None

    @model_validator(mode="after")
    def _something(self) -> HmSetModel:
        if self.provider is None and self.model is None and self.effort is None:
            raise ValueError("give provider, model and/or effort")
        return self


class HmCompact(_HmCommand):
    """Summarise the context. Answered when it is done; fails while a turn runs."""

    type: Literal["compact"]
    focus: str = ""


class HmGetState(_HmCommand):
    """Answered with ``session``, ``running``, ``pending_approvals``, ``pending_questions``."""

    type: Literal["get_state"]


class HmListSessions(_HmCommand):
    """Answered with ``sessions``, newest first: those of the workspace, or ``all``."""

    type: Literal["list_sessions"]
    all: bool = False


class HmFork(_HmCommand):
    """Go on in a fork from ``entry`` ("": the latest message). Only while idle."""

    type: Literal["fork"]
    entry: str = ""


class HmExport(_HmCommand):
    """Write the session to a file. Answered with ``path`` and ``redacted``."""

    type: Literal["export"]
    format: Literal["html", "md", "jsonl"] = "html"
    path: str = ""
    all_branches: bool = False


class HmGetHistory(_HmCommand):
    """The events of earlier turns (an extension): at most ``limit`` turns, the newest before turn ``before`` (1-based)."""

    type: Literal["get_history"]
    before: int | None = Field(default=None, ge=1)
    limit: int = Field(default=100, ge=1)


HmCommand = (
    HmPrompt | HmSteer | HmFollowUp | HmAbort | HmApprove | HmAnswer | HmSetMode | HmSetModel
    | HmCompact | HmGetState | HmListSessions | HmFork | HmExport | HmGetHistory
)  # fmt: skip

_MODELS: Final[dict[str, Any]] = {
    "prompt": HmPrompt,
    "steer": HmSteer,
    "follow_up": HmFollowUp,
    "abort": HmAbort,
    "approve": HmApprove,
    "answer": HmAnswer,
    "set_mode": HmSetMode,
    "set_model": HmSetModel,
    "compact": HmCompact,
    "get_state": HmGetState,
    "list_sessions": HmListSessions,
    "fork": HmFork,
    "export": HmExport,
}

COMMANDS: Final[tuple[str, ...]] = tuple(_MODELS)
"""The thirteen commands, in the document's order (hm RPC, "Commands")."""

_MORE: Final[dict[str, Any]] = {"get_history": HmGetHistory}
"""Commands beyond the document."""


def command_head(value: Any) -> tuple[Any, str]:
    """The ``id`` and ``command`` to put into the response to ``value``, whatever it is.

    The id is None (null) where there is none to read, and the command "" where the type cannot be read.
    """
    if not isinstance(value, dict):
        return None, ""
    name = value.get("type")
    return value.get("id"), name if isinstance(name, str) else ""


def parse_hm_command(value: Any) -> HmCommand:
    """The command in one JSON value.

    Raises:
        ValueError: it is not one. The text is for a response's ``error``; :func:`command_head` has the other fields.
    """
    if not isinstance(value, dict):
        raise ValueError(NOT_AN_OBJECT)
    name = value.get("type")
    if not isinstance(name, str):
        raise ValueError(f"the command has no type; it is one of {', '.join(COMMANDS)}")
    model = _MODELS.get(name) or _MORE.get(name)
    if model is None:
        raise ValueError(f"there is no command {name[:40]!r}; the commands are {', '.join(COMMANDS)}")
    try:
        command: HmCommand = model.model_validate(value)
    except ValidationError as error:
        raise ValueError(_in_words(name, error)) from None
    return command


def _in_words(name: str, error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
    what = first["msg"].removeprefix("Value error, ")
    what = (
        what.replace("Field required", "is missing")
        .replace("Input should", "should")
        .replace("String should", "should")
    )
    return f"{name}: {where} {what}" if where else f"{name}: {what}"


# ---- lines: what comes out of an agent -----------------------------------------------------------------------------


def event(type: str, session: str, time: str, /, **fields: Any) -> dict[str, Any]:
    """An event's JSON object with the header every line carries; ``time`` is a text (ISO 8601 from our agent)."""
    return {"v": VERSION, "type": type, "session": session, "time": time, **fields}


def response(
    session: str, time: str, /, *, id: Any, command: str, error: str | None = None, data: Any = None
) -> dict[str, Any]:
    """The response to a command: it failed when there is an ``error``; ``data`` only where something is returned."""
    line = event("response", session, time, id=id, command=command, ok=error is None)
    if error is not None:
        line["error"] = error
    elif data is not None:
        line["data"] = data
    return line


class HmUsage(TypedDict):
    """Tokens (counts) and ``cost`` in US dollars."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    cost: float


class _Effort(TypedDict, total=False):
    effort: str


class HmSession(_Effort):
    """A session in ``data``; ``context`` is about the tokens the next model call sends, ``effort`` only when set."""

    id: str
    title: str
    root: str
    mode: str
    provider: str
    model: str
    status: str
    running: bool
    saved: bool
    context: int
    usage: HmUsage


class HmListedSession(TypedDict):
    """An entry of ``list_sessions`` (hm RPC, "Commands")."""

    id: str
    title: str
    mode: str
    provider: str
    root: str
    parent_id: str
    fork_of: str
    status: str
    updated: str
    turns: int
    cost: float


class HmFileChange(TypedDict):
    """A whole-text change of one file (an extension): ``old`` null for a new file, ``new`` null for a deletion."""

    path: str
    old: str | None
    new: str | None


class HmChoice(TypedDict):
    """An offered answer of a question (an extension)."""

    value: str
    label: str
    help: str


HEADER: Final = ("v", "type", "session", "time")

AGENT: Final = "agent"
"""The field that says whose event it is (an extension): a sub-agent's. The main agent's events do not have it."""

EVENT_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "session_start": ("root", "mode", "provider", "model", "resumed", "prompt"),
    "message_start": ("role",),
    "message_end": ("role", "text"),
    "text_delta": ("text",),
    "tool_start": ("tool",),
    "tool_call": ("tool", "call_id", "summary", "input"),
    "tool_result": ("tool", "call_id", "text", "is_error"),
    "approval_needed": ("call_id", "tool", "category", "summary", "command", "paths"),
    "approval": ("call_id", "tool", "allow"),
    "question": ("call_id", "text"),
    "usage": ("input", "output", "cache_read", "cache_write", "cost"),
    "compaction_start": (),
    "compaction_end": (),
    "turn_end": (),
    "session_end": ("answer", "exit_code", "refused", "usage"),
    "response": ("id", "command", "ok", "error", "data"),
}
"""Every event the document names, with the fields it gives it besides :data:`HEADER`."""

EXTENSION_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "session_start": (
        "modes",
        "models",
        "title",
        "mode_help",
        "effort",
        "efforts",
        "providers",
        "context_size",
        "instructions",
        "earlier",
        "fork_of",
        "saved",
    ),
    "approval_needed": ("files", "cwd", "rule", "reason", "auto"),
    "approval": ("for_session", "note", "by", "files", "rule"),
    "tool_result": ("files", "exit_code", "refused", "outcome", "entry"),
    "tool_output": ("call_id", "text"),
    "thinking_delta": ("text",),
    "question": ("choices", "multi", "free"),
    "turn_end": ("stop_reason", "error"),
    "message_end": ("entry", "interrupted"),
    "compaction_start": ("focus",),
    "compaction_end": ("summary", "context", "error"),
    "retry": ("attempt", "of", "wait", "reason"),
    "plan": ("items",),
    "notice": ("level", "text"),
    "agent_start": ("agent", "call_id", "title", "background"),
    "agent_end": ("agent", "call_id", "text", "is_error", "outcome"),
}
"""What our agent adds and our client reads when present (docs/architecture.md, "hm RPC fields beyond the document")."""

DECIDED_BY: Final = ("user", "flag", "rule", "agent")
"""Values of ``approval``'s ``by`` (an extension): the client's approve, ``--approve``, a for-session or guard rule, or
the agent because the turn was stopped or nobody is there to answer."""
