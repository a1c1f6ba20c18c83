"""CPU of the client while an agent streams 20,000 pieces of text through a real pipe: ours, and the ACP Python SDK's.

Ours is the whole way a notebook uses: connect, transport, adapter, controller, reducer, transcript, one listener. The
SDK's is its parsing and routing, into a client that joins the text. CPU seconds of the client process only
(``time.process_time``), from the prompt to the end of the turn, best of five; both read the same texts.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from .report import Row, fresh

COUNT = 20_000
PEERS = Path(__file__).parent / "peers"


def ours(count: int, *how: str) -> dict[str, float]:
    import hm_jupyter

    session = hm_jupyter.connect([sys.executable, str(PEERS / "hm_stream.py"), str(count), *how], protocol="hm")
    batches = 0

    def listen(seq: int, ops: object) -> None:
        nonlocal batches
        batches += 1

    session.controller.subscribe(listen)
    try:
        wall, cpu = time.perf_counter(), time.process_time()
        turn = session.prompt("go")
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        assert turn.text.split()[-1] == str(count - 1), turn.text[-80:]
    finally:
        session.close()
    return {"cpu": cpu, "wall": wall, "batches": batches}


def acp(count: int, *how: str) -> dict[str, float]:
    import asyncio

    from acp import PROTOCOL_VERSION, RequestError, spawn_agent_process, text_block

    class Client:
        def __init__(self) -> None:
            self.parts: list[str] = []

        async def session_update(self, session_id: str, update: object, **kwargs: object) -> None:
            self.parts.append(update.content.text)  # type: ignore[attr-defined]

        async def request_permission(self, *args: object, **kwargs: object) -> None:
            raise RequestError.method_not_found("session/request_permission")

    async def run() -> dict[str, float]:
        client = Client()
        command = [str(PEERS / "acp_stream.py"), str(count), *how]
        async with spawn_agent_process(client, sys.executable, *command) as (connection, _):
            await connection.initialize(protocol_version=PROTOCOL_VERSION)
            session = await connection.new_session(cwd=str(PEERS), mcp_servers=[])
            wall, cpu = time.perf_counter(), time.process_time()
            await connection.prompt(prompt=[text_block("go")], session_id=session.session_id)
            while len(client.parts) < count:  # the SDK may answer before its last notifications were handled
                await asyncio.sleep(0)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        assert sorted(client.parts, key=lambda t: int(t.split()[1]))[-1].split()[-1] == str(count - 1)
        return {"cpu": cpu, "wall": wall}

    return asyncio.run(run())


def best(who: str, *how: str, rounds: int = 5) -> float:
    return min(fresh("benchmarks.client_stream", who, str(COUNT), *how)["cpu"] for _ in range(rounds))


def measure() -> list[Row]:
    rows = []
    for label, how, aim in (
        (f"client CPU, {COUNT:,} text pieces through a pipe, in blocks", (), "<= 0.15 s, ratio >= 5"),
        (f"client CPU, {COUNT:,} text pieces, a write each", ("each",), ""),
    ):
        mine, theirs = best("ours", *how), best("acp", *how)
        rows.append(Row(label, f"{mine:.3f} s", f"{theirs:.3f} s (ACP SDK; ratio {theirs / mine:.1f})", aim))
    return rows


if __name__ == "__main__":
    who, count, *rest = sys.argv[1:]
    print(json.dumps({"ours": ours, "acp": acp}[who](int(count), *rest)))
