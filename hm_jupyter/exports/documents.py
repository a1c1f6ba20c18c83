"""A whole session as one document: an html page, markdown, text, JSON lines. Strings only; whoever calls writes the file."""

from __future__ import annotations

from ..transcript import SessionState, Transcript
from . import jsonl, markdown, requote, safe, text, turn_words, wording
from .html import turn_html
from .style import DOCUMENT, frozen
from .view import TurnView, select, state_of


def _name(view: TurnView) -> str:
    """What a turn is called in the table of turns: the first words of its prompt."""
    prompt = view.prompt
    return safe.one_line(prompt.text, 90) if prompt and prompt.text.strip() else f"Turn {view.number}"


def _subtitle(state: SessionState, views: list[TurnView]) -> list[str]:
    parts = [state.agent, state.model, wording.number(sum(v.turn is not None for v in views), "turn")]
    used = state.usage.input + state.usage.output
    parts += [wording.tokens(used) if used else "", wording.cost(state.usage.cost), *turn_words.standing(state)]
    return [p for p in parts if p]


def document_html(transcript: Transcript, *, title: str = "", times: bool = True) -> str:
    """One self-contained page: no script, nothing fetched, light or dark as the reader's system is, printable."""
    views, state = select(transcript), state_of(transcript)
    name = title or state.title or "Agent session"
    rows, sections = [], []
    for view in views:
        head = turn_words.headline(view, state, times=times) if view.turn else []
        anchor = f"turn-{view.number}"
        if view.turn:
            tools = ", ".join(h for h in head if "tool call" in h)
            rows.append(
                f'<tr><td>{view.number}</td><td><a href="#{anchor}">{safe.markup(_name(view))}</a></td>'
                f"<td>{safe.markup(head[0] if head else '')}</td><td>{safe.markup(tools)}</td></tr>"
            )
        sections.append(f'<section id="{anchor}">{turn_html(view, state, times=times)}</section>')
    table = (
        '<table class="hm-turns"><thead><tr><th>Turn</th><th>Asked</th><th>Ended</th><th>Tools</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
        if len(rows) > 1 else ""
    )  # fmt: skip
    body = "".join(sections)
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><meta name="referrer" content="no-referrer">'
        f"<title>{safe.attribute(safe.one_line(name))}</title><style>{DOCUMENT}{frozen(body)}</style></head>\n"
        f'<body><main class="hm-root hm-frozen"><h1>{safe.markup(safe.one_line(name))}</h1>'
        f'<p class="hm-decided">{safe.markup(" · ".join(_subtitle(state, views)))}</p>{table}{body}</main></body></html>\n'
    )


def document_markdown(transcript: Transcript, *, title: str = "", times: bool = True) -> str:
    """The session as markdown, its pictures inside."""
    views, state = select(transcript), state_of(transcript)
    name = title or state.title or "Agent session"
    blocks: list[markdown.Block] = [
        [f"# {requote.text(safe.one_line(name))}"], [requote.text(" · ".join(_subtitle(state, views)))]
    ]  # fmt: skip
    for view in views:
        if view.turn:
            blocks.append([f"## {view.number}. {requote.text(_name(view))}"])
        blocks += markdown.turn_blocks(view, state, limit=text.WHOLE, times=times, embed=True)
    return markdown.join(blocks) + "\n"


def document_text(transcript: Transcript, *, title: str = "", times: bool = True) -> str:
    """The session as plain text."""
    views, state = select(transcript), state_of(transcript)
    name = safe.plain(safe.one_line(title or state.title or "Agent session"), exact=True)
    out = [name, "=" * len(name), safe.plain(" · ".join(_subtitle(state, views)))]
    for view in views:
        head = f"{view.number}. {safe.plain(_name(view))}"
        out += ["", "", head, "-" * len(head), ""] if view.turn else [""]
        out += text.turn_lines(view, state, limit=text.WHOLE, times=times)
    return "\n".join(out).rstrip("\n") + "\n"


def to_jsonl(transcript: Transcript, *, times: bool = True) -> str:
    """The session as JSON lines, for programs; see :mod:`hm_jupyter.exports.jsonl`."""
    return jsonl.lines(transcript, times=times)
