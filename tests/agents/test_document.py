"""The session that the document shows, held with the agent: the same lines in the same order with the same values."""

from __future__ import annotations

import json
import os
from pathlib import Path

DOCUMENT = Path(__file__).parents[1] / "golden" / "hm" / "document.jsonl"

SCRIPT = """
[[prompt]]
match = "run the tests"
  [[prompt.step]]
    [[prompt.step.call]]
    tool = "shell"
    command = "go test ./..."
  [[prompt.step]]
  text = "All tests pass."
"""

OWN = {"session", "time", "v", "root", "provider", "mode", "model", "call_id", "input", "output", "cache_read",
       "cache_write", "cost", "usage"}  # fmt: skip
"""What differs from one session to another. (``input`` of a call is compared all the same.)"""


def alike(line, shown):
    assert set(shown) <= set(line), f"{set(shown) - set(line)} missing in {line}"
    own = OWN - ({"input"} if shown["type"] == "tool_call" else set())
    return {k: v for k, v in line.items() if k in shown and k not in own}


def test_the_documents_own_session(start, tmp_path):
    """HM-025 HM-063 HM-156 HM-172 HM-173 HM-179 HM-183 HM-184 HM-186 HM-187 HM-189 HM-190 HM-192 HM-195 HM-199"""
    program = tmp_path / "bin" / "go"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nprintf 'ok \\tapp\\t0.21s\\n'\n")
    program.chmod(0o755)
    agent = start(script=SCRIPT, env={"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"})
    rows = [json.loads(line) for line in DOCUMENT.read_text("utf-8").splitlines()]
    shown = [row["line"] for row in rows if row.get("dir") == "<"]
    for row in (r for r in rows if r.get("dir") == ">"):
        line = dict(row["line"])
        if line["type"] == "approve":
            line["call_id"] = agent.until("approval_needed")["call_id"]
        agent.raw(json.dumps(line).encode() + b"\n")
    agent.until("turn_end")
    assert agent.end() == 0
    texts = [e["text"] for e in agent.seen if e["type"] == "text_delta"]
    assert "".join(texts) == "All tests pass."
    told, first = [], True
    for event in agent.seen:  # one delta in the document, several here; output as it comes is not in it
        if event["type"] == "text_delta":
            if first:
                told.append({**event, "text": "".join(texts)})
            first = False
        elif event["type"] != "tool_output":
            told.append(event)
    assert [e["type"] for e in told] == [e["type"] for e in shown]
    for event, line in zip(told, shown, strict=True):
        assert alike(event, line) == alike(line, line)
    (start_,) = [e for e in told if e["type"] == "session_start"]
    assert (start_["resumed"], start_["prompt"]) == (False, "")
    sums = [sum(e[k] for e in told if e["type"] == "usage") for k in ("input", "output")]
    assert sums == [told[-1]["usage"][k] for k in ("input", "output")]
