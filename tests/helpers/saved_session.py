"""A saved session's file, opened as the agent does, and what must hold of it whatever happened."""

from __future__ import annotations

from hm_jupyter.agents.journal import Journal
from hm_jupyter.agents.session import Session
from hm_jupyter.agents.tools.workspace import Workspace


def opened(path, root):
    session = Session(Workspace(root), "ask", "demo", id=path.stem, journal=Journal(path))
    try:
        session.read()
        return session, list(session.events())
    finally:
        session.journal.close()


def check(session, events):
    """Each call's one result is right behind it; what was told is closed too."""
    waiting: list[str] = []
    for message in session.history:
        if message.role == "tool":
            assert message.call_id in waiting
            waiting.remove(message.call_id)
        else:
            assert waiting == []
            waiting = [c.id for c in message.calls]
    assert waiting == []
    assert len({m.id for m in session.history}) == len(session.history)
    assert not any(e["type"] == "turn_end" for e in events) or events[-1]["type"] in ("turn_end", "compaction_end")


def closed(events):
    called = [e["call_id"] for e in events if e["type"] == "tool_call"]
    assert sorted(called) == sorted(e["call_id"] for e in events if e["type"] == "tool_result")
    asked = [e["call_id"] for e in events if e["type"] == "approval_needed"]
    assert asked == [e["call_id"] for e in events if e["type"] == "approval"]
    kinds = [e["type"] for e in events]
    assert kinds.count("compaction_start") == kinds.count("compaction_end")
