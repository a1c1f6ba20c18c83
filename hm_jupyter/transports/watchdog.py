"""The watchdog: a tiny process between the kernel and one agent, so that no end of the kernel leaves anything behind.

It is started as ``python -I -S watchdog.py FD PARENT GRACE LC_CTYPE[=VALUE] PROGRAM ARGV…`` and starts ``PROGRAM`` as
its child in a session of its own. stdin, stdout and stderr are handed on to the agent and then let go: not one byte of
the conversation passes through here. ``FD`` is a socket shared with the kernel alone: by its end (or by the end of
process ``PARENT``, in case a forked copy of the kernel holds the socket open) the watchdog learns that the kernel is
gone, whatever killed it; any byte on it asks for the agent's end.

**The ladder** is here, and only here. First rung: whoever asked has closed the agent's stdin; it has ``GRACE`` seconds
to end by itself. Second: SIGTERM to its process group and to every other descendant, and ``GRACE`` seconds again.
Third: SIGKILL to all of them, until none is left. The last two rungs are for an agent that ended by itself, too: what
it left running goes with it.

On Linux the watchdog is a *child subreaper*: a descendant that lost its parent (``setsid``, double fork, npx, uvx)
becomes its child, so "none is left" is simply "I have no children". Elsewhere only the agent's process group is
reached; a descendant with a session of its own escapes. Should the watchdog itself be killed, Linux kills the agent
(PDEATHSIG, safe here since this process has one thread).

Answers on ``FD``, a line each: ``started PID``, or ``failed ERRNO``; ``exit CODE`` (negative: the signal that killed
the agent) as soon as the agent has ended; end of file when nothing is left. The exit status is the agent's, too
(128 + n for signal n).

Deliberately knows nothing of the package (it runs isolated, in some 25 ms), of JSON or of any protocol.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time

KILL_WAIT = 2.0
"""Seconds within which what got SIGKILL must be gone (a process stuck in the kernel may not be)."""

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LINUX = sys.platform.startswith("linux")


class Watchdog:
    """The state of one watched agent."""

    def __init__(self, control: int, parent: int, grace: float) -> None:
        self.control = control
        self.parent = parent
        self.grace = grace
        self.agent = 0
        self.code: int | None = None  # the agent's, once it ended
        self.asked = False  # to bring it to an end
        self.hurry = False  # … without the first rung
        self.subreaper = LINUX and prctl(PR_SET_CHILD_SUBREAPER, 1)
        self.poll = select.poll()
        self.poll.register(control, select.POLLIN)
        self.wakeup = self._catch_signals()
        self.poll.register(self.wakeup, select.POLLIN)
        self.parent_fd = self._watch_parent()

    def _catch_signals(self) -> int:
        readable, writable = os.pipe()
        os.set_blocking(readable, False)
        os.set_blocking(writable, False)
        signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        return readable

    def _watch_parent(self) -> int:
        try:
            fd: int = os.pidfd_open(self.parent)
        except (AttributeError, OSError):  # not this system, or it is gone already (then our parent is another)
            return -1
        self.poll.register(fd, select.POLLIN)
        return fd

    # ---- what happened ---------------------------------------------------------------------------------------------

    def wait(self, seconds: float | None) -> None:
        """Sleep until something happens, for at most so long; take note of it."""
        limit = 1.0 if self.parent_fd < 0 or not self.subreaper else None
        if self.asked and not self.subreaper:
            limit = 0.02  # the end of a process of the group that is not our child makes no signal
        if limit is not None:
            seconds = limit if seconds is None else min(seconds, limit)
        for fd, _ in self.poll.poll(None if seconds is None else max(0.0, seconds) * 1000):
            if fd == self.wakeup:
                if {signal.SIGTERM, signal.SIGHUP} & set(os.read(fd, 4096)):
                    self.asked = self.hurry = True
            else:
                self.asked = True
                self.poll.unregister(fd)
        if os.getppid() != self.parent:
            self.asked = True
        self.reap()

    def reap(self) -> bool:
        """Collect the dead; is any child left?"""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.agent:
                self.code = os.waitstatus_to_exitcode(status)
                self.tell(f"exit {self.code}")

    def tell(self, line: str) -> None:
        try:  # (contextlib would cost milliseconds at the start)
            os.write(self.control, f"{line}\n".encode())
        except OSError:
            pass  # nobody listens any more

    # ---- the ladder ------------------------------------------------------------------------------------------------

    def run(self) -> int:
        """Watch until the agent ends or its end is asked for; then see to it that nothing is left."""
        while self.code is None and not self.asked:
            self.wait(None)
        deadline = time.monotonic() + self.grace
        while self.code is None and not self.hurry and (left := deadline - time.monotonic()) > 0:
            self.wait(left)
        self.asked = True
        if self.anything_left():
            self.signal_all(signal.SIGTERM)
            deadline = time.monotonic() + self.grace
            while self.anything_left() and (left := deadline - time.monotonic()) > 0:
                self.wait(left)
        deadline = time.monotonic() + KILL_WAIT
        while self.anything_left() and time.monotonic() < deadline:
            self.signal_all(signal.SIGKILL)
            self.wait(0.01)
        code = self.code if self.code is not None else -signal.SIGKILL
        return code if code >= 0 else 128 - code

    def anything_left(self) -> bool:
        if self.reap():
            return True
        if self.subreaper:
            return False
        try:
            os.killpg(self.agent, 0)
        except OSError:
            return False
        return True

    def signal_all(self, number: int) -> None:
        """Send a signal to the agent's group and to each descendant outside it."""
        try:
            os.killpg(self.agent, number)
        except OSError:
            pass
        for pid in descendants(os.getpid()) if self.subreaper else ():
            try:
                if number == signal.SIGKILL or os.getpgid(pid) != self.agent:
                    os.kill(pid, number)
            except OSError:
                pass

    # ---- the start -------------------------------------------------------------------------------------------------

    def start(self, program: str, argv: list[str]) -> bool:
        """Start the agent; say how it went."""
        readable, writable = os.pipe()  # closed by the exec; the errno if that fails
        me = os.getpid()
        self.agent = os.fork()
        if self.agent == 0:
            try:
                os.setsid()
                if LINUX:
                    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                    if os.getppid() != me:
                        os._exit(127)
                # Whatever the kernel ignores (ipykernel: SIGINT between cells; Python: SIGPIPE) the agent may want.
                for number in ("INT", "QUIT", "TERM", "HUP", "CHLD", "PIPE", "TSTP", "XFSZ"):
                    signal.signal(getattr(signal, f"SIG{number}"), signal.SIG_DFL)
                os.execv(program, argv)
            except OSError as error:
                os.write(writable, str(error.errno).encode())
            finally:
                os._exit(127)
        os.close(writable)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        failed = os.read(readable, 100)
        os.close(readable)
        if failed:
            os.waitpid(self.agent, 0)
        self.tell(f"failed {failed.decode()}" if failed else f"started {self.agent}")
        return not failed


def descendants(root: int) -> list[int]:
    """The pids of all processes below ``root`` (Linux: from /proc)."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()  # the name before may hold anything
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(name))
    found: list[int] = []
    todo = [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def prctl(option: int, value: int) -> bool:
    """Linux's ``prctl(option, value)``; did it work?"""
    try:
        failed: int = ctypes.CDLL(None).prctl(option, *map(ctypes.c_ulong, (value, 0, 0, 0)))
        return failed == 0
    except (OSError, AttributeError):
        return False


def main() -> int:
    control, parent, grace = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    os.set_inheritable(control, False)
    name, given, value = sys.argv[4].partition("=")  # Python coerces the C locale, in our environment; put it back
    if given:
        os.environ[name] = value
    else:
        os.environ.pop(name, None)
    watchdog = Watchdog(control, parent, grace)
    return watchdog.run() if watchdog.start(sys.argv[5], sys.argv[6:]) else 127


if __name__ == "__main__":
    os._exit(main())
