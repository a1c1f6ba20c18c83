"""The built-in agent: a subprocess that speaks hm RPC, reached like any other agent.

``python -m hm_jupyter.agents --rpc`` starts it, ``hm-jupyter agent --rpc`` too. Nothing here knows notebooks, sessions
of the client or other protocols.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the agent with ``argv`` (default: the program's arguments); returns its exit code."""
    from .__main__ import main as run  # late: `import hm_jupyter.agents` must cost nothing

    return run(argv)
