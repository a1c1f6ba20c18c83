"""What the rules say about a shell command: every simple command in it must be allowed for the whole to be.

A deny rule counts wherever its command stands, also inside what other commands run; where it *may* stand but nobody
here can know, the call asks. Pure but for looking where paths lead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..tools.base import Plan
from ..tools.workspace import Workspace
from . import judge
from .inner import INTERPRETERS, STATE, Unfolded, program, runs, unfold
from .options import uncovered
from .patterns import Item, Wild, matches
from .places import Places, places
from .shell import UNKNOWN, Simple, Unreadable, read

if TYPE_CHECKING:
    from .rules import Rule

HARMLESS = {"cd", "pwd", "true", "false", ":", "echo"}
"""Builtins that need no rule, among others that have one."""

_VARIABLES = re.compile(
    r"CI|TERM|NO_COLOR|FORCE_COLOR|CLICOLOR|COLUMNS|LINES|LANG|LC_[A-Z]+|TZ|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE"
    r"|PYTHONHASHSEED|DEBIAN_FRONTEND"
)
_VALUE = re.compile(r"[\w.:@+,-]{0,60}", re.ASCII)
_GIT_VALUES = {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix"}


def judge_command(guard: judge.Guard, plan: Plan, workspace: Workspace, tool: str) -> judge.GuardVerdict:
    """What the rules say about ``plan.command``, then what it is whatever the rules say."""
    command = plan.command
    ours = [r for r in guard.rules if not r.hosts and judge.fits_tool(r, tool, "shell")]
    about = [r for r in guard.rules if not r.hosts and r.paths and not r.commands]
    try:
        script = read(command)
    except Unreadable as error:
        return _unreadable(ours, command, str(error))
    all_of_it = unfold(script)
    named = places(all_of_it.commands, workspace)
    asks: judge.GuardVerdict | None = None
    for rule in [*ours, *(r for r in about if r not in ours)]:
        if rule.what == "allow":
            continue
        hit = _hit(rule, all_of_it, named, workspace, tool)
        if hit == "sure" and rule.what == "deny":
            return judge.GuardVerdict("deny", str(rule), rule.reason)
        if hit and asks is None:
            why = (
                rule.reason or f"a rule says so: {rule}" if hit == "sure" else f"it may run what a rule forbids: {rule}"
            )
            asks = judge.GuardVerdict("ask", str(rule), why, must=True)
    if asks:
        return asks
    if fact := _fact(command, named):
        return judge.GuardVerdict("ask", "", fact, must=True)
    allow = [r for r in ours if r.what == "allow"]
    if not allow:
        return judge.GuardVerdict()
    return _allowed(guard, allow, script.commands, all_of_it, named, workspace)


def _unreadable(rules: Sequence[Rule], command: str, why: str) -> judge.GuardVerdict:
    for rule in rules:
        if rule.what != "deny" or (rule.paths and not rule.commands):
            continue
        if not rule.commands or any(_in_text(p, command) for _, ps in rule.commands for p in ps):
            return judge.GuardVerdict("deny", str(rule), rule.reason)
    return judge.GuardVerdict("ask", "", f"the command is not understood: {why}", must=True)


def _fact(command: str, named: Places) -> str:
    if judge.hidden_characters(command):
        return "the command holds characters that are invisible or change its direction"
    if named.outside:
        return f"it may reach outside the workspace: {', '.join(dict.fromkeys(named.outside))}"
    if named.careful:
        return f"it names what mostly holds credentials, or is run by other programs: {named.careful[0]}"
    if named.too_many:
        return "it names more files than can be looked at"
    return ""


# ---- rules that forbid or ask ------------------------------------------------------------------------------------------


def _hit(rule: Rule, found: Unfolded, named: Places, workspace: Workspace, tool: str) -> str:
    """ "sure": the rule is about a command in it; "maybe": it may be; "": it is not."""
    if rule.commands:
        patterns = [p for _, ps in rule.commands for p in ps]
        best = ""
        for simple in found.commands:
            for pattern in patterns:
                hit = _strike(pattern, simple)
                if hit == "sure" and (not rule.paths or _names(rule, named, workspace)):
                    return "sure"
                best = best or hit
        if rule.paths and not _names(rule, named, workspace):
            return ""
        if found.unseen or any(_in_text(p, text) for p in patterns for text in found.texts):
            best = best or "maybe"
        if any(_in_text(p, name) for p in patterns for name in found.functions):
            best = best or "maybe"
        return best
    if not rule.paths:
        return "sure" if judge.fits_tool(rule, tool, "shell") and rule.tools else ""
    writes = any(judge.fits_path(rule, p, workspace) for p in named.writes)
    reads = any(judge.fits_path(rule, p, workspace) for p in named.reads)
    words = any(judge.fits_path(rule, p, workspace) for p in named.named)
    shell, edit, reading = (
        judge.fits_tool(rule, name, kind) for name, kind in ((tool, "shell"), ("", "edit"), ("", "read"))
    )
    if (writes and (edit or shell)) or ((reads or words) and (reading or shell)):
        return "sure"
    if (words and edit) or (named.unknown and (edit or shell)):
        return "maybe"
    return "maybe" if found.unseen and (edit or reading or shell) else ""


def _names(rule: Rule, named: Places, workspace: Workspace) -> bool:
    return any(judge.fits_path(rule, p, workspace) for p in [*named.named, *named.writes, *named.reads])


def _strike(pattern: Sequence[Item], simple: Simple) -> str:
    """Is this command what ``pattern`` forbids? Further words, other places of options and other spellings count too."""
    if not simple.words:
        return ""
    name = program(simple)
    words: list[Wild] = [(name, not name)]
    words += [
        (w.text.casefold() if not i else w.text, UNKNOWN in w.text or w.many) for i, w in enumerate(simple.words[1:], 1)
    ]
    folded = _folded(pattern)
    endless = [*folded, Item(("", ""), True)]
    if name and matches(endless, words):
        return "sure"
    head, options = [i for i in folded if not i.option], [i for i in folded if i.option]
    plain = _without_values(words) if name == "git" else words
    given = [w for w in plain[1:] if w[0].startswith("-") and not w[1]]
    operands = [w for i, w in enumerate(plain) if not i or not w[0].startswith("-") or w[1]]
    head.append(Item(("", ""), True))
    vague = any(unknown for _, unknown in words)
    if all(_given(option, given) for option in options):
        if name and matches(head, operands):
            return "sure"
        if _shifted(head, operands, plain):
            return "maybe"
    elif not vague:
        return ""
    return "maybe" if vague and matches(head, operands, loose=True) else ""


def _folded(pattern: Sequence[Item]) -> list[Item]:
    first = Item(tuple(piece.casefold() for piece in pattern[0].glob), pattern[0].any)
    if len(first.glob) == 1 and "/" in first.glob[0]:
        first = Item((first.glob[0].rpartition("/")[2],))
    return [first, *pattern[1:]]


def _shifted(head: Sequence[Item], operands: Sequence[Wild], words: Sequence[Wild]) -> bool:
    """Could an option's value stand between the program and what the pattern names next (``kubectl -n prod delete``)?"""
    if len(words) < 2 or not any(w.startswith("-") for w, _ in words[1:4]):
        return False
    sparse: list[Item] = [head[0]]
    for item in head[1:]:
        sparse += [Item(("", ""), True), item]
    first = next((i for i, (w, _) in enumerate(words[1:], 1) if not w.startswith("-")), len(words))
    return first > 1 and matches(sparse, operands)


def _without_values(words: Sequence[Wild]) -> list[Wild]:
    out: list[Wild] = list(words[:1])
    i = 1
    while i < len(words) and words[i][0].startswith("-") and not words[i][1]:
        out.append(words[i])
        i += 2 if words[i][0] in _GIT_VALUES else 1
    return [*out, *words[i:]]


def _given(option: Item, given: Sequence[Wild]) -> bool:
    """Is the option among those given, alone, in a bundle, with a value, or cut short?"""
    from .patterns import fits

    text = option.glob[0]
    for word, _ in given:
        if fits(option.glob, word) or (option.literal and word.startswith(text + "=")):
            return True
        if option.literal and text.startswith("--") and len(word) > 3 and text.startswith(word.partition("=")[0]):
            return True
    if not option.literal or text.startswith("--") or len(text) < 2:
        return False
    letters = {c for word, _ in given if not word.startswith("--") for c in word[1:]}
    return set(text[1:]) <= letters


def _in_text(pattern: Sequence[Item], text: str) -> bool:
    """Does a text nobody can read as commands hold the pattern's words, in order and near each other?"""
    tokens = re.split(r"[\s;&|<>()`\"'{}\[\],=$!]+", re.sub(r"[\\\"']", "", text).casefold())
    tokens += re.split(r"[\s;&|<>()`\"'{}\[\],=$!\\]+", text.casefold())
    wanted = [i for i in pattern if not i.any]
    if not wanted:
        return True
    first = wanted[0].glob
    from .patterns import fits

    name = tuple(piece.casefold().rpartition("/")[2] for piece in first)
    starts = [i for i, token in enumerate(tokens) if fits(name, token.rpartition("/")[2])]
    rest = [item for item in wanted[1:] if not item.option]
    for start in starts:
        near = tokens[start + 1 : start + 60]
        if all(any(fits(tuple(p.casefold() for p in item.glob), token) for token in near) for item in rest):
            return True
    return False


# ---- rules that allow --------------------------------------------------------------------------------------------------


def _allowed(
    guard: judge.Guard,
    rules: list[Rule],
    commands: Sequence[Simple],
    found: Unfolded,
    named: Places,
    workspace: Workspace,
) -> judge.GuardVerdict:
    used: list[str] = []
    if found.functions:
        return judge.GuardVerdict(reason=f"no rule allows a line that defines functions ({found.functions[0]})")
    for simple in commands:
        why = _covered(guard, rules, simple, workspace, used)
        if why:
            return judge.GuardVerdict(reason=why)
    if named.unknown:
        return judge.GuardVerdict(reason="only the shell knows which file it writes or reads")
    for path in named.writes:
        if str(path) not in ("/dev/null",) and not guard.allows_edit(path, workspace):
            return judge.GuardVerdict(reason=f"it writes {workspace.name(path)}, and no rule allows that edit")
    if not used:
        return judge.GuardVerdict()
    return judge.GuardVerdict("allow", "; ".join(dict.fromkeys(used)))


def _covered(guard: judge.Guard, rules: list[Rule], simple: Simple, workspace: Workspace, used: list[str]) -> str:
    """Why ``simple`` is not allowed ("": it is). The rules that allow it go into ``used``."""
    for name, value in simple.assigns:
        if not _VARIABLES.fullmatch(name) or not value.known or not _VALUE.fullmatch(value.text):
            return f"it sets {name}, which may change what a command does"
    if not simple.words:
        return ""
    shown = " ".join(w.text for w in simple.words).replace(UNKNOWN, "…")
    if any(not w.known or w.many or UNKNOWN in w.text for w in simple.words):
        return f"no rule covers words that only the shell knows: {shown}"
    words = [w.text for w in simple.words]
    name = program(simple)
    inner = runs(simple)
    if inner is not None and inner.transparent:
        for command in inner.commands:
            if why := _covered(guard, rules, command, workspace, used):
                return why
        return ""
    not_covered = uncovered(words)
    for rule in rules:
        for _, patterns in rule.commands:
            for pattern in patterns:
                exact = all(item.literal for item in pattern)
                if not exact and (0 in not_covered or name in STATE):
                    continue
                if rule.paths or not matches(
                    pattern, [(w, False) for w in words], may_cover=lambda n: n not in not_covered
                ):
                    continue
                if not exact and inner is not None and (inner.commands or inner.unseen):
                    continue
                used.append(str(rule))
                return ""
    if name in HARMLESS and words[0] == name and not (name == "echo" and INTERPRETERS.fullmatch(name)):
        return ""
    if not_covered - {0} and any(
        matches(p, [(w, False) for w in words]) for r in rules for _, ps in r.commands for p in ps
    ):
        odd = words[min(not_covered - {0})]
        return f"no * covers {odd!r}, which may run or write something else: write it into the rule"
    return f"no rule allows: {shown}"
