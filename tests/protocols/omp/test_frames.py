"""Lines longer than 1 MiB: chunks that become the one line they carry."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from omp_talk import Talk, said

from hm_jupyter import events as ev
from hm_jupyter.protocols.omp.frames import Broken, Frames

LINE = said({"type": "text", "text": "long € answer"})


def chunks(value: Any, size: int = 40, chunk_id: Any = "a") -> list[dict[str, Any]]:
    whole = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()
    parts = [whole[at : at + size] for at in range(0, len(whole), size)]
    return [
        {"type": "rpc_chunk", "chunkId": chunk_id, "index": n, "count": len(parts), "byteLength": len(whole),
         "data": base64.b64encode(part).decode()}
        for n, part in enumerate(parts)
    ]  # fmt: skip


def test_a_run_of_chunks_is_the_line_it_carries() -> None:
    t = Talk().prompt()
    t.hears(*chunks(LINE))
    assert [str(e.text) for e in t.shown("message")] == ["long € answer"]
    assert not t.of(ev.NoticeRaised)


def test_one_chunk_is_a_line_too() -> None:
    t = Talk().prompt()
    t.hears(*chunks(LINE, 10_000))
    assert [str(e.text) for e in t.shown("message")] == ["long € answer"]


@pytest.mark.parametrize(
    ("why", "spoil"),
    [
        ("lost", lambda run: run[:1] + run[2:]),
        ("twice", lambda run: [run[0], run[1], run[1], *run[2:]]),
        ("no base64", lambda run: [run[0], {**run[1], "data": "%%%"}, *run[2:]]),
        ("no data", lambda run: [run[0], {**run[1], "data": None}, *run[2:]]),
        ("another's", lambda run: [run[0], {**run[1], "chunkId": "b"}, *run[2:]]),
        ("too short", lambda run: [*run[:-1], {**run[-1], "byteLength": 7}]),
        ("no count", lambda run: [{**chunk, "count": None} for chunk in run]),
    ],
)
def test_a_run_that_is_not_whole_is_left_out_and_said_once(why: str, spoil: Any) -> None:
    t = Talk().prompt()
    t.hears(*spoil(chunks(LINE)))
    notices = [n for n in t.of(ev.NoticeRaised) if "long line" in n.text]
    assert notices and len(notices) <= 2
    assert not t.shown("message")
    t.hears(*chunks(LINE, chunk_id="c"))
    assert [str(e.text) for e in t.shown("message")] == ["long € answer"]


def test_a_line_in_between_breaks_the_run_and_is_heard_itself() -> None:
    t = Talk().prompt()
    run = chunks(LINE)
    t.hears(run[0], {"type": "notice", "level": "info", "message": "hello"})
    assert [n.text for n in t.of(ev.NoticeRaised)][-1] == "hello"


def test_what_carries_no_event_or_chunks_again_is_left_out() -> None:
    t = Talk().prompt()
    t.hears(*chunks([1, 2]), *chunks({"type": "rpc_chunk"}, chunk_id="b"), *chunks(b"{nothing", chunk_id="c"))
    assert len(t.of(ev.NoticeRaised)) == 3


def test_a_lone_surrogate_in_it_does_no_harm() -> None:
    t = Talk().prompt()
    t.hears(*chunks(json.dumps(said({"type": "text", "text": "a\ud800b"})).encode()))
    assert [str(e.text) for e in t.shown("message")] == ["a\ufffdb"]


def test_a_frame_has_a_limit() -> None:
    frames = Frames(limit=100)
    run = chunks({"type": "x", "text": "y" * 200})
    frames.chunk(run[0])
    frames.chunk(run[1])
    with pytest.raises(Broken, match="longer than"):
        frames.chunk(run[2])
    assert frames.chunk(run[3]) is None
