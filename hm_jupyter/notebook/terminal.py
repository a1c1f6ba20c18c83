"""A program run under the cell as in a terminal: what it writes is shown, what it waits for is asked with ``input()``.

For signing in to agents whose own program does it (ACP, authMethods, type terminal). It draws no screen: a program that
moves the cursor about and reads single keys belongs in a real terminal, and that is said. Knows no agent.
"""

from __future__ import annotations

import builtins
import getpass
import os
import re
import select
import signal
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

QUIET = 0.7
"""Seconds without output, behind an unfinished line, after which a program is taken to wait for an answer."""
PATIENCE = 20.0
"""Seconds without output, behind a finished line, after which the person is told how to go on."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")


def run(
    argv: Sequence[str], *, env: Mapping[str, str], cwd: str, show: Callable[[str], None], pace: float = QUIET
) -> int:
    """Run ``argv`` until it ends; its exit code (negative: by that signal).

    ``env`` is the whole environment. ``show`` gets what it writes, without escapes. An interrupt ends it. Raises
    ``FileNotFoundError`` and the like when it cannot be started.
    """
    ours, theirs = os.openpty()
    try:
        child = subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, env=dict(env), cwd=cwd,
                                 start_new_session=True)  # fmt: skip
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    try:
        _Conversation(ours, child, show, pace).hold()
        return child.wait()
    finally:
        if child.poll() is None:
            _end(child)
        os.close(ours)


class _Conversation:
    def __init__(self, terminal: int, child: subprocess.Popen[Any], show: Callable[[str], None], pace: float) -> None:
        self._terminal = terminal
        self._child = child
        self._show = show
        self._pace = pace
        self._line = ""  # what stands behind the last line break
        self._echo = ""  # what we typed, which the terminal writes back
        self._partial = b""
        self._last = time.monotonic()
        self._told = False

    def hold(self) -> None:
        """Until the program's side of the terminal is closed."""
        while True:
            ready, _, _ = select.select([self._terminal], [], [], min(self._pace, 0.1))
            if ready:
                try:
                    data = os.read(self._terminal, 65536)
                except OSError:  # Linux's word for: nobody has the other side open any more
                    return
                if not data:
                    return
                self._came(data)
            elif self._child.poll() is not None:
                return  # something it left behind may hold the terminal open
            elif time.monotonic() - self._last > self._pace and self._line.strip():
                self._ask()
            elif not self._told and time.monotonic() - self._last > PATIENCE:
                self._told = True
                self._show("\n(It has been quiet for a while. If it waits for your browser, go on there; ■ ends it.)\n")

    def _came(self, data: bytes) -> None:
        self._last = time.monotonic()
        text, self._partial = _decoded(self._partial + data)
        text = _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
        if self._echo and text.startswith(self._echo):
            text, self._echo = text[len(self._echo) :], ""
        if text:
            self._show(text)
            self._line = text.rsplit("\n", 1)[-1] if "\n" in text else self._line + text

    def _ask(self) -> None:
        canonical, echo = _manners(self._terminal)
        question, self._line = self._line.strip(), ""
        self._show("\n")
        answer = builtins.input(f"{question} ") if echo or not canonical else getpass.getpass(f"{question} ")
        self._last = time.monotonic()
        self._echo = answer + "\n" if echo and canonical else ""
        os.write(self._terminal, (answer + ("\n" if canonical else "\r")).encode())


def _decoded(data: bytes) -> tuple[str, bytes]:
    """The text of ``data``, and the bytes of a character that has not come whole yet."""
    for cut in range(min(3, len(data)) + 1):
        try:
            return data[: len(data) - cut].decode(), data[len(data) - cut :]
        except UnicodeDecodeError:
            continue
    return data.decode("utf-8", "replace"), b""


def _manners(terminal: int) -> tuple[bool, bool]:
    """Does the program read whole lines, and are they to be seen?"""
    flags = termios.tcgetattr(terminal)[3]
    return bool(flags & termios.ICANON), bool(flags & termios.ECHO)


def _end(child: subprocess.Popen[Any]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, number)
            child.wait(2)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
