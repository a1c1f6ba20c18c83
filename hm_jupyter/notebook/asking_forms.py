"""A form of the agent's, asked field by field with ``input()``. Everything it names was written by an agent, and is
shown exactly. What a typed line means for a field is ``hm_jupyter.forms``'s business."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..commands import Answer
from ..errors import UsageError
from ..events import FormField
from ..exports.safe import plain
from ..forms import named, shown, value_of, wants
from ..transcript import PendingQuestion
from .show import say

SKIP = "/skip"


def field_text(field: FormField) -> str:
    """A field in a line: its name, what it takes, whether it is needed, what is filled in."""
    need = ", needed" if field.required else ""
    default = "" if field.default is None else f" [{shown(field.default)}]"
    return plain(f"{named(field)}: {wants(field)}{need}{default}", exact=True)


def ask_form(question: PendingQuestion, read: Callable[[str], str | None], still: Callable[[], bool]) -> Answer | None:
    """The answer typed field by field; None when the form no longer waits (``still`` false, or a line taken back).

    ``/skip`` declines. An empty line takes the default, or leaves out what is not needed. Raises what ``read`` does.
    """
    values: dict[str, Any] = {}
    for number, field in enumerate(question.form, 1):
        say(f"{number}/{len(question.form)}  {field_text(field)}")
        for line in (field.help, *_listed(field)):
            if line:
                say(f"  {plain(line, exact=True)}")
        while True:
            text = read(f"{plain(field.title or field.name, exact=True)}: ") if still() else None
            if text is None:
                return None
            if text.strip() == SKIP:
                return Answer(request_id=question.request_id, skip=True)
            if not text.strip():
                if field.default is not None:
                    values[field.name] = field.default
                elif field.required:
                    say(f"It is needed: {wants(field)}.")
                    continue
                break
            try:
                values[field.name] = value_of(field, text if field.kind == "text" else text.strip())
                break
            except UsageError as error:
                say(str(error))
    return Answer(request_id=question.request_id, fields=values)


def _listed(field: FormField) -> list[str]:
    return [f"{i}. {c.label or c.value}" + (f"  ({c.help})" if c.help else "") for i, c in enumerate(field.choices, 1)]
