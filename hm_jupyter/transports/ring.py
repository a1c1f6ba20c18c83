"""The last of a stream: what an agent wrote on stderr, bounded. Knows no streams."""

from __future__ import annotations

MAX_BYTES = 64 * 1024
MAX_LINES = 200


class Ring:
    """Keeps the end of what is appended: at most ``MAX_BYTES``, shown as at most ``MAX_LINES`` whole lines."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._cut = False

    def append(self, data: bytes) -> None:
        """Add bytes, forget the oldest."""
        self._data += data
        if len(self._data) > 2 * MAX_BYTES:  # seldom, so that the cost stays linear
            self._trim()

    def _trim(self) -> None:
        if len(self._data) > MAX_BYTES:
            del self._data[:-MAX_BYTES]
            self._cut = True

    def text(self) -> str:
        """What is kept, as text (bytes that are not UTF-8 as U+FFFD), from the start of a line where there is one."""
        self._trim()
        lines = self._data.split(b"\n")
        if self._cut and len(lines) > 1:
            del lines[0]
        ending = b"\n" if len(lines) > 1 and not lines[-1] else b""
        if ending:
            del lines[-1]
        return (b"\n".join(lines[-MAX_LINES:]) + ending).decode("utf-8", "replace")
