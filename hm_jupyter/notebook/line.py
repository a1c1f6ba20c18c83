"""An ``input()`` that can be taken back from another thread, by interrupting the main thread just while it reads.

Knows nothing of what is asked. Where it cannot be done safely (not the main thread, somebody else's SIGINT handler, no
``pthread_kill``) it is an ``input()`` like any other.
"""

from __future__ import annotations

import builtins
import signal
import threading
import time


class Line:
    """One line to be read, once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reading = False
        self._taken = False

    def read(self, prompt: str) -> str | None:
        """The line, or None when it was taken back. Raises what ``input()`` does, ``KeyboardInterrupt`` of a person too."""
        try:
            with self._lock:
                self._reading = _can_be_interrupted()
            text = builtins.input(prompt)  # a kernel puts its own in place while a cell runs
            with self._lock:
                self._reading = False
            if self._taken:  # in the same moment: the interrupt is on its way, and must end here
                time.sleep(1)
            return text
        except KeyboardInterrupt:
            self._reading = False
            if self._taken:
                return None
            raise

    def take_back(self) -> None:
        """Have :meth:`read` return None, if it waits. From any thread; does not wait."""
        with self._lock:
            if self._reading and not self._taken:
                self._taken = True
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _can_be_interrupted() -> bool:
    return (
        hasattr(signal, "pthread_kill")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
