"""An ACP agent whose every turn is COUNT ``agent_message_chunk`` notifications; arguments as hm_stream.py's."""

import json
import os
import sys


def line(**message: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"


def write(*lines: bytes) -> None:
    data = b"".join(lines)
    while data:
        data = data[os.write(1, data) :]


def update(text: str) -> bytes:
    content = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return line(method="session/update", params={"sessionId": "20261106-101500-3f9a", "update": content})


def main() -> None:
    count, each = int(sys.argv[1]), sys.argv[2:] == ["each"]
    updates = [update(f"word {n} ") for n in range(count)]
    answers: dict[str, dict[str, object]] = {
        "initialize": {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []},
        "session/new": {"sessionId": "20261106-101500-3f9a"},
        "session/prompt": {"stopReason": "end_turn"},
    }
    for raw in sys.stdin.buffer:
        request = json.loads(raw)
        if request.get("method") == "session/prompt":
            if each:
                for one in updates:
                    os.write(1, one)
            else:
                write(*updates)
        if "id" in request:
            write(line(id=request["id"], result=answers.get(request["method"], {})))


if __name__ == "__main__":
    main()
