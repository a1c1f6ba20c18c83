"""An hm RPC agent that asks leave for call after call and notes when each answer arrived: ``hm_ask.py COUNT LOG``.

``LOG`` gets a JSON line for each: ``{"asked": n}``, then ``{"answered": n, "at": seconds since the epoch}``. Arguments
that a client adds are ignored.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def say(kind: str, **fields: Any) -> None:
    sys.stdout.write(json.dumps({"v": 1, "type": kind, "session": "S1", **fields}) + "\n")
    sys.stdout.flush()


def main(count: int, path: str) -> None:
    with open(path, "a", buffering=1) as log:
        say("session_start", root=".", mode="ask", provider="bench", model="bench", resumed=False, prompt="")
        asked = -1

        def ask() -> None:
            nonlocal asked
            asked += 1
            if asked == count:
                say("turn_end")
                return
            call = {"tool": "shell", "call_id": f"k{asked}", "summary": "true"}
            say("tool_call", **call, input={"command": "true"})
            say("approval_needed", **call, category="shell", command="true")
            log.write(json.dumps({"asked": asked}) + "\n")

        for line in sys.stdin:
            now = time.time()
            command = json.loads(line)
            say("response", id=command.get("id"), command=command["type"], ok=True)
            if command["type"] == "prompt":
                say("message_end", role="user", text=command["text"])
                ask()
            elif command["type"] == "approve":
                log.write(json.dumps({"answered": asked, "at": now}) + "\n")
                say("approval", tool="shell", call_id=command["call_id"], allow=True)
                say("tool_result", tool="shell", call_id=command["call_id"], text="", is_error=False)
                ask()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
