"""Event streams (``text/event-stream``), sans-I/O: bytes in, JSON values out.

Knows nothing of HTTP, sockets or clocks. The format is that of the HTML standard, "Server-sent events"; what an ACP
server sends is ``data: <json>`` and comments (ACP reference 10), what others send besides is understood too:

* lines end at ``\\n``, ``\\r\\n`` or ``\\r``, wherever a chunk was split; one byte order mark at the start is skipped;
* several ``data:`` lines are one message; ``id:`` and ``retry:`` are remembered; comments only show that it lives;
* events that have a type other than ``message`` are none of ours;
* characters split over chunks cannot go wrong, since only whole events are decoded.

What arrives never raises: an event that is not JSON, or longer than ``max_event`` bytes, is a
:class:`~hm_jupyter.transports.base.BadLine`.
"""

from __future__ import annotations

from pydantic_core import from_json

from .base import BadLine, Message, Received
from .lines import EXCERPT, MAX_LINE, decode, excerpt

BOM = b"\xef\xbb\xbf"


class SseDecoder:
    """``feed`` it the bytes of one stream. ``last_id``: of the last event that had one, for ``Last-Event-ID``;
    ``retry``: what the server asks to wait before reconnecting, in seconds, or None; ``comments``: how many came."""

    def __init__(self, max_event: int = MAX_LINE, last_id: str = "") -> None:
        self.last_id = last_id
        self.retry: float | None = None
        self.comments = 0
        self._max = max_event
        self._rest = bytearray()  # the line that has no end yet
        self._started = False
        self._after_cr = False  # a \n now would belong to the \r before it
        self._data: list[bytes] = []
        self._size = 0
        self._type = b""
        self._id: str | None = None
        self._skipping = False  # the event was too long; the rest of it is thrown away

    def feed(self, chunk: bytes) -> list[Received]:
        """Take the next bytes; return the messages they complete."""
        out: list[Received] = []
        if not chunk:
            return out
        if not self._started:
            chunk = bytes(self._rest) + chunk
            self._rest.clear()
            if len(chunk) < 3 and BOM.startswith(chunk):
                self._rest += chunk
                return out
            self._started = True
            if chunk.startswith(BOM):
                chunk = chunk[3:]
        if self._after_cr:
            self._after_cr = False
            if chunk.startswith(b"\n"):
                chunk = chunk[1:]
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if (end := chunk.rfind(b"\n\n") + 2) > 1 and self._between():
            events = bytes(self._rest) + chunk[:end]
            if self._plain(events, out):
                self._rest.clear()
                chunk = chunk[end:]
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if lines:
            if self._rest:
                lines[0] = bytes(self._rest) + lines[0]
                self._rest.clear()
            self._lines(lines, out)
        if rest:
            if self._skipping or self._size + len(self._rest) + len(rest) > self._max + 6:  # "data: "
                if not self._skipping:
                    self._too_long(bytes(self._rest[: 4 * EXCERPT]) + rest[: 4 * EXCERPT], out)
                self._rest[:] = b"x"  # a line that is not blank, of an event nobody wants
            else:
                self._rest += rest
        return out

    def end(self) -> list[Received]:
        """The stream is over. An event whose blank line is missing counts if all of its data is there (the standard
        drops it; nobody would send it again, unless the stream has ids), else it is a :class:`BadLine`."""
        data, self._data = self._data, []
        rest = bytes(self._rest)
        self._rest.clear()
        if self._skipping or self._id is not None or self.last_id or not self._ours():
            return []
        if rest.startswith(b"data:"):
            data.append(_value(rest, 5))
        if not data:
            return []
        found = decode(b"\n".join(data))
        if isinstance(found, BadLine):
            return [BadLine("the stream was cut off in the middle of a message", found.text)]
        return [found]

    def _ours(self) -> bool:
        return self._type in (b"", b"message")

    def _plain(self, events: bytes, out: list[Received]) -> bool:
        """The hot path: whole events, of one ``data: `` line each and nothing else. False: they are not, and nothing of
        them was taken. No call of ours for an event."""
        if not events.startswith(b"data: "):
            return False
        found = events[6:-2].split(b"\n\ndata: ")
        if events.count(b"\n") != 2 * len(found) or max(map(len, found)) > self._max:
            return False
        try:
            out += [Message(from_json(data, allow_inf_nan=False, cache_strings="keys")) for data in found]
        except ValueError:  # one of them is not JSON, or nearly
            return False
        return True

    def _lines(self, lines: list[bytes], out: list[Received]) -> None:
        for line in lines:
            self._line(line, out)

    def _between(self) -> bool:
        """Are we between two events, with nothing of the next one?"""
        return not (self._data or self._type or self._skipping) and self._id is None

    def _line(self, line: bytes, out: list[Received]) -> None:
        if not line:
            self._dispatch(out)
        elif line.startswith(b"data:"):
            if self._skipping:
                return
            self._size += len(line)
            if self._size > self._max + 6:
                self._too_long(line, out)
                return
            self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
        elif line.startswith(b":"):
            self.comments += 1
        else:
            self._field(line)

    def _field(self, line: bytes) -> None:
        name, _, _ = line.partition(b":")
        value = _value(line, len(name) + 1)
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._type = value
        elif name == b"id":
            # The standard refuses NUL alone; what no header can carry back is no use either.
            known = value.decode("utf-8", "replace")
            if len(known) <= 1024 and known.isascii() and (known.isprintable() or not known):
                self._id = known.strip()
        elif name == b"retry" and value.isdigit():
            self.retry = int(value[:9]) / 1000

    def _dispatch(self, out: list[Received]) -> None:
        if self._id is not None:
            self.last_id, self._id = self._id, None
        data = self._data
        if data and self._ours():
            raw = data[0] if len(data) == 1 else b"\n".join(data)
            try:
                out.append(Message(from_json(raw, allow_inf_nan=False, cache_strings="keys")))
            except ValueError:
                if raw.strip():
                    out.append(_odd(raw))
        if data:
            self._data = []
        self._size = 0
        self._type = b""
        self._skipping = False

    def _too_long(self, head: bytes, out: list[Received]) -> None:
        self._skipping = True
        self._data = []
        size = f"{self._max >> 20} MiB" if self._max >= 1 << 20 else f"{self._max} bytes"
        out.append(BadLine(f"the message is longer than {size}, so it was skipped", excerpt(head)))


def _odd(raw: bytes) -> Received:
    found = decode(raw)
    if isinstance(found, BadLine):
        return BadLine(found.reason.replace("the line", "the message", 1), found.text)
    return found


def _value(line: bytes, start: int) -> bytes:
    value = line[start:]
    return value[1:] if value.startswith(b" ") else value
