"""An agent for tests that says each text of the hostile corpus in every field it has.

Speaks hm RPC. ``say FROM TO`` plays the texts of that slice of the corpus: messages, thoughts, calls, outputs, files,
unknown events, errors; ``ask FROM TO`` makes leave wait for a command, a two-file edit and an unknown call with the texts
in all their fields, and two questions, until each is decided or the turn is aborted. ``name N`` gives the session the text
as title, mode, model and root; it lasts.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from hostile import CORPUS

TEXTS = list(CORPUS.values())


def say(kind: str, **fields: Any) -> None:
    sys.stdout.write(json.dumps({"v": 1, "type": kind, "session": "S1", "time": "", **fields}) + "\n")
    sys.stdout.flush()


def session(t: str) -> None:
    say("session_start", root=t, mode=t, provider=t, model=t, resumed=False, prompt=t, modes=[t, t + "2"], models=[t, t + "2"], title=t)  # fmt: skip


def files(t: str) -> list[dict[str, Any]]:
    return [
        {"path": t, "old": "a\n" + t, "new": t + "\nb\n"},
        {"path": "new " + t, "old": None, "new": t},
        {"path": "gone " + t, "old": t, "new": None},
    ]


def call(n: int, kind: str, t: str) -> dict[str, Any]:
    """The fields every event about a call has; the id holds the text too."""
    tool = {"shell": "shell", "edit": "edit_file", "read": "read_file", "ask": "ask_user"}.get(kind, t or "x")
    return {"tool": tool, "call_id": f"{n}{kind}{t[:200]}"}


def one(n: int, t: str) -> None:
    say("message_start", role="assistant")
    say("thinking_delta", text=t)
    say("text_delta", text=t)
    say("message_end", role="assistant", text=t, entry=t)
    say("message_start", role=t)
    say("tool_start", tool=t)
    for kind in ("shell", "edit", "read", "other"):
        this = call(n, kind, t)
        given = {"command": t, "cwd": t, "path": t, "pattern": t, t or "k": [t, {t or "k": t}]}
        say("tool_call", **this, summary=t, input=given)
        say("tool_output", call_id=this["call_id"], text=t)
        say(
            "tool_result", **this, text=t, is_error=kind == "read", files=files(t) if kind == "edit" else None,
            exit_code=0 if kind == "shell" else None, outcome=t, refused=t, entry=t,
        )  # fmt: skip
    say("usage", input=t, output=t, cache_read=t, cache_write=t, cost=t)
    say(t or "x", text=t, **{(t or "k"): t})
    say("compaction_start", focus=t)
    say("compaction_end", summary=t, context=t, error=t if n % 2 else "")
    sys.stderr.write(t.encode("utf-8", "replace").decode() + "\n")
    sys.stdout.write(json.dumps(t) + "\n" + t.encode("utf-8", "replace").decode().replace("\n", " ") + "\n")


def wanted(n: int, t: str) -> list[str]:
    """Make everything wait that can; the call ids."""
    common = {"summary": t, "cwd": t, "paths": [t, t], "rule": t, "reason": t}
    ids = []
    for kind in ("shell", "edit", "other"):
        this = call(n, kind, t)
        given = {"command": t, "path": t, t or "k": t} if kind != "edit" else {"path": t, "content": t}
        say("tool_call", **this, summary=t, input=given)
        say(
            "approval_needed", **this, category=kind, command=t if kind == "shell" else "",
            files=files(t) if kind == "edit" else None, **common,
        )  # fmt: skip
        ids.append(this["call_id"])
    for free in (True, False):
        this = call(n, f"ask{free}", t)
        say("tool_call", tool="ask_user", call_id=this["call_id"], summary=t, input={"question": t})
        choices = (
            [] if free else [{"value": t, "label": t, "help": t}, t + "2", {"value": t + "3", "label": "", "help": t}]
        )
        say("question", call_id=this["call_id"], text=t, choices=choices, multi=False, free=free)
        ids.append(this["call_id"])
    return ids


def main() -> None:
    session("")
    waiting: list[str] = []
    for line in sys.stdin:
        command = json.loads(line)
        kind = command["type"]
        data = {"session": {"id": "S1"}} if kind == "get_state" else None
        say("response", id=command.get("id"), command=kind, ok=True, data=data)
        if kind == "prompt":
            what, *numbers = command["text"].split()
            texts = list(enumerate(TEXTS))[slice(*map(int, numbers))]
            say("message_end", role="user", text=command["text"])
            if what == "name":
                session(texts[0][1])
            for n, t in texts:
                if what == "say":
                    one(n, t)
                elif what == "ask":
                    waiting += wanted(n, t)
            if not waiting:
                say("turn_end", stop_reason="end_turn")
        elif kind in ("approve", "answer") and command["call_id"] in waiting:
            waiting.remove(command["call_id"])
            if kind == "approve":
                say("approval", tool="x", call_id=command["call_id"], allow=command["allow"])
            say("tool_result", tool="x", call_id=command["call_id"], text=TEXTS[0], is_error=False)
            if not waiting:
                say("turn_end", stop_reason="end_turn")
        elif kind == "abort":
            for call_id in waiting:
                say("approval", tool="x", call_id=call_id, allow=False, note=call_id, by="agent", rule=call_id)
            waiting.clear()
            say("turn_end", stop_reason="error", error=TEXTS[1])


main()
