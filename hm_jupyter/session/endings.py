"""How an agent ended, in words that say what to do next."""

from __future__ import annotations

from ..errors import AgentGone
from ..transports.base import Exit


def gone_error(agent: str, found: Exit) -> AgentGone:
    """The error for whoever still wants something of an agent that ended."""
    text = f"{end_reason(agent, found)} Start it again with hm.connect() or %hm start."
    return AgentGone(text, code=found.code, stderr=found.stderr)


def _how(found: Exit) -> str:
    if found.code is None:
        return "ended"
    if found.code < 0:
        return f"was killed (signal {-found.code})"
    return f"ended with exit code {found.code}"


def end_reason(agent: str, found: Exit) -> str:
    return f"The agent {agent} {_how(found)}."


def start_failure(agent: str, found: Exit) -> str:
    last = "\n".join(found.stderr.strip().splitlines()[-8:])
    hint = "Its start options are wrong." if found.code == 2 else "Does it run in a terminal?"
    said = f" It said:\n{last}" if last else " It said nothing on standard error."
    return f"{agent} {_how(found)} before it was ready. {hint}{said}"
