"""A TCP proxy that treats connections badly, the same way for the same seed.

It cuts what comes from the server into pieces, holds each stream up for a while of its own (so that streams overtake one
another), and breaks streams off, in the middle of whatever it is: what had left the server and not arrived is lost. Of that
it lets pass, over HTTP, what nothing could make up for: an answer, or a request of the agent's. (A broken WebSocket takes all
with it; the session is taken up anew then.)
"""

from __future__ import annotations

import asyncio
import random
import threading
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit


class Chaos:
    """``with Chaos(seed, url) as proxy:`` … connect to ``proxy.url`` instead. It runs in a thread of its own.

    Args:
        cuts: how many streams are broken at most, so that it comes to an end.
        lossy: what was on its way in a broken stream is lost.
    """

    def __init__(self, seed: int, url: str, *, cuts: int = 5, lossy: bool = True, pause: float = 0.004) -> None:
        self.seed = seed
        self.cuts = cuts
        self.made = 0  # cuts made
        self._to = urlsplit(url)
        self._lossy = lossy
        self._pause = pause
        self._count = 0
        self._tasks: set[asyncio.Task[Any]] = set()

    def __enter__(self) -> Chaos:
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run(ready)), daemon=True)
        self._thread.start()
        assert ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)

    @property
    def url(self) -> str:
        """Where to connect."""
        return self._to._replace(netloc=f"127.0.0.1:{self.port}").geturl()

    async def _run(self, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        server = await asyncio.start_server(self._client, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._over.wait()
        server.close()
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
            from_server, upstream = await asyncio.open_connection(self._to.hostname, self._to.port)
            upstream.write(head)
            up = asyncio.ensure_future(self._up(reader, upstream))
            try:
                broken = await self._down(from_server, writer, rng, stream=head.startswith(b"GET"))
            finally:
                up.cancel()
                await asyncio.gather(up, return_exceptions=True)
            if broken is not None and b"websocket" not in head.lower():
                upstream.write_eof()
                await self._lose(broken, from_server, writer, rng)
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
    ) -> bytes | None:
        """Pass on what comes from the server. Not None: it was broken off in this event, and more may come."""
        event = b""
        left = rng.randint(300, 4000) if stream else 1 << 40
        slow = rng.random() * self._pause
        while data := await reader.read(rng.choice((16, 200, 1000, 65536))):
            await asyncio.sleep(slow * rng.random())
            writer.write(data)
            await writer.drain()
            left -= len(data)
            event = (event + data).rpartition(b"\n\n")[2] if stream else b""
            if left <= 0 and self.made < self.cuts:
                self.made += 1
                return event
        if writer.can_write_eof():
            writer.write_eof()
            await asyncio.sleep(0.005)
        return None

    async def _lose(
        self, event: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, rng: random.Random
    ) -> None:
        """The rest of a stream that was broken off in this event: some of it arrives, some of it does not."""
        rest = b""
        with suppress(asyncio.TimeoutError):
            while data := await asyncio.wait_for(reader.read(65536), 0.5):  # the server notices that we are gone
                rest += data
        arrives = not self._lossy or b'"id"' in event + rest
        writer.write(rest if arrives else rest[: rng.randint(0, len(rest))])
        await writer.drain()
        await asyncio.sleep(0.005)  # what was written is to arrive
