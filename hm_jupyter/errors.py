"""The exception tree, split by who must act. Every message says what to do next.

::

    HmError
    ├── UsageError            you: a call or option that cannot be right (also a ValueError)
    ├── AgentNotFound         you: the program is not there
    ├── StartError            the agent ended before it was ready (stderr inside)
    │   └── SignInRequired    you: the agent wants to know who you are (``methods``: how)
    ├── AgentError            the agent: it refused or failed a command
    ├── AgentGone             the agent: its process or connection ended in mid-session
    ├── TurnRunning           you: a turn runs; steer it or queue a follow-up
    ├── NotWaiting            you: that call is not waiting for a decision or an answer
    ├── NotSupported          this agent cannot do that
    ├── SessionClosed         you: the session was closed
    ├── ApprovalRequired      a call needed leave and there was nobody to ask
    └── TransportError        the connection: cannot be opened, line too long, …
"""

from __future__ import annotations

import re
from typing import Any

# Control and direction characters: a message may quote an agent, and must not recolour or reorder what a person reads.
_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def brief(error: BaseException) -> list[str]:
    """``error`` in one clear line, and where in the person's own code it came up (code in ``__main__``)."""
    lines = []
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        theirs = step.tb_frame.f_globals.get("__name__") == "__main__"
        # A line that is a magic says nothing the cell does not.
        if theirs and not {"run_line_magic", "run_cell_magic"} & set(code.co_names):
            inside = "" if code.co_name == "<module>" else f" in {code.co_name}()"
            lines.append(f"  line {step.tb_lineno} of the cell{inside}")
        step = step.tb_next
    message = _HIDDEN.sub("\N{REPLACEMENT CHARACTER}", str(error))
    return [f"\x1b[31m{type(error).__name__}\x1b[39m: {message}", *lines]


class HmError(Exception):
    """Base of every error of hm_jupyter."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of a traceback through our internals; ``%debug`` still has all of it."""
        return brief(self)


class UsageError(HmError, ValueError):
    """A call or an option that cannot be right."""


class AgentNotFound(HmError):
    """The agent's program is not there. ``magic`` is the message for who typed a ``%hm`` line."""

    def __init__(self, message: str, *, magic: str = "") -> None:
        super().__init__(message)
        self.magic = magic or message


class StartError(HmError):
    """The agent ended before it was ready. ``stderr`` is what it said last, ``code`` its exit code."""

    def __init__(self, message: str, *, code: int | None = None, stderr: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.stderr = stderr


class SignInRequired(StartError):
    """The agent opens no session before somebody has signed in. ``methods`` are the ways it offers (``AuthMethod``)."""

    def __init__(self, message: str, *, methods: list[Any] | None = None, stderr: str = "") -> None:
        super().__init__(message, stderr=stderr)
        self.methods = methods or []


class AgentError(HmError):
    """The agent refused or failed a command; ``command`` names it."""

    def __init__(self, message: str, *, command: str = "") -> None:
        super().__init__(message)
        self.command = command


class AgentGone(HmError):
    """The agent's process or connection ended in mid-session."""

    def __init__(self, message: str, *, code: int | None = None, stderr: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.stderr = stderr


class TurnRunning(HmError):
    """A turn is running; steer it, queue a follow-up, or wait."""


class NotWaiting(HmError):
    """That call is not waiting for a decision or an answer."""


class NotSupported(HmError):
    """This agent cannot do that."""


class SessionClosed(HmError):
    """The session was closed."""


class ApprovalRequired(HmError):
    """A call needed leave and there was nobody to ask: no policy, no person. ``requests`` are what was refused."""

    def __init__(self, message: str, *, requests: list[str] | None = None) -> None:
        super().__init__(message)
        self.requests = requests or []


class TransportError(HmError):
    """The connection cannot be opened or kept."""
