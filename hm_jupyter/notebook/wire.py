"""Making a message safe for the road to the browser: what JSON and JavaScript cannot carry is put otherwise.

An agent may send lone surrogates (no UTF-8 has them, and the kernel's message would fail whole), NaN and infinities (not
JSON), and whole numbers a browser would round. Knows nothing of what the message says.
"""

from __future__ import annotations

import re
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")
_EXACT = 2**53  # beyond it a JavaScript number is not the number that was sent


def wire_safe(value: Any) -> Any:
    """``value`` (JSON data) as every browser reads it alike: U+FFFD for lone surrogates, text for odd numbers."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if kind is dict:
        return {wire_safe(k): wire_safe(v) for k, v in value.items()}
    if kind is list:
        return [wire_safe(v) for v in value]
    if kind is float:
        return value if value - value == 0 else str(value)
    if kind is int:
        return value if -_EXACT <= value <= _EXACT else str(value)
    return value
