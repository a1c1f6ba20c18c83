"""A transcript as plain text: for terminals, diffs of notebooks, logs. Deterministic: no times, no ids, no absolute paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
from . import ansi, asked, decided, images, safe, turn_words, wording
from .view import Turns, TurnView, select, state_of

BRIEF = 24  # lines of an output in the text of one cell
WHOLE = 2_000  # … and in a document
_MARKS = {"completed": "+", "failed": "x", "denied": "-", "skipped": "-", "interrupted": "-"}


def fold(lines: list[str], limit: int) -> list[str]:
    """At most ``limit`` lines: the first few, how many are left out, the last few."""
    if len(lines) <= limit:
        return lines
    tail = 4
    head = 3 if limit <= BRIEF else limit - tail
    return [*lines[:head], f"… {len(lines) - head - tail:,} more lines …", *lines[-tail:]]


def output_lines(text: str, limit: int) -> list[str]:
    """Terminal output without its escapes, folded."""
    lines = [safe.plain(line).rstrip() for line in ansi.strip(text[:1_000_000]).strip("\n").split("\n")]
    return fold(lines, limit) if any(lines) else []


def _indent(lines: list[str], by: str = "    ") -> Iterator[str]:
    for line in lines:
        yield (by + line).rstrip()


def _prose(text: str) -> list[str]:
    return [safe.plain(line).rstrip() for line in text.strip("\n").split("\n")]


def _tool(
    tool: ToolEntry, limit: int, times: bool, inner: Mapping[str, list[ToolEntry]] | None = None
) -> Iterator[str]:
    change, code = wording.change(tool), wording.exit_code(tool)
    facts = [f"+{change.added} -{change.removed}"] if tool.diffs else [f"exit {code}"] if code is not None else []
    if tool.status != "completed" and not (tool.status == "failed" and code is not None):
        facts.append(wording.label(tool))
    if times and wording.spent(tool):
        facts.append(wording.spent(tool))
    target = safe.plain(safe.one_line(wording.target(tool)), exact=True)
    head = f"{_MARKS.get(tool.status, '.')} {safe.plain(wording.verb(tool))} {target}".rstrip()
    yield head + (f"  ({', '.join(facts)})" if facts else "")
    sentence = decided.decision(tool)
    if sentence and (decided.asked_of_person(tool) or limit > BRIEF):
        yield from _indent(safe.plain(sentence, exact=True).split("\n"))
    command = wording.command(tool)
    if "\n" in command or len(command) > 200:
        yield from _indent(fold([safe.plain(s, exact=True) for s in command.strip("\n").split("\n")], limit), "    $ ")
    elif limit > BRIEF and tool.input and not command and not tool.diffs:
        yield from _indent(fold([safe.plain(s, exact=True) for s in wording.pretty(tool.input).split("\n")], limit))
    for file in change.files:
        yield from _indent(fold([safe.plain(s) for s in str(file).split("\n")], max(limit, 200)))
    shows = tool.status == "failed" or tool.category == "shell" or limit > BRIEF
    if shows and not (tool.diffs and tool.status == "completed"):
        yield from _indent(output_lines(str(tool.output), limit), "    | ")
    if limit > BRIEF and wording.places(tool):
        yield f"    At {safe.plain(', '.join(wording.places(tool)), exact=True)}"
    yield from (f"    [{images.caption(i)}]" for i in tool.images)
    for call in (inner or {}).get(tool.call_id, []):
        yield from _indent(list(_tool(call, limit, times, inner)))


def _user(entry: UserEntry, with_text: bool = True) -> Iterator[str]:
    if with_text and entry.text:
        lines = _prose(entry.text)
        yield f"> {asked.sent(entry)}: {lines[0]}"
        yield from _indent(lines[1:], "> ")
    if entry.attachments:
        yield f"> With {safe.plain(', '.join(entry.attachments))}"
    yield from (f"> [{images.caption(i, 'Attached picture')}]" for i in entry.images)


def _question(entry: QuestionEntry) -> Iterator[str]:
    lines = _prose(entry.text)
    yield f"? {lines[0]}"
    yield from _indent(lines[1:], "  ")
    for choice in entry.choices[:50]:
        yield f"    - {safe.plain(choice.label or choice.value)}" + (
            f" ({safe.plain(choice.help)})" if choice.help else ""
        )
    if entry.url:
        yield f"    Address: {safe.plain(entry.url, exact=True)}"
    if entry.source:
        yield f"    Asked by {safe.plain(safe.one_line(entry.source), exact=True)}."
    if asked.asked_for(entry):
        yield f"    {safe.plain(asked.asked_for(entry))}"
    reply = asked.reply(entry)
    said = asked.answer(entry)
    yield from _indent(_prose(f"{said}:\n{reply}" if "\n" in reply else f"{said}: {reply}" if reply else f"{said}."))


def _plan(entry: PlanEntry) -> Iterator[str]:
    head = asked.plan_head(entry)
    yield f"Plan ({head})" if entry.removed else "Plan"
    yield from _indent(_prose(entry.markdown) if entry.markdown.strip() else [])
    for item in entry.items[:200]:
        mark = {"done": "x", "active": ">", "cancelled": "-"}.get(str(item.get("status")), " ")
        note = asked.plan_note(item)
        yield f"    [{mark}] {safe.plain(safe.one_line(str(item.get('text', ''))))}" + (f" ({note})" if note else "")


def _entry(entry: Entry, limit: int, times: bool, inner: Mapping[str, list[ToolEntry]]) -> Iterator[str]:
    if isinstance(entry, MessageEntry):
        yield from _prose(str(entry.text)) if entry.text else []
        yield from (f"[{images.caption(i, 'Picture from the agent')}]" for i in entry.images)
        if entry.interrupted:
            yield "(cut off here)"
    elif isinstance(entry, ToolEntry):
        yield from _tool(entry, limit, times, inner)
    elif isinstance(entry, ThoughtEntry):
        yield "+ Thought"
        if limit > BRIEF:
            yield from _indent(_prose(str(entry.text)))
    elif isinstance(entry, UserEntry):
        yield from _user(entry)
    elif isinstance(entry, QuestionEntry):
        yield from _question(entry)
    elif isinstance(entry, PlanEntry):
        yield from _plan(entry)
    elif isinstance(entry, CompactionEntry):
        yield "+ Summarised the conversation so far" + ("" if entry.status == "done" else f" ({entry.status})")
        yield from _indent(
            _prose(entry.error or (entry.summary if limit > BRIEF else "")) if entry.error or entry.summary else []
        )
    elif isinstance(entry, NoticeEntry):
        yield from _indent(_prose(entry.text), "! ")
        yield from _indent(output_lines(entry.detail, limit), "    | ")
    elif isinstance(entry, UnknownEntry):
        yield f". Message of an unknown kind: {safe.plain(safe.one_line(entry.name, 60), exact=True)}"
        if limit > BRIEF:
            yield from _indent(fold(_prose(wording.pretty(entry.raw)), limit))


def turn_lines(
    view: TurnView, state: SessionState, *, limit: int = BRIEF, times: bool = False, prompt: bool = True
) -> list[str]:
    """One turn as lines."""
    out: list[str] = []
    if view.turn:
        out += [safe.plain(" · ".join(turn_words.headline(view, state, times=times)), exact=True), ""]
    opening, row_before = view.prompt, False
    for entry in view.top:
        if entry is opening and isinstance(entry, UserEntry):
            lines = list(_user(entry, prompt))
        else:
            lines = list(_entry(entry, limit, times, view.inner))
        row = isinstance(entry, (ToolEntry, ThoughtEntry)) and len(lines) == 1
        if lines:
            if out and out[-1] and not (row and row_before):
                out.append("")
            out += lines
            row_before = row
    first, rest = turn_words.ending(view)
    if first:
        out += ["", *_prose(f"{first} {rest}")]
    return out


def plain(
    transcript: Transcript, turns: Turns = None, *, limit: int = BRIEF, times: bool = False, prompts: bool | None = None
) -> str:
    """The turns as text. ``limit``: lines of each output; ``prompts`` as in :func:`hm_jupyter.exports.html.fragment`."""
    shown = turns is None if prompts is None else prompts
    blocks = [
        "\n".join(turn_lines(v, state_of(transcript), limit=limit, times=times, prompt=shown or i > 0)).strip("\n")
        for i, v in enumerate(select(transcript, turns))
    ]
    return "\n\n\n".join(b for b in blocks if b)
