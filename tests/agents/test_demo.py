"""The demo: its scenarios played with real tools on a real workspace, and the scenario files themselves."""

from __future__ import annotations

import filecmp
import json
import subprocess
import sys

import pytest

from hm_jupyter.agents.demo import make_workspace
from hm_jupyter.agents.demo.scenario import FOLDER, ScenarioError, builtin_names, load
from hm_jupyter.agents.demo.template import fill
from hm_jupyter.agents.providers import UnknownModel, make_model

CHECK = "python tests/test_join.py"


def allow(agent, **fields):
    """Allow the next call that asks; returns what it asked."""
    asked = agent.until("approval_needed")
    assert agent.call("approve", call_id=asked["call_id"], **{"allow": True, **fields})["ok"]
    return asked


def answer(agent):
    agent.until("turn_end")
    return [e["text"] for e in agent.seen if e["type"] == "message_end" and e["role"] == "assistant"][-1]


def prompt(agent, text):
    assert agent.call("prompt", text=text)["ok"]


# ---- the workspace ----


def test_the_workspace_is_the_same_every_time_and_its_join_loses_312_orders(tmp_path):
    one, two = make_workspace(tmp_path / "one"), make_workspace(tmp_path / "two")
    names = [str(p.relative_to(one)) for p in one.rglob("*") if p.is_file()]
    assert filecmp.cmpfiles(one, two, names, shallow=False) == (names, [], [])
    result = subprocess.run([sys.executable, "-I", "tests/test_join.py"], cwd=one, capture_output=True, text=True)
    assert result.returncode == 1
    assert "312 of 1312 orders have no customer" in result.stdout


# ---- quickstart ----


def test_quickstart_finds_the_lost_rows_fixes_them_and_tests_again(start, shop):
    agent = start(cwd=shop)
    prompt(agent, "why does the join drop rows? show me, then fix it")
    assert allow(agent)["command"] == CHECK
    assert agent.until("tool_result")["exit_code"] == 1
    edit = allow(agent)
    assert [f["path"] for f in edit["files"]] == ["src/join.py", "notes/lost_rows.md"]
    assert allow(agent)["command"] == CHECK
    said = answer(agent)
    assert "All **1312** orders have their customer now (1000 before)" in said
    assert "all passed" in said
    explained = next(e["text"] for e in agent.seen if e["type"] == "message_end" and "| lost | 312 |" in e["text"])
    assert "```python" in explained
    assert any(e["type"] == "thinking_delta" for e in agent.seen)
    assert "312 orders belong" in (shop / "notes/lost_rows.md").read_text()


def test_quickstart_does_not_claim_what_was_refused_or_left_out(start, shop):
    agent = start(cwd=shop)
    prompt(agent, "why does the join drop rows?")
    allow(agent, allow=False)
    assert "Then without a run" in answer(agent)
    prompt(agent, "why does the join drop rows?")
    allow(agent)
    allow(agent, allow=False, note="not now")
    assert "I left both files as they were" in answer(agent)
    prompt(agent, "why does the join drop rows?")
    allow(agent)
    files = agent.until("approval_needed")
    agent.call(
        "approve", call_id=files["call_id"], allow=True,
        edits=[{"path": "notes/lost_rows.md", "content": files["files"][1]["new"]}],
    )  # fmt: skip
    allow(agent)
    assert "still fail" in answer(agent)
    assert "int(row" in (shop / "src/join.py").read_text()


def test_quickstart_asks_which_store_and_reports_what_the_files_say(start, shop):
    agent = start("--mode", "auto", cwd=shop)
    prompt(agent, "which store should the report go to?")
    question = agent.until("question")
    assert [c["value"] for c in question["choices"]] == ["north", "harbour", "old-town"]
    agent.call("answer", call_id=question["call_id"], text="harbour")
    said = answer(agent)
    row = next(line for line in (shop / "data/stores.csv").read_text().splitlines() if line.startswith("harbour"))
    _, city, orders, revenue = row.split(",")
    assert f"{orders} orders in {city}, worth {revenue}" in said
    assert f"# {city}\n" in (shop / "report.md").read_text()
    prompt(agent, "which store?")
    agent.call("answer", call_id=agent.until("question")["call_id"], text="the moon")
    assert "no store called “the moon”" in answer(agent)


def test_quickstart_can_be_steered_to_a_log_axis_while_it_draws(start, shop):
    agent = start("--mode", "auto", cwd=shop)
    prompt(agent, "plot the revenue and the orders by month")
    agent.until(lambda e: e["type"] == "tool_output" and "2026-02" in e["text"])
    assert agent.call("steer", text="use a log axis")["ok"]
    assert "on a log axis. The best month is 2026-12" in answer(agent)
    commands = [e["input"]["command"] for e in agent.seen if e["type"] == "tool_call"]
    assert commands == ["python src/plot.py revenue", "python src/plot.py orders", "python src/plot.py revenue --log"]
    results = [e for e in agent.seen if e["type"] == "tool_result"]
    assert [r.get("outcome", "ran") for r in results] == ["ran", "skipped", "ran"]
    assert "log axis" in results[2]["text"]


def test_quickstart_runs_the_tests_and_says_how_they_went(start, shop):
    agent = start("--approve", "all", cwd=shop)
    prompt(agent, "run the tests")
    assert "FAIL test_every_order_is_kept" in answer(agent)


# ---- approvals ----


def test_approvals_does_what_the_note_of_a_refusal_says(start, shop):
    agent = start("--model", "approvals", cwd=shop)
    prompt(agent, "clean up the old exports")
    assert allow(agent, allow=False, note="move them to archive/ instead")["command"] == "rm exports/*.csv"
    assert "archive" in allow(agent)["command"]
    assert "2024.csv and 2025.csv are in `archive/` now" in answer(agent)
    assert sorted(p.name for p in (shop / "archive").iterdir()) == ["2024.csv", "2025.csv"]


def test_approvals_tells_which_file_of_an_edit_was_left_out(start, shop):
    agent = start("--model", "approvals", cwd=shop)
    prompt(agent, "raise the discount to 15 per cent")
    asked = agent.until("approval_needed")
    first = asked["files"][0]
    agent.call(
        "approve", call_id=asked["call_id"], allow=True, edits=[{"path": first["path"], "content": first["new"]}]
    )
    said = answer(agent)
    assert "Changed src/prices.py" in said
    assert "left out, so not written: docs/prices.md" in said
    assert "DISCOUNT = 15" in (shop / "src/prices.py").read_text()
    assert "10 per cent" in (shop / "docs/prices.md").read_text()


def test_approvals_does_not_ask_twice_for_what_is_allowed_for_the_session(start, shop):
    agent = start("--model", "approvals", cwd=shop)
    prompt(agent, "check the join, fix it, and check it again")
    allow(agent, for_session=True)
    allow(agent)
    assert "1312 of 1312 orders are joined, and the tests pass" in answer(agent)
    assert agent.kinds().count("approval_needed") == 2
    assert [e["by"] for e in agent.seen if e["type"] == "approval"] == ["user", "user", "rule"]


# ---- hostile, stress ----


def test_hostile_plays_every_prompt_and_the_agent_lives(start):
    agent = start("--model", "hostile", "--approve", "all")
    for text in ("text", "command", "edit", "tool name"):
        agent.turn(f"hostile {text}")
    prompt(agent, "hostile question")
    agent.call("answer", call_id=agent.until("question")["call_id"], text="<script>x</script>")
    agent.until("turn_end")
    everything = json.dumps(agent.seen)
    for needle in ("<script>", "onerror=", "javascript:", "https://evil.example/pixel", "\\u202e", "\\u001b[2J",
                   "data-commandlinker-command"):  # fmt: skip
        assert needle in everything
    assert agent.end() == 0


def test_stress_writes_exactly_as_many_pieces_as_were_asked_for(start):
    agent = start("--model", "stress")
    events = agent.turn("stream 20000")
    assert sum(e["type"] == "text_delta" for e in events) == 20000
    assert events[-2]["text"] == "token " * 20000


def test_the_same_prompts_give_the_same_events(start, shop):
    def play():
        agent = start("--mode", "auto", cwd=shop)
        agent.turn("run the tests")
        agent.turn("say: hello")
        agent.end()
        joined = [e for e in agent.seen if e["type"] != "tool_output"]
        return [{k: v for k, v in e.items() if k not in ("session", "time")} for e in joined]

    assert play() == play()


# ---- scenario files ----


def test_every_example_of_a_built_in_scenario_is_played_by_its_own_script():
    for name in builtin_names():
        scenario = load(FOLDER / f"{name}.toml")
        for script in scenario.scripts:
            if script.example:
                first = next(s for s in scenario.scripts if s.match.search(script.example))
                assert first is script, f"{name}: {script.example!r} is caught by {first.match.pattern!r}"


def test_a_prompt_nobody_wrote_a_script_for_gets_the_list_of_those_there_are(start):
    agent = start()
    assert "- run the tests" in agent.turn("what is the meaning of life?")[-2]["text"]


def test_a_step_without_conditions_is_not_played_after_a_refusal(start):
    script = """
[[prompt]]
match = ""
  [[prompt.step]]
    [[prompt.step.call]]
    tool = "shell"
    command = "true"
  [[prompt.step]]
  text = "It ran."
"""
    agent = start(script=script)
    prompt(agent, "x")
    allow(agent, allow=False, note="no")
    assert answer(agent) == (
        "You did not allow it, so I leave it there: nothing of it was run or changed. You said: “no”."
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = ", "is not TOML"),
        ("[[prompt]]\n", "prompt 1: give match"),
        ('[[prompt]]\nmatch = "("\n', "no regular expression"),
        ('[[prompt]]\nmatch = ""\n', "at least one"),
        ('[[prompt]]\nmatch = ""\n[[prompt.step]]\ntexts = "x"\n', "'texts' is not known here"),
        ('[[prompt]]\nmatch = ""\n[[prompt.step]]\nwhen = { okay = true }\n', "no condition 'okay'"),
        ('[[prompt]]\nmatch = ""\n[[prompt.step]]\nwhen = { ok = 1 }\n', "ok must be of type bool"),
        ('[[prompt]]\nmatch = ""\n[[prompt.step]]\nnext = "there"\n', "no step named 'there'"),
        ('[[prompt]]\nmatch = ""\n[[prompt.step]]\n[[prompt.step.call]]\n', "needs a tool"),
        ("pace = 1.5\n", "pace must be of type int"),
    ],
)
def test_a_scenario_that_cannot_be_right_says_where_and_why(tmp_path, text, says):
    file = tmp_path / "bad.toml"
    file.write_text(text)
    with pytest.raises(ScenarioError) as error:
        load(file)
    assert says in str(error.value)
    assert str(file) in str(error.value)
    with pytest.raises(UnknownModel):
        make_model("demo", str(file))


def test_a_scenario_can_be_played_without_waits_by_its_name(monkeypatch):
    monkeypatch.delenv("HM_DEMO_SPEED", raising=False)
    assert make_model("demo", "demo-fast")._speed == 0
    assert make_model("demo", "approvals-fast")._speed == 0
    assert make_model("demo", "approvals")._speed == 1


def test_placeholders_are_filled_in_once_and_what_is_not_there_is_empty():
    known = {"a": "x={{b}}\ny=2\nnorth,1,2", "b": "no", "s": "north"}
    assert fill("[{{a|line:1}}]", known) == "[x={{b}}]"
    assert fill("{{ a | find:y=(\\d) }}-{{a|lines:2-2}}-{{a|line:-1}}-{{a|count}}", known) == "2-y=2-north,1,2-3"
    assert fill("{{a|row:s|column:3}}{{none}}{{a|line:9}}{{a|find:zzz}}", known) == "2"
    assert fill({"k": ["{{s}}", 1]}, known) == {"k": ["north", 1]}
