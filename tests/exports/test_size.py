"""A cell stays small whatever an agent writes, says what it left out, and a document of the session still has everything."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hm_jupyter.events import Choice, FileDiff
from hm_jupyter.exports import diffs, documents, jsonl, mime, size
from hm_jupyter.transcript import (
    CompactionEntry,
    Decision,
    Entry,
    MessageEntry,
    NoticeEntry,
    PlanEntry,
    Put,
    QuestionEntry,
    Rope,
    State,
    ThoughtEntry,
    Transcript,
    TurnEntry,
    UnknownEntry,
    UserEntry,
)  # fmt: skip

from .story import everything, tool

LONG = "word and \x1b[31mcolour\x1b[0m\n" * 100_000  # 2.3 million characters
MANY = {str(n): "x" * 100 for n in range(20_000)}
WAYS: dict[str, Entry] = {
    "message": MessageEntry("e", 1, Rope(LONG)),
    "thought": ThoughtEntry("e", 1, Rope(LONG)),
    "prompt": UserEntry("e", 1, LONG),
    "attachments": UserEntry("e", 1, "x", attachments=[LONG]),
    "question": QuestionEntry("e", 1, "c", LONG),
    "choices": QuestionEntry("e", 1, "c", "Which?", [Choice(str(n), "x" * 100) for n in range(20_000)]),
    "answer": QuestionEntry("e", 1, "c", "Which?", status="answered", answer=LONG),
    "output": tool("e", 1, "shell", input={"command": "seq"}, output=LONG),
    "one line": tool("e", 1, "shell", input={"command": "seq"}, output="x" * 2_000_000),
    "command": tool("e", 1, "shell", input={"command": LONG}),
    "input": tool("e", 1, "other", name="other", input=MANY),
    "deep": tool("e", 1, "other", name="other", input={"a": [{"b": LONG}]}),
    "title": tool("e", 1, "other", title=LONG),
    "note": tool("e", 1, "shell", input={"command": "x"}, status="denied", decision=Decision("denied", "you", "", LONG)),
    "new file": tool("e", 1, "edit", diffs=[FileDiff("a.txt", None, LONG)]),
    "changed file": tool("e", 1, "edit", diffs=[FileDiff("a.txt", LONG, LONG.replace("word", "text"))]),
    "plan": PlanEntry("e", 1, [{"text": "x" * 100, "status": "done"}] * 20_000),
    "summary": CompactionEntry("e", 1, "done", LONG),
    "notice": NoticeEntry("e", 1, LONG, detail=LONG),
    "unknown": UnknownEntry("e", 1, "weather", {"sky": LONG}),
    "error": TurnEntry("t", 1, "failed", "error", LONG),
}  # fmt: skip


def told(*entries: Entry) -> Transcript:
    out = Transcript()
    for entry in (TurnEntry("t", 1, "finished", "end_turn"), *entries):
        out.apply(Put(entry))
    return out


def written(bundle: dict[str, Any]) -> dict[str, str]:
    return {kind: data if isinstance(data, str) else json.dumps(data) for kind, data in bundle.items()}


@pytest.mark.parametrize("way", WAYS)
def test_no_text_of_an_agent_makes_a_cell_large_and_the_cell_says_so(way: str) -> None:
    texts = written(mime.bundle(told(WAYS[way]), 1))
    assert {kind: len(text) for kind, text in texts.items() if len(text) > 500_000} == {}
    for kind, text in texts.items():
        assert "left out of the cell" in text, kind
        assert "export session.jsonl" in text.replace("\\", ""), kind


@pytest.mark.parametrize("way", WAYS)
def test_a_document_of_the_session_has_all_of_it(way: str) -> None:
    one = told(WAYS[way])
    again = jsonl.read(json.loads(json.dumps(jsonl.data(one, times=True))))
    assert again.entries == one.entries
    assert "left out of the cell" not in documents.to_jsonl(one)


def test_a_long_message_is_whole_in_the_documents_people_read() -> None:
    one = told(MessageEntry("e", 1, Rope("start\n\n" + "some words\n\n" * 20_000 + "finish")))
    for document in (documents.document_html(one), documents.document_markdown(one), documents.document_text(one)):
        assert "finish" in document
        assert len(document) > 200_000


def test_many_long_texts_share_what_one_cell_may_hold() -> None:
    texts = written(mime.bundle(told(*(MessageEntry(f"e{n}", 1, Rope("word " * 20_000)) for n in range(100))), 1))
    assert max(map(len, texts.values())) < 2 * size.TOTAL
    assert texts["text/plain"].count("90,000 characters of this message were left out") == 100


def test_an_output_keeps_its_last_lines_and_a_message_its_first() -> None:
    output = told(tool("e", 1, "shell", input={"command": "x"}, status="failed", output=f"first\n{LONG}\nexit code 3"))
    message = told(MessageEntry("e", 1, Rope(f"first\n\n{LONG}")))
    for text in written(mime.bundle(output, 1)).values():
        assert "first" in text
        assert "exit code 3" in text
    assert all("first" in text for text in written(mime.bundle(message, 1)).values())


def test_a_small_change_of_a_large_file_is_shown_whole_and_its_data_holds_the_passage() -> None:
    old = "".join(f"line {n}\n" for n in range(200_000))
    change = FileDiff("a.txt", old, old.replace("line 100000\n", "another\n"))
    bundle = mime.bundle(told(tool("e", 1, "edit", diffs=[change])), 1)
    assert all(str(line) in bundle["text/plain"] for line in diffs.unified(change).lines)
    assert "@@ -99998,7 +99998,7 @@" in bundle["text/html"]
    [kept] = bundle[mime.MIME]["entries"][1]["diffs"]
    assert kept["partial"] is True
    assert kept["new"] == "line 99997\nline 99998\nline 99999\nanother\nline 100001\nline 100002\nline 100003\n"
    assert "left out" not in bundle["text/html"]


def test_names_of_the_session_are_short() -> None:
    one = told(MessageEntry("e", 1, Rope("hello")))
    one.apply(State({"title": LONG, "agent": LONG, "mode": LONG, "model": LONG}))
    assert max(map(len, written(mime.bundle(one, 1)).values())) < 20_000


def test_a_cell_that_is_not_large_is_as_it_was() -> None:
    one = everything()
    kept = size.within(one)
    assert kept.entries == one.entries
    assert all(kept.entries[name] is entry for name, entry in one.entries.items())
    assert kept.state is one.state
