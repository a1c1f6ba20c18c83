"""A whole session as one document: an html page, markdown, text, JSON lines. Strings only; whoever calls writes the file."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

from ..transcript import SessionState, Transcript
from . import jsonl, markdown, requote, safe, text, turn_words, wording
from .html import turn_html
from .style import DOCUMENT, frozen
from .view import TurnView, select, state_of


def name_of(view: TurnView) -> str:
    """What a turn is called in the table of turns: the first words of its prompt."""
    prompt = view.prompt
    return safe.one_line(prompt.text, 90) if prompt and prompt.text.strip() else f"Turn {view.number}"


def heading(state: SessionState, views: list[TurnView], title: str = "") -> str:
    """What the whole is called: as was asked for, as the agent calls it, else by its first prompt.

    An agent may name its session only later, or never; its own name would say nothing of what was done.
    """
    first = next((v for v in views if v.turn), None)
    return safe.one_line(title or state.title or (name_of(first) if first and first.prompt else "") or "Agent session")


def _day(views: list[TurnView], times: bool) -> str:
    """The day (UTC) of the session's turns: ``2026-11-06``, or from one to another."""
    days = [
        datetime.fromtimestamp(at, timezone.utc).date().isoformat()
        for v in views if v.turn for at in (v.turn.started, v.turn.ended) if at and 0 < at < 4e9
    ]  # fmt: skip
    if not times or not days:
        return ""
    first, last = min(days), max(days)
    return first if first == last else f"{first} to {last}"


def facts(state: SessionState, views: list[TurnView], times: bool) -> list[str]:
    """What stands under the title: agent, model, day, turns, tokens, cost."""
    model = "/".join(x for x in (state.provider, state.model) if x)
    parts = [state.agent, model, _day(views, times), wording.number(sum(v.turn is not None for v in views), "turn")]
    used = state.usage.input + state.usage.output
    parts += [wording.tokens(used) if used else "", wording.cost(state.usage.cost), *turn_words.standing(state)]
    return [p for p in parts if p]


def taken_out(redacted: Sequence[str]) -> str:
    """What a reader is told of what is not there: "Taken out as secret: 2 anthropic key." """
    return f"Taken out as secret: {', '.join(redacted)}." if redacted else ""


def _row(view: TurnView, head: list[str]) -> str:
    """A turn in the table of turns."""
    usage = view.turn.usage if view.turn else None
    used = (
        wording.tokens(usage.input + usage.output).removesuffix(" tokens")
        if usage and usage.input + usage.output
        else ""
    )
    cells = [
        (str(view.number), ""),
        (f'<a href="#turn-{view.number}">{safe.markup(name_of(view))}</a>', ""),
        (safe.markup(head[0] if head else ""), ' class="hm-bad-text"' if head and head[0] == "Failed" else ""),
        (str(len(view.tools)) if view.tools else "", ""),
        (used, ""),
        (safe.markup(wording.cost(usage.cost)) if usage else "", ""),
    ]
    return "<tr>" + "".join(f"<td{css}>{cell}</td>" for cell, css in cells) + "</tr>"


_HEADS = ("Turn", "Asked", "Ended", "Calls", "Tokens", "Cost")


def _table(rows: list[str]) -> str:
    heads = "".join(f'<th scope="col">{h}</th>' for h in _HEADS)
    return (
        '<nav aria-label="Turns"><table class="hm-turns"><thead><tr>'
        f"{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></nav>"
    )


def document_html(transcript: Transcript, *, title: str = "", times: bool = True, redacted: Sequence[str] = ()) -> str:
    """One self-contained page: no script, nothing fetched, light or dark as the reader's system is, printable."""
    views, state = select(transcript), state_of(transcript)
    name = heading(state, views, title)
    rows, sections = [], []
    for view in views:
        head = turn_words.headline(view, state, times=times) if view.turn else []
        number = (
            f'<div class="hm-no"><a class="hm-self" href="#turn-{view.number}">Turn {view.number}</a></div>'
            if view.turn
            else ""
        )
        if view.turn:
            rows.append(_row(view, head))
        sections.append(
            f'<section id="turn-{view.number}" aria-label="Turn {view.number}">{number}'
            f"{turn_html(view, state, times=times)}</section>"
        )
    table = _table(rows) if len(rows) > 1 else ""
    body = "".join(sections)
    note = f'<p class="hm-taken">{safe.markup(taken_out(redacted))}</p>' if redacted else ""
    about = "".join(f"<span>{safe.markup(p)}</span>" for p in facts(state, views, times))
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><meta name="referrer" content="no-referrer">'
        f"<title>{safe.attribute(name)}</title><style>{DOCUMENT}{frozen(body)}</style></head>\n"
        f'<body><main class="hm-root hm-frozen"><header><h1>{safe.markup(name)}</h1>'
        f'<p class="hm-facts">{about}</p>{note}</header>{table}{body}</main></body></html>\n'
    )


def document_markdown(
    transcript: Transcript, *, title: str = "", times: bool = True, redacted: Sequence[str] = ()
) -> str:
    """The session as markdown, its pictures inside."""
    views, state = select(transcript), state_of(transcript)
    name = heading(state, views, title)
    blocks: list[markdown.Block] = [
        [f"# {requote.text(name)}"], [requote.text(" · ".join(facts(state, views, times)))]
    ]  # fmt: skip
    if redacted:
        blocks.append([requote.text(taken_out(redacted))])
    for view in views:
        if view.turn:
            blocks.append([f"## {view.number}. {requote.text(name_of(view))}"])
        blocks += markdown.turn_blocks(view, state, limit=text.WHOLE, times=times, embed=True)
    return markdown.join(blocks) + "\n"


def document_text(transcript: Transcript, *, title: str = "", times: bool = True, redacted: Sequence[str] = ()) -> str:
    """The session as plain text."""
    views, state = select(transcript), state_of(transcript)
    name = safe.plain(heading(state, views, title), exact=True)
    out = [name, "=" * len(name), safe.plain(" · ".join(facts(state, views, times)))]
    out += [taken_out(redacted)] if redacted else []
    for view in views:
        head = f"{view.number}. {safe.plain(name_of(view))}"
        out += ["", "", head, "-" * len(head), ""] if view.turn else [""]
        out += text.turn_lines(view, state, limit=text.WHOLE, times=times)
    return "\n".join(out).rstrip("\n") + "\n"


def to_jsonl(transcript: Transcript, *, times: bool = True) -> str:
    """The session as JSON lines, for programs; see :mod:`hm_jupyter.exports.jsonl`."""
    return jsonl.lines(transcript, times=times)
