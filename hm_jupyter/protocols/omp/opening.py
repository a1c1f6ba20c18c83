"""The beginning of a session, and of another one in the same process (new, switched to, forked).

Neither agent announces its session: ``get_state`` is asked, at once, since what is sent before omp's ``ready`` is kept. What
else is needed is asked beside it. The session is there once the state, and the history if it has one, has come.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...events import NoticeRaised, SessionStarted, SessionUpdated, StartRefused
from ..base import Step
from . import read
from .history import earlier
from .settings import Settings, commands
from .wire import Answer, Wire

NO_MODEL = (
    "The agent has no model it may use, so a prompt will fail. Give it a key (its own settings, or env= of connect), then "
    "choose one with %hm model or s.set_model()."
)


class Opening:
    """Asks for what a session's beginning needs.

    Args:
        wire: to send by.
        settings: told what was learned.
        root: the folder the agent was started in.
        asks: how it asks for approvals, for people ("": it does not say).
        history: tell the messages it already has.
        busy: does a turn run?
    """

    def __init__(
        self,
        wire: Wire,
        settings: Settings,
        dialect: str,
        root: str,
        asks: str,
        history: bool,
        busy: Callable[[], bool],
    ) -> None:
        self._wire = wire
        self._settings = settings
        self._dialect = dialect
        self._root = root
        self._asks = asks
        self._history = history
        self._busy = busy
        self.session_id = ""
        self.state: dict[str, Any] = {}
        self._commands = False

    def start(self, step: Step) -> None:
        """Ask for the state."""
        self._wire.send(step, "get_state", then=self._first)

    def ready(self, value: dict[str, Any], step: Step) -> None:
        """omp's ``ready``: lines longer than 1 MiB come whole only in version 2 (else texts are cut without a word)."""
        offered = value.get("supportedProtocolVersions")
        if isinstance(offered, list) and 2 in offered and value.get("protocolVersion") != 2:
            self._wire.send(step, "negotiate_protocol", {"protocolVersion": 2}, self._negotiated)

    def again(self, step: Step, done: Callable[[Step], None], *, messages: bool = False) -> None:
        """It is another session now: ask anew; with ``messages``, also for what was said in it. Then ``done``."""

        def state(answer: Answer, step: Step) -> None:
            data = read.fields(answer.data)
            if messages and read.count(data.get("messageCount")):
                self._wire.send(step, "get_messages", then=lambda earlier, step: told(answer, earlier, step))
            else:
                told(answer, None, step)

        def told(answer: Answer, earlier: Answer | None, step: Step) -> None:
            self._other(answer, step)
            if earlier is not None:
                self._reloaded(earlier, step)
            done(step)

        self._wire.send(step, "get_state", then=state)

    def refresh(self, step: Step) -> None:
        """Something changed that was not told: ask for the state."""
        if not self._wire.waits("get_state"):
            self._wire.send(step, "get_state", then=self._refreshed)

    def told_commands(self, items: Any, step: Step) -> None:
        """The slash commands came by themselves."""
        self._commands = True
        commands(items, step.events)

    # ---- answers -----------------------------------------------------------------------------------------------------

    def _first(self, answer: Answer, step: Step) -> None:
        if not answer.ok:
            step.events.append(StartRefused(f"The agent does not tell its state: {answer.error}"))
            return
        self.state = read.fields(answer.data)
        self._wire.send(step, "get_available_models", then=self._models)
        self._wire.send(step, "get_available_thinking_levels", then=self._levels)
        if self._dialect == "pi":
            self._wire.send(step, "get_commands", then=self._slash)
        if self._history and read.count(self.state.get("messageCount")):
            self._wire.send(step, "get_messages", then=self._with_history)
        else:
            self._open(step)

    def _with_history(self, answer: Answer, step: Step) -> None:
        self._open(step)
        self._reloaded(answer, step)

    def _reloaded(self, answer: Answer, step: Step) -> None:
        if self._busy():
            text = "The earlier messages of this session are not shown, for a turn has begun. The agent knows them."
            step.events.append(NoticeRaised(text, "info"))
        elif answer.ok:
            step.events.extend(earlier(read.fields(answer.data).get("messages")))
        else:
            text = f"The earlier messages of this session cannot be shown ({answer.error}). The agent knows them."
            step.events.append(NoticeRaised(text, "info"))

    def _open(self, step: Step) -> None:
        changes = {"protocol": f"{self._dialect} RPC", **self._settings.state(self.state)}
        self.session_id = read.text(self.state.get("sessionId")) or "unnamed"
        resumed = bool(read.count(self.state.get("messageCount")))
        step.events.append(
            SessionStarted(self.session_id, self._root, self._asks, changes["provider"], changes["model"], resumed)
        )
        step.events.append(SessionUpdated(changes))
        if not changes["model"]:
            step.events.append(NoticeRaised(NO_MODEL))

    def _other(self, answer: Answer, step: Step) -> None:
        if not answer.ok:
            step.events.append(NoticeRaised(f"The agent does not tell which session it has now: {answer.error}"))
            return
        data = read.fields(answer.data)
        found = read.text(data.get("sessionId"))
        changes = {"title": "", "context": None, **self._settings.state(data)}
        if found and found != self.session_id:
            self.session_id = found
            changes["session_id"] = found
            step.events.append(NoticeRaised(f"The session is {found} from here on.", "info"))
        step.events.append(SessionUpdated(changes))

    def _refreshed(self, answer: Answer, step: Step) -> None:
        if answer.ok:
            step.events.append(SessionUpdated(self._settings.state(read.fields(answer.data))))

    def _models(self, answer: Answer, step: Step) -> None:
        if answer.ok:
            step.events.append(SessionUpdated(self._settings.models(answer.data)))

    def _levels(self, answer: Answer, step: Step) -> None:
        if answer.ok:
            step.events.append(SessionUpdated(self._settings.levels(answer.data)))

    def _slash(self, answer: Answer, step: Step) -> None:
        if answer.ok and not self._commands:
            commands(read.fields(answer.data).get("commands"), step.events)

    def _negotiated(self, answer: Answer, step: Step) -> None:
        if not answer.ok:
            text = f"The agent keeps to short lines ({answer.error}): very long answers may be cut."
            step.events.append(NoticeRaised(text, "info"))
