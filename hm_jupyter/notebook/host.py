"""Who runs this cell: a front-end that shows widgets and asks people, a terminal, or nobody.

Hosts that *are* interactive are detected, the others are not guessed: every Jupyter client says with each cell whether a
person can be asked (``allow_stdin`` of the execute_request, Jupyter messaging, "Execute"). JupyterLab, Notebook, VS
Code, Colab and the consoles say yes; nbclient (so nbconvert, papermill, ``jupyter execute``, Voilà) and nbval say no.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Literal

Host = Literal["notebook", "terminal", "nobody"]


def host() -> Host:
    """Who runs this cell. ``HM_JUPYTER_HOST`` (one of the three words) overrides what would be detected."""
    said = os.environ.get("HM_JUPYTER_HOST", "")
    if said in ("notebook", "terminal", "nobody"):
        return said  # type: ignore[return-value]
    if "IPython" not in sys.modules:
        return "nobody"
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()  # type: ignore[no-untyped-call,unused-ignore]
    kernel = getattr(shell, "kernel", None)
    if kernel is not None:
        return "notebook" if _allows_stdin(kernel) else "nobody"
    if shell is not None and _is_terminal(shell) and sys.stdin is not None and sys.stdin.isatty():
        return "terminal"
    return "nobody"


def _allows_stdin(kernel: Any) -> bool:
    """What the client said with the cell that runs, else with the one before (``Kernel._allow_stdin``, private)."""
    try:
        said = kernel.get_parent("shell")["content"]["allow_stdin"]
    except (AttributeError, KeyError, TypeError, LookupError):
        said = getattr(kernel, "_allow_stdin", False)
    return bool(said)


def _is_terminal(shell: Any) -> bool:
    return type(shell).__name__ == "TerminalInteractiveShell"
