"""CPU of ``%load_ext hm_jupyter`` over a bare IPython, in fresh interpreters; beside it, of importing anywidget."""

from __future__ import annotations

import json
import sys
import time

from .report import Row, fresh


def measure_one(what: str) -> dict[str, float]:
    start = time.process_time()
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    bare = time.process_time() - start
    start = time.process_time()
    if what == "hm_jupyter":
        shell.run_line_magic("load_ext", "hm_jupyter")
        assert "hm" in shell.magics_manager.magics["cell"]
    else:
        __import__(what)
    return {"bare": bare, "cpu": time.process_time() - start}


def measure() -> list[Row]:
    mine = [fresh("benchmarks.load_ext", "hm_jupyter") for _ in range(5)]
    peer = min(fresh("benchmarks.load_ext", "anywidget")["cpu"] for _ in range(5))
    bare = min(r["bare"] for r in mine)
    cpu = min(r["cpu"] for r in mine)
    return [
        Row(
            "CPU of %load_ext hm_jupyter over bare IPython",
            f"{cpu:.3f} s",
            f"{peer:.3f} s (import anywidget; IPython itself {bare:.2f} s)",
            "<= 0.15 s",
        )
    ]


if __name__ == "__main__":
    print(json.dumps(measure_one(sys.argv[1])))
