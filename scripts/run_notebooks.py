"""Run the shipped notebooks and keep their outputs: after a change of what a cell leaves behind.

    python scripts/run_notebooks.py [NAME …]

Look at the differences before you commit them: `make notebooks` compares with what is kept here.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent


def main(names: list[str]) -> int:
    """Runs those named, or all; gives the exit code."""
    os.environ |= {"HM_DEMO_SPEED": "0", "PYTHONPATH": str(ROOT)}
    os.environ.pop("HM_JUPYTER_AGENT", None)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        if names and path.stem not in names:
            continue
        notebook = nbformat.read(path, as_version=4)
        info = dict(notebook.metadata)
        NotebookClient(notebook, timeout=180, kernel_name="python3").execute(cwd=str(path.parent))
        notebook.metadata = info
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)
        nbformat.write(notebook, path)
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
