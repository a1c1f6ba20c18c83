"""The paths that a command's words name: which of them leave the workspace, hold credentials, or match a rule.

A guess from names, on purpose a wide one: the program alone knows which of its words are paths. What a program opens
without being told (``grep -r . .``, a script) is not seen.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from ...credentials import guarded, secret
from ..tools.workspace import Workspace
from .inner import program
from .shell import UNKNOWN, Simple

_DEVICES = {"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/zero", "/dev/full"}
_MOST = 600
_APART = re.compile(r"[\s\"'`(),;<>|&{}\[\]]+")


@dataclass(slots=True)
class Places:
    """What the words name. ``outside`` and ``careful`` (credentials, ``.git``, rules) as written; ``writes`` and
    ``reads`` are the files redirections open, ``named`` every path, all resolved; ``unknown``: a redirection's file is
    known only to the shell; ``too_many``: not all were looked at."""

    outside: list[str] = field(default_factory=list)
    careful: list[str] = field(default_factory=list)
    writes: list[Path] = field(default_factory=list)
    reads: list[Path] = field(default_factory=list)
    named: list[Path] = field(default_factory=list)
    unknown: bool = False
    too_many: bool = False


def places(commands: Iterable[Simple], workspace: Workspace) -> Places:
    """Look at the words of all ``commands`` of a line."""
    out = Places()
    commands = list(commands)
    folders = _folders(commands, workspace)
    seen: set[str] = set()
    for simple in commands:
        for redirect in simple.redirects:
            if UNKNOWN in redirect.target.text or redirect.target.many:
                out.unknown = True
                continue
            for path in _look(redirect.target.text, folders, workspace, out, sure=True):
                (out.reads if redirect.op == "<" else out.writes).append(path)
        if program(simple) in ("cd", "pushd", "popd") and (
            len(simple.words) == 1 or simple.words[1].text in ("-", "--", "-P", "-L")
        ):
            out.outside.append("where cd leads is known only to the shell")
        texts = [w.text for w in simple.words[1:]] + [v.text for _, v in simple.assigns]
        for body in simple.heredocs:
            texts.append(body or "")
        for text in texts:
            for token in _tokens(text):
                if token in seen:
                    continue
                seen.add(token)
                if len(seen) > _MOST:
                    out.too_many = True
                    return out
                out.named += _look(token, folders, workspace, out)
    return out


def _folders(commands: list[Simple], workspace: Workspace) -> list[Path]:
    """The folders a line may be in: the workspace, and wherever a ``cd`` in it leads."""
    folders = [workspace.root]
    for simple in commands:
        words = [w for w in simple.words if w.text not in ("--", "-P", "-L")]
        if program(simple) in ("cd", "pushd") and len(words) > 1 and UNKNOWN not in words[1].text:
            target = Path(words[1].text)
            for folder in list(folders)[:8]:
                try:
                    folders.append((folder / target.expanduser()).resolve())
                except (OSError, RuntimeError, ValueError):
                    continue
    return list(dict.fromkeys(folders))[:16]


def _tokens(text: str) -> Iterator[str]:
    """What in a word may be a path: the word, what follows an ``=``, an ``@`` or a ``:``, the words of a text."""
    pieces = [text]
    if _APART.search(text):
        pieces += [p for p in _APART.split(text) if len(p) > 1]
    for piece in pieces:
        yield piece
        for mark in "=@:":
            if mark in piece:
                yield from (part for part in piece.split(mark) if part)
        if re.match(r"-[A-Za-z]..", piece) and not piece.startswith("--"):
            yield piece[2:]


def _look(token: str, folders: list[Path], workspace: Workspace, out: Places, *, sure: bool = False) -> Iterator[Path]:
    """Note what ``token`` names. Gives the paths it may be."""
    if not token or token in _DEVICES or len(token) > 4000 or "\n" in token:
        return
    if "://" in token:
        return
    if secret(token.rstrip("/")) or (guarded(token) and not token.startswith("-")):
        out.careful.append(_plain(token))
    if UNKNOWN in token:
        if token.startswith(UNKNOWN + "/..") or "/../" in token:
            out.outside.append(_plain(token))
        if token.strip(UNKNOWN + "./"):
            _expanded(token, folders, out)
        if not token.startswith(("/", "~")):
            return
        token = token.partition(UNKNOWN)[0]
    rooted = token.startswith(("/", "~"))
    if rooted and not sure and not _is_there(token):
        return
    if token == "/" and not sure and not rooted:
        return
    for folder in folders:
        try:
            path = (folder / Path(token).expanduser()).resolve()
        except (OSError, RuntimeError, ValueError):
            continue
        if not workspace.inside(path):
            out.outside.append(_plain(token))
        elif guarded(path.relative_to(workspace.root)):
            out.careful.append(_plain(token))
        yield path


def _expanded(token: str, folders: list[Path], out: Places) -> None:
    """Files that are there and that a word with unknown parts may stand for."""
    pattern = "*".join(glob.escape(piece) for piece in token.split(UNKNOWN))
    for folder in folders:
        for found in islice(glob.iglob(os.path.join(glob.escape(str(folder)), pattern)), 2000):
            name = os.path.relpath(found, folder)
            if guarded(name):
                out.careful.append(name)
            elif os.path.islink(found) and not _within(found, folders[0]):
                out.outside.append(name)


def _within(path: str, root: Path) -> bool:
    try:
        real = Path(path).resolve()
    except (OSError, RuntimeError):
        return False
    return real == root or root in real.parents


def _is_there(token: str) -> bool:
    """Is the first folder of an absolute path there? Many a word begins with a slash and is no path."""
    parts = [p for p in token.split("/") if p]
    return token.startswith("~") or not parts or os.path.lexists("/" + parts[0])


def _plain(token: str) -> str:
    return token.replace(UNKNOWN, "*")[:200]
