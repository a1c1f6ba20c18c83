"""What real agents once said, said again to the adapter: nothing is lost, nothing is noticed that is not known, nothing hangs.

The recordings are not part of the repository; without them these tests are skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from acp_talk import V1, V2, Talk

from hm_jupyter import commands as cmd
from hm_jupyter.events import ApprovalRequested, NoticeRaised, TurnEnded, UnknownReceived
from hm_jupyter.session.reducer import reduce
from hm_jupyter.transcript import MessageEntry, ToolEntry, Transcript

FOLDER = Path(__file__).parents[4] / "shared" / "agents" / "transcripts"
NAMES = sorted(p.stem for p in FOLDER.glob("*.jsonl")) or [""]

Json = dict[str, Any]

STRANGE = {  # what an agent may send that ACP does not have
    "claude-agent-acp": {"_auth/status_update"},
    "claude-agent-acp-v2": {"_auth/status_update"},
    "qwen": {"qwen/notify/session/mode-update", "qwen/notify/session/model-update"},
}


class Player:
    """One recording's first process, up to where its client sent a second prompt into a running turn (we never do)."""

    def __init__(self, name: str) -> None:
        if not name:
            pytest.skip("the recordings of real agents are not here")
        self.lines = [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text().splitlines()]
        self.talk = Talk(version=2 if name.endswith("-v2") else 1, host=True)
        self.ids: dict[Any, int] = {}  # the recorded client's request ids and ours
        self.asked: dict[str, Json] = {}  # the agent's requests, by id
        self.waiting: dict[str, str] = {}  # … and what a person is asked for them
        self.calls: dict[str, str] = {}  # … and the host's
        self.terminals: dict[str, str] = {}
        self.text = ""
        self.ends = 0
        self.transcript = Transcript()
        self.left: list[str] = []  # calls that were open when a turn was over
        self._shown = 0

    def play(self) -> None:
        for line in self._first_process():
            message = line["msg"]
            if line["dir"] == "a>c":
                self._from_agent(message)
            elif "method" in message:
                if not self._from_client(message):
                    break
            else:
                self._decided(message)
            self._show()

    def _first_process(self) -> Iterator[Json]:
        for line in self.lines:
            if line.get("pid") != self.lines[0].get("pid") or line["msg"] == "== step prompts":
                return
            if line["dir"] in ("a>c", "c>a") and isinstance(line["msg"], dict):
                yield line

    def _from_client(self, message: Json) -> bool:
        talk, method, params = self.talk, message["method"], message.get("params") or {}
        before = len(talk.messages)
        if method == "session/prompt":
            talk.does(cmd.Prompt(text="".join(b.get("text", "") for b in params["prompt"])))
        elif method == "session/cancel":
            talk.does(cmd.Abort())
            return True
        elif method not in ("initialize", "session/new"):
            if "id" in message:
                talk.does(cmd.CallAgent(method=method, params=params))
        elif method in self.ids:
            return False  # a second session
        mine = [m for m in talk.messages[before:] if m.get("method") == method]
        if method in ("initialize", "session/new"):
            self.ids[method] = True
            mine = [talk.last(method)]
        if "id" in message and mine:
            self.ids[message["id"]] = mine[-1]["id"]
        return bool(mine) or "id" not in message

    def _from_agent(self, message: Json) -> None:
        for theirs, ours in self.terminals.items():
            message = json.loads(json.dumps(message).replace(json.dumps(theirs), json.dumps(ours)))
        if "method" not in message:
            if message.get("id") not in self.ids:
                return
            message = {**message, "id": self.ids[message["id"]]}
            result = message.get("result")
            if isinstance(result, dict) and "stopReason" in result:
                self.ends += 1
        update = (message.get("params") or {}).get("update") or {}
        if update.get("sessionUpdate") == "agent_message_chunk" and update["content"].get("type") == "text":
            self.text += update["content"]["text"]
        if update.get("sessionUpdate") == "state_update" and "stopReason" in update:
            self.ends += 1
        asked, called = len(self.talk.events), len(self.talk.calls)
        self.talk.hears(message)
        if "method" in message and "id" in message:
            key = repr(message["id"])
            self.asked[key] = message
            for event in self.talk.events[asked:]:
                if isinstance(event, ApprovalRequested):
                    self.waiting[key] = event.request_id
            for call in self.talk.calls[called:]:
                self.calls[key] = call.id

    def _decided(self, message: Json) -> None:
        """The recorded client's answer to the agent: ours is to be the same."""
        key = repr(message["id"])
        asked, result = self.asked.get(key), message.get("result") or {}
        if asked is None or "error" in message:
            return
        method, talk = asked["method"], self.talk
        if method == "session/request_permission":
            chosen = result["outcome"].get("optionId")
            if chosen is not None:
                kind = next(o["kind"] for o in asked["params"]["options"] if o["optionId"] == chosen)
                allow = kind.startswith("allow")
                talk.does(cmd.Approve(request_id=self.waiting[key], allow=allow, option_id=chosen))
            reply = talk.reply(message["id"])
            assert reply is not None and reply["result"] == result
            return
        if key not in self.calls:
            return
        if method == "terminal/create":
            self.terminals[result["terminalId"]] = next(
                c.args["terminal_id"] for c in talk.calls if c.id == self.calls[key]
            )
        status = result.get("exitStatus")
        ended = {"code": status.get("exitCode"), "signal": status.get("signal")} if status else None
        told = {
            "terminal/wait_for_exit": {"code": result.get("exitCode"), "signal": result.get("signal")},
            "terminal/output": {"output": result.get("output"), "truncated": result.get("truncated"), "exit": ended},
            "fs/read_text_file": {"content": result.get("content")},
        }.get(method, {})
        talk.host(told, self.calls[key])
        assert talk.reply(message["id"]) is not None

    def _show(self) -> None:
        """What a person sees; when a turn is over, nothing of it may look as if it went on."""
        for event in self.talk.events[self._shown :]:
            for op in reduce(self.transcript, event, 0.0):
                self.transcript.apply(op)
            if isinstance(event, TurnEnded):
                open_ones = [e for e in self.transcript.entries.values() if isinstance(e, ToolEntry)]
                self.left += [e.call_id for e in open_ones if e.status in ("drafting", "pending", "running")]
        self._shown = len(self.talk.events)


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_is_understood(name: str) -> None:
    """Every message of it, with no notice but those the recording calls for; every turn begins and ends."""
    player = Player(name)
    player.play()
    events = player.talk.events
    assert [e.text for e in events if isinstance(e, NoticeRaised)] == []
    assert {e.name for e in events if isinstance(e, UnknownReceived)} <= STRANGE.get(name, set())
    assert sum(isinstance(e, TurnEnded) for e in events) >= player.ends > 0
    assert player.left == []
    assert player.transcript.state.pending == []
    said = "".join(str(e.text) for e in player.transcript.entries.values() if isinstance(e, MessageEntry))
    assert "".join(said.split()) == "".join(player.text.split()) or name.endswith("-v2")


@pytest.mark.parametrize(
    "name", [n for n in NAMES if n.startswith(("fastagent-pass", "claude-agent-acp-v2", "gemini-no"))]
)
def test_a_recording_with_any_field_spoiled_is_survived(name: str) -> None:
    """Whatever one field of one message is in place of what it was: nothing raises, and the turn can still be stopped."""
    player = Player(name)
    talk = player.talk
    talk.open(V2 if name.endswith("-v2") else V1)
    for line in player._first_process():
        if line["dir"] == "a>c" and "method" in line["msg"]:
            for spoiled in _spoiled(line["msg"]):
                talk.hears(spoiled)
    talk.does(cmd.Prompt(text="still there?"))
    talk.does(cmd.Abort())
    assert talk.last("session/cancel")


def _spoiled(value: Any) -> Iterator[Any]:
    """``value`` with one part of it replaced by something of another kind, for every part."""
    if isinstance(value, dict):
        for key, inner in value.items():
            for other in _spoiled(inner):
                yield {**value, key: other}
            yield {k: v for k, v in value.items() if k != key}
    elif isinstance(value, list) and value:
        for other in _spoiled(value[0]):
            yield [other, *value[1:]]
    yield from (None, 5, "x", [], {}, [[{}]], True, {"type": "later"})
