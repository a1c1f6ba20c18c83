"""The client's side of the tests of remote transports: collects what arrives, waits for it with a bound."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from hm_jupyter.transports.backoff import Patience
from hm_jupyter.transports.base import BadLine, Exit, Link, Message, Received, Transport

QUICK = Patience(
    first=0.01, longest=0.05, give_up=20.0, show=0.15, stable=30.0, keepalive=0.5, taken=0.1, stream=1.0, connect=5.0,
    leave=1.0,
)  # fmt: skip


class Client:
    """``async with Client(transport) as client``: opened, read, closed."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.items: list[Received] = []
        self.ended = False
        self.exit: Exit | None = None
        self._changed = asyncio.Event()
        self._id = 100
        self.on_fresh: Any = None  # awaited when the connection is a new one

    async def __aenter__(self) -> Client:
        await self.transport.open()
        self._task = asyncio.ensure_future(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.exit = await self.transport.close()
        await asyncio.wait_for(self._task, 5)

    async def _read(self) -> None:
        async for batch in self.transport.receive():
            self.items += batch
            self._changed.set()
            for item in batch:
                if isinstance(item, Link) and item.state == "fresh" and self.on_fresh:
                    self._again = asyncio.ensure_future(self.on_fresh())
        self.ended = True
        self._changed.set()

    @property
    def values(self) -> list[Any]:
        return [item.value for item in self.items if isinstance(item, Message)]

    @property
    def links(self) -> list[str]:
        return [item.state for item in self.items if isinstance(item, Link)]

    @property
    def bad(self) -> list[BadLine]:
        return [item for item in self.items if isinstance(item, BadLine)]

    @property
    def texts(self) -> list[str]:
        return [v["params"]["text"] for v in self.values if v.get("method") == "session/update"]

    async def until(self, condition: Callable[[], object], seconds: float = 8.0) -> None:
        """Wait until it holds."""
        deadline = asyncio.get_running_loop().time() + seconds
        while not condition():
            left = deadline - asyncio.get_running_loop().time()
            assert left > 0, f"waited in vain; there is {self.items[-20:]!r}"
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), min(left, 0.01))
            except asyncio.TimeoutError:
                pass

    async def ask(self, method: str, params: Any = None, rpc_id: Any = None) -> Any:
        """Send a request and wait for its answer."""
        if rpc_id is None:
            self._id += 1
            rpc_id = self._id
        await self.transport.send({"jsonrpc": "2.0", "id": rpc_id, "method": method, "params": params or {}})
        return await self.answer(rpc_id)

    async def answer(self, rpc_id: Any) -> Any:
        def found() -> list[Any]:
            return [v for v in self.values if "method" not in v and v.get("id") == rpc_id]

        await self.until(found)
        return found()[-1]

    async def tell(self, method: str, params: Any) -> None:
        await self.transport.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def begin(self) -> None:
        """initialize and a session s1."""
        await self.ask("initialize", {"protocolVersion": 1})
        await self.ask("session/new", {"cwd": "/"})
