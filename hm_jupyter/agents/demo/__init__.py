"""The demo provider: a scripted model that plays a scenario. Only the model is scripted; every tool runs for real."""

from __future__ import annotations

from .workspace import make_workspace

__all__ = ["make_workspace"]
