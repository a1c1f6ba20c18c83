"""What ``agents.toml`` says, filled in for this machine: a row is one agent over one transport."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import install

if sys.version_info >= (3, 11):
    import tomllib  # noqa: TID251 — with its fallback
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
SHARED = Path(os.environ.get("HM_SHARED") or HERE.parent.parent.parent / "shared")
"""What is beside the checkout (or where the variable says): the scripted model, configurations."""
MODEL_PORT = "127.0.0.1:8399"
"""Where the configurations in ``../shared`` expect the scripted model."""


@dataclass
class Row:
    """One agent as the table has it. ``raw`` is its part of ``agents.toml``, templates not filled in."""

    name: str
    raw: dict[str, Any] = field(repr=False)

    @property
    def about(self) -> str:
        return str(self.raw.get("about", ""))

    @property
    def seconds(self) -> float:
        """For the whole row."""
        return float(self.raw.get("seconds", 300))

    @property
    def patience(self) -> float:
        """For each thing that is waited for."""
        return float(self.raw.get("patience", 30))

    @property
    def optional(self) -> bool:
        return bool(self.raw.get("optional"))

    @property
    def peers(self) -> list[str]:
        """What of ``peers.toml`` has to be installed."""
        return [*([self.raw["peer"]] if "peer" in self.raw else []), *self.raw.get("more", [])]

    def missing(self) -> str:
        """Why this row cannot be run here, or ""."""
        if (self.raw.get("model") or self.raw.get("shared")) and not SHARED.is_dir():
            return "../shared is not here (the scripted model and the configurations are in it)"
        return next((f"{peer}: {there.why}" for peer in self.peers if (there := install.look(peer)).why), "")

    def fill(self, text: str, **more: str) -> str:
        """A template of ``agents.toml`` with this machine's paths."""
        sdk = install.cache() / "ts-sdk" / "node_modules"
        return text.format(
            cache=install.cache(),
            node=install.node(20) or "node",
            node22=install.node(22) or "node",
            sdk19=sdk / "sdk19",
            sdk2=sdk / "@agentclientprotocol" / "sdk",
            shared=SHARED,
            here=HERE,
            **more,
        )


def rows() -> dict[str, Row]:
    """All of ``agents.toml``, by name and in its order."""
    found: dict[str, Row] = {}
    table: dict[str, dict[str, Any]] = tomllib.loads((HERE / "agents.toml").read_text())
    for name, raw in table.items():
        found[name] = Row(name, _whole(table, raw))
    return found


def _whole(table: dict[str, dict[str, Any]], raw: dict[str, Any]) -> dict[str, Any]:
    return {**(_whole(table, table[raw["like"]]) if "like" in raw else {}), **raw}


def expected() -> dict[str, dict[str, Any]]:
    """``expected.toml``: by row and step, what is to come of it (a text, or a list of texts any of which will do)."""
    table: dict[str, dict[str, Any]] = tomllib.loads((HERE / "expected.toml").read_text())
    return {name: _whole(table, raw) for name, raw in table.items()}
