"""Words a ``*`` of an allow rule does not cover: options and words that run a program, load code or write elsewhere.

Whoever wants them writes them into the rule. A list of what is dangerous is never whole; so it errs on the wide side,
by meaning (any option with "exec", "command", "output", … in its name), and by program for what is short.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .inner import INTERPRETERS, LAUNCHERS, SHELLS

_MEANINGS = (
    "exec command program pager config rsh -pack editor hook plugin eval output shell script filter wrapper preload"
    " rootdir confcutdir override basetemp askpass proxy directory prefix chdir index-url ssh driver textconv ext-diff"
    " template target xml html report log-file debug load import include require file modfile flags delete remote"
    " cache-dir data-dir dest tmp temp"
).split()
_LONG = re.compile("|".join(_MEANINGS) + "|root$")
_FULL = (
    "checkpoint-action to-command use-compress-program info-script new-volume-script rsh-command files-from"
    " compress-program output output-directory files0-from upload-pack receive-pack exec exec-path"
    " open-files-in-pager ext-diff textconv config config-env template separate-git-dir pre pre-glob filter pager"
    " post-file hostname-bin rsh plugin script-shell eval file directory target prefix unzip-command receive"
).split() + _MEANINGS
"""Names in full: programs take them cut short as well."""
_SHORT = {
    "git": "cCO", "tar": "IFTC", "bsdtar": "IFTC", "sort": "oT", "shuf": "o", "zip": "TO", "unzip": "d", "rsync": "efT",
    "scp": "oFSJ", "sftp": "oFSJb", "man": "PHpC", "less": "okK", "more": "", "curl": "oOKTcDdFEwx", "wget": "OPoiea",
    "pytest": "pco", "py.test": "pco", "gcc": "oB", "g++": "oB", "cc": "oB", "c++": "oB", "clang": "oB", "ld": "o",
    "npm": "gC", "pnpm": "gC", "yarn": "", "pip": "riect", "pip3": "riect", "cargo": "ZC", "make": "fCIE", "date": "sf",
    "ruff": "", "mypy": "", "tox": "cx", "nox": "f", "split": "", "rg": "f", "grep": "f", "egrep": "f", "dd": "",
    "cmake": "PEC", "ninja": "fC", "go": "oC", "patch": "od", "gpg": "o", "openssl": "", "file": "mC", "dmesg": "cC",
}  # fmt: skip
_GIT_WORDS = set(
    "config bisect submodule filter-branch difftool mergetool hook daemon send-email instaweb rebase worktree bundle"
    " fast-import credential maintenance p4 svn archimport cvsimport init clone remote".split()
)
_ONE_DASH = {
    "find",
    "go",
    "gcc",
    "g++",
    "cc",
    "c++",
    "clang",
    "java",
    "javac",
    "ffmpeg",
    "convert",
    "openssl",
    "terraform",
}
_FIND = re.compile(r"-(exec|execdir|ok|okdir|delete|fprint.*|fls|files0-from)")
_HARMLESS_SWITCH = {"-V", "--version", "-u", "-B", "-q", "-h", "--help", "-v"}
_PRINTING = re.compile(r"[\d,$]*p")


def uncovered(words: Sequence[str]) -> set[int]:
    """The numbers of those words of a command that no ``*`` stands for."""
    name = words[0].rpartition("/")[2].casefold()
    out = {i for i in range(1, len(words)) if _option(name, words[i])}
    if name in SHELLS or (name in LAUNCHERS and name != "find"):
        return set(range(len(words))) if name in LAUNCHERS or not _operands(words) else out | _switches(words)
    if name in ("find", "fd"):
        return out | {i for i, w in enumerate(words) if _FIND.fullmatch(w) or (name == "fd" and w[:2] in ("-x", "-X"))}
    if name == "git":
        out |= {i for i, w in enumerate(words) if (i == 1 and w in _GIT_WORDS) or "::" in w}
        return out | ({1} if len(words) > 1 and not re.fullmatch(r"[a-z][a-z-]*", words[1]) else set())
    if name in ("tar", "bsdtar"):
        return out | ({1} if len(words) > 1 and set(words[1]) & set("IFTC") and "." not in words[1] else set())
    if name in ("make", "gmake", "ninja", "cmake"):
        return out | {i for i, w in enumerate(words) if "=" in w or w.startswith("-D")}
    if name in ("less", "more"):
        return out | {i for i, w in enumerate(words) if w.startswith("+")}
    if name in ("tee", "dd", "install", "ln"):
        return out | ({i for i, w in enumerate(words) if "=" in w} if name == "dd" else set())
    if INTERPRETERS.fullmatch(name):
        out |= _switches(words)
        if not _operands(words):
            out |= set(range(len(words)))  # it reads its program from its input
        if name in ("sed", "gsed", "awk", "gawk", "mawk", "nawk", "vi", "vim", "nvim", "ex", "ed", "emacs", "m4", "bc"):
            out |= set(range(1, len(words)))
            if name in ("sed", "gsed") and len(words) > 2 and words[1] == "-n" and _PRINTING.fullmatch(words[2]):
                out = {i for i in range(3, len(words)) if words[i].startswith("-")}
        return out
    return out


def _operands(words: Sequence[str]) -> list[str]:
    return [w for w in words[1:] if not w.startswith(("-", "+"))]


def _switches(words: Sequence[str]) -> set[int]:
    """All options of an interpreter up to its program; what comes behind is the program's own business."""
    out: set[int] = set()
    for i, word in enumerate(words[1:], 1):
        if not word.startswith(("-", "+")):
            break
        if word not in _HARMLESS_SWITCH:
            out.add(i)
    return out


def _option(name: str, word: str) -> bool:
    if word.startswith("--") and len(word) > 2:
        option = word[2:].partition("=")[0].casefold()
        return bool(_LONG.search(option)) or any(full.startswith(option) for full in _FULL)
    if len(word) > 1 and word.startswith("-"):
        if name in _ONE_DASH:
            return bool(_LONG.search(word[1:].partition("=")[0])) or word[1:2] in (_SHORT.get(name) or "o")
        return bool(set(word[1:].partition("=")[0]) & set(_SHORT.get(name, "")))
    return False
