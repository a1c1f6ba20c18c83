"""Tab completion of ``%hm`` lines: subcommands, options and their values, session names, waiting calls, variables.

Hooks into IPython's completer, which Jupyter asks through ``complete_request``. Looks only at what is in memory: it
never starts an agent or asks one.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..transcript import PendingApproval
from .registry import registry
from .subcommands import EFFORTS, PROMPT_OPTIONS, SUBCOMMANDS, Subcommand

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from ..session.session import Session
    from .magics import HmMagics
    from .options import Option

_KEYS = ("%hm", "%%hm")
ID = "hm_jupyter"


class Completer:
    """The completer of one shell's magics."""

    def __init__(self, magics: HmMagics) -> None:
        self.magics = magics

    def install(self, shell: InteractiveShell) -> None:
        """Be asked first, and alone, for lines that begin with ``%hm`` or ``%%hm``: Python's words mean nothing there."""
        from IPython.core.completer import context_matcher

        @context_matcher(identifier=ID)  # type: ignore[untyped-decorator]
        def matcher(context: Any) -> Any:
            return self.match(context)

        shell.Completer.custom_matchers.append(matcher)

    def match(self, context: Any) -> dict[str, Any]:
        """IPython's matcher: the candidates for the word at the cursor, and what is left out of the running."""
        from IPython.core.completer import SimpleCompletion

        line = context.line_with_cursor[: context.cursor_position]
        if " " not in line or line.split(" ")[0] not in _KEYS:
            return {"completions": []}
        word, found = self.at(line)
        kind = "option" if word.startswith("-") else "magic"
        completions = [SimpleCompletion(text=text, type=kind) for text in found]
        return {"completions": completions, "matched_fragment": word, "ordered": True, "suppress": bool(found)}

    def at(self, line: str) -> tuple[str, list[str]]:
        """The word that ``line`` ends with, and what it may become."""
        word = "" if not line or line[-1].isspace() else line.split()[-1]
        before = line[: len(line) - len(word)].split()[1:]
        if word.startswith("--") and "=" in word:  # IPython completes what stands behind the "="
            flag, _, word = word.partition("=")
            before.append(flag)
        return word, [c for c in self.candidates(before, word) if c.startswith(word)]

    def candidates(self, before: list[str], word: str) -> list[str]:
        """What may stand at the cursor, after the words ``before``."""
        if not before and word.startswith("/") and registry.current is not None:
            return [f"/{command.name}" for command in registry.current.state.commands]
        sub = next((SUBCOMMANDS[w] for w in before if w in SUBCOMMANDS), None)
        options = sub.options if sub else PROMPT_OPTIONS
        previous = next((o for o in options if before and before[-1] == o.flag and (o.metavar or o.choices)), None)
        if previous is not None:
            return list(self._values(previous))
        if "--" in before:
            return []
        found = [] if sub else self._first(before)
        if sub is not None:
            found += self._words(sub, before)
        taken = {w for w in before if not any(o.repeat and o.flag == w for o in options)}
        if word.startswith("-") or sub is not None or not found:
            found += [o.flag for o in options if o.flag not in taken]
        return found

    def _first(self, before: list[str]) -> list[str]:
        """Subcommands, where one may still come: at the start, or after ``--session NAME``."""
        rest = [w for i, w in enumerate(before) if w != "--session" and (i == 0 or before[i - 1] != "--session")]
        return [] if rest else list(SUBCOMMANDS)

    def _words(self, sub: Subcommand, before: list[str]) -> list[str]:
        session = registry.current
        if sub.completes == "session":
            return registry.names()
        if sub.completes == "call":
            kind = "question" if sub.name == "answer" else "approval"
            return [p.call_id for _, s in registry.items() for p in s.pending if p.TAG[1] == kind]
        if sub.completes == "agent":
            return _agents()
        if sub.completes == "option-name":
            return _settings(session, before[before.index(sub.name) + 1 :])
        if sub.completes == "work":
            return [b.id for b in session.background if b.cancelable] if session else []
        if sub.completes == "mode":
            return list(session.state.modes) if session else []
        if sub.completes == "model":
            return list(session.state.models) if session else []
        if sub.completes == "effort":
            return list(EFFORTS)
        if sub.completes == "subcommand":
            return list(SUBCOMMANDS)
        if sub.completes == "setting":
            return list(type(self.magics).class_traits(config=True))
        return _paths("") if sub.completes == "path" else []

    def _values(self, option: Option) -> Iterable[str]:
        if option.choices:
            return option.choices
        if option.completes == "session":
            return registry.names()
        if option.completes == "agent":
            return _agents()
        if option.completes == "option":
            waiting = [p for _, s in registry.items() for p in s.pending if isinstance(p, PendingApproval)]
            return [o.id for p in waiting for o in p.options]
        if option.completes == "path":
            return _paths("", folders=True)
        session = registry.current
        if option.completes in ("mode", "model") and session is not None:
            return session.state.modes if option.completes == "mode" else session.state.models
        if option.completes == "variable" and self.magics.shell is not None:
            hidden = self.magics.shell.user_ns_hidden
            names = [n for n in self.magics.shell.user_ns if not n.startswith("_") and n not in hidden]
            return ["ask", "edits", "all", "deny", *names] if option.name == "when-alone" else names
        return []


def _agents() -> list[str]:
    """The names of agents; a file of the person's that is not right hides only its own."""
    from ..catalog import catalog
    from ..errors import UsageError

    try:
        return ["builtin", "hm", *sorted(catalog().names)]
    except UsageError:
        return ["builtin", "hm"]


def _settings(session: Session | None, given: list[str]) -> list[str]:
    """The agent's settings, and after the name of one its values."""
    options = {o.id: o for o in session.state.options} if session else {}
    if not given:
        return list(options)
    chosen = options.get(given[0])
    if chosen is None or len(given) > 1:
        return []
    return ["on", "off"] if chosen.kind == "boolean" else [c.value for c in chosen.choices]


def _paths(start: str, *, folders: bool = False) -> list[str]:
    """The files or folders here (IPython completes deeper paths itself)."""
    with suppress(OSError):
        return sorted(
            p.name + ("/" if p.is_dir() else "")
            for p in Path(start or ".").iterdir()
            if not p.name.startswith(".") and (p.is_dir() or not folders)
        )
    return []


def uninstall(shell: InteractiveShell) -> None:
    """Take every completer of ours out of ``shell``."""
    matchers = shell.Completer.custom_matchers
    matchers[:] = [m for m in matchers if getattr(m, "matcher_identifier", "") != ID]
