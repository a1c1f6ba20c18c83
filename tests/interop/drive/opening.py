"""Opens a row's session as a notebook would: ``hm.connect`` with a command, or with the address of a server."""

from __future__ import annotations

from typing import Any

import hm_jupyter
from hm_jupyter.connect import open_session
from hm_jupyter.protocols.acp.adapter import AcpAdapter
from hm_jupyter.session.runtime import runtime
from hm_jupyter.session.session import Session
from hm_jupyter.transports.http import HttpTransport

from ..place import Place


def open_row(place: Place, **options: Any) -> Session:
    """A session with the agent of ``place``; ``options`` are further arguments of ``connect``."""
    agent, raw = place.agent(), place.row.raw
    if raw.get("http2"):
        return runtime().run(_over_http2, place, str(agent))
    if "url" in raw:
        options["token"] = raw.get("token")
    else:
        options["env"] = place.environment()
    return hm_jupyter.connect(
        agent,
        protocol=raw.get("protocol", None if raw.get("known") else "acp"),
        cwd=place.work,
        start_timeout=max(90.0, place.row.patience),
        **{**raw.get("open", {}), **options},
    )


async def _over_http2(place: Place, url: str) -> Session:
    """``connect`` speaks HTTP/1.1; the transport can be told to speak HTTP/2."""
    transport = HttpTransport(url, headers={"Authorization": f"Bearer {place.row.raw['token']}"}, http2=True)
    return await open_session(transport, AcpAdapter(cwd=str(place.work)), agent="h2c", start_timeout=60)
