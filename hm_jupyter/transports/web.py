"""HTTP requests to one endpoint: a client for each stream, shared cookies, redirects within the origin only.

Knows nothing of ACP. The only module that makes httpx clients.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.request import getproxies

import httpx

from ..errors import TransportError
from .direct import DirectTransport
from .endpoint import Endpoint

REDIRECTS = 5
IDLE = 2.0
"""Seconds an idle connection is used again. Node closes them after 5, and a prompt must not meet one that closes."""


class Web:
    """``http2``: negotiated over TLS, and taken for granted on ``http://`` (prior knowledge, h2c).

    Each client is a connection of its own for HTTP/2: over a shared one a busy stream holds up the others (measured).
    """

    def __init__(self, endpoint: Endpoint, http2: bool) -> None:
        self.endpoint = endpoint
        self._http2 = http2
        self._moved = endpoint.url  # where it said, for good, that it is now

    def client(self, *, streams: bool = False) -> httpx.AsyncClient:
        """A client whose connections are its own; for ``streams``, one that is quick at reading them where that is
        possible. Raises ``TransportError`` if a package for it is missing."""
        endpoint = self.endpoint
        tls = endpoint.tls() if endpoint.secure else _NO_TLS
        direct = streams and not self._http2 and (endpoint.loopback or not getproxies())
        try:
            return httpx.AsyncClient(
                http1=not self._http2 or endpoint.secure,
                http2=self._http2,
                verify=tls,
                cookies=endpoint.cookies(),
                trust_env=not endpoint.loopback,
                transport=DirectTransport(tls) if direct else None,
                follow_redirects=False,
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=4, keepalive_expiry=IDLE),
                headers={"Accept-Encoding": "identity", "User-Agent": "hm_jupyter"},
            )
        except ImportError as error:
            what = "httpx[http2]" if self._http2 else "httpx[socks]"
            raise TransportError(f"For this connection a package is missing. Run: pip install '{what}'") from error

    @asynccontextmanager
    async def request(
        self,
        client: httpx.AsyncClient,
        method: str,
        headers: Mapping[str, str],
        *,
        content: bytes | None = None,
        timeout: httpx.Timeout,
        trace: Any = None,
    ) -> AsyncIterator[httpx.Response]:
        """A response whose body is still to be read. Raises what httpx raises, ``TransportError`` for a redirect to
        elsewhere."""
        url = self._moved
        for _ in range(REDIRECTS):
            request = client.build_request(
                method,
                url,
                headers={**self.endpoint.headers(), **headers},
                content=content,
                timeout=timeout,
                extensions={"trace": trace} if trace is not None else None,
            )
            response = await client.send(request, stream=True)
            try:
                location = response.headers.get("location")
                if response.status_code not in (301, 302, 307, 308) or not location:
                    yield response
                    return
            finally:
                await response.aclose()
            url = self.endpoint.same_origin(location)
            if response.status_code in (301, 308):
                self._moved = url
        raise TransportError(f"{self.endpoint.place} redirects in a circle.")


async def read_some(response: httpx.Response, most: int) -> bytes:
    """The body, up to ``most`` bytes and a chunk."""
    parts: list[bytes] = []
    size = 0
    async for chunk in response.aiter_bytes():
        parts.append(chunk)
        size += len(chunk)
        if size > most:
            break
    return b"".join(parts)


_NO_TLS = httpx.create_ssl_context(verify=False)
