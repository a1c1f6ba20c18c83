"""The extension that has pi ask before it acts (``gate.ts`` beside this file, which says how), and where it is.

pi asks for nothing by itself. ``connect("pi")`` starts it with this extension; oh-my-pi takes it too, in place of dialogs of
its own (``mode="gate"``).
"""

from __future__ import annotations

from pathlib import Path

VARIABLE = "HM_GATE"
"""Tells the extension what to ask about: always-ask, write or yolo."""


def path() -> Path:
    """The extension's file, for an agent's ``-e``."""
    return Path(__file__).with_name("gate.ts")
