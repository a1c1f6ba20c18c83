"""A transcript as JSON: the bundle's machine-readable part, JSON lines for tools, and the way back.

In the bundle nothing differs from run to run: times are left out, and the ids that are made anew each time are counted.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass, replace
from typing import Any, get_args, get_type_hints

from .. import transcript as model
from ..transcript import Entry, SessionState, Transcript, to_json
from .view import Turns, model_name, ready, rewrite, shortener, wanted

MIME = "application/vnd.hm-jupyter.transcript+json"
VERSION = 1
_CLOCK = frozenset(("at", "started", "ended", "since"))
_STATE = (
    "agent", "title", "mode", "provider", "model", "effort", "usage", "turn", "context", "context_size", "spent"
)  # fmt: skip


def _timeless(entry: Entry) -> Entry:
    reset: dict[str, Any] = {f.name: (0.0 if f.default == 0.0 else None) for f in fields(entry) if f.name in _CLOCK}
    return replace(entry, **reset) if reset else entry


def _counted(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries with ids ``e1, e2, …`` and call ids ``c1, c2, …``."""
    calls: dict[str, str] = {}
    for n, entry in enumerate(entries, 1):
        entry["id"] = f"e{n}"
        for name in ("call_id", "parent"):
            if entry.get(name):
                entry[name] = calls.setdefault(str(entry[name]), f"c{len(calls) + 1}")
    return entries


def data(transcript: Transcript, turns: Turns = None, *, times: bool = False) -> dict[str, Any]:
    """``{"format", "version", "state", "entries"}``; with ``times`` also session id, folder, times and real ids."""
    shorten, inside = shortener("" if times else transcript.state.root), wanted(turns)
    entries = [ready(e, shorten) for e in transcript.entries.values() if inside(e.turn)]
    state = to_json(rewrite(transcript.state, shorten))
    state["model"] = model_name(state["model"])
    kept = {name: state[name] for name in (("session_id", "root", *_STATE) if times else _STATE)}
    out = [to_json(e if times else _timeless(e)) for e in entries]
    return {
        "format": "hm-jupyter.transcript",
        "version": VERSION,
        "state": kept,
        "entries": out if times else _counted(out),
    }


def lines(transcript: Transcript, *, times: bool = True) -> str:
    """JSON lines: first ``{"kind": "session", …}``, then an entry a line, each with its ``kind``."""
    whole = data(transcript, times=times)
    head = {"kind": "session", "format": whole["format"], "version": whole["version"], **whole["state"]}
    return "".join(json.dumps(o, ensure_ascii=False) + "\n" for o in (head, *whole["entries"]))


def _revive(cls: Any, value: Any) -> Any:
    """JSON data as an object of ``cls``; fields it does not know are dropped, missing ones take their defaults."""
    hints = get_type_hints(cls)
    given: dict[str, Any] = {}
    for f in fields(cls):
        if f.name not in value:
            continue
        given[f.name] = _as(hints[f.name], value[f.name])
    return cls(**given)


def _as(hint: Any, value: Any) -> Any:
    if hint is model.Rope:
        return model.Rope(value)
    if is_dataclass(hint):
        return _revive(hint, value) if isinstance(value, dict) else value
    for inner in get_args(hint):
        if is_dataclass(inner) and isinstance(value, dict):
            return _revive(inner, value)
        if is_dataclass(inner) and isinstance(value, list):
            return [_revive(inner, v) for v in value]
    return value


_KINDS = {cls.TAG[1]: cls for cls in get_args(Entry)}


def read(whole: dict[str, Any]) -> Transcript:
    """The transcript that :func:`data` wrote. Raises ``ValueError`` if it is of another format or a later version."""
    if whole.get("format") != "hm-jupyter.transcript" or whole.get("version") != VERSION:
        raise ValueError(
            "This is not a transcript this version of hm_jupyter can read; update hm_jupyter and try again."
        )
    state = _revive(SessionState, whole.get("state") or {})
    entries = [_revive(_KINDS[e["kind"]], e) for e in whole.get("entries") or [] if e.get("kind") in _KINDS]
    return Transcript(state, {e.id: e for e in entries})


__all__ = ["MIME", "VERSION", "data", "lines", "read"]
