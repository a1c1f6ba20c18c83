"""Taking secrets out of text that leaves the machine: those one knows, and what is shaped like one.

Pure functions of text (and of picture bytes): no wire, no session, no files. Who calls decides what is known.
"""

from __future__ import annotations

from .known import dotenv_secrets, header_secrets, known_secrets
from .redactor import Redactor, in_words

__all__ = ["Redactor", "dotenv_secrets", "header_secrets", "in_words", "known_secrets"]
