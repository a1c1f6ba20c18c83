"""Where a session may be forked: a message in the agent's terms, or a turn in ours. Pure."""

from __future__ import annotations

from ..errors import UsageError
from ..transcript import MessageEntry, Transcript, UserEntry


def fork_point(transcript: Transcript, number: int) -> str:
    """What the agent calls the last message of that turn (hm RPC, "Commands", fork); "" when it does not say."""
    named = [e.entry for e in transcript.of_turn(number) if isinstance(e, (UserEntry, MessageEntry)) and e.entry]
    return named[-1] if named else ""


def entry_of(transcript: Transcript, where: object) -> str:
    """The entry to fork from. ``where``: "" (the latest message), an entry's id, a turn, or the number of one (negative:
    counted from the latest).

    Raises:
        UsageError: there is no such turn, or the agent does not name its messages.
    """
    if isinstance(where, str) and not where.lstrip("-").isdigit():
        return where
    number = int(where) if isinstance(where, (str, int)) else getattr(where, "number", None)
    if not isinstance(number, int) or isinstance(where, bool):
        raise UsageError("Fork from a turn, the number of one, or an entry's id (turn.entry).")
    turns = transcript.state.turn
    wanted = number if number > 0 else turns + 1 + number
    if not number or not 1 <= wanted <= turns:
        raise UsageError(f"There is no turn {number}; this session has {turns}.")
    entry = fork_point(transcript, wanted)
    if not entry:
        raise UsageError(f"The agent gave no message of turn {wanted} an id, so it cannot be forked there.")
    return entry
