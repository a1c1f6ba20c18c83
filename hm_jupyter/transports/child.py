"""Opening an agent's process under its watchdog, and closing whatever still lives when this process ends.

Holds file descriptors and process ids and no loop: :mod:`.stdio` makes a transport of it. The only module that opens
processes. The ladder that ends one is in :mod:`.watchdog`; here it is only asked for.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from ..errors import TransportError
from .program import Program

WATCHDOG = Path(__file__).with_name("watchdog.py")

EXIT_WAIT = 1.0
"""Seconds this process, when it ends, waits for its agents to be gone. (Their watchdogs outlive it and finish.)"""

_live: set[Child] = set()


def require_posix() -> None:
    """Raises ``TransportError`` on a system without process groups."""
    if os.name != "posix":
        raise TransportError("Agents as local processes do not work on Windows. Run Jupyter inside WSL, where they do.")


class Child:
    """A watchdog and its agent: our ends of the agent's pipes, and the control socket. All of them non-blocking.

    ``stdin``, ``stdout``, ``stderr``, ``control`` are file descriptors, -1 once closed.
    """

    def __init__(self, program: Program, grace: float, *, merged: bool = False) -> None:
        """Start it. Whether the agent itself could be started is told on ``control`` (see :mod:`.watchdog`).

        ``merged``: what it writes on stderr comes on ``stdout``, in order, and ``stderr`` is -1."""
        if not sys.executable:
            raise TransportError("This Python does not know its own path (sys.executable), so no agent can be started.")
        opened: list[int] = []
        try:
            for _ in range(4):
                opened += os.pipe() if opened else _socketpair()
            control, theirs, stdin_r, stdin_w, stdout_r, stdout_w, stderr_r, stderr_w = opened
            # -I: nothing of the person's Python settings or folders reaches the watchdog; -S: quick.
            lc = f"LC_CTYPE={program.env['LC_CTYPE']}" if "LC_CTYPE" in program.env else "LC_CTYPE"
            head = [sys.executable, "-I", "-S", str(WATCHDOG), str(theirs), str(os.getpid()), str(grace), lc]
            self._process = subprocess.Popen(
                [*head, program.path, *program.argv],
                stdin=stdin_r,
                stdout=stdout_w,
                stderr=stdout_w if merged else stderr_w,
                pass_fds=[theirs],
                cwd=program.cwd,
                env=program.env,
                start_new_session=True,
            )
        except OSError as error:
            for fd in opened:
                os.close(fd)
            raise TransportError(
                f"The agent's watchdog could not be started: {error}. Check the limits on processes and open files."
            ) from error
        for fd in (theirs, stdin_r, stdout_w, stderr_w):
            os.close(fd)
        self.stdin, self.stdout, self.stderr, self.control = stdin_w, stdout_r, stderr_r, control
        if merged:
            os.close(stderr_r)
            self.stderr = -1
        for fd in self.fds():
            os.set_blocking(fd, False)
        self.agent_pid = 0  # as the watchdog told us
        _live.add(self)

    def fds(self) -> list[int]:
        """What is open."""
        return [fd for fd in (self.stdin, self.stdout, self.stderr, self.control) if fd >= 0]

    def close_stdin(self) -> None:
        """The agent's input ends."""
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1

    def ask_to_end(self) -> None:
        """Let the watchdog begin the ladder. Harmless when repeated, or when it is gone."""
        if self.control >= 0:
            with suppress(OSError):
                os.write(self.control, b"end\n")

    def hurry(self) -> None:
        """Let the watchdog begin the ladder at its second rung, SIGTERM. Only once the agent was started."""
        if self._process.poll() is None:
            self._process.terminate()

    def kill(self) -> None:
        """The last resort, for a watchdog that was killed or is stuck: SIGKILL to it and to the agent's group."""
        if self._process.poll() is None:
            self._process.kill()
        if self.agent_pid > 0:
            with suppress(OSError):
                os.killpg(self.agent_pid, signal.SIGKILL)

    def ended(self) -> bool:
        """Is the watchdog gone (and by that, all of the agent's)? Collects it if it is."""
        return self._process.poll() is not None

    def release(self) -> None:
        """Close what is open. The watchdog sees that, too, and would begin the ladder."""
        for fd in self.fds():
            os.close(fd)
        self.stdin = self.stdout = self.stderr = self.control = -1
        _live.discard(self)


def _socketpair() -> tuple[int, int]:
    one, other = socket.socketpair()
    return one.detach(), other.detach()


def _close_all() -> None:
    """At exit. Another thread's loop may still use the descriptors, so none is closed; stdin's is redirected."""
    children = [child for child in _live if not child.ended()]
    if not children:
        return
    null = os.open(os.devnull, os.O_WRONLY)
    for child in children:
        if child.stdin >= 0:
            os.dup2(null, child.stdin, inheritable=False)
        child.ask_to_end()
    deadline = time.monotonic() + EXIT_WAIT
    while not all(child.ended() for child in children) and time.monotonic() < deadline:
        time.sleep(0.01)


def _forget_all() -> None:
    """In a forked copy of this process (multiprocessing): the agents are the original's, and must see *its* end."""
    for child in list(_live):
        child.release()
    _live.clear()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
