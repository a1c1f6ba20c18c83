"""Plays one row in this process: ``python -m tests.interop.drive.row NAME [STEP …]``. A JSON line for each step's outcome.

A process of its own for each row, so that one that hangs can be ended with everything it started.
"""

from __future__ import annotations

import json
import signal
import sys
import time
import traceback

from hm_jupyter.errors import HmError

from ..alone import loopback
from ..place import Place
from ..rows import rows
from .steps import NOTHING, STEPS, Drive

ORDER = [*STEPS[:2], "allow2", *STEPS[2:]]


def main(name: str, only: list[str]) -> int:
    loopback()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # its time is up: tidy up all the same
    row = rows()[name]
    with Place(row) as place:
        drive = Drive(place)
        try:
            for step in ORDER:
                if step == "start" or not only or step in only:
                    _play(drive, step)
        finally:
            drive.end()
    return 0


def _play(drive: Drive, step: str) -> None:
    if not drive.has(step):
        if step != "allow2":
            _say(step, NOTHING)
        return
    began, drive.detail = time.monotonic(), ""
    try:
        if step in drive.row.raw.get("fresh", ()):
            drive.again()
        outcome = getattr(drive, step)()
    except HmError as error:
        outcome = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
        drive.detail = str(getattr(error, "stderr", ""))[-600:]
    except Exception as error:  # a fault of ours: its row says so, and the others go on
        outcome = f"FAULT {type(error).__name__}: {error}"[:200]
        drive.detail = traceback.format_exc()[-1500:]
    _say(step, outcome, time.monotonic() - began, drive.detail)
    if step == "start" and drive.session is None:
        raise SystemExit(0)


def _say(step: str, outcome: str, seconds: float = 0.0, detail: str = "") -> None:
    print(json.dumps({"step": step, "outcome": outcome, "seconds": round(seconds, 1), "detail": detail}), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
