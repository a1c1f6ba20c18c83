"""Commands the person runs by the agent's ``bash``: a card of their own. Their output goes into the next prompt.

No event announces one ("bash"): the card is made here. pi streams the output (``bash_execution_update``), omp tells it whole
at the end. stderr is mixed in; each command has a fresh shell.
"""

from __future__ import annotations

from typing import Any

from ...events import Event, ToolCallUpdated, ToolOutputAppended, ToolStatus
from . import read

TOLD = "goes into the next prompt"
UNTOLD = "not told to the agent"


class OwnBash:
    """The commands of the person's that run."""

    def __init__(self) -> None:
        self._open: dict[str, bool] = {}  # wire id -> has output been streamed

    @property
    def open(self) -> bool:
        """Does one run?"""
        return bool(self._open)

    def begin(self, wire_id: str, fields: dict[str, Any], out: list[Event]) -> None:
        """It was sent."""
        self._open[wire_id] = False
        command = read.text(fields.get("command"))
        where = UNTOLD if fields.get("excludeFromContext") is True else TOLD
        title = f"{command.split(chr(10), 1)[0][:200]} ({where})"
        out.append(ToolCallUpdated(_card(wire_id), "bash", title, "shell", "running", {"command": command}))

    def output(self, value: dict[str, Any], out: list[Event]) -> None:
        """``bash_execution_update`` (pi 1.x)."""
        wire_id, delta = read.text(value.get("id")), read.text(value.get("delta"))
        if not wire_id and len(self._open) == 1:
            wire_id = next(iter(self._open))
        if wire_id in self._open and delta:
            self._open[wire_id] = True
            out.append(ToolOutputAppended(_card(wire_id), delta))

    def end(self, wire_id: str, ok: bool, data: Any, error: str, out: list[Event]) -> None:
        """Its response: the result, or why there is none."""
        self._open.pop(wire_id, None)
        told = read.fields(data)
        if not ok:
            out.append(ToolCallUpdated(_card(wire_id), status="failed", output=error))
            return
        out.append(result(_card(wire_id), told))

    def drop(self, wire_id: str, out: list[Event]) -> None:
        """It was never sent after all."""
        self._open.pop(wire_id, None)


def result(card: str, told: dict[str, Any]) -> ToolCallUpdated:
    """A BashResult, or a message of role ``bashExecution``, as the end of its card."""
    code = told.get("exitCode")
    code = code if isinstance(code, int) and not isinstance(code, bool) else None
    status: ToolStatus = "failed" if code else "completed"
    if told.get("cancelled") is True or told.get("timedOut") is True:
        status = "interrupted"
    output = read.text(told.get("output"))
    cut = _cut(told)
    if cut:
        output = f"{output.rstrip()}\n\n[{cut}]\n"
    return ToolCallUpdated(
        card, status=status, output=output, exit_code=code, images=read.images(told.get("images")) or None
    )


def _cut(told: dict[str, Any]) -> str:
    """That an output is not whole, and where the rest is."""
    if told.get("truncated") is not True:
        return ""
    lines, of = read.count(told.get("outputLines")), read.count(told.get("totalLines"))
    size, total = read.count(told.get("outputBytes")), read.count(told.get("totalBytes"))
    parts = ["cut"]
    if lines is not None and of is not None:
        parts.append(f"{lines} of {of} lines")
    if size is not None and total is not None:
        parts.append(f"{size} of {total} bytes")
    whole = read.text(told.get("fullOutputPath")) or read.text(told.get("artifactId"))
    if whole:
        parts.append(f"all of it: {whole}" if "/" in whole else f"all of it: artifact {whole}")
    return ", ".join(parts)


def _card(wire_id: str) -> str:
    return f"bash:{wire_id}"
