"""``make bench``: runs the measurements (or the named ones) and prints one table."""

from __future__ import annotations

import importlib
import os
import platform
import sys

from .report import Row, table

ALL = ("client_stream", "acp_client", "outbox", "control_latency", "load_ext", "bundle", "long_session")


def main(names: list[str]) -> int:
    rows: list[Row] = []
    failed = False
    for name in names or ALL:
        print(f"… {name}", file=sys.stderr, flush=True)
        try:
            rows += importlib.import_module(f"benchmarks.{name}").measure()
        except Exception as error:
            failed = True
            print(f"{name} could not be measured: {error}", file=sys.stderr)
            rows.append(Row(name, "failed"))
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}\n")
    print(table(rows))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
