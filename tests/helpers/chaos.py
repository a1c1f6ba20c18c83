"""A TCP proxy that treats connections badly, the same way for the same seed.

It cuts what comes from the server into pieces, holds each stream up for a while of its own (so that streams overtake one
another), and breaks streams off, in the middle of whatever it is: what had left the server and not arrived is lost. Of that
it lets pass what nothing could make up for: an answer, or a request of the agent's.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any


class Chaos:
    """``async with Chaos(seed, port) as proxy:`` … connect to ``proxy.port`` instead.

    Args:
        cuts: how many streams are broken at most, so that it comes to an end.
        lossy: what was on its way in a broken stream is lost.
    """

    def __init__(self, seed: int, upstream: int, *, cuts: int = 5, lossy: bool = True, pause: float = 0.004) -> None:
        self.seed = seed
        self.cuts = cuts
        self.made = 0  # cuts made
        self._upstream = upstream
        self._lossy = lossy
        self._pause = pause
        self._count = 0
        self._tasks: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Chaos:
        self._server = await asyncio.start_server(self._client, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._count += 1
        rng = random.Random(f"{self.seed}:{self._count}")
        upstream: asyncio.StreamWriter | None = None
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            from_server, upstream = await asyncio.open_connection("127.0.0.1", self._upstream)
            upstream.write(head)
            up = asyncio.ensure_future(self._up(reader, upstream))
            try:
                await self._down(from_server, writer, rng, stream=head.startswith(b"GET"))
            finally:
                up.cancel()
                await asyncio.gather(up, return_exceptions=True)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            for one in (writer, upstream):
                if one is not None:
                    one.transport.abort()

    async def _up(self, reader: asyncio.StreamReader, upstream: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            upstream.write(data)
            await upstream.drain()
        upstream.write_eof()

    async def _down(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, rng: random.Random, *, stream: bool
    ) -> None:
        left = rng.randint(300, 4000) if stream and rng.random() < 0.8 else 1 << 40
        slow = rng.random() * self._pause
        while data := await reader.read(rng.choice((16, 200, 1000, 65536))):
            await asyncio.sleep(slow * rng.random())
            left -= len(data)
            if left <= 0 and self.made < self.cuts:
                self.made += 1
                if not self._lossy or b'"id"' in data:
                    writer.write(data)
                else:
                    writer.write(data[: rng.randint(0, len(data))])
                await writer.drain()
                await asyncio.sleep(0.005)  # what was written is to arrive
                return
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
            await asyncio.sleep(0.005)
