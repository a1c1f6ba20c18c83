"""Whole sessions on the hm wire, line by line: what we sent, what came, and the events it led to.

A golden file holds JSON lines: ``{"dir": ">", "command", "line"}`` for ours, ``{"dir": "<", "line", "events"}`` for the
agent's; ``events`` name the fields that differ from
their default, ``messages`` what the line made us send. ``document.jsonl`` is the session of the document.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

from hm_jupyter.commands import parse_command
from hm_jupyter.protocols.hm import HmAdapter
from hm_jupyter.protocols.hm_wire import AGENT, COMMANDS, EVENT_FIELDS, EXTENSION_FIELDS, HEADER, parse_hm_command
from hm_jupyter.transcript import to_json

FOLDER = Path(__file__).parents[1] / "golden" / "hm"
FILES = sorted(path.name for path in FOLDER.glob("*.jsonl"))


def lines_of(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


def told(event: Any) -> list[Any]:
    """An event as the golden files write it."""
    out = {}
    for f in fields(event):
        default = f.default_factory() if f.default_factory is not MISSING else f.default
        value = getattr(event, f.name)
        if default is MISSING or value != default:
            out[f.name] = to_json(value)
    return [type(event).__name__, out]


@pytest.mark.parametrize("name", FILES)
def test_a_recorded_session_leads_to_the_same_events_and_lines(name: str) -> None:
    first, *rest = lines_of(name)
    options = first.get("adapter")
    adapter = HmAdapter(**(options or {}))
    for row in rest if options else [first, *rest]:
        if row["dir"] == ">":
            step = adapter.send(parse_command(row["command"]))
            assert (step.events, step.messages) == ([], [row["line"]])
        else:
            step = adapter.receive(row["line"])
            assert step.messages == row.get("messages", [])
            assert [told(event) for event in step.events] == row["events"], row["line"]


@pytest.mark.parametrize("name", FILES)
def test_what_we_send_is_read_by_the_agents_own_reader(name: str) -> None:
    for row in lines_of(name):
        if row.get("dir") == ">":
            assert parse_hm_command(row["line"]).type == row["line"]["type"]


def test_the_recorded_sessions_cover_every_command_and_every_event_we_name() -> None:
    rows = [row for name in FILES for row in lines_of(name) if "dir" in row]
    assert {row["line"]["type"] for row in rows if row["dir"] == ">"} == set(COMMANDS)
    heard = {row["line"]["type"] for row in rows if row["dir"] == "<"}
    assert heard >= {*EVENT_FIELDS, *EXTENSION_FIELDS}


def test_the_recorded_lines_hold_only_fields_that_the_tables_know() -> None:
    for name in FILES:
        for row in lines_of(name):
            kind = row["line"]["type"] if row.get("dir") == "<" else None
            if kind in EVENT_FIELDS or kind in EXTENSION_FIELDS:
                known = {*HEADER, AGENT, *EVENT_FIELDS.get(kind, ()), *EXTENSION_FIELDS.get(kind, ())}
                assert set(row["line"]) <= known
