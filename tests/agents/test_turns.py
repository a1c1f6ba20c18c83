"""Turns: their order of events, and what steer, follow_up and abort do to them."""

from __future__ import annotations

import json

THREE = """
[[prompt]]
match = "go"
  [[prompt.step]]
    [[prompt.step.call]]
    tool = "shell"
    command = "echo one; while [ ! -e go ]; do sleep 0.02; done"
    [[prompt.step.call]]
    tool = "shell"
    command = "touch two"
    [[prompt.step.call]]
    tool = "shell"
    command = "touch three"
  [[prompt.step]]
  when = { steer = "log" }
  text = "I heard {{steer}}; first gave {{result.1.text|line:1}}; second: {{result.2.text}}"
  [[prompt.step]]
  text = "no steer"
"""


def begun(agent):
    """Prompt the three calls and wait until the first one runs."""
    assert agent.call("prompt", text="go")["ok"]
    agent.until("tool_output", text="one\n")


def let_go(agent):
    (agent.cwd / "go").touch()


def results(events):
    return [e for e in events if e["type"] == "tool_result"]


def test_a_turn_has_the_documented_order(start):
    """HM-025 HM-063 HM-181 HM-183 HM-184 HM-186 HM-187 HM-189 HM-190 HM-192 HM-199"""
    agent = start("--mode", "auto")
    events = agent.turn("run: echo hello")
    kinds = [e["type"] for e in events if e["type"] not in ("text_delta", "tool_output")]
    assert kinds == [
        "response", "message_end", "message_start", "tool_start", "usage", "message_end", "tool_call", "tool_result",
        "message_end", "message_start", "usage", "message_end", "turn_end",
    ]  # fmt: skip
    assert "data" not in events[0]
    assert (events[1]["role"], events[1]["text"]) == ("user", "run: echo hello")
    empty, tool, answer = [e for e in events[2:] if e["type"] == "message_end"]
    assert (empty["role"], empty["text"]) == ("assistant", "")
    assert (tool["role"], tool["text"]) == ("tool", "")
    assert answer["text"] == "It ran. Its last line: `hello`"
    (begin,) = [e for e in events if e["type"] == "tool_start"]
    assert begin["tool"] == "shell"
    assert "call_id" not in begin
    (call,) = [e for e in events if e["type"] == "tool_call"]
    assert (call["tool"], call["summary"], call["input"]) == ("shell", "echo hello", {"command": "echo hello"})
    (result,) = results(events)
    assert (result["tool"], result["call_id"], result["is_error"]) == ("shell", call["call_id"], False)
    assert result["text"] == "hello\n"
    assert set(events[-1]) == {"v", "type", "session", "time"}


def test_the_deltas_of_a_message_join_to_its_text(start):
    """HM-193"""
    agent = start()
    text = "a b\n\n  c\t**d** \u2028 é 😀 end "
    events = agent.turn(f"say: {text}")
    assert "".join(e["text"] for e in events if e["type"] == "text_delta") == text
    assert [e["text"] for e in events if e["type"] == "message_end"] == [f"say: {text}", text]


def test_text_is_seen_while_it_is_written_and_the_prompt_was_answered_before(start):
    """HM-024"""
    script = '[[prompt]]\nmatch = ""\n[[prompt.step]]\ntext = "one two"\npause = 60000\n'
    agent = start(script=script, env={"HM_DEMO_SPEED": "1"})
    assert agent.call("prompt", text="x")["ok"]
    agent.until("message_start")
    assert agent.state()["running"] is True
    agent.call("abort")
    agent.until("turn_end")


def test_the_usage_of_the_calls_adds_up_in_session_end(start):
    """HM-186 HM-195"""
    agent = start("--mode", "auto")
    agent.turn("run: echo hello")
    agent.turn("say: hello")
    assert agent.end() == 0
    usages = [e for e in agent.seen if e["type"] == "usage"]
    assert len(usages) == 3
    total = agent.seen[-1]["usage"]
    for key in ("input", "output", "cache_read", "cache_write"):
        assert total[key] == sum(u[key] for u in usages)
    assert abs(total["cost"] - sum(u["cost"] for u in usages)) < 1e-9
    assert total["cost"] > 0
    assert agent.seen[-1]["answer"] == "hello"


def test_a_second_prompt_is_refused_and_disturbs_nothing(start):
    """HM-030 HM-050"""
    agent = start("--mode", "auto", script=THREE)
    begun(agent)
    second = agent.call("prompt", text="say: other")
    assert second["error"] == "a turn is running; steer it or queue a follow-up"
    let_go(agent)
    agent.until("turn_end")
    assert (agent.cwd / "three").exists()
    assert agent.turn("say: third")[-1]["type"] == "turn_end"
    assert "say: other" not in [e.get("text") for e in agent.seen]


def test_a_steer_is_answered_at_once_and_read_after_the_call_in_progress(start):
    """HM-027 HM-067 HM-068 HM-069 HM-200"""
    agent = start("--mode", "auto", script=THREE)
    begun(agent)
    assert agent.call("steer", text="use a log axis")["ok"]
    assert not results(agent.seen)
    let_go(agent)
    agent.until("turn_end")
    first, second, third = results(agent.seen)
    assert first["is_error"] is False
    for skipped in (second, third):
        assert skipped["outcome"] == "skipped"
        assert "before this call began" in skipped["text"]
    assert not (agent.cwd / "two").exists()
    assert not (agent.cwd / "three").exists()
    ends = [(e["role"], e["text"]) for e in agent.seen if e["type"] == "message_end"]
    assert ends[2:4] == [("tool", ""), ("user", "use a log axis")]
    assert ends[4][1].startswith("I heard use a log axis; first gave one; second: Not run")


def test_a_steer_while_idle_waits_for_the_next_prompt(start):
    """HM-071"""
    agent = start()
    assert agent.call("steer", text="in capitals")["ok"]
    agent.quiet()
    assert agent.kinds() == ["session_start", "response", "response"]
    events = agent.turn("say: hello")
    assert [e["text"] for e in events if e["type"] == "message_end" and e["role"] == "user"] == [
        "say: hello",
        "in capitals",
    ]
    assert "“in capitals”" in events[-2]["text"]


def test_a_steer_during_the_last_answer_still_reaches_the_model(start):
    """HM-068"""
    script = '[[prompt]]\nmatch = ""\n[[prompt.step]]\ntext = "one two three"\n'
    agent = start(script=f"pace = 150\n{script}", env={"HM_DEMO_SPEED": "1"})
    agent.call("prompt", text="x")
    agent.until("text_delta")
    agent.send("steer", text="shorter")
    agent.until("message_end", role="user", text="shorter")
    assert "“shorter”" in agent.until("message_end", role="assistant")["text"]
    agent.until("turn_end")


def test_a_follow_up_waits_for_the_end_and_starts_another_step_of_the_same_turn(start):
    """HM-027 HM-074 HM-075"""
    agent = start("--mode", "auto", script=THREE)
    begun(agent)
    assert agent.call("follow_up", text="say: and then this")["ok"]
    assert agent.call("follow_up", text="say: and that")["ok"]
    let_go(agent)
    agent.until("turn_end")
    ends = [(e["role"], e["text"]) for e in agent.seen if e["type"] == "message_end"]
    assert ends[3:] == [
        ("assistant", "no steer"), ("user", "say: and then this"), ("assistant", "and then this"),
        ("user", "say: and that"), ("assistant", "and that"),
    ]  # fmt: skip
    assert agent.kinds().count("turn_end") == 1
    assert (agent.cwd / "three").exists()


def test_a_follow_up_while_idle_has_no_end_to_wait_for_and_starts_at_once(start):
    """HM-077"""
    agent = start()
    assert agent.call("follow_up", text="say: hello")["ok"]
    agent.until("turn_end")
    assert agent.state()["running"] is False


def test_abort_stops_the_turn_and_closes_everything_that_was_open(start):
    """HM-027 HM-078 HM-079 HM-085"""
    agent = start("--mode", "auto", script=THREE)
    begun(agent)
    assert agent.call("abort")["ok"]
    assert agent.until("tool_result")["outcome"] == "interrupted"
    assert agent.until("turn_end")["stop_reason"] == "cancelled"
    agent.quiet()
    assert agent.kinds()[-1] == "response"
    assert agent.kinds().count("message_start") == 1
    assert agent.turn("say: still here")[-1]["type"] == "turn_end"


def test_abort_during_text_closes_the_message_with_what_was_written(start):
    """HM-079 HM-193"""
    agent = start(
        script='pace = 100\n[[prompt]]\nmatch = ""\n[[prompt.step]]\ntext = "one two three four five six"\n',
        env={"HM_DEMO_SPEED": "1"},
    )
    agent.call("prompt", text="x")
    agent.until("text_delta")
    agent.send("abort")
    end = agent.until("message_end", role="assistant")
    assert end["interrupted"] is True
    assert end["text"] == "".join(e["text"] for e in agent.seen if e["type"] == "text_delta")
    agent.until("turn_end", stop_reason="cancelled")


def test_abort_drops_what_was_queued(start):
    """HM-083"""
    agent = start("--mode", "auto", script=THREE)
    begun(agent)
    agent.call("steer", text="dropped steer")
    agent.call("follow_up", text="say: dropped follow-up")
    agent.call("abort")
    agent.until("turn_end")
    agent.turn("say: next")
    assert "dropped" not in json.dumps([e for e in agent.seen if e["type"] == "message_end"])


def test_abort_while_idle_does_no_harm_and_drops_a_waiting_steer(start):
    """HM-083 HM-086"""
    agent = start()
    agent.call("steer", text="dropped")
    assert agent.call("abort")["ok"]
    agent.turn("say: hello")
    assert "dropped" not in json.dumps(agent.seen)


def test_abort_in_the_same_breath_as_the_prompt_still_ends_the_turn(start):
    """HM-085"""
    agent = start()
    agent.raw(b'{"id":"a","type":"prompt","text":"say: x"}\n{"id":"b","type":"abort"}\n')
    agent.until("response", id="a", ok=True)
    agent.until("response", id="b", ok=True)
    agent.until("turn_end", stop_reason="cancelled")
    assert agent.state()["running"] is False


def test_a_model_that_fails_ends_the_turn_and_not_the_agent(start):
    """HM-004"""
    script = '[[prompt]]\nmatch = ""\n[[prompt.step]]\ntext = "{{result.1.text|line:x}}"\n'
    agent = start(script=script)
    end = agent.turn("x")[-1]
    assert end["stop_reason"] == "error"
    assert end["error"]
    assert agent.state()["running"] is False
    assert agent.end() == 0
    assert "Traceback" in agent.stderr


def test_commands_are_answered_between_the_events_of_a_running_turn(start):
    """HM-110 HM-200"""
    agent = start("--mode", "auto", script=THREE)
    begun(agent)
    assert agent.state()["running"] is True
    let_go(agent)
    agent.until("turn_end")
    assert agent.state()["running"] is False
