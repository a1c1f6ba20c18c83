"""The widget's golden scenes, made with the Python classes: ``python tests/golden/widget/scenes.py`` writes the JSON files.

Each file is one scene: ``start`` (a snapshot), ``batches`` (ops messages, maybe none) and ``end`` (what a snapshot says after
them). The TypeScript store must get from ``start`` to ``end``; the development page and the screenshots draw them.
One story throughout: a join of orders and customers loses 312 rows because their keys differ in type.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hm_jupyter.events import (
    ApprovalOption,
    Background,
    Capabilities,
    Choice,
    ConfigOption,
    FileDiff,
    FormField,
    Image,
    SlashCommand,
    Usage,
)
from hm_jupyter.transcript import (
    Append,
    CompactionEntry,
    Decision,
    MessageEntry,
    NoticeEntry,
    Op,
    PendingApproval,
    PendingQuestion,
    PlanEntry,
    Put,
    QuestionEntry,
    Rope,
    State,
    ThoughtEntry,
    ToolEntry,
    Transcript,
    TurnEntry,
    UnknownEntry,
    UserEntry,
    to_json,
)

HERE = Path(__file__).parent
T0 = 1_800_000_000.0
CAPS = Capabilities(
    steer=True, follow_up=True, deny_note="native", edits=True, for_session=True, images=True, set_mode=True, set_model=True
)
USAGE = Usage(input=15_200, output=3_000, cost=0.07)

ANSWER = """The join drops **312 of 10,312** rows because `customer_id` is an integer in `orders` and text in `customers`. \
Reading the CSV removed the leading zeros, so those ids match nothing:

* every lost row has an id below `10000000`;
* none of them is missing in the CRM, see [the docs](https://pandas.pydata.org/docs).

| source | rows | distinct ids | dtype | lost |
|---|---|---|---|---|
| orders.csv | 10,312 | 4,118 | int64 | 312 |
| customers.parquet | 5,004 | 5,004 | string | 0 |

This keeps every row, and stays correct when an id has letters in it:

```python
def normalise_key(s: pd.Series) -> pd.Series:
    \"\"\"Ids as text, zero-padded to 8, as the CRM writes them.\"\"\"
    return s.astype("string").str.strip().str.zfill(8)

orders["customer_id"] = normalise_key(orders["customer_id"])
merged = orders.merge(customers, on="customer_id", how="left")  # 10,312 rows
```

I will run the tests next, then write it to `src/join.py`"""

FAILED = (
    "\x1b[1m================ FAILURES ================\x1b[0m\n\x1b[1;31m____________ test_keeps_all_rows ____________\x1b[0m\n"
    ">       assert len(merged) == len(orders)\n\x1b[31mE       assert 10000 == 10312\x1b[0m\n\n"
    "\x1b[36mtests/test_join.py\x1b[0m:\x1b[34m18\x1b[0m: AssertionError\n"
    "\x1b[33m1 warning\x1b[0m in \x1b[35m0.84s\x1b[0m: \x1b[1;31m1 failed\x1b[0m, \x1b[32m2 passed\x1b[0m\n"
)
LOAD_OLD = (
    "import pandas as pd\n\n\n" + "".join(f"COLUMN_{i} = {i}\n" for i in range(25)) + "def load_orders(path):\n    return pd.read_csv(\n"
    '        path, dtype={"customer_id": int},\n        parse_dates=["ordered_at"],\n    )\n'
)
LOAD_NEW = LOAD_OLD.replace('"customer_id": int', '"customer_id": "string"')
JOIN_OLD = (
    '"""Joins."""\n\nimport pandas as pd\n\n\n\n\ndef merge_orders(orders, customers):\n    return orders.merge(\n        customers,\n'
    '        on="customer_id", how="inner",\n    )\n'
)
JOIN_NEW = (
    '"""Joins."""\n\nimport pandas as pd\n\n\n\n\ndef merge_orders(orders, customers):\n'
    '    orders = orders.assign(customer_id=normalise_key(orders["customer_id"]))\n    return orders.merge(\n        customers,\n'
    '        on="customer_id", how="left", validate="m:1",\n    )\n\n\ndef normalise_key(s):\n'
    '    return s.astype("string").str.strip().str.zfill(8)\n'
)
DIFFS = [
    FileDiff("src/load.py", LOAD_OLD, LOAD_NEW),
    FileDiff("src/join.py", JOIN_OLD, JOIN_NEW),
    FileDiff("notes/lost_rows.md", None, "# Lost rows\n312 orders had ids without their leading zeros.\n"),
]


class Scene:
    """A transcript to fill, and the operations to record from ``play`` on."""

    def __init__(self, **state: Any) -> None:
        self.transcript = Transcript()
        given = {
            "session_id": "S1", "agent": "hm", "root": "~/revenue", "mode": "ask", "modes": ["ask", "edits", "all"], "provider": "demo",
            "model": "sonnet-4.5", "models": ["sonnet-4.5", "opus-4.1"], "status": "working", "turn": 1, "usage": USAGE,
            "capabilities": to_json(CAPS),
        }  # fmt: skip
        for name, value in {**given, **state}.items():
            setattr(self.transcript.state, name, value)
        self.batches: list[list[Op]] = []
        self.elapsed = 42.0
        self.route: dict[str, Any] | None = None

    def put(self, *entries: Any) -> Scene:
        for entry in entries:
            self.transcript.apply(Put(entry))
        return self

    def play(self, *ops: Op) -> Scene:
        self.batches.append(list(ops))
        return self

    def pending(self, *items: Any) -> Scene:
        self.transcript.state.pending = list(items)
        self.transcript.state.status = "waiting"
        return self

    def lost(self, why: str) -> Scene:
        """The connection to the agent is gone for now."""
        self.transcript.state.link, self.transcript.state.status = why, "offline"
        return self

    def to_json(self) -> dict[str, Any]:
        now = T0 + self.elapsed
        start = snapshot(self.transcript, 7, now)
        copied = copy.deepcopy(self.transcript)
        batches = []
        for i, ops in enumerate(self.batches):
            batches.append({"t": "ops", "seq": 8 + i, "ops": to_json(ops)})
            for op in copy.deepcopy(ops):
                copied.apply(op)
        out = {"turn": 1, "start": start, "batches": batches, "end": snapshot(copied, 7 + len(self.batches), now)}
        if self.route:
            out["route"] = self.route
        return out


def snapshot(transcript: Transcript, seq: int, now: float) -> dict[str, Any]:
    entries = [to_json(e) for e in transcript.entries.values()]
    return {"t": "snapshot", "seq": seq, "state": to_json(transcript.state), "entries": entries, "now": now}


def turn(**fields: Any) -> TurnEntry:
    return TurnEntry("t1", 1, model="sonnet-4.5", mode="ask", started=T0, **fields)


def prompt(text: str = "why does the join drop 312 rows? show me, then fix it") -> UserEntry:
    return UserEntry("u1", 1, text, status="read", at=T0)


def tool(id: str, name: str, category: str, input: Any, status: Any = "completed", *, at: float = 1, took: float | None = 0.1, **fields: Any) -> ToolEntry:
    output = Rope(fields.pop("output", ""))
    ended = None if took is None else T0 + at + took
    return ToolEntry(id, 1, f"call-{id}", name, fields.pop("title", ""), category, status, input, output, started=T0 + at, ended=ended, **fields)


def say(id: str, text: str, open: bool = False) -> MessageEntry:
    return MessageEntry(id, 1, Rope(text), open=open)


READ = tool("r1", "read_file", "read", {"path": "src/join.py"})
SEARCH = tool("s1", "search", "search", {"pattern": "customer_id"}, output="src/join.py:12\nsrc/load.py:31\n")
THOUGHT = ThoughtEntry(
    "th1", 1, Rope("The left side has 10,312 rows and the inner join returns 10,000.\nCompare the dtypes first."),
    open=False, started=T0, ended=T0 + 8,
)  # fmt: skip


def approval(request_id: str = "a1", **fields: Any) -> PendingApproval:
    given: dict[str, Any] = {
        "call_id": f"call-{request_id}", "turn": 1, "tool": "shell", "category": "shell", "cwd": "~/revenue", "since": T0 + 30,
        "reason": "mode is ask, and no rule allows `python -m pytest`",
    }  # fmt: skip
    return PendingApproval(request_id, **{**given, **fields})


COMMAND = approval(
    command="python -m pytest tests/test_join.py -q --maxfail=1",
    summary="Runs the join tests to see them fail before I change anything.",
    rule="shell: python -m pytest tests/*",
    for_session=True,
)
EDIT = approval(
    "e1", tool="edit_file", category="edit", diffs=DIFFS, paths=[d.path for d in DIFFS], rule="edit: ~/revenue/**", for_session=True,
    reason="mode is ask: every edit needs your leave",
)  # fmt: skip
SCRIPT = """set -euo pipefail
python - <<'PY'
import pandas as pd
df = pd.read_csv("data/orders.csv", dtype={"customer_id": "string"})
df.to_parquet("data/orders.parquet")
PY
git add data/orders.parquet && git commit -m 'orders as parquet, ids as text' && curl -fsS -X POST https://ci.example.org/hooks/rebuild?project=revenue\\&ref=main"""
HIDDEN = "rm -r build/\u202estluser/\u2066 && p\u0430ip install\u200b pandas\u00a0\"pyarrow>=17\"\x1b[2K"
CHOICES = [
    Choice("parquet", "Parquet file", "Keeps dtypes, 4x smaller, one file beside the CSV"),
    Choice("sqlite", "SQLite table", "Query it from other tools; needs a schema"),
    Choice("csv", "Keep CSV", "Nothing changes on disk; dtypes must be given on every read"),
]


def waiting_tool(p: PendingApproval) -> ToolEntry:
    return ToolEntry(f"w-{p.request_id}", 1, p.call_id, p.tool, "", p.category, "pending", {"command": p.command}, started=None)


def question(request_id: str, text: str, **fields: Any) -> PendingQuestion:
    return PendingQuestion(request_id, f"call-{request_id}", 1, text, since=T0 + 37, **fields)


def steered() -> Scene:
    s = Scene().put(turn(), prompt(), READ, say("m1", "Both tables load. I will plot the lost rows by region now."))
    s.put(UserEntry("u2", 1, "use a log axis", "steer", "read", at=T0 + 29))
    s.put(tool("p1", "shell", "shell", {"command": "python plot_lost.py"}, "running", at=39, took=None))
    s.put(UserEntry("u3", 1, "then write the result to report.md", "follow_up", "queued", at=T0 + 30))
    return s.put(UserEntry("u4", 1, "and plot the revenue by month again with the rows that were missing, same axes as before", "follow_up", "queued", at=T0 + 31))


def tools() -> Scene:
    items = [
        ("Find where the rows are lost", "done"), ("Reproduce with a failing test", "done"), ("Normalise the key on both sides", "active"),
        ("Run the whole test suite", "pending"), ("Summarise the change in report.md", "pending"),
    ]  # fmt: skip
    long = "customer_id  region  orders\n" + "".join(f"{i:08d}     north       {i % 13}\n" for i in range(318))
    s = Scene().put(turn(), prompt(), PlanEntry("pl1", 1, [{"text": t, "status": st} for t, st in items]))
    s.put(READ, SEARCH, tool("r2", "read_file", "read", {"path": "src/load.py"}), tool("r3", "read_file", "read", {"path": "src/export.py"}))
    s.put(tool("x1", "shell", "shell", {"command": "pytest tests/test_join.py -q"}, "failed", took=0.9, output=FAILED))
    s.put(tool("x2", "shell", "shell", {"command": "python show_lost.py"}, took=1.4, output=long))
    s.put(tool("x3", "fetch_schema", "other", {"table": "orders", "columns": ["customer_id", "region"]}, took=0.4, output="ok"))
    s.put(tool("d1", "edit_file", "edit", {"path": "src/load.py"}, took=0.1, diffs=DIFFS,
               decision=Decision("allowed", "you", "control", files=["src/load.py", "src/join.py"])))  # fmt: skip
    s.put(tool("d2", "shell", "shell", {"command": "git push"}, "denied", took=0, decision=Decision("denied", "you", "control", "I push by hand.")))
    s.put(tool("d3", "shell", "shell", {"command": "python -m pytest tests/test_load.py"}, took=0.9,
               decision=Decision("allowed", "policy", rule="shell: python -m pytest tests/*")))  # fmt: skip
    s.put(tool("d4", "shell", "shell", {"command": "make docs"}, "skipped", took=0, decision=Decision("withdrawn")))
    s.put(QuestionEntry("q0", 1, "call-q0", "Where should the cleaned orders be stored?", CHOICES, "answered", "parquet"))
    s.put(CompactionEntry("c1", 1, "done", "The join loses rows because of dtypes."))
    out = "\x1b[32mtests/test_join.py::test_keeps_all_rows PASSED\x1b[0m      [ 33%]\n\x1b[32mtests/test_join.py::test_zero_padding PASSED\x1b[0m        [ 66%]\ntests/test_join.py::test_letters_in_id "
    return s.put(tool("x4", "shell", "shell", {"command": "pytest tests/test_join.py -v"}, "running", at=39.7, took=None, output=out))


def streaming() -> Scene:
    s = Scene().put(turn(), prompt(), THOUGHT, READ, SEARCH, say("m1", ANSWER[:40], open=True))
    for i in range(40, len(ANSWER), 97):
        s.play(Append("m1", "text", ANSWER[i : i + 97]))
    return s


def whole_turn() -> Scene:
    """Every kind of operation on every kind of entry: from nothing to a finished turn."""
    s = Scene(status="ready", turn=0, usage=Usage())
    s.play(Put(turn()), Put(prompt()), State({"status": "working", "turn": 1}))
    s.play(Put(ThoughtEntry("th1", 1, started=T0)), Append("th1", "text", "First "), Append("th1", "text", "the dtypes."))
    s.play(Put(THOUGHT), Put(say("m1", "", open=True)))
    s.play(Append("m1", "text", "I look at *both*"), Append("m1", "text", " sides.\n\n```py\n1"))
    s.play(Put(say("m1", "I look at *both* sides.\n\n```py\n1\n```")), Put(waiting_tool(COMMAND)), State({"status": "waiting", "pending": [COMMAND]}))
    running = tool("w-a1", "shell", "shell", {"command": COMMAND.command}, "running", took=None, decision=Decision("allowed", "you", "control"))
    s.play(State({"status": "working", "pending": []}), Put(running))
    s.play(Append("w-a1", "output", "\x1b[32mok"), Append("w-a1", "output", "\x1b[0m \u20ac \U0001f600\n"))
    s.play(Put(UserEntry("u2", 1, "use a log axis", "steer", at=T0 + 5)), State({"usage": USAGE, "context": 21_000}))
    s.play(Put(tool("w-a1", "shell", "shell", {"command": COMMAND.command}, "completed", took=2, output="\x1b[32mok\x1b[0m \u20ac \U0001f600\n", decision=Decision("allowed", "you", "control"))))
    s.play(Put(turn(status="finished", stop_reason="end_turn", usage=USAGE, ended=T0 + 42)), State({"status": "ready"}))
    return s


def working(*entries: Any, **state: Any) -> Scene:
    return Scene(**state).put(turn(), prompt(), *entries)


def no_edits() -> Scene:
    caps = Capabilities(steer=True, deny_note="next_message")
    one = approval("e2", tool="edit", category="edit", diffs=DIFFS[:1], paths=["src/load.py"], reason="")
    return working(agent="gemini", capabilities=to_json(caps)).pending(one)


def route(scene: Scene, **route: Any) -> Scene:
    scene.route = route
    return scene


INTERRUPTED = [
    READ, tool("x5", "shell", "shell", {"command": "pytest tests -q"}, "interrupted", took=12.0),
    tool("x6", "edit_file", "edit", {"path": "src/join.py"}, "interrupted", took=0, decision=Decision("interrupted")),
    MessageEntry("m1", 1, Rope("The remaining step is to run the whole"), open=False, interrupted=True),
]  # fmt: skip
STDERR = "Traceback (most recent call last):\n  File \"hm/agents/serve.py\", line 212, in step\n    reply = await self.provider.next()\n\x1b[31mMemoryError\x1b[0m: context buffer, 2.1 GB\nkilled\n"

# ---- what agents of other protocols offer besides ---------------------------------------------------------------------------

ACP = Capabilities(
    steer=True, follow_up=True, deny_note="next_message", images=True, set_mode=True, set_model=True, steer_delivery="next_prompt",
    options=True, cancel_work=True,
)  # fmt: skip
LABELS = {"default": "Always ask", "acceptEdits": "Accept edits", "plan": "Plan", "opus": "Opus 4.1", "sonnet": "Sonnet 4.5"}


def acp(*entries: Any, **state: Any) -> Scene:
    """A session with an agent that has options, settings and commands of its own."""
    given: dict[str, Any] = {
        "agent": "Claude Code", "mode": "default", "modes": ["default", "acceptEdits", "plan"], "provider": "", "model": "sonnet",
        "models": ["sonnet", "opus"], "labels": LABELS, "capabilities": to_json(ACP), "protocol": "ACP v1, stdio", "context": 31_400,
        "context_size": 200_000, "usage": Usage(), "spent": "$0.12",
    }  # fmt: skip
    return Scene(**{**given, **state}).put(TurnEntry("t1", 1, model="sonnet", mode="default", started=T0), prompt(), *entries)


OFFERED = [
    ApprovalOption("always", "Always allow python -m pytest in this project", "allow_session"),
    ApprovalOption("once", "Yes", "allow_once"),
    ApprovalOption("risk", "Yes, and judge later calls by their risk", "allow_once"),
    ApprovalOption("reject", "No, and tell the agent what to do instead", "deny_once"),
    ApprovalOption("never", "Never", "deny_session"),
    ApprovalOption("sandbox", "Try in a sandbox first", "sandbox"),  # type: ignore[arg-type]
]
FORM = [
    FormField("branch", title="Branch", help="Made from main if it is new", required=True, default="fix/join-keys", max_length=60, pattern="^[a-z]"),
    FormField("rows", "integer", "Sample rows", required=True, minimum=1, maximum=10312, default=20000),
    FormField("ratio", "number", "Share for the test set", minimum=0, maximum=1),
    FormField("format", "select", "Format", "How the cleaned orders are stored", True, "parquet", CHOICES),
    FormField("region", "select", "Region", choices=[Choice(r) for r in ("north", "south", "east", "west", "centre")]),
    FormField("overwrite", "boolean", "Overwrite", "Replaces data/orders.parquet", default=True),
    FormField("checks", "multi", "Checks", choices=[Choice("rows", "Row count is unchanged"), Choice("keys", "Keys are zero-padded"), Choice("twice", "No customer twice")],
              default=["rows", "keys"], min_length=1, max_length=2),
    FormField("mail", title="Report to", format="email"),
    FormField("from", title="From", format="date", default="2026-11-01"),
    FormField("note", title="Note for the log", max_length=400),
]  # fmt: skip
OPTIONS = [
    ConfigOption("mode", "Mode", "select", "default", "", "mode", [Choice("default", "Always ask", "Every command and edit waits for you"), Choice("acceptEdits", "Accept edits"), Choice("plan", "Plan")]),
    ConfigOption("model", "Model", "select", "sonnet", "", "model", [Choice("sonnet", "Sonnet 4.5", group="Anthropic"), Choice("opus", "Opus 4.1", group="Anthropic"), Choice("qwen", "Qwen 3 Coder", group="Local")]),
    ConfigOption("thinking", "Thinking", "select", "medium", "How long it may think before it answers", "thought_level", [Choice("low", "Low"), Choice("medium", "Medium"), Choice("high", "High")]),
    ConfigOption("web", "Web search", "boolean", True, "The agent may look things up"),
    ConfigOption("style", "Answers", "select", "short", "", "", [Choice("short", "Short", group="Plain"), Choice("long", "Long", group="Plain"), Choice("teacher", "As a teacher would", group="Roles")]),
]
COMMANDS = [
    SlashCommand("review", "Review the changes of this session, file by file", "what to look at"), SlashCommand("compact", "Summarise the conversation so far", "what to keep"),
    SlashCommand("init", "Write AGENTS.md for this project"), SlashCommand("rewind", "Go back to an earlier message"), SlashCommand("cost", "What this session has cost"),
]
PLAN = [
    {"text": "Find where the rows are lost", "status": "done", "priority": "high"}, {"text": "Reproduce with a failing test", "status": "done", "priority": "medium"},
    {"text": "Normalise the key on both sides", "status": "active", "priority": "high"}, {"text": "Ask the CRM team for the missing ids", "status": "cancelled", "priority": "low"},
    {"text": "Summarise the change in report.md", "status": "pending", "priority": "low"},
]  # fmt: skip
BARS = Image("iVBORw0KGgoAAAANSUhEUgAAAMgAAAAoCAMAAACMwkUuAAAABlBMVEX///8ZdtJXjSYJAAAASUlEQVR42u3QUQoAIAhEQbv/pTuCBGGh874XYYyQ1KGVBQICMgzyuxgEBAQEZBbk2T0QEBAQEBCQg+HtHQgISPFjQEBAQEBKdxv0MQ3tRrnRHwAAAABJRU5ErkJggg==")


def subagents() -> Scene:
    s = acp(say("m1", "I let a helper look for every reader of the key."))
    agent = tool("g1", "Task", "agent", {"description": "find every reader of customer_id"}, "running", at=8, took=None)
    s.put(replace(agent, title="find every reader of customer_id", cancelable=True))
    for entry in (
        tool("g2", "grep", "search", {"pattern": "read_csv|read_parquet"}, parent="call-g1", at=9),
        tool("g3", "read", "read", {"path": "src/load.py"}, parent="call-g1", at=10, locations=["src/load.py:31"]),
        tool("g5", "Task", "agent", {}, parent="call-g1", title="check the notebooks", at=11, took=20),
        tool("g6", "read", "read", {"path": "notebooks/revenue.ipynb"}, parent="call-g5", at=12),
        tool("g7", "shell", "shell", {"command": "git log --oneline -- src/load.py"}, parent="call-g5", at=13, output="1f2e3d4 ids as integers\n"),
        tool("g4", "read", "read", {"path": "src/export.py"}, "running", parent="call-g1", at=40, took=None),
    ):
        s.put(entry)
    return s.pending(approval("g8", call_id="call-g8", command="git stash", options=OFFERED[1:2] + OFFERED[3:4], reason="", cwd="")).put(
        replace(waiting_tool(approval("g8", command="git stash")), parent="call-g1")
    )


ACP_SCENES: dict[str, Callable[[], Scene]] = {
    "acp-options": lambda: acp(say("m1", "I want to see the test fail first.")).pending(approval(command=COMMAND.command, cwd="", reason="", options=OFFERED, rule="")),
    "acp-options-hostile": lambda: acp().pending(approval(command="make clean", cwd="", reason="", options=[
        ApprovalOption("1", "Deny\u202eecno wollA\u200b", "allow_session"), ApprovalOption("2", "<img src=x onerror=alert(1)> **Allow once** Y", "deny_once"),
        ApprovalOption("3", "", "allow_once"), ApprovalOption("4", "Yes, and from now on every command that begins with these words, in this folder and in all folders below it, for as long as this project exists", "allow_once")])),
    "acp-form": lambda: acp(say("m1", "Some settings are open.")).pending(question("f1", "Settings for the rebuild:", form=FORM, free=False, source="orders-mcp (MCP server)")),
    "acp-url": lambda: acp().pending(question("v1", "Sign in to the CRM, so that I can read the customer ids.", free=False, source="crm-mcp (MCP server)",
        url="https://login.example.org/oauth/authorize?client_id=crm-mcp&response_type=code&redirect_uri=https%3A%2F%2Fcrm.example.org%2Fcallback&state=9f3b1c&scope=customers.read")),
    "acp-url-hostile": lambda: acp().pending(question("v2", "Confirm your account **[here](https://github.com)**", free=False, url="http://github.com@xn--gthub-n2e.example/\u0430pprove\u202e?next=//evil")),
    "acp-plan-usage": lambda: acp(
        PlanEntry("pl1", 1, PLAN), PlanEntry("pl2", 1, [], "Then **publish**:\n\n1. tag the release\n2. tell the `#revenue` channel"), PlanEntry("pl3", 1, [{"text": "Drop the lost rows", "status": "pending"}], "", True),
        replace(say("m1", "The lost rows by region:"), images=[BARS]),
        tool("k1", "Look around", "search", None, "completed", title="Look around", locations=["src/join.py:12", "src/load.py:31", "tests/test_join.py:9"]),
        tool("k2", "shell", "shell", {"command": "pytest --pdb"}, "paused", at=20, took=None, output="(Pdb) "), context=187_000, spent="4.20 EUR"),
    "acp-settings": lambda: route(acp(options=OPTIONS, models=["sonnet", "opus", "qwen"], status="ready"), press="Settings"),
    "acp-slash": lambda: route(acp(commands=COMMANDS, status="ready"), write="/re"),
    "acp-busy": lambda: acp(say("m1", "Looking at both sides", open=True), UserEntry("u2", 1, "use a log axis", "follow_up", "queued", at=T0 + 5), commands=COMMANDS),
    "acp-offline": lambda: acp(tool("x1", "shell", "shell", {"command": "pytest tests -q"}, "running", at=23, took=None, cancelable=True)).pending(
        approval(command="git push", cwd="", reason="", options=OFFERED[1:4])).lost("The server closed the connection (HTTP 502)."),
    "acp-background": lambda: acp(say("m1", "The server runs, and the tests go on behind it."), status="ready", background=[
        Background("terminal", "term-1", "npm run dev", True), Background("subagent", "s-2", "write the release notes", True), Background("tool", "c-9", "pytest tests -q", False)]).put(
        TurnEntry("t1", 1, "finished", "end_turn", model="sonnet", mode="default", started=T0, ended=T0 + 40)),
    "acp-subagent": subagents,
    "acp-decided": lambda: acp(
        tool("o1", "shell", "shell", {"command": "pytest -q"}, took=1.4, output="41 passed", decision=Decision("allowed", "you", "widget", for_session=True, option="Always allow python -m pytest in this project")),
        tool("o2", "shell", "shell", {"command": "git push"}, "denied", took=0, decision=Decision("denied", "you", "widget", "I push by hand.", option="No, and tell the agent what to do instead")),
        QuestionEntry("f0", 1, "call-f0", "Settings for the rebuild:", [], "answered", "Branch: fix/join-keys\nSample rows: 500\nOverwrite: no\nChecks: Row count is unchanged, Keys are zero-padded", form=FORM, source="orders-mcp (MCP server)"),
        QuestionEntry("v0", 1, "call-v0", "Sign in to the CRM.", [], "answered", "https://login.example.org/oauth?state=9f3b1c", url="https://login.example.org/oauth?state=9f3b1c"),
        QuestionEntry("v9", 1, "call-v9", "Sign in to the wiki.", [], "skipped", url="https://wiki.example.org/login"), say("m1", "Done.", open=True)),
}  # fmt: skip

SCENES: dict[str, Callable[[], Scene]] = {
    "streaming": streaming,
    "whole-turn": whole_turn,
    "thinking": lambda: working(ThoughtEntry("th1", 1, Rope("The left side has 10,312 rows.\ncomparing the key dtypes on both sides"), started=T0 + 34)),
    "tools": tools,
    "approve-command": lambda: working(READ, say("m1", "I want to see the test fail first."), waiting_tool(COMMAND)).pending(COMMAND),
    "approve-script": lambda: working().pending(approval(command=SCRIPT, reason="`curl` reaches the network (rule `ask: net`, from `guard.yaml`)")),
    "approve-hidden": lambda: working().pending(approval(command=HIDDEN, for_session=True, reason="")),
    "approve-unknown": lambda: working().pending(
        approval(tool="deploy_model", category="other", input={"model": "ridge-7", "to": "production", "replicas": 3}, cwd="", reason="", summary="Deploys the fitted model.")
    ),
    "approve-edit": lambda: working(say("m1", "Both sides get the same key. Three files change:")).pending(EDIT),
    "approve-edit-unsupported": no_edits,
    "question-text": lambda: working(say("m1", "One name is open.")).pending(question("q1", "What should the report call customers who exist in the CRM but have no order?")),
    "question-one": lambda: working().pending(question("q2", "Where should the cleaned orders be stored?", choices=CHOICES)),
    "question-many": lambda: working().pending(question("q3", "Which checks should the test file keep?", multi=True, free=False, choices=[
        Choice("rows", "Row count is unchanged"), Choice("keys", "Keys are zero-padded"), Choice("twice", "No customer appears twice", "Slow: 40 s on the full data")])),
    "two-waiting": lambda: working().pending(approval("p1", command="git commit -am 'ids as text'", rule="shell: git commit *", for_session=True, reason=""), question("p2", "Push to which remote?", free=False, choices=[Choice("origin"), Choice("fork")])),
    "steered": steered,
    "mode-all": lambda: working(tool("x1", "shell", "shell", {"command": "pytest tests -q"}, "running", took=None, decision=Decision("allowed", "agent")), mode="all"),
    "route-input": lambda: route(working().pending(approval(command="python -m pytest tests -q", reason="mode is ask")), route="input"),
    "route-after-cell": lambda: route(working().pending(approval(command="python -m pytest tests -q", reason="mode is ask")), route="after_cell"),
    "route-offline": lambda: route(working(tool("x1", "shell", "shell", {"command": "pytest tests -q"}, "running", at=23, took=None)), route="offline"),
    "stopped": lambda: Scene(status="ready").put(turn(status="stopped", stop_reason="cancelled", usage=USAGE, ended=T0 + 42), prompt(), *INTERRUPTED),
    "failed": lambda: Scene(status="ended", ended="The agent stopped: exit code 137 (SIGKILL).").put(
        turn(status="failed", stop_reason="agent_exited", error="Exit code 137 (SIGKILL). Run `%hm start` to begin again.", usage=USAGE, ended=T0 + 58), prompt(), *INTERRUPTED[:2],
        NoticeEntry("n1", 1, "The agent stopped: exit code 137 (SIGKILL). Its last lines on stderr are below. Run `%hm start` to begin again.", "error", STDERR)),
    "finished": lambda: Scene(status="ready").put(turn(status="finished", stop_reason="end_turn", usage=USAGE, ended=T0 + 108), prompt(), THOUGHT, READ, SEARCH, say("m1", ANSWER + ".")),
    "frozen": lambda: route(SCENES["finished"](), frozen=True),
    "starting": lambda: Scene(status="starting", model="", models=[], mode="", modes=[], usage=Usage(), turn=0, capabilities={}),
    "ready": lambda: Scene(status="ready", usage=Usage(), turn=0),
    "notices": lambda: working(
        NoticeEntry("n0", 1, "This is the demo agent. No model key was found, so it replays scripted answers: it calls no network and costs nothing.", "info"),
        NoticeEntry("n2", 1, "The agent wrote a line that is not JSON. It was skipped; if this goes on, look at %hm config log.", "warning", "Segmentation fault (core dumped)"),
        UnknownEntry("k1", 1, "guard_reloaded", {"type": "guard_reloaded", "rules": 4}), say("m1", "I would start with the dtypes of both keys.", open=True), agent="demo", model="scripted", models=[]),
}  # fmt: skip


SCENES |= ACP_SCENES


def scenes() -> dict[str, str]:
    """Every scene's file, by name."""
    return {name: json.dumps(make().to_json(), indent=1, ensure_ascii=True) + "\n" for name, make in SCENES.items()}


def main() -> None:
    for old in HERE.glob("*.json"):
        old.unlink()
    for name, text in scenes().items():
        (HERE / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
