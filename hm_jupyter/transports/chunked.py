"""Bodies in chunks (RFC 9112, 7.1), sans-I/O: what was read in, the body's bytes out. Knows no sockets.

Many chunks of one read come out in one piece: an event stream has a chunk for each token, and whoever takes them one by
one pays for each.
"""

from __future__ import annotations

_LINE = 4096
"""The longest size line, with its extensions, that is taken."""


class ChunkDecoder:
    """``feed`` it what was read, in any portions. ``done`` once the last chunk came; what follows is ignored."""

    def __init__(self) -> None:
        self.done = False
        self._rest = b""  # of a size line that has no end yet
        self._left = 0  # of the chunk we are in, its line end included

    def feed(self, data: bytes) -> bytes:
        """The body's bytes in it. Raises ``ValueError`` for what are no chunks."""
        if self._rest:
            data, self._rest = self._rest + data, b""
        out: list[bytes] = []
        at, end = 0, len(data)
        left = self._left
        if left:
            out.append(data[: min(left - 2, end)] if left > 2 else b"")
            at = min(left, end)
            left -= at
        while not left and at < end and not self.done:
            line = data.find(b"\r\n", at)
            if line < 0:
                if end - at > _LINE:
                    raise ValueError("a chunk's size has no end")
                self._rest = data[at:]
                break
            try:
                size = int(data[at:line], 16)
            except ValueError:
                size = _size(data[at:line])
            if size <= 0 or size >= 1 << 60:
                if size:
                    raise ValueError("a chunk has no size")
                self.done = True  # trailers, if any, mean nothing to us
                break
            start = line + 2
            at = start + size + 2
            if at <= end:
                out.append(data[start : at - 2])
            else:
                out.append(data[start : start + size])
                left = at - end
        self._left = left
        return out[0] if len(out) == 1 else b"".join(out)


def _size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    if not digits.isalnum() or len(digits) > 15:
        raise ValueError("a chunk has no size")
    return int(digits, 16)
