"""An agent for tests: a program that speaks hm RPC and does what its prompt says.

``stream N`` sends N text deltas as fast as the pipe takes them; ``drip N S`` one every S seconds; ``ask N`` wants leave
for N calls, one after the other; ``question`` asks which database; ``wait`` goes on until it is stopped, ``deaf``
until the end of input, whatever it is told. With
``HM_TEST_LOG`` set, each command is written there with the time it arrived.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from typing import Any

log = open(os.environ["HM_TEST_LOG"], "a", buffering=1) if os.environ.get("HM_TEST_LOG") else None  # noqa: SIM115
inbox: queue.Queue[dict[str, Any] | None] = queue.Queue()
stopped = threading.Event()


def say(kind: str, **fields: Any) -> None:
    sys.stdout.write(json.dumps({"v": 1, "type": kind, "session": "S1", **fields}) + "\n")
    sys.stdout.flush()


def read() -> None:
    for line in sys.stdin:
        now = time.time()
        command = json.loads(line)
        if log:
            log.write(json.dumps({"at": now, **command}) + "\n")
        if command["type"] == "abort":
            stopped.set()
        inbox.put(command)
    inbox.put(None)


def answer(command: dict[str, Any]) -> None:
    say("response", id=command.get("id"), command=command["type"], ok=True)


def wait_for(*kinds: str) -> dict[str, Any]:
    """The next command of one of these kinds, or abort; others are answered and have no effect."""
    while True:
        command = inbox.get()
        if command is None:
            sys.exit(0)
        answer(command)
        if command["type"] in (*kinds, "abort"):
            return command


def turn(text: str) -> None:
    words = text.split()
    say("message_end", role="user", text=text)
    say("message_start", role="assistant")
    done = ""
    if words[0] == "stream":
        for n in range(int(words[1])):
            say("text_delta", text=f"w{n} ")
            done += f"w{n} "
    elif words[0] == "drip":
        for n in range(int(words[1])):
            if stopped.wait(float(words[2])):
                break
            say("text_delta", text=f"w{n} ")
            done += f"w{n} "
    say("message_end", role="assistant", text=done)
    if words[0] == "ask":
        for n in range(int(words[1])):
            call = {"tool": "shell", "call_id": f"k{n}", "summary": f"echo {n}"}
            say("tool_call", **call, input={"command": f"echo {n}"})
            say("approval_needed", **call, category="shell", command=f"echo {n}", rule="echo *", cwd="/w")
            decided = wait_for("approve")
            if decided["type"] == "abort":
                say("approval", tool="shell", call_id=f"k{n}", allow=False)
                break
            say("approval", tool="shell", call_id=f"k{n}", allow=decided["allow"])
            said = f"{n}\n" if decided["allow"] else f"denied: {decided.get('note', '')}"
            say("tool_result", tool="shell", call_id=f"k{n}", text=said, is_error=False)
    elif words[0] == "question":
        say("tool_call", tool="ask_user", call_id="q0", summary="which?", input={})
        say("question", call_id="q0", text="Which database?", choices=[{"value": "sqlite"}, {"value": "postgres"}])
        decided = wait_for("answer")
        say("tool_result", tool="ask_user", call_id="q0", text=decided.get("text", ""), is_error=False)
    elif words[0] == "wait":
        wait_for()
    elif words[0] == "deaf":
        while True:
            wait_for()
    say("turn_end")


threading.Thread(target=read, daemon=True).start()
say("session_start", root="/w", mode="ask", provider="p", model="m", resumed=False, prompt="")
while (received := inbox.get()) is not None:
    answer(received)
    if received["type"] == "prompt":
        stopped.clear()
        turn(received["text"])
say("session_end", answer="", exit_code=0, refused=[], usage={})
