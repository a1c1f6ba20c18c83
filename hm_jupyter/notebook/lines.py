"""``%hm why?`` is a question to the agent and not a call for IPython's help.

IPython takes a line that ends in ``?`` for ``object?``, magics included, and a question to an agent mostly ends so. A
transformer of our own therefore takes ``%hm …`` and ``name = %hm …`` lines first; ``%hm?`` stays IPython's. It works on
IPython's tokens, so that such a line within a string is left alone.
"""

from __future__ import annotations

import tokenize
from typing import TYPE_CHECKING, Any

from IPython.core.inputtransformer2 import EscapedCommand, MagicAssign, TokenTransformBase

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_SPACE = {tokenize.INDENT, tokenize.DEDENT}


class HmLine(TokenTransformBase):
    """One ``%hm TEXT`` line, or an assignment from one."""

    priority = 1  # before IPython's HelpEnd (5)

    def __init__(self, start: tuple[int, int], percent: tuple[int, int]) -> None:
        super().__init__(start)  # type: ignore[no-untyped-call, unused-ignore]
        self._inner = (EscapedCommand if start == percent else MagicAssign)(percent)

    @classmethod
    def find(cls, tokens_by_line: list[list[tokenize.TokenInfo]]) -> HmLine | None:
        """The first such line among the tokens, or None."""
        for line in tokens_by_line:
            first = next((i for i, token in enumerate(line) if token.type not in _SPACE), len(line))
            at = first if first < len(line) and line[first].string == "%" else _assigned(line, first)
            if at is not None and _is_ours(line, at):
                return cls(line[first].start, line[at].start)
        return None

    def transform(self, lines: list[str]) -> list[str]:
        """The lines with the magic's call in its place."""
        return list(self._inner.transform(lines))


def _assigned(line: list[tokenize.TokenInfo], first: int) -> int | None:
    """Where the value begins, if the line assigns one with ``=``."""
    depth = 0
    for i in range(first, len(line) - 1):
        string = line[i].string
        depth += (string in ("(", "[", "{")) - (string in (")", "]", "}"))
        if string == "=" and depth == 0:
            return i + 1 if line[i + 1].string == "%" else None
    return None


def _is_ours(line: list[tokenize.TokenInfo], at: int) -> bool:
    """Does ``%hm`` and then white space begin at token ``at``?"""
    if len(line) < at + 3:
        return False
    percent, name, after = line[at : at + 3]
    apart = after.start[0] == name.end[0] and after.start > name.end
    return name.string == "hm" and percent.end == name.start and apart


def _transformers(shell: InteractiveShell) -> list[Any]:
    """IPython's list of token transformers; an empty one where it keeps none (then a ``?`` at the end is its own)."""
    return getattr(getattr(shell, "input_transformer_manager", None), "token_transformers", [])


def install(shell: InteractiveShell) -> None:
    """Have the lines of ``shell`` looked at."""
    found = _transformers(shell)
    if HmLine not in found:
        found.append(HmLine)


def uninstall(shell: InteractiveShell) -> None:
    """… and no longer."""
    found = _transformers(shell)
    if HmLine in found:
        found.remove(HmLine)
