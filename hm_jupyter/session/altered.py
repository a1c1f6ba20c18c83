"""Says it when an agent tells of another command than the one it asked leave for, under the same call.

An agent may change what it tells of a call at any time; the card shows what it says now. What a person read and decided on
must not change under them, and where the agent runs its commands itself this is all that can be seen of it. Pure.
"""

from __future__ import annotations

from ..events import ApprovalRequested, NoticeRaised, ToolCallUpdated
from ..protocols import hm_read
from ..workspace.command import plain


class Altered:
    """One session's. Holds what was asked in the turn that runs."""

    def __init__(self) -> None:
        self._asked: dict[str, str] = {}  # call id to command

    def asked(self, event: ApprovalRequested) -> None:
        """Leave was asked for. Where the call's input names no command, its title was shown, and proves nothing."""
        command = hm_read.command_line(event.input)
        if command and plain(command) == plain(event.command):
            self._asked[event.call_id] = command

    def saw(self, event: ToolCallUpdated) -> NoticeRaised | None:
        """The agent told something of a call; what is to be said about it."""
        if event.replaces in self._asked:
            self._asked[event.call_id] = self._asked.pop(event.replaces)
        before, now = self._asked.get(event.call_id), hm_read.command_line(event.input)
        if before is None or not now or plain(now) == plain(before):
            return None
        del self._asked[event.call_id]  # said once
        text = "The agent asked leave for one command and tells of another under the same call. Look at what it did."
        return NoticeRaised(text, "warning", f"Asked for: {before}\nTold now: {now}")

    def turn_over(self) -> None:
        """What was asked in a turn ends with it."""
        self._asked.clear()
