"""Transcripts the export tests write down: the story of the join that loses 312 rows, told by operations."""

from __future__ import annotations

import base64
import struct
import zlib

from hm_jupyter.events import Choice, FileDiff, FormField, Image, Usage
from hm_jupyter.transcript import (
    Append,
    CompactionEntry,
    Decision,
    Entry,
    MessageEntry,
    NoticeEntry,
    Op,
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
)  # fmt: skip

ROOT = "/tmp/hm-demo-3f9a/revenue"


def png(width: int = 8, height: int = 4, rgb: tuple[int, int, int] = (25, 118, 210)) -> Image:
    """A real, small PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(rgb) * width for _ in range(height))
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return Image(base64.b64encode(data + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")).decode())


LOAD_OLD = "".join(f"# line {n}\n" for n in range(1, 29)) + (
    'def load_orders(path):\n    return pd.read_csv(\n        path, dtype={"customer_id": int},\n'
    '        parse_dates=["ordered_at"],\n    )\n'
)
LOAD_NEW = LOAD_OLD.replace('"customer_id": int}', '"customer_id": "string"}')
JOIN_OLD = (
    '"""Joins."""\n\nimport pandas as pd\n\n\n\n\ndef merge_orders(orders, customers):\n    return orders.merge(\n'
    '        customers,\n        on="customer_id", how="inner",\n    )\n'
)
JOIN_NEW = JOIN_OLD.replace(
    "    return orders.merge(",
    '    orders = orders.assign(customer_id=normalise_key(orders["customer_id"]))\n    return orders.merge(',
).replace('how="inner",', 'how="left", validate="m:1",') + (
    '\n\ndef normalise_key(s):\n    return s.astype("string").str.strip().str.zfill(8)\n'
)
FAILED = (
    "\x1b[1m================ FAILURES ================\x1b[0m\n\x1b[31;1m____________ test_keeps_all_rows ____________\x1b[0m\n"
    ">       assert len(merged) == len(orders)\n\x1b[31mE       assert 10000 == 10312\x1b[0m\n\n"
    f"\x1b[36m{ROOT}/tests/test_join.py\x1b[0m:\x1b[34m18\x1b[0m: AssertionError\n"
    "\x1b[33m1 warning\x1b[0m in 0.84s: \x1b[31;1m1 failed\x1b[0m, \x1b[32m2 passed\x1b[0m\nexit code 1"
)
ANSWER = """The join drops **312 of 10,312** rows because `customer_id` is an integer in `orders` and text in `customers`. \
Reading the CSV removed the leading zeros, so those ids match nothing:

- every lost row has an id below `10000000`;
- none of them is missing in the CRM, see [customers.parquet](https://example.org/customers.parquet).

| source | rows | distinct ids | dtype | lost |
|---|--:|--:|---|--:|
| orders.csv | 10,312 | 4,118 | int64 | 312 |
| customers.parquet | 5,004 | 5,004 | string | 0 |

This keeps every row:

```python
def normalise_key(s: pd.Series) -> pd.Series:
    \"\"\"Ids as text, zero-padded to 8, as the CRM writes them.\"\"\"
    return s.astype("string").str.strip().str.zfill(8)  # 10,312 rows
```

Fixed: both loaders keep ids as text, the join is a left join that checks `m:1`, and all 41 tests pass.
"""


def tool(id: str, turn: int, category: str, at: float = 0.0, **given: object) -> ToolEntry:
    """A tool call that took 0.9 s."""
    given.setdefault(
        "name", {"shell": "shell", "read": "read_file", "edit": "edit_file", "search": "search"}.get(category, category)
    )
    given.setdefault("status", "completed")
    if isinstance(given.get("output"), str):
        given["output"] = Rope(str(given["output"]))
    return ToolEntry(id=id, turn=turn, call_id=f"call-{id}", category=category, started=at, ended=at + 0.9, **given)  # type: ignore[arg-type]


def join(at: float = 1_000.0) -> Transcript:
    """The frozen cell of the design reference: reads, a failing test, an edit allowed in part, a denial, an answer."""
    entries: list[Entry] = [
        TurnEntry("t1", 1, "finished", "end_turn", model="sonnet-4.5", mode="ask", usage=Usage(39_000, 2_200, 30_000, 0, 0.18), started=at, ended=at + 108),
        UserEntry("u1", 1, "why does the join drop 312 rows? show me, then fix it", status="read", at=at),
        ThoughtEntry("h1", 1, Rope("The left side has 10,312 rows and the inner join returns **10,000**."), False, at, at + 8),
        tool("r1", 1, "read", at, input={"path": f"{ROOT}/src/join.py"}, output="import pandas as pd\n"),
        tool("s1", 1, "search", at, input={"pattern": "customer_id"}, output="src/join.py:12\nsrc/load.py:31\n"),
        tool("r2", 1, "read", at, input={"path": f"{ROOT}/src/load.py"}, output="import pandas as pd\n"),
        tool("x1", 1, "shell", at, input={"command": "pytest tests/test_join.py -q"}, output=FAILED, status="failed",
             decision=Decision("allowed", "you", "control")),
        tool("x2", 1, "shell", at, input={"command": "python show_lost.py"},
             output="customer_id  region  orders\n" + "".join(f"{n:08d}     north       {n % 9}\n" for n in range(417, 729)) + "\n[312 rows x 3 columns]"),
        tool("d1", 1, "edit", at, title=f"{ROOT}/src/load.py", output="Changed 2 files.", diffs=[
            FileDiff(f"{ROOT}/src/load.py", LOAD_OLD, LOAD_NEW), FileDiff(f"{ROOT}/src/join.py", JOIN_OLD, JOIN_NEW),
            FileDiff(f"{ROOT}/notes/lost_rows.md", None, "# Lost rows\n312 orders had ids without their leading zeros.\n")],
             decision=Decision("allowed", "you", "control", files=[f"{ROOT}/src/load.py", f"{ROOT}/src/join.py"])),
        tool("x3", 1, "shell", at, input={"command": "git push"}, status="denied", decision=Decision("denied", "you", "comm", "I push by hand.")),
        tool("x4", 1, "shell", at, input={"command": "pytest -q"}, output="41 passed\nexit code 0", decision=Decision("allowed", "agent")),
        MessageEntry("m1", 1, Rope(), False),
    ]  # fmt: skip
    told = Transcript()
    ops: list[Op] = [
        State({"session_id": f"20261106-{at}", "agent": "hm", "root": ROOT, "model": "sonnet-4.5", "mode": "ask",
               "usage": Usage(39_000, 2_200, 30_000, 0, 0.18), "turn": 1}),
        *map(Put, entries),
        *(Append("m1", "text", piece) for piece in ANSWER.split(" ")[:1]),
        *(Append("m1", "text", " " + piece) for piece in ANSWER.split(" ")[1:]),
    ]  # fmt: skip
    for op in ops:
        told.apply(op)
    return told


def everything(at: float = 1_000.0) -> Transcript:
    """Two more turns after :func:`join`: everything else an entry can be, then one that was stopped and one that failed."""
    told = join(at)
    entries: list[Entry] = [
        NoticeEntry("n0", 0, "This is the demo agent. It replays scripted answers and costs nothing.", "info"),
        TurnEntry("t2", 2, "stopped", "cancelled", model="sonnet-4.5", usage=Usage(900, 40), started=at, ended=at + 42),
        UserEntry("u2", 2, "then plot the lost rows\nby region", "follow_up", "read", [png(64, 40)], ["orders (DataFrame, 10,312 × 8)"], at),
        PlanEntry("p2", 2, [{"text": "Plot the rows", "status": "done"}, {"text": "Use a log axis", "status": "active"}, {"text": "Write report.md", "status": "pending"}]),
        UserEntry("u3", 2, "use a log axis", "steer", "read", at=at),
        QuestionEntry("q2", 2, "call-q2", "Which **database** should the tests use?",
                      [Choice("sqlite", "SQLite", "a file, nothing to start"), Choice("pg", "PostgreSQL")], "answered", "sqlite"),
        QuestionEntry("q3", 2, "call-q3", "What should the report be called?", status="skipped"),
        tool("f2", 2, "other", at, name="plot", title="Plot by region", input={"kind": "bar", "log": True}, images=[png(320, 160)], output="1 figure"),
        tool("w2", 2, "fetch", at, input={"url": "https://example.org/data.csv"}, output="id,region\n1,north\n"),
        tool("b2", 2, "shell", at, input={"command": "set -euo pipefail\npython - <<'PY'\nprint('ids as text')\nPY"}, output="ids as text",
             decision=Decision("allowed", "you", "control", for_session=True, rule="shell: python *")),
        CompactionEntry("c2", 2, "done", "The ids are text now."),
        UnknownEntry("k2", 2, "weather", {"type": "weather", "sky": ["blue", {"clouds": 2}]}),
        tool("i2", 2, "shell", at, input={"command": "python report.py"}, status="interrupted", output="writing"),
        tool("j2", 2, "edit", at, title="src/join.py", status="interrupted", decision=Decision("interrupted", "agent")),
        MessageEntry("m2", 2, Rope("The remaining step is to run the whole"), False, True),
        UserEntry("u4", 2, "then write the result to report.md", "follow_up", "dropped", at=at),
        TurnEntry("t3", 3, "failed", "agent_exited", "The agent ended with exit code 137 (SIGKILL).", "sonnet-4.5", started=at, ended=at + 3),
        UserEntry("u5", 3, "and now?", status="read", at=at),
        NoticeEntry("n3", 3, "A line of the agent was not JSON. It was skipped; nothing else is lost.", "warning", "{\"type\": oops"),
    ]  # fmt: skip
    for entry in entries:
        told.apply(Put(entry))
    return told


def offers(at: float = 1_000.0) -> Transcript:
    """A turn with an agent that has options, forms, plans and sub-agents of its own, over a connection that was lost twice."""
    form = [FormField("branch", title="Branch"), FormField("rows", "integer", "Sample rows")]
    lost = "The connection was lost and is there again. Nothing is missing."
    entries: list[Entry] = [
        TurnEntry("t1", 1, "finished", "end_turn", model="sonnet", mode="default", started=at, ended=at + 60),
        UserEntry("u1", 1, "find every reader of the key", status="read", at=at),
        PlanEntry("p1", 1, [{"text": "Look", "status": "done", "priority": "high"}, {"text": "Ask the CRM team", "status": "cancelled"},
                            {"text": "Fix", "status": "active", "priority": "high"}, {"text": "Report", "status": "pending", "priority": "low"}]),
        PlanEntry("p2", 1, [], "Then **publish** it."),
        PlanEntry("p3", 1, [{"text": "Drop the rows", "status": "pending"}], "", True),
        tool("g1", 1, "agent", at, title="find every reader", input={"description": "find every reader"}, output="Three files read it."),
        tool("g2", 1, "search", at, input={"pattern": "read_csv"}, parent="call-g1"),
        tool("g3", 1, "agent", at, title="check the notebooks", parent="call-g1"),
        tool("g4", 1, "shell", at, input={"command": "git log --oneline"}, output="1f2e3d4 ids\nexit code 0", parent="call-g3"),
        tool("g5", 1, "read", at, title="Read", parent="call-g1", locations=[f"{ROOT}/src/load.py:31"]),
        NoticeEntry("n1", 1, lost, "info"),
        tool("o1", 1, "shell", at, input={"command": "pytest -q"}, output="41 passed", decision=Decision("allowed", "you", "widget", for_session=True, option="Always allow pytest")),
        tool("o2", 1, "shell", at, input={"command": "git push"}, status="denied", decision=Decision("denied", "you", "widget", "I push by hand.", option="No, and tell the agent why")),
        NoticeEntry("n2", 1, lost, "info"),
        QuestionEntry("f1", 1, "f1", "Settings for the rebuild:", status="answered", answer="Branch: fix/keys\nSample rows: 500", form=form, source="orders-mcp"),
        QuestionEntry("f2", 1, "f2", "More settings:", status="skipped", form=form),
        QuestionEntry("v1", 1, "v1", "Sign in to the CRM.", status="answered", answer="https://login.example.org/oauth?state=9f", url="https://login.example.org/oauth?state=9f", source="Claude Code"),
        QuestionEntry("v2", 1, "v2", "Sign in to the wiki.", status="skipped", url="https://w\u0456ki.example.org/"),
        MessageEntry("m1", 1, Rope("The lost rows:"), False, images=[png(64, 40)]),
    ]  # fmt: skip
    told = Transcript()
    told.apply(State({"session_id": f"S-{at}", "agent": "Claude Code", "root": ROOT, "model": "sonnet", "turn": 1, "context": 187_000,
                      "context_size": 200_000, "spent": "4.20 EUR"}))  # fmt: skip
    for entry in entries:
        told.apply(Put(entry))
    return told
