"""`docs/acp-coverage.md` has a row for every method and update of ACP and for every known fault, and names only what exists."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from coverage_doc import names_in, references, what_it_says

ROOT = Path(__file__).parents[1]
SCHEMAS = ROOT.parent / "shared" / "acp" / "schema"
TEXT = (ROOT / "docs" / "acp-coverage.md").read_text("utf-8")
ROWS = re.findall(r"^\| (ACP-\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", TEXT, re.MULTILINE)
PITFALLS = re.findall(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \|$", TEXT, re.MULTILINE)

METHODS = """
$/cancel_request auth/login auth/logout auth/status auth/status_update authenticate elicitation/complete elicitation/create
fs/read_text_file fs/write_text_file initialize logout mcp/connect mcp/disconnect mcp/message providers/disable providers/list
providers/set proxy/initialize proxy/successor session/archive session/cancel session/close session/delete session/fork session/list
session/load session/new session/prompt session/request_permission session/resume session/set_config_option session/set_mode
session/set_model session/set_title session/status session/unarchive session/update terminal/cancel terminal/create terminal/kill
terminal/output terminal/release terminal/wait_for_exit tool_call/cancel
""".split()
KINDS = """
agent_message agent_message_chunk agent_thought agent_thought_chunk available_commands_update compaction_summary_chunk
compaction_update config_option_update current_mode_update notice plan plan_removed plan_update session_info_update session_message
session_message_chunk state_update subagent_update terminal_output_chunk terminal_update tool_call tool_call_content_chunk
tool_call_update usage_update user_message user_message_chunk
""".split()


@pytest.mark.parametrize("name", METHODS + KINDS)
def test_every_method_and_every_kind_of_update_has_a_row(name: str) -> None:
    assert any(f"`{name}`" in what for _, _, what, _ in ROWS)


@pytest.mark.skipif(not SCHEMAS.is_dir(), reason="ACP's schemas (../shared/acp/schema) are not here")
def test_the_schemas_name_no_other_method_and_no_other_kind() -> None:
    told = set()
    for path in SCHEMAS.glob("v*/meta*.json"):
        for name, group in json.loads(path.read_text("utf-8")).items():
            told |= set(group.values()) if name.endswith("Methods") else set()
    for group in json.loads((SCHEMAS / "sdk-2.4.0" / "methods.json").read_text("utf-8")).values():
        told |= set(group)
    assert {name for name in told if not name.startswith(("nes/", "document/"))} <= set(METHODS)
    kinds = set()
    for path in SCHEMAS.glob("**/schema*.json"):
        update = json.loads(path.read_text("utf-8"))["$defs"]["SessionUpdate"]
        kinds |= {
            alternative["properties"]["sessionUpdate"].get("const")
            for alternative in update.get("oneOf") or update["anyOf"]
        }
    assert kinds - {None} == set(KINDS)


def test_the_rows_are_numbered() -> None:
    assert [row[0] for row in ROWS] == [f"ACP-{n:03d}" for n in range(1, len(ROWS) + 1)]
    assert [row[0] for row in PITFALLS] == [str(n) for n in range(1, 29)]


@pytest.mark.parametrize(
    ("name", "cell"), [(row[0], row[-1]) for row in [*ROWS, *PITFALLS]], ids=lambda value: value[:8]
)
def test_every_test_that_a_row_names_exists(name: str, cell: str) -> None:
    if cell.startswith("none: "):
        return
    there, to_come = references(cell)
    assert there or to_come, "the row names no proof"
    assert cell.count("`") == 2 * len(there + to_come), "a reference that is not understood"
    for path, test in there:
        assert test in names_in(ROOT / path), f"{path} has no {test}"


@pytest.mark.parametrize("row", PITFALLS, ids=lambda row: f"pitfall {row[0]}")
def test_a_test_of_every_pitfall_names_its_number(row: tuple[str, str, str]) -> None:
    number, _, cell = row
    named: set[str] = set()
    for path, test in references(cell)[0]:
        for found in re.finditer(r"(?i)pitfalls?[ _]+(\d+(?:(?:, |_and_| and )\d+)*)", what_it_says(ROOT / path, test)):
            named |= set(re.findall(r"\d+", found[1]))
    assert number in named
