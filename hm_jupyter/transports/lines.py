"""JSON lines, sans-I/O: bytes in, :class:`Message` or :class:`BadLine` out; and values to bytes.

Knows nothing of pipes, sockets, clocks or protocols. What it promises:

* Lines end at ``\\n`` and nowhere else (U+2028, U+2029, a lone ``\\r`` are ordinary text); one ``\\r`` before it is
  dropped; blank lines are ignored. (hm RPC, "Intro": read by line, not by read.)
* Nothing that arrives raises. A line that is not exactly one JSON value is one :class:`BadLine`, and so is what was
  left without its ``\\n`` at the end.
* At most ``max_line`` bytes are kept. A longer line is one :class:`BadLine`, told as soon as it is too long; the rest
  of it is thrown away as it comes, and reading goes on behind its ``\\n``.
* Time is linear in the bytes, even when they come one by one.

Deviations that are mended instead of refused, since losing a whole event is worse than losing one character of it:
bytes that are not UTF-8 and surrogates that have no partner become U+FFFD, ``NaN`` and ``Infinity`` become ``null``
(no JSON writer on the way to the browser would take them), a byte order mark is skipped, and so are terminal escapes
and control bytes glued in front of an object. Other text in front of one is not: an agent that logs what it hears
(``recv {"id": 1, …}``) would have its log taken for its word. It is where the agent is known to let others write to its
output without a line end (``glued``: oh-my-pi and its extensions' ``console.log``). Nesting deeper than the
parser's limit (200) is refused: whoever handles the value next would run out of stack.

Joining the lines of a read into one JSON array and parsing it in one call was measured: 16-20 ms against 21 ms for
20,000 lines, not worth the proof that two broken lines cannot mend each other.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic_core import from_json

from .base import BadLine, Message, Received

MAX_LINE = 64 * 1024 * 1024
"""Default cap of one line, in bytes."""

MAX_DEPTH = 200
"""Deepest nesting taken, that of the fast parser."""

EXCERPT = 500
"""How much of a bad line is kept, in characters (see :class:`hm_jupyter.transports.base.BadLine`)."""


_ESCAPES = re.compile(  # each byte can be matched in one way only, so a failing match is given up in linear time
    r"""(?: \x1b \[ [0-?]* [\ -/]* [@-~]                             # CSI: colours, cursor, modes
          | \x1b []PX^_] [^\x00-\x1f\x7f-\x9f\ufffd]* (?: \x07 | \x1b\\ )  # OSC and other strings: the window's title
          | \x1b [\ -/]* [0-OQ-WYZ\\`-~]                             # other short ones
          | [\x00-\x1a\x1c-\x1f\x7f-\x9f\ufeff\ufffd]                # control characters; bytes that are no UTF-8
        )+ (?= \{ )""",
    re.VERBOSE,
)


_FRAME = re.compile(r'\{"(?:type|id)":')
"""How a message begins that others' text may be glued in front of (``glued``)."""


class LineDecoder:
    """Splits a stream of bytes into lines and decodes them.

    ``feed`` it what was read, in any portions, and ``end`` it when the stream is over; both return what was completed,
    in order. ``max_line`` is the cap of one line in bytes, without its line end. ``glued``: a line that is no JSON is tried
    again from the first ``{"type":`` or ``{"id":`` in it, and what stands before that is left out.
    """

    def __init__(self, max_line: int = MAX_LINE, *, glued: bool = False) -> None:
        self._max = max_line
        self._glued = glued
        self._rest = bytearray()  # the line that has no end yet
        self._skipping = False  # inside a line that was too long

    def feed(self, data: bytes) -> list[Received]:
        """Take the next bytes; return what they complete."""
        lines = data.split(b"\n")
        rest = lines.pop()
        out: list[Received] = []
        if lines:
            if self._skipping:
                self._skipping = False
                del lines[0]
            elif self._rest:
                if len(self._rest) + len(lines[0]) > self._max + 1:  # + 1: it may be the \r of the line end
                    self._too_long(lines.pop(0), out)
                    self._skipping = False
                else:
                    self._rest += lines[0]
                    lines[0] = bytes(self._rest)
                    self._rest.clear()
            self._decode(lines, out)
        if rest and not self._skipping:
            if len(self._rest) + len(rest) > self._max + 1:
                self._too_long(rest, out)
            else:
                self._rest += rest
        return out

    def end(self) -> list[Received]:
        """The stream is over; return the unfinished last line, if there is one, as a :class:`BadLine`."""
        rest, self._rest = bytes(self._rest), bytearray()
        if not rest.strip():
            return []
        return [BadLine("the line was cut off: the output ended before its line end", excerpt(rest))]

    def _decode(self, lines: list[bytes], out: list[Received]) -> None:
        # The hot path: no call of ours for a good line.
        limit = self._max
        for line in lines:
            if len(line) > limit and len(line) - line.endswith(b"\r") > limit:
                self._too_long(line, out)
                self._skipping = False
                continue
            try:
                out.append(Message(from_json(line, allow_inf_nan=False, cache_strings="keys")))
            except ValueError as error:
                if line and not line.isspace():
                    out.append(_decode_odd(line, error, self._glued))

    def _too_long(self, more: bytes, out: list[Received]) -> None:
        head = bytes(self._rest[: 4 * EXCERPT]) + more[: 4 * EXCERPT]
        self._rest = bytearray()
        self._skipping = True
        out.append(BadLine(f"the line is longer than {_size(self._max)}, so it was skipped", excerpt(head)))


def decode(line: bytes) -> Message | BadLine:
    """One line (without its ``\\n``) as a message or a bad line."""
    try:
        return Message(from_json(line, allow_inf_nan=False))
    except ValueError as error:
        return _decode_odd(line, error)


def encode(value: Any) -> bytes:
    """A JSON value as one line, ``\\n`` included, in ASCII (so no reader can split it at U+2028, and a lone surrogate
    in a person's text cannot break it). Raises ``ValueError`` or ``TypeError`` for what JSON cannot hold, NaN included.
    """
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"


def excerpt(line: bytes) -> str:
    """The first characters of a line, for people."""
    return line[: 4 * EXCERPT].decode("utf-8", "replace")[:EXCERPT]


def _decode_odd(line: bytes, error: ValueError, glued: bool = False) -> Message | BadLine:
    """What the fast parser refused: a mendable deviation, or no JSON."""
    if "recursion limit" in str(error):
        return BadLine("the line is JSON nested too deeply", excerpt(line))
    text = line.decode("utf-8", "replace").lstrip("\ufeff")
    if escapes := _ESCAPES.match(text):
        text = text[escapes.end() :]
    if glued and (found := _FRAME.search(text)) and found.start():
        own = _decode_odd(text[found.start() :].encode("utf-8", "surrogatepass"), error)
        if isinstance(own, Message) and isinstance(own.value, dict):
            return own
    try:
        return Message(_mend(json.loads(text, parse_constant=_no_number)))
    except RecursionError:
        return BadLine("the line is JSON nested too deeply", excerpt(line))
    except ValueError:
        return BadLine(f"the line is not JSON ({error})", excerpt(line))


def _no_number(_name: str) -> None:
    return None


def _mend(value: Any, depth: int = 0) -> Any:
    """The value without lone surrogates (which no UTF-8 encoder behind us would take)."""
    if depth > MAX_DEPTH:
        raise RecursionError
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_mend(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {_mend(key): _mend(item, depth + 1) for key, item in value.items()}
    return value


def _size(n: int) -> str:
    return f"{n >> 20} MiB" if n >= 1 << 20 else f"{n} bytes"
