"""GET requests for event streams over a socket of our own, as a transport of httpx: for their bodies alone.

httpx hands out a body chunk by chunk, which for a stream of tokens costs five times of what reading it does: 20,000 took
0.4 s of CPU. Here a body comes in pieces as large as what was read. HTTP/1.1, no proxy, one request a connection.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from typing import cast

import h11
import httpx

from .chunked import ChunkDecoder

READ = 24 * 1024
"""Bytes taken at a time, as in :mod:`.stdio` and for the same reason: the messages of one read are too few objects to set off
Python's garbage collector. 20,000 in a chunk each cost 0.065 s; with 32 KiB 0.085, most of it one whole collection."""


class DirectTransport(httpx.AsyncBaseTransport):
    """``tls``: for https."""

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        self._tls = tls

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Raises httpx's exceptions, so that nobody sees the difference."""
        url = request.url
        timeouts = request.extensions.get("timeout", {})
        secure = url.scheme == "https"
        try:
            reader, writer = await asyncio.wait_for(
                asyncio.open_connection(
                    url.host,
                    url.port or (443 if secure else 80),
                    limit=READ,
                    ssl=self._tls if secure else None,
                ),
                timeouts.get("connect"),
            )
        except asyncio.TimeoutError as error:
            raise httpx.ConnectTimeout("connecting took too long", request=request) from error
        except OSError as error:  # ssl's errors are such, too
            raise httpx.ConnectError(str(error), request=request) from error
        try:
            return await self._exchange(request, reader, writer, timeouts.get("read"))
        except BaseException:
            writer.transport.abort()
            raise

    async def _exchange(
        self,
        request: httpx.Request,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        seconds: float | None,
    ) -> httpx.Response:
        heads = h11.Connection(h11.CLIENT)
        try:
            head = h11.Request(method=request.method, target=request.url.raw_path, headers=request.headers.raw)
            writer.write((heads.send(head) or b"") + (heads.send(h11.EndOfMessage()) or b""))
            while not isinstance(event := heads.next_event(), h11.Response):
                if event is h11.NEED_DATA:
                    data = await asyncio.wait_for(reader.read(READ), seconds)
                    if not data:
                        raise httpx.RemoteProtocolError("The server ended without an answer.", request=request)
                    heads.receive_data(data)
        except asyncio.TimeoutError as error:
            raise httpx.ReadTimeout("the answer took too long", request=request) from error
        except h11.ProtocolError as error:
            raise httpx.RemoteProtocolError(str(error), request=request) from error
        except OSError as error:
            raise httpx.ReadError(str(error), request=request) from error
        headers = httpx.Headers(event.headers.raw_items())
        body = _Body(request, reader, writer, headers, event.status_code, heads.trailing_data[0])
        return httpx.Response(event.status_code, headers=headers, stream=body)


class _Body(httpx.AsyncByteStream):
    """What comes behind the head."""

    def __init__(
        self,
        request: httpx.Request,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        headers: httpx.Headers,
        status: int,
        first: bytes,
    ) -> None:
        self._request = request
        self._reader = reader
        self._writer = writer
        self._first = first
        self._chunks = ChunkDecoder() if "chunked" in headers.get("transfer-encoding", "").lower() else None
        length = headers.get("content-length", "")
        self._left = int(length) if length.isdigit() and self._chunks is None else None
        if status in (204, 304):
            self._left = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        transport = cast(asyncio.Transport, self._writer.transport)
        try:
            data, self._first = self._first, b""
            while self._left != 0:
                if data:
                    if self._chunks is not None:
                        data = self._chunks.feed(data)
                    elif self._left is not None:
                        data = data[: self._left]
                        self._left -= len(data)
                    if data:
                        yield data
                    if self._chunks is not None and self._chunks.done:
                        return
                    if self._left == 0:
                        return
                # Only while somebody waits: what comes meanwhile gathers in the kernel, and costs no wake-up.
                transport.resume_reading()
                data = await self._reader.read(READ)
                transport.pause_reading()
                if not data:
                    if self._chunks is not None or self._left:
                        raise httpx.RemoteProtocolError("The stream was cut off.", request=self._request)
                    return
        except ValueError as error:
            raise httpx.RemoteProtocolError(str(error), request=self._request) from error
        except OSError as error:
            raise httpx.ReadError(str(error), request=self._request) from error

    async def aclose(self) -> None:
        self._writer.transport.abort()
