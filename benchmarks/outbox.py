"""Comm messages a second while an agent streams as fast as the pipe takes it, and how long its first text waits.

The real path up to the comm: process, session, feed, outbox; the function that would send on the comm counts. Beside
it, what a client sends that makes a message of each piece.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from .client_stream import PEERS
from .report import Row, fresh

PIECES = 300_000  # a few seconds at full speed


def stream(pieces: int) -> dict[str, float]:
    import hm_jupyter
    from hm_jupyter.notebook.views import View
    from hm_jupyter.session.runtime import runtime
    from hm_jupyter.transcript import Append, Put

    sent: list[float] = []
    size = 0
    first_text = first_shown = 0.0

    def send(message: dict[str, Any]) -> None:
        nonlocal size, first_shown
        sent.append(time.perf_counter())
        line = json.dumps(message)
        size += len(line)
        if not first_shown and "word 0 " in line:
            first_shown = sent[-1]

    def listen(seq: int, ops: list[Any]) -> None:
        nonlocal first_text
        if not first_text and any(
            isinstance(op, Append) or (isinstance(op, Put) and hasattr(op.entry, "open")) for op in ops
        ):
            first_text = time.perf_counter()

    with hm_jupyter.connect([sys.executable, str(PEERS / "hm_stream.py"), str(pieces)], protocol="hm") as session:
        view = runtime().call(View, session, send)
        session.controller.subscribe(listen)
        start = time.perf_counter()
        session.prompt("go")
        seconds = time.perf_counter() - start
        runtime().call(view.close)
    times = [t for t in sent if t >= start]
    most = max(sum(1 for t in times if a <= t < a + 1) for a in times)
    return {
        "seconds": seconds,
        "messages": len(times),
        "most": most,
        "bytes": size,
        "first": first_shown - first_text,
    }


def measure() -> list[Row]:
    r = fresh("benchmarks.outbox", str(PIECES))
    naive = f"{PIECES / r['seconds']:,.0f} a second (a message a piece)"
    return [
        Row(
            f"comm messages, {PIECES:,} pieces in {r['seconds']:.1f} s",
            f"{r['messages']:.0f} in all, at most {r['most']:.0f} in any second",
            naive,
            "<= 20 a second",
        ),
        Row(
            "first text, from the transcript to the comm",
            f"{max(r['first'], 0) * 1000:.1f} ms",
            "",
            "no batch to wait for",
        ),
    ]


if __name__ == "__main__":
    print(json.dumps(stream(int(sys.argv[1]))))
