"""The dialogs of extensions and of the agent's ask tool ("Extension UI"): questions, what is only shown, and their ends.

Every dialog is answered, cancelled or taken down by its own clock: the agent does not say when one has timed out, and an
``abort`` hangs for good while one is open, in both programs. What only shows something is never answered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...commands import Answer, Approve
from ...events import (
    Choice,
    Event,
    FormField,
    Level,
    NoticeRaised,
    PlanRemoved,
    PlanUpdated,
    QuestionRequested,
    QuestionResolved,
    SessionUpdated,
    UnknownReceived,
)
from ..base import Step, Wake
from . import read
from .approvals import Approvals, parse

OTHER = "Other (type your own)"
"""The option of omp's ask tool that stands for a text; a text may be given in its place at once."""

_YES = frozenset({"y", "yes", "true", "on", "1", "ok"})
_PANEL = "extensions"
_NOTHING = frozenset({"setWorkingMessage", "setFooter", "setHeader", "setEditorComponent", "setToolsExpanded"})
"""What does nothing without a terminal ("Unsupported / degraded UI methods")."""

_LEVELS: dict[str, Level] = {"info": "info", "warning": "warning", "error": "error"}


@dataclass(slots=True)
class Dialog:
    """A question that waits. ``method`` says how it is answered."""

    id: str
    method: str
    options: list[str] = field(default_factory=list)
    questions: list[dict[str, Any]] = field(default_factory=list)


class Dialogs:
    """The open dialogs.

    Args:
        approvals: those that ask for leave are handed to it.
        waiting: called before a question is asked: whatever opened it has begun.
    """

    def __init__(self, approvals: Approvals, waiting: Callable[[Step], None]) -> None:
        self._approvals = approvals
        self._waiting = waiting
        self._open: dict[str, Dialog] = {}
        self._panel: dict[str, str] = {}
        self.named = False  # the session has a name of its own: a terminal's title says nothing more
        self.refuse = False  # the run is being stopped: what is asked now is cancelled at once

    # ---- what the agent asks -----------------------------------------------------------------------------------------

    def request(self, value: dict[str, Any], step: Step) -> None:
        """``extension_ui_request``."""
        method, dialog_id = read.text(value.get("method")), read.text(value.get("id"))
        shown = {
            "notify": self._notify, "setStatus": self._status, "setWidget": self._widget, "setTitle": self._title,
            "set_editor_text": self._editor_text,
        }.get(method)  # fmt: skip
        if shown is not None:
            shown(value, step.events)
        elif method == "cancel":
            self._gone(read.text(value.get("targetId")), "withdrawn", step)
        elif method in _NOTHING:
            pass
        elif method in ("select", "confirm", "input", "editor", "ask", "open_url") and dialog_id:
            self._ask(method, dialog_id, value, step)
        else:
            step.events.append(UnknownReceived("extension_ui_request", value))
            if (
                dialog_id and method
            ):  # a kind of dialog we do not know: nobody can answer it, and nothing may wait for ever
                step.messages.append(_cancelled(dialog_id))

    def _ask(self, method: str, dialog_id: str, value: dict[str, Any], step: Step) -> None:
        if self.refuse and method != "open_url":
            step.messages.append(_cancelled(dialog_id))
            return
        self._waiting(step)
        title = parse(read.text(value.get("title")), value.get("options")) if method == "select" else None
        if title is not None:
            answer = self._approvals.request(dialog_id, title, step.events)
            if answer is not None:
                step.messages.append(_response(dialog_id, value=answer))
                return
        else:
            dialog = self._open[dialog_id] = Dialog(dialog_id, method, read.texts(value.get("options")))
            dialog.questions = read.objects(value.get("questions"))
            step.events.append(_question(dialog, value))
        timeout = read.money(value.get("timeout"))
        if timeout is not None and timeout > 0:
            step.wakes.append(Wake(f"omp:dialog:{dialog_id}", timeout / 1000))

    def woke(self, dialog_id: str, step: Step) -> None:
        """A dialog's time is over; the agent goes on without an answer and does not say so."""
        if dialog_id in self._open or dialog_id in self._approvals:
            step.events.append(NoticeRaised("The agent waited no longer for an answer and went on without.", "info"))
            self._gone(dialog_id, "withdrawn", step)

    # ---- what we answer ----------------------------------------------------------------------------------------------

    def decide(self, command: Approve, step: Step) -> str:
        """Send a decision; returns a note that has to go as a message of its own."""
        if command.request_id not in self._approvals:
            return ""
        answer, note = self._approvals.decide(command, step.events)
        self._answered(command.request_id, step, value=answer)
        return note

    def answer(self, command: Answer, step: Step) -> None:
        """Send an answer. What is none of the options cancels a ``select``: nothing unknown is read as a choice."""
        dialog = self._open.pop(command.request_id, None)
        if dialog is None:
            return
        found = None if command.skip else _answer(dialog, command)
        if found is None:
            if not command.skip:
                offered = ", ".join(dialog.options[:20])
                text = f"{command.text[:100]!r} is none of the options, so the dialog was cancelled. It offered: {offered}."
                step.events.append(NoticeRaised(text))
            found = {"cancelled": True}
        skipped = "cancelled" in found
        if dialog.method != "open_url":
            self._answered(dialog.id, step, **found)
        said = "" if skipped else _said(found)
        step.events.append(QuestionResolved(dialog.id, "skipped" if skipped else "answered", said))

    def cancel_all(self, step: Step) -> None:
        """Cancel whatever waits: before an ``abort``, which would hang, and before the input is closed."""
        for dialog_id in [*self._open, *self._approvals.ids()]:
            dialog = self._open.get(dialog_id)
            if dialog is None or dialog.method != "open_url":
                self._answered(dialog_id, step, cancelled=True)
            self._gone(dialog_id, "interrupted", step)

    def turn_ended(self, step: Step) -> None:
        """The run is over: what it asked is closed with it; a dialog of an extension's that is still open is cancelled."""
        self.cancel_all(step)
        self.refuse = False

    def signed_in(self, step: Step) -> None:
        """A sign-in is over: its page need not be opened any more."""
        for dialog in [d for d in self._open.values() if d.method == "open_url"]:
            self._gone(dialog.id, "withdrawn", step)

    @property
    def open(self) -> bool:
        """Does any wait?"""
        return bool(self._open or self._approvals.ids())

    def _gone(self, dialog_id: str, outcome: Any, step: Step) -> None:
        self._approvals.gone(dialog_id, outcome, step.events)
        if self._open.pop(dialog_id, None) is not None:
            step.events.append(QuestionResolved(dialog_id, outcome, by="agent"))
        step.wakes.append(Wake(f"omp:dialog:{dialog_id}", 0))

    def _answered(self, dialog_id: str, step: Step, **fields: Any) -> None:
        step.messages.append(_response(dialog_id, **fields))
        step.wakes.append(Wake(f"omp:dialog:{dialog_id}", 0))

    # ---- what is only shown ------------------------------------------------------------------------------------------

    def _notify(self, value: dict[str, Any], out: list[Event]) -> None:
        said = read.plain(value.get("message"))
        out.append(NoticeRaised(said or "(an empty message)", _LEVELS.get(read.text(value.get("notifyType")), "info")))

    def _status(self, value: dict[str, Any], out: list[Event]) -> None:
        self._show(f"status {read.text(value.get('statusKey'))}", read.plain(value.get("statusText")), out)

    def _widget(self, value: dict[str, Any], out: list[Event]) -> None:
        lines = "\n".join(read.plain(line) for line in read.texts(value.get("widgetLines")))
        self._show(f"widget {read.text(value.get('widgetKey'))}", lines, out)

    def _show(self, key: str, text: str, out: list[Event]) -> None:
        """Status texts and widget lines of all extensions are one plan that is put right and taken down."""
        if self._panel.get(key, "") == text:
            return
        if text:
            self._panel[key] = text
        else:
            del self._panel[key]
        if not self._panel:
            out.append(PlanRemoved(_PANEL))
            return
        items = [{"text": line, "status": "active"} for said in self._panel.values() for line in said.split("\n")[:50]]
        out.append(PlanUpdated(items, _PANEL))

    def _title(self, value: dict[str, Any], out: list[Event]) -> None:
        title = read.plain(value.get("title"))
        if title and not self.named:
            out.append(SessionUpdated({"title": title}))

    def _editor_text(self, value: dict[str, Any], out: list[Event]) -> None:
        said = read.text(value.get("text"))
        if said:
            out.append(
                NoticeRaised("An extension suggests this as your next message; copy it if you want it.", "info", said)
            )


def _question(dialog: Dialog, value: dict[str, Any]) -> QuestionRequested:
    """A dialog as a question. One with a text to be typed is a form of one field, filled in beforehand."""
    title = read.plain(value.get("title"))
    asked = QuestionRequested(dialog.id, f"ui:{dialog.id}", title, free=False)
    if dialog.method == "select":
        helps = [read.text(o.get("description")) for o in read.objects(value.get("optionDetails"))]
        helps += [""] * (len(dialog.options) - len(helps))
        asked.choices = [Choice(o, read.plain(o), h) for o, h in zip(dialog.options, helps, strict=False)]
        asked.free = OTHER in dialog.options
    elif dialog.method == "confirm":
        message = read.plain(value.get("message"))
        asked.text = "\n".join(filter(None, [title, message]))
        asked.choices = [Choice("yes", "Yes"), Choice("no", "No")]
    elif dialog.method == "open_url":
        asked.url = read.text(value.get("launchUrl")) or read.text(value.get("url"))
        asked.text = read.plain(value.get("instructions")) or title or "The agent wants a page to be opened."
    elif dialog.method == "ask":
        asked.form = [one for number, q in enumerate(dialog.questions) for one in _ask_fields(q, number)]
        asked.text = title or "The agent asks."
    else:
        filled = read.text(value.get("prefill"))
        asked.form = [FormField("value", "text", title, read.plain(value.get("placeholder")), default=filled or None)]
    asked.text = asked.text or "The agent asks."
    return asked


def _ask_fields(question: dict[str, Any], number: int) -> list[FormField]:
    """One question of omp's ``ask`` dialog: its options, and a text of one's own."""
    name = read.text(question.get("id")) or f"q{number + 1}"
    title = read.plain(question.get("question"))
    options = read.objects(question.get("options"))
    chosen = [
        Choice(read.text(o.get("label")), read.text(o.get("label")), read.text(o.get("description")))
        for o in options
        if read.text(o.get("label"))
    ]
    first = question.get("recommended")
    multi = question.get("multi") is True
    default = None
    if type(first) is int and 0 <= first < len(chosen):
        default = [chosen[first].value] if multi else chosen[first].value
    if not chosen:
        return [FormField(f"{name}:own", "text", title)]
    return [
        FormField(name, "multi" if multi else "select", title, default=default, choices=chosen),
        FormField(f"{name}:own", "text", "or in your own words"),
    ]


def _answer(dialog: Dialog, command: Answer) -> dict[str, Any] | None:
    """The fields of the answer; None when it is no answer to this dialog."""
    fields = command.fields or {}
    if dialog.method == "select":
        said = command.text
        if said in dialog.options:
            return {"value": said}
        alike = [o for o in dialog.options if o.strip().lower() == said.strip().lower()]
        if len(alike) == 1:
            return {"value": alike[0]}
        return {"value": said} if OTHER in dialog.options and said.strip() else None
    if dialog.method == "confirm":
        return {"confirmed": command.text.strip().lower() in _YES}
    if dialog.method == "open_url":
        return {"value": command.text}
    if dialog.method == "ask":
        answers = []
        for number, question in enumerate(dialog.questions):
            name = read.text(question.get("id")) or f"q{number + 1}"
            chosen, own = fields.get(name), fields.get(f"{name}:own")
            answer: dict[str, Any] = {
                "id": name,
                "selectedOptions": read.texts(chosen) if isinstance(chosen, list) else read.texts([chosen]),
            }
            if isinstance(own, str) and own.strip():
                answer["customInput"] = own
            answers.append(answer)
        if len(answers) == 1 and command.text and not fields:
            answers[0]["customInput"] = command.text
        return {"answers": answers}
    value = fields.get("value", "") if command.fields is not None else command.text
    return {"value": value if isinstance(value, str) else str(value)}


def _said(found: dict[str, Any]) -> str:
    if "confirmed" in found:
        return "yes" if found["confirmed"] else "no"
    if "answers" in found:
        told = [[*a["selectedOptions"], *([a["customInput"]] if "customInput" in a else [])] for a in found["answers"]]
        return "; ".join(", ".join(one) for one in told)
    return str(found.get("value", ""))


def _response(dialog_id: str, **fields: Any) -> dict[str, Any]:
    return {"type": "extension_ui_response", "id": dialog_id, **fields}


def _cancelled(dialog_id: str) -> dict[str, Any]:
    return _response(dialog_id, cancelled=True)
