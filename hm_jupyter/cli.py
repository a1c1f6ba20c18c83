"""The command line: ``hm-jupyter agent …`` is the built-in agent, ``hm-jupyter doctor`` looks over the installation,
``hm-jupyter guard`` tries the agent's rules.

A dispatcher: it parses nothing of what the agent is given, and imports nothing before it knows what is asked.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from .version import __version__

USAGE = """\
usage: hm-jupyter agent [OPTIONS]   the built-in agent, speaking hm RPC (hm-jupyter agent --help)
       hm-jupyter doctor            what is installed here, what is missing, and what to do about it
       hm-jupyter guard check CALL  what the guard rules say about a call (hm-jupyter guard --help)
       hm-jupyter nbval-sanitizer   the path of the file for pytest's --nbval-sanitize-with
       hm-jupyter --version

In a notebook: %load_ext hm_jupyter, then %hm help."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; gives the exit code (2: it cannot be right, with nothing on stdout)."""
    args = list(sys.argv[1:] if argv is None else argv)
    match args:
        case ["agent", *rest]:
            from .agents.__main__ import main as agent

            return agent(rest)
        case ["doctor"]:
            from .doctor import main as doctor

            return doctor()
        case ["guard", *rest]:
            from .agents.guard.check import main as guard

            return guard(rest)
        case ["nbval-sanitizer"]:
            print(Path(__file__).parent / "notebook" / "nbval_sanitize.cfg")
            return 0
        case ["--version" | "-V"]:
            print(f"hm-jupyter {__version__}")
            return 0
        case ["--help" | "-h" | "help"]:
            print(USAGE)
            return 0
        case []:
            print(USAGE, file=sys.stderr)
            return 2
        case [other, *_]:
            print(f"hm-jupyter: no such command: {other!r}\n{USAGE}", file=sys.stderr)
            return 2
        case _:  # pragma: no cover
            return 2


if __name__ == "__main__":
    sys.exit(main())
