"""What an agent tells us: one normalized event model for every protocol.

The shape follows ACP v2, the most general of the wires we speak: things have ids, an update is an upsert (a field
that is ``None`` is left as it was), streamed text is appended. Protocol adapters map their wire *up* into these
events; the reducer turns them into transcript operations. Nothing here knows a wire, a clock or a browser.

Events are plain slotted dataclasses and are treated as immutable once emitted (freezing them would triple the
cost of the hot path, one event per streamed token).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Union

Role = Literal["user", "assistant", "thought"]
ToolStatus = Literal[
    "drafting", "pending", "running", "paused", "completed", "failed", "denied", "skipped", "interrupted"
]
StopReason = Literal["end_turn", "cancelled", "max_steps", "max_tokens", "refusal", "error", "agent_exited"]
Level = Literal["info", "warning", "error"]
NoteWay = Literal["", "native", "denial", "next_message", "none"]


@dataclass(slots=True)
class Usage:
    """Tokens (counts) and cost (US dollars, ``None`` when the agent does not say) of one or more model calls."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float | None = None

    def __add__(self, other: Usage) -> Usage:
        cost = None if self.cost is None and other.cost is None else (self.cost or 0.0) + (other.cost or 0.0)
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            cost,
        )


@dataclass(slots=True)
class Image:
    """A picture: base64 ``data`` and its media type (``image/png``, …)."""

    data: str
    mime: str = "image/png"


@dataclass(slots=True)
class FileDiff:
    """One file an edit changes, with its whole text before and after.

    ``old`` is ``None`` for a new file *or* when the text before is not known (then ``partial`` is true and ``old`` /
    ``new`` are only the replaced passage); ``new`` is ``None`` for a deletion. ``path`` is as the agent wrote it.
    """

    path: str
    old: str | None = None
    new: str | None = None
    partial: bool = False


@dataclass(slots=True)
class ApprovalOption:
    """One way to decide an approval, in the agent's words, and what ``kind`` of decision it is.

    The kinds in ``_session`` last: beyond this call, and with some agents beyond this session (ACP, allow_always).
    """

    id: str
    name: str
    kind: Literal["allow_once", "allow_session", "deny_once", "deny_session"]


@dataclass(slots=True)
class Choice:
    """One offered answer of a question: ``value`` is sent, ``label`` and ``help`` are shown."""

    value: str
    label: str = ""
    help: str = ""
    group: str = ""


@dataclass(slots=True)
class FormField:
    """One field of a question that is a form (ACP, elicitation/create, mode "form").

    ``kind``: text, number, integer, boolean, select (one of ``choices``) or multi (several of them). ``format`` is one of
    email, uri, date, date-time or "". ``minimum`` / ``maximum`` bound a number, ``min_length`` / ``max_length`` a text in
    characters or a multi in items. ``default`` is to be filled in beforehand.
    """

    name: str
    kind: Literal["text", "number", "integer", "boolean", "select", "multi"] = "text"
    title: str = ""
    help: str = ""
    required: bool = False
    default: Any = None
    choices: list[Choice] = field(default_factory=list)
    format: str = ""
    pattern: str = ""
    minimum: float | None = None
    maximum: float | None = None
    min_length: int | None = None
    max_length: int | None = None


@dataclass(slots=True)
class ConfigOption:
    """A setting the agent offers for its session: ``kind`` select (``value`` a string of ``choices``) or boolean.

    ``category`` is mode, model, thought_level, … or "". A choice's ``group`` heads those that belong together.
    """

    id: str
    name: str
    kind: Literal["select", "boolean"] = "select"
    value: str | bool = ""
    help: str = ""
    category: str = ""
    choices: list[Choice] = field(default_factory=list)


@dataclass(slots=True)
class SlashCommand:
    """A command of the agent's, sent as the text ``/name rest``; ``hint`` tells what to write after it ("": nothing)."""

    name: str
    help: str = ""
    hint: str = ""


@dataclass(slots=True)
class AuthMethod:
    """A way to sign in. ``kind``: agent (it does it), terminal (its own program, run by hand), other (shown only)."""

    id: str
    name: str
    help: str = ""
    kind: Literal["agent", "terminal", "other"] = "agent"
    args: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Background:
    """Work that goes on after a turn's end: a tool call, a terminal or a sub-agent. ``cancelable``: it can be stopped."""

    kind: Literal["tool", "terminal", "subagent", "other"]
    id: str
    title: str = ""
    cancelable: bool = False


@dataclass(slots=True)
class Capabilities:
    """What the agent behind a session can do. The front-ends ask this, never which protocol it is.

    ``steer_delivery`` tells whether a steer reaches the running turn or waits, with us, for the next prompt.
    """

    steer: bool = False
    follow_up: bool = False
    deny_note: Literal["native", "next_message", "none"] = "none"
    edits: bool = False
    for_session: bool = False
    images: bool = False
    set_mode: bool = False
    set_model: bool = False
    effort: bool = False
    compact: bool = False
    list_sessions: bool = False
    fork: bool = False
    export: bool = False
    state: bool = False
    steer_delivery: Literal["native", "next_prompt"] = "native"
    audio: bool = False
    resources: bool = False
    resume: bool = False
    options: bool = False
    close_session: bool = False
    delete_session: bool = False
    sign_in: bool = False
    sign_out: bool = False
    cancel_work: bool = False
    raw_calls: bool = False


# ---- the session ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class SessionStarted:
    """The agent opened a session. A second one in the same process announces a fork (hm RPC, "Commands", fork)."""

    session_id: str
    root: str = ""
    mode: str = ""
    provider: str = ""
    model: str = ""
    resumed: bool = False


@dataclass(slots=True)
class StartRefused:
    """The agent opens no session. ``reason`` is for people; with ``sign_in`` it would after signing in by one of these."""

    reason: str
    sign_in: list[AuthMethod] = field(default_factory=list)


@dataclass(slots=True)
class SessionUpdated:
    """Fields of the session changed; keys are those of :class:`hm_jupyter.transcript.SessionState` (mode, model, …)."""

    changes: dict[str, Any]


@dataclass(slots=True)
class SessionEnded:
    """The agent said goodbye in an orderly way."""

    exit_code: int | None = None
    answer: str = ""
    refused: list[Any] = field(default_factory=list)
    usage: Usage | None = None


@dataclass(slots=True)
class AgentExited:
    """The agent is gone. ``reason`` is a sentence for people, ``stderr`` the last lines it wrote."""

    code: int | None = None
    reason: str = ""
    stderr: str = ""
    expected: bool = False


@dataclass(slots=True)
class LinkChanged:
    """The connection to a remote agent was lost (``up`` false; ``reason`` for people) or is there again."""

    up: bool
    reason: str = ""


# ---- turns and messages --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class TurnStarted:
    """A turn began: by our prompt (``command_id`` names it) or, with ``command_id`` empty, by the agent itself.

    ``earlier``: it is told again and was before we came; when, nobody says.
    """

    command_id: str = ""
    earlier: bool = False


@dataclass(slots=True)
class TurnEnded:
    """The turn is over. ``error`` is a sentence for people when ``stop_reason`` is ``error`` or ``agent_exited``."""

    stop_reason: StopReason = "end_turn"
    error: str = ""


@dataclass(slots=True)
class MessageSent:
    """We sent a message (emitted by the controller, not by an adapter). ``command_id`` is the id of its command."""

    command_id: str
    text: str
    delivery: Literal["prompt", "steer", "follow_up"] = "prompt"
    images: list[Image] = field(default_factory=list)
    attachments: list[str] = field(default_factory=list)


@dataclass(slots=True)
class MessagesDropped:
    """Messages that were queued will never reach the model: all of them (``command_ids`` None) or the named ones."""

    command_ids: list[str] | None = None


@dataclass(slots=True)
class TextAppended:
    """The next piece of a message's text. The hot event: one per streamed token."""

    message_id: str
    text: str
    role: Role = "assistant"


@dataclass(slots=True)
class MessageUpdated:
    """A message by id: created if new; ``text`` (if not None) replaces what was streamed; ``final`` closes it.

    For ``role`` "user" it means *the agent has read this message*: the reducer matches it with the oldest message we
    sent and the agent has not yet read, by text, and adds an entry only where there is none. ``entry`` is what the agent
    calls it, where a session may be forked (``Fork``).
    """

    message_id: str
    role: Role = "assistant"
    text: str | None = None
    final: bool = False
    images: list[Image] | None = None
    entry: str = ""


# ---- tools, approvals, questions -----------------------------------------------------------------------------------


@dataclass(slots=True)
class ToolCallUpdated:
    """A tool call, upserted by ``call_id``. ``output`` replaces, :class:`ToolOutputAppended` appends.

    ``category`` is one of shell, read, edit, search, fetch, ask, plan, agent, other. ``replaces`` is the call id under
    which a draft of this call was announced before its real id was known. ``parent`` is the call id of the sub-agent
    (itself a call, of category agent) that makes this one. ``locations``: paths it touches, ``path`` or ``path:line``.
    ``cancelable``: this call alone can be stopped (``CancelWork``).
    """

    call_id: str
    name: str | None = None
    title: str | None = None
    category: str | None = None
    status: ToolStatus | None = None
    input: Any = None
    output: str | None = None
    diffs: list[FileDiff] | None = None
    images: list[Image] | None = None
    exit_code: int | None = None
    replaces: str | None = None
    parent: str | None = None
    locations: list[str] | None = None
    cancelable: bool | None = None


@dataclass(slots=True)
class ToolOutputAppended:
    """The next piece of a running tool's output (may hold ANSI escapes)."""

    call_id: str
    text: str


@dataclass(slots=True)
class ApprovalRequested:
    """A tool call needs leave. ``auto`` is true when the agent decides it itself (hm RPC, "Approvals", last sentence).

    ``command`` is the exact text that will run, ``cwd`` where, ``paths`` what it touches, ``diffs`` what an edit would
    change, ``rule`` what "allow for session" would allow, verbatim ("" when the call does not offer it or the agent
    does not say), ``reason`` why it asks. ``deny_note`` is how a note on this one travels, where that is not as the
    session's capability says: with either decision (native), with a denial alone, as the next message, not at all.
    """

    request_id: str
    call_id: str
    tool: str = ""
    category: str = ""
    summary: str = ""
    command: str = ""
    cwd: str = ""
    paths: list[str] = field(default_factory=list)
    diffs: list[FileDiff] = field(default_factory=list)
    input: Any = None
    rule: str = ""
    reason: str = ""
    for_session: bool = False
    options: list[ApprovalOption] = field(default_factory=list)
    auto: bool = False
    deny_note: NoteWay = ""


@dataclass(slots=True)
class ApprovalResolved:
    """An approval is decided or gone. ``by``: you (a person), policy (ours), agent (its mode or rules).

    ``chosen``: a person took an option of which we do not know whether it allows the call or not. It counts as neither.

    ``option`` is the name of the agent's option that was chosen (:class:`ApprovalOption`), "" where it offered none.
    """

    request_id: str
    outcome: Literal["allowed", "denied", "chosen", "withdrawn", "interrupted"]
    by: Literal["you", "policy", "agent"] = "agent"
    via: str = ""
    note: str = ""
    for_session: bool = False
    files: list[str] | None = None
    edited: list[str] | None = None
    option: str = ""


@dataclass(slots=True)
class QuestionRequested:
    """The agent asks the person: free text, or ``choices`` (several when ``multi``; text too when ``free``).

    With ``form`` it is a form (answered by ``Answer.fields``), with ``url`` a page to open: shown whole, opened by the
    person's click only; answering means consent, not that it is done. ``source`` names who asks, where that is known.
    """

    request_id: str
    call_id: str
    text: str
    choices: list[Choice] = field(default_factory=list)
    multi: bool = False
    free: bool = True
    form: list[FormField] = field(default_factory=list)
    url: str = ""
    source: str = ""


@dataclass(slots=True)
class QuestionResolved:
    """A question is answered or gone."""

    request_id: str
    outcome: Literal["answered", "skipped", "withdrawn", "interrupted"]
    answer: str = ""
    by: Literal["you", "policy", "agent"] = "you"
    via: str = ""


@dataclass(slots=True)
class DecisionSent:
    """Our decision or answer is on its way (said by the controller); ``sent`` false: it failed, it waits again."""

    request_id: str
    sent: bool = True


# ---- the rest ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class UsageReported:
    """Usage of one model call (added up for the turn and the session)."""

    usage: Usage


@dataclass(slots=True)
class PlanUpdated:
    """A plan of the agent's, whole.

    ``items`` are ``{"text": str, "status": "pending" | "active" | "done" | "cancelled"}``, with ``"priority"`` ("high",
    "medium", "low") where the agent gives one; ``markdown`` is a plan in prose. ``plan_id`` tells several apart.
    """

    items: list[dict[str, str]]
    plan_id: str = ""
    markdown: str = ""


@dataclass(slots=True)
class PlanRemoved:
    """That plan is no longer one."""

    plan_id: str = ""


@dataclass(slots=True)
class CompactionStarted:
    """The agent is summarising its context."""

    focus: str = ""


@dataclass(slots=True)
class CompactionEnded:
    """The context is summarised (or could not be: ``error``)."""

    summary: str = ""
    error: str = ""


@dataclass(slots=True)
class NoticeRaised:
    """Something a person should know: a bad line, a failed command, a warning. ``text`` says what to do next."""

    text: str
    level: Level = "warning"
    detail: str = ""


@dataclass(slots=True)
class UnknownReceived:
    """A well-formed message of a kind we do not know: kept raw, shown generically, never fatal."""

    name: str
    raw: Any


@dataclass(slots=True)
class CommandAnswered:
    """The agent answered a command. It wakes whoever waits for ``command_id`` and does not touch the transcript."""

    command_id: str
    ok: bool
    data: Any = None
    error: str = ""


Event = Union[
    SessionStarted, StartRefused, SessionUpdated, SessionEnded, AgentExited, LinkChanged,
    TurnStarted, TurnEnded, MessageSent, MessagesDropped, TextAppended, MessageUpdated,
    ToolCallUpdated, ToolOutputAppended, ApprovalRequested, ApprovalResolved, QuestionRequested, QuestionResolved,
    DecisionSent,
    UsageReported, PlanUpdated, PlanRemoved, CompactionStarted, CompactionEnded, NoticeRaised, UnknownReceived, CommandAnswered,
]  # fmt: skip
