"""What is only told: retries, compaction, notices, errors of extensions, todos."""

from __future__ import annotations

import pytest
from omp_talk import Talk

from hm_jupyter import events as ev
from hm_jupyter.commands import Compact

RESULT = {"summary": "We did things.", "firstKeptEntryId": "e1", "tokensBefore": 96087, "details": {"x": 1}}


def test_a_retry_says_why_when_and_how_often() -> None:
    t = Talk().prompt()
    error = '529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    t.hears({"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 2000, "errorMessage": error})
    assert t.last().text == (
        "The model did not answer: Overloaded (529). It is asked again in 2 s (attempt 1 of 3); Stop ends that."
    )
    t.hears({"type": "auto_retry_end", "success": True, "attempt": 1})
    assert t.running


def test_a_compaction_of_ours_is_shown_with_its_summary_and_what_it_saved() -> None:
    t = Talk().prompt()
    t.says(Compact(id="x", focus="files"))
    assert t.shown("compaction")[0].status == "running"
    t.answers("compact", data=RESULT)
    (entry,) = t.shown("compaction")
    assert (entry.status, entry.summary) == ("done", "We did things.\n\n(96,087 tokens before)")


def test_a_compaction_that_pi_tells_of_too_is_shown_once() -> None:
    t = Talk("pi").prompt()
    t.says(Compact(id="x"))
    t.hears({"type": "compaction_start", "reason": "manual"})
    t.hears(
        {
            "type": "compaction_end",
            "reason": "manual",
            "result": {**RESULT, "estimatedTokensAfter": 100},
            "aborted": False,
        }
    )
    t.answers("compact", data=RESULT)
    (entry,) = t.shown("compaction")
    assert entry.summary.endswith("(96,087 tokens before, about 100 after)")


def test_a_compaction_that_fails_says_why() -> None:
    t = Talk().prompt()
    t.says(Compact(id="x"))
    t.refuses("compact", "Nothing to compact (session too small)")
    assert (t.shown("compaction")[0].status, t.shown("compaction")[0].error) == (
        "failed",
        "Nothing to compact (session too small)",
    )


@pytest.mark.parametrize("reason", ["threshold", "overflow"])
def test_a_compaction_of_the_agents_own_keeps_the_turn_open(reason: str) -> None:
    t = Talk().prompt()
    t.ends("error", "context overflow")
    t.hears({"type": "auto_compaction_start", "reason": reason})
    assert "omp:end" not in t.wakes
    t.hears(
        {"type": "auto_compaction_end", "result": RESULT, "aborted": False, "willRetry": True}, {"type": "agent_start"}
    )
    assert t.running
    t.ends()
    assert (t.turn.stop_reason, t.shown("compaction")[0].status) == ("end_turn", "done")


def test_a_compaction_that_is_stopped_has_no_result() -> None:
    t = Talk().prompt()
    t.hears({"type": "auto_compaction_start", "reason": "threshold"})
    t.hears({"type": "auto_compaction_end", "result": None, "aborted": True, "willRetry": False})
    assert t.shown("compaction")[0].error == "It was stopped."


def test_an_extension_that_fails_is_named_and_the_run_goes_on() -> None:
    t = Talk().prompt()
    t.hears({"type": "extension_error", "extensionPath": "/e/x.ts", "event": "tool_call", "error": "boom."})
    assert t.last().text == "An extension failed on tool_call: boom. The run goes on; mend or remove /e/x.ts."
    assert t.running


def test_notices_have_their_level() -> None:
    t = Talk()
    t.hears(*({"type": "notice", "level": level, "message": level} for level in ("info", "warning", "error", "odd")))
    assert [n.level for n in t.shown("notice")] == ["info", "warning", "error", "warning"]


def test_a_model_that_takes_over_is_told() -> None:
    t = Talk()
    t.hears({"type": "retry_fallback_applied", "from": "acme/big", "to": "acme/blind", "reason": "quota"})
    assert t.last().text == "acme/big failed (quota); acme/blind takes over."
    assert t.hears({"type": "retry_fallback_succeeded", "model": "x"}) == []


def test_todos_of_a_reminder_are_the_plan_until_they_are_cleared() -> None:
    t = Talk().prompt()
    t.hears({"type": "todo_reminder", "todos": [{"content": "Fix", "status": "in_progress"}], "attempt": 1})
    assert t.shown("plan")[0].items == [{"text": "Fix", "status": "active"}]
    t.hears({"type": "todo_auto_clear"})
    assert t.shown("plan")[0].removed


@pytest.mark.parametrize("kind", ["irc_message", "goal_updated", "ttsr_triggered"])
def test_what_happens_beside_the_run_is_named(kind: str) -> None:
    t = Talk()
    t.hears({"type": kind, "message": "hello"})
    assert t.last().text == f"{kind.replace('_', ' ')}: hello"


def test_a_line_that_was_too_long_for_anything_is_said() -> None:
    t = Talk()
    t.hears({"type": "rpc_frame_error", "originalType": "agent_end", "error": "too long"})
    assert "could not send agent_end" in t.last().text


@pytest.mark.parametrize(
    "kind",
    ["ready", "turn_start", "turn_end", "advisor_cost_changed", "advisor_yielded", "config_warnings_changed", "entry_appended",
     "queue_update", "summarization_retry_scheduled", "session_settled", "agent_settled"],
)  # fmt: skip
def test_what_tells_a_person_nothing_is_left_out(kind: str) -> None:
    assert Talk().hears({"type": kind}) == []


def test_an_event_nobody_knows_is_kept_and_the_session_goes_on() -> None:
    t = Talk().prompt()
    assert t.hears({"type": "hologram", "x": 1}) == [ev.UnknownReceived("hologram", {"type": "hologram", "x": 1})]
    assert t.running


@pytest.mark.parametrize("value", [None, 1, "text", [1, 2], {}, {"type": 3}, {"type": None}, {"type": ""}])
def test_a_line_that_is_no_event_is_a_notice(value: object) -> None:
    (notice,) = Talk().hears(value)
    assert isinstance(notice, ev.NoticeRaised)
