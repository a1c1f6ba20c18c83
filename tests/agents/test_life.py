"""The life of the agent's process: start, end of input, signals, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

WAIT = 20.0


def wait_for(condition, what):
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.01)


def test_session_start_comes_before_any_command_and_then_nothing(start):
    """HM-021 HM-022"""
    agent = start()
    assert agent.kinds() == ["session_start"]
    agent.quiet()
    assert agent.kinds() == ["session_start", "response"]


def test_every_line_of_stdout_is_json_with_the_header(start):
    """HM-002 HM-197"""
    agent = start("--mode", "auto")
    agent.turn("run: echo noise >&2")
    assert agent.end() == 0
    for event in agent.seen:
        assert event["v"] == 1
        assert all(isinstance(event[k], str) and event[k] for k in ("type", "session", "time"))


def test_the_document_s_example_with_the_input_closed_at_once(run_once):
    """HM-025 HM-034 HM-183 HM-184 HM-186 HM-189 HM-192 HM-195 HM-199"""
    result = run_once(
        "--rpc", "--no-session", "--provider", "demo", input='{"id":"1","type":"prompt","text":"run the tests"}\n'
    )
    events = [json.loads(line) for line in result.stdout.splitlines()]
    kinds = [e["type"] for e in events if e["type"] != "text_delta"]
    assert kinds == [
        "session_start", "response", "message_end", "message_start", "tool_start", "usage", "message_end", "tool_call",
        "approval_needed", "approval", "tool_result", "message_end", "message_start", "usage", "message_end",
        "turn_end", "session_end",
    ]  # fmt: skip
    (approval,) = [e for e in events if e["type"] == "approval"]
    assert approval["allow"] is False
    assert "Nobody can answer" in approval["note"]
    assert [r["call_id"] for r in events[-1]["refused"]] == [approval["call_id"]]
    assert "I did not run the tests" in events[-1]["answer"]
    assert result.returncode == events[-1]["exit_code"] == 0


def test_input_closed_while_idle_ends_with_session_end_and_0(start):
    """HM-033 HM-196"""
    agent = start()
    assert agent.end() == 0
    assert agent.seen[-1]["type"] == "session_end"
    assert agent.seen[-1]["exit_code"] == 0


def test_input_closed_during_a_turn_waits_for_it(start):
    """HM-032"""
    agent = start("--mode", "auto")
    os.mkfifo(agent.cwd / "fifo")
    agent.call("prompt", text="run: read x < fifo; echo $x")
    agent.until("tool_call")
    agent.close_input()
    (agent.cwd / "fifo").write_text("go on\n")
    assert agent.exit_code() == 0
    assert agent.kinds()[-2:] == ["turn_end", "session_end"]
    assert "go on" in agent.seen[-1]["answer"]


@pytest.mark.parametrize("prompt", ["run: echo x", "ask: which?"])
def test_input_closed_while_something_waits_for_an_answer_ends_the_turn(start, prompt):
    """HM-034"""
    agent = start()
    agent.call("prompt", text=prompt)
    agent.until(lambda e: e["type"] in ("approval_needed", "question"))
    assert agent.end() == 0
    assert agent.kinds()[-2:] == ["turn_end", "session_end"]


def test_abort_and_closed_input_end_at_once(start):
    """HM-036"""
    agent = start("--mode", "auto")
    agent.call("prompt", text="run: sleep 1000")
    agent.until("tool_call")
    agent.send("abort")
    assert agent.end() == 0
    assert agent.seen[-1]["type"] == "session_end"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("busy", [True, False], ids=["in a turn", "idle"])
def test_a_signal_aborts_the_turn_and_exits_with_130(start, number, busy):
    """HM-039 HM-040 HM-196"""
    agent = start("--mode", "auto")
    if busy:
        agent.call("prompt", text="run: sleep 1000")
        agent.until("tool_call")
    agent.process.send_signal(number)
    assert agent.exit_code() == 130
    assert agent.seen[-1]["type"] == "session_end"
    assert agent.seen[-1]["exit_code"] == 130
    if busy:
        assert agent.seen[-2]["type"] == "turn_end"
        assert agent.seen[-2]["stop_reason"] == "cancelled"
    assert "Traceback" not in agent.stderr


def test_a_signal_is_obeyed_although_nobody_reads(start):
    """HM-040"""
    agent = start("--model", "stress")
    process = subprocess.Popen(
        [sys.executable, "-m", "hm_jupyter.agents", "--rpc", "--model", "stress"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=agent.cwd,
    )  # fmt: skip
    try:
        process.stdin.write(b'{"type":"prompt","text":"stream 1000000"}\n')
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT) == 130
    finally:
        process.kill()
        process.stdin.close()
        process.stdout.close()


def test_it_ends_when_nobody_reads_any_more(start):
    agent = start("--model", "stress")
    process = subprocess.Popen(
        [sys.executable, "-m", "hm_jupyter.agents", "--rpc", "--model", "stress"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=agent.cwd,
    )  # fmt: skip
    try:
        process.stdin.write(b'{"type":"prompt","text":"stream 1000000"}\n')
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(WAIT) == 1
    finally:
        process.kill()
        process.stdin.close()


def marked(mark):
    """Processes with that mark in their command line or environment."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and mark in " ".join(process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.mark.parametrize("ending", ["abort", "SIGTERM", "SIGKILL"])
def test_a_command_s_children_end_with_it(start, ending):
    """HM-079"""
    agent = start("--mode", "auto")
    mark = f"31{os.getpid()}.5"
    agent.call("prompt", text=f"run: (trap '' TERM; sleep {mark}) & sleep {mark}")
    wait_for(lambda: len(marked(f"sleep {mark}")) >= 2, "the command and its child run")
    if ending == "abort":
        agent.call("abort")
        agent.until("turn_end")
    else:
        agent.process.send_signal(getattr(signal, ending))
        agent.exit_code()
    wait_for(lambda: not marked(mark), f"all of it is gone after {ending}")


def test_what_a_command_leaves_in_the_background_is_ended(start):
    agent = start("--mode", "auto")
    mark = f"32{os.getpid()}.5"
    agent.call("prompt", text=f"run: sleep {mark} & echo started")
    result = agent.until("tool_result")
    assert "started" in result["text"]
    assert "background was stopped" in result["text"]
    wait_for(lambda: not marked(mark), "it is gone")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a new session is only followed on Linux")
@pytest.mark.parametrize("ending", ["by itself", "abort", "SIGTERM", "end of input"])
@pytest.mark.parametrize(
    "stray",
    [
        "setsid sleep {mark} &",
        "nohup setsid sleep {mark} >/dev/null 2>&1 &",
        "(setsid sh -c 'trap \"\" TERM HUP INT; sleep {mark}; true' &) ;",
        "python -c 'import os, time; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0);"
        ' os.execvp("sleep", ["sleep", "{mark}"])\' &',
    ],
    ids=["setsid", "nohup", "deaf", "daemon"],
)
def test_what_gets_itself_a_session_of_its_own_ends_with_the_command_too(start, stray, ending):
    agent = start("--mode", "auto")
    mark = f"33{os.getpid()}.5"
    rest = "sleep 60" if ending in ("abort", "SIGTERM") else "echo over"
    agent.call(
        "prompt", text=f"run: {stray.format(mark=mark)} until pgrep -f '^sleep {mark}'; do sleep 0.01; done; {rest}"
    )
    if ending == "by itself":
        assert "background was stopped" in agent.until("tool_result")["text"]
    elif ending == "end of input":
        agent.process.stdin.close()
        assert agent.exit_code() == 0
    else:
        wait_for(lambda: marked(f"sleep {mark}"), "it runs")
        if ending == "abort":
            agent.call("abort")
            agent.until("turn_end")
        else:
            agent.process.send_signal(signal.SIGTERM)
            assert agent.exit_code() == 130
    wait_for(lambda: not [p for p in marked(mark) if p.name() == "sleep"], "it is gone")


def test_commands_one_after_the_other_leave_no_zombie(start):
    agent = start("--mode", "auto")
    for _ in range(3):
        agent.call("prompt", text="run: setsid true & setsid true & (setsid true &) ; sleep 0.05")
        agent.until("turn_end")
    assert not [p for p in psutil.Process(agent.process.pid).children() if p.status() == psutil.STATUS_ZOMBIE]


def test_it_is_ready_in_a_quarter_of_a_second_of_processor_time(start):
    agent = start()
    times = psutil.Process(agent.process.pid).cpu_times()
    assert times.user + times.system < 0.6  # 0.15 s on a quiet machine; a busy one counts more
