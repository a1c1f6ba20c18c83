"""The table at the end: agent by step, each ok, DIFFERS or n.a., and beneath it what differs from what was expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .steps import NOTHING, STEPS

if TYPE_CHECKING:
    from .__main__ import Played


def verdict(outcome: str, wanted: str | list[str] | None) -> str:
    """``ok``, ``DIFFERS`` or ``n.a.``; an outcome nobody wrote down an expectation for differs, too."""
    if outcome == NOTHING:
        return NOTHING
    return "ok" if outcome in ([wanted] if isinstance(wanted, str) else wanted or []) else "DIFFERS"


def table(played: list[Played], expected: dict[str, dict[str, Any]], *, partial: bool = False) -> tuple[str, int]:
    """The table as text, and how many outcomes differ. ``partial``: only some steps were asked for."""
    lines = [["agent", *STEPS]]
    told: list[str] = []
    differ = 0
    for one in played:
        if one.why:
            lines.append([one.row.name, f"not available: {one.why}"])
            continue
        wanted = expected.get(one.row.name, {})
        cells = [one.row.name]
        for step in STEPS:
            said = one.outcomes.get(step)
            cell = NOTHING if partial or step not in wanted else "MISSING"
            if said is not None:
                cell = verdict(said["outcome"], wanted.get(step))
            parts = [step, f"{step}2"] if step == "allow" else [step]
            if step == "allow" and "allow2" in one.outcomes and cell == "ok":
                cell = verdict(one.outcomes["allow2"]["outcome"], wanted.get("allow2"))
            if cell not in ("ok", NOTHING):
                differ += 1
                for part in parts:
                    got = one.outcomes.get(part, {"outcome": "nothing"})["outcome"]
                    if verdict(got, wanted.get(part)) == "DIFFERS" and (part in wanted or part in one.outcomes):
                        told.append(f"{one.row.name}, {part}:\n    expected {wanted.get(part)}\n    came     {got}")
            cells.append(cell)
        for word in ("late", "failed"):
            if word in one.outcomes:
                differ += 1
                told.append(f"{one.row.name}: {one.outcomes[word]['outcome']}\n{one.outcomes[word]['detail']}")
        lines.append(cells)
    widths = [max((len(row[i]) for row in lines if len(row) > 2), default=0) for i in range(len(STEPS) + 1)]
    rows = ["  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip() for row in lines]  # noqa: B905
    rows = [f"{row[0].ljust(widths[0])}  {row[1]}" if len(row) == 2 else text for row, text in zip(lines, rows)]  # noqa: B905
    rows.insert(1, "-" * max(map(len, rows[:1])))
    return "\n".join(["", *rows, *(["", *told] if told else [])]), differ
