"""A transcript as HTML that reads well everywhere and does nothing anywhere: the frozen cell.

One markup for all viewers (ui reference, "Frozen output"). With the stylesheet, which comes along, it looks like the
live view at rest; where a viewer drops classes, styles and drawings it is still a readable document, because every
separator and state is text. No script, no id, no control, nothing fetched.
"""

from __future__ import annotations

import re

from ..transcript import (
    CompactionEntry,
    Entry,
    MessageEntry,
    NoticeEntry,
    PlanEntry,
    QuestionEntry,
    SessionState,
    ThoughtEntry,
    ToolEntry,
    Transcript,
    UnknownEntry,
    UserEntry,
)  # fmt: skip
from . import asked, html_tool, prose, safe, turn_words, wording
from .icons import icon
from .style import frozen
from .view import Turns, TurnView, runs, select, state_of

_DOT = '<span class="hm-sr"> · </span>'


def _words(text: str) -> str:
    """A person's or our own words: no markdown, line breaks kept."""
    return safe.markup(text).replace("\n", "<br>")


def _say(inner: str, css: str = "") -> str:
    return f'<div class="hm-say"><div class="hm-md hm-agent{css}">{inner}</div></div>'


def _message(entry: MessageEntry) -> str:
    text = str(entry.text)
    cut = '<p class="hm-decided">(cut off here)</p>' if entry.interrupted else ""
    pictures = html_tool.pictures(entry.images, "Picture from the agent")
    return _say(prose.render(text) + pictures + cut) if text.strip() or pictures or cut else ""


def _you(entry: UserEntry, *, with_text: bool = True) -> str:
    extra = f'<div class="hm-you-by">With {_words(", ".join(entry.attachments))}</div>' if entry.attachments else ""
    extra += html_tool.pictures(entry.images, "Attached picture")
    text = f'<div class="hm-you-text">{_words(entry.text)}</div>' if with_text and entry.text else ""
    if not text and not extra:
        return ""
    by = asked.sent(entry) if with_text else "Sent with your message"
    by = f'<div class="hm-you-by">{by}<span class="hm-sr">:</span></div>'
    return f'<div class="hm-you">{icon("steer", "hm-glyph")}<div>{by}{text}{extra}</div></div>'


def _question(entry: QuestionEntry) -> str:
    answered = entry.status == "answered"
    title = safe.one_line(re.sub(r"[*_`#]", "", entry.text))
    choices = "".join(
        f"<li>{safe.markup(c.label or c.value)}{f' ({safe.markup(c.help)})' if c.help else ''}</li>"
        for c in entry.choices[:50]
    )
    body = prose.render(entry.text) if title != entry.text.strip() else ""
    body += f"<ul>{choices}</ul>" if choices else ""
    body += f"<p>Address: <code>{safe.markup(entry.url, exact=True)}</code></p>" if entry.url else ""
    body += f"<p>Asked by {safe.markup(safe.one_line(entry.source), exact=True)}.</p>" if entry.source else ""
    body += f"<p>{safe.markup(asked.asked_for(entry))}</p>" if asked.asked_for(entry) else ""
    replied = asked.reply(entry)
    said = asked.answer(entry) + (":" if replied or (answered and not entry.url) else ".")
    reply = f'<div class="hm-quote">{_words(replied)}</div>' if replied else ""
    body = f'<div class="hm-md">{body}</div>' if body else ""
    return html_tool.row(
        "ask hm-glyph",
        "Asked",
        safe.markup(title),
        meta=["answered" if answered else entry.status],
        detail=f'{body}<div><div class="hm-decided">{said}</div>{reply}</div>',
        opened=True,
        prose_target=True,
    )


_ITEM = {"done": ("check", "done"), "active": ("now", "now"), "cancelled": ("off", "cancelled")}


def _plan(entry: PlanEntry) -> str:
    items = "".join(
        f'<li{" class=hm-now" if i.get("status") == "active" else ""}>{icon(glyph)}<span><span class="hm-sr">({word}) </span>'
        f"{_words(str(i.get('text', '')))}{f' ({note})' if note else ''}</span></li>"
        for i in entry.items[:200]
        for glyph, word in [_ITEM.get(str(i.get("status")), ("todo", "to do"))]
        for note in [asked.plan_note(i)]
    )
    detail = f'<div class="hm-md">{prose.render(entry.markdown)}</div>' if entry.markdown.strip() else ""
    detail += f'<ul class="hm-plan">{items}</ul>' if items else ""
    glyph = "off hm-glyph" if entry.removed else "now hm-glyph"
    return html_tool.row(glyph, "Plan", asked.plan_head(entry), detail=detail, prose_target=True)


def _compaction(entry: CompactionEntry) -> str:
    words = {"done": "", "running": "running", "failed": "failed", "interrupted": "interrupted"}.get(entry.status, "")
    detail = f'<div class="hm-md">{prose.render(entry.summary)}</div>' if entry.summary else ""
    detail += f'<div class="hm-decided">{_words(entry.error)}</div>' if entry.error else ""
    return html_tool.row(
        "fold hm-glyph", "Summarised the conversation so far", meta=[words] if words else [], detail=detail
    )


def _notice(entry: NoticeEntry) -> str:
    first, dot, rest = entry.text.partition(". ")
    detail = (
        f"<details><summary>Details</summary>{html_tool.output(entry.detail)}</details>" if entry.detail.strip() else ""
    )
    glyph = "info" if entry.level == "info" else "warn"
    return (
        f'<div class="hm-note hm-note-{"info" if entry.level == "info" else "warn"}">{icon(glyph)}'
        f"<div><b>{_words(first + dot.strip())}</b> {_words(rest)}{detail}</div></div>"
    )


def _unknown(entry: UnknownEntry) -> str:
    return html_tool.row(
        "info hm-glyph", "Message of an unknown kind", safe.markup(safe.one_line(entry.name, 60), exact=True),
        detail=html_tool.output(wording.pretty(entry.raw)),
    )  # fmt: skip


def _entry(entry: Entry, times: bool, inner: html_tool.Inner) -> str:
    if isinstance(entry, MessageEntry):
        return _message(entry)
    if isinstance(entry, ToolEntry):
        return html_tool.tool_row(entry, times=times, inner=inner)
    if isinstance(entry, ThoughtEntry):
        return html_tool.thought_row(entry, times=times)
    if isinstance(entry, UserEntry):
        return _you(entry)
    if isinstance(entry, QuestionEntry):
        return _question(entry)
    if isinstance(entry, PlanEntry):
        return _plan(entry)
    if isinstance(entry, CompactionEntry):
        return _compaction(entry)
    if isinstance(entry, NoticeEntry):
        return _notice(entry)
    return _unknown(entry) if isinstance(entry, UnknownEntry) else ""


def _ending(view: TurnView) -> str:
    first, rest = turn_words.ending(view)
    if not first:
        return ""
    stopped = view.turn is not None and view.turn.status != "failed"
    return (
        f'<div class="hm-end">{icon("stop" if stopped else "cross", "hm-glyph" if stopped else "hm-glyph-bad")}'
        f"<div><b>{first}</b> {_words(rest)}</div></div>"
    )


def turn_html(view: TurnView, state: SessionState, *, times: bool = False, prompt: bool = True) -> str:
    """One turn: header line, its entries, its ending. ``prompt`` false: the message that began it is shown above already."""
    head = [safe.markup(p) for p in turn_words.headline(view, state, times=times)] if view.turn else []
    parts = (
        [f'<div class="hm-sum">{_DOT.join([f"<b>{head[0]}</b>"] + [f"<span>{h}</span>" for h in head[1:]])}</div>']
        if head
        else []
    )
    opening = view.prompt
    parts.append('<div class="hm-log">')

    def shared(entry: Entry) -> bool:
        return turn_words.small(entry) and getattr(entry, "call_id", "") not in view.inner

    for run in runs(view.top, shared, 3):
        if len(run) > 1:
            parts.append(html_tool.steps_row(run, times=times))
        elif run[0] is opening and isinstance(run[0], UserEntry):
            parts.append(_you(run[0], with_text=prompt))
        else:
            parts.append(_entry(run[0], times, view.inner))
    return "".join([*parts, _ending(view), "</div>"])


def fragment(transcript: Transcript, turns: Turns = None, *, times: bool = False, prompts: bool | None = None) -> str:
    """The turns as one ``<div>``, stylesheet included.

    ``prompts``: show the message that began the first turn; by default only when all of the session is shown, since a
    cell's own text is that message.
    """
    shown = turns is None if prompts is None else prompts
    views = select(transcript, turns)
    body = "".join(turn_html(v, state_of(transcript), times=times, prompt=shown or i > 0) for i, v in enumerate(views))
    # mathjax_ignore: "$5 and $6" is no formula, and a formula can carry links
    return f'<style>{frozen(body)}</style><div class="hm-root hm-frozen mathjax_ignore tex2jax_ignore">{body}</div>'
