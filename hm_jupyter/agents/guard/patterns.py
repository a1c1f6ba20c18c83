"""What rules are written in: patterns for commands, paths and hosts. Compared word by word, never as text.

``*`` in a word stands for any characters of that word, ``*`` as a word for any number of words, ``{a,b}`` for one of
the two, quotes take the meaning away. No regular expression is made of a pattern: a hostile one costs no time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

Glob = tuple[str, ...]
"""A word's literal pieces, a star between each two."""

ANY: Glob = ("", "")
_MOST = 200


def fits(glob: Glob, text: str) -> bool:
    """Does ``text`` match? In time linear in it for each piece."""
    if len(glob) == 1:
        return text == glob[0]
    if not text.startswith(glob[0]) or not text.endswith(glob[-1]) or len(text) < len(glob[0]) + len(glob[-1]):
        return False
    at, end = len(glob[0]), len(text) - len(glob[-1])
    for piece in glob[1:-1]:
        at = text.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True


@dataclass(frozen=True, slots=True)
class Item:
    """One word of a pattern. ``any``: an unquoted ``*``, for any number of words."""

    glob: Glob
    any: bool = False

    @property
    def literal(self) -> bool:
        return len(self.glob) == 1

    @property
    def option(self) -> bool:
        return not self.any and self.glob[0].startswith("-")


Pattern = tuple[Item, ...]


def parse(text: str) -> list[Pattern]:
    """A command pattern: one for each combination of its ``{a,b}``. Raises ``ValueError`` with the fix."""
    words = _words(text)
    if not words:
        raise ValueError("it is empty: name a program, as in `git status`")
    choices = [_alternatives(word) for word in words]
    count = 1
    for choice in choices:
        count *= len(choice)
    if count > _MOST:
        raise ValueError(f"its braces make {count} patterns; write several rules (at most {_MOST} a pattern)")
    return [tuple(items) for items in product(*choices)]


_Char = tuple[str, bool]  # a character, and whether quotes make it mean itself


def _words(text: str) -> list[list[_Char]]:
    words: list[list[_Char]] = []
    word: list[_Char] | None = None
    i = 0
    while i < len(text):
        c = text[i]
        if c in " \t":
            if word is not None:
                words.append(word)
            word = None
        elif c in "'\"":
            end = text.find(c, i + 1)
            if end < 0:
                raise ValueError("a quote is not closed")
            word = (word or []) + [(x, True) for x in text[i + 1 : end]]
            i = end
        elif c == "\\":
            if i + 1 >= len(text):
                raise ValueError("it ends in a backslash")
            word = [*(word or []), (text[i + 1], True)]
            i += 1
        elif c in ";&|<>$`()\n":
            raise ValueError(
                f"{c!r} in it: a pattern is for one simple command; put quotes around a {c!r} that is meant"
            )
        else:
            word = [*(word or []), (c, False)]
        i += 1
    if word is not None:
        words.append(word)
    return words


def _alternatives(word: list[_Char]) -> list[Item]:
    return [_item(chars) for chars in _braces(word)]


def _braces(word: list[_Char]) -> list[list[_Char]]:
    if ("{", False) not in word:
        return [word]
    start = word.index(("{", False))
    if ("}", False) not in word[start:]:
        raise ValueError("a { is not closed")
    end = word.index(("}", False), start)
    inside = word[start + 1 : end]
    if ("{", False) in inside:
        raise ValueError("braces in braces: write several rules")
    if not inside:
        heads = [word[: end + 1]]
        heads = [[*word[:start], ("{", True), ("}", True)]]
    elif (",", False) not in inside:
        raise ValueError("a { without a comma: write {a,b}, or put quotes around it")
    else:
        parts: list[list[_Char]] = [[]]
        for char in inside:
            if char == (",", False):
                parts.append([])
            else:
                parts[-1].append(char)
        heads = [word[:start] + part for part in parts]
    out = [head + tail for head in heads for tail in _braces(word[end + 1 :])]
    if len(out) > _MOST:
        raise ValueError(f"its braces make more than {_MOST} patterns; write several rules")
    return out


def _item(chars: list[_Char]) -> Item:
    if chars == [("*", False)]:
        return Item(ANY, True)
    pieces = [""]
    for char, literal in chars:
        if char == "*" and not literal:
            pieces.append("")
        else:
            pieces[-1] += char
    return Item(tuple(pieces))


# ---- commands ----------------------------------------------------------------------------------------------------------

Wild = tuple[str, bool]
"""A word of a command, and whether only the shell knows it (then it may be several)."""


def matches(
    pattern: Sequence[Item],
    words: Sequence[Wild],
    *,
    loose: bool = False,
    may_cover: Callable[[int], bool] | None = None,
) -> bool:
    """Does the pattern match all the words, one by one? ``loose``: could it, whatever the unknown words become?
    ``may_cover``: whether a star may stand for the word of that number."""
    states = _closed({0}, pattern)
    for number, (text, unknown) in enumerate(words):
        following: set[int] = set()
        for state in states:
            if unknown and loose:
                following |= set(range(state, len(pattern) + 1))
                continue
            if state >= len(pattern):
                continue
            item = pattern[state]
            if item.any:
                if may_cover is None or may_cover(number):
                    following.add(state)
            elif not unknown and fits(item.glob, text):
                name = text.partition("=")[0]
                if item.literal or may_cover is None or may_cover(number) or item.glob[0].startswith(name):
                    following.add(state + 1)
        states = _closed(following, pattern)
        if not states:
            return False
    return len(pattern) in states


def _closed(states: set[int], pattern: Sequence[Item]) -> set[int]:
    out = set(states)
    for state in sorted(states):
        while state < len(pattern) and pattern[state].any:
            state += 1
            out.add(state)
    return out


# ---- paths -------------------------------------------------------------------------------------------------------------


def path_patterns(text: str) -> list[tuple[Glob, ...]]:
    """A path pattern's segments, for each combination of its braces. Raises ``ValueError``.

    Without a ``/`` it is a file's name at any depth; ``**`` is any number of folders; a ``/`` at its end, all below.
    """
    if not text.strip("/") and text != "/":
        raise ValueError("it is empty: write a path such as src/** or *.pem")
    out = []
    for chars in _braces([(c, False) for c in text]):
        plain = "".join(c for c, _ in chars)
        if plain.endswith("/"):
            plain += "**"
        if "/" not in plain:
            plain = f"**/{plain}"
        segments = [s for s in plain.split("/") if s not in ("", ".")]
        if ".." in segments:
            raise ValueError("'..' in it: write the path it leads to")
        out.append(tuple(("**",) if s == "**" else tuple(s.split("*")) for s in segments))
    return out


def path_fits(pattern: tuple[Glob, ...], parts: Sequence[str]) -> bool:
    """Does a path of these ``parts`` match?"""
    states = {0}
    for part in (*parts, None):
        for state in sorted(states):
            while state < len(pattern) and pattern[state] == ("**",):
                state += 1
                states.add(state)
        if part is None:
            break
        following = set()
        for state in states:
            if state < len(pattern):
                if pattern[state] == ("**",):
                    following.add(state)
                elif fits(pattern[state], part):
                    following.add(state + 1)
        states = following
    return len(pattern) in states
