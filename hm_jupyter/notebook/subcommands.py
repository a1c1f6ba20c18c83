"""The table of ``%hm`` subcommands: what each is called, takes and does. Parsing, help and completion all read it.

Also decides whether a line is a subcommand, a mistyped one, or a prompt. The functions that carry the subcommands out
are named here as ``module:function`` and imported when used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from ..errors import UsageError
from .options import Option

PROTOCOLS = ("acp", "acp1", "acp2", "hm", "omp", "pi")  # the catalog's, without loading it at every prompt

POLICIES = ("ask", "edits", "all", "deny")
EFFORTS = ("off", "low", "medium", "high", "xhigh", "max")

Group = Literal["sessions", "while a turn runs", "the agent", "this extension"]

_SESSION = Option("session", "which session (default: the current one)", "NAME", completes="session")
_ATTACH = Option("attach", "send a variable's value along (a table, an array, text, …)", "NAME", repeat=True,
                 completes="variable")  # fmt: skip
_IMAGE = Option("image", "send a picture: a variable (figure, PIL image, array, bytes) or a file", "NAME", repeat=True,
                completes="variable")  # fmt: skip
_APPROVE = Option("approve", "who decides what needs leave: you, or a policy", choices=POLICIES)
_ALONE = Option("when-alone", "a policy, or a variable with one, for when nobody can be asked", "POLICY",
                     completes="variable")  # fmt: skip

PROMPT_OPTIONS: tuple[Option, ...] = (
    _ATTACH,
    _IMAGE,
    _APPROVE,
    _ALONE,
    Option("background", "return at once; the cell's output goes on living until the turn is over"),
    Option("timeout", "stop the turn after so many seconds", "SECONDS", number=True),
    Option("as", "keep the Turn in this variable", "NAME"),
    _SESSION,
    Option("agent", "start this agent if no session is open under that name", "AGENT", completes="agent"),
)


@dataclass(frozen=True)
class Subcommand:
    """One subcommand. ``words``: how many words it takes at most; ``text``: it takes free text instead."""

    name: str
    usage: str
    summary: str
    run: str
    group: Group
    options: tuple[Option, ...] = ()
    words: int = 0
    text: bool = False
    details: str = ""
    examples: tuple[str, ...] = ()
    completes: str = ""


_TABLE = (
    Subcommand(
        "start", "[AGENT]", "start an agent and make its session the current one", "sub_sessions:start", "sessions",
        (
            Option("name", "what to call the session here", "NAME"),
            Option("cwd", "the folder it works in (default: the notebook's)", "DIR", completes="path"),
            Option("provider", "whose models", "NAME"),
            Option("model", "which model", "ID", completes="model"),
            Option("mode", "which mode to begin in", "NAME", completes="mode"),
            _APPROVE,
            _ALONE,
            Option("set", "a setting of the agent's own, from the start", "NAME=VALUE", repeat=True),
            Option("header", "sent with every request to an address; $NAME is taken from the environment", "NAME=VALUE",
                   repeat=True),
            Option("token", "the same for a bearer token: write $NAME, never the token", "$NAME"),
            Option("mcp", "a variable holding MCP servers the agent is to use", "NAME", completes="variable"),
            Option("folder", "a further folder it may work in", "DIR", repeat=True, completes="path"),
            Option("protocol", "what a command or an address speaks (default: acp)", choices=PROTOCOLS),
            Option("resume", "go on with a saved session", "ID", completes="saved"),
            Option("sign-in", "sign in by this method first", "METHOD"),
            Option("scenario", "what the demo model plays: a name, or a .toml file", "NAME"),
        ),
        words=1, completes="agent",
        details="AGENT is a name from %hm agents, the address of an agent that runs elsewhere (https://…, wss://…), or "
        "the name of a variable holding a command (a list). "
        "Without it, the setting agent decides, and else the environment's HM_JUPYTER_AGENT. A prompt with no session "
        "open starts one with the settings, so start is only needed for something else. A value written $NAME is the "
        "value of that variable; of a header or a token, the environment variable.",
        examples=("%hm start", "%hm start gemini --mode plan", "%hm start --cwd $folder --approve edits",
                  "%hm start https://host/acp --header X-Api-Key=$MY_KEY"),
    ),
    Subcommand(
        "agents", "", "the agents there are, what each needs, and the sessions open in this kernel", "sub_agents:agents",
        "sessions",
    ),
    Subcommand(
        "login", "[AGENT] [METHOD]", "sign in to an agent", "sub_sign_in:login", "sessions", (_SESSION,), words=2,
        completes="agent",
        details="AGENT is a name from %hm agents; without it, the current session's agent. Where there are several ways, "
        "it lists them. Some agents sign in by themselves (in a browser); for others their own program is run here, and "
        "what it asks is asked in the input line.",
        examples=("%hm login gemini", "%hm login gemini oauth-personal"),
    ),
    Subcommand(
        "logout", "", "have the agent forget who you are", "sub_sign_in:logout", "sessions", (_SESSION,),
    ),
    Subcommand(
        "use", "NAME", "make another open session the current one", "sub_sessions:use", "sessions",
        words=1, completes="session",
        details="NAME is a session's name from %hm agents, or a variable holding a Session of hm_jupyter.connect().",
    ),
    Subcommand(
        "stop", "[NAME]", "end a session and its agent", "sub_sessions:stop", "sessions",
        (Option("all", "end every session of this kernel"),), words=1, completes="session",
        details="To stop only what the agent is doing now, and keep it, use %hm abort (or the ■ button).",
    ),
    Subcommand(
        "sessions", "", "the sessions the agent has saved", "sub_sessions:saved", "sessions",
        (Option("all", "those of every folder"), _SESSION),
        details="Take one up again with %hm resume ID.",
    ),
    Subcommand(
        "resume", "[ID]", "go on with a saved session of the same agent", "sub_sessions:resume", "sessions",
        (Option("name", "what to call the session here", "NAME"), _SESSION), words=1, completes="saved",
        details="Without ID, with the latest. It becomes the current session; the one there is stays open.",
    ),
    Subcommand(
        "close", "ID", "have the agent free a session of its own", "sub_sessions:close", "sessions",
        (_SESSION,), words=1, completes="saved", details="It stays saved. To end a session of this kernel: %hm stop.",
    ),
    Subcommand(
        "delete", "ID", "have the agent delete a saved session, for good", "sub_sessions:delete", "sessions",
        (_SESSION,), words=1, completes="saved",
    ),
    Subcommand(
        "fork", "[TURN]", "go on as a copy of this session", "sub_sessions:fork", "sessions",
        (_SESSION,), words=1,
        details="After that turn of this session (its number; -1 is the latest), or from the latest message. What came "
        "later is not in the copy; the session as it was stays saved (%hm sessions). An entry's id will do too (turn.entry).",
    ),
    Subcommand(
        "export", "[PATH]", "write the session to a file", "sub_sessions:export", "sessions",
        (
            Option("format", "what to write, when PATH does not say", choices=("html", "md", "txt", "json", "jsonl", "ipynb")),
            Option("agent", "let the agent write its own export (html, md or jsonl) instead"),
            Option("all-branches", "with --agent: abandoned branches too"),
            Option("with-secrets", "leave in what is known or looks like a key or password"),
            _SESSION,
        ),
        words=1, completes="path",
        details="PATH ends in .html, .md, .txt, .json, .jsonl or .ipynb. Keys and passwords are taken out, and it says which.",
        examples=("%hm export run.html", "%hm export run.ipynb", "%hm export --agent --format jsonl"),
    ),
    Subcommand(
        "state", "", "the session: model, mode, folder, tokens, cost", "sub_sessions:state", "sessions", (_SESSION,),
    ),
    Subcommand(
        "steer", "TEXT", "tell the running turn something", "sub_turns:steer", "while a turn runs",
        (_IMAGE, _SESSION), text=True,
        details="It reaches the model after the tool call in progress. Said while nothing runs, it waits for the next "
        "prompt.",
        examples=("%hm steer use a log axis",),
    ),
    Subcommand(
        "follow", "TEXT", "queue a message for when the turn is over", "sub_turns:follow", "while a turn runs",
        (_IMAGE, _SESSION), text=True, examples=("%hm follow then write it to report.md",),
    ),
    Subcommand(
        "pending", "", "what waits for you: approvals and questions", "sub_turns:pending", "while a turn runs",
        (Option("wait", "wait so long for something to wait for you", "SECONDS", number=True), _SESSION),
    ),
    Subcommand(
        "approve", "[CALL]", "allow what waits", "sub_turns:approve", "while a turn runs",
        (
            Option("for-session", "and calls like it from now on"),
            Option("option", "one of the agent's own ways to decide, by number, id or name", "OPTION",
                   completes="option"),
            Option("only", "of an edit: apply only this file", "PATH", repeat=True),
            Option("note", "say something to the agent with it", "TEXT"),
            _SESSION,
        ),
        words=1, completes="call",
        details="CALL may be left out when one call waits.",
        examples=("%hm approve", "%hm approve call_2 --only stats.py"),
    ),
    Subcommand(
        "deny", "[CALL] [NOTE]", "refuse what waits, and say why", "sub_turns:deny", "while a turn runs",
        (_SESSION,), text=True, completes="call",
        details="CALL may be left out when one call waits. The note goes to the agent.",
        examples=("%hm deny run only the store's tests",),
    ),
    Subcommand(
        "answer", "[CALL] TEXT", "answer the agent's question", "sub_turns:answer", "while a turn runs",
        (
            Option("skip", "end the question without an answer"),
            Option("field", "of a form: the value of one field", "NAME=VALUE", repeat=True),
            _SESSION,
        ),
        text=True, completes="call",
        details="CALL may be left out when one question waits. A form is answered by its fields; --field may stand for "
        "each, and what has a default may be left out.",
        examples=("%hm answer sqlite", "%hm answer --field city=Oslo --field days=3"),
    ),
    Subcommand(
        "abort", "", "stop the turn; the agent lives on", "sub_turns:abort", "while a turn runs", (_SESSION,),
        details="What waits is refused and what is queued is dropped. The ■ button does the same to a waiting cell.",
    ),
    Subcommand(
        "stop-work", "ID", "stop one call, terminal or sub-agent, and nothing else", "sub_agent:stop_work",
        "while a turn runs", (_SESSION,), words=1, completes="work",
        details="Of an agent that can. %hm state lists what goes on in the background.",
    ),
    Subcommand(
        "mode", "[NAME]", "show or change the mode", "sub_agent:mode", "the agent", (_SESSION,), words=1,
        completes="mode", details="From the next turn on.",
    ),
    Subcommand(
        "model", "[ID]", "show or change the model", "sub_agent:model", "the agent",
        (Option("provider", "whose model it is", "NAME"), _SESSION), words=1, completes="model",
        details="From the next turn on.", examples=("%hm model", "%hm model approvals --provider demo"),
    ),
    Subcommand(
        "effort", "[LEVEL]", "show or change how hard the model thinks", "sub_agent:effort", "the agent", (_SESSION,),
        words=1, completes="effort", details=f"LEVEL is one of {', '.join(EFFORTS)}. From the next turn on.",
    ),
    Subcommand(
        "options", "", "the agent's own settings", "sub_agent:options", "the agent", (_SESSION,),
    ),
    Subcommand(
        "set", "NAME VALUE", "change one of them", "sub_agent:set_option", "the agent", (_SESSION,), words=2,
        completes="option-name", details="NAME and VALUE as %hm options lists them. Settings of this extension: %hm config.",
        examples=("%hm set effort high",),
    ),
    Subcommand(
        "commands", "", "the agent's slash commands", "sub_agent:commands", "the agent", (_SESSION,),
        details="One is sent as a prompt: %hm /name rest.",
    ),
    Subcommand(
        "compact", "", "summarise the context to make room", "sub_agent:compact", "the agent",
        (Option("focus", "what to keep in particular", "TEXT"), _SESSION),
        examples=("%hm compact --focus 'the schema of orders'",),
    ),
    Subcommand(
        "bash", "COMMAND", "run a shell command of yours at the agent", "sub_rpc:bash", "the agent",
        (
            Option("stop", "stop the one that runs"),
            Option("hidden", "the model is not to see it (pi)"),
            _SESSION,
        ),
        text=True,
        details="Of oh-my-pi and pi. Nobody is asked: it is your command. The model sees it and its output with your next "
        "prompt.",
        examples=("%hm bash git status", "%hm bash --stop"),
    ),
    Subcommand(
        "stats", "", "counts, tokens and cost as the agent has them", "sub_rpc:stats", "the agent", (_SESSION,),
        details="Of oh-my-pi and pi. Of any agent, as far as it tells: %hm state.",
    ),
    Subcommand(
        "name", "[TEXT]", "show or change the session's name in the agent's list", "sub_rpc:name", "sessions",
        (_SESSION,), text=True, details="Of oh-my-pi and pi.",
    ),
    Subcommand(
        "new-session", "", "begin anew, in the same process", "sub_rpc:new_session", "sessions", (_SESSION,),
        details="Of oh-my-pi and pi. The session as it was stays saved.",
    ),
    Subcommand(
        "branches", "", "the messages of yours before which the session can be forked", "sub_rpc:branches", "sessions",
        (_SESSION,), details="Of oh-my-pi and pi. Then: %hm fork ENTRY.",
    ),
    Subcommand(
        "call", "METHOD [JSON]", "send the agent a request of its own protocol, as it is", "sub_rpc:call", "the agent",
        (_SESSION,), text=True,
        details="For what has no command here. Nothing is checked; the answer is shown as JSON.",
        examples=("%hm call get_last_assistant_text", '%hm call set_auto_retry {"enabled": false}'),
    ),
    Subcommand(
        "config", "[NAME[=VALUE]]", "show or change settings", "config:run", "this extension", words=1,
        completes="setting",
        details="Settings hold for this kernel. To keep them, put c.HmMagics.NAME = VALUE in ipython_config.py. "
        "Keys and tokens are not settings: agents read them from the environment.",
        examples=("%hm config", "%hm config approve=edits"),
    ),
    Subcommand(
        "help", "[SUBCOMMAND]", "this page, or all about one subcommand", "help:run", "this extension", words=1,
        completes="subcommand",
    ),
)  # fmt: skip

SUBCOMMANDS: dict[str, Subcommand] = {s.name: s for s in _TABLE}

#: What people type from other tools' habits.
_ALSO = {
    "queue": "follow", "followup": "follow", "follow-up": "follow", "allow": "approve", "yes": "approve",
    "reject": "deny", "refuse": "deny", "cancel": "abort", "interrupt": "abort", "quit": "stop", "exit": "stop",
    "status": "state", "settings": "config", "switch": "use", "connect": "start", "list": "agents", "ls": "agents",
    "save": "export", "signin": "login", "sign-in": "login", "signout": "logout", "sign-out": "logout", "load": "resume",
    "option": "options", "slash": "commands", "remove": "delete",
}  # fmt: skip


def distance(a: str, b: str) -> int:
    """How many letters must be added, dropped, changed or swapped with a neighbour to make ``b`` of ``a``."""
    rows = [list(range(len(b) + 1))]
    for i, ca in enumerate(a, 1):
        row = [i]
        for j, cb in enumerate(b, 1):
            best = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (ca != cb))
            if i > 1 and j > 1 and ca == b[j - 2] and a[i - 2] == cb:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]


def meant(word: str) -> str:
    """The subcommand ``word`` probably stands for, or "": one slip in a short name, two in a long one, none in "set"."""
    lowered = word.lower().strip(":,")
    if lowered in SUBCOMMANDS:
        return lowered
    near = [
        (distance(lowered, name), not name.startswith(lowered), abs(len(name) - len(lowered)), name)
        for name in SUBCOMMANDS
    ]
    slips = {3: 0, 4: 1}  # "get" and "see" are no "set"
    fitting = [found for found in near if found[0] <= slips.get(len(found[-1]), 2)]
    return min(fitting)[-1] if fitting else ""


def check_prompt(text: str, *, names: Collection[str] = (), calls: Collection[str] = ()) -> None:
    """Refuse a prompt that is a mistyped subcommand; what reads as prose is let through.

    A line is taken for a mistake when its first word is nearly a subcommand *and* what follows would fit that one and
    is no sentence: nothing, as many words as it takes, options, session names, or the ids of waiting calls (``names``
    and ``calls``). Raises :class:`UsageError`, which says how to send it as a prompt all the same.
    """
    words = text.split()
    if not words or "\n" in text.strip():
        return
    head, tail = words[0], words[1:]
    plain = [w for i, w in enumerate(tail) if not w.startswith("--") and not (i and tail[i - 1].startswith("--"))]
    guess = "" if head.lower() in _ALSO else meant(head)
    if guess and len(plain) > SUBCOMMANDS[guess].words and any(w not in {*names, *calls} for w in plain):
        return
    if not guess and all(w in {*names, *calls} for w in plain):
        guess = _ALSO.get(head.lower(), "")
    if not guess:
        return
    shown = " ".join(words)
    again = " ".join([guess, *tail])
    raise UsageError(
        f"There is no subcommand {head!r}; did you mean %hm {again}? To send it as a prompt write %hm -- {shown}"
    )


def too_many(sub: Subcommand, words: Iterable[str]) -> UsageError:
    """What to say when a subcommand that takes few words is followed by many: it was probably a prompt."""
    line = " ".join([sub.name, *words])
    takes = f"takes {sub.usage}" if sub.words else "takes no words"
    return UsageError(f"%hm {sub.name} {takes}; to send this as a prompt write %hm -- {line}")
