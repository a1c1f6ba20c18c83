"""What a command writes, as text: the end of it for the agent, the beginning of it, as it comes, for people.

Pure: bytes go in, text comes out.
"""

from __future__ import annotations

import codecs

DEFAULT_LIMIT = 2**20
"""Bytes kept of a command's output where the agent names no limit."""

MAX_LIMIT = 32 * 2**20
"""… and at most, whatever it names."""

SHOWN = 1_000_000
"""Characters of a command's output that are shown as it runs. The rest is read and kept, not shown."""


class Tail:
    """The end of a text: at most ``limit`` bytes of UTF-8, cut between two characters."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._data = bytearray()
        self.truncated = False

    def append(self, text: str) -> None:
        """Add text, forget the oldest."""
        self._data += text.encode("utf-8", "replace")
        if len(self._data) > 2 * self._limit + 65536:  # seldom, so that the cost stays linear
            self._trim()

    def _trim(self) -> None:
        cut = len(self._data) - self._limit
        if cut <= 0:
            return
        self.truncated = True
        while cut < len(self._data) and self._data[cut] & 0xC0 == 0x80:  # within a character
            cut += 1
        del self._data[:cut]

    def text(self) -> str:
        """What is kept."""
        self._trim()
        return self._data.decode("utf-8")


class Output:
    """A command's output (both streams, in the order it came). Escapes for a terminal stay in it."""

    def __init__(self, limit: int) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._tail = Tail(limit)
        self._fresh: list[str] = []
        self._shown = 0

    def feed(self, data: bytes, final: bool = False) -> None:
        """The next bytes. A character cut in two waits for its rest, with ``final`` it is replaced."""
        text = self._decoder.decode(data, final)
        if not text:
            return
        self._tail.append(text)
        room = SHOWN - self._shown
        if room > 0:
            self._fresh.append(text[:room])
            self._shown += min(len(text), room)
            if room <= len(text):
                self._fresh.append("\n[more output is not shown]\n")

    def fresh(self) -> str:
        """What is to be shown and was not yet handed out."""
        text = "".join(self._fresh)
        self._fresh.clear()
        return text

    def kept(self) -> tuple[str, bool]:
        """The end of it, and whether that is not all."""
        text = self._tail.text()
        return text, self._tail.truncated
