"""``%hm`` and ``%%hm``: the magics and their settings, and nothing else, so that loading them costs nothing.

What a line means is decided in ``dispatch``, which is imported at the first use.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, line_cell_magic, magics_class, needs_local_scope, no_var_expand
from traitlets import Any as AnyTrait
from traitlets import Bool, Enum, Float, Unicode, default

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from ..session.session import Session


@magics_class
class HmMagics(Magics):
    """Settings of the %hm magics. Keys and tokens are not among them: agents read those from the environment."""

    agent = Unicode(
        help="the agent a new session starts: a name from %hm agents, an address, or a command; empty: the built-in one. "
        "Where nothing is set, the environment variable HM_JUPYTER_AGENT says"
    ).tag(config=True)
    approve = Enum(
        ["ask", "edits", "all", "deny"], "ask", help="who decides what needs leave: ask (you), edits, all, deny"
    ).tag(config=True)
    when_alone = AnyTrait(
        None,
        allow_none=True,
        help="the policy for when nobody can be asked (nbconvert, papermill, tests); empty: refuse, and end the cell "
        "with ApprovalRequired",
    ).tag(config=True)
    provider = Unicode("", help="whose models a new session uses; empty: the agent's choice").tag(config=True)
    model = Unicode("", help="the model a new session begins with; empty: the agent's choice").tag(config=True)
    mode = Unicode("", help="the mode a new session begins in; empty: the agent's choice").tag(config=True)
    cwd = Unicode("", help="the folder a new session works in; empty: the notebook's").tag(config=True)
    background = Bool(False, help="return at once instead of waiting for the turn").tag(config=True)
    timeout = Float(0.0, min=0.0, help="stop a turn after so many seconds; 0: never").tag(config=True)

    @default("agent")
    def _agent(self) -> str:
        return os.environ.get("HM_JUPYTER_AGENT", "")

    @no_var_expand
    @needs_local_scope
    @line_cell_magic
    def hm(self, line: str, cell: str | None = None, local_ns: dict[str, Any] | None = None) -> Any:
        """Ask an AI agent, or steer it.

        %hm TEXT               send TEXT and wait for the answer
        %%hm [options]         the same with the cell's text, exactly as it is
        %hm SUBCOMMAND …       start, steer, approve, abort, …

        %hm help shows all of it. The value is the Turn: t = %hm TEXT, or _ in the next cell.
        """
        from .dispatch import run

        return run(self, line, cell, {**self._names(), **(local_ns or {})})

    def _names(self) -> dict[str, Any]:
        """The notebook's variables (a copy: what a magic looks up is what was there when it began)."""
        return dict(self.shell.user_ns) if self.shell is not None else {}

    def session(self, name: str = "", *, agent: str = "") -> Session:
        """The session to talk to: the named or current one, or, where there is none, a new one with the settings."""
        from .sub_sessions import session_for

        return session_for(self, name, agent=agent)


def load(shell: InteractiveShell) -> None:
    """Register the magics and their completion; a second time changes nothing."""
    from . import each_line, lines
    from .completion import Completer

    if any(isinstance(c, HmMagics) for c in shell.configurables):
        return
    magics = HmMagics(shell=shell)
    shell.register_magics(magics)
    Completer(magics).install(shell)
    lines.install(shell)
    each_line.install(shell)


def unload(shell: InteractiveShell) -> None:
    """Take the magics and their completion away."""
    from . import completion, each_line, lines

    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("hm", None)
    shell.magics_manager.registry.pop(HmMagics.__name__, None)
    shell.configurables[:] = [c for c in shell.configurables if not isinstance(c, HmMagics)]
    completion.uninstall(shell)
    lines.uninstall(shell)
    each_line.uninstall(shell)
