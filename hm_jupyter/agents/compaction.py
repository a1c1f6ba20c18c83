"""The context made shorter: what came first is summarised by the model, what came last stays as it is.

Source: hm RPC, "Commands", compact. A call and its result are never parted. What was summarised stays in the journal.
Knows no wire: it tells by a function.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from .messages import Message, size, tokens
from .providers import Model
from .session import SYSTEM_TOKENS, Session

KEEP = 0.3
"""The share of the context that the newest messages may keep when it is made shorter by itself."""

ROOM = 0.1
"""After an attempt that failed, or won nothing, it is tried again once that share of the context more has come."""


def due(session: Session, model: Model, at: float) -> bool:
    """Whether the next step of ``model`` should wait for a compaction. ``at``: the share of its context, 0: never."""
    if not at or not model.context_size or len(session.history) < 3:
        return False
    if session.context < at * model.context_size:
        return False
    return session.context >= session.compact_again


async def compact(
    session: Session, model: Model, emit: Callable[..., None], focus: str = "", *, keep: float = 0.0
) -> str:
    """Summarise; returns an error ("": none), with which all is as it was. Events tell of it, whatever happens.

    ``keep`` is the share of the model's context that the newest messages may keep; 0: all is summarised.
    """
    emit("compaction_start", focus=focus)
    older, newer = parted(session.history, int(keep * (model.context_size or 0)))
    error, summary = "", ""
    try:
        if keep and not older:
            error = "there is nothing to summarise yet"
        else:
            summary = (await model.summarize(older, focus)).strip()
            if not summary:
                error = "the context could not be summarised: the model wrote nothing"
    except asyncio.CancelledError:
        emit("compaction_end", summary="", error="stopped before it was done; the context is as it was")
        raise
    except Exception as problem:
        error = f"the context could not be summarised: {problem}"
    before = session.context
    if not error:
        session.compacted(Message(session.new_entry(), "summary", summary), newer)
    session.compact_again = 0
    if error or session.context > before * 0.9:
        session.compact_again = int(session.context + ROOM * (model.context_size or 0))
    if error:
        emit("compaction_end", summary="", error=error)
    else:
        emit("compaction_end", summary=summary, context=session.context)
    return error


def parted(history: Sequence[Message], room: int) -> tuple[list[Message], list[Message]]:
    """What is to be summarised, and what stays: the newest messages, ``room`` tokens of them, and the newest prompt.

    A result stays only with its call, so the cut is never before a ``tool`` message.
    """
    if room <= SYSTEM_TOKENS:
        return list(history), []
    cut, total = len(history), 0
    for at in range(len(history) - 1, -1, -1):
        total += size(history[at])
        if tokens(total) > room:
            break
        if history[at].role != "tool":
            cut = at
    older, newer = list(history[:cut]), list(history[cut:])
    prompt = next((m for m in reversed(history) if m.role == "user" and m.delivery not in ("steer", "agent")), None)
    if prompt is not None and prompt in older and tokens(size(prompt)) <= room:
        older.remove(prompt)
        newer.insert(0, prompt)
    if all(m.role == "summary" for m in older):
        return [], list(history)
    return older, newer
