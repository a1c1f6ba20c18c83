"""What the rules say about a planned call: deny wins over ask, ask over allow; what is not understood is never allowed.

:class:`Guard` holds the rules of the person's own file and of the workspace's; the latter may only tighten, unless the
person's own trusts that folder. Source: hm RPC, "Approvals" (``guard.yaml`` deny rules refuse before anyone is asked).
"""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ...credentials import guarded, secret
from ..tools.base import Plan
from ..tools.workspace import Workspace

if TYPE_CHECKING:
    from .rules import Rule

WORKSPACE_FILES = ("guard.yaml", ".hm/guard.yaml")


@dataclass(slots=True)
class GuardVerdict:
    """``what`` is "" where no rule says anything. ``must``: it asks in every mode (the facts, not a rule, say so), and no
    rule for the session is offered. ``rule`` names the rule, ``reason`` says why, for a person."""

    what: Literal["deny", "ask", "allow", ""] = ""
    rule: str = ""
    reason: str = ""
    must: bool = False


@dataclass(slots=True)
class Guard:
    """The rules of a session. ``problems`` are for people: files that cannot be used. As long as there is one, everything
    asks."""

    rules: list[Rule] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @staticmethod
    def load(root: str | os.PathLike[str]) -> Guard:
        """The person's own guard.yaml and the workspace's. Never raises: what is wrong is in ``problems``."""
        root = Path(root).resolve()
        guard = Guard()
        own = user_file()
        files = ([(own, True)] if own else []) + [(root / name, False) for name in WORKSPACE_FILES]
        trust: list[Path] = []
        for path, ours in files:
            if not os.path.lexists(path) or (not ours and own is not None and _same(path, own)):
                continue
            from .rules import BadRules, load  # late: most people have no such file

            try:
                found = load(path, root)
            except BadRules as error:
                guard.problems.append(f"{error}. Until that is mended, every call asks.")
                continue
            except OSError as error:
                text = f"{path} cannot be read: {error.strerror or error}. Until that is mended, every call asks."
                guard.problems.append(text)
                continue
            rules = found.rules
            if ours:
                trust = found.trust
            elif not _trusted(root, trust):
                rules = [r for r in rules if r.what != "allow"]
                if len(rules) < len(found.rules):
                    guard.notes.append(
                        f"{path}: its allow rules do not count; name the folder under trust in your own guard.yaml"
                        " if they should"
                    )
            if not ours and found.trust:
                guard.notes.append(f"{path}: trust counts only in your own guard.yaml")
            guard.rules += rules
        return guard

    def judge(self, plan: Plan, workspace: Workspace, *, tool: str = "") -> GuardVerdict:
        """What the rules say about ``plan``, a call of ``tool``."""
        risk = plan.risk
        if risk == "none" and not any(r.tools for r in self.rules):
            return GuardVerdict()
        if risk == "shell":
            from .commands import judge_command

            verdict = judge_command(self, plan, workspace, tool)
        else:
            verdict = self._judge_other(plan, workspace, tool, risk)
        if self.problems and verdict.what != "deny" and risk != "none":
            return GuardVerdict("ask", "", self.problems[0], must=True)
        return verdict

    def _judge_other(self, plan: Plan, workspace: Workspace, tool: str, risk: str) -> GuardVerdict:
        url = plan.url
        paths = [*plan.paths, *_as_written(plan, workspace)]
        asks: GuardVerdict | None = None
        for rule in self.rules:
            if rule.what == "allow" or rule.commands or not fits_tool(rule, tool, risk):
                continue
            if rule.paths and not any(fits_path(rule, path, workspace) for path in paths):
                continue
            if rule.hosts and not any(fits_host(pattern, url, loose=True) for pattern in rule.hosts):
                continue
            if rule.what == "deny":
                return GuardVerdict("deny", str(rule), rule.reason)
            asks = asks or GuardVerdict("ask", str(rule), rule.reason or f"a rule says so: {rule}", must=True)
        if asks:
            return asks
        if fact := careful(plan, workspace):
            return GuardVerdict("ask", "", fact, must=True)
        if risk == "fetch" and (odd := odd_url(url)):
            return GuardVerdict("ask", "", odd, must=True)
        for rule in self.rules:
            if rule.what != "allow" or rule.commands or not fits_tool(rule, tool, risk):
                continue
            if risk in ("edit", "read") and rule.paths:
                if not plan.paths or not all(fits_path(rule, p, workspace, exactly=True) for p in plan.paths):
                    continue
            elif rule.paths:
                continue
            if rule.hosts and (risk != "fetch" or not any(fits_host(pattern, url) for pattern in rule.hosts)):
                continue
            if risk == "fetch" and not rule.hosts:
                continue
            return GuardVerdict("allow", str(rule), rule.reason)
        if risk == "fetch":
            return GuardVerdict("ask", "", "no rule allows this address")
        return GuardVerdict()

    def denies_path(self, path: Path, workspace: Workspace) -> bool:
        """Whether a deny rule is about reading ``path``: tools that look through folders leave such files out."""
        return any(
            r.what == "deny" and r.paths and fits_tool(r, "", "read") and fits_path(r, path, workspace)
            for r in self.rules
        )

    def allows_edit(self, path: Path, workspace: Workspace) -> bool:
        """Whether an allow rule covers writing ``path`` (resolved)."""
        return any(
            r.what == "allow" and not r.commands and not r.hosts and fits_tool(r, "", "edit")
            and r.tools and (not r.paths or fits_path(r, path, workspace, exactly=True))
            for r in self.rules
        )  # fmt: skip


def user_file() -> Path | None:
    """The person's own guard.yaml, beside hm.toml; None where ``HM_CONFIG`` is empty."""
    named = os.environ.get("HM_CONFIG")
    if named is not None:
        return Path(named).expanduser().parent / "guard.yaml" if named else None
    from platformdirs import user_config_path

    return user_config_path("hm_jupyter", appauthor=False) / "guard.yaml"


def careful(plan: Plan, workspace: Workspace) -> str:
    """Why a read or an edit asks in every mode, for a person ("": it does not)."""
    if plan.careful:
        return plan.careful
    if plan.outside:
        return f"outside the workspace: {', '.join(str(p) for p in plan.outside)}"
    for path in [*plan.paths, *_as_written(plan, workspace)]:
        name = path.relative_to(workspace.root) if workspace.inside(path) else path
        if secret(name):
            return f"{name} mostly holds credentials, going by its name"
        if plan.risk == "edit" and guarded(name):
            return f"{name} says what other programs, or agents, do"
        if hidden_characters(str(name)):
            return "a path holds characters that are invisible or change its direction"
    return ""


def hidden_characters(text: str) -> bool:
    """Whether ``text`` holds characters nobody sees or takes for a space, that turn it around or drive a terminal."""
    return any(unicodedata.category(c) in ("Cf", "Cc", "Cs", "Zl", "Zp", "Zs") and c not in " \n\t" for c in text)


# ---- one rule ----------------------------------------------------------------------------------------------------------


def fits_tool(rule: Rule, tool: str, risk: str) -> bool:
    """Is the rule about this tool, or kind of tool?"""
    return not rule.tools or risk in rule.tools or (tool != "" and tool in rule.tools) or "*" in rule.tools


def fits_path(rule: Rule, path: Path, workspace: Workspace, *, exactly: bool = False) -> bool:
    """Does one of the rule's patterns match ``path``? Rules that forbid do not mind upper and lower case."""
    from .patterns import path_fits

    name = path.relative_to(workspace.root) if path == workspace.root or workspace.root in path.parents else None
    for text, patterns in rule.paths:
        absolute = text.startswith(("/", "~"))
        parts = (
            path.parts[1:] if absolute else name.parts if name is not None else path.parts[1:] if not exactly else None
        )
        if parts is None:
            continue
        for pattern in patterns:
            if path_fits(pattern, parts):
                return True
            folded = tuple(tuple(piece.casefold() for piece in glob) for glob in pattern)
            if not exactly and path_fits(folded, [unicodedata.normalize("NFC", p).casefold() for p in parts]):
                return True
    return False


_URL = re.compile(r"(https?)://([^/?#]*)([/?#].*)?", re.IGNORECASE | re.DOTALL)


def odd_url(url: str) -> str:
    """Why no rule allows this address, whatever its host ("": it is an ordinary one)."""
    if not url.isascii() or any(c <= " " or c in "\\\x7f" for c in url):
        return "the address holds characters that programs read in different ways"
    found = _URL.fullmatch(url)
    if not found:
        return "the address is not one of http or https"
    if not re.fullmatch(r"[A-Za-z0-9.-]+(:\d{1,5})?", found[2]):
        return "the address holds a name or password, or an unusual host"
    return ""


def session_host(url: str) -> str:
    """What of an ordinary address "allow for session" would allow: scheme, host and port ("": none)."""
    found = _URL.fullmatch(url)
    return f"{found[1].casefold()}://{found[2].casefold()}/**" if found and not odd_url(url) else ""


def fits_host(pattern: str, url: str, *, loose: bool = False) -> bool:
    """Is ``url`` at a host of ``pattern``? ``loose`` (for rules that forbid): any scheme and port, subdomains too."""
    if loose:
        place = re.sub(r"^[A-Za-z][\w+.-]*:[\\/]*", "", unicodedata.normalize("NFKC", url))
        place = re.split(r"[/\\?#]", place, maxsplit=1)[0].rpartition("@")[2].casefold()
        host = re.sub(r":\d*$", "", place).rstrip(".")
        wanted = pattern.removeprefix("*.")
        return pattern == "*" or host == wanted or place == wanted or host.endswith(f".{wanted}")
    found = _URL.fullmatch(url)
    if not found or odd_url(url):
        return False
    scheme, place = found[1].casefold(), found[2].casefold()
    host, _, port = place.partition(":")
    if port == ("443" if scheme == "https" else "80"):
        place = host
    if scheme == "http" and host not in ("localhost", "127.0.0.1"):
        return False  # anybody between here and there could answer
    if pattern == "*":
        return place == host
    if pattern.startswith("*."):
        return place.endswith(pattern[1:])
    return place == pattern


def _as_written(plan: Plan, workspace: Workspace) -> list[Path]:
    """The paths as the call writes them, before links are resolved: a rule may be about the link's name."""
    edits = plan.input.get("edits")
    given = [plan.input, *(edits if isinstance(edits, list) else [])]
    out = []
    for one in given:
        text = one.get("path") if isinstance(one, dict) else None
        if isinstance(text, str) and text and "\0" not in text:
            out.append(Path(os.path.normpath(workspace.root / os.path.expanduser(text))))
    return out


def _trusted(root: Path, trust: list[Path]) -> bool:
    for folder in trust:
        try:
            if folder.is_absolute() and folder.resolve() == root:
                return True
        except (OSError, RuntimeError):
            continue
    return False


def _same(a: Path, b: Path) -> bool:
    try:
        return os.path.samefile(a, b)
    except OSError:
        return False
