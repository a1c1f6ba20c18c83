"""A long saved session: opening and exporting one of 2,000 turns, and the agent's memory over 500 turns of 100 kB.

The export is the agent's own, in a real process. Memory is the resident size of the agent's process after 100 turns and
after 500, on the scripted model (200,000 tokens of context, made shorter by itself).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from .report import Row

TURNS, LOUD, OUTPUT = 2000, 500, 100_000
SCRIPT = f"""
[[prompt]]
match = "go"
  [[prompt.step]]
    [[prompt.step.call]]
    tool = "shell"
    command = "head -c {OUTPUT} /dev/zero | tr '\\\\0' x"
  [[prompt.step]]
  text = "Done."
"""


class _Agent:
    def __init__(self, folder: Path, *flags: str) -> None:
        env = {**os.environ, "HM_SESSIONS": str(folder / "sessions"), "HM_CONFIG": "", "HM_DEMO_SPEED": "0"}
        command = [sys.executable, "-m", "hm_jupyter.agents", "--rpc", "--cwd", str(folder), *flags]
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.start = self.until("session_start")

    def until(self, type: str) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            event: dict[str, Any] = json.loads(line)
            if event["type"] == type:
                return event
        raise RuntimeError(f"the agent ended before {type}")

    def send(self, type: str, until: str = "response", **fields: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"id": 1, "type": type, **fields}) + "\n")
        self.process.stdin.flush()
        return self.until(until)

    def resident(self) -> float:
        """Megabytes."""
        import psutil

        return float(psutil.Process(self.process.pid).memory_info().rss) / 1e6

    def end(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.stdout.close()
        self.process.wait(20)


def _write(folder: Path) -> str:
    """A session of many turns, each with a call of 2 kB output, as the agent writes it. Returns its id."""
    from hm_jupyter.agents.journal import Journal
    from hm_jupyter.agents.messages import Message, ToolCall
    from hm_jupyter.agents.session import Session
    from hm_jupyter.agents.tools.workspace import Workspace

    id = "20260101-000000-aaaaaa"
    journal = Journal(folder / "sessions" / f"{id}.jsonl")
    s = Session(Workspace(folder), "auto", "demo", id=id, title="long", journal=journal)

    def say(role: Any, text: str, **more: Any) -> None:
        message = Message(s.new_entry(), role, text, **more)
        s.append(message)
        if role == "tool":
            head = {"type": "tool_result", "tool": "shell", "call_id": message.call_id, "is_error": False}
            s.record({**head, "text": text, "entry": message.id})
        else:
            s.record({"type": "message_end", "role": role, "text": text, "entry": message.id})

    for n in range(TURNS):
        s.turn_began()
        say("user", f"prompt {n}")
        call = s.new_call()
        say("assistant", "", calls=[ToolCall(call, "shell", {"command": "make"})])
        s.record(
            {"type": "tool_call", "tool": "shell", "call_id": call, "summary": "make", "input": {"command": "make"}}
        )
        say("tool", "one line of output\n" * 100, call_id=call)
        s.record({"type": "message_end", "role": "tool", "text": ""})
        say("assistant", "An answer of a few words. " * 10)
        s.record({"type": "turn_end"})
    journal.close()
    return id


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        id = _write(folder)
        begin = time.perf_counter()
        _Agent(folder).end()
        bare = time.perf_counter() - begin
        begin = time.perf_counter()
        agent = _Agent(folder, "--session", id)
        opened = time.perf_counter() - begin
        exports = {}
        for kind in ("jsonl", "md", "html"):
            begin = time.perf_counter()
            done = agent.send("export", format=kind, path=f"out.{kind}")
            exports[kind] = time.perf_counter() - begin
            if not done["ok"]:
                raise RuntimeError(done["error"])
        agent.end()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "loud.toml").write_text(SCRIPT)
        agent = _Agent(folder, "--mode", "auto", "--model", str(folder / "loud.toml"))
        sizes = []
        for _ in range(LOUD):
            agent.send("prompt", until="turn_end", text="go")
            sizes.append(agent.resident())
        agent.end()
    return [
        Row(f"opening a saved session of {TURNS:,} turns", f"{opened:.2f} s", f"{bare:.2f} s (start to end of a new one)",
            "<= 1 s"),
        Row(f"exporting it: {', '.join(exports)}", ", ".join(f"{t:.1f} s" for t in exports.values()), "", "<= 5 s each"),
        Row(f"agent's memory, {LOUD} turns of {OUTPUT // 1000} kB output", f"{sizes[-1]:.0f} MB",
            f"{sizes[LOUD // 5 - 1]:.0f} MB after {LOUD // 5}, {max(sizes):.0f} MB at most", "flat"),
    ]  # fmt: skip
