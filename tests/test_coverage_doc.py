"""`docs/hm-rpc-coverage.md` names a proof for every statement of the hm RPC document, and names only what exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from coverage_doc import names_in, references

ROOT = Path(__file__).parents[1]
DOC = ROOT / "docs" / "hm-rpc-coverage.md"
STATEMENTS = [f"HM-{n:03d}" for n in range(1, 202)]
ROWS = re.findall(r"^\| (HM-\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", DOC.read_text("utf-8"), re.MULTILINE)


def test_every_statement_has_one_row() -> None:
    assert [row[0] for row in ROWS] == STATEMENTS


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_test_that_a_row_names_exists(row: tuple[str, str, str, str]) -> None:
    there, to_come = references(row[3])
    assert there or to_come, "the row names no proof"
    assert row[3].count("`") == 2 * len(there + to_come), "a reference that is not understood"
    for path, name in there:
        assert name, f"{path}: name the test"
        assert name in names_in(ROOT / path), f"{path} has no {name}"
    for path, name in to_come:
        if name and (ROOT / path).exists():
            assert name in names_in(ROOT / path), f"{path} is there and has no {name}"


@pytest.mark.parametrize("row", [row for row in ROWS if "client" in row[1] or "both" in row[1]], ids=lambda row: row[0])
def test_what_binds_the_client_is_proved_and_not_only_promised(row: tuple[str, str, str, str]) -> None:
    there, to_come = references(row[3])
    assert there or all(path.startswith("tests/transports/") for path, _ in to_come)
