"""What gets away from a command's process group: children with a session of their own (``setsid``, a daemon).

On Linux the agent adopts whatever loses its parent (it is made a *child subreaper*), so all that a command started stays
below us in the tree of processes and can be ended with it. What is below another command that runs at the same time (a
sub-agent's) is left alone, and so is what has that one's mark in its environment. Elsewhere only the group is reached.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Collection
from contextlib import suppress

VARIABLE = "HM_COMMAND"
"""The environment variable that holds a command's mark."""

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
_LIMIT = 1.0
"""Seconds of looking and killing, against a command that starts others all the time, or is stuck in the kernel."""

_adopting: bool | None = None


def adopt() -> None:
    """Have lost descendants become our children from now on. Harmless when repeated."""
    global _adopting
    if _adopting is None:
        try:
            _adopting = sys.platform == "linux" and ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0) == 0
        except (OSError, AttributeError):
            _adopting = False


def ask(keep: Collection[int], marks: Collection[str] = ()) -> None:
    """SIGTERM to all processes below us but those in ``keep`` and below these, and those with one of ``marks``."""
    for pid in _below(keep, marks):
        with suppress(OSError):
            os.kill(pid, signal.SIGTERM)


def end(keep: Collection[int], marks: Collection[str] = ()) -> bool:
    """SIGKILL to them, until none is left; was there one that still ran?"""
    found = False
    deadline = time.monotonic() + _LIMIT
    while (pids := _below(keep, marks)) and time.monotonic() < deadline:
        for pid in pids:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for pid in pids:  # our own children; the others become so when their parents die
            with suppress(OSError):
                collected, status = os.waitpid(pid, os.WNOHANG)
                found |= collected == pid and os.waitstatus_to_exitcode(status) == -signal.SIGKILL
        time.sleep(0.001)
    return found


def _below(keep: Collection[int], marks: Collection[str]) -> list[int]:
    if not _adopting:
        return []
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()  # the name before may hold anything
                children.setdefault(int(fields[1]), []).append(int(name))
    found: list[int] = []
    todo = [os.getpid()]
    while todo:
        below = [pid for pid in children.get(todo.pop(), []) if pid not in keep and not _marked(pid, marks)]
        found += below
        todo += below
    return found


def _marked(pid: int, marks: Collection[str]) -> bool:
    if not marks:
        return False
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            environ = file.read()
    except OSError:
        return False
    return any(f"{VARIABLE}={mark}".encode() in environ for mark in marks)
