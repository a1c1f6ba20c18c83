"""What a command writes: its end is kept within a limit, its beginning is shown as it comes, characters stay whole."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from hm_jupyter.workspace.output import SHOWN, Output, Tail


@given(text=st.text(max_size=300), limit=st.integers(0, 80), cuts=st.lists(st.integers(0, 300), max_size=5))
def test_the_tail_is_within_its_limit_and_cut_between_characters(text: str, limit: int, cuts: list[int]) -> None:
    text = text.encode("utf-8", "replace").decode()
    tail = Tail(limit)
    places = [0, *sorted(min(c, len(text)) for c in cuts), len(text)]
    for start, end in pairwise(places):
        tail.append(text[start:end])
    kept = tail.text()
    size = len(kept.encode())
    assert text.endswith(kept) and size <= limit
    assert tail.truncated == (kept != text)
    if tail.truncated:  # not a character less than there is room for
        before = text[: len(text) - len(kept)]
        assert size + len(before[-1].encode()) > limit


def test_a_limit_in_the_middle_of_a_character_drops_the_whole_of_it() -> None:
    output = Output(4)
    output.feed("a€€".encode())
    assert output.kept() == ("€", True)


def test_a_character_split_over_two_reads_is_one() -> None:
    output = Output(100)
    data = "né€😀".encode()
    seen = ""
    for i in range(len(data)):
        output.feed(data[i : i + 1])
        seen += output.fresh()
    assert seen == output.kept()[0] == "né€😀"


def test_bytes_that_are_no_text_are_replaced_and_still_within_the_limit() -> None:
    output = Output(10)
    output.feed(b"ok\xff\xfe\xff\xfe\xff", final=True)
    text, truncated = output.kept()
    assert len(text.encode()) <= 10 and truncated and set(text) == {"\N{REPLACEMENT CHARACTER}"}


def test_an_unfinished_character_at_the_end_is_shown_as_broken_only_then() -> None:
    output = Output(10)
    output.feed(b"a\xe2\x82")
    assert output.kept()[0] == "a"
    output.feed(b"", final=True)
    assert output.kept()[0] == "a\N{REPLACEMENT CHARACTER}"


def test_escapes_for_a_terminal_stay() -> None:
    output = Output(100)
    output.feed(b"\x1b[31mred\x1b[0m\r\n")
    assert output.fresh() == output.kept()[0] == "\x1b[31mred\x1b[0m\r\n"


def test_a_flood_is_shown_up_to_a_point_and_says_so_once() -> None:
    output = Output(100)
    for _ in range(3):
        output.feed(b"x" * (SHOWN - 10))
    shown = output.fresh()
    assert shown.count("x") == SHOWN and shown.count("not shown") == 1
    assert output.kept() == ("x" * 100, True)
