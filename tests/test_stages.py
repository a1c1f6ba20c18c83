"""The runner behind `make test`: what it stops at, and what it says at the end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "stages.py"

MAKEFILE = """\
good:
\t@echo '== 3 passed, 1 skipped in 0.12s =='
js:
\t@printf '\\033[2m      Tests \\033[22m \\033[32m40 passed\\033[39m (40)\\n'
bad:
\t@echo 'a line of the failure'; exit 3
after:
\t@echo never
"""


@pytest.fixture
def stages(tmp_path: Path):
    if shutil.which("make") is None:
        pytest.skip("needs make")
    (tmp_path / "Makefile").write_text(MAKEFILE)

    def run(*targets: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(SCRIPT), *targets],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            env={"PATH": os.environ["PATH"]},  # not the MAKEFLAGS of a make around this one
        )

    return run


def test_all_good_is_exit_0_with_the_runners_closing_lines_told_again(stages) -> None:
    done = stages("good", "js")
    assert done.returncode == 0
    summary = done.stdout.split("== summary")[1]
    assert "3 passed, 1 skipped in 0.12s" in summary
    assert "40 passed (40)" in summary


def test_it_stops_at_the_first_failure_and_says_how_to_run_that_one_alone(stages) -> None:
    done = stages("good", "bad", "after")
    assert done.returncode == 1
    assert "a line of the failure" in done.stdout
    assert "never" not in done.stdout
    assert "after" in done.stdout.split("== summary")[1]
    assert "not run" in done.stdout
    assert "make bad" in done.stdout.splitlines()[-1]
