"""The options of a magic line: ``--name VALUE``, ``--name=VALUE``, flags, and the text behind them, untouched.

A small parser of our own because what follows the options is prose for an agent: argparse and ``shlex`` would eat its
quotes, backslashes and dashes. Knows no subcommand and no session.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal

from ..errors import UsageError

Completes = Literal["", "session", "saved", "call", "variable", "agent", "path", "mode", "model", "option"]

_OPTION = re.compile(r"--(?P<name>[A-Za-z][\w-]*)(?P<eq>=)?")
_END = re.compile(r"--(?=\s|\Z)")
_WORD = re.compile(r"\S+")
_SPACE = re.compile(r"\s*")


@dataclass(frozen=True)
class Option:
    """One option. ``metavar`` "" makes it a flag; ``choices`` limits it; ``repeat`` collects a list."""

    name: str
    help: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    repeat: bool = False
    number: bool = False
    completes: Completes = ""

    @property
    def flag(self) -> str:
        """As it is typed."""
        return f"--{self.name}"

    @property
    def usage(self) -> str:
        """As help shows it."""
        value = "|".join(self.choices) or self.metavar
        return f"{self.flag} {value}" if value else self.flag


@dataclass
class Args:
    """A parsed line: ``values`` by option name, the ``words`` that are not options, and the verbatim ``text``.

    ``literal`` is true when ``--`` ended the options: what follows is meant as text, whatever it looks like.
    """

    values: dict[str, Any] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    text: str = ""
    literal: bool = False

    def get(self, name: str, default: Any = None) -> Any:
        """The option's value, or ``default`` when it was not given."""
        return self.values.get(name, default)


def leading(line: str, options: Sequence[Option], *, where: str = "%hm") -> Args:
    """Parse the options at the start of ``line``; everything from the first other word on is ``text``, as it is.

    Raises :class:`UsageError` for an unknown option, a missing or impossible value, an open quote.
    """
    args = Args()
    at = _skip(line, 0)
    while at < len(line):
        if end := _END.match(line, at):
            args.literal = True
            at = end.end()
            # One separator belongs to "--"; more white space, or a line break, is the person's.
            args.text = line[at + 1 :] if line[at : at + 1] in (" ", "\t") else line[at:]
            return args
        match = _OPTION.match(line, at)
        if match is None:
            break
        at = _skip(line, _option(line, match, options, args, where))
    args.text = line[at:]
    return args


def anywhere(line: str, options: Sequence[Option], *, where: str) -> Args:
    """Parse a line of words with options among them; after ``--`` all are words. A word that begins with ``#`` begins a
    comment, as in Python: people write one behind a magic (quoted it is a word)."""
    args = Args()
    rest = line
    while rest:
        part = leading(rest, options, where=where)
        for name, value in part.values.items():
            if isinstance(value, list):
                args.values.setdefault(name, []).extend(value)
            else:
                args.values[name] = value
        if part.literal:
            args.literal = True
            args.words += part.text.split()
            break
        if not part.text or part.text.startswith("#"):
            break
        word, at = _value(part.text, 0, where)
        args.words.append(word)
        rest = part.text[at:]
    args.text = " ".join(args.words)
    return args


def first_word(text: str) -> tuple[str, str]:
    """The first word of ``text`` and what follows it, with only the white space between them taken out."""
    match = _WORD.match(text, _skip(text, 0))
    if match is None:
        return "", ""
    return match.group(), text[match.end() :].lstrip(" \t")


def closest(word: str, names: Iterable[str]) -> str:
    """The name ``word`` was probably meant to be, or ""."""
    found = get_close_matches(word, list(names), n=1, cutoff=0.6)
    return found[0] if found else ""


def pairs(given: Iterable[str], *, option: str) -> dict[str, str]:
    """``NAME=VALUE`` words as a mapping. Raises :class:`UsageError`, naming ``option``."""
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} is written NAME=VALUE.")
        found[name] = value
    return found


def _skip(line: str, at: int) -> int:
    match = _SPACE.match(line, at)
    return match.end() if match else at


def _option(line: str, match: re.Match[str], options: Sequence[Option], args: Args, where: str) -> int:
    """Put the option at ``match`` into ``args``; returns where it ends."""
    name = match["name"]
    option = next((o for o in options if o.name == name), None)
    if option is None:
        names = [o.name for o in options]
        meant = closest(name, names)
        all_of_them = ", ".join(f"--{n}" for n in names) or "no options"
        hint = f"did you mean --{meant}?" if meant else f"it takes {all_of_them}."
        raise UsageError(f"{where} has no option --{name}; {hint} To send it as text, put -- before it.")
    at = match.end()
    if not option.metavar and not option.choices:
        if match["eq"]:
            raise UsageError(f"{option.flag} takes no value; write {option.flag} alone.")
        args.values[name] = True
        return at
    if not match["eq"]:
        at = _skip(line, at)
    if at >= len(line) or (not match["eq"] and line.startswith("--", at)):
        raise UsageError(f"{option.flag} needs a value: {option.usage}.")
    raw, at = _value(line, at, where)
    value: Any = raw
    if option.choices and raw not in option.choices:
        meant = closest(raw, option.choices)
        hint = f"did you mean {meant}?" if meant else f"it is one of {', '.join(option.choices)}."
        raise UsageError(f"{option.flag} cannot be {raw!r}; {hint}")
    if option.number:
        try:
            value = float(raw)
        except ValueError:
            raise UsageError(f"{option.flag} needs a number, not {raw!r}.") from None
    if option.repeat:
        args.values.setdefault(name, []).append(value)
    else:
        args.values[name] = value
    return at


def _value(line: str, at: int, where: str) -> tuple[str, int]:
    """The word or quoted string at ``at``, and where it ends."""
    quote = line[at : at + 1]
    if quote in ("'", '"'):
        end = line.find(quote, at + 1)
        if end < 0:
            raise UsageError(f"{where}: the quote {quote} is not closed: {line[at : at + 30]}")
        return line[at + 1 : end], end + 1
    match = _WORD.match(line, at)
    return (match.group(), match.end()) if match else ("", at)
