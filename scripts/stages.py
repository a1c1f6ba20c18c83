"""Runs make targets one after another and tells at the end how each went: ``python scripts/stages.py lint types …``.

Stops at the first that fails, with its exit code and the command that runs it alone. What each prints goes through as
it comes; the test runners' closing lines are said once more in the summary. Standard library only.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

ANSI = re.compile(r"\x1b\[[0-9;]*m")
# pytest: "== 12 passed, 1 skipped in 3.1s ==", vitest: "Tests  40 passed (40)", import-linter: "Contracts: 9 kept, …".
CLOSING = re.compile(r"^=*\s*((\d+ \w+, )*\d+ (passed|failed|errors?|skipped)\b.* in [\d.]+s.*?)\s*=*$")
VITEST = re.compile(r"^\s*Tests\s+(.*\d+ (passed|failed).*)$")
OTHER = re.compile(r"^(Contracts: .*|Success: .*|Found \d+ error.*|All checks passed!)$")


def run(target: str) -> tuple[int, float, list[str]]:
    """Runs one make target; gives its exit code, seconds, and the closing lines seen."""
    start = time.monotonic()
    closing: list[str] = []
    make = os.environ.get("MAKE", "make")
    process = subprocess.Popen(
        [make, "--no-print-directory", target],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert process.stdout is not None
    for line in process.stdout:
        sys.stdout.write(line)
        sys.stdout.flush()
        plain = ANSI.sub("", line).strip()
        for pattern in (CLOSING, VITEST, OTHER):
            if match := pattern.match(plain):
                closing.append(match.group(1).strip())
    return process.wait(), time.monotonic() - start, closing


def main(targets: list[str]) -> int:
    rows: list[str] = []
    code = 0
    for target in targets:
        print(f"\n== {target} " + "=" * (60 - len(target)), flush=True)
        code, seconds, closing = run(target)
        mark = "ok" if code == 0 else f"FAILED (exit {code})"
        rows.append(f"  {target:<14}{seconds:7.1f} s  {mark:<6} {'; '.join(closing)}".rstrip())
        if code:
            break
    print("\n== summary " + "=" * 53)
    print("\n".join(rows))
    for target in targets[len(rows) :]:
        print(f"  {target:<14}           not run")
    if code:
        failed = targets[len(rows) - 1]
        print(f"\nStage '{failed}' failed. To run it alone: make {failed}", flush=True)
    return min(code, 1) if code >= 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
