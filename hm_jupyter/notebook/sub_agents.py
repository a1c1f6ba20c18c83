"""``%hm agents``: which agents there are, which are here, what each needs and which of its modes asks."""

from __future__ import annotations

from collections.abc import Mapping
from shutil import which
from typing import TYPE_CHECKING, Any

from ..catalog import catalog, own_file
from ..found import Found, look
from .options import Args
from .registry import registry
from .show import Table

if TYPE_CHECKING:
    from .magics import HmMagics


def agents(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> Table:
    """``%hm agents``"""
    known = catalog()
    rows: list[tuple[str, str, str, str, str]] = [
        ("builtin", "the built-in agent", "yes", "ask", ""),
        ("hm", "hm", which("hm") or "no: no hm on PATH", "ask", ""),
    ]
    aliases = {name: [a for a, own in known.names.items() if own == name and a != name] for name in known.agents}
    for found in look(known):
        called = "\n".join([found.name, *(f"= {alias}" for alias in aliases[found.name])])
        rows.append((called, found.agent.title or found.name, _here(found), found.agent.asks or "?", _to_know(found)))
    usual = magics.agent or "builtin"
    current = registry.current_name
    names = [f"{name} (current)" if name == current else name for name in registry.names()]
    note = (
        f"Start one with %hm start AGENT (without a name: {usual}). "
        + (f"Open sessions: {', '.join(names)}; change with %hm use NAME. " if names else "No session is open. ")
        + f"Any other program: a variable with its command, a list. Your own by name: {known.file or own_file()}"
    )
    return Table(("agent", "what", "here", "asks in mode", "to know"), rows, note=note, code=("agent", "asks in mode"))


def _here(found: Found) -> str:
    agent = found.agent
    if agent.url:
        return "runs elsewhere"
    if found.path:
        return found.path + (f"\nversion {found.version}" if found.version else "")
    lines = ["no", agent.install]
    if agent.needs:
        lines.append(f"({agent.needs})")
    return "\n".join(line for line in lines if line)


def _to_know(found: Found) -> str:
    agent = found.agent
    lines = [agent.warning, agent.note]
    if found.variables:
        lines.insert(0, f"{', '.join(found.variables)} is set.")
    elif agent.sign_in:
        lines.insert(0, f"Sign in: {agent.sign_in}.")
    return "\n".join(line for line in lines if line)
