"""What a finished turn leaves in its cell: one bundle for every viewer, the same at every run of the same transcript.

``text/html`` (sanitised here, styled and self-contained), ``text/markdown``, ``text/plain`` and the transcript itself as
JSON. None of them grows without end (:mod:`.size`). With ``times`` false, the default, nothing depends on the clock: no
elapsed time, no session id, no absolute folder.
"""

from __future__ import annotations

from typing import Any

from ..transcript import Transcript
from . import html, jsonl, markdown, size, text
from .jsonl import MIME
from .view import Turns


def bundle(
    transcript: Transcript, turn: Turns = None, *, times: bool = False, prompts: bool | None = None
) -> dict[str, Any]:
    """The mime bundle of one turn, of the turns ``(first, last)``, or (None) of the whole session."""
    shown = size.within(transcript, turn)
    return {
        "text/html": html.fragment(shown, turn, times=times, prompts=prompts),
        "text/markdown": markdown.fragment(shown, turn, times=times, prompts=prompts),
        "text/plain": text.plain(shown, turn, times=times, prompts=prompts),
        MIME: jsonl.data(size.within(transcript, turn, whole_diffs=False), turn, times=times),
    }
