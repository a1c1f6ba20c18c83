"""An AI agent inside a Jupyter notebook."""

from __future__ import annotations

__version__ = "0.1.0"


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    """Where Jupyter Server finds our extension (it runs in the server's process and imports nothing of the kernel's)."""
    return [{"module": "hm_jupyter.server.app"}]
