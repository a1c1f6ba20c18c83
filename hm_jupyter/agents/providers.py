"""The seam to models: what a model is, what it yields, and which providers there are.

A provider makes models; a model is asked for one step (one assistant message) at a time. ``demo`` plays scripts, all
others are models behind an API (``llm/``, with the extra of that name): those hm.toml names, and the known ones. Knows
no API, and imports nothing of one before it is asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, Union

from .config import Config, ConfigError, load_config
from .messages import Message, Usage


@dataclass(slots=True)
class Text:
    """The next piece of the answer."""

    text: str


@dataclass(slots=True)
class Thinking:
    """The next piece of the model's thinking."""

    text: str


@dataclass(slots=True)
class CallStarted:
    """The model has begun to write a call of ``tool``; its input is not known yet."""

    tool: str


@dataclass(slots=True)
class Call:
    """A call is complete. ``id`` "" lets the loop number it. ``error``: why it cannot be made, told to the model."""

    tool: str
    input: dict[str, Any]
    id: str = ""
    error: str = ""


@dataclass(slots=True)
class Finished:
    """The step is over: what it cost, and what the provider wants kept with the message.

    ``stop`` is how it ended where that was not as usual; ``note`` says something of the ending, for people.
    """

    usage: Usage = field(default_factory=Usage)
    private: Any = None
    stop: Literal["", "max_tokens", "refusal"] = ""
    note: str = ""


@dataclass(slots=True)
class Retrying:
    """The model did not answer; it is asked again after ``wait`` seconds. What the step yielded so far is void."""

    attempt: int
    of: int
    wait: float
    reason: str


@dataclass(slots=True)
class Notice:
    """Something people should know of."""

    level: Literal["info", "warning", "error"]
    text: str


Delta = Union[Text, Thinking, CallStarted, Call, Retrying, Notice, Finished]


class ModelError(Exception):
    """The model could not answer. The text says why, for people."""


class ContextTooLong(ModelError):
    """The conversation is longer than the model takes."""


class UnknownModel(ValueError):
    """There is no such provider or model, or it cannot be used as things are. The text says what there is or to do."""


class Model(ABC):
    """One model, ready to be asked."""

    name: str = ""
    context_size: int = 0
    """Tokens it takes in all; 0: not known."""
    efforts: Sequence[str] = ()
    """The efforts it knows; none: it has no such setting."""

    @abstractmethod
    def step(
        self, history: Sequence[Message], *, tools: Sequence[Any], effort: str, system: str = ""
    ) -> AsyncGenerator[Delta, None]:
        """The next assistant message, piece by piece, ended by one :class:`Finished`. May be cancelled at any await.

        ``tools`` are :class:`hm_jupyter.agents.tools.base.Tool` objects (name, description, schema); ``system`` is what
        the model is told to be and to heed. Raises :class:`ModelError`.
        """

    @abstractmethod
    async def summarize(self, history: Sequence[Message], focus: str) -> str:
        """``history`` in a few sentences, for ``compact``. Raises :class:`ModelError`."""


@dataclass(slots=True)
class Provider:
    """A source of models: ``make(model)`` builds one ("" is the configured one), ``models()`` lists what is known."""

    name: str
    make: Callable[[str], Model]
    models: Callable[[], list[str]]


class Registry:
    """The providers there are, by ``config`` and the environment."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self._made: dict[str, Provider] = {}

    def default(self) -> str:
        """The provider to use when none is named: hm.toml's, else the first whose key is in the environment.

        Without any, or without the extra, ``demo``.
        """
        if self.config.provider:
            return self.config.provider
        from .llm.source import first_found

        return first_found(self.config) or "demo"

    def names(self) -> list[str]:
        """The providers to choose from: those of hm.toml, those whose key is in the environment, and ``demo``."""
        from .llm.source import usable

        return [*usable(self.config), "demo"]

    def get(self, name: str) -> Provider:
        """The provider called ``name``. Raises :class:`UnknownModel`."""
        provider = self._made.get(name)
        if provider is None:
            provider = self._made[name] = self._make(name)
        return provider

    def _make(self, name: str) -> Provider:
        if name == "demo":
            from .demo.model import DemoModel, model_names

            return Provider("demo", DemoModel.named, model_names)
        from .llm.source import all_names, make_provider

        if name not in all_names(self.config):
            have = ", ".join([*all_names(self.config), "demo"])
            raise UnknownModel(f"there is no provider {name[:60]!r}; there are {have}. hm.toml can name more")
        return make_provider(name, self.config)


@lru_cache(maxsize=1)
def registry() -> Registry:
    """The providers as they were when first asked for. Raises :class:`UnknownModel` where hm.toml is not right."""
    try:
        return Registry(load_config())
    except ConfigError as error:
        raise UnknownModel(str(error)) from None


def default_provider() -> str:
    """The provider to use when none is named. Raises :class:`UnknownModel`."""
    return registry().default()


def provider_names() -> list[str]:
    """The providers to choose from. Raises :class:`UnknownModel`."""
    return registry().names()


def provider_named(name: str) -> Provider:
    """The provider called ``name``. Raises :class:`UnknownModel`."""
    return registry().get(name)


def make_model(provider: str, model: str) -> Model:
    """The model ``model`` of ``provider`` ("": the configured one). Raises :class:`UnknownModel`."""
    return provider_named(provider).make(model)
