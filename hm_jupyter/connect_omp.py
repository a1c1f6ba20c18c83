"""What ``connect`` does for agents that speak the RPC mode of oh-my-pi or pi: start options, the gate, saved sessions.

Part of the composition root. What the options are called is ``protocols.omp_flags``' business, what a saved session looks like
``omp_sessions``'.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from .launch import Launch, environment
from .omp_gate import VARIABLE, path
from .omp_sessions import SavedSessions
from .protocols.base import Adapter
from .protocols.omp_flags import Dialect, gate_mode, gated, known_mode, rpc_argv
from .transports.stdio import StdioTransport


def speaks_omp(launch: Launch) -> bool:
    """Is it one of those?"""
    return launch.protocol in ("omp", "pi")


def omp_adapter(launch: Launch, given: Mapping[str, Any], cwd: str) -> Adapter:
    """The adapter for ``launch``. Raises ``UsageError`` for a mode there is not."""
    from .protocols.omp.adapter import OmpAdapter  # not loaded by who speaks something else

    dialect, mode = _dialect(launch), _mode(launch, given)
    return OmpAdapter(
        dialect,
        root=cwd,
        asks=known_mode(dialect, mode),
        gate=gated(dialect, mode),
        history=bool(given["session"] or given["resume"]),
    )


def omp_transport(launch: Launch, given: Mapping[str, Any], cwd: str) -> StdioTransport:
    """The program, to be started asking. Raises ``UsageError``, ``NotSupported``."""
    dialect, mode = _dialect(launch), _mode(launch, given)
    wanted = given["session"] or ""
    argv = rpc_argv(
        launch.program,
        dialect,
        gate=str(path()),
        mode=mode,
        provider=given["provider"] or "",
        model=given["model"] or "",
        session=omp_shelf(launch, given, cwd).find(wanted)
        or wanted,  # pi asks on its input about an id of another folder
        latest=given["resume"],
        save=given["save"],
        directories=[str(Path(d).expanduser().resolve()) for d in given["directories"]],
    )
    laid = environment(launch, given["env"])
    if gated(dialect, mode):
        laid[VARIABLE] = gate_mode(dialect, mode)
    return StdioTransport([*argv, *given["args"]], cwd=cwd, env=laid, glued=dialect == "omp")


def omp_shelf(launch: Launch, given: Mapping[str, Any], cwd: str) -> SavedSessions:
    """Where the program keeps its sessions."""
    whole = {**os.environ, **environment(launch, given["env"])}
    present = {name: value for name, value in whole.items() if value is not None}
    folder = _session_dir([*launch.program, *given["args"]])
    return SavedSessions(launch.protocol, cwd, present, folder=folder and os.path.join(cwd, folder))


def _dialect(launch: Launch) -> Dialect:
    return cast(Dialect, launch.protocol)


def _mode(launch: Launch, given: Mapping[str, Any]) -> str:
    return str(given["mode"] or (launch.agent.mode if launch.agent is not None else ""))


def _session_dir(words: Sequence[str]) -> str:
    """The folder that ``--session-dir`` names, "" where it is not given."""
    for at, word in enumerate(words):
        if word == "--session-dir" and at + 1 < len(words):
            return words[at + 1]
        if word.startswith("--session-dir="):
            return word.partition("=")[2]
    return ""
