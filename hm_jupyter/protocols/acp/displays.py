"""Terminals as they are shown: with the call that embeds them, or, where none does, as a call of their own.

The agent's terminals (v2, terminal_update and terminal_output_chunk) and those the host runs for it (v1) end up in the same
place. What a call's output is made of is :mod:`.calls`.
"""

from __future__ import annotations

from typing import Any

from ...events import Event, ToolCallUpdated, ToolOutputAppended, ToolStatus
from . import lenient as read
from .calls import Calls
from .terminals import Terminal, decoded


class Displays:
    """Where what terminals write is shown.

    Args:
        calls: the tool calls, any of which may embed a terminal.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    # ---- the agent's -------------------------------------------------------------------------------------------------

    def update(self, session: str, value: dict[str, Any], out: list[Event]) -> None:
        """``terminal_update``: omitted keeps, null clears, a value replaces. Raises ``Malformed``."""
        terminal = self._calls.terminals.get(read.need_text(value, "terminalId"), session)
        for name in ("command", "cwd"):
            if name in value:
                setattr(terminal, name, read.text(value[name]))
        if "capabilities" in value:
            terminal.cancelable = isinstance(read.fields(value["capabilities"]).get("cancel"), dict)
        first, replaced = not terminal.written, False
        if value.get("output", 0) is None:
            terminal.replace(b"")
            replaced = True
        elif isinstance(value.get("output"), dict):
            try:
                terminal.replace(decoded(value["output"].get("data")))
                replaced = True
            except read.Malformed:
                pass  # an optional field: as if it were not there
        rest = terminal.exit(value["exitStatus"]) if isinstance(value.get("exitStatus"), dict) else ""
        self._show(terminal, rest, out, first=first, replaced=replaced)

    def chunk(self, session: str, value: dict[str, Any], out: list[Event]) -> None:
        """``terminal_output_chunk``: bytes that follow. Raises ``Malformed``."""
        terminal = self._calls.terminals.get(read.need_text(value, "terminalId"), session)
        first = not terminal.written
        self._show(terminal, terminal.write(decoded(value.get("data"))), out, first=first)

    # ---- the host's --------------------------------------------------------------------------------------------------

    def wrote(self, terminal_id: str, text: str, out: list[Event]) -> None:
        """A terminal of the host wrote ``text``. Until a call embeds it, it is only remembered."""
        terminal = self._calls.terminals.get(terminal_id)
        first = not terminal.written
        terminal.written.append(text)
        self._calls.wrote(terminal, text, out, first=first)

    def exited(self, terminal_id: str, code: int | None, out: list[Event]) -> None:
        """A terminal of the host came to its end."""
        terminal = self._calls.terminals.get(terminal_id)
        terminal.exited, terminal.exit_code = True, code
        self._calls.ended(terminal, out)

    # ---- within ------------------------------------------------------------------------------------------------------

    def cancelable(self, terminal_id: str, session: str = "") -> bool:
        """Whether the agent lets this terminal alone be stopped (v2, terminal/cancel)."""
        terminal = self._calls.terminals.known(terminal_id, session)
        return bool(terminal and terminal.cancelable and not terminal.exited)

    def _show(self, terminal: Terminal, text: str, out: list[Event], *, first: bool, replaced: bool = False) -> None:
        call = self._calls.get(terminal.shown_by)
        if call is not None:
            if replaced:
                self._calls.show(call, out)
            else:
                self._calls.wrote(terminal, text, out, first=first)
            if terminal.exited:
                self._calls.ended(terminal, out)
                if terminal.alone:  # a card of its own from before a call said that it shows it
                    out.append(ToolCallUpdated(terminal.alone, status=self._status(terminal), cancelable=False))
        elif terminal.written or terminal.exited or (terminal.command and not self._calls.awaits_terminal(terminal)):
            self._show_alone(terminal, text, replaced, out)

    def _show_alone(self, terminal: Terminal, text: str, replaced: bool, out: list[Event]) -> None:
        new = not terminal.alone
        key = terminal.alone = terminal.alone or "terminal:" + "/".join(filter(None, (terminal.session, terminal.id)))
        told = ToolCallUpdated(key, title=terminal.command or None, status=self._status(terminal))
        if new:
            told.name, told.category, told.title = "terminal", "shell", terminal.command or "Terminal"
            told.parent = f"sub:{terminal.session}" if terminal.session else None
            told.input = {"command": terminal.command, "cwd": terminal.cwd} if terminal.command else None
        told.exit_code = terminal.exit_code
        told.cancelable = terminal.cancelable and not terminal.exited
        if new or replaced:
            told.output = str(terminal.written)
        elif text:
            out.append(ToolOutputAppended(key, text))
        if new or replaced or not text or terminal.exited:
            out.append(told)

    def _status(self, terminal: Terminal) -> ToolStatus:
        if not terminal.exited:
            return "running"
        if terminal.signal:
            return "interrupted"
        return "failed" if terminal.exit_code else "completed"
