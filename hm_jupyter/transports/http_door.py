"""How a connection of ACP over HTTP is made and left: is anybody there, ``initialize``, DELETE (ACP reference 10).

Of the three each is one exchange of its own. What is said in between is :mod:`.http_posts` and :mod:`.http_streams`; who
calls when, and what follows from it, is :mod:`.http`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import anyio
import httpx
from pydantic_core import from_json

from ..errors import TransportError
from .backoff import Backoff, Patience, retry_after
from .endpoint import AUTH_HINT, Endpoint, status_words
from .http_routes import fits_a_header
from .http_streams import CONNECTION
from .web import Web, read_some

log = logging.getLogger("hm_jupyter")


class Door:
    """One endpoint's. ``most``: cap of the answer to ``initialize`` in bytes; ``wall_clock``: seconds since 1970."""

    def __init__(
        self,
        endpoint: Endpoint,
        web: Web,
        client: httpx.AsyncClient,
        patience: Patience,
        most: int,
        wall_clock: Callable[[], float],
    ) -> None:
        self._endpoint = endpoint
        self._web = web
        self._client = client
        self._patience = patience
        self._most = most
        self._wall_clock = wall_clock

    async def knock(self) -> tuple[int, float | None]:
        """Ask for nothing in particular; the status, and how long the server asks to wait. Raises what httpx raises,
        and ``TransportError``."""
        seconds = self._patience.connect
        try:
            async with self._web.request(
                self._client, "GET", {"Accept": "application/json"}, timeout=httpx.Timeout(seconds)
            ) as response:
                return response.status_code, retry_after(response.headers.get("retry-after"), self._wall_clock())
        except httpx.ReadTimeout:  # somebody is there, and has nothing to say
            return 204, None

    async def initialize(self, body: bytes, *, once: bool) -> tuple[str, dict[str, Any]]:
        """The one POST that is answered in its response: the connection ("": refused), and the answer. It may be repeated:
        that makes another connection at worst. ``once``: nobody was ever connected, do not try for long.

        Raises ``TransportError`` with what to do."""
        endpoint = self._endpoint
        backoff = Backoff(self._patience)
        while True:
            wait: float | None = None
            try:
                headers = {"Content-Type": "application/json", "Accept": "application/json"}
                timeout = httpx.Timeout(None, connect=self._patience.connect, write=4 * self._patience.keepalive)
                async with self._web.request(self._client, "POST", headers, content=body, timeout=timeout) as response:
                    status, answer = response.status_code, await read_some(response, self._most)
                    connection = response.headers.get(CONNECTION, "")
                    connection = connection if fits_a_header(connection) else ""
                    wait = retry_after(response.headers.get("retry-after"), self._wall_clock())
            except httpx.RequestError as error:
                reason = endpoint.explain(error)
            else:
                value = _json_rpc(answer)
                if value is not None and (connection or _is_refusal(value)):
                    return connection, value
                text = endpoint.scrub(answer[:2000].decode("utf-8", "replace"))
                reason = f"{status_words(status)} ({status}{': ' + text if text else ''})"
                if 200 <= status < 300:
                    raise TransportError(
                        f"{endpoint.place} does not speak ACP: it answered initialize without {CONNECTION}."
                    )
                if status in (401, 403, 407):
                    raise TransportError(f"{endpoint.place}: {status_words(status)} ({status}). {AUTH_HINT}")
                if status < 500 and status != 429:
                    raise TransportError(f"{endpoint.place}: {reason}. Is it the address of an ACP endpoint?")
            if backoff.exhausted or (once and (backoff.attempts >= 3 or (wait or 0.0) > self._patience.connect)):
                later = f" Try again in {wait:.0f} s." if wait else ""
                raise TransportError(f"{endpoint.place}: {reason}.{later}")
            await asyncio.sleep(backoff.delay(wait))

    async def leave(self, connection: str) -> None:
        """DELETE a connection; not for long, and whatever becomes of it."""
        with anyio.move_on_after(self._patience.leave):
            try:
                async with self._web.request(
                    self._client, "DELETE", {CONNECTION: connection}, timeout=httpx.Timeout(self._patience.leave)
                ):
                    pass
            except (httpx.HTTPError, TransportError) as error:  # it will be missed, then
                log.debug("goodbye to %s failed: %s", self._endpoint.place, self._endpoint.explain(error))


def unavailable(status: int) -> bool:
    """Does this status mean that the server cannot serve now?"""
    return status in (429, 500, 502, 503, 504) or status >= 520


def _json_rpc(body: bytes) -> dict[str, Any] | None:
    try:
        value = from_json(body)
    except ValueError:
        return None
    return value if isinstance(value, dict) and ("result" in value or "error" in value) else None


def _is_refusal(value: dict[str, Any]) -> bool:
    """An answer of ACP's to initialize that makes no connection. ``{"error": …}`` alone is how many a server that is no
    agent at all says that there is nothing here, and is an answer to nobody."""
    return "error" in value and "jsonrpc" in value
