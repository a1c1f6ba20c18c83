"""The scripted ACP agent's scenes of tool calls: leave for commands, edits, terminals, sub-agents, background work."""

from __future__ import annotations

import base64
import threading
from pathlib import Path

from acp_peer import Json, Refused
from acp_scenes import number, scene
from acp_turn import Cancelled, Turn, content
from acp_voice import V2, text


@scene
def tool(turn: Turn, words: list[str]) -> None:
    """``tool [TITLE]``: a call that needs no leave."""
    title = " ".join(words) or "Read notes.txt"
    path = str(Path(turn.session.cwd) / "notes.txt")
    call_id = turn.call(title, "read", locations=[{"path": path, "line": 3}], rawInput={"path": path})
    turn.update(call_id, status="in_progress")
    if isinstance(turn.voice, V2):
        turn.session.remember_call(call_id, {"content": [content("three lines")]})
        turn.tell(turn.voice.call_chunk(call_id, content("three ")))
        turn.tell(turn.voice.call_chunk(call_id, content("lines")))
        turn.update(call_id, status="completed")
    else:
        turn.done(call_id, "three lines")


@scene
def fail(turn: Turn, words: list[str]) -> None:
    """A call that fails."""
    turn.done(turn.call("Fetch a page", "fetch", status="in_progress"), "no such host", ok=False)


@scene
def hang(turn: Turn, words: list[str]) -> None:
    """A call that is never told of again, as many agents do when they are stopped."""
    turn.call("sleep 60", "execute", status="in_progress")
    turn.pause(60)


@scene
def ask(turn: Turn, words: list[str]) -> None:
    """``ask [N]``: leave for N commands, one after the other; ``ask bare``: for a call not told of before."""
    bare = words == ["bare"]
    for n in range(1 if bare else number(words, 1)):
        command = f"echo {n}"
        fields: Json = {"kind": "execute", "rawInput": {"command": command, "cwd": turn.session.cwd}}
        call_id = turn.session.fresh("c") if bare else turn.call(command, **fields)
        chosen = turn.outcome(turn.ask_leave(command, call_id, status="pending", **fields))
        _decided(turn, call_id, chosen, f"{n}\n")


@scene
def ask2(turn: Turn, words: list[str]) -> None:
    """Leave for two commands at once."""
    asked = []
    for n in range(2):
        fields: Json = {"kind": "execute", "rawInput": {"command": f"echo {n}"}}
        call_id = turn.call(f"echo {n}", **fields)
        asked.append((n, call_id, turn.ask_leave(f"echo {n}", call_id, **fields)))
    outcomes: list[str | None] = []
    for _, _, waiting in asked:
        try:
            outcomes.append(turn.outcome(waiting))
        except Cancelled:
            outcomes.append(None)
    for (n, call_id, _), chosen in zip(asked, outcomes, strict=True):
        if chosen is None:
            raise Cancelled
        _decided(turn, call_id, chosen, f"{n}\n")


def _decided(turn: Turn, call_id: str, chosen: str, said: str) -> bool:
    allowed = chosen in ("yes", "always")
    if allowed:
        turn.update(call_id, status="in_progress")
    turn.done(call_id, said if allowed else "The person refused.", ok=allowed)
    return allowed


@scene
def withdraw(turn: Turn, words: list[str]) -> None:
    """``withdraw [S]``: ask for leave, and after S seconds take it back."""
    call_id = turn.call("rm -r build", "execute", rawInput={"command": "rm -r build"})
    waiting = turn.ask_leave("rm -r build", call_id)
    turn.pause(float(words[0]) if words else 0.2)
    assert turn.session.peer is not None
    turn.session.peer.withdraw(waiting)
    try:
        turn.outcome(waiting)
    except Cancelled:
        pass
    turn.done(call_id, "not needed any more", ok=False)
    turn.say("Never mind.")


@scene
def edit(turn: Turn, words: list[str]) -> None:
    """``edit PATH [TEXT]``: ask for leave to write a file, then write it through the client if it offers that."""
    path = str(Path(turn.session.cwd) / (words[0] if words else "notes.txt"))
    try:
        old = _read(turn, path)
    except (OSError, Refused):
        old = None
    new = " ".join(words[1:]) + "\n" if len(words) > 1 else (old or "") + "one more line\n"
    fields: Json = {
        "kind": "edit",
        "locations": [{"path": path}],
        "content": [turn.voice.diff(path, old, new)],
        "rawInput": {"path": path, "content": new},
    }
    call_id = turn.call(f"Edit {Path(path).name}", **fields)
    if turn.outcome(turn.ask_leave(f"Edit {Path(path).name}", call_id, **fields)) not in ("yes", "always"):
        turn.update(call_id, status="failed")
        return
    turn.update(call_id, status="in_progress")
    if turn.agent.client_can("fs", "writeTextFile"):
        turn.request("fs/write_text_file", path=path, content=new)
    else:
        Path(path).write_text(new)
    turn.update(call_id, status="completed")


@scene
def repair(turn: Turn, words: list[str]) -> None:
    """``repair PATH OLD NEW``: a small repair as agents go about one: a thought, a plan, a look at the file, leave to change it."""
    turn.think("The join is an inner one, so orders without a customer are lost.")
    steps = ("Find where the rows are lost", "Keep every order in the join", "Run the tests")
    states = ("completed", "in_progress", "pending")
    turn.tell(
        turn.voice.plan([{"content": c, "priority": "medium", "status": s} for c, s in zip(steps, states, strict=True)])
    )
    path = str(Path(turn.session.cwd) / words[0])
    old = _read(turn, path)
    looked = turn.call(f"Read {words[0]}", "read", locations=[{"path": path}], rawInput={"path": path})
    turn.done(looked, old)
    turn.say(f"`{words[0]}` drops each order whose customer is not known. I keep them.")
    new = old.replace(words[1], " ".join(words[2:]))
    fields: Json = {"kind": "edit", "locations": [{"path": path}], "content": [turn.voice.diff(path, old, new)]}
    call_id = turn.call(f"Edit {words[0]}", rawInput={"filepath": path}, **fields)
    if _decided(turn, call_id, turn.outcome(turn.ask_leave(f"Edit {words[0]}", call_id, **fields)), "Done."):
        Path(path).write_text(new)


def _read(turn: Turn, path: str) -> str:
    if turn.agent.client_can("fs", "readTextFile"):
        return str(turn.request("fs/read_text_file", path=path)["content"])
    return Path(path).read_text()


@scene
def terminal(turn: Turn, words: list[str]) -> None:
    """``terminal COMMAND``: run it, in a terminal of the client's (v1) or of our own, shown to the client (v2)."""
    command = " ".join(words) or "echo hi"
    call_id = turn.call(command, "execute", rawInput={"command": command})
    if isinstance(turn.voice, V2):
        _own_terminal(turn, call_id, command)
    elif turn.agent.client_can("terminal"):
        _client_terminal(turn, call_id, command)
    else:
        turn.done(call_id, "The client has no terminals.", ok=False)


def _client_terminal(turn: Turn, call_id: str, command: str) -> None:
    environment = [{"name": "HM_ACP", "value": "1"}]
    more: Json = {"env": environment, "cwd": turn.session.cwd, "outputByteLimit": 10_000}
    try:
        made = turn.request("terminal/create", command="sh", args=["-c", command], **more)
    except Refused as error:
        turn.done(call_id, f"refused: {error}", ok=False)
        return
    terminal_id = made["terminalId"]
    turn.update(call_id, status="in_progress", content=[{"type": "terminal", "terminalId": terminal_id}])
    waiting = turn.session.ask("terminal/wait_for_exit", {"terminalId": terminal_id})
    while not waiting.done and not turn.cancelled.wait(0.02):
        pass
    if not waiting.done:
        turn.request("terminal/kill", terminalId=terminal_id)
    ended = turn.answer_of(waiting)
    said = turn.request("terminal/output", terminalId=terminal_id)
    turn.request("terminal/release", terminalId=terminal_id)
    ok = ended.get("exitCode") == 0
    turn.update(call_id, status="completed" if ok else "failed", rawOutput={**said, **ended})
    turn.session.remember_call(call_id, {"content": [content(said["output"])]})
    turn.check()
    turn.say(f"exit {ended.get('exitCode')}")


def _own_terminal(turn: Turn, call_id: str, command: str) -> None:
    import subprocess  # rarely needed, and slow to load

    assert isinstance(turn.voice, V2)
    terminal_id = turn.session.fresh("term")
    turn.tell(turn.voice.terminal(terminal_id, command=command, cwd=turn.session.cwd))
    turn.update(call_id, status="in_progress", content=[{"type": "terminal", "terminalId": terminal_id}])
    process = subprocess.Popen(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, cwd=turn.session.cwd, bufsize=0)  # fmt: skip
    assert process.stdout is not None
    written = b""
    while data := process.stdout.read(3):  # three bytes: it cuts characters apart
        written += data
        turn.tell(turn.voice.terminal_chunk(terminal_id, data))
        if turn.cancelled.is_set():
            process.kill()
    code = process.wait()
    ended = {"exitCode": code} if code >= 0 else {"signal": str(-code)}
    turn.tell(turn.voice.terminal(terminal_id, exitStatus=ended))
    whole = {"command": command, "output": {"data": base64.b64encode(written).decode()}, "exitStatus": ended}
    turn.session.items.insert(-1, {"terminal": terminal_id, "fields": whole})
    turn.update(call_id, status="completed" if code == 0 else "failed")
    turn.check()
    turn.say(f"exit {code}")


@scene
def subagent(turn: Turn, words: list[str]) -> None:
    """A session of a child's, whose updates come under its own id."""
    child = turn.session.fresh("child")
    said = {"sessionUpdate": "subagent_update", "sessionId": child, "title": "Researcher", "description": "Looks it up"}
    turn.tell({**said, "state": {"sessionUpdate": "state_update", "state": "running"}})
    turn.tell(turn.voice.chunk("agent", "child-1", text("I found it.")), child)
    turn.tell(turn.voice.call("child-call", {"title": "grep", "kind": "search", "status": "completed"}), child)
    turn.tell({**said, "state": {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}})
    turn.say("The researcher has ended.")


@scene
def background(turn: Turn, words: list[str]) -> None:
    """``background [S]``: a call that goes on for S seconds after the turn's end."""
    call_id = turn.call("npm run watch", "execute", status="in_progress")
    if isinstance(turn.voice, V2):
        turn.update(call_id, capabilities={"cancel": {}})
        turn.background.append({"type": "tool_call", "toolCallId": call_id})
    stop = turn.agent.stops[call_id] = threading.Event()

    def goes_on() -> None:
        stopped = stop.wait(float(words[0]) if words else 0.3)
        if isinstance(turn.voice, V2):
            status = "cancelled" if stopped else "completed"
            turn.update(call_id, status=status, content=[content("watched")], capabilities=None)
            turn.tell(turn.voice.state("idle", stopReason="end_turn", background=[]))
        else:
            turn.done(call_id, "watched")
        turn.agent.stops.pop(call_id, None)

    turn.afterwards.append(lambda: threading.Thread(target=goes_on, daemon=True).start())
    turn.say("It goes on in the background.")
