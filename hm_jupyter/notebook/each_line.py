"""Each ``%hm`` line of a cell shows what it has to show, not the last one alone.

IPython shows the value of a cell's last line only, and ``%hm agents`` above ``%hm options`` would say nothing. A
transformer of the cell's syntax tree has every such line that stands by itself, and is not the last, show its answer. The
last is IPython's, and so is a line whose value is assigned: ``x = %hm options`` keeps it and shows nothing.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_SHOW = ast.parse(f"__import__({__name__!r}, fromlist=['show']).show", mode="eval").body


class EachLine(ast.NodeTransformer):
    """Puts ``show(…)`` around the calls of ``%hm`` whose value nobody would see."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """All of the cell but its last line."""
        last = node.body[-1] if node.body else None
        node.body = [line if line is last and _is_ours(line) else self.visit(line) for line in node.body]
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        """A line by itself."""
        if _is_ours(node):
            call = ast.Call(func=_SHOW, args=[node.value], keywords=[])
            return ast.fix_missing_locations(ast.copy_location(ast.Expr(ast.copy_location(call, node)), node))
        return node


def _is_ours(node: ast.AST) -> bool:
    """Is it ``get_ipython().run_line_magic('hm', …)``?"""
    call = node.value if isinstance(node, ast.Expr) else None
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "run_line_magic"
        and bool(call.args)
        and isinstance(call.args[0], ast.Constant)
        and call.args[0].value == "hm"
    )


def show(value: Any) -> None:
    """Show a table or a page of help; a turn has shown itself."""
    from IPython.display import display

    from .help import Page
    from .show import Table

    if isinstance(value, (Table, Page)):
        display(value)


def install(shell: InteractiveShell) -> None:
    """Have the cells of ``shell`` looked at."""
    uninstall(shell)
    shell.ast_transformers.append(EachLine())


def uninstall(shell: InteractiveShell) -> None:
    """… and no longer."""
    shell.ast_transformers[:] = [t for t in shell.ast_transformers if type(t).__name__ != EachLine.__name__]
