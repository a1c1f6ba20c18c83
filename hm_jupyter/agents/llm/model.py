"""One model behind a provider's API: a step is one streamed request, asked again where that may help.

Source of what is retried: RFC 9110 (408, 425, 429, 5xx, Retry-After), Anthropic's "Errors" (529). Yields our deltas;
knows no wire: that is ``engine``'s. Nothing is imported for it before the first step.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any

from ..config import ProviderConfig
from ..messages import Message
from ..providers import ContextTooLong, Delta, Finished, Model, ModelError, Notice, Retrying, Text
from .effort import EFFORTS
from .failures import Failure, Place, broken_off, failure
from .known import context_size

FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0
"""Seconds before the first retry and the longest before any; each wait is twice the one before."""

PATIENCE = 120.0
"""Longest wait a provider may ask for, in seconds; beyond it the step fails at once and says so."""

LISTING = 3.0
"""Seconds a server gets to list its models."""

EMPTY = "The model gave an empty answer. Ask again, or say it in other words."
CUT = "The answer is cut off: it reached the most tokens an answer may have. Ask the model to go on."
REFUSED = "The provider withheld the answer: its content filter or the model refused. Say it in other words."

_SUMMARIZE = (
    "Summarise this conversation for yourself: you will go on with the work and remember nothing else. Keep the user's"
    " wishes and constraints, decisions and why, files and commands with their results, what is done, what is open and"
    " the next step. Write only the summary."
)


class ProviderModel(Model):
    """A model as a provider's settings describe it. The key is in ``place.secrets`` and the client, nowhere else."""

    efforts = EFFORTS

    def __init__(
        self, place: Place, config: ProviderConfig, make: Callable[[str], Any], *, known: bool, warning: str = ""
    ) -> None:
        self.name = place.model
        self._place = place
        self._config = config
        self._make = make
        self._known = known
        self._warning = warning
        self._engine: Any = None

    @property
    def context_size(self) -> int:  # type: ignore[override]  # better known after a step
        """Tokens it takes in all; 0: not known. Better known after the first step."""
        from .price import context_window

        name = self._place.model
        return self._config.context_size or context_window(name, self._config.api) or context_size(name)

    # ---- a step ----

    async def step(
        self, history: Sequence[Message], *, tools: Sequence[Any], effort: str, system: str = ""
    ) -> AsyncGenerator[Delta, None]:
        """See :meth:`Model.step`. A step that is asked again begins anew: what it yielded before is void."""
        if self._warning:
            yield Notice("warning", self._warning)
            self._warning = ""
        await self._find_engine()
        attempt, plain = 0, False
        while True:
            try:
                async with aclosing(self._ask(history, tools, effort, system, plain)) as deltas:
                    async for delta in deltas:
                        yield delta
                return
            except _Failed as failed:
                problem = failed.failure
            if problem.plain and not plain:
                plain = True
                yield Retrying(attempt + 1, self._config.retries, 0.0, problem.reason)
                continue
            if not problem.retry or attempt >= self._config.retries:
                raise await self._final(problem, attempt)
            wait = self._wait(attempt, problem)
            attempt += 1
            yield Retrying(attempt, self._config.retries, round(wait, 2), problem.reason)
            await asyncio.sleep(wait)

    def _wait(self, attempt: int, problem: Failure) -> float:
        if problem.wait is None:
            return min(LONGEST_WAIT, FIRST_WAIT * 2.0**attempt) * random.uniform(0.75, 1.0)
        if problem.wait > PATIENCE:
            raise ModelError(f"{problem.error} (it asks to wait {problem.wait:.0f} s)")
        return problem.wait

    async def _final(self, problem: Failure, attempts: int) -> ModelError:
        error = problem.error
        if isinstance(error, ContextTooLong):
            return error
        if problem.reason == "no such model":
            from .engine import served_models

            served = await served_models(self._engine, LISTING)
            if served:
                return ModelError(f"{error}. The server has: {', '.join(served[:12])}")
        return ModelError(f"{error} (asked {attempts + 1} times)") if attempts else error

    async def _find_engine(self) -> None:
        if self._engine is not None:
            return
        name = self._place.model
        if not name:
            from .engine import served_models

            served = await served_models(self._make("unnamed"), LISTING)
            if not served:
                raise ModelError(
                    f"{self._place.base_url} was asked which models it has and named none. Is the server running? Else"
                    f" give --model, or model under [providers.{self._place.provider}] in hm.toml"
                )
            self.name = self._place.model = name = served[0]
        self._engine = self._make(name)

    async def _ask(
        self, history: Sequence[Message], tools: Sequence[Any], effort: str, system: str, plain: bool
    ) -> AsyncGenerator[Delta, None]:
        """One request. Raises ``_Failed``; a cancellation closes the connection on its way out."""
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.messages import ModelRequest
        from pydantic_ai.models import ModelRequestParameters

        from .engine import closing_answers, settings_for
        from .stream import Reader
        from .translate import conversation, definitions

        c = self._config
        messages = conversation(history, self._origin, plain=plain)
        last = messages[-1] if messages else None
        if not isinstance(last, ModelRequest):
            raise ModelError("there is nothing to answer: the conversation does not end with a message or a result")
        last.instructions = system or None
        settings = settings_for(c.api, effort=effort, known=self._known, max_tokens=c.max_tokens, cache=c.cache)
        parameters = ModelRequestParameters(function_tools=definitions(tools))
        reader = Reader()
        try:
            async with (
                closing_answers(),
                model_request_stream(
                    self._engine, messages, model_settings=settings, model_request_parameters=parameters,
                    instrument=False,
                ) as response,
            ):  # fmt: skip
                async for event in response:
                    for delta in reader.read(event):
                        yield delta
                whole = response.get()
        except ModelError:
            raise
        except Exception as error:
            raise _Failed(failure(error, self._place)) from None
        if not reader.ended(whole, strict=self._known or c.api != "openai"):
            raise _Failed(broken_off(self._place))
        for call in reader.calls(whole):
            yield call
        yield self._finished(whole, reader.text)

    def _finished(self, whole: Any, text: str) -> Finished:
        from .price import usage_of
        from .translate import keep

        c = self._config
        usage = usage_of(
            whole.usage, self._place.model, api=c.api, base_url=self._place.base_url, known=self._known, prices=c.prices
        )
        done = Finished(usage, keep(whole, self._origin, text))
        if whole.finish_reason == "length":
            done.stop, done.note = "max_tokens", CUT
        elif whole.finish_reason == "content_filter":
            done.stop, done.note = "refusal", REFUSED
        elif not text.strip() and not whole.tool_calls:
            done.note = EMPTY
        return done

    @property
    def _origin(self) -> str:
        return f"{self._place.provider}:{self._config.api}"

    # ---- compact ----

    async def summarize(self, history: Sequence[Message], focus: str) -> str:
        """See :meth:`Model.summarize`."""
        wish = _SUMMARIZE + (f" Above all: {focus}" if focus else "")
        parts: list[str] = []
        steps = self.step([*history, Message("", "user", wish)], tools=[], effort="")
        async with aclosing(steps) as deltas:
            async for delta in deltas:
                if type(delta) is Text:
                    parts.append(delta.text)
                elif type(delta) is Retrying:
                    parts.clear()
        summary = "".join(parts).strip()
        if not summary:
            raise ModelError(EMPTY)
        return summary


class _Failed(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.reason)
        self.failure = failure
