"""Terminals, as far as the wire tells of them: what they wrote, how they ended, which call shows them.

Three kinds meet here: ours, made for the agent (v1, terminal/*; the host tells what they write), the agent's own
(v2, terminal_update and terminal_output_chunk: base64, which may split characters and escape sequences), and those of
agents that put a terminal's text into ``_meta`` (codex-acp). How an output is shown is :mod:`.calls`.
"""

from __future__ import annotations

import base64
import codecs
from dataclasses import dataclass, field
from typing import Any

from ...transcript import Rope
from . import lenient as read
from .lenient import Malformed


def _decoder() -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder("utf-8")("replace")


@dataclass(slots=True, eq=False)
class Terminal:
    """One terminal. ``written``: its text so far, escape sequences and all; ``shown_by``: the call that embeds it;
    ``alone``: the id of the call of its own as which it is shown until then."""

    id: str
    session: str = ""
    command: str = ""
    cwd: str = ""
    written: Rope = field(default_factory=Rope)
    exited: bool = False
    exit_code: int | None = None
    signal: str = ""
    cancelable: bool = False
    shown_by: str = ""
    alone: str = ""
    decoder: codecs.IncrementalDecoder = field(default_factory=_decoder)

    def write(self, data: bytes) -> str:
        """Bytes arrived; the characters that are complete with them."""
        text = self.decoder.decode(data)
        self.written.append(text)
        return text

    def replace(self, data: bytes) -> None:
        """A snapshot: it takes the place of everything before (ACP v2, terminal_update, output)."""
        self.decoder = _decoder()
        self.written = Rope(self.decoder.decode(data))

    def exit(self, status: dict[str, Any]) -> str:
        """It ended; what an unfinished character leaves."""
        self.exited = True
        self.exit_code = read.whole(status.get("exitCode"))
        self.signal = read.text(status.get("signal"))
        rest = self.decoder.decode(b"", final=True)
        self.written.append(rest)
        return rest


class Terminals:
    """The terminals of all sessions of a connection, by session ("" is the main one) and id."""

    def __init__(self) -> None:
        self._all: dict[tuple[str, str], Terminal] = {}

    def get(self, terminal_id: str, session: str = "") -> Terminal:
        """That terminal; it is made up when it was not heard of before."""
        terminal = self._all.get((session, terminal_id))
        if terminal is None:
            terminal = self._all[session, terminal_id] = Terminal(terminal_id, session)
        return terminal

    def known(self, terminal_id: str, session: str = "") -> Terminal | None:
        """That terminal, if it was heard of."""
        return self._all.get((session, terminal_id))


def decoded(value: Any) -> bytes:
    """The bytes of a base64 text; padding may be missing. Raises ``Malformed``."""
    if not isinstance(value, str):
        raise Malformed("data is not a text")
    packed = "".join(value.split()).rstrip("=")
    try:
        return base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
    except ValueError as error:
        raise Malformed("data is not base64") from error
