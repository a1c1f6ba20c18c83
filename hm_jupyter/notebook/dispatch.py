"""What a ``%hm`` line means: a subcommand, a prompt, or a slip of the keyboard; and carrying it out."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import AgentNotFound, UsageError
from .options import Args, anywhere, first_word, leading
from .registry import registry
from .subcommands import PROMPT_OPTIONS, SUBCOMMANDS, Subcommand, check_prompt, too_many

if TYPE_CHECKING:
    from .magics import HmMagics


def run(magics: HmMagics, line: str, cell: str | None, scope: dict[str, Any]) -> Any:
    """Carry out one ``%hm`` line or ``%%hm`` cell; ``scope`` holds the variables it may name."""
    sub, args = parse(line, cell)
    try:
        if sub is not None:
            module, _, function = sub.run.partition(":")
            return getattr(import_module(f".{module}", __package__), function)(magics, args, scope)
        from .prompting import prompt

        return prompt(magics, args, scope)
    except AgentNotFound as error:
        raise AgentNotFound(error.magic) from error  # what to do, in the words of what was typed


def parse(line: str, cell: str | None = None) -> tuple[Subcommand | None, Args]:
    """Which subcommand, if any, and its arguments; for a prompt, ``text`` is what is sent. Raises ``UsageError``."""
    if cell is None and line.strip() in ("", "?", "-h", "--help"):
        return SUBCOMMANDS["help"], Args()
    args = leading(line, PROMPT_OPTIONS, where="%hm" if cell is None else "%%hm")
    head, rest = first_word(args.text)
    sub = SUBCOMMANDS.get(head)
    # Options of a prompt before the word say that a prompt is meant; --session goes with most subcommands too.
    if sub is not None and not args.literal and not set(args.values) - {"session"}:
        return sub, _arguments(sub, rest, cell, args.values)
    if not args.literal:
        check_prompt(args.text, names=registry.names(), calls=_waiting_calls())
    if cell is not None:
        body = cell[:-1] if cell.endswith("\n") else cell  # IPython ends every cell with a line break
        args.text = f"{args.text}\n{body}" if args.text.strip() else body
    if not args.text.strip() and "image" not in args.values:
        raise UsageError("There is nothing to send; write %hm TEXT, or put the text under %%hm.")
    return None, args


def _arguments(sub: Subcommand, rest: str, cell: str | None, given: dict[str, Any]) -> Args:
    where = f"%hm {sub.name}"
    if given and all(o.name != "session" for o in sub.options):
        raise UsageError(f"{where} has no option --session.")
    if sub.text:
        args = leading(rest, sub.options, where=where)
        if cell is not None:
            body = cell[:-1] if cell.endswith("\n") else cell
            args.text = f"{args.text}\n{body}" if args.text.strip() else body
    else:
        if cell is not None and cell.strip():
            raise UsageError(
                f"%{where} takes no text below it; write {where} {rest}".rstrip()
                + f" on a line of its own. To send all of it as a prompt write %%hm -- {sub.name} {rest}".rstrip()
            )
        try:
            args = anywhere(rest, sub.options, where=where)
        except UsageError:
            # Prose with an apostrophe is prose, not an open quote.
            if len(rest.split()) > sub.words + 2 and "--" not in rest:
                raise too_many(sub, rest.split()) from None
            raise
        if len(args.words) > sub.words:
            raise too_many(sub, rest.split())
    args.values = {**given, **args.values}
    return args


def _waiting_calls() -> list[str]:
    return [p.call_id for _, session in registry.items() for p in session.pending]
