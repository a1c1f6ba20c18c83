"""What an agent may have done on our side without a person being asked (again).

An agent that has its commands and edits done by us mostly asks for leave itself first. What a person or the policy has
allowed in this turn is remembered here, by what the approval *showed*; only exactly that is not asked twice, and a
command only as often as it was allowed. Pure: no file is opened, nobody is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..events import ApprovalRequested, ApprovalResolved, FileDiff
from ..workspace.command import Command, joined, plain

COMMAND_RULE = "this command, word for word, for this session"
WRITE_RULE = "every write in the workspace, for this session"

Locate = Callable[[str], "Path | None"]
"""A path as an agent writes it, resolved; None for one that is not in the workspace."""


@dataclass
class Shown:
    """What an approval shows. ``diffs`` and ``paths`` as the agent wrote them."""

    call_id: str
    command: str = ""
    cwd: str = ""
    diffs: Sequence[FileDiff] = ()
    paths: Sequence[str] = ()
    used: set[str] = field(default_factory=set)  # what of it was done: "command", or a path


class Leave:
    """One session's."""

    def __init__(self) -> None:
        self._asked: dict[str, Shown] = {}
        self._allowed: list[Shown] = []
        self._commands: set[tuple[str, str]] = set()  # for the session: line and folder
        self._words: set[str] = set()  # … the line, where the approval showed no folder
        self.writes = False
        """Every write in the workspace is allowed for the session."""

    # ---- what the agent asked, and what came of it -----------------------------------------------------------------

    def asked(self, event: ApprovalRequested, diffs: Sequence[FileDiff] = ()) -> None:
        """The agent asks. ``diffs``: those its card shows, where the request has none of its own."""
        if event.auto:
            return
        shell = event.category == "shell"
        text = event.command or (_words_of(event.input) or event.summary if shell else "")
        paths = list(event.paths) if event.category == "edit" else []
        self._asked[event.request_id] = Shown(event.call_id, text, event.cwd, list(event.diffs or diffs), paths)

    def decided(self, event: ApprovalResolved) -> None:
        """It was decided; only a person's or the policy's yes counts (not the agent's own)."""
        shown = self._asked.pop(event.request_id, None)
        if shown is None or event.outcome != "allowed" or event.by == "agent":
            return
        if event.edited or event.files is not None:
            return  # something else than what was shown
        self._allowed.append(shown)
        if event.for_session and shown.command and not shown.cwd:
            self._words.add(plain(shown.command))

    def turn_over(self) -> None:
        """What was allowed in a turn ends with it."""
        self._asked.clear()
        self._allowed.clear()

    def keep_command(self, command: Command) -> None:
        """Allowed for the session."""
        self._commands.add(command.key)

    def named(self) -> list[str]:
        """The paths that what is allowed names."""
        return [name for shown in self._allowed for name in (*(diff.path for diff in shown.diffs), *shown.paths)]

    def folders(self) -> list[str]:
        """The folders that what is allowed names for its commands."""
        return [shown.cwd for shown in self._allowed if shown.cwd]

    # ---- is there leave? -------------------------------------------------------------------------------------------

    def for_command(self, command: Command, same_folder: Callable[[str], bool]) -> Shown | None:
        """The approval that allowed exactly this command, now used up; None: ask.

        ``same_folder``: is that (the folder an approval showed; "": the working folder) where it would run? A command
        whose environment can make something else of its line is never covered: no approval has shown that.
        """
        if command.risky:
            return None
        for shown in self._allowed:
            if "command" in shown.used or not shown.command or not command.is_shown_by(shown.command):
                continue
            if not same_folder(shown.cwd):
                continue
            shown.used.add("command")
            return shown
        return None

    def by_rule(self, command: Command, *, in_root: bool) -> bool:
        """Was it allowed for the session? ``in_root``: it would run in the working folder."""
        if command.risky:
            return False
        return command.key in self._commands or (in_root and plain(command.line) in self._words)

    def for_write(self, path: Path, before: str | None, content: str, locate: Locate) -> Shown | None:
        """The approval that allowed to make ``content`` of the file at ``path``, which holds ``before``; None: ask.

        One that shows what the file is to be must show just that, and start, where it says from what, from what the file
        is now. One that shows only which file it is, allows one write.
        """
        for shown in self._allowed:
            diffs = [diff for diff in shown.diffs if locate(diff.path) == path]
            if diffs:
                if content == before or leads_to(diffs, before, content):
                    return shown
            elif shown.diffs or str(path) in shown.used:
                continue
            elif any(locate(named) == path for named in shown.paths):
                shown.used.add(str(path))
                return shown
        return None


def leads_to(diffs: Sequence[FileDiff], before: str | None, content: str) -> bool:
    """Do these changes, as a person read them, make ``content`` of ``before``?"""
    if len(diffs) == 1 and not diffs[0].partial and diffs[0].new == content:
        # Some agents never say what the file was (claude-code-acp, fast-agent); then its whole new text was shown.
        return diffs[0].old is None or diffs[0].old == (before or "")
    if before is None:
        return False
    once = every = before  # passages: an edit tool replaces the first, or all
    for diff in diffs:
        if not diff.old or diff.new is None or diff.old not in once:
            return False
        once, every = once.replace(diff.old, diff.new, 1), every.replace(diff.old, diff.new)
    return content in (once, every)


def _words_of(value: Any) -> str:
    return joined(value.get("command")) if isinstance(value, dict) else ""
