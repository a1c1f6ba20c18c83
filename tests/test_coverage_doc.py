"""`docs/hm-rpc-coverage.md` names a proof for every statement of the hm RPC document, and names only what exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOC = ROOT / "docs" / "hm-rpc-coverage.md"
STATEMENTS = [f"HM-{n:03d}" for n in range(1, 202)]
ROWS = re.findall(r"^\| (HM-\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", DOC.read_text("utf-8"), re.MULTILINE)
REFERENCE = re.compile(r"`((?:tests|js)/[^`:]+)(?:::([^`]+))?`")


@cache
def names_in(path: Path) -> frozenset[str]:
    """The names of a file's tests, methods as ``Class::name``."""
    found = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            inner = (n for n in node.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))
            found.update(f"{node.name}::{n.name}" for n in inner)
    return frozenset(name for name in found if name.rpartition("::")[2].startswith("test_"))


def references(cell: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """What is named as a proof, and what is named as yet to come."""
    there, _, to_come = cell.partition("to come:")
    return REFERENCE.findall(there), REFERENCE.findall(to_come)


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
