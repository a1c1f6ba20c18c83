"""The seam to models: what a model is, what it yields, and which providers there are.

A provider makes models; a model is asked for one step (one assistant message) at a time. The demo provider is the only
one so far. LLM providers come with a later release's extra: they implement :class:`Model` and are listed in
:data:`PROVIDERS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

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
    """A call is complete. ``id`` "" lets the loop number it."""

    tool: str
    input: dict[str, Any]
    id: str = ""


@dataclass(slots=True)
class Finished:
    """The step is over: what it cost, and what the provider wants kept with the message."""

    usage: Usage = field(default_factory=Usage)
    private: Any = None


@dataclass(slots=True)
class Retrying:
    """The model did not answer; it is asked again after ``wait`` seconds. What the step yielded so far is void."""

    attempt: int
    of: int
    wait: float
    reason: str


Delta = Union[Text, Thinking, CallStarted, Call, Retrying, Finished]


class ModelError(Exception):
    """The model could not answer. The text says why, for people."""


class UnknownModel(ValueError):
    """There is no such provider or model. The text says which there are."""


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
    ) -> AsyncIterator[Delta]:
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


def _demo() -> Provider:
    from .demo.model import DemoModel, model_names

    return Provider("demo", DemoModel.named, model_names)


PROVIDERS: dict[str, Callable[[], Provider]] = {"demo": _demo}
"""Every provider by name, made when first asked for."""

DEFAULT_PROVIDER = "demo"


def provider_named(name: str) -> Provider:
    """The provider called ``name``. Raises :class:`UnknownModel`."""
    make = PROVIDERS.get(name)
    if make is None:
        have = ", ".join(sorted(PROVIDERS))
        raise UnknownModel(
            f"there is no provider {name[:60]!r}; this release has: {have}"
            " (LLM providers come with a later release, as an extra)"
        )
    return make()


def make_model(provider: str, model: str) -> Model:
    """The model ``model`` of ``provider``. Raises :class:`UnknownModel`."""
    return provider_named(provider).make(model)
