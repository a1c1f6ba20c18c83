"""Why something an agent wanted of the workspace was not done."""

from __future__ import annotations

from typing import Literal

Kind = Literal["not_found", "denied", "invalid", "failed", "cancelled"]


class Refused(Exception):
    """It was not done. ``kind`` says what sort of reason it is, ``message`` tells the agent what to do next."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind: Kind = kind
        self.message = message
