"""Opens a row's session as a notebook would: ``hm.connect`` with a command, or with the address of a server."""

from __future__ import annotations

from typing import Any

import hm_jupyter
from hm_jupyter.session.session import Session

from ..place import Place


def open_row(place: Place, **options: Any) -> Session:
    """A session with the agent of ``place``; ``options`` are further arguments of ``connect``."""
    agent, raw = place.agent(), place.row.raw
    if "url" in raw:
        options["token"] = raw.get("token")
    else:
        options["env"] = place.environment()
    return hm_jupyter.connect(
        agent,
        protocol=raw.get("protocol", "acp"),
        cwd=place.work,
        start_timeout=max(90.0, place.row.patience),
        **options,
    )
