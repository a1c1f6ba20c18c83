"""What the coverage documents name: tests, by file and name."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

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


def what_it_says(path: Path, name: str) -> str:
    """A test's name and docstring."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            return f"{name}\n{ast.get_docstring(node) or ''}"
    return ""
