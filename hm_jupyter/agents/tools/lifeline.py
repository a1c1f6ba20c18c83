"""Process groups that must not outlive the agent, however it ends: SIGKILL included.

A tiny shell process in a session of its own is told of every group by a pipe. When the pipe ends, because the agent
has ended, it kills the groups that are still on its list. Started with the first command; costs nothing before.
"""

from __future__ import annotations

import contextlib
import os
import subprocess

_SCRIPT = """
trap '' INT TERM HUP
groups=
while read -r sign group; do
  if [ "$sign" = + ]; then groups="$groups $group"
  else
    rest=
    for g in $groups; do [ "$g" = "$group" ] || rest="$rest $g"; done
    groups=$rest
  fi
done
for g in $groups; do kill -9 "-$g" 2>/dev/null; done
"""


class Lifeline:
    """Remembers groups for the process that outlives us."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pids(self) -> set[int]:
        """Our own helper process, which is no command's."""
        return {self._process.pid} if self._process is not None else set()

    def watch(self, group: int) -> None:
        """``group`` runs from now on."""
        if self._process is None:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
        self._tell(f"+ {group}\n")

    def forget(self, group: int) -> None:
        """``group`` has ended."""
        self._tell(f"- {group}\n")

    def close(self) -> None:
        """The agent ends in an orderly way."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(1)
            self._process = None

    def _tell(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                os.write(self._process.stdin.fileno(), line.encode())


LIFELINE = Lifeline()
"""The agent's one lifeline."""
