r"""An agent's markdown written anew as markdown that is inert wherever it is rendered, raw HTML on and notebook trusted.

The text is parsed and its meaning written out again: every character that could start something is escaped or an entity
(so there is no tag, no entity, no math, no role, no directive that the parser did not already see), links are
allow-listed, pictures become words, fences get a longer fence and only languages we know. Cutting pieces out of hostile
source with patterns would be the opposite: a guess about every other parser. Knows no transcript.

One trap deserves its name. JupyterLab cuts math (``$ … $``, ``\\( … \\)``, ``\begin … \end``) out of the source
*before* it reads markdown, code spans and nested fences included, up to the next blank line: a formula that begins in one
code span and ends in the next takes their backticks with it, and what followed is no longer code. So no delimiter of math
may stand in a code span (those are written as ``<code>`` with entities), in a link's address, or in a nested fence
(indented code instead, which nothing can close).
"""

from __future__ import annotations

import re
from typing import Any

from . import highlight, links, prose, safe

# ``\\`` and ``$`` as entities: JupyterLab takes math out of the source before it reads markdown; ``{`` because of MyST.
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "\\": "&#92;", "$": "&#36;", "{": "&#123;", "}": "&#125;"}
_ESCAPED = re.compile(r"[<>&\\${}`*_\[\]~|]")
_LINE_START = re.compile(r"^(\s*)([#+\-=:]|\d{1,9}(?=[.)]))")
_AT = re.compile(r"@(?=\d)")
_MATH = re.compile(r"\$|\\(?:begin|end)|\\\\[()\[\]]")


def text(value: str) -> str:
    """One line of plain text as markdown that shows exactly it."""
    value = safe.plain(value)
    value = _ESCAPED.sub(lambda m: _ENTITIES.get(m[0]) or "\\" + m[0], value)
    return _AT.sub("&#64;", value)


def line(value: str) -> str:
    """As :func:`text`, where a line begins: no heading, list or rule may start there."""
    value = text(value.replace("\n", " "))
    m = _LINE_START.match(value)
    if not m:
        return value.lstrip()
    lead = m[2]
    rest = value[m.end() :]
    return f"{lead}\\{rest}" if lead.isdigit() else f"\\{lead}{rest}"


def code(value: str, *, exact: bool = False) -> str:
    """``value`` as a code span, whatever it holds."""
    value = " ".join(safe.plain(value, exact=exact).split())
    if not value:
        return ""
    if "\\" in value or "$" in value:
        return f"<code>{text(value)}</code>"
    runs = {len(r) for r in re.findall(r"`+", value)}
    n = 1
    while n in runs:
        n += 1
    ticks = "`" * n
    pad = " " if value[0] == "`" or value[-1] == "`" else ""
    return f"{ticks}{pad}{value}{pad}{ticks}"


def fence(value: str, info: str = "", *, nested: bool = False) -> list[str]:
    """``value`` as the lines of a fenced block. Hidden characters are shown; nothing in it can close the fence."""
    value = safe.plain(value)
    if nested and _MATH.search(value):
        return ["    " + one for one in value.rstrip("\n").split("\n")]
    longest = max((len(r) for r in re.findall(r"`+", value)), default=0)
    ticks = "`" * max(3, longest + 1)
    known = info if info == "diff" else highlight.language(info)
    return [f"{ticks}{known}", *value.rstrip("\n").split("\n"), ticks]


def link(label: str, url: str) -> str:
    """A link if the address is allowed, else its words and its address in code. ``label`` is markdown already.

    Brackets in the label are entities: marked, JupyterLab's parser, takes the backslashes of brackets out of a label before
    it reads it, and an escaped picture in it would become one.
    """
    if links.allowed(url):
        words = (label or text(url)).replace("\\[", "&#91;").replace("\\]", "&#93;")
        return f"[{words}](<{url.replace('$', '%24')}>)"
    shown = code(safe.one_line(url), exact=True)
    return f"{label} ({shown})" if shown and shown.strip("`") != label else label


def _inline(tokens: list[Any], cell: bool = False) -> str:
    out: list[str] = []
    targets: list[tuple[int, str]] = []
    for token in tokens:
        kind = token.type
        if kind in ("text", "text_special", "html_inline"):
            out.append(text(token.content))
        elif kind == "code_inline":
            span = code(token.content)  # in a table a bare bar would end the cell, and with it the code
            out.append(span.replace("|", "\\|") if cell and span.startswith("`") else span)
        elif kind == "softbreak":
            out.append("\n")
        elif kind == "hardbreak":
            out.append("\n" if not out else "\\\n")
        elif kind in ("em_open", "em_close"):
            out.append("*")
        elif kind in ("strong_open", "strong_close"):
            out.append("**")
        elif kind in ("s_open", "s_close"):
            out.append("~~")
        elif kind == "link_open":
            targets.append((len(out), str(token.attrs.get("href", ""))))
        elif kind == "link_close" and targets:
            start, url = targets.pop()
            label = "".join(out[start:]).replace("\n", " ")
            out[start:] = [link(label, url)]
        elif kind == "image":
            url = str(token.attrs.get("src", ""))
            words = text(token.content.replace("\n", " ") or "picture")
            inside = bool(targets)  # a link inside a link is not one
            out.append(f"{words if inside or not links.allowed(url) else link(words, url)} (picture, not loaded)")
    return "".join(out)


def _lines(inline: str) -> list[str]:
    """Inline markdown as lines, none of which begins something by itself."""
    out = []
    for one in inline.split("\n"):
        m = _LINE_START.match(one)
        if m:
            one = f"{m[2]}\\{one[m.end() :]}" if m[2].isdigit() else f"\\{m[2]}{one[m.end() :]}"
        out.append(one.strip(" \t"))
    return out


def _indent(lines: list[str], first: str, rest: str) -> list[str]:
    return [
        ((first if i == 0 else rest) + s).rstrip() if s else (first if i == 0 else rest).rstrip()
        for i, s in enumerate(lines)
    ]


def _blocks(nodes: list[Any], tight: bool = False, nested: bool = False) -> list[str]:
    out: list[str] = []
    for node in nodes:
        block = _block(node, nested)
        if not block:
            continue
        if out and not (tight and node.type not in ("code_block", "fence")):
            out.append("")
        out += block
    return out


def _cells(row: Any) -> list[str]:
    return [
        " ".join(_inline(cell.children[0].token.children or [], cell=True).split("\n")) if cell.children else ""
        for cell in row.children
    ]


def _table(node: Any) -> list[str]:
    rows = [_cells(row) for part in node.children for row in part.children]
    if not rows:
        return []
    aligns = [str(cell.attrs.get("style", "")) for cell in node.children[0].children[0].children]
    rule = ["---:" if "right" in a else ":---:" if "center" in a else "---" for a in aligns]
    return [f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:])]


def _block(node: Any, nested: bool) -> list[str]:
    kind = node.type
    if kind == "paragraph":
        return _lines(_inline(node.children[0].token.children or [])) if node.children else []
    if kind == "heading":
        inline = _inline(node.children[0].token.children or []) if node.children else ""
        return [f"{'#' * min(int(node.tag[1:]) + 2, 6)} {' '.join(inline.split())}"]
    if kind in ("fence", "code_block"):
        return fence(node.content, node.info or "", nested=nested)
    if kind == "blockquote":
        return _indent(_blocks(node.children, nested=True), "> ", "> ")
    if kind in ("bullet_list", "ordered_list"):
        out: list[str] = []
        number = int(node.attrs.get("start", 1)) if kind == "ordered_list" else 0
        for item in node.children:
            mark = f"{number}. " if kind == "ordered_list" else "- "
            number += 1
            tight = all(c.hidden for c in item.children if c.type == "paragraph")
            if out and not tight:
                out.append("")
            out += _indent(_blocks(item.children, tight, nested=True) or [""], mark, " " * len(mark))
        return out
    if kind == "hr":
        return ["***"]
    if kind == "table":
        return _table(node)
    return _lines(text(node.content)) if node.content else []


def markdown(value: str) -> str:
    """The agent's markdown ``value``, written anew. Too long or too odd for the parser: a fenced block of its text."""
    if len(value) > prose.MAX:
        return "\n".join(fence(value[: prose.MAX_PLAIN]))
    from markdown_it.tree import SyntaxTreeNode

    try:
        return "\n".join(_blocks(SyntaxTreeNode(prose.parser().parse(value)).children))
    except (ValueError, RecursionError, IndexError):
        return "\n".join(fence(value))
