"""What our agent says beyond the document and that needs no memory: plans, retries, notices.

Source: docs/architecture.md, "hm RPC fields beyond the document". Pure functions of one event each.
"""

from __future__ import annotations

from typing import Any, get_args

from ..events import Event, Level, NoticeRaised, PlanRemoved, PlanUpdated, UnknownReceived
from . import hm_read as read

_STATUS = {"in_progress": "active", "completed": "done", "cancelled": "cancelled"}
_LEVELS = frozenset(get_args(Level))


def plan(value: dict[str, Any], out: list[Event]) -> None:
    """``plan``: the agent's plan, whole; an empty one takes it down."""
    items = value.get("items")
    if not isinstance(items, list):
        out.append(UnknownReceived("plan", value))
        return
    told = []
    for item in items:
        if isinstance(item, dict) and read.text(item.get("text")):
            status = item.get("status")
            known = _STATUS.get(status, "pending") if isinstance(status, str) else "pending"
            told.append({"text": item["text"], "status": known})
    out.append(PlanUpdated(told) if told else PlanRemoved())


def retry(value: dict[str, Any], out: list[Event]) -> None:
    """``retry``: the model did not answer and is asked again."""
    reason = read.text(value.get("reason")).rstrip(". ")[:300] or "no reason given"
    wait, attempt, of = read.money(value.get("wait")), read.count(value.get("attempt")), read.count(value.get("of"))
    when = f" in {wait:.3g} s" if wait is not None and wait > 0 else ""
    which = f" (attempt {attempt} of {of})" if attempt and of else ""
    out.append(NoticeRaised(f"The model did not answer: {reason}. It is asked again{when}{which}.", "info"))


def notice(value: dict[str, Any], out: list[Event]) -> None:
    """``notice``: a sentence for people."""
    text, level = read.text(value.get("text")), value.get("level")
    if not text:
        out.append(UnknownReceived("notice", value))
        return
    known: Level = level if isinstance(level, str) and level in _LEVELS else "warning"  # type: ignore[assignment]  # one of Level
    out.append(NoticeRaised(text, known))
