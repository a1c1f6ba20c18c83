"""The start options of omp and pi in their RPC mode as an argument list, and the variables that go with it.

omp 18 and pi 0.73 to 1.6, as their ``--help`` has them (omp RPC, "Starting RPC Mode" knows a part of them). Does not start
anything, look for a program, or read a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ..errors import NotSupported, UsageError

Dialect = Literal["omp", "pi"]

ASKS = ("always-ask", "write", "yolo")
"""What is asked about: commands and edits, commands alone, nothing. The words are omp's (``--approval-mode``)."""

MODES: dict[str, tuple[str, ...]] = {"omp": (*ASKS, "gate"), "pi": ASKS}
"""The modes to start in. omp's ``gate``: our extension asks, instead of omp's own dialogs."""


def rpc_argv(
    program: Sequence[str],
    dialect: Dialect,
    *,
    gate: str = "",
    mode: str = "",
    provider: str = "",
    model: str = "",
    session: str = "",
    latest: bool = False,
    save: bool = True,
    directories: Sequence[str] = (),
) -> list[str]:
    """The argument list that starts the program in its RPC mode.

    Args:
        program: what comes before the flags; a ``--mode`` in it is left as it is.
        gate: the file of the extension that asks (``hm_jupyter.omp_gate``).
        mode: of :data:`MODES`; "" is ``always-ask``.
        session: the file of a saved session to go on with, or its id. (An id from another folder has pi ask on its input.)
        latest: go on with the latest session of the folder instead.
        save: False for ``--no-session``.
        directories: further folders (omp's ``--add-dir``).

    Raises:
        UsageError: options that exclude each other, or a mode that is none.
        NotSupported: what the program has no option for.
    """
    chosen = [name for name, on in (("session", session), ("resume", latest), ("save=False", not save)) if on]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} exclude each other; give one of them.")
    asks = known_mode(dialect, mode)
    if directories and dialect == "pi":
        raise NotSupported("directories: pi works in one folder; start it in one above them all.")
    words = [*program]
    if not any(word == "--mode" or word.startswith("--mode=") for word in program):
        words += ["--mode", "rpc-ui" if dialect == "omp" else "rpc"]  # rpc-ui: the model may ask questions, too
    if dialect == "omp":
        words += ["--approval-mode", "yolo" if asks == "gate" else asks]
    if gated(dialect, mode):
        words += ["-e", gate]
    for flag, value in (("--provider", provider), ("--model", model)):
        if value:
            words += [flag, value]
    for folder in directories:
        words += ["--add-dir", folder]
    if session:
        words += ["--resume" if dialect == "omp" else "--session", session]
    if latest:
        words.append("--continue")
    if not save:
        words.append("--no-session")
    return words


def known_mode(dialect: Dialect, mode: str) -> str:
    """``mode``, or what "" stands for. Raises ``UsageError`` for one there is not: nothing unknown is leave."""
    if mode and mode not in MODES[dialect]:
        raise UsageError(f"{dialect} has no mode {mode!r}; it begins in one of {', '.join(MODES[dialect])}.")
    return mode or "always-ask"


def gated(dialect: Dialect, mode: str) -> bool:
    """Is it our extension that asks? In pi always (told what by :func:`gate_mode`), in omp where it was chosen."""
    return dialect == "pi" or mode == "gate"


def gate_mode(dialect: Dialect, mode: str) -> str:
    """What the extension is told to ask about."""
    asks = known_mode(dialect, mode)
    return "always-ask" if asks == "gate" else asks
