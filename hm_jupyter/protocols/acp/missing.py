"""What a replay tells that was not told before, as events. Which of it is what, :mod:`align` says.

Entries of a transcript cannot be put between others, so what was lost in the middle of a text is set right in that text, and
a whole message or call that was lost comes after what is shown.
"""

from __future__ import annotations

from dataclasses import replace

from ...events import (
    CompactionEnded,
    CompactionStarted,
    Event,
    MessageUpdated,
    PlanRemoved,
    PlanUpdated,
    TextAppended,
    ToolCallUpdated,
    ToolOutputAppended,
    TurnEnded,
    TurnStarted,
)
from .align import Match, match_texts
from .told import OVER, Called, Said, Stretch, Told

_RANK = {None: 0, "drafting": 0, "pending": 0, "paused": 1, "running": 1}


class Names:
    """The ids of a replay, and which of ours they stand for.

    Args:
        taken: the message ids that are shown.
        suffix: what tells an id made up anew from one that was before; "" where ids are the agent's own and mean what
            they say.
    """

    def __init__(self, taken: set[str], suffix: str) -> None:
        self.messages: dict[str, str] = {}
        self.calls: dict[str, str] = {}
        self._taken = frozenset(taken)
        self.suffix = suffix

    def of(self, message_id: str) -> str:
        """Our id for one of theirs."""
        known = self.messages.get(message_id)
        if known is None:
            known = self.messages[message_id] = self.new(message_id)
        return known

    def new(self, message_id: str) -> str:
        """An id for a message that is not shown yet."""
        return message_id + self.suffix if message_id in self._taken or message_id in self.messages else message_id

    def translate(self, event: Event) -> None:
        """Set the ids in an event right that comes after the replay."""
        if type(event) is TextAppended:
            event.message_id = self.of(event.message_id)
        elif isinstance(event, MessageUpdated):
            if event.role == "user":
                event.message_id += self.suffix
            else:
                event.message_id = self.of(event.message_id)
        elif self.calls and isinstance(event, (ToolCallUpdated, ToolOutputAppended)):
            event.call_id = self.calls.get(event.call_id, event.call_id)


# ---- a stretch that is known ---------------------------------------------------------------------------------------


def stretch(known: Told, ours: Stretch, theirs: Stretch, names: Names, out: list[Event], *, ids: bool) -> None:
    """What ``theirs`` has that ``ours``, the last known stretch, has not."""
    pairs = _pair_calls(ours.calls(), theirs.calls())
    matches: dict[int, Match] = {}
    for role in ("assistant", "thought"):
        for match in match_texts(ours.said(role), theirs.said(role), ids=ids):
            matches[id(match.theirs)] = match
    texts = _texts(matches, theirs)
    for item in theirs.items:
        if isinstance(item, Called):
            mine = pairs.get(id(item)) or known.running.get(item.id)
            if mine is not None:
                if mine.id != item.id:
                    names.calls[item.id] = mine.id
                _brought_up(mine, item, out)
            else:
                _new_call(item, out)
        else:
            match = matches[id(item)]
            if not match.ours:
                _new_message(item, match.text, names, out)
            else:
                _known_message(match, texts, ours, theirs, pairs, names, out)
    _others(ours, theirs, out)


def _texts(matches: dict[int, Match], theirs: Stretch) -> dict[int, tuple[Said, str]]:
    """The whole text of each known message that stands in theirs, by their telling, but for what follows the last one."""
    found: dict[int, tuple[Said, str]] = {}
    for item in theirs.items:
        match = matches.get(id(item))
        if match is None:
            continue
        for n, (_, end, said) in enumerate(match.ours):
            start = 0 if n == 0 else match.ours[n][0]
            until = match.ours[n + 1][0] if n + 1 < len(match.ours) else end
            before = found[id(said)][1] if id(said) in found else ""
            found[id(said)] = (said, before + match.text[start:until])
    return found


def _known_message(
    match: Match,
    texts: dict[int, tuple[Said, str]],
    ours: Stretch,
    theirs: Stretch,
    pairs: dict[int, Called],
    names: Names,
    out: list[Event],
) -> None:
    rest = match.text[match.ours[-1][1] :]
    last = match.ours[-1][2]
    for _, _, said in match.ours:
        known = texts.pop(id(said), None)
        if known is None:
            continue  # it began in one before, and is dealt with
        text = known[1]
        if said is last and rest and not _elsewhere(said, match.theirs, ours, theirs, pairs):
            text, rest = text + rest, ""
        _set(said, text, out)
    names.messages[match.theirs.id] = last.id
    if match.theirs.images and match.theirs.images != last.images:
        out.append(MessageUpdated(last.id, last.role, final=last.final, images=match.theirs.images))
    if rest:
        names.messages[match.theirs.id] = new_id = names.new(match.theirs.id + "+")
        _message(replace(match.theirs, id=new_id, images=None), rest, out)
    elif match.theirs.final and not last.final:
        out.append(MessageUpdated(last.id, last.role, final=True))


def _set(said: Said, text: str, out: list[Event]) -> None:
    before = said.text
    if before == text or before.startswith(text):
        return  # theirs may lag behind
    if text.startswith(before):
        out.append(TextAppended(said.id, text[len(before) :], said.role))
    else:
        out.append(MessageUpdated(said.id, said.role, text, final=said.final))


def _elsewhere(said: Said, item: Said, ours: Stretch, theirs: Stretch, pairs: dict[int, Called]) -> bool:
    """Does what follows ``said`` in theirs stand after a call that follows it in ours? So it is where a replay has lost
    the calls, and runs the texts before and after them together."""
    after = [c for c in ours.items[_index(ours, said) + 1 :] if isinstance(c, Called)]
    if not after:
        return False
    later = {id(pairs[id(c)]) for c in theirs.items[_index(theirs, item) + 1 :] if id(c) in pairs}
    return not any(id(c) in later for c in after)


def _index(stretch: Stretch, item: object) -> int:
    return next(i for i, other in enumerate(stretch.items) if other is item)


def _pair_calls(ours: list[Called], theirs: list[Called]) -> dict[int, Called]:
    """Their calls and which of ours they are: by id, else by what they are about, in order."""
    by_id = {c.id: c for c in ours}
    pairs = {id(c): by_id[c.id] for c in theirs if c.id in by_id}
    taken = {c.id for c in theirs}
    free = [c for c in ours if c.id not in taken]
    for call in theirs:
        if id(call) in pairs:
            continue
        same = next((c for c in free if _same_work(c.known, call.known)), None)
        if same is not None:
            pairs[id(call)] = same
            free = free[free.index(same) + 1 :]
    return pairs


def _same_work(a: ToolCallUpdated, b: ToolCallUpdated) -> bool:
    if not a.title or a.title != b.title:
        return False
    return a.input == b.input or not a.input or not b.input


# ---- calls ---------------------------------------------------------------------------------------------------------


def _brought_up(mine: Called, theirs: Called, out: list[Event]) -> None:
    """What ``theirs`` tells of a known call that was not told."""
    known, told = mine.known, theirs.known
    change = ToolCallUpdated(mine.id)
    if not mine.over and (told.status in OVER or _RANK.get(told.status, 0) > _RANK.get(known.status, 0)):
        change.status = told.status
    for name in ("name", "title", "input", "diffs", "images", "exit_code", "locations"):
        value = getattr(told, name)
        if value not in (None, [], {}, "") and getattr(known, name) in (None, [], {}, ""):
            setattr(change, name, value)
    before, now = "".join(mine.output), "".join(theirs.output)
    if now and now != before and not before.startswith(now) and (not before or not mine.over):
        if before and now.startswith(before):
            out.append(ToolOutputAppended(mine.id, now[len(before) :]))
        else:
            change.output = now
    if change != ToolCallUpdated(mine.id):
        out.append(change)


def endings(running: dict[str, Called], theirs: Stretch, out: list[Event]) -> None:
    """Calls of an earlier stretch that went on after it, and what became of them."""
    for call in theirs.calls():
        if call.id in running:
            _brought_up(running[call.id], call, out)


def _new_call(call: Called, out: list[Event]) -> None:
    output = "".join(call.output)
    out.append(replace(call.known, name=call.known.name or "", output=output or None))


# ---- what is new ---------------------------------------------------------------------------------------------------


def new_stretch(theirs: Stretch, names: Names, out: list[Event], *, running: bool) -> None:
    """A prompt of somebody else's, and all that followed. ``running``: inside the turn that is open."""
    if theirs.empty and not theirs.prompt_id:
        return
    if not running:
        out.append(TurnStarted())
    if theirs.prompt_id:
        out.append(MessageUpdated(names.new(theirs.prompt_id), "user", theirs.prompt, final=True, images=theirs.images))
    for item in theirs.items:
        if isinstance(item, Called):
            _new_call(item, out)
        else:
            _new_message(item, item.text, names, out)
    out.extend(theirs.others)
    if not running:
        out.append(TurnEnded("end_turn"))


def _new_message(item: Said, text: str, names: Names, out: list[Event]) -> None:
    if text or item.images:
        _message(replace(item, id=names.of(item.id)), text, out)


def _message(item: Said, text: str, out: list[Event]) -> None:
    if text:
        out.append(TextAppended(item.id, text, item.role))
    if item.images:
        out.append(MessageUpdated(item.id, item.role, images=item.images))
    if item.final:
        out.append(MessageUpdated(item.id, item.role, final=True))


def _others(ours: Stretch, theirs: Stretch, out: list[Event]) -> None:
    """Plans as they stand now, and compactions that were not told. Notices of a replay are of the replay."""
    plans = {e.plan_id: e for e in ours.others if isinstance(e, (PlanUpdated, PlanRemoved))}
    latest = {e.plan_id: e for e in theirs.others if isinstance(e, (PlanUpdated, PlanRemoved))}
    out.extend(e for plan_id, e in latest.items() if plans.get(plan_id) != e)
    ended = sum(isinstance(e, CompactionEnded) for e in ours.others)
    for e in (e for e in theirs.others if isinstance(e, CompactionEnded)):
        if ended > 0:
            ended -= 1
        elif not any(isinstance(o, CompactionStarted) for o in ours.others):
            out.extend((CompactionStarted(), e))
        else:
            out.append(e)
