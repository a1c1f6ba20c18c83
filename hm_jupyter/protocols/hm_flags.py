"""The start options of ``hm agent --rpc`` as an argument list (hm RPC, the usage lines at the top).

It does not start anything and does not look for the program.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import UsageError
from .hm_wire import APPROVE_MODES


def hm_argv(
    program: Sequence[str],
    *,
    cwd: str = "",
    mode: str = "",
    provider: str = "",
    model: str = "",
    session: str = "",
    continue_: bool = False,
    save: bool = True,
    max_steps: int | None = None,
    approve: str = "",
) -> list[str]:
    """The argument list that starts an agent speaking hm RPC.

    Args:
        program: what comes before the flags, such as ``["hm", "agent"]``.
        session: the id of a saved session to go on with.
        continue_: go on with an earlier session of the workspace instead.
        save: False for ``--no-session``.
        max_steps: the most steps of a turn; None is the agent's own.
        approve: who decides, *at the agent*: ask, edits or all; "" is the agent's own (ask).

    Raises:
        UsageError: no program, options that exclude each other, or a value that hm does not know.
    """
    if isinstance(program, str) or not program:
        raise UsageError('The program is a list of words, such as ["hm", "agent"].')
    chosen = [name for name, on in (("session", session), ("continue", continue_), ("no-session", not save)) if on]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join('--' + name for name in chosen)} exclude each other; give one of them.")
    if approve and approve not in APPROVE_MODES:
        raise UsageError(f"The agent's approve is one of {', '.join(APPROVE_MODES)}, not {approve!r}.")
    if max_steps is not None and (isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1):
        raise UsageError(f"max_steps is a whole number from 1, not {max_steps!r}.")
    words = [*program, "--rpc"]
    flags = (("cwd", cwd), ("mode", mode), ("provider", provider), ("model", model), ("session", session))
    for name, value in flags:
        if value:
            words += [f"--{name}", value]
    if continue_:
        words.append("--continue")
    if not save:
        words.append("--no-session")
    if max_steps is not None:
        words += ["--max-steps", str(max_steps)]
    if approve:
        words += ["--approve", approve]
    return words
