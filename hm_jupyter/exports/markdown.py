"""A transcript as markdown that is inert in a trusted notebook and reads well as a document.

Written from our own words, from code spans and fences, and from the agent's markdown written anew
(:mod:`hm_jupyter.exports.requote`); nothing of an agent gets in as it came.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..events import Image
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
from . import asked, decided, diffs, images, safe, turn_words, wording
from .requote import code, fence, line, markdown, text
from .text import BRIEF, fold, output_lines
from .view import Turns, TurnView, select, state_of

Block = list[str]  # the lines of one markdown block
Inner = Mapping[str, list[ToolEntry]]


def _quote(words: str) -> Block:
    return ["> " + line(one) if one.strip() else ">" for one in words.strip("\n").split("\n")]


def _pictures(pics: list[Image], embed: bool, what: str = "Figure") -> list[Block]:
    out: list[Block] = []
    for picture in pics:
        uri, alt = images.data_uri(picture), text(images.caption(picture, what))
        out.append([f"![{alt}]({uri})"] if uri and embed else [f"*({alt})*"])
    return out


def _tool(tool: ToolEntry, limit: int, times: bool, embed: bool, inner: Inner) -> list[Block]:
    change, exit_code = wording.change(tool), wording.exit_code(tool)
    facts = (
        [f"+{change.added} −{change.removed}"] if tool.diffs else [f"exit {exit_code}"] if exit_code is not None else []
    )
    if tool.status != "completed" and not (tool.status == "failed" and exit_code is not None):
        facts.append(wording.label(tool))
    if times and wording.spent(tool):
        facts.append(wording.spent(tool))
    target = wording.target(tool)
    shown = code(safe.one_line(target), exact=True)
    head = f"**{text(wording.verb(tool))}** {shown}".rstrip() + (f" ({text(', '.join(facts))})" if facts else "")
    sentence = decided.decision(tool)
    if sentence and (decided.asked_of_person(tool) or limit > BRIEF):
        head += ": " + text(safe.plain(" ".join(sentence.split()), exact=True))
    out: list[Block] = [["- " + head]]
    for call in inner.get(tool.call_id, []):
        # a list in a list: each line two spaces further in, which is where the item's text begins
        out += [[("  " + s).rstrip() for s in block] for block in _tool(call, limit, times, embed, inner)]
    command = wording.command(tool)
    if "\n" in command or len(command) > 200:
        out.append(fence("\n".join(fold(safe.plain(command, exact=True).strip("\n").split("\n"), limit)), "bash"))
    elif limit > BRIEF and tool.input and not command and not tool.diffs:
        out.append(fence("\n".join(fold(wording.pretty(tool.input).split("\n"), limit)), "json"))
    for file in change.files:
        out.append(fence("\n".join(fold(str(file).split("\n"), diffs.MAX_LINES)), "diff"))
    shows = tool.status == "failed" or tool.category == "shell" or limit > BRIEF
    lines = output_lines(str(tool.output), limit) if shows and not (tool.diffs and tool.status == "completed") else []
    if lines:
        out.append(fence("\n".join(lines), "text"))
    where = wording.places(tool) if limit > BRIEF else []
    if where:
        out.append(["At " + ", ".join(code(at, exact=True) for at in where)])
    return out + _pictures(tool.images, embed)


def _user(entry: UserEntry, embed: bool, with_text: bool = True) -> list[Block]:
    out: list[Block] = []
    if with_text and entry.text.strip():
        out += [[f"**{asked.sent(entry)}:**"], _quote(entry.text)]
    if entry.attachments:
        out.append([f"*With {text(', '.join(' '.join(a.split()) for a in entry.attachments))}*"])
    return out + _pictures(entry.images, embed, "Attached picture")


def _question(entry: QuestionEntry) -> list[Block]:
    out: list[Block] = [["**The agent asked:**"], ["> " + s if s else ">" for s in markdown(entry.text).split("\n")]]
    if entry.choices:
        out.append(
            [
                f"- {line(c.label or c.value)}" + (f" ({text(' '.join(c.help.split()))})" if c.help else "")
                for c in entry.choices[:50]
            ]
        )
    if entry.url:
        out.append([f"Address: {code(entry.url, exact=True)}"])
    if entry.source:
        out.append([f"Asked by {text(safe.plain(safe.one_line(entry.source), exact=True))}."])
    if asked.asked_for(entry):
        out.append([text(asked.asked_for(entry))])
    reply = asked.reply(entry)
    if reply or (entry.status == "answered" and not entry.url):
        return [*out, [f"**{asked.answer(entry)}:**"], _quote(reply)]
    return [*out, [f"*{asked.answer(entry)}.*"]]


def _plan(entry: PlanEntry) -> list[Block]:
    boxes = {"done": "[x]", "active": "[ ] (now)", "cancelled": "[ ] (cancelled)"}
    items = []
    for item in entry.items[:200]:
        status, note = str(item.get("status")), asked.plan_note(item)
        words = text(" ".join(str(item.get("text", "")).split()))
        behind = f" ({note})" if note and note != "cancelled" else ""
        items.append(f"- {boxes.get(status, '[ ]')} {words}{behind}")
    prose = markdown(entry.markdown).split("\n") if entry.markdown.strip() else []
    head = f"**Plan** ({asked.plan_head(entry)})" if entry.removed else "**Plan**"
    return [[head], *([prose] if prose else []), *([items] if items else [])]


def _entry(entry: Entry, limit: int, times: bool, embed: bool, inner: Inner) -> list[Block]:
    if isinstance(entry, MessageEntry):
        said = [markdown(str(entry.text)).split("\n")] if str(entry.text).strip() else []
        said += _pictures(entry.images, embed, "Picture from the agent")
        return said + ([["*(cut off here)*"]] if entry.interrupted else [])
    if isinstance(entry, ToolEntry):
        return _tool(entry, limit, times, embed, inner)
    if isinstance(entry, ThoughtEntry):
        lines = markdown(str(entry.text)).split("\n") if limit > BRIEF and entry.text else []
        return [["- **Thought**"], *([[("> " + s).rstrip() for s in lines]] if lines else [])]
    if isinstance(entry, UserEntry):
        return _user(entry, embed)
    if isinstance(entry, QuestionEntry):
        return _question(entry)
    if isinstance(entry, PlanEntry):
        return _plan(entry)
    if isinstance(entry, CompactionEntry):
        head = "- **Summarised the conversation so far**" + ("" if entry.status == "done" else f" ({entry.status})")
        body = entry.error or (entry.summary if limit > BRIEF else "")
        return [[head], *([_quote(body)] if body.strip() else [])]
    if isinstance(entry, NoticeEntry):
        detail = output_lines(entry.detail, limit)
        return [
            [f"**Note:** {text(' '.join(entry.text.split()))}"],
            *([fence(chr(10).join(detail), "text")] if detail else []),
        ]
    if isinstance(entry, UnknownEntry):
        raw = fold(wording.pretty(entry.raw).split("\n"), limit)
        return [
            [f"- **Message of an unknown kind** {code(safe.one_line(entry.name, 60), exact=True)}"],
            fence(chr(10).join(raw), "json"),
        ]
    return []


def entry_blocks(entry: Entry, view: TurnView, *, limit: int, times: bool, embed: bool) -> list[Block]:
    """One entry of a turn as blocks of markdown."""
    return _entry(entry, limit, times, embed, view.inner)


def turn_blocks(
    view: TurnView,
    state: SessionState,
    *,
    limit: int = BRIEF,
    times: bool = False,
    prompt: bool = True,
    embed: bool = False,
) -> list[Block]:
    """One turn as blocks of markdown. ``embed``: pictures inside the text, as data addresses."""
    out: list[Block] = []
    if view.turn:
        head, *rest = [text(p) for p in turn_words.headline(view, state, times=times)]
        out.append([" · ".join([f"**{head}**", *rest])])
    opening = view.prompt
    for entry in view.top:
        if entry is opening and isinstance(entry, UserEntry):
            out += _user(entry, embed, prompt)
        else:
            out += _entry(entry, limit, times, embed, view.inner)
    first, rest_of = turn_words.ending(view)
    if first:
        out.append([f"**{first}** {text(' '.join(rest_of.split()))}".rstrip()])
    return [b for b in out if b]


def _row(block: Block) -> bool:
    """Is it a call or a thought that needs one line, and not an item of a plan?"""
    return len(block) == 1 and block[0].lstrip(" ").startswith("- **")


def join(blocks: list[Block]) -> str:
    """Blocks with an empty line between them; neighbouring one-line list items stay together."""
    out: list[str] = []
    before: Block = []
    for block in blocks:
        together = _row(block) and _row(before)
        if out and not together:
            out.append("")
        out += block
        before = block
    return "\n".join(out)


def fragment(
    transcript: Transcript, turns: Turns = None, *, limit: int = BRIEF, times: bool = False,
    prompts: bool | None = None, embed: bool = False,
) -> str:  # fmt: skip
    """The turns as markdown; ``prompts`` as in :func:`hm_jupyter.exports.html.fragment`."""
    shown = turns is None if prompts is None else prompts
    parts = [
        join(turn_blocks(v, state_of(transcript), limit=limit, times=times, prompt=shown or i > 0, embed=embed))
        for i, v in enumerate(select(transcript, turns))
    ]
    return "\n\n***\n\n".join(p for p in parts if p)
