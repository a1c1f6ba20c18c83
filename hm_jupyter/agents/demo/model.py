"""The scripted model: plays a scenario by looking at the conversation, as any model does. It keeps no state of its own.

Where it is in a script is kept with its own messages (``Message.private``), so a fork or a stopped turn is no problem.
Deterministic given the scenario and what the tools gave; tokens and cost are worked out from lengths.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from ..messages import Message, Usage, size, tokens
from ..providers import Call, CallStarted, Delta, Finished, Model, Text, Thinking, UnknownModel
from ..session import SYSTEM_TOKENS
from .scenario import FOLDER, Scenario, ScenarioError, Step, builtin_names, load
from .template import fill
from .view import View

INPUT_PRICE, CACHED_PRICE, OUTPUT_PRICE = 3e-6, 0.3e-6, 15e-6
"""US dollars a token: made up, but of the usual size."""

_PIECES = re.compile(r"\S+\s*|\s+")
_YIELD_EVERY = 64


def model_names() -> list[str]:
    """What ``--model`` may be, besides a file and any of these with "-fast" at its end."""
    return builtin_names()


class DemoModel(Model):
    """One scenario, ready to play. ``speed`` multiplies every wait; 0 waits for nothing."""

    context_size = 200_000

    def __init__(self, scenario: Scenario, speed: float = 1.0) -> None:
        self.name = scenario.name
        self._scenario = scenario
        self._speed = speed

    @classmethod
    def named(cls, name: str) -> DemoModel:
        """A built-in scenario ("": the first one; with "-fast" at its end: without waits) or a .toml file.

        Raises:
            UnknownModel: there is none, or the file cannot be used.
        """
        speed = _speed()
        if name.endswith(".toml") or os.sep in name:
            path = Path(name).expanduser().resolve()
        else:
            known = builtin_names()
            stem = name.removesuffix("-fast")
            speed = speed if stem == name else 0.0
            stem = known[0] if stem in ("", "demo") else stem
            if stem not in known:
                raise UnknownModel(
                    f"there is no demo scenario {name[:60]!r}; there are {', '.join(known)}, or give a .toml file"
                )
            path = FOLDER / f"{stem}.toml"
        try:
            return cls(load(path), speed)
        except ScenarioError as error:
            raise UnknownModel(str(error)) from None

    async def step(
        self, history: Sequence[Message], *, tools: Sequence[Any], effort: str, system: str = ""
    ) -> AsyncGenerator[Delta, None]:
        """The next step of the script that fits; see :class:`View` for how it is found."""
        view = View(self._scenario, history)
        step, preface = view.next_step()
        known = view.known()
        written = 0
        await self._wait(step.pause)
        async for piece in self._stream(fill(step.thinking, known)):
            written += len(piece)
            yield Thinking(piece)
        async for piece in self._stream(preface + fill(step.text, known), _times(fill(step.repeat, known))):
            written += len(piece)
            yield Text(piece)
        for raw in step.calls:
            call = fill(raw, known)
            tool = call.pop("tool")
            written += len(tool) + sum(len(str(v)) for v in call.values())
            yield CallStarted(tool)
            await self._wait(self._scenario.pace * 8)
            yield Call(tool, call)
        usage = _usage(history, written)
        yield Finished(usage, {"script": view.script_index, "step": view.index_of(step), "input": usage.input})

    async def summarize(self, history: Sequence[Message], focus: str) -> str:
        await self._wait(400)
        asked = [m.text.strip().splitlines()[0][:80] for m in history if m.role == "user" and m.text.strip()]
        calls = sum(len(m.calls) for m in history)
        lines = [f"{len(history)} messages, {calls} tool calls." + (f" Focus: {focus}." if focus else "")]
        lines += [f"- The user asked: {text}" for text in asked]
        answer = next((m.text for m in reversed(history) if m.role == "assistant" and m.text), "")
        return "\n".join([*lines, f"\nLast answer: {answer[:400]}" if answer else ""]).rstrip()

    async def _stream(self, text: str, times: int = 1) -> AsyncIterator[str]:
        pieces = _PIECES.findall(text)
        count = 0
        for _ in range(times):
            for piece in pieces:
                yield piece
                count += 1
                if self._speed and self._scenario.pace:
                    await self._wait(self._scenario.pace)
                elif count % _YIELD_EVERY == 0:
                    await asyncio.sleep(0)

    async def _wait(self, milliseconds: float) -> None:
        await asyncio.sleep(milliseconds * self._speed / 1000)


def _speed() -> float:
    try:
        return max(0.0, float(os.environ.get("HM_DEMO_SPEED", "1")))
    except ValueError:
        return 1.0


def _times(text: str) -> int:
    return min(int(text), 1_000_000) if text.isdigit() else 1


def _usage(history: Sequence[Message], written: int) -> Usage:
    input = SYSTEM_TOKENS + tokens(sum(size(m) for m in history))
    before = next((m.private["input"] for m in reversed(history) if m.private and "script" in m.private), 0)
    cached = min(before, input)
    output = tokens(written)
    cost = (input - cached) * INPUT_PRICE + cached * CACHED_PRICE + output * OUTPUT_PRICE
    return Usage(input, output, cached, 0, round(cost, 8))


__all__ = ["DemoModel", "Step", "model_names"]
