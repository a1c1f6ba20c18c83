"""``make interop``: installs what is needed, plays the scenario with every agent, prints the table.

``python -m tests.interop.drive [--agents a,b] [--steps x,y] [--no-install] [--write]``. Exits with 1 when an outcome is
not the expected one, with 0 when the rest is missing here (each such row says why).
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from .. import install
from ..alone import prefix
from ..place import TAG, sweep
from ..rows import Row, expected, rows
from .steps import NOTHING
from .table import table

ROOT = Path(__file__).resolve().parents[3]


@dataclass
class Played:
    """What came of a row: the outcomes by step, or why it was not played."""

    row: Row
    why: str = ""
    outcomes: dict[str, dict[str, Any]] = field(default_factory=dict)
    seconds: float = 0.0


def main(argv: list[str]) -> int:
    options = _options(argv)
    known = rows()
    if unknown := [name for name in options.agents if name not in known]:
        print(f"No such agent: {', '.join(unknown)}. Known: {', '.join(known)}.", file=sys.stderr)
        return 2
    chosen = [row for row in known.values() if row.name in options.agents or (not options.agents and not row.optional)]
    if not options.no_install:
        for peer in dict.fromkeys(peer for row in chosen for peer in row.peers):
            print(install.install(peer).line, file=sys.stderr, flush=True)
    played = []
    for row in chosen:
        played.append(play(row, options.steps))
        _tell(played[-1])
    text, differ = table(played, expected(), partial=bool(options.steps))
    print(text)
    if not prefix():
        print("(The agents ran on this machine's network: a network of their own needs Linux and `unshare`.)")
    return 1 if differ else 0


def play(row: Row, steps: list[str]) -> Played:
    """One row, in a process of its own that is ended with all its children when its time is up."""
    if why := row.missing():
        return Played(row, why)
    argv = [*prefix(), sys.executable, "-m", "tests.interop.drive.row", row.name, *steps]
    tag = uuid4().hex
    env = {**os.environ, "PYTHONPATH": _path(), "HM_INTEROP": str(install.cache()), TAG: tag}
    began = time.monotonic()
    process = subprocess.Popen(
        argv, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        out, err = process.communicate(timeout=row.seconds)
        late = ""
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            out, err = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
        late = f"not reached within {row.seconds:.0f} s"
    sweep(tag)
    played = Played(row, seconds=time.monotonic() - began)
    for line in out.splitlines():
        said = json.loads(line)
        played.outcomes[said["step"]] = said
    if late:
        played.outcomes["late"] = {"outcome": late, "detail": err[-800:]}
    elif process.returncode:
        played.outcomes["failed"] = {"outcome": f"the row ended with {process.returncode}", "detail": err[-1500:]}
    return played


def _path() -> str:
    return os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))


def _tell(played: Played) -> None:
    if played.why:
        print(f"\n{played.row.name}: not run: {played.why}", file=sys.stderr)
        return
    print(f"\n{played.row.name}: {played.row.about} ({played.seconds:.0f} s)", file=sys.stderr)
    for step, said in played.outcomes.items():
        if said["outcome"] != NOTHING:
            detail = f"   [{said['detail'].strip()}]" if said.get("detail") else ""
            print(
                f"  {step:<12} {said.get('seconds', 0):5.1f} s  {said['outcome']}{detail}", file=sys.stderr, flush=True
            )


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make interop", description=__doc__)
    words = lambda text: [word for word in text.replace(",", " ").split() if word]  # noqa: E731
    parser.add_argument("--agents", type=words, default=[], help="only these rows of agents.toml")
    parser.add_argument("--steps", type=words, default=[], help="only these steps (besides start)")
    parser.add_argument("--no-install", action="store_true", help="with what is installed already")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
