"""An AI agent inside a Jupyter notebook.

Public names are imported on first use, so that ``import hm_jupyter`` and ``%load_ext hm_jupyter`` cost next to nothing;
the entry points that IPython and the Jupyter server look for are here too. What a name does is told where it lives.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .version import __version__ as __version__

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from .connect import aconnect, connect
    from .errors import (
        AgentError,
        AgentGone,
        AgentNotFound,
        ApprovalRequired,
        HmError,
        NotSupported,
        NotWaiting,
        SessionClosed,
        SignInRequired,
        StartError,
        TransportError,
        TurnRunning,
        UsageError,
    )
    from .session.session import Session
    from .session.turn import Turn

_HOME = {
    "connect": "connect",
    "aconnect": "connect",
    "Session": "session.session",
    "Turn": "session.turn",
    "HmError": "errors",
    "UsageError": "errors",
    "AgentNotFound": "errors",
    "StartError": "errors",
    "SignInRequired": "errors",
    "AgentError": "errors",
    "AgentGone": "errors",
    "TurnRunning": "errors",
    "NotWaiting": "errors",
    "NotSupported": "errors",
    "SessionClosed": "errors",
    "ApprovalRequired": "errors",
    "TransportError": "errors",
}

__all__ = [
    "AgentError",
    "AgentGone",
    "AgentNotFound",
    "ApprovalRequired",
    "HmError",
    "NotSupported",
    "NotWaiting",
    "Session",
    "SessionClosed",
    "SignInRequired",
    "StartError",
    "TransportError",
    "Turn",
    "TurnRunning",
    "UsageError",
    "aconnect",
    "connect",
    "current",
    "last",
]


def __getattr__(name: str) -> Any:
    """Public names, imported on first use; ``last`` and ``current`` are looked up anew each time."""
    from importlib import import_module

    if name in ("last", "current"):
        return getattr(import_module(".notebook.registry", __name__).registry, name)
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{home}", __name__), name)
    if home == "connect" and "IPython" in sys.modules:
        import_module(".notebook.presence", __name__).register()
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted((*__all__, "__version__"))


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """``%load_ext hm_jupyter``: register ``%hm`` and ``%%hm``."""
    from .notebook.magics import load

    load(ipython)


def unload_ipython_extension(ipython: InteractiveShell) -> None:
    """``%unload_ext hm_jupyter``: take the magics away. Sessions stay open; ``%hm stop --all`` ends them."""
    from .notebook.magics import unload

    unload(ipython)


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    """Where Jupyter Server finds our extension (it runs in the server's process and imports none of the kernel's)."""
    return [{"module": "hm_jupyter.server.app"}]


class _Package(ModuleType):
    """Importing the submodule ``connect`` must not put the module where the function of that name belongs."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
