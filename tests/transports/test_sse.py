"""Event streams: however the bytes are cut and whatever else a server sends, the same messages come out."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hm_jupyter.transports.base import BadLine, Message, Received
from hm_jupyter.transports.chunked import ChunkDecoder
from hm_jupyter.transports.sse import SseDecoder

STREAM = (
    "\ufeff: hello\n\n"
    'data: {"a": 1}\n\n'
    'data:{"text": "Gr\u00fc\u00dfe \U0001f600"}\r\n\r\n'
    "id: 7\r"
    "event: message\r"
    'data: {"many":\r'
    "data: 2}\r\r"
    "retry: 1500\n"
    "event: ping\n"
    "data: not for us\n\n"
    "data\n\n"  # empty
    ": keepalive\n\n"
    "unknown: field\n"
    'data: ["last"]\n\n'
)
EXPECTED = [{"a": 1}, {"text": "Gr\u00fc\u00dfe \U0001f600"}, {"many": 2}, ["last"]]


def values(items: list[Received]) -> list[Any]:
    assert all(isinstance(item, Message) for item in items), items
    return [item.value for item in items if isinstance(item, Message)]


def read(data: bytes, cuts: list[int], decoder: SseDecoder | None = None) -> tuple[list[Received], SseDecoder]:
    decoder = decoder or SseDecoder()
    out: list[Received] = []
    edges = [0, *sorted(cuts), len(data)]
    for start, end in itertools.pairwise(edges):
        out += decoder.feed(data[start:end])
    return out + decoder.end(), decoder


def test_line_ends_of_all_kinds_several_data_lines_a_byte_order_mark_and_comments_are_understood() -> None:
    out, decoder = read(STREAM.encode(), [])
    assert values(out) == EXPECTED
    assert (decoder.last_id, decoder.retry, decoder.comments) == ("7", 1.5, 2)


def test_byte_by_byte_the_same_messages_come_out() -> None:
    data = STREAM.encode()
    assert values(read(data, list(range(len(data))))[0]) == EXPECTED


@given(st.lists(st.integers(0, len(STREAM.encode())), max_size=12))
def test_wherever_the_bytes_are_cut_the_same_messages_come_out(cuts: list[int]) -> None:
    out, decoder = read(STREAM.encode(), cuts)
    assert values(out) == EXPECTED
    assert decoder.last_id == "7" and decoder.comments == 2


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=4))
def test_no_bytes_whatever_raise(data: bytes, cuts: list[int]) -> None:
    whole, _ = read(data, [])
    cut, _ = read(data, [min(c, len(data)) for c in cuts])
    assert whole == cut


def test_an_id_counts_from_the_end_of_its_event_on() -> None:
    decoder = SseDecoder(last_id="3")
    decoder.feed(b"id: 4\ndata: 1\n")
    assert decoder.last_id == "3"
    decoder.feed(b"\n")
    assert decoder.last_id == "4"
    decoder.feed(b"id: a\0b\ndata: 1\n\n")
    assert decoder.last_id == "4"


def test_what_is_not_json_is_told_and_reading_goes_on() -> None:
    out, _ = read(b"data: <html>\n\ndata: 2\n\n", [])
    assert isinstance(out[0], BadLine) and "message is not JSON" in out[0].reason and out[0].text == "<html>"
    assert values(out[1:]) == [2]


@pytest.mark.parametrize("step", [1, 7, 64, 10_000])
def test_a_message_that_is_too_long_is_skipped_without_being_kept(step: int) -> None:
    data = b"data: " + b"x" * 5000 + b"\ndata: more\n\n" + b"data: 2\n\n"
    decoder = SseDecoder(max_event=100)
    out: list[Received] = []
    for at in range(0, len(data), step):
        out += decoder.feed(data[at : at + step])
        assert step > 100 or len(decoder._rest) + sum(map(len, decoder._data)) <= 107 + step
    assert isinstance(out[0], BadLine) and "longer than 100 bytes" in out[0].reason
    assert values(out[1:]) == [2]


def test_many_data_lines_that_are_too_long_together_are_one_bad_message() -> None:
    out, _ = read(b"data: 12345678\n" * 50 + b"\ndata: 2\n\n", [], SseDecoder(max_event=100))
    assert isinstance(out[0], BadLine) and values(out[1:]) == [2]


def test_a_whole_message_whose_blank_line_is_missing_counts_and_a_cut_one_is_told() -> None:
    assert values(read(b'data: {"a":1}\n', [])[0]) == [{"a": 1}]
    assert values(read(b'data: {"a":1}', [])[0]) == [{"a": 1}]
    (bad,) = read(b'data: {"a":', [])[0]
    assert isinstance(bad, BadLine) and "cut off" in bad.reason


def test_on_a_stream_with_ids_an_unfinished_message_is_left_to_the_next_stream() -> None:
    assert read(b"id: 1\ndata: 1\n\ndata: 2\n", [])[0] == [Message(1)]


def test_nan_and_lone_surrogates_are_mended() -> None:
    out, _ = read(b'data: {"a": NaN, "b": "\\ud800"}\n\n', [])
    assert values(out) == [{"a": None, "b": "\ufffd"}]


# ---- the chunks below (HTTP/1.1) ---------------------------------------------------------------------------------------


def chunked(parts: list[bytes]) -> bytes:
    return b"".join(f"{len(p):X};x=1\r\n".encode() + p + b"\r\n" for p in parts if p) + b"0\r\nTrailer: x\r\n\r\n"


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=8), st.integers(0, 2**32))
def test_chunks_come_out_as_they_went_in_however_they_are_cut(parts: list[bytes], seed: int) -> None:
    data = chunked(parts)
    chance = random.Random(seed)
    decoder, out, at = ChunkDecoder(), b"", 0
    while at < len(data):
        step = chance.choice([1, 2, 3, 17, 200])
        out += decoder.feed(data[at : at + step])
        at += step
    assert out == b"".join(parts) and decoder.done
    assert decoder.feed(b"5\r\nagain\r\n") == b""


@pytest.mark.parametrize("data", [b"hello\r\n", b"-5\r\nhello\r\n", b"\r\n\r\n", b"x" * 5000, b"1" * 30 + b"\r\n"])
def test_what_are_no_chunks_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        ChunkDecoder().feed(data)


def test_many_small_chunks_of_one_read_come_out_in_one_piece() -> None:
    events = [f"data: {json.dumps({'n': n})}\n\n".encode() for n in range(100)]
    body = ChunkDecoder().feed(chunked(events))
    assert values(SseDecoder().feed(body)) == [{"n": n} for n in range(100)]


FRAGMENTS = [
    b'data: {"n": 1}\n\n',
    b'data: {"text": "a \\n\\n data: b"}\n\n',
    b'data: {"text": "data: "}\r\n\r\n',
    b"data: \n\n",
    b"data:\n\n",
    b"data: {not json\n\n",
    b"data: NaN\n\n",
    b"data: [1,\ndata: 2]\n\n",
    b"data: {\n\n",
    b"data: [1\n,2]\n\n",  # its second line is a field nobody knows
    b"data: " + b'"' + b"x" * 40 + b'"\n\n',  # longer than taken below
    b": alive\n\n",
    b"id: 9\n",
    b"event: ping\n",
    b"\n",
    b"\r",
    b"data: ",
    b"\xff",
]


class LineByLine(SseDecoder):
    """Without the short way of whole events."""

    def _plain(self, events: bytes, out: list[Received]) -> bool:
        return False


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12), st.data())
def test_whole_events_at_once_are_read_as_they_are_line_by_line(fragments: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(fragments)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=3))
    quick, slow = read(stream, cuts, SseDecoder(max_event=36)), read(stream, cuts, LineByLine(max_event=36))
    assert quick[0] == slow[0]
    assert (quick[1].last_id, quick[1].comments) == (slow[1].last_id, slow[1].comments)
