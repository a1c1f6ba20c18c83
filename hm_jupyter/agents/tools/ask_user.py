"""ask_user: a question to the person, with choices or without."""

from __future__ import annotations

from typing import Any

from .base import Context, Plan, Result, Tool, ToolError, schema, text_field
from .workspace import Workspace


class AskUser(Tool):
    name = "ask_user"
    category = "ask"
    description = (
        "Ask the person something only they can say. choices are offered as they stand: value is"
        " what you get, label (else the value) what is shown, help a line more;"
        " multi lets them take several; free (the default) lets them write something else."
    )
    schema = schema(
        ["question"],
        question={"type": "string"},
        choices={  # every array says what is in it: some providers refuse those that do not
            "type": "array",
            "items": {
                "type": "object",
                "properties": {name: {"type": "string"} for name in ("value", "label", "help")},
                "required": ["value"],
            },
        },
        multi={"type": "boolean"},
        free={"type": "boolean"},
    )

    def plan(self, input: dict[str, Any], workspace: Workspace) -> Plan:
        text_field(input, "question")
        _choices(input)
        return Plan(input)

    async def run(self, plan: Plan, context: Context) -> Result:
        multi, free = bool(plan.input.get("multi")), bool(plan.input.get("free", True))
        answer = await context.ask(plan.input["question"], _choices(plan.input), multi, free)
        if answer is None:
            return Result("Nobody can answer: go on without it, and say what you assumed.", is_error=True)
        return Result(answer, answer=answer)

    def summary(self, input: dict[str, Any]) -> str:
        return str(input.get("question", ""))


def _choices(input: dict[str, Any]) -> list[dict[str, str]]:
    choices = input.get("choices") or []
    if not isinstance(choices, list):
        raise ToolError("'choices' must be a list")
    out = []
    for choice in choices:
        if isinstance(choice, str):
            choice = {"value": choice}
        if not isinstance(choice, dict) or not isinstance(choice.get("value"), str):
            raise ToolError("each of 'choices' is a text, or an object with value, label and help")
        value = choice["value"]
        out.append({"value": value, "label": str(choice.get("label") or value), "help": str(choice.get("help") or "")})
    return out
