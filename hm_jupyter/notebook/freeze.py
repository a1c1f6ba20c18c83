"""The frozen cell: what a finished ``%%hm`` leaves behind. All of it is :mod:`hm_jupyter.exports.mime`'s work."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ..transcript import Transcript

NBVAL_SANITIZE = Path(__file__).with_name("nbval_sanitize.cfg")
"""For ``pytest --nbval --nbval-sanitize-with``: what in a notebook of ours may differ between runs. ``python -m
hm_jupyter.notebook.freeze`` prints this path."""


def freeze(transcript: Transcript, first_turn: int, last_turn: int | None = None) -> dict[str, Any]:
    """The mime bundle of the turns from ``first_turn`` to ``last_turn``, the same at every run of the same transcript."""
    from ..exports.mime import bundle

    return bundle(transcript, (first_turn, first_turn if last_turn is None else last_turn))


if __name__ == "__main__":
    sys.stdout.write(f"{NBVAL_SANITIZE}\n")
