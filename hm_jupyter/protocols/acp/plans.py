"""Plans and compactions: the two things of ACP that are not the conversation but are shown in it (reference, section 6)."""

from __future__ import annotations

from typing import Any

from ...events import CompactionEnded, CompactionStarted, Event, PlanRemoved, PlanUpdated, UnknownReceived
from . import lenient as read
from .content import all_said, said
from .lenient import KEEP

_STATUS = {"pending": "pending", "in_progress": "active", "completed": "done", "cancelled": "cancelled"}
_PRIORITIES = ("high", "medium", "low")


def plan(value: dict[str, Any], out: list[Event], *, of: str = "") -> None:
    """``plan`` (v1): the one plan of the session ``of``, whole. Raises ``Malformed``."""
    out.append(PlanUpdated(_entries(value), of))


def plan_update(value: dict[str, Any], out: list[Event], *, of: str = "") -> None:
    """``plan_update``: one of several plans, whole: items, a file or prose. ``of`` prefixes its id. Raises ``Malformed``."""
    told = read.need_fields(value, "plan")
    kind = read.need_text(told, "type")
    if kind not in ("items", "file", "markdown"):
        out.append(UnknownReceived(f"plan_update/{kind}", value))
        return
    plan_id = of + read.need_text(told, "planId")
    if kind == "items":
        out.append(PlanUpdated(_entries(told), plan_id))
    elif kind == "file":
        out.append(PlanUpdated([], plan_id, f"The plan is in the file `{read.one_line(read.need_text(told, 'uri'))}`."))
    else:
        content = told.get("content")
        if not isinstance(content, str):
            raise read.Malformed("content is not a text")
        out.append(PlanUpdated([], plan_id, content))


def plan_removed(value: dict[str, Any], out: list[Event], *, of: str = "") -> None:
    """``plan_removed``. Raises ``Malformed``."""
    out.append(PlanRemoved(of + read.need_text(value, "planId")))


def _entries(value: dict[str, Any]) -> list[dict[str, str]]:
    """PlanEntries; a status that is not known is one that has not begun."""
    if not isinstance(value.get("entries"), list):
        raise read.Malformed("entries is not a list")
    items = []
    for entry in read.objects(value["entries"]):
        words, status = entry.get("content"), entry.get("status")
        if not isinstance(words, str):
            continue
        item = {"text": words, "status": _STATUS.get(status, "pending") if isinstance(status, str) else "pending"}
        if entry.get("priority") in _PRIORITIES:
            item["priority"] = entry["priority"]
        items.append(item)
    return items


class Compactions:
    """The context being summarised. Parts of a summary may come before its end was told, and after."""

    def __init__(self) -> None:
        self._open: set[str] = set()
        self._over: set[str] = set()
        self._late: set[str] = set()
        self._summary: dict[str, str] = {}
        self._error: dict[str, str] = {}

    def update(self, value: dict[str, Any], out: list[Event]) -> None:
        """``compaction_update``: omitted keeps, null clears. Raises ``Malformed``."""
        compaction = read.need_text(value, "compactionId")
        status = read.need_text(value, "status")
        summary, error = value.get("summary", KEEP), value.get("error", KEEP)
        before = self._summary.get(compaction, "")
        if summary is None or isinstance(summary, list):
            self._summary[compaction] = all_said(summary).text
        if error is None or isinstance(error, str):
            self._error[compaction] = error or ""
        if compaction in self._over:
            if self._summary.get(compaction, "") not in (before, ""):
                self._late.add(compaction)
        elif status in ("completed", "failed", "cancelled"):
            self._open.discard(compaction)
            self._over.add(compaction)
            why = "It was cancelled." if status == "cancelled" else "The agent does not say why."
            failure = "" if status == "completed" else self._error.get(compaction) or why
            out.append(CompactionEnded(self._summary.get(compaction, ""), failure))
        else:
            self._start(compaction, out)

    def chunk(self, value: dict[str, Any], out: list[Event]) -> None:
        """``compaction_summary_chunk``: the first of an id begins a compaction. Raises ``Malformed``."""
        compaction = read.need_text(value, "compactionId")
        self._summary[compaction] = self._summary.get(compaction, "") + said(value.get("content")).text
        if compaction in self._over:
            self._late.add(compaction)
        else:
            self._start(compaction, out)

    def settle(self, out: list[Event]) -> None:
        """What a summary got after its end was told is told, with all of it."""
        out.extend(CompactionEnded(self._summary[compaction]) for compaction in sorted(self._late))
        self._late.clear()

    def _start(self, compaction: str, out: list[Event]) -> None:
        if compaction not in self._open:
            self._open.add(compaction)
            out.append(CompactionStarted())
