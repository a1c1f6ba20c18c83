"""`docs/omp-coverage.md` names a proof for every statement of the RPC document of omp and for what today's programs add."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from coverage_doc import names_in, references

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "omp-coverage.md").read_text("utf-8")
STATEMENTS = [f"OMP-{n:03d}" for n in range(1, 199)]
ROWS = re.findall(r"^\| (OMP-\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", TEXT, re.MULTILINE)
ADDED = re.findall(r"^\| ((?!OMP-|id |command |event |method |---)[^|]+) \| ([^|]+) \|$", TEXT, re.MULTILINE)

COMMANDS = """
abort_and_prompt cancel_subagent clear_queue clone fork get_available_commands get_available_thinking_levels get_commands
get_entries get_fork_messages get_login_providers get_messages_page get_subagent_messages get_subagents get_tree handoff login
negotiate_protocol open_session promote_queued_message remove_queued_message set_ask_dialog set_cache_warming set_event_filter
set_fast_mode set_host_tools set_host_uri_schemes set_subagent_subscription set_todos steer_subagent
""".split()


def test_every_statement_has_one_row() -> None:
    assert [row[0] for row in ROWS] == STATEMENTS


def test_every_command_that_was_added_has_a_row() -> None:
    assert {name.strip("` ") for name, _ in ADDED} >= set(COMMANDS)


@pytest.mark.parametrize("cell", [row[3] for row in ROWS] + [cell for _, cell in ADDED])
def test_every_test_that_a_row_names_exists(cell: str) -> None:
    there, to_come = references(cell)
    assert there and not to_come, "the row names no proof"
    assert cell.count("`") == 2 * len(there), "a reference that is not understood"
    for path, name in there:
        assert name in names_in(ROOT / path), f"{path} has no {name}"
