"""An hm RPC agent whose every turn is COUNT ``text_delta`` lines: ``python hm_stream.py COUNT [each]``.

With ``each`` every line is a write of its own, else they leave in blocks, as from a buffered stdout.
"""

import json
import os
import sys

HEAD = {"v": 1, "session": "20261106-101500-3f9a", "time": "2026-11-06T10:15:00.123456Z"}


def line(kind: str, **fields: object) -> bytes:
    return json.dumps({**HEAD, "type": kind, **fields}, separators=(",", ":")).encode() + b"\n"


def write(*lines: bytes) -> None:
    data = b"".join(lines)
    while data:
        data = data[os.write(1, data) :]


def main() -> None:
    count, each = int(sys.argv[1]), sys.argv[2:] == ["each"]
    words = [f"word {n} " for n in range(count)]
    deltas = [line("text_delta", text=word) for word in words]
    write(line("session_start", root=os.getcwd(), mode="auto", provider="p", model="m", resumed=False, prompt=""))
    for raw in sys.stdin.buffer:
        command = json.loads(raw)
        write(line("response", id=command.get("id"), command=command.get("type"), ok=True, data={}))
        if command.get("type") != "prompt":
            continue
        write(line("message_end", role="user", text=command["text"]), line("message_start", role="assistant"))
        if each:
            for delta in deltas:
                os.write(1, delta)
        else:
            write(*deltas)
        write(
            line("usage", input=1, output=count, cache_read=0, cache_write=0, cost=0.0),
            line("message_end", role="assistant", text="".join(words)),
            line("turn_end"),
        )
    write(line("session_end", answer="", exit_code=0, refused=[], usage={}))


if __name__ == "__main__":
    main()
