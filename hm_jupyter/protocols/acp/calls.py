"""The tool calls of a connection: upserted by id from whatever the agent tells of them first (ACP, Tool calls).

Real agents announce a call by ``tool_call``, by ``tool_call_update`` or only in asking for leave, some of them twice, some
under another id than the one they asked with. :class:`Calls` makes one call of each and tells every change once. What a
person decides about a call is :mod:`.permission`; messages and turns are not known here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ...events import Event, ToolCallUpdated, ToolOutputAppended
from ...transcript import Rope
from . import lenient as read
from . import raw_output
from .call import CLOSED, Call, Content, category_of, content_of, locations_of, status_of
from .lenient import KEEP
from .terminals import Terminal, Terminals

_NOT_THEIRS = re.compile(r"""host:.*|[pe](?:-?[\d.]+|['"].*|None|True|False)(?:#\d+)?""", re.DOTALL)


def own_id(call_id: str) -> str:
    """The id of a call among our events: the agent's, unless it is one that requests and cards of ours have.

    An agent that took one of those could write into a card of ours, or have a question shown as answered."""
    return f"call:{call_id}" if _NOT_THEIRS.fullmatch(call_id) else call_id


class Calls:
    """The tool calls, of the main session and of its sub-agents.

    Args:
        version: 1 (null leaves a field as it is) or 2 (null clears it).
        on_new: called before a call is told of for the first time.
        is_child: whether a session is that of a sub-agent.
    """

    def __init__(
        self,
        version: int,
        on_new: Callable[[list[Event]], None] = lambda out: None,
        is_child: Callable[[str], bool] = lambda session: False,
    ) -> None:
        self._version = version
        self._on_new = on_new
        self.is_child = is_child
        self._calls: dict[tuple[str, str], Call] = {}
        self._keys: dict[str, Call] = {}
        self._asked: dict[str, Call] = {}  # of this turn, known from requests for leave alone
        self._serials: dict[str, int] = {}  # of this turn: how many calls have had an id
        self._turn = 0
        self.terminals = Terminals()

    # ---- what others ask ---------------------------------------------------------------------------------------------

    def get(self, call_id: str) -> Call | None:
        """A call by its id among our events."""
        return self._keys.get(call_id)

    def of_terminal(self, terminal_id: str, session: str = "") -> str:
        """The id, among our events, of the call that shows a terminal; "" when none does."""
        terminal = self.terminals.known(terminal_id, session)
        return terminal.shown_by if terminal else ""

    def find(self, session: str, call_id: str) -> Call | None:
        """A call by the agent's id for it."""
        return self._calls.get((session, call_id))

    def session_of(self, session_id: Any) -> str:
        """The session by which calls are known: a sub-agent's own, "" for any other."""
        return session_id if isinstance(session_id, str) and self.is_child(session_id) else ""

    # ---- what the agent tells ----------------------------------------------------------------------------------------

    def tool_call(self, session: str, value: dict[str, Any], out: list[Event]) -> None:
        """``tool_call`` (v1): a call is made. For an id that is known it is an update, but for one of an earlier turn."""
        known = self._calls.get((session, read.need_text(value, "toolCallId")))
        if (
            known is not None and known.turn != self._turn
        ):  # over or not: an agent need not say what became of a refused one
            del self._calls[session, known.id]
        self.update(session, value, out)

    def update(self, session: str, value: dict[str, Any], out: list[Event]) -> Call:
        """``tool_call_update``. Raises ``Malformed`` when it does not say of which call."""
        call_id = read.need_text(value, "toolCallId")
        call = self._calls.get((session, call_id))
        if call is None:
            self._on_new(out)
            draft = self._asked_before(session, value)
            call = self._new(session, call_id)
            self._patch(call, value, out, replaces=draft.key if draft else None, new=True)
        else:
            call.announced = True
            self._asked.pop(call.key, None)
            self._patch(call, value, out)
        return call

    def content_chunk(self, session: str, value: dict[str, Any], out: list[Event]) -> None:
        """``tool_call_content_chunk`` (v2): one more piece of content. Raises ``Malformed``."""
        item = read.need_fields(value, "content")
        call = self._calls.get((session, read.need_text(value, "toolCallId")))
        found = Content()
        found.add(item, call.input if call else None)
        if call is None:
            call = self.update(session, {"toolCallId": value["toolCallId"]}, out)
        goes_on = call.shown and found.parts and not found.diffs and not found.images
        for part in self._embedded(call, found):
            last = call.parts[-1] if call.parts else None
            if isinstance(part, Rope) and isinstance(last, Rope):
                last.append(str(part))
                if goes_on:
                    call.shown.append(str(part))
                    out.append(ToolOutputAppended(call.key, str(part)))
                    return
            else:
                call.parts.append(part)
        if found.diffs or found.images:
            call.diffs, call.images = call.diffs + found.diffs, call.images + found.images
            out.append(ToolCallUpdated(call.key, diffs=list(call.diffs), images=list(call.images)))
        self.show(call, out)

    def asked(self, session: str, value: dict[str, Any], out: list[Event], *, anew: bool) -> Call:
        """The tool call of a request for leave; empty lists and the status in it say nothing.

        ``anew``: another request for a call that is known from requests alone is another call, for there are agents that
        give all their requests one and the same id. Raises ``Malformed``."""
        call_id = read.need_text(value, "toolCallId")
        call = self._calls.get((session, call_id))
        told = {name: given for name, given in value.items() if name != "status" and given not in ([], {}, None, "")}
        if call is not None and (call.announced or not anew):
            self._patch(call, told, out)
            return call
        self._on_new(out)
        call = self._new(session, call_id)
        call.announced = False
        self._asked[call.key] = call
        self._patch(call, told, out, new=True)
        return call

    # ---- terminals ---------------------------------------------------------------------------------------------------

    def wrote(self, terminal: Terminal, text: str, out: list[Event], *, first: bool) -> None:
        """``text`` was just added to what the terminal wrote; it is told with the call that shows it. ``first``: it had
        written nothing before."""
        call = self._keys.get(terminal.shown_by)
        if call is None or not text:
            return
        goes_on = call.shown and not first
        if call.parts[-1:] == [terminal] and (goes_on or not (call.shown or call.raw)):
            call.shown.append(text)
            out.append(ToolOutputAppended(call.key, text))
        else:
            self.show(call, out)

    def awaits_terminal(self, terminal: Terminal) -> bool:
        """Is the newest call one that runs a command and shows nothing yet? Then it is about to say that it shows this."""
        call = next(reversed(self._keys.values()), None)
        return (
            call is not None
            and (call.session, call.turn, call.category) == (terminal.session, self._turn, "shell")
            and not (call.over or call.parts)
        )

    def ended(self, terminal: Terminal, out: list[Event]) -> None:
        """The terminal came to its end; its exit code is that of the call that shows it."""
        call = self._keys.get(terminal.shown_by)
        if call is not None and terminal.exit_code is not None and terminal.exit_code != call.exit_code:
            call.exit_code = terminal.exit_code
            out.append(ToolCallUpdated(call.key, exit_code=terminal.exit_code))

    def show(self, call: Call, out: list[Event]) -> None:
        """Tell the output of a call as far as it is new: what was added to it, else the whole."""
        before, now = str(call.shown), call.output()
        if now == before:
            return
        if before and now.startswith(before):
            out.append(ToolOutputAppended(call.key, now[len(before) :]))
        else:
            out.append(ToolCallUpdated(call.key, output=now))
        call.shown = Rope(now)

    # ---- turns -------------------------------------------------------------------------------------------------------

    def begin_turn(self) -> None:
        """A turn begins; of calls that are over, little needs to be remembered."""
        self._turn += 1
        self._asked.clear()
        self._serials.clear()
        for call in self._keys.values():
            if call.over:
                call.forget()

    def end_turn(self, out: list[Event], *, finished: bool) -> None:
        """The turn ended, in an orderly way where ``finished``: what was allowed and never heard of again was done."""
        for call in self._keys.values():
            if finished and call.allowed and not call.announced and not call.over:
                call.status = "completed"
                out.append(ToolCallUpdated(call.key, status="completed"))

    # ---- within ------------------------------------------------------------------------------------------------------

    def _new(self, session: str, call_id: str) -> Call:
        key = stem = own_id(f"{session}/{call_id}" if session else call_id)
        number = self._serials.get(stem, 1)
        while key in self._keys and self._keys[key].turn == self._turn:
            number += 1
            key = f"{stem}#{number}"
        self._serials[stem] = number
        call = Call(key, call_id, session, self._turn)
        self._calls[session, call_id] = self._keys[key] = call
        return call

    def _asked_before(self, session: str, value: dict[str, Any]) -> Call | None:
        """The call asked about under another id (fast-agent's is "pending"), of which this is the execution."""
        given = value.get("rawInput")
        if not isinstance(given, dict) or not given:
            return None
        for call in self._asked.values():
            if (
                call.session == session
                and call.allowed
                and not call.over
                and call.input == given
                and call.kind == value.get("kind", "other")
            ):
                del self._asked[call.key], self._keys[call.key]
                self._calls.pop((session, call.id), None)
                return call
        return None

    def _given(self, value: dict[str, Any], name: str, kind: type | tuple[type, ...]) -> Any:
        """A field: ``KEEP`` when it is not there (or malformed, or null in v1), None when it is cleared."""
        if name not in value:
            return KEEP
        given = value[name]
        if given is None:
            return KEEP if self._version == 1 else None
        return given if isinstance(given, kind) else KEEP

    def _patch(
        self, call: Call, value: dict[str, Any], out: list[Event], *, replaces: str | None = None, new: bool = False
    ) -> None:
        """Take over the fields given and tell those that changed."""
        was = (call.name, call.title, call.category, call.status, call.cancelable, call.exit_code, list(call.locations))
        for name in ("name", "title", "kind"):
            given = self._given(value, name, str)
            if given is not KEEP:
                setattr(call, name, given or "")
        call.category = category_of(call.kind, call.name)
        status = self._given(value, "status", str)
        if status is not KEEP and not (call.denied and status_of(status) not in CLOSED):
            call.status = status_of(status)  # opencode tells of a refused call as in progress before it fails
        locations = self._given(value, "locations", list)
        if locations is not KEEP:
            call.locations = locations_of(locations)
        if isinstance(value.get("capabilities"), dict) or (
            value.get("capabilities", KEEP) is None and self._version > 1
        ):
            call.cancelable = isinstance(read.fields(value["capabilities"]).get("cancel"), dict)
        told = ToolCallUpdated(call.key, replaces=replaces)
        given = self._given(value, "rawInput", object)
        if given is not KEEP and given != call.input:
            call.input = given
            told.input = {} if given is None else given
        changed = self._take_content(call, value, told)
        pieces = self._take_meta(call, read.fields(value.get("_meta")))
        if new:
            told.replaces = told.replaces or self._shown_alone(call)
        now = (call.name, call.title, call.category, call.status, call.cancelable, call.exit_code, list(call.locations))
        for at, name in enumerate(("name", "title", "category", "status", "cancelable", "exit_code", "locations")):
            if now[at] != was[at] or (new and at < 4 and (now[at] or at == 0)):
                setattr(told, name, now[at])
        if new and call.session:
            told.parent = f"sub:{call.session}"
        if new or told != ToolCallUpdated(call.key):
            out.append(told)
        if changed:
            self.show(call, out)
        for terminal, text in pieces:
            first = not terminal.written
            terminal.written.append(text)
            self.wrote(terminal, text, out, first=first)

    def _take_content(self, call: Call, value: dict[str, Any], told: ToolCallUpdated) -> bool:
        """Take over content and raw output; whether there were any."""
        items = self._given(value, "content", list)
        if items is not KEEP:
            found = content_of(items or [], call.input)
            call.parts = self._embedded(call, found)
            # v1 agents replace the diff by "Wrote file successfully": what the call changes is still that
            if found.diffs != call.diffs and (found.diffs or self._version > 1):
                call.diffs = told.diffs = found.diffs
            if found.images != call.images:
                call.images = told.images = found.images
        raw = self._given(value, "rawOutput", object)
        if raw is not KEEP:
            call.raw = raw
            code = raw_output.exit_code(raw)
            call.exit_code = call.exit_code if code is None else code
        return items is not KEEP or raw is not KEEP

    def _embedded(self, call: Call, found: Content) -> list[Rope | Terminal]:
        """The parts of a content, with the terminals themselves in place of their ids."""
        parts: list[Rope | Terminal] = []
        for part in found.parts:
            if isinstance(part, str):
                if part:
                    parts.append(Rope(part))
                continue
            terminal = self.terminals.get(part[0], call.session)
            terminal.shown_by = call.key
            if terminal.exit_code is not None:
                call.exit_code = terminal.exit_code
            parts.append(terminal)
        return parts

    def _shown_alone(self, call: Call) -> str | None:
        """The call of its own as which a terminal of this new call was shown (codex-acp tells of the terminal first)."""
        for part in call.parts:
            if isinstance(part, Terminal) and part.alone:
                alone, part.alone = part.alone, ""
                return alone
        return None

    def _take_meta(self, call: Call, meta: dict[str, Any]) -> list[tuple[Terminal, str]]:
        """What terminals of the agent's wrote, where that comes in ``_meta`` (codex-acp); it is merged into nothing else."""
        pieces = []
        for name in ("terminal_output", "terminal_output_delta"):
            piece = read.fields(meta.get(name))
            terminal_id, data = piece.get("terminal_id"), piece.get("data")
            if isinstance(terminal_id, str) and isinstance(data, str):
                pieces.append((self._shown_here(call, terminal_id), data))
        ended = read.fields(meta.get("terminal_exit"))
        if isinstance(ended.get("terminal_id"), str):
            code = read.whole(ended.get("exit_code"))
            call.exit_code = call.exit_code if code is None else code
        return pieces

    def _shown_here(self, call: Call, terminal_id: str) -> Terminal:
        terminal = self.terminals.get(terminal_id, call.session)
        if terminal not in [part for part in call.parts if isinstance(part, Terminal)]:
            terminal.shown_by = call.key
            call.parts.append(terminal)
        return terminal
