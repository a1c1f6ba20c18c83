"""``session/update``: every kind of both versions, both generations of the v2 draft, to our events (reference, section 6).

:class:`Updates` knows which part reads which kind. A kind nobody knows is kept raw, a known one that cannot be read is one
notice, and neither ends anything. ``state_update`` of the main session is a matter of turns, not of this module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...commands import CancelWork
from ...errors import NotSupported
from ...events import Event, Level, NoticeRaised, SessionUpdated, UnknownReceived
from .. import hm_read
from . import lenient as read
from . import plans
from .calls import Calls
from .children import Child, Children
from .displays import Displays
from .lenient import KEEP, Malformed
from .messages import Messages
from .settings import Settings

Handler = Callable[[str, dict[str, Any], list[Event]], None]
PlanReader = Callable[[dict[str, Any], list[Event]], None]
_LEVELS: dict[Any, Level] = {"info": "info", "warning": "warning", "error": "error"}
_OF_A_CHILD_ALONE = (
    "agent_thought_chunk agent_thought usage_update available_commands_update current_mode_update config_option_update"
    " session_info_update compaction_update compaction_summary_chunk"
).split()


class Updates:
    """What the agent tells of its session, as events.

    Public parts: ``settings``, ``calls``, ``messages``, ``displays`` (terminals), ``children`` (sub-agents).

    Args:
        version: 1 or 2, as negotiated.
    """

    def __init__(self, version: int) -> None:
        self.version = version
        self.messages = Messages(version)
        self.children = Children()
        self.calls = Calls(version, self.messages.new_call, lambda session: self.children.get(session) is not None)
        self.displays = Displays(self.calls)
        self.settings = Settings(version)
        self._compactions = plans.Compactions()
        self._planned = False
        messages, settings, compactions = self.messages, self.settings, self._compactions
        self._main: dict[str, Callable[[dict[str, Any], list[Event]], None]] = {
            "agent_message_chunk": lambda value, out: messages.chunk("assistant", value, out),
            "agent_thought_chunk": lambda value, out: messages.chunk("thought", value, out),
            "user_message_chunk": messages.user_chunk,
            "agent_message": lambda value, out: messages.whole("assistant", value, out),
            "agent_thought": lambda value, out: messages.whole("thought", value, out),
            "user_message": messages.user_whole,
            "plan": lambda value, out: self._plan(plans.plan, value, out),
            "plan_update": lambda value, out: self._plan(plans.plan_update, value, out),
            "plan_removed": plans.plan_removed,
            "available_commands_update": settings.commands,
            "current_mode_update": settings.current_mode,
            "config_option_update": settings.config,
            "session_info_update": _session_info,
            "usage_update": self._usage,
            "compaction_update": compactions.update,
            "compaction_summary_chunk": compactions.chunk,
            "state_update": lambda value, out: None,
        }
        self._any: dict[str, Handler] = {
            "tool_call": self.calls.tool_call,
            "tool_call_update": lambda session, value, out: void(self.calls.update(session, value, out)),
            "tool_call_content_chunk": self.calls.content_chunk,
            "terminal_update": self.displays.update,
            "terminal_output_chunk": self.displays.chunk,
            "subagent_update": self.children.announced,
            "session_message": self.children.letter,
            "session_message_chunk": self.children.letter_chunk,
            "notice": lambda session, value, out: _notice(value, out),
        }
        self._child: dict[str, Callable[[Child, dict[str, Any], list[Event]], None]] = {
            "agent_message_chunk": self.children.chunk,
            "agent_message": self.children.whole,
            "user_message_chunk": self.children.prompt,
            "user_message": self.children.prompt,
            "state_update": self.children.state,
            "plan": lambda child, value, out: plans.plan(value, out, of=child.session),
            "plan_update": lambda child, value, out: plans.plan_update(value, out, of=child.session + "/"),
            "plan_removed": lambda child, value, out: plans.plan_removed(value, out, of=child.session + "/"),
            **dict.fromkeys(_OF_A_CHILD_ALONE, lambda child, value, out: None),
        }

    # ---- what the agent tells ----------------------------------------------------------------------------------------

    def update(self, session_id: str, update: Any, out: list[Event]) -> None:
        """One ``session/update``'s ``update``. ``session_id``: whose; any but a sub-agent's is taken for the main one.

        Never raises: what cannot be read becomes one ``NoticeRaised``, a kind that is not known ``UnknownReceived``."""
        kind = update.get("sessionUpdate") if isinstance(update, dict) else None
        if not isinstance(kind, str):
            out.append(_unreadable("one without a kind", "sessionUpdate is missing", update))
            return
        child = self.children.get(session_id)
        try:
            if child is not None and (of_child := self._child.get(kind)):
                of_child(child, update, out)
            elif child is None and (of_main := self._main.get(kind)):
                of_main(update, out)
            elif of_any := self._any.get(kind):
                of_any(session_id if child else "", update, out)
            else:
                out.append(UnknownReceived(kind, update))
        except Malformed as error:
            out.append(_unreadable(kind, str(error), update))

    def result(self, result: Any, out: list[Event]) -> None:
        """What the result of session/new, load, resume, fork or set_config_option says of settings; null says nothing."""
        if isinstance(result, dict):
            self.settings.result(result, out)

    def host_output(self, terminal_id: str, text: str, out: list[Event]) -> None:
        """A terminal of the host wrote ``text`` (v1); it is shown with the call that embeds it."""
        self.displays.wrote(terminal_id, text, out)

    def host_exit(self, terminal_id: str, code: int | None, out: list[Event]) -> None:
        """A terminal of the host ended (v1)."""
        self.displays.exited(terminal_id, code, out)

    # ---- turns and our own messages ----------------------------------------------------------------------------------

    def begin_turn(self, out: list[Event]) -> None:
        """A turn begins: what was written between turns is closed."""
        self.messages.begin_turn(out)
        self.calls.begin_turn()
        self._planned = False
        self._compactions.settle(out)

    def end_turn(self, out: list[Event], *, finished: bool = True) -> None:
        """The turn ends, to be called before ``TurnEnded``. Where it did not ``finished`` (it was cancelled, it failed), the
        message being written stays open, so that it is marked as cut off."""
        self.messages.end_turn(out, finished=finished)
        self.calls.end_turn(out, finished=finished)
        self._compactions.settle(out)

    def own_prompt(self, text: str, *, told: bool = False) -> None:
        """This prompt is being sent; its echo will not be shown again (pitfall 22).

        In v1 the agent need not echo, so whoever sends also tells that it was read (``MessageUpdated`` of role user) and
        the echo tells nothing. In v2 the echo tells it, unless :meth:`prompt_read` or whoever sent it (``told``) did before."""
        self.messages.own.sent(text, told=told)

    def prompt_read(self, out: list[Event]) -> None:
        """v2: the agent took the prompt (its answer came); tells so unless the echo did."""
        self.messages.own.read(out)

    # ---- stopping one thing (v2) -------------------------------------------------------------------------------------

    def cancel_work(self, command: CancelWork, session_id: str) -> tuple[str, dict[str, Any], bool]:
        """What stops that work alone: method, params, and whether it is a request (else a notification).

        ``session_id`` is the main session's. Raises ``NotSupported`` where the agent does not offer it."""
        if command.kind == "subagent":
            child = self.children.get(command.work.removeprefix("sub:"))
            if child is not None and child.cancelable:
                return "session/cancel", {"sessionId": child.session}, False
        elif command.kind == "tool":
            call = self.calls.get(command.work)
            if call is not None and call.cancelable and not call.over:
                return "tool_call/cancel", {"sessionId": call.session or session_id, "toolCallId": call.id}, True
        elif self.displays.cancelable(command.work.removeprefix("terminal:")):
            return (
                "terminal/cancel",
                {"sessionId": session_id, "terminalId": command.work.removeprefix("terminal:")},
                True,
            )
        raise NotSupported("The agent does not let this be stopped by itself; stop the whole turn instead.")

    # ---- within ------------------------------------------------------------------------------------------------------

    def _plan(self, read_it: PlanReader, value: dict[str, Any], out: list[Event]) -> None:
        """A plan. Where a turn's first one appears, the message above it ends, as with a call."""
        told: list[Event] = []
        read_it(value, told)
        if not self._planned:
            self._planned = True
            self.messages.new_call(out)
        out += told

    def _usage(self, value: dict[str, Any], out: list[Event]) -> None:
        used, size = hm_read.count(value.get("used")), hm_read.count(value.get("size"))
        if used is None or size is None:
            raise Malformed("used or size is no number of tokens")
        changes: dict[str, Any] = {"context": used, "context_size": size}
        cost = value.get("cost", KEEP)
        if isinstance(cost, dict):
            amount, currency = hm_read.money(cost.get("amount")), cost.get("currency")
            if amount is not None and isinstance(currency, str):
                changes["spent"] = (
                    f"${_amount(amount)}" if currency == "USD" else f"{_amount(amount)} {currency}".strip()
                )
        elif cost is None and self.version > 1:
            changes["spent"] = ""
        out.append(SessionUpdated(changes))


def void(value: object) -> None:
    """Nothing of it is wanted."""


def _amount(amount: float) -> str:
    return f"{amount:.2f}" if amount >= 0.1 or amount == 0 else f"{amount:.2g}"


def _session_info(value: dict[str, Any], out: list[Event]) -> None:
    """``session_info_update``: a patch; only the title is shown."""
    title = value.get("title", KEEP)
    if title is None or isinstance(title, str):
        out.append(SessionUpdated({"title": title or ""}))


def _notice(value: dict[str, Any], out: list[Event]) -> None:
    """``notice``; a severity that is not known is an information."""
    severity = value.get("severity")
    level = _LEVELS.get(severity, "info") if isinstance(severity, str) else "info"
    out.append(NoticeRaised(read.need_text(value, "title"), level, read.text(value.get("description"))))


def _unreadable(kind: str, why: str, update: Any) -> NoticeRaised:
    return NoticeRaised(
        f"An update of the agent's ({read.one_line(kind)[:60]}) cannot be read and is left out: {why}. The session goes on.",
        detail=read.excerpt(update),
    )
