"""How an agent ended, in words that say what to do next."""

from __future__ import annotations

from ..errors import AgentGone, SignInRequired, StartError
from ..events import StartRefused
from ..transports.base import Exit


def gone_error(agent: str, found: Exit, again: str) -> AgentGone:
    """The error for whoever still wants something of an agent that ended."""
    return AgentGone(f"{end_reason(agent, found)} {again}", code=found.code, stderr=found.stderr)


def start_again(session_id: str, *, saved: bool) -> str:
    """What to do when an agent has ended; ``saved``: it takes its sessions up again."""
    if session_id and saved:
        return f"Go on with this session by %hm resume {session_id} (s.resume({session_id!r})), or %hm start another."
    return "Start it again with hm.connect() or %hm start."


def _how(found: Exit) -> str:
    if found.code is None:
        return "ended"
    if found.code < 0:
        return f"was killed (signal {-found.code})"
    return f"ended with exit code {found.code}"


def end_reason(agent: str, found: Exit) -> str:
    if found.reason:
        return f"The connection to {agent} ended. {found.reason}"
    return f"The agent {agent} {_how(found)}."


def start_failure(agent: str, found: Exit) -> str:
    if found.reason:
        return f"No session with {agent}. {found.reason}"
    last = "\n".join(found.stderr.strip().splitlines()[-8:])
    hint = "Its start options are wrong." if found.code == 2 else "Does it run in a terminal?"
    said = f" It said:\n{last}" if last else " It said nothing on standard error."
    return f"{agent} {_how(found)} before it was ready. {hint}{said}"


def start_error(agent: str, refused: StartRefused | None, found: Exit, waited: float | None, stderr: str) -> StartError:
    """Why there is no session. ``waited``: so many seconds nothing came, ``stderr`` is what it said meanwhile."""
    if refused is not None:
        reason = f"{agent} opens no session: {refused.reason}"
        if refused.sign_in:
            return SignInRequired(reason, methods=refused.sign_in, stderr=found.stderr)
        return StartError(reason, stderr=found.stderr)
    if waited is not None:
        return StartError(
            f"{agent} did not say hello within {waited:g} s. Is it the right program and protocol? "
            "Give it longer with start_timeout=…",
            stderr=stderr,
        )
    return StartError(start_failure(agent, found), code=found.code, stderr=found.stderr)
