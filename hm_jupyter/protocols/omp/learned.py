"""What a command that was done says of the session: a setting, a name, another session, todos. Whoever sent it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...events import NoticeRaised, PlanRemoved, PlanUpdated, SessionUpdated
from ..base import Step
from . import read
from .dialogs import Dialogs
from .opening import Opening
from .settings import Settings
from .wire import Answer, Wire

_MOVES = frozenset({"new_session", "switch_session", "open_session", "branch", "fork", "clone", "handoff"})
"""Commands after which the process may have another session."""


class Learned:
    """Keeps the settings and the session in step with what was done."""

    def __init__(self, wire: Wire, settings: Settings, opening: Opening, dialogs: Dialogs) -> None:
        self._wire = wire
        self._settings = settings
        self._opening = opening
        self._dialogs = dialogs

    def done(
        self, kind: str, sent: dict[str, Any], answer: Answer, step: Step, then: Callable[[Step], None] | None = None
    ) -> None:
        """A command was answered. ``then`` once all it changed is known: after a move, what the other session holds."""
        if kind == "login":
            self._dialogs.signed_in(step)
        if answer.ok and kind in _MOVES:
            self._moved(kind, read.fields(answer.data), then or (lambda step: None), step)
            return
        if answer.ok:
            self._changed(kind, sent, answer, step)
        if then is not None:
            then(step)

    def _changed(self, kind: str, sent: dict[str, Any], answer: Answer, step: Step) -> None:
        data = read.fields(answer.data)
        changes = self._settings.learned(kind, sent, answer.data)
        if changes is not None:
            step.events.append(SessionUpdated(changes))
        elif kind == "set_session_name" and isinstance(sent.get("name"), str):
            step.events.append(SessionUpdated({"title": sent["name"].strip()}))
        elif kind == "get_state":
            step.events.append(SessionUpdated(self._settings.state(data)))
        elif kind == "get_session_stats":
            cost = read.money(data.get("cost"))
            if cost:
                step.events.append(SessionUpdated({"spent": f"${cost:.4g}"}))
        elif kind == "set_todos":
            items = read.todos(data.get("todoPhases"))
            step.events.append(PlanUpdated(items) if items else PlanRemoved())

    def model_changed(self, value: dict[str, Any], step: Step) -> None:
        """``model_changed``, ``config_update`` (omp): another model. The bare event says that and no more; where a command of
        ours led to it, its response tells."""
        if isinstance(value.get("model"), dict):
            step.events.append(SessionUpdated(self._settings.model(value["model"])))
            if isinstance(value.get("thinkingLevel"), str):
                step.events.append(SessionUpdated(self._settings.level(value["thinkingLevel"])))
        elif not self._wire.waits("set_model", "cycle_model"):
            self._opening.refresh(step)

    def level_changed(self, value: dict[str, Any], step: Step) -> None:
        """``thinking_level_changed``: omp's may not say to what."""
        level = value.get("thinkingLevel", value.get("level"))
        if isinstance(level, str):
            step.events.append(SessionUpdated(self._settings.level(level)))
        elif not self._wire.waits("set_thinking_level", "cycle_thinking_level"):
            self._opening.refresh(step)

    def _moved(self, kind: str, data: dict[str, Any], then: Callable[[Step], None], step: Step) -> None:
        if data.get("cancelled") is True:
            text = f"An extension stopped {kind.replace('_', ' ')}; the session stays as it is."
            step.events.append(NoticeRaised(text))
            then(step)
            return
        said = read.text(data.get("text"))
        if said:
            text = "The session goes on from before this message of yours, which is not sent again by itself."
            step.events.append(NoticeRaised(text, "info", said))
        self._opening.again(step, then, messages=kind in ("switch_session", "open_session"))
