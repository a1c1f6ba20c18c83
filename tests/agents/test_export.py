"""The agent's export of a session that was forked, summarised, interrupted: what it holds."""

from __future__ import annotations

import json
from pathlib import Path


def text_of(agent, format: str, **fields) -> str:
    return Path(agent.call("export", format=format, path=f"out.{format}", **fields)["data"]["path"]).read_text("utf-8")


def test_all_branches_of_a_forked_session_are_written_when_asked_for(start, tmp_path):
    """HM-134"""
    agent = start(saved=True)
    agent.turn("say: the trunk")
    agent.turn("say: the first branch")
    entry = next(e["entry"] for e in agent.seen if e["type"] == "message_end" and e["text"] == "the trunk")
    assert agent.call("fork", entry=entry)["ok"]
    agent.turn("say: the second branch")
    for format in ("html", "md", "jsonl"):
        mine = text_of(agent, format)
        assert "the second branch" in mine
        assert "the first branch" not in mine
        whole = text_of(agent, format, all_branches=True)
        assert "the first branch" in whole
        if format == "jsonl":  # what they share stands there once
            assert whole.count('"text": "say: the trunk"') == mine.count('"text": "say: the trunk"') == 1
    assert text_of(agent, "html", all_branches=True).count('<section id="turn-') == 3


def test_a_jsonl_export_holds_the_events_as_they_were_told(start):
    """HM-130"""
    agent = start("--approve", "all")
    agent.turn("run: echo made it")
    rows = [json.loads(line) for line in text_of(agent, "jsonl").splitlines()]
    assert rows[0]["type"] == "session"
    kinds = [r["type"] for r in rows[1:]]
    assert kinds == [e["type"] for e in agent.seen if e["type"] in set(kinds)]
    result = next(r for r in rows if r["type"] == "tool_result")
    assert "made it" in result["text"]


def test_what_compaction_took_out_of_the_context_is_in_the_export(start):
    agent = start()
    agent.turn("say: long ago")
    assert agent.call("compact")["ok"]
    agent.turn("say: lately")
    for format in ("html", "md", "jsonl"):
        text = text_of(agent, format)
        assert "long ago" in text
        assert "lately" in text
    assert "Summarised the conversation so far" in text_of(agent, "html")


def test_a_call_that_was_refused_is_shown_as_such(start):
    agent = start()
    asked = agent.ask("run: rm -rf build")
    agent.call("approve", call_id=asked["call_id"], allow=False, note="not now")
    agent.until("turn_end")
    text = text_of(agent, "md")
    assert "denied" in text
    assert "not now" in text


def test_an_export_in_the_middle_of_a_turn_holds_what_was_told_by_then(start):
    agent = start()
    agent.ask("run: echo x")
    assert "run: echo x" in text_of(agent, "html")
