"""Rows of the frozen cell: one tool call, one thought, several small steps. Native ``details``, so folding needs no script.

A row's text reads as a sentence where classes and drawings are gone: separators and states are in ``.hm-sr``.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..events import Image
from ..transcript import Entry, ThoughtEntry, ToolEntry
from . import ansi, decided, diffs, images, prose, safe, turn_words, wording
from .icons import icon

HEAD, TAIL = 3, 4  # lines of a long output before and after its fold
FOLD_OVER = 24
MAX_LINES = 2_000
MAX_LINE = 4_000  # characters of one line of output
MAX_OUTPUT = 1_000_000  # characters of one output that are looked at
_FOLDED_INPUT = 24


def row(
    glyph: str, verb: str, target: str = "", *, state: str = "", meta: list[str] | None = None, detail: str = "",
    opened: bool = False, css: str = "", prose_target: bool = False, sub: str = "",
) -> str:  # fmt: skip
    """A row. ``verb``, ``target`` and ``state`` are text; ``meta`` and ``detail`` are HTML of ours."""
    obj = f' <code class="hm-obj{" hm-obj-text" if prose_target else ""}">{target}</code>' if target else ""
    facts = '<span class="hm-sr">, </span>'.join(f"<span>{m}</span>" for m in meta or [])
    said = f'<span class="hm-sr"> ({state}) </span>' if state else '<span class="hm-sr"> · </span>' if meta else " "
    main = f'<span class="hm-row-main"><span class="hm-verb">{safe.markup(verb)}</span>{obj}</span>'
    main += f'{said}<span class="hm-meta">{facts}</span>'
    css = f"hm-tool {css}".strip()
    if not detail:
        return f'<div class="{css}"><div class="hm-row hm-row-static">{icon(*glyph.split())}{main}</div></div>'
    return (
        f'<details class="{css}"{" open" if opened else ""}><summary class="hm-row">{icon(*glyph.split())}{main}'
        f'{icon("chev", "hm-chev")}</summary><div class="hm-detail{sub}"><div class="hm-agent">{detail}</div></div></details>'
    )


def _pre(lines: list[str]) -> str:
    return f'<pre class="hm-pre hm-out">{chr(10).join(lines)}</pre>'


def output(text: str) -> str:
    """Terminal output in a well; when long its first and last lines, the rest folded between them."""
    cut = len(text) - MAX_OUTPUT
    lines = ansi.lines(text[:MAX_OUTPUT].strip("\n"))
    if cut > 0:
        lines.append(f"and {cut:,} more characters")
    if len(lines) <= FOLD_OVER:
        return f'<div class="hm-well">{_pre(lines)}</div>'
    middle = lines[HEAD:-TAIL]
    folded = middle[:MAX_LINES]
    if len(middle) > MAX_LINES:
        folded.append(f"and {len(middle) - MAX_LINES:,} more lines, not kept here")
    return (
        f'<div class="hm-well">{_pre(lines[:HEAD])}<details><summary class="hm-fold">+{len(middle):,} lines</summary>'
        f"{_pre(folded)}</details>{_pre(lines[-TAIL:])}</div>"
    )


def pictures(pics: list[Image], what: str = "Figure") -> str:
    """Pictures whose bytes are pictures; the others are named."""
    out = []
    for n, picture in enumerate(pics, 1):
        alt = images.caption(picture, what if len(pics) == 1 else f"{what} {n}")
        uri = images.data_uri(picture)
        out.append(
            f'<p><img src="{uri}" alt="{safe.attribute(alt)}"></p>' if uri
            else '<p class="hm-decided">A picture that is none: its bytes are not PNG, JPEG, GIF or WebP.</p>'
        )  # fmt: skip
    return "".join(out)


def _given(tool: ToolEntry) -> str:
    """What the call was given, where the row does not already show it whole."""
    command = wording.command(tool)
    if command:
        if len(command) <= 60 and "\n" not in command and not safe.has_hidden(command):
            return ""
        lines = command.rstrip("\n").split("\n")
        shown = "\n".join(
            ("$ " if i == 0 else "  ") + safe.markup(line, exact=True) for i, line in enumerate(lines[:MAX_LINES])
        )
        return f'<div class="hm-well"><pre class="hm-pre hm-out">{shown}</pre></div>'
    if not tool.input or tool.diffs or tool.category == "shell":
        return ""
    simple = isinstance(tool.input, dict) and len(tool.input) == 1
    if simple and len(wording.target(tool)) <= 60 and "\n" not in wording.target(tool):
        return ""
    lines = wording.pretty(tool.input).split("\n")
    shown = "\n".join(safe.markup(line[:MAX_LINE], exact=True) for line in lines[:_FOLDED_INPUT])
    more = f"\nand {len(lines) - _FOLDED_INPUT:,} more lines" if len(lines) > _FOLDED_INPUT else ""
    return f'<div class="hm-well"><pre class="hm-pre hm-out">{shown}{more}</pre></div>'


def _places(tool: ToolEntry) -> str:
    where = wording.places(tool)
    shown = ", ".join(f"<code>{safe.markup(at, exact=True)}</code>" for at in where)
    return f'<div class="hm-decided">At {shown}</div>' if where else ""


_GLYPHS = {"completed": "check hm-glyph", "failed": "cross hm-glyph-bad", "running": "todo hm-glyph"}


def stat(added: int, removed: int) -> str:
    """``+5 −2``, as words and signs before colours."""
    return f'<span class="hm-ok-text">+{added:,}</span> <span class="hm-bad-text">−{removed:,}</span>'


Inner = Mapping[str, list[ToolEntry]]


def tool_row(tool: ToolEntry, *, times: bool = False, inner: Inner | None = None) -> str:
    """A tool call. Edits and denials are open; a failed call stays closed, with its exit code in the row.

    ``inner``: the calls of sub-agents (:attr:`.view.TurnView.inner`); they stand inside its row.
    """
    state, change, code = wording.label(tool), wording.change(tool), wording.exit_code(tool)
    sentence = decided.decision(tool)
    text = str(tool.output)
    meta = []
    if tool.diffs:
        meta.append(stat(change.added, change.removed))
    elif code is not None:
        meta.append(f'<span class="hm-bad-text">exit {code}</span>' if tool.status == "failed" else f"exit {code}")
    elif tool.status == "failed":
        meta.append('<span class="hm-bad-text">failed</span>')
    if tool.status not in ("completed", "failed"):
        meta.append(state)
    calls = (inner or {}).get(tool.call_id, [])
    if calls:
        meta.append(wording.number(len(calls), "call"))
    if times and wording.spent(tool):
        meta.append(wording.spent(tool))
    if len(text) > 400 and code is None and text.strip().count("\n") >= FOLD_OVER and tool.status == "completed":
        meta.append(wording.number(text.strip().count("\n") + 1, "line"))
    parts = [
        f'<div class="hm-decided">{safe.markup(sentence, exact=True)}</div>'
        if sentence and decided.asked_of_person(tool)
        else "",
        _given(tool),
        _places(tool),
        f'<div class="hm-nest">{"".join(tool_row(c, times=times, inner=inner) for c in calls)}</div>' if calls else "",
        "".join(diffs.markup(f) for f in change.files),
        output(text) if text.strip() and not (tool.diffs and tool.status == "completed") else "",
        pictures(tool.images),
        f'<div class="hm-decided">{safe.markup(sentence, exact=True)}</div>'
        if sentence and not decided.asked_of_person(tool)
        else "",
    ]
    denied = tool.status == "denied" or (tool.decision is not None and tool.decision.outcome == "denied")
    plain_words = tool.category not in ("shell", "read", "edit", "search", "fetch")
    return row(
        _GLYPHS.get(tool.status, "off hm-glyph"), wording.verb(tool),
        safe.markup(safe.one_line(wording.target(tool)), exact=True),
        state="finished" if tool.status == "completed" else state if tool.status == "failed" else "",
        meta=meta, detail="".join(parts), opened=denied or bool(tool.diffs) or bool(tool.images),
        css="hm-tool-bad" if tool.status == "failed" else "", prose_target=plain_words,
    )  # fmt: skip


def thought_row(thought: ThoughtEntry, *, times: bool = False) -> str:
    """The agent's thinking, closed."""
    meta = [wording.spent(thought)] if times and wording.spent(thought) else []
    detail = f'<div class="hm-think hm-md">{prose.render(str(thought.text))}</div>' if thought.text else ""
    return row("thought hm-glyph", "Thought", meta=meta, detail=detail)


def steps_row(entries: list[Entry], *, times: bool = False) -> str:
    """Several small steps as one closed row, each with its own fold inside."""
    inner = "".join(
        thought_row(e, times=times) if isinstance(e, ThoughtEntry) else tool_row(e, times=times)
        for e in entries if isinstance(e, (ThoughtEntry, ToolEntry))
    )  # fmt: skip
    return row(
        "check hm-glyph",
        turn_words.summary(entries),
        meta=[wording.number(len(entries), "step")],
        detail=inner,
        sub=" hm-nest",
    )
