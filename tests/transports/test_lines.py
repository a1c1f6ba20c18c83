"""JSON lines: whatever arrives, in whatever portions, is told once and in order."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hm_jupyter.transports.base import BadLine, Message, Received
from hm_jupyter.transports.lines import EXCERPT, LineDecoder, decode, encode


def read(data: bytes, size: int = 1 << 16, max_line: int = 1 << 26) -> list[Received]:
    decoder = LineDecoder(max_line)
    out: list[Received] = []
    for start in range(0, len(data), size):
        out += decoder.feed(data[start : start + size])
    return out + decoder.end()


def values(received: list[Received]) -> list[Any]:
    return [item.value if isinstance(item, Message) else BadLine for item in received]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
LINE = st.one_of(
    JSON.map(lambda value: json.dumps(value).encode()),
    JSON.map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")),
    st.binary(max_size=40).map(lambda data: data.replace(b"\n", b" ")),
    st.sampled_from([b"", b"\r", b"   ", b'noise {"a": 1}', b'{"a": 1}\r', b'{"a": 1} {"b": 2}', "\u2028".encode()]),
)


@given(st.lists(LINE, max_size=12), st.binary(max_size=20), st.data())
def test_any_portions_of_the_same_bytes_give_the_same_messages(
    lines: list[bytes], tail: bytes, data: st.DataObject
) -> None:
    stream = b"".join(line + b"\n" for line in lines) + tail
    max_line = data.draw(st.sampled_from([1, 8, 30, 1 << 20]))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    decoder = LineDecoder(max_line)
    out: list[Received] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        out += decoder.feed(stream[start:end])
    out += decoder.end()
    # (Where a line is too long, how much of its head had arrived when that was noticed shows in the excerpt only.)
    whole = read(stream, max(1, len(stream)), max_line)
    assert [i if isinstance(i, Message) else i.reason for i in out] == [
        i if isinstance(i, Message) else i.reason for i in whole
    ]


@given(JSON)
def test_what_is_encoded_comes_back(value: Any) -> None:
    line = encode(value)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    received = read(line)
    assert len(received) == 1
    back = received[0]
    assert isinstance(back, Message)
    assert json.dumps(back.value) == json.dumps(value)


def test_one_byte_at_a_time_is_no_different() -> None:
    assert values(read(b'{"a": "x"}\r\n\n  \n[1]\nnope\n', size=1)) == [{"a": "x"}, [1], BadLine]


def test_one_byte_at_a_time_takes_linear_time() -> None:
    def cost(count: int) -> float:
        data = b'"' + b"x" * count + b'"\n'
        started = time.process_time()
        assert len(read(data, size=1)) == 1
        return time.process_time() - started

    small = min(cost(50_000) for _ in range(3))
    assert min(cost(400_000) for _ in range(2)) < 8 * small * 4  # quadratic would be 64 times


def test_only_newline_ends_a_line() -> None:
    text = "a\u2028b\u2029c\x0b\x0c\x85d"
    line = json.dumps({"text": text, "cr": "x\ry"}, ensure_ascii=False).encode().replace(b"\\u000b", b"\x0b")
    assert values(read(b'{"a":\r 1}\n')) == [{"a": 1}]
    received = values(read(line.replace(b"\x0b", b"\\u000b") + b"\n"))
    assert received == [{"text": text, "cr": "x\ry"}]


def test_a_line_of_20_megabytes_arrives() -> None:
    big = "ü" * 10_000_000
    assert values(read(json.dumps({"text": big}, ensure_ascii=False).encode() + b"\n[2]\n")) == [{"text": big}, [2]]


def test_a_line_over_the_cap_is_one_bad_line_and_reading_goes_on() -> None:
    stream = b'{"n": 1}\n"' + b"x" * 1000 + b'"\n{"n": 2}\n'
    for size in (1, 7, 64, 5000):
        received = read(stream, size, max_line=100)
        assert values(received) == [{"n": 1}, BadLine, {"n": 2}], size
        bad = received[1]
        assert isinstance(bad, BadLine)
        assert "longer than 100 bytes" in bad.reason
        assert bad.text.startswith('"xxx')


def test_a_line_exactly_as_long_as_the_cap_is_taken_with_either_line_end() -> None:
    line = b'"' + b"x" * 98 + b'"'
    for size in (1, 3, 101, 102, 5000):
        assert values(read(line + b"\n" + line + b"\r\n[1]\n", size, max_line=100)) == ["x" * 98, "x" * 98, [1]], size
        assert values(read(b" " + line + b"\r\n[1]\n", size, max_line=100)) == [BadLine, [1]], size


def test_no_more_than_the_cap_is_kept_of_an_endless_line() -> None:
    decoder = LineDecoder(max_line=1000)
    told: list[Received] = []
    for _ in range(1000):
        told += decoder.feed(b"x" * 999)
        assert len(decoder._rest) <= 1001
    assert len(told) == 1  # at once, not at its end
    assert decoder.end() == []


def test_death_in_the_middle_of_a_line_is_told() -> None:
    received = read(b'{"n": 1}\n{"n": 2')
    assert values(received) == [{"n": 1}, BadLine]
    assert received[1] == BadLine("the line was cut off: the output ended before its line end", '{"n": 2')


def test_a_whole_value_without_its_line_end_is_cut_off_all_the_same() -> None:
    assert values(read(b"12")) == [BadLine]  # it may have been 123


@pytest.mark.parametrize(
    "line",
    [
        b"hello",
        b'noise{"a": 1}',
        b'{"a": 1}{"b": 2}',
        b'{"a": 1},',
        b"{'a': 1}",
        b"{",
        b"\x00\x01",
        b"9" * 5000,
        b"\xff\xfe",
        b'\x1b[1mINFO\x1b[0m sent {"id": 1}',
        b"\x1b]0;title",
        b'\x1b[0m{"a": 1} trailing',
    ],
)
def test_noise_is_a_bad_line_and_nothing_more(line: bytes) -> None:
    """Pitfall 2: logs, shell banners and migrations on stdout."""
    received = read(b'{"n": 1}\n' + line + b'\n{"n": 2}\n')
    assert values(received) == [{"n": 1}, BadLine, {"n": 2}]


def test_a_bad_line_shows_its_beginning_only() -> None:
    received = read("é".encode() * 5000 + b"\n")
    assert isinstance(received[0], BadLine)
    assert received[0].text == "é" * EXCERPT


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b'{"text": "\\ud800!"}', {"text": "\ufffd!"}),
        (b'{"text": "\\ud83d\\ude00"}', {"text": "😀"}),
        (b'["\xff"]', ["\ufffd"]),
        (b'["\xe9t\xe9"]', ["\ufffdt\ufffd"]),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b'{"cost": NaN, "most": Infinity}', {"cost": None, "most": None}),
        (b'{"\\udc00": ["\\ud800", {"k": "\\ud83d\\ude00"}]}', {"\ufffd": ["\ufffd", {"k": "😀"}]}),
    ],
)
def test_what_can_be_mended_is(line: bytes, value: Any) -> None:
    assert decode(line) == Message(value)
    json.dumps(value, allow_nan=False, ensure_ascii=False).encode("utf-8")


@pytest.mark.parametrize(
    "glued",
    [
        b"\x1b[?25h",
        b"\x1b[0m\x1b[38;5;12m",
        b"\x1b]0;my agent\x07",
        b"\x1b]2;my {agent}\x1b\\",
        b"\x1b(B\x1b[m",
        b"\x1b7\x1b8",
        b"\x00\x07\r",
        b"\x9b1m"[:1],
        b"\xef\xbb\xbf\x1b[2K",
    ],
)
def test_pitfall_3_escapes_glued_in_front_of_an_object_do_not_lose_it(glued: bytes) -> None:
    assert decode(glued + b'{"jsonrpc": "2.0", "id": 1}') == Message({"jsonrpc": "2.0", "id": 1})


def test_pitfall_3_a_log_of_a_message_is_no_message() -> None:
    """Retrying from the first brace whatever stands before it would take an agent's own log for its word."""
    for line in (b'sent {"jsonrpc": "2.0", "id": 1, "result": {}}', b'\x1b[2m<- \x1b[0m{"id": 1}'):
        assert isinstance(decode(line), BadLine)


def test_pitfall_3_a_megabyte_of_escapes_is_skipped_in_linear_time() -> None:
    started = time.process_time()
    assert decode(b"\x1b[0m" * 250_000 + b'{"a": 1}') == Message({"a": 1})
    for hostile in (b"\x1b]", b"\x1b]\x07", b"\x1b]\xff\x07", b"\x1b]\x00\x07", b"\x1b", b"\x1b\x1b[0m", b"\x1b[ "):
        assert isinstance(decode(hostile * 200_000 + b"x"), BadLine)
    assert time.process_time() - started < 3


def test_deep_nesting_is_refused_also_where_the_second_parser_would_take_it() -> None:
    for line in (b"[" * 300 + b"]" * 300, b'["\\ud800",' + b"[" * 300 + b"]" * 301, b"[" * 10**6):
        bad = decode(line)
        assert isinstance(bad, BadLine)
        assert "nested too deeply" in bad.reason


def test_values_that_are_no_objects_are_values() -> None:
    assert values(read(b'42\nnull\n"x"\n[]\n')) == [42, None, "x", []]


def test_encoding_refuses_what_json_cannot_hold_and_keeps_lone_surrogates_harmless() -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode({"cost": float("nan")})
    with pytest.raises(TypeError):
        encode({"x": object()})
    assert encode("\ud800\u2028") == b'"\\ud800\\u2028"\n'


# ---- noise in front of a message, where the agent is known for it ---------------------------------------------------------


def glued(line: bytes) -> list[Received]:
    return LineDecoder(glued=True).feed(line + b"\n")


def test_text_without_a_line_end_in_front_of_a_message_is_left_out_where_the_agent_is_known_for_it() -> None:
    frame = b'{"type":"agent_start"}'
    assert glued(b"noise without newline " + frame) == [Message({"type": "agent_start"})]
    assert glued(b'a {brace} {"id":"c1","type":"response"}') == [Message({"id": "c1", "type": "response"})]
    assert glued(b"\x1b[31m red " + frame) == [Message({"type": "agent_start"})]
    assert glued(frame) == [Message({"type": "agent_start"})]


@pytest.mark.parametrize(
    "line",
    [b"only noise", b'half {"type":"agent_start"', b'two {"type":"a"} {"type":"b"}', b'{"type":"a" {"type":"b"}'],
)
def test_what_is_no_one_message_behind_the_noise_stays_a_bad_line(line: bytes) -> None:
    (bad,) = glued(line)
    assert isinstance(bad, BadLine)
    assert bad.text == line.decode()


def test_of_any_other_agent_text_in_front_of_an_object_is_no_message() -> None:
    assert isinstance(decode(b'recv {"type":"agent_start"}'), BadLine)
