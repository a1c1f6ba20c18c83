"""Patterns for paths: ``**`` is any number of folders, ``*`` and ``?`` stay within a name, ``{a,b}`` is either.

Linear in the length of a name however the pattern is made (``fnmatch`` sees to that within one), so that none can hang us.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

_BRACES = re.compile(r"\{([^{}]*)\}")
_MOST = 64


class BadPattern(ValueError):
    """A pattern that cannot be used; the text says why."""


class Wildcards:
    """One pattern. Without a slash it is about a file's name alone."""

    def __init__(self, pattern: str) -> None:
        pattern = pattern.removeprefix("./")
        if not pattern or len(pattern) > 1000:
            raise BadPattern("the pattern is empty or far too long")
        self._patterns = [tuple(p for p in one.split("/") if p) for one in _expanded(pattern)]
        self._names_only = "/" not in pattern

    def match(self, name: str) -> bool:
        """Whether the pattern fits ``name``, a relative path with slashes."""
        parts = name.split("/")
        if self._names_only:
            return any(not p or p == ("**",) or fnmatchcase(parts[-1], p[0]) for p in self._patterns)
        return any(_fits(p, parts) for p in self._patterns)


def _fits(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    at = _past_folders(pattern, {0})
    for part in parts:
        at = _past_folders(
            pattern,
            {i if pattern[i] == "**" else i + 1
             for i in at if i < len(pattern) and (pattern[i] == "**" or fnmatchcase(part, pattern[i]))},
        )  # fmt: skip
    return len(pattern) in at


def _past_folders(pattern: Sequence[str], at: set[int]) -> set[int]:
    """``**`` may also stand for no folder at all."""
    out = set(at)
    for i in at:
        while i < len(pattern) and pattern[i] == "**":
            i += 1
            out.add(i)
    return out


def _expanded(pattern: str) -> list[str]:
    todo, done = [pattern], []
    while todo:
        one = todo.pop()
        found = _BRACES.search(one)
        if found is None:
            done.append(one)
        else:
            todo += [one[: found.start()] + choice + one[found.end() :] for choice in found[1].split(",")]
        if len(todo) + len(done) > _MOST:
            raise BadPattern(f"the pattern stands for more than {_MOST}; use fewer braces")
    return done
