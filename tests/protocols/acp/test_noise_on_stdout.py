"""A real program that writes more to stdout than messages: the session goes on, and nothing of it is ever answered."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import hm_jupyter
from hm_jupyter.transcript import NoticeEntry

AGENT = r"""
import json, sys
heard = open(sys.argv[1], "a", buffering=1)
def say(text): sys.stdout.write(text + "\n"); sys.stdout.flush()
def message(**fields): return json.dumps({"jsonrpc": "2.0", **fields})
say("Welcome to the shell!")
say("[info] migrating the database")
for line in sys.stdin:
    heard.write(line)
    request = json.loads(line)
    say("DEBUG received " + line.strip())
    if request.get("method") == "initialize":
        say("42"); say('"a string"'); say("null"); say("[]")
        say("\x1b[?25h\x1b]0;agent\x07" + message(id=request["id"], result={"protocolVersion": 1}))
    elif request.get("method") == "session/new":
        say(message(id=request["id"], result={"sessionId": "s"}))
    elif request.get("method") == "session/prompt":
        content = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hello"}}
        say("\x1b[0m" + message(method="session/update", params={"sessionId": "s", "update": content}))
        say(message(id=request["id"], result={"stopReason": "end_turn"}))
"""


def test_pitfalls_2_3_and_4_logs_escapes_and_values_that_are_no_messages(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    with hm_jupyter.connect([sys.executable, "-c", AGENT, str(heard)]) as session:
        turn = session.prompt("go", timeout=20)
        assert (turn.text, turn.stop_reason) == ("hello", "end_turn")
        shown = [e.detail for e in session.transcript.entries.values() if isinstance(e, NoticeEntry)]
    assert any("Welcome to the shell!" in text for text in shown)  # a person may look at it
    methods = [json.loads(line).get("method") for line in heard.read_text().splitlines()]
    assert methods == ["initialize", "session/new", "session/prompt"]  # no -32700, no answer of any kind
