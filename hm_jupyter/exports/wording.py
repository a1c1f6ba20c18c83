"""The words of a finished turn, the same in html, markdown and text: verbs and facts. (Decisions: :mod:`.decided`.)

Plain text in, plain text out; whoever writes them down escapes them. (ui reference, "Wording" and "Frozen output".)
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from ..events import FileDiff
from ..transcript import ToolEntry, to_json
from . import diffs, safe

VERBS = {
    "shell": "Shell",
    "read": "Read",
    "edit": "Edit",
    "search": "Search",
    "fetch": "Fetch",
    "ask": "Ask",
    "plan": "Plan",
    "agent": "Sub-agent",
}
_LABELS = {
    "completed": "finished", "failed": "failed", "denied": "denied", "skipped": "skipped", "interrupted": "interrupted",
    "running": "running", "paused": "paused", "pending": "not started", "drafting": "not started",
}  # fmt: skip
_EXIT = re.compile(
    r"^\W{0,8}(?:command )?(?:exit(?:ed)?(?: with)?(?: code| status)?)[ :=]{1,3}(-?\d{1,10})\W{0,8}$", re.I
)


def number(n: int, one: str, many: str = "") -> str:
    """ "1 file", "3 files"."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def tokens(n: int) -> str:
    """A count of tokens in at most four figures: 812, 41.2k, 1.3M."""
    if n < 1_000:
        return f"{n} tokens"
    return f"{n / 1_000:.1f}k tokens" if n < 999_950 else f"{n / 1_000_000:.1f}M tokens"


def cost(dollars: float | None) -> str:
    """``$0.18``; more places where two would say nothing."""
    if dollars is None:
        return ""
    return f"${dollars:.2f}" if dollars >= 0.01 or dollars == 0 else f"${dollars:.4f}"


def duration(seconds: float) -> str:
    """0.9 s, 42 s, 1:48, 1:02:03."""
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return (
        f"{whole // 60}:{whole % 60:02d}"
        if whole < 3600
        else f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
    )


def spent(entry: Any) -> str:
    """How long it took, or ""."""
    started, ended = getattr(entry, "started", None), getattr(entry, "ended", None)
    return duration(ended - started) if started and ended else ""


# ---- tools -----------------------------------------------------------------------------------------------------------


def _field(value: Any, *names: str) -> str:
    if isinstance(value, dict):
        for name in names:
            if isinstance(value.get(name), str) and value[name]:
                return str(value[name])
    return ""


def relative(path: str) -> str:
    """A path inside the session's folder without its leading ``./``."""
    return path[2:] if path.startswith("./") and len(path) > 2 else path


def pretty(value: Any) -> str:
    """An agent's JSON for people."""
    if isinstance(value, str):
        return value
    return json.dumps(to_json(value), ensure_ascii=False, indent=2, default=str)


def verb(tool: ToolEntry) -> str:
    """What kind of thing it did; a tool of no known kind is called by its own name."""
    return VERBS.get(tool.category) or safe.one_line(tool.name, 24) or "Tool"


def command(tool: ToolEntry) -> str:
    """The exact text a shell call ran, "" for other tools."""
    if tool.category != "shell":
        return ""
    if isinstance(tool.input, str):
        return tool.input
    given = tool.input.get("command") if isinstance(tool.input, dict) else None
    if isinstance(given, list) and all(isinstance(a, str) for a in given):
        return " ".join(given)
    return _field(tool.input, "command", "cmd", "script") or tool.title


def _bare(title: str, verb: str) -> str:
    """A title without the verb that stands before it, and without the marks of code around the whole of it."""
    if not verb or title.lower() == verb.lower():
        return "" if verb else title
    if title.lower().startswith(verb.lower() + " "):
        title = title[len(verb) + 1 :].strip()
    return title[1:-1] if len(title) > 2 and title[0] == title[-1] == "`" and "`" not in title[1:-1] else title


def target(tool: ToolEntry) -> str:
    """What it did it to: command, path, pattern, address; else the agent's title for it."""
    if tool.category == "shell":
        first, _, more = command(tool).strip().partition("\n")
        return f"{first} …" if more else first
    if tool.category == "edit" and tool.diffs:
        return ", ".join(relative(d.path) for d in applied(tool)[:20])
    given = tool.input
    if tool.category in ("read", "edit"):
        found = relative(_field(given, "path", "file_path", "filename", "file"))
    elif tool.category == "search":
        found = _field(given, "pattern", "query", "regex", "glob", "path")
    elif tool.category == "fetch":
        found = _field(given, "url", "uri")
    else:
        found = ""
    title = relative(_bare(tool.title, VERBS.get(tool.category, "")))
    if not found and title in ("", tool.name) and tool.locations:
        return named(tool.locations)
    if found or (title and title != tool.name):
        return found or title
    if isinstance(given, str):
        return given
    if not given:
        return tool.name if tool.category in VERBS else ""
    if isinstance(given, dict) and len(given) == 1 and isinstance(next(iter(given.values())), str):
        return relative(str(next(iter(given.values()))))
    return json.dumps(to_json(given), ensure_ascii=False, default=str)[:2_000]


def exit_code(tool: ToolEntry) -> int | None:
    """A command's exit code: the entry's own, else what the last line of its output says."""
    if tool.exit_code is not None:
        return tool.exit_code
    if tool.category != "shell":
        return None
    for at in (-1, 0):
        lines = str(tool.output).strip().split("\n")
        m = _EXIT.match(lines[at].strip()[:80])
        if m:
            return int(m[1])
    return None


def label(tool: ToolEntry) -> str:
    """How it ended, in one or two words."""
    decision = tool.decision
    if decision is not None and decision.outcome == "withdrawn":
        return "withdrawn by the agent"
    if decision is not None and decision.outcome == "interrupted":
        return "not decided"
    if decision is not None and decision.outcome == "chosen" and tool.status == "pending":
        return "answered"
    return _LABELS.get(tool.status, str(tool.status))


@dataclass(slots=True)
class Change:
    """What an edit changed: its diffs and their sum."""

    files: list[diffs.Unified]

    @property
    def added(self) -> int:
        return sum(f.added for f in self.files)

    @property
    def removed(self) -> int:
        return sum(f.removed for f in self.files)


def applied(tool: ToolEntry) -> list[FileDiff]:
    """The changes that were made (without the files the person left out), or would have been if it was refused."""
    d = tool.decision
    if d is None or d.files is None or d.outcome != "allowed":
        return tool.diffs
    names = {relative(f) for f in d.files}
    return [x for x in tool.diffs if relative(x.path) in names]


def change(tool: ToolEntry) -> Change:
    """The files an edit changed, as diffs."""
    kept = applied(tool)
    return Change([diffs.unified(FileDiff(relative(d.path), d.old, d.new, d.partial)) for d in kept])


def named(paths: list[str]) -> str:
    """Paths in a row, of many the first."""
    shown = ", ".join(relative(p) for p in paths[:10])
    return shown + (f" and {len(paths) - 10} more" if len(paths) > 10 else "")


def places(tool: ToolEntry) -> list[str]:
    """Where it was at work, as far as its row does not say so."""
    said, paths = target(tool), [relative(d.path) for d in tool.diffs]
    where = [relative(at) for at in tool.locations[:50]]
    return [at for at in where if at not in said and not any(at == p or at.startswith(p + ":") for p in paths)]
