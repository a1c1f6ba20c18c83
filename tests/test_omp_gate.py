"""The gate: what an agent's tool calls meet. Run in Node, with a host that answers this and that."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hm_jupyter.omp_gate import path

HOST = """
import { readFileSync } from "node:fs";
import gate from "./gate.mjs";
const cases = JSON.parse(readFileSync(0, "utf8"));
const told = [];
let handler;
gate({ on: (event, h) => { if (event === "tool_call") handler = h; } });
for (const c of cases) {
  if (c.env === undefined) delete process.env.HM_GATE; else process.env.HM_GATE = c.env;
  let asked = null;
  const select = async (title, options) => {
    asked = { title, options };
    if (c.throws) throw new Error("no");
    return c.answer ?? undefined;
  };
  const event = { toolName: c.tool ?? "bash", toolCallId: "call-1", input: c.input ?? { command: "ls" } };
  if (c.loop) event.input.self = event.input;
  const result = await handler(event, { hasUI: c.hasUI ?? true, ui: { select } });
  told.push({ asked, result: result ?? null });
}
console.log(JSON.stringify(told));
"""


@pytest.fixture
def gate(tmp_path: Path) -> Any:
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js is not here, and the gate runs in it")
    shutil.copy(path(), tmp_path / "gate.mjs")
    (tmp_path / "host.mjs").write_text(HOST)

    def meet(*cases: dict[str, Any]) -> list[dict[str, Any]]:
        argv, asked = [node, str(tmp_path / "host.mjs")], json.dumps(cases).encode()
        told: list[dict[str, Any]] = json.loads(
            subprocess.run(argv, input=asked, capture_output=True, check=True).stdout
        )
        return told

    return meet


def test_a_call_runs_only_on_the_one_word_that_allows_it(gate: Any) -> None:
    answers = ["Approve", "Deny", "approve", "Approve ", "yes", "true", "", None, True, 1, {"value": "Approve"}]
    told = gate(*({"answer": answer} for answer in answers))
    assert [each["result"] is None for each in told] == [True] + [False] * (len(answers) - 1)
    assert all(each["result"]["block"] is True for each in told[1:])


def test_it_asks_with_the_tool_the_id_of_the_call_and_what_will_run(gate: Any) -> None:
    (told,) = gate({"input": {"command": "echo 'a\nb'\u2028"}, "tool": "ba\nsh"})
    first, second, third = told["asked"]["title"].split("\n")
    assert (first, second) == ("Allow tool: ba sh", "Call: call-1")
    assert json.loads(third.removeprefix("Input: ")) == {"command": "echo 'a\nb'\u2028"}
    assert told["asked"]["options"] == ["Approve", "Deny"]


def test_the_model_is_told_why_it_was_refused(gate: Any) -> None:
    plain, noted = gate({"answer": "Deny"}, {"answer": "Deny: not that file\nplease"})
    assert plain["result"]["reason"] == "Tool call denied by user: bash"
    assert noted["result"]["reason"] == "Tool call denied by user: bash. not that file\nplease"


def test_reading_is_not_asked_about_and_an_unknown_tool_is(gate: Any) -> None:
    tools = ["read", "grep", "find", "ls", "bash", "edit", "write", "mcp__x__y", "codemode", "READ"]
    told = gate(*({"tool": tool, "answer": "Approve"} for tool in tools))
    assert [each["asked"] is None for each in told] == [True] * 4 + [False] * 6


@pytest.mark.parametrize(
    ("mode", "asked"),
    [
        ("write", ["bash", "other"]),
        ("yolo", []),
        ("always-ask", ["bash", "edit", "write", "other"]),
        ("nonsense", ["bash", "edit", "write", "other"]),
    ],
)
def test_its_mode_says_what_is_asked_about_and_a_mode_it_does_not_know_asks(
    gate: Any, mode: str, asked: list[str]
) -> None:
    tools = ["bash", "edit", "write", "other", "read"]
    told = gate(*({"tool": tool, "env": mode} for tool in tools))
    assert [tool for tool, each in zip(tools, told, strict=True) if each["asked"]] == asked


def test_where_nobody_can_be_asked_or_asking_fails_the_call_is_refused(gate: Any) -> None:
    for told in gate({"hasUI": False, "answer": "Approve"}, {"throws": True}):
        assert told["result"]["block"] is True


def test_what_cannot_be_written_down_whole_says_so(gate: Any) -> None:
    loop, long = gate({"loop": True}, {"input": {"command": "x" * 300_000}})
    assert "Input cut: it cannot be written" in loop["asked"]["title"]
    assert long["asked"]["title"].split("\n")[2].startswith('Input cut: {"command":"xxx')
