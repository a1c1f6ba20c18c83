"""CPU of the client while an ACP agent streams 20,000 updates: ours and the official Python SDK's, from the same agent.

Over stdio and over Streamable HTTP. Ours is the whole way a notebook uses (transport, adapter, controller, reducer,
transcript, one listener); the SDK's is its parsing and routing, into a client that joins the text. CPU seconds of the
client process only, from the prompt to the end of the turn, best of five. Ours must have every piece, once and in order,
or the measurement fails; how the SDK's came is told.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .report import Row, fresh

COUNT = 20_000
PEERS = Path(__file__).parent / "peers"


@contextmanager
def server(count: int, *how: str) -> Iterator[str]:
    """The HTTP agent, running; gives its address."""
    argv = [sys.executable, str(PEERS / "acp_http_stream.py"), str(count), *how]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def expected(count: int) -> str:
    return "".join(f"word {n} " for n in range(count))


def ours(count: int, over: str, *how: str) -> dict[str, Any]:
    import hm_jupyter

    def measured(agent: Any) -> dict[str, Any]:
        session = hm_jupyter.connect(agent, protocol="acp")
        session.controller.subscribe(lambda seq, ops: None)
        try:
            wall, cpu = time.perf_counter(), time.process_time()
            turn = session.prompt("go")
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            assert turn.text == expected(count).strip() or turn.text == expected(count), turn.text[-80:]
        finally:
            session.close()
        return {"cpu": cpu, "wall": wall, "ordered": True}

    if over == "http":
        with server(count, *how) as url:
            return measured(url)
    return measured([sys.executable, str(PEERS / "acp_stream.py"), str(count), *how])


def sdk(count: int, over: str, *how: str) -> dict[str, Any]:
    from acp import PROTOCOL_VERSION, RequestError, connect_to_agent, spawn_agent_process, text_block

    class Client:
        def __init__(self) -> None:
            self.parts: list[str] = []

        def on_connect(self, connection: Any) -> None:
            pass

        async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
            self.parts.append(update.content.text)

        async def request_permission(self, *args: Any, **kwargs: Any) -> None:
            raise RequestError.method_not_found("session/request_permission")

    async def measured(connection: Any, client: Client) -> dict[str, Any]:
        await connection.initialize(protocol_version=PROTOCOL_VERSION)
        session = await connection.new_session(cwd=str(PEERS), mcp_servers=[])
        wall, cpu = time.perf_counter(), time.process_time()
        await connection.prompt(prompt=[text_block("go")], session_id=session.session_id)
        deadline = time.monotonic() + 20
        while len(client.parts) < count and time.monotonic() < deadline:
            await asyncio.sleep(0)  # the SDK may answer before its last notifications were handled
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        return {"cpu": cpu, "wall": wall, "ordered": "".join(client.parts) == expected(count)}

    async def run() -> dict[str, Any]:
        client = Client()
        if over == "stdio":
            command = [str(PEERS / "acp_stream.py"), str(count), *how]
            async with spawn_agent_process(client, sys.executable, *command) as (connection, _):
                return await measured(connection, client)
        from acp.http import create_http_stream

        with server(count, *how) as url:
            transport = create_http_stream(url)
            connection = connect_to_agent(client, transport)
            try:
                return await measured(connection, client)
            finally:
                await connection.close()
                await transport.close()

    return asyncio.run(run())


def best(who: str, over: str, *how: str, rounds: int = 5) -> dict[str, Any]:
    found = [fresh("benchmarks.acp_client", who, str(COUNT), over, *how) for _ in range(rounds)]
    return {"cpu": min(f["cpu"] for f in found), "ordered": all(f["ordered"] for f in found)}


def measure() -> list[Row]:
    rows = []
    for over, label in (("stdio", "a pipe"), ("http", "Streamable HTTP")):
        for how, which in (((), "in blocks"), (("each",), "a write each")):
            mine, theirs = best("ours", over, *how), best("sdk", over, *how)
            order = "" if theirs["ordered"] else "; NOT in order"
            ratio = f"{theirs['cpu']:.3f} s (ACP SDK; ratio {theirs['cpu'] / mine['cpu']:.1f}{order})"
            what = f"client CPU, {COUNT:,} ACP updates over {label}, {which}"
            rows.append(Row(what, f"{mine['cpu']:.3f} s", ratio, "ratio >= 5, none lost"))
    return rows


if __name__ == "__main__":
    who, count, over, *rest = sys.argv[1:]
    print(json.dumps({"ours": ours, "sdk": sdk}[who](int(count), over, *rest)))
