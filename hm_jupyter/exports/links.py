"""Which addresses of an agent may become links: http, https and mailto, in plain spelling. Nothing else, ever."""

from __future__ import annotations

import re

_ALLOWED = re.compile(r"(?:https?://[^\s/?#\\@:\[]|mailto:[^\s@<>]+@)[^\s\x00-\x20<>\"'`\\]*\Z", re.IGNORECASE)


def allowed(url: str) -> bool:
    """May ``url`` (as written or percent-encoded) be an ``href``? User names in addresses are refused too."""
    if len(url) > 2_000 or not url.isascii() or not _ALLOWED.match(url):
        return False
    return url[:7].lower() == "mailto:" or "@" not in re.split(r"[/?#]", url.split("//", 1)[1], maxsplit=1)[0]
