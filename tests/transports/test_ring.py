"""The last of a stream is kept, whole lines of it, and no more."""

from __future__ import annotations

from hm_jupyter.transports.ring import MAX_BYTES, MAX_LINES, Ring


def test_little_is_kept_whole() -> None:
    ring = Ring()
    assert ring.text() == ""
    ring.append(b"one\ntw")
    ring.append(b"o")
    assert ring.text() == "one\ntwo"
    ring.append(b"\n")
    assert ring.text() == "one\ntwo\n"


def test_the_last_lines_are_kept() -> None:
    ring = Ring()
    for n in range(1000):
        ring.append(b"%d\n" % n)
    assert ring.text() == "".join(f"{n}\n" for n in range(1000 - MAX_LINES, 1000))


def test_the_bytes_are_bounded_and_begin_with_a_whole_line() -> None:
    ring = Ring()
    for _ in range(1000):
        ring.append(b"x" * 999 + b"\n")
        assert len(ring._data) <= 2 * MAX_BYTES + 1000
    text = ring.text()
    assert len(text) <= MAX_BYTES
    assert set(text.split("\n")) == {"x" * 999, ""}


def test_one_endless_line_is_cut_and_bytes_that_are_no_text_are_shown_as_such() -> None:
    ring = Ring()
    ring.append(b"\xff" + b"x" * 3 * MAX_BYTES + b"\xff")
    assert ring.text() == "x" * (MAX_BYTES - 1) + "\ufffd"
