"""Messages of a session that is taken up again."""

from __future__ import annotations

from hm_jupyter import events as ev
from hm_jupyter.protocols.omp.history import earlier
from hm_jupyter.session.reducer import reduce
from hm_jupyter.transcript import Transcript

MESSAGES = [
    {"role": "system", "content": "", "sections": {}},
    {"role": "user", "content": "look", "timestamp": 1},
    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Let me see."},
        {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}},
    ], "usage": {"input": 1, "output": 1}, "stopReason": "toolUse"},
    {"role": "toolResult", "toolCallId": "c1", "toolName": "bash", "content": [{"type": "text", "text": "README"}], "isError": False},
    {"role": "assistant", "content": "Done."},
    {"role": "bashExecution", "command": "pwd", "output": "/x\n", "exitCode": 0, "cancelled": False, "truncated": False},
    {"role": "user", "content": [{"type": "text", "text": "and this"}, {"type": "image", "data": "iVBOR", "mimeType": "image/png"}]},
    {"role": "compactionSummary", "summary": "All in all.", "tokensBefore": 5},
    {"role": "custom", "customType": "note", "content": "for people", "display": True},
    {"role": "custom", "customType": "note", "content": "not for people", "display": False},
    {"role": "oracle", "content": "?"},
]  # fmt: skip


def shown(messages: object) -> Transcript:
    t = Transcript()
    for event in earlier(messages):
        for op in reduce(t, event, 5.0):
            t.apply(op)
    return t


def test_every_role_is_shown_as_it_was_or_kept() -> None:
    entries = shown(MESSAGES).entries.values()
    assert [e.TAG[1] for e in entries] == [
        "turn", "user", "thought", "message", "tool", "message", "tool", "turn", "user", "compaction", "notice", "unknown",
    ]  # fmt: skip


def test_each_of_the_persons_messages_begins_a_turn_without_a_time() -> None:
    assert [(e.status, e.started) for e in shown(MESSAGES).turns()] == [("finished", 0.0), ("finished", 0.0)]


def test_a_result_is_joined_to_its_call_and_a_command_of_the_persons_is_shown_so() -> None:
    t = shown(MESSAGES)
    call, own = t.tool("c1"), t.tool("bash:h5")
    assert call is not None and own is not None
    assert (call.status, str(call.output)) == ("completed", "README")
    assert (own.title, str(own.output)) == ("pwd (went into the next prompt)", "/x\n")


def test_pictures_come_with_their_message() -> None:
    users = [e for e in shown(MESSAGES).entries.values() if e.TAG[1] == "user"]
    assert users[1].images == [ev.Image("iVBOR")]  # type: ignore[union-attr]


def test_a_history_that_is_none_is_empty() -> None:
    assert earlier(None) == earlier([1, "x", None]) == []
