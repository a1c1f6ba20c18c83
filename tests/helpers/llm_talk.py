"""What the tests of models share: a model of the scripted server, and one step of it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from hm_jupyter.agents.config import parsed
from hm_jupyter.agents.llm.known import PRESETS
from hm_jupyter.agents.messages import Message, ToolCall
from hm_jupyter.agents.providers import Call, Delta, Finished, Model, Registry, Text, Thinking
from hm_jupyter.agents.tools import TOOLS

_LOOP = asyncio.new_event_loop()


def on_loop(work: Coroutine[Any, Any, Any]) -> Any:
    """Run it on the one loop of the tests: a model keeps its connections, and those belong to a loop."""
    return _LOOP.run_until_complete(work)


def model_of(server: Any, api: str, **settings: str) -> Model:
    """The model that hm.toml gives for ``api`` on ``server``; ``settings`` are its further lines."""
    return Registry(parsed(server.settings(**settings), "hm.toml", PRESETS)).get(f"{api}-here").make("")


def asks(text: str = "hello", **more: Any) -> Message:
    return Message("e1", "user", text, **more)


def step(model: Model, history: Sequence[Message], *, effort: str = "", system: str = "") -> list[Delta]:
    """All that one step yields."""

    async def run() -> list[Delta]:
        return [d async for d in model.step(history, tools=list(TOOLS.values()), effort=effort, system=system)]

    deltas: list[Delta] = on_loop(run())
    return deltas


def text_of(deltas: Sequence[Delta]) -> str:
    return "".join(d.text for d in deltas if isinstance(d, Text))


def thinking_of(deltas: Sequence[Delta]) -> str:
    return "".join(d.text for d in deltas if isinstance(d, Thinking))


def calls_of(deltas: Sequence[Delta]) -> list[Call]:
    return [d for d in deltas if isinstance(d, Call)]


def finished(deltas: Sequence[Delta]) -> Finished:
    assert isinstance(deltas[-1], Finished)
    return deltas[-1]


def message_of(deltas: Sequence[Delta], *ids: str) -> Message:
    """The message the loop makes of a step, its calls numbered ``ids``."""
    calls = [ToolCall(id, c.tool, c.input, c.error) for id, c in zip(ids, calls_of(deltas), strict=True)]
    return Message("e2", "assistant", text_of(deltas), calls=calls, private=finished(deltas).private)


def result(call_id: str, text: str, **more: Any) -> Message:
    return Message("e3", "tool", text, call_id=call_id, **more)
