"""A long answer costs what its text costs, not what the lines repeat of it."""

from __future__ import annotations

import gc
import json
import time
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from omp_talk import Talk, update
from pydantic_core import from_json

from hm_jupyter.protocols.omp.adapter import OmpAdapter

CHARACTERS = 200_000
BATCH = 200


class Unread:
    """What nobody may look into."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"{name} of what repeats itself was read")


def test_what_an_update_repeats_is_neither_read_nor_kept() -> None:
    t = Talk().prompt()

    class Big(dict[str, Any]):
        """Can be referred to weakly."""

    partial, message = Big(), Big()
    kept = [weakref.ref(partial), weakref.ref(message)]
    line = {**update("text_delta", contentIndex=0, delta="ab", partial=partial), "message": message}
    t.hears(line, {**update("text_delta", contentIndex=0, delta="cd", partial=Unread()), "message": Unread()})
    del line, partial, message
    gc.collect()
    assert [ref() for ref in kept] == [None, None]


def lines(kind: str) -> list[bytes]:
    """An answer in deltas of two characters; omp's repeat a message as long as a line may be short of elision."""
    extra: dict[str, Any] = {}
    if kind == "omp":
        message = {"role": "assistant", "content": [{"type": "text", "text": "x" * 2000}], "usage": {"input": 1}}
        extra = {"message": message, "partial": message}
    delta = {
        "type": "text_delta",
        "contentIndex": 0,
        "delta": "ab",
        **{k: v for k, v in extra.items() if k == "partial"},
    }
    value = {
        "type": "message_update",
        "assistantMessageEvent": delta,
        **{k: v for k, v in extra.items() if k == "message"},
    }
    return [json.dumps(value).encode()] * (CHARACTERS // 2 // (10 if kind == "omp" else 1))


def batches(wire: list[bytes]) -> Iterator[list[Any]]:
    for at in range(0, len(wire), BATCH):
        yield [from_json(line, cache_strings="keys") for line in wire[at : at + BATCH]]


def parsed(wire: list[bytes]) -> None:
    for _ in batches(wire):
        pass


def understood(wire: list[bytes], adapter: OmpAdapter | None = None) -> int:
    """As the controller does it."""
    adapter = adapter or Talk().prompt().adapter
    told = 0
    for values in batches(wire):
        at = 0
        while at < len(values):
            texts = adapter.texts(values, at)
            if texts is None:
                told += len(adapter.receive(values[at]).events)
                at += 1
            else:
                told += len(texts.pieces)
                at += len(texts.pieces)
    return told


def seconds(call: Callable[[], Any]) -> float:
    found = []
    for _ in range(3):
        begun = time.process_time()
        call()
        found.append(time.process_time() - begun)
    return min(found)


@pytest.mark.parametrize("kind", ["pi", "omp"])
def test_a_long_answer_costs_less_than_three_times_the_parsing_of_its_lines(kind: str) -> None:
    wire = lines(kind)
    assert understood(wire) == len(wire)
    assert seconds(lambda: understood(wire)) < 3 * seconds(lambda: parsed(wire))


def test_a_long_answer_is_held_once() -> None:
    wire = lines("pi")
    adapter = Talk().prompt().adapter
    gc.collect()
    tracemalloc.start()
    understood(wire, adapter)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    frame = BATCH * 1500  # what is read at once, parsed
    assert peak < 3 * CHARACTERS + frame


def test_the_output_of_a_tool_is_told_by_what_is_new_of_it() -> None:
    t = Talk().prompt()
    t.runs("c1", "bash", command="seq")
    told = 0
    text = ""
    for number in range(500):
        text += f"{number}\n"
        line = {"type": "tool_execution_update", "toolCallId": "c1", "toolName": "bash", "args": {},
                "partialResult": {"content": [{"type": "text", "text": text}]}}  # fmt: skip
        told += sum(len(getattr(e, "text", "") or getattr(e, "output", "") or "") for e in t.hears(line))
    assert told == len(text)
