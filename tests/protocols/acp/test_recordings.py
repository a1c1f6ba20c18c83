"""Recordings of real agents, played through the adapter: nothing is odd, and what a person sees is as it was.

The short ones are the project's own (``tests/golden/acp``): the beginning of a session, and beside it the transcript it leads
to. Run this file to write the transcripts anew, and look at what changed. The whole recordings are played where they lie
beside the project.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from acp_recording import ROOT, Run, rows_of, runs_of

from hm_jupyter import events as ev
from hm_jupyter.session.state import CLOSED
from hm_jupyter.transcript import Entry, MessageEntry, PlanEntry, ThoughtEntry, ToolEntry, TurnEntry, UserEntry

FOLDER = Path(__file__).parents[2] / "golden" / "acp"
GOLDEN = sorted(path.stem for path in FOLDER.glob("*.jsonl"))
WHOLE = (
    "claude-agent-acp claude-agent-acp-v2 claude-code-acp deepagents fastagent fastagent-passthrough gemini gemini-emptyread"
    " gemini-nocaps opencode py-agent py-echo_agent qwen"
).split()

# The notices and unknown kinds a recording is known for; there is none.
ODD: dict[str, list[str]] = {}


def played(path: Path) -> list[Run]:
    return [Run(rows).play() for rows in runs_of(rows_of(path))]


def shown(name: str) -> str:
    """The transcript of a golden recording, in words of this test's own: how it is worded for people is not the matter."""
    (run,) = played(FOLDER / f"{name}.jsonl")
    state = run.transcript.state
    lines = [
        f"mode {state.mode!r} of {state.modes}",
        f"model {state.model!r} of {state.models}",
        f"options {[(option.id, option.value) for option in state.options]}",
        f"commands {[command.name for command in state.commands]}",
        f"context {state.context} of {state.context_size}, spent {state.spent!r}",
        f"title {state.title!r}",
    ]
    for entry in run.transcript.entries.values():
        lines += ["", *told(entry)]
    lines.append("")
    for event in run.events:
        if isinstance(event, ev.ApprovalRequested):
            lines += [
                "",
                f"asked about {event.call_id}: {event.summary}",
                f"  command {event.command!r} in {event.cwd!r}",
            ]
            lines += [f"  paths {event.paths}, changes {[diff.path for diff in event.diffs]}, because {event.reason!r}"]
            lines += [f"  {option.kind}: {option.id!r} {option.name!r}" for option in event.options]
    return "\n".join(lines) + "\n"


def told(entry: Entry) -> list[str]:
    if isinstance(entry, TurnEntry):
        return [
            f"==== turn {entry.turn}: {entry.status} {entry.stop_reason} {entry.usage.input}/{entry.usage.output} tokens"
        ]
    if isinstance(entry, UserEntry):
        return [f"user ({entry.status}): {entry.text}"]
    if isinstance(entry, (MessageEntry, ThoughtEntry)):
        return [f"{entry.TAG[1]}{' (cut off)' if getattr(entry, 'interrupted', False) else ''}: {entry.text}"]
    if isinstance(entry, PlanEntry):
        return ["plan", *(f"  {item}" for item in entry.items)]
    assert isinstance(entry, ToolEntry), entry
    decided = entry.decision.outcome if entry.decision else "not asked"
    lines = [f"call {entry.call_id}: {entry.title}", f"  {entry.name!r} {entry.category} {entry.status}, {decided}"]
    lines += [f"  input {json.dumps(entry.input)}", f"  exit {entry.exit_code} at {entry.locations}"]
    for diff in entry.diffs:
        lines += [f"  {diff.path} {'a passage' if diff.partial else 'whole'}: {diff.old!r} -> {diff.new!r}"]
    return lines + [f"  | {line}" for line in str(entry.output).split("\n") if entry.output]


@pytest.mark.parametrize("name", GOLDEN)
def test_a_recorded_session_looks_as_it_did(name: str) -> None:
    assert shown(name) == (FOLDER / f"{name}.txt").read_text("utf-8")


@pytest.mark.parametrize("name", GOLDEN)
def test_a_recorded_session_has_nothing_odd_in_it(name: str) -> None:
    (run,) = played(FOLDER / f"{name}.jsonl")
    assert run.odd() == ODD.get(name, [])
    assert run.refused == []
    whole(run)


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_recording_has_nothing_odd_in_it(name: str) -> None:
    if not ROOT.is_dir():
        pytest.skip("the recordings (../shared/agents/transcripts) are not here")
    runs = played(ROOT / f"{name}.jsonl")
    assert [text for run in runs for text in run.odd()] == ODD.get(name, [])
    assert any(run.transcript.turns() for run in runs)
    for run in runs:
        # the recorder tried a mode there is not; an agent must not be asked for one
        assert all("no-such-mode" in text for text in run.refused)
        whole(run)


def whole(run: Run) -> None:
    """Nothing is open after the end, nothing of what was asked is undecided, and every prompt of ours is there once."""
    entries = list(run.transcript.entries.values())
    assert all(entry.status in CLOSED for entry in entries if isinstance(entry, ToolEntry))
    assert not any(entry.open for entry in entries if isinstance(entry, (MessageEntry, ThoughtEntry)))
    assert run.transcript.state.pending == []
    ours = Counter(event.text for event in run.events if isinstance(event, ev.MessageSent))
    told = Counter(entry.text for entry in entries if isinstance(entry, UserEntry))
    assert told >= ours if run.resumed else told == ours
    said = [event for event in run.events if isinstance(event, ev.TextAppended)]
    kept = sum(len(entry.text) for entry in entries if isinstance(entry, (MessageEntry, ThoughtEntry)))
    assert kept >= sum(len(event.text) for event in said)


if __name__ == "__main__":
    for name in GOLDEN:
        (FOLDER / f"{name}.txt").write_text(shown(name), "utf-8")
