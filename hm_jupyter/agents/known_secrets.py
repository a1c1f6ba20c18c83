"""The secrets the agent knows of, gathered when something is about to leave: its keys, its environment, ``.env`` files.

Asked anew each time and kept nowhere. A keyring is asked for the key of the session's provider alone: others may need
the person to unlock something, for nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..redact import dotenv_secrets, known_secrets
from .session import Session

_ENV_FILE = re.compile(r"(?:^|[\s/\"'=])\.env(?:\.[\w-]+)?(?:$|[\s\"';|&)])|[\w-]\.env\b")
_LARGEST = 256 * 1024  # bytes of a .env file that is read


def secrets_of(session: Session, events: Iterable[dict[str, Any]]) -> list[tuple[str, str]]:
    """``(kind, secret)`` of all of them; ``events`` tell which ``.env`` files were read, and what was in them."""
    found = [*known_secrets(os.environ), *_key(session.provider), *_of_folder(session.workspace.root)]
    reading: set[str] = set()
    for event in events:
        if event.get("type") == "tool_call" and _ENV_FILE.search(_words(event)):
            reading.add(str(event.get("call_id")))
        elif event.get("type") == "tool_result" and event.get("call_id") in reading:
            found += dotenv_secrets(str(event.get("text") or ""))
    return found


def _words(event: dict[str, Any]) -> str:
    given = event.get("input")
    values = given.values() if isinstance(given, dict) else ()
    return "\n".join(v for v in values if isinstance(v, str))


def _of_folder(root: Path) -> list[tuple[str, str]]:
    """Those of the workspace's own ``.env``: a program that was run may have printed what it took from there."""
    found: list[tuple[str, str]] = []
    for name in (".env", ".env.local"):
        with suppress(OSError, UnicodeDecodeError):
            path = root / name
            if path.is_file() and path.stat().st_size <= _LARGEST:
                found += dotenv_secrets(path.read_text("utf-8"))
    return found


def _key(provider: str) -> list[tuple[str, str]]:
    """The key of a provider, wherever it is kept, and what is sent in the headers of its requests."""
    from .config import ConfigError, load_config
    from .llm.keys import find_key
    from .llm.known import PRESETS

    try:
        given = load_config().providers.get(provider)
    except ConfigError:
        given = None
    preset = PRESETS.get(provider, {})
    variables = [given.key_variable if given and given.key_variable else str(preset.get("key_variable", ""))]
    variables += list(given.headers.values()) if given else []
    out = []
    for variable in filter(None, variables):
        key = find_key(variable)
        if key:
            out += known_secrets({variable: key}) or [(f"{provider} key", key)]
    return out
