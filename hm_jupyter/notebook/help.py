"""``%hm help``: the page and its parts, made from the table of subcommands, as HTML and as plain text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from .options import Args, Option
from .show import CODE, escaped
from .subcommands import PROMPT_OPTIONS, SUBCOMMANDS, Subcommand, meant

if TYPE_CHECKING:
    from .magics import HmMagics

INTRO = (
    "An AI agent works for you in this notebook. What it wants to do that needs your leave is shown exactly as it "
    "would run, with Allow and Deny; the cell waits until the turn is over, and keeps a readable record of it."
)

EXAMPLES = (
    ("%hm why does the join drop 312 rows?", "one line is a prompt; braces, quotes and $ are sent as they are"),
    ("%%hm", "a cell is a prompt: the text below, exactly as it is"),
    ("%%hm --attach df --image fig", "send variables along: a table, a figure"),
    ("%%hm --background", "go on working while the agent does; then %hm steer, %hm approve, %hm abort"),
    ("%hm -- stop words are missing", "-- makes a prompt of what begins like a subcommand"),
    ("t = %hm TEXT", "the Turn in Python: t.text, t.tool_calls, t.diffs, t.usage (also _ and hm_jupyter.last)"),
)

BUTTONS = "■ (interrupt) stops the turn, and the agent lives on; pressed again, the cell gives up waiting."


class Page:
    """A page of help with both its forms."""

    def __init__(self, html: str, text: str) -> None:
        self.html = html
        self.text = text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.text}

    def __repr__(self) -> str:
        return self.text


def run(magics: HmMagics, args: Args, scope: Mapping[str, Any]) -> Page:
    """``%hm help [SUBCOMMAND]``"""
    if not args.words:
        return overview()
    name = args.words[0].lstrip("%")
    if name in ("hm", "prompt"):
        return overview()
    if name not in SUBCOMMANDS:
        guess = meant(name)
        hint = f"did you mean %hm help {guess}?" if guess else f"there are {', '.join(SUBCOMMANDS)}."
        raise UsageError(f"There is no subcommand {name!r}; {hint}")
    return about(SUBCOMMANDS[name])


def overview() -> Page:
    """The whole page: what a prompt is, its options, every subcommand in a line."""
    groups: dict[str, list[Subcommand]] = {}
    for sub in SUBCOMMANDS.values():
        groups.setdefault(sub.group, []).append(sub)
    examples = [(code, says) for code, says in EXAMPLES]
    options = [(o.usage, o.help) for o in PROMPT_OPTIONS]
    sections = [("Prompts", examples), ("Options of a prompt", options)]
    sections += [
        (group.capitalize(), [(f"%hm {s.name} {s.usage}".rstrip(), s.summary) for s in subs])
        for group, subs in groups.items()
    ]
    end = f"{BUTTONS} More on one: %hm help SUBCOMMAND. Settings: %hm config."
    html = f'<div style="max-width:60em"><p style="margin:0 0 8px">{escaped(INTRO)}</p>'
    html += "".join(_section(title, rows) for title, rows in sections)
    html += f'<p style="margin:8px 0 0">{escaped(end)}</p></div>'
    text = [INTRO]
    for title, rows in sections:
        text += ["", title, *_aligned(rows)]
    return Page(html, "\n".join([*text, "", end]))


def about(sub: Subcommand) -> Page:
    """All about one subcommand."""
    usage = f"%hm {sub.name} {'[options] ' if sub.options else ''}{sub.usage}".rstrip()
    summary = f"{sub.summary[0].upper()}{sub.summary[1:]}."
    parts: list[tuple[str, list[tuple[str, str]]]] = []
    if sub.options:
        parts.append(("Options", [(o.usage, _said(o)) for o in sub.options]))
    if sub.examples:
        parts.append(("For example", [(e, "") for e in sub.examples]))
    html = f'<div style="max-width:60em"><div style="{CODE};font-weight:600">{escaped(usage)}</div>'
    html += f'<p style="margin:6px 0">{escaped(summary)} {escaped(sub.details)}</p>'
    html += "".join(_section(title, rows) for title, rows in parts) + "</div>"
    text = [usage, "", f"{summary} {sub.details}".rstrip()]
    for title, rows in parts:
        text += ["", title, *_aligned(rows)]
    return Page(html, "\n".join(text))


def _said(option: Option) -> str:
    return option.help + (" (may be given again)" if option.repeat else "")


def _section(title: str, rows: list[tuple[str, str]]) -> str:
    """A heading and its rows; the code column is as wide as it needs to be and wraps on a narrow page."""
    cell = "padding:2px 20px 2px 0;vertical-align:top;text-align:left"
    body = "".join(
        f'<tr><td style="{cell};{CODE};width:38%">{escaped(code)}</td><td style="{cell}">{escaped(says)}</td></tr>'
        for code, says in rows
    )
    return (
        f'<div style="font-weight:600;margin:10px 0 2px">{escaped(title)}</div>'
        f'<table style="border-collapse:collapse;margin:0;width:100%"><tbody>{body}</tbody></table>'
    )


def _aligned(rows: list[tuple[str, str]], width: int = 34) -> list[str]:
    lines = []
    for code, says in rows:
        if len(code) > width:
            lines.append(f"  {code}")
            code = ""
        lines.append(f"  {code:<{width}}  {says}".rstrip())
    return lines
