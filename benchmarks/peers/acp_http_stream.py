"""The agent of acp_stream.py behind Streamable HTTP: ``python acp_http_stream.py COUNT [each]``; prints its address.

Only what a well-behaved client needs: POST (initialize answers itself, the rest 202), an event stream for the connection
and one for the session, DELETE. HTTP/1.1. It writes as fast as it can, so that the client is what is measured.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

SESSION = "20261106-101500-3f9a"
CONNECTION = "c0ffee"
BLOCK = 200  # updates in one write


def event(**message: Any) -> bytes:
    data = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":"))
    return b"data: " + data.encode() + b"\n\n"


def update(text: str) -> bytes:
    content = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return event(method="session/update", params={"sessionId": SESSION, "update": content})


def answer(status: str, body: bytes = b"", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


class Agent:
    """Connection and session are always the same: one client is served."""

    def __init__(self, count: int, each: bool) -> None:
        updates = [update(f"word {n} ") for n in range(count)]
        block = 1 if each else BLOCK
        self._blocks = [chunk(b"".join(updates[n : n + block])) for n in range(0, count, block)]
        self._streams: dict[str, asyncio.Queue[list[bytes]]] = {}

    def stream(self, session: str) -> asyncio.Queue[list[bytes]]:
        return self._streams.setdefault(session, asyncio.Queue())

    def take(self, request: dict[str, Any], session: str) -> None:
        """A message that was posted: its answer goes to the stream it belongs to."""
        method, number = request.get("method"), request.get("id")
        if method == "session/new":
            self.stream("").put_nowait([chunk(event(id=number, result={"sessionId": SESSION}))])
        elif method == "session/prompt":
            done = chunk(event(id=number, result={"stopReason": "end_turn"}))
            self.stream(SESSION).put_nowait([*self._blocks, done])
        elif number is not None and method is not None:
            self.stream(session).put_nowait([chunk(event(id=number, result={}))])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                verb = head.split(b" ", 1)[0]
                fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
                body = await reader.readexactly(int(fields.get(b"content-length", b"0")))
                session = fields.get(b"acp-session-id", b"").decode()
                if verb == b"GET" and b"text/event-stream" in fields.get(b"accept", b""):
                    await self._events(writer, session)
                    break
                if verb == b"GET":
                    writer.write(answer("406 Not Acceptable"))
                elif verb == b"POST":
                    request = json.loads(body)
                    if request.get("method") == "initialize":
                        result = {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}
                        said = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode()
                        kind = "Content-Type: application/json"
                        writer.write(answer("200 OK", said, kind, f"Acp-Connection-Id: {CONNECTION}"))
                    else:
                        writer.write(answer("202 Accepted"))
                        self.take(request, session)
                else:
                    writer.write(answer("202 Accepted"))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _events(self, writer: asyncio.StreamWriter, session: str) -> None:
        lines = ["HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked", "", ""]
        writer.write("\r\n".join(lines).encode())
        await writer.drain()
        queue = self.stream(session)
        while True:
            for data in await queue.get():
                writer.write(data)
                await writer.drain()


async def main() -> None:
    agent = Agent(int(sys.argv[1]), sys.argv[2:] == ["each"])
    server = await asyncio.start_server(agent.serve, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/acp", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
