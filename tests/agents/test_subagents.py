"""Sub-agents, seen by a client: whose events are whose, who waits for whom, and that one Stop ends them all."""

from __future__ import annotations

import os

import pytest

SLOW = """
[[prompt]]
match = "^go"
  [[prompt.step]]
    [[prompt.step.call]]
    tool = "sub_agent"
    title = "the slow one"
    task = "slow"
    background = {background}
  [[prompt.step]]
  text = "I wait."
  [[prompt.step]]
  when = {{ agent = "." }}
  text = "It says: {{{{agent}}}}"

[[prompt]]
match = "^slow"
  [[prompt.step]]
  text = "I begin."
    [[prompt.step.call]]
    tool = "shell"
    command = "cat fifo"
  [[prompt.step]]
  text = "I read {{{{result.1.text|trim}}}}."
"""


def there(agent, *wanted):
    """Wait until an event of each kind and fields has come, in whatever order."""

    def all_there(*_):
        return all(any(e.items() >= w.items() for e in agent.seen) for w in wanted)

    if not all_there():
        agent.until(all_there)


WAITS = {"type": "message_end", "text": "I wait."}


@pytest.fixture
def slow(start, tmp_path):
    """An agent whose sub-agent runs a command that ends when something is written to ``fifo``."""

    def begin(*flags, background=True, **options):
        (tmp_path / "work").mkdir(exist_ok=True)
        os.mkfifo(tmp_path / "work" / "fifo")
        agent = start("--mode", "auto", *flags, script=SLOW.format(background=str(background).lower()), **options)
        agent.fifo = tmp_path / "work" / "fifo"
        assert agent.call("prompt", text="go")["ok"]
        there(agent, {"type": "tool_call", "tool": "shell"}, *([WAITS] if background else []))
        return agent

    return begin


def of(events, kind, **fields):
    return [e for e in events if e["type"] == kind and all(e.get(k) == v for k, v in fields.items())]


def test_a_plan_and_two_sub_agents_in_the_demo_of_a_team(start, shop):
    agent = start("--mode", "auto", "--model", "team-fast", cwd=shop)
    events = agent.turn("review the shop")
    assert [i["status"] for i in of(events, "plan")[-1]["items"]] == ["completed"] * 3
    assert {(e["title"], e["background"]) for e in of(events, "agent_start")} == {
        ("Run the checks", True),
        ("Read the join", False),
    }
    calls = {e["call_id"]: e for e in of(events, "tool_call")}
    for begun in of(events, "agent_start"):
        own = [c for c in calls.values() if c.get("agent") == begun["agent"]]
        assert len(own) == 1
        assert calls[begun["call_id"]]["tool"] == "sub_agent"
        assert "agent" not in calls[begun["call_id"]]
    waited_for = of(events, "agent_end", call_id=of(events, "agent_start", background=False)[0]["call_id"])[0]
    result = of(events, "tool_result", call_id=waited_for["call_id"])[0]
    assert result["text"] == waited_for["text"]
    assert 'return str(int(row["customer_id"]))' in result["text"]
    answer = of(events, "message_end", role="assistant")[-1]
    assert "agent" not in answer
    assert "The checks say: `FAIL test_every_order_is_kept" in answer["text"]
    assert agent.end() == 0


def test_calls_of_all_agents_have_ids_of_their_own_and_each_has_one_result(start, shop):
    events = start("--mode", "auto", "--model", "team-fast", cwd=shop).turn("review the shop")
    ids = [e["call_id"] for e in of(events, "tool_call")]
    assert len(ids) == len(set(ids))
    assert sorted(ids) == sorted(e["call_id"] for e in of(events, "tool_result"))


def test_a_sub_agent_s_events_carry_its_name_and_only_the_main_agent_s_turn_ends(start, shop):
    events = start("--mode", "auto", "--model", "team-fast", cwd=shop).turn("review the shop")
    names = {e["agent"] for e in of(events, "agent_start")}
    assert {e["agent"] for e in events if "agent" in e} == names
    assert all(
        "agent" not in e for e in of(events, "turn_end") + of(events, "plan") + of(events, "message_end", role="user")
    )
    assert all("entry" not in e for e in events if "agent" in e)
    assert len(of(events, "turn_end")) == 1
    for name in names:
        mine = [e["type"] for e in events if e.get("agent") == name]
        assert (mine[0], mine[-1]) == ("agent_start", "agent_end")


def test_what_sub_agents_use_counts_for_the_session(start, shop):
    agent = start("--mode", "auto", "--model", "team-fast", cwd=shop)
    events = agent.turn("review the shop")
    assert any("agent" in e for e in of(events, "usage"))
    total = sum(e["input"] for e in of(events, "usage"))
    assert agent.state()["session"]["usage"]["input"] == total


def test_a_turn_does_not_end_before_its_sub_agents_and_their_answer_reaches_the_model(slow):
    agent = slow()
    assert agent.state()["running"]
    agent.fifo.write_text("the answer\n")
    agent.until("message_end", text="It says: I read the answer.")
    agent.until("turn_end")


def test_a_steer_reaches_the_main_agent_while_it_waits_for_a_sub_agent(slow):
    agent = slow()
    assert agent.call("steer", text="and this")["ok"]
    agent.until("message_end", role="user", text="and this")
    assert "I have read “and this”" in agent.until("message_end", role="assistant")["text"]
    agent.fifo.write_text("late\n")
    agent.until("turn_end")


@pytest.mark.parametrize("background", [True, False])
def test_abort_stops_the_turn_and_its_sub_agents(slow, background):
    """HM-080"""
    agent = slow(background=background)
    assert agent.call("abort")["ok"]
    result = agent.until("tool_result", tool="shell")
    assert result["outcome"] == "interrupted"
    end = agent.until("agent_end")
    assert (end["outcome"], end["is_error"]) == ("interrupted", True)
    assert agent.until("turn_end")["stop_reason"] == "cancelled"
    assert not agent.state()["running"]
    with pytest.raises(OSError, match="No such device"):  # nobody reads from it any more
        os.close(os.open(agent.fifo, os.O_WRONLY | os.O_NONBLOCK))
    assert agent.turn("say: on we go")[-2]["text"] == "on we go"


def test_closed_input_waits_for_sub_agents_as_for_the_turn(slow):
    agent = slow()
    agent.close_input()
    agent.fifo.write_text("x\n")
    agent.until("session_end", answer="It says: I read x.")
    assert agent.exit_code() == 0


def test_a_sub_agent_asks_for_leave_like_any_other_and_abort_refuses_it(start, tmp_path):
    """HM-080, HM-081"""
    agent = start(script=SLOW.format(background="true"))
    agent.call("prompt", text="go")
    needed = agent.until("approval_needed")
    assert needed["command"] == "cat fifo"
    assert needed["agent"]
    there(agent, WAITS)
    assert agent.state()["pending_approvals"] == [needed["call_id"]]
    agent.call("abort")
    assert agent.until("approval", call_id=needed["call_id"])["allow"] is False
    agent.until("turn_end")
    assert agent.state()["pending_approvals"] == []


def test_leave_for_the_session_holds_for_sub_agents_and_what_they_are_refused_is_told_at_the_end(start):
    agent = start(script=SLOW.format(background="false"), cwd=None)
    (agent.cwd / "fifo").write_text("plain\n")
    agent.call("prompt", text="run: cat fifo")
    agent.call("approve", call_id=agent.until("approval_needed")["call_id"], allow=True, for_session=True)
    agent.until("turn_end")
    agent.call("prompt", text="go")
    assert agent.until("approval")["by"] == "rule"
    agent.until("turn_end")


def test_plan_mode_refuses_a_sub_agent_s_commands_too(start):
    agent = start("--mode", "plan", script=SLOW.format(background="false"))
    agent.call("prompt", text="go")
    refused = agent.until("tool_result", tool="shell")
    assert refused["refused"]
    assert refused["agent"]
    agent.until("turn_end")
    agent.close_input()
    assert [r["tool"] for r in agent.until("session_end")["refused"]] == ["shell"]


def test_a_sub_agent_has_none_below_it_and_no_plan(start):
    script = """
[[prompt]]
match = "^go"
  [[prompt.step]]
    [[prompt.step.call]]
    tool = "sub_agent"
    title = "x"
    task = "deeper"
  [[prompt.step]]
  text = "{{result.1.text}}"

[[prompt]]
match = "^deeper"
  [[prompt.step]]
    [[prompt.step.call]]
    tool = "sub_agent"
    title = "y"
    task = "deeper"
    [[prompt.step.call]]
    tool = "todo"
    items = []
  [[prompt.step]]
  when = { ok = false }
  text = "neither"
"""
    events = start("--mode", "auto", script=script).turn("go")
    assert all("there is no tool" in e["text"] for e in events if e["type"] == "tool_result" and e.get("agent"))
    assert of(events, "message_end", role="assistant")[-1]["text"] == "neither"


def test_too_many_sub_agents_at_once_are_refused(start, tmp_path):
    calls = (
        '    [[prompt.step.call]]\n    tool = "sub_agent"\n    title = "x"\n    task = "wait"\n    background = true\n'
        * 6
    )
    script = f"""
[[prompt]]
match = "^go"
  [[prompt.step]]
{calls}
  [[prompt.step]]
  text = "enough"

[[prompt]]
match = "^wait"
  [[prompt.step]]
    [[prompt.step.call]]
    tool = "ask_user"
    question = "what?"
  [[prompt.step]]
  text = "{{{{answer}}}}"
"""
    agent = start("--mode", "auto", script=script)
    agent.call("prompt", text="go")
    there(agent, {"type": "message_end", "text": "enough"})
    results = of(agent.seen, "tool_result", tool="sub_agent")
    assert [r["is_error"] for r in results] == [False] * 4 + [True] * 2
    assert "the most there may be" in results[4]["text"]
    while len(questions := of(agent.seen, "question")) < 4:
        agent.until("question")
    for question in questions:
        assert agent.call("answer", call_id=question["call_id"], text=f"to {question['agent']}")["ok"]
    agent.until("turn_end")
    for end in of(agent.seen, "agent_end"):
        assert end["text"] == f"to {end['agent']}"


def test_a_session_with_sub_agents_is_taken_up_again_with_their_answers(start, shop):
    first = start("--mode", "auto", "--model", "team-fast", cwd=shop, saved=True)
    first.turn("review the shop")
    used = first.state()["session"]["usage"]
    assert first.end() == 0
    again = start("--continue", cwd=shop, saved=True)
    assert again.state()["session"]["usage"] == used
    history = again.call("get_history")["data"]["events"]
    assert [e["text"] for e in history if e["type"] == "agent_end"] == [
        e["text"] for e in first.seen if e["type"] == "agent_end"
    ]
    assert again.turn("say: still here")[-2]["text"] == "still here"
