"""The changes to files in a tool call's content: v1's old and new text, v2's ``changes`` with a git patch.

A patch shows passages, not whole files, so its hunks become partial :class:`FileDiff`s, except where a file appears
or disappears: then it holds all of it. Nothing is read from or applied to a disk.
"""

from __future__ import annotations

import re
from typing import Any

from ...events import FileDiff
from . import lenient as read

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_PASSAGES = ("old_string", "old_str", "old_text", "oldText", "old")


def old_and_new(block: dict[str, Any], given: Any = None) -> FileDiff | None:
    """A v1 diff. ``given`` is the call's input: where it names the replaced passage, the diff holds no more than that."""
    path, new, old = block.get("path"), block.get("newText"), block.get("oldText")
    if not isinstance(path, str) or not path or not isinstance(new, str):
        return None
    old = old if isinstance(old, str) else None
    passage = old is not None and any(read.fields(given).get(name) == old for name in _PASSAGES)
    return FileDiff(path, old, new, partial=passage)


def structured(block: dict[str, Any]) -> tuple[list[FileDiff], list[str]]:
    """A v2 diff: the files it changes, and in words what is no change of text (a move, a copy, a kind to come).

    ``changes`` is authoritative; the patch shows some or all of it."""
    patch = read.fields(block.get("patch"))
    shown = git_patch(read.text(patch.get("text"))) if patch.get("format") == "git_patch" else []
    diffs: list[FileDiff] = []
    words: list[str] = []
    for change in read.objects(block.get("changes")):
        operation, path = change.get("operation"), change.get("path")
        if not isinstance(operation, str) or not isinstance(path, str) or not path:
            continue
        mine = [diff for diff in shown if _same(diff.path, path)]
        shown = [diff for diff in shown if not _same(diff.path, path)]
        for diff in mine:
            diff.path = path
        if operation in ("move", "copy"):
            words.append(
                f"{'Moves' if operation == 'move' else 'Copies'} {read.text(change.get('oldPath'), '?')} to {path}"
            )
            diffs += mine
        elif operation == "delete":
            diffs += mine or [FileDiff(path, None, None, partial=True)]
        elif operation in ("add", "modify"):
            diffs += mine or [FileDiff(path, None, "", partial=True)]
        else:
            words.append(f"{read.one_line(operation)}: {path}")
            diffs += mine
    return diffs + shown, words


def git_patch(patch: str) -> list[FileDiff]:
    """The files of a patch in git's format: a new or deleted one whole, of any other each hunk by itself."""
    found: list[FileDiff] = []
    lines = patch.removesuffix("\n").split("\n")
    before = after = ""
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("--- "):
            before = _path(line[4:])
        elif line.startswith("+++ "):
            after = _path(line[4:])
        elif match := _HUNK.match(line):
            old, new, at = _hunk(lines, at, _count(match[1]), _count(match[2]))
            path = _plain(before, after)
            if before == "/dev/null":
                found.append(FileDiff(path, None, new))
            elif after == "/dev/null":
                found.append(FileDiff(path, old, None))
            elif path:
                found.append(FileDiff(path, old, new, partial=True))
    return [diff for diff in found if diff.path and diff.path != "/dev/null"]


def _hunk(lines: list[str], at: int, old_left: int, new_left: int) -> tuple[str, str, int]:
    """The two sides of a hunk; the counts of its head tell where it ends, for a line of it may look like a head."""
    old: list[str] = []
    new: list[str] = []
    while at < len(lines):
        line = lines[at]
        if line.startswith("\\"):  # "\ No newline at end of file" speaks of the line above
            for side, is_it in ((old, lines[at - 1][:1] in "- "), (new, lines[at - 1][:1] in "+ ")):
                if side and is_it:
                    side[-1] = side[-1].removesuffix("\n")
        elif old_left <= 0 and new_left <= 0:
            break
        elif line[:1] == "-":
            old.append(line[1:] + "\n")
            old_left -= 1
        elif line[:1] == "+":
            new.append(line[1:] + "\n")
            new_left -= 1
        elif line[:1] in (" ", ""):
            old.append(line[1:] + "\n")
            new.append(line[1:] + "\n")
            old_left, new_left = old_left - 1, new_left - 1
        else:
            break
        at += 1
    return "".join(old), "".join(new), at


def _count(given: str | None) -> int:
    return 1 if given is None else min(int(given[:9]), 10**9)


def _path(written: str) -> str:
    path = written.split("\t")[0].rstrip()
    if len(path) > 1 and path[0] == path[-1] == '"':  # git quotes what is not ASCII, byte by byte
        try:
            path = path[1:-1].encode("latin-1").decode("unicode_escape").encode("latin-1").decode("utf-8", "replace")
        except (UnicodeEncodeError, UnicodeDecodeError):
            path = path[1:-1]
    return path


def _plain(before: str, after: str) -> str:
    """The file's path without git's ``a/`` and ``b/``, which not every agent writes."""
    path = before if after == "/dev/null" else after
    marked = (before.startswith("a/") or before == "/dev/null") and (after.startswith("b/") or after == "/dev/null")
    return path[2:] if marked and path[:2] in ("a/", "b/") else path


def _same(in_patch: str, path: str) -> bool:
    return bool(in_patch) and (in_patch == path or path.endswith("/" + in_patch.lstrip("/")))
