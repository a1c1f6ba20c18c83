"""A session told again: as earlier turns when it is loaded, and only what is missing after the connection was lost.

Both read events, as :class:`~.updates.Updates` makes them of a replay (an ``Updates`` of its own, since one that has
followed the session would take the replay for more of the same). Nothing here knows how a replay is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...events import (
    CompactionEnded,
    CompactionStarted,
    Event,
    MessageUpdated,
    NoticeRaised,
    PlanRemoved,
    PlanUpdated,
    TextAppended,
    ToolCallUpdated,
    ToolOutputAppended,
    TurnEnded,
    TurnStarted,
    UnknownReceived,
    UsageReported,
)
from ..base import Texts
from . import missing
from .align import alike, match_texts, place_of_last
from .told import Stretch, Told, joined

_TALK = (
    TextAppended, MessageUpdated, ToolCallUpdated, ToolOutputAppended, PlanUpdated, PlanRemoved, CompactionStarted,
    CompactionEnded, NoticeRaised, UnknownReceived, UsageReported, TurnStarted, TurnEnded,
)  # fmt: skip

UNSURE = 2
"""Prompts for which what came before is kept after a loss in mid-turn: an agent of v1 does not say that it still works."""

NOTHING_TOLD = (
    "The agent took the session up but told nothing of it: there may be nothing, or it may have forgotten. "
    "Ask it what it remembers before you rely on it."
)


class History:
    """A replay as the earlier turns of a session: each prompt begins one (ACP v1, session/load; v2, replayFrom).

    They are marked as ``earlier``, so that nothing is taken for what the agent does now (pitfall 22).
    """

    def __init__(self) -> None:
        self._prompt = ""  # the id of the prompt of the turn that is open
        self._open = False
        self._any = False

    def feed(self, events: list[Event], out: list[Event]) -> None:
        """Events of the replay."""
        for event in events:
            if isinstance(event, UsageReported):
                continue  # the tokens were paid for in another life
            if isinstance(event, MessageUpdated) and event.role == "user":
                if not self._open or event.message_id != self._prompt:
                    self._turn(out)
                self._prompt = event.message_id
            elif isinstance(event, _TALK) and not self._open:
                self._turn(out)
            out.append(event)

    def end(self, out: list[Event], *, running: bool = False) -> None:
        """The replay is over. ``running``: the agent still works on the last turn, so that it goes on."""
        if self._open and not running:
            out.append(TurnEnded("end_turn"))
            self._open = False
        if not self._any:
            out.append(NoticeRaised(NOTHING_TOLD))

    def _turn(self, out: list[Event]) -> None:
        if self._open:
            out.append(TurnEnded("end_turn"))
        out.append(TurnStarted(earlier=True))
        self._open = self._any = True
        self._prompt = ""


@dataclass(slots=True)
class Outcome:
    """What a replay told. ``empty``: nothing. ``reached``: the agent has our last prompt."""

    empty: bool = False
    reached: bool = True


class Reconcile:
    """What was told of a session, and, from a replay, what is missing of it.

    Everything told passes through :meth:`told`. When the session is replayed, what comes is handed to :meth:`feed`, and
    :meth:`end` tells what was missing: the rest of a text is appended to the message it belongs to, messages and calls that
    are new follow, calls that ended are ended, nothing comes twice. From then on the ids of the replay are used by the agent
    or by whoever makes them up; :meth:`told` turns them into those of what is shown.

    Args:
        ids: the agent's message ids are the same in every telling (ACP v2); without that they are taken for made up.
    """

    def __init__(self, *, ids: bool) -> None:
        self._ids = ids
        self._known = Told()
        self._replay: Told | None = None
        self._names: missing.Names | None = None
        self._generation = 0

    def told(self, events: list[Event]) -> None:
        """These are told to the person next; the ids in them are set right. On the way of every token: cheap."""
        known, names = self._known, self._names
        if names is not None:
            for event in events:
                names.translate(event)
        for event in events:
            if type(event) is TextAppended:
                known.text(event)
            else:
                known.add(event)

    def told_texts(self, texts: Texts) -> None:
        """:meth:`told` for pieces of text."""
        if self._names is not None:
            texts.message_id = self._names.of(texts.message_id)
        self._known.texts(texts.message_id, texts.role, texts.pieces)

    def begin(self) -> None:
        """A replay begins."""
        self._replay = Told(whole=True)

    def feed(self, events: list[Event], out: list[Event]) -> None:
        """Events of the replay. What is no talk (settings, what is asked) goes on at once."""
        assert self._replay is not None
        for event in events:
            if isinstance(event, _TALK):
                self._replay.add(event)
            else:
                out.append(event)

    def end(self, out: list[Event], *, running: bool, apart: bool = False) -> Outcome:
        """The replay is over: tell what was missing. ``running``: a turn is open, and all of it belongs there. ``apart``: the
        replay was read apart, and what comes goes on with the ids of before, not with those of the replay.

        What is told here must not pass through :meth:`told` again.
        """
        replay, self._replay = self._replay or Told(whole=True), None
        known = self._known
        if known.empty and not replay.empty:
            return self._all_new(replay, out)
        self._generation += 1  # ids are made up anew from now on, whatever the replay told
        names = self._names = missing.Names(known.messages, "" if self._ids else f"~{self._generation}")
        if replay.empty:
            known.last.lost = known.last.empty
            if known.heard:
                out.append(NoticeRaised(NOTHING_TOLD))
            return Outcome(empty=True, reached=False)
        found: list[Event] = []
        at = self._last_in(replay)
        for stretch in replay.stretches[: max(0, min(at, len(replay.stretches)))]:
            missing.endings(known.running, stretch, found)
        reached = 0 <= at < len(replay.stretches)
        if reached:
            kept = known.latest()
            again = replay.stretches[max(0, at + 1 - len(kept)) : at + 1]
            missing.stretch(known, joined(kept), joined(again), names, found, ids=self._ids)
        known.last.lost = not reached and known.last.empty
        if running and not self._ids:
            known.unsure = UNSURE
        for stretch in replay.stretches[max(0, at + 1 if reached else at) :]:
            missing.new_stretch(stretch, names, found, running=running)
        for event in found:
            known.add(event)
        if apart:
            self._names = missing.Names(known.messages, names.suffix)
        out.extend(found)
        return Outcome(reached=reached)

    def _last_in(self, replay: Told) -> int:
        """The index of the replayed stretch that is our last one; its length or more when it is not there."""
        ours, theirs = self._known.stretches[1:], replay.stretches[1:]
        if not ours:
            return 0
        prompts = [stretch.prompt for stretch in theirs]
        at, score = place_of_last([s.prompt for s in ours], prompts)
        there = [s.prompt for s in ours if s is ours[-1] or not s.lost or not s.empty]
        if len(there) < len(ours):  # of those that were lost on the way, most never arrived
            without, better = place_of_last(there, prompts)
            at = without if better >= score else at
        if not 0 <= at < len(theirs):
            return max(at, 0) + 1
        last, found = self._known.last, theirs[at]
        if alike(last.prompt, found.prompt) or _shares_words(last, found, ids=self._ids):
            return at + 1
        return len(replay.stretches)

    def _all_new(self, replay: Told, out: list[Event]) -> Outcome:
        history = History()
        found: list[Event] = []
        for stretch in replay.stretches:
            events: list[Event] = []
            missing.new_stretch(stretch, missing.Names(set(), ""), events, running=True)
            history.feed(events, found)
        history.end(found)
        for event in found:
            self._known.add(event)
        out.extend(found)
        return Outcome()


def _shares_words(ours: Stretch, theirs: Stretch, *, ids: bool) -> bool:
    """Is there a message of ours in what they tell, though the prompt is another?"""
    matches = match_texts(ours.said("assistant"), theirs.said("assistant"), ids=ids)
    return any(match.ours for match in matches)
