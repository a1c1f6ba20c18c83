"""Keys: found in the environment, else in the system's keyring; never kept, shown or written anywhere.

Knows no provider. :class:`Secrets` is what error texts pass through before anybody sees them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from urllib.parse import quote

from .known import OTHER_KEY_VARIABLES

SERVICE = "hm-jupyter"
"""Under which keys are kept in a keyring: ``keyring set hm-jupyter NAME_OF_THE_VARIABLE``."""

_SHORTEST = 6
_KEY_SHAPED = re.compile(r"\b(?:sk|pk|rk|gsk|xai|AIza|Bearer)[-_ ]?[A-Za-z0-9][A-Za-z0-9_\-*.]{14,}")


def in_environment(variable: str) -> str:
    """The key in ``variable``, or in the other variable it is known by; "" when there is none."""
    return os.environ.get(variable, "").strip() or os.environ.get(OTHER_KEY_VARIABLES.get(variable, ""), "").strip()


def find_key(variable: str) -> str:
    """The key for ``variable``: from the environment, else from the keyring if there is one; "" when there is none."""
    return in_environment(variable) or _in_keyring(variable)


def _in_keyring(variable: str) -> str:
    try:
        import keyring

        return (keyring.get_password(SERVICE, variable) or "").strip()
    except Exception:  # not installed, no backend, locked: each system has errors of its own; then there is no key
        return ""


def how_to_give(variable: str) -> str:
    """What to do about a key that is missing."""
    return f"set the environment variable {variable}, or keep it in the keyring: keyring set {SERVICE} {variable}"


class Secrets:
    """Takes known secrets, and what is shaped like a key, out of texts that are not ours. Shows none itself."""

    def __init__(self, secrets: Iterable[str]) -> None:
        plain = {s for s in secrets if len(s) >= _SHORTEST}
        self._forms = sorted(plain | {quote(s, safe="") for s in plain}, key=len, reverse=True)

    def redact(self, text: str) -> str:
        for form in self._forms:
            text = text.replace(form, "[key]")
        return _KEY_SHAPED.sub("[key]", text)
