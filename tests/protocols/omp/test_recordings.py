"""Recorded runs of real agents, played: nothing is left unknown, nothing unexpected is said, and the transcripts are golden.

A few recordings are carried along, without what repeats itself; the whole ones are played where they are there.
``python test_recordings.py`` writes the golden file anew.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from omp_recording import ROOT, Run, lines_of, rows_of

GOLDEN = Path(__file__).parents[2] / "golden" / "omp"
CARRIED = sorted(GOLDEN.glob("*.jsonl"))
WHOLE = sorted(ROOT.glob("*/*.jsonl")) if ROOT.is_dir() else []
TRANSCRIPTS = GOLDEN / "transcripts.json"

EXPECTED = re.compile(
    "|".join(
        (
            r"Compaction freed too little context",  # the agent's own words
            r"This version of the agent cannot take back",
            r"The session (goes on from before|is \S+ from here on)",
            r"An extension (suggests|failed on)",
            r"(pick=|a warning|an error|timed out: ok=|noise done)",  # what the recorder's extension says
            r"'not an option' is none of the options",
            r"The agent waited no longer for an answer",
            r"The agent could not use a line we sent",  # the recorder wrote nonsense
            r"The model did not answer: Overloaded",
            r"async result: what was left running",
            r"The agent has no model it may use",
        )
    )
)


def name_of(path: Path) -> str:
    """``omp-18.2.3/03-abort``, of a carried recording too."""
    return path.stem.replace("+", "/") if path.parent == GOLDEN else f"{path.parent.name}/{path.stem}"


def play(path: Path) -> Run:
    name = name_of(path)
    return Run(rows_of(path), name, gate=False).play()


def golden() -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads(TRANSCRIPTS.read_text("utf-8"))
    return found


@pytest.mark.parametrize("path", CARRIED, ids=name_of)
def test_a_carried_recording_is_understood_and_its_transcript_golden(path: Path) -> None:
    understood(path)


@pytest.mark.skipif(not WHOLE, reason="the recordings are not there")
@pytest.mark.parametrize("path", WHOLE, ids=name_of)
def test_a_whole_recording_is_understood_and_its_transcript_golden(path: Path) -> None:
    understood(path)


def understood(path: Path) -> None:
    run = play(path)
    assert run.unknown() == []
    assert run.refused == []
    assert [text for text in run.notices() if not EXPECTED.match(text)] == []
    assert lines_of(run.transcript) == golden()[name_of(path)]


@pytest.mark.parametrize("path", [p for p in CARRIED if "abort" in p.stem or "approvals" in p.stem], ids=name_of)
def test_no_abort_is_sent_while_a_dialog_is_open(path: Path) -> None:
    run, open_ids = play(path), set()
    asked = [json.loads(row["line"]) for row in run.rows if row["dir"] == "out" and '"method":"select"' in row["line"]]
    answered = [line["id"] for line in run.sent if line.get("type") == "extension_ui_response"]
    open_ids = {value["id"] for value in asked} - set(answered)
    assert open_ids == set()


if __name__ == "__main__":
    TRANSCRIPTS.write_text(
        json.dumps({name_of(p): lines_of(play(p).transcript) for p in [*CARRIED, *WHOLE]}, indent=1, ensure_ascii=False)
        + "\n",
        "utf-8",
    )
