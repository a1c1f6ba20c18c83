"""A model's server, scripted: Anthropic Messages, OpenAI chat completions and Responses, Gemini; real HTTP, streamed.

Each request takes the next answer of the script, whatever it says; what was asked is there to be looked at. Loopback
only, standard library only. It knows nothing of our agent.
"""

from __future__ import annotations

import json
import select
import socket
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

APIS = ("anthropic", "openai", "openai-responses", "google")
SIGNATURE = "c2lnbmF0dXJl"


@dataclass
class Answer:
    """What to say: ``parts`` are ("think", text), ("text", text) and ("call", tool, input or raw text).

    ``stop`` is "end", "length", "filter" or "drop" (the connection breaks off before the end is told). ``hold``: after
    the parts, wait until the client hangs up. With ``status`` other than 200 it is an error with ``message``. ``ids``
    are the calls' own.
    """

    parts: list[tuple[Any, ...]] = field(default_factory=list)
    stop: str = "end"
    hold: bool = False
    status: int = 200
    message: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    input: int = 100
    output: int = 20
    cache_read: int = 0
    cache_write: int = 0


def says(text: str, **more: Any) -> Answer:
    """An answer of text alone."""
    return Answer([("text", text)], **more)


def calls(*wanted: tuple[str, Any], text: str = "", **more: Any) -> Answer:
    """An answer that wants tools: (name, input) each."""
    return Answer([("text", text)] * bool(text) + [("call", *w) for w in wanted], **more)


def fails(status: int, message: str, **headers: str) -> Answer:
    """An error; underscores in the headers' names are dashes."""
    return Answer(status=status, message=message, headers={k.replace("_", "-"): v for k, v in headers.items()})


@dataclass
class Asked:
    """One request as it came. ``gone`` is set when the client hung up on an answer that was held."""

    api: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    gone: threading.Event = field(default_factory=threading.Event)

    @property
    def text(self) -> str:
        """All of the body as text, to look for words in."""
        return json.dumps(self.body, ensure_ascii=False)


class ModelServer:
    """``script`` holds the answers to come, ``asked`` the requests that came, ``models`` what GET /models lists."""

    def __init__(self) -> None:
        self.script: deque[Answer] = deque()
        self.asked: list[Asked] = []
        self.models = ["small-model", "large-model"]
        self.listed = 0
        owner = self

        class Handler(_Handler):
            server_of = owner

        self._http = _Server(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def base_url(self, api: str) -> str:
        """Where ``api`` is on this server."""
        return self.address + ("/v1" if api.startswith("openai") else "")

    def settings(self, **more: str) -> str:
        """A hm.toml with a provider for each API, called like it; ``more`` are lines of each. No keys are needed."""
        lines = "\n".join(f"{k} = {v}" for k, v in {"model": '"test-model"', **more}.items())
        return "".join(
            f'[providers.{api}-here]\napi = "{api}"\nbase_url = "{self.base_url(api)}"\n{lines}\n' for api in APIS
        )

    def will(self, *answers: Answer) -> None:
        self.script.extend(answers)

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(10)


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """A server for the length of a test."""
    server = ModelServer()
    try:
        yield server
    finally:
        server.close()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no error of ours."""


class _Handler(BaseHTTPRequestHandler):
    server_of: ModelServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.server_of.listed += 1
        models = [{"id": m, "object": "model", "created": 1, "owned_by": "us"} for m in self.server_of.models]
        self._json(200, {"object": "list", "data": models}, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.partition("?")[0]
        api, speak = next(
            (api, speak)
            for end, api, speak in (
                ("/messages", "anthropic", self._anthropic),
                ("/chat/completions", "openai", self._chat),
                ("/responses", "openai-responses", self._responses),
                (":streamGenerateContent", "google", self._google),
            )
            if path.endswith(end)
        )
        asked = Asked(api, path, {k.lower(): v for k, v in self.headers.items()}, body)
        self.server_of.asked.append(asked)
        answer = self.server_of.script.popleft() if self.server_of.script else says("Done.")
        if answer.status != 200:
            self._json(answer.status, _error(api, answer), answer.headers)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self._ids = deque(answer.ids)
        try:
            speak(answer, asked)
            if answer.stop == "drop":
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
            else:
                self.wfile.write(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError, _GoneError):
            asked.gone.set()
            self.close_connection = True

    def _json(self, status: int, value: Any, headers: dict[str, str]) -> None:
        raw = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"content-type": "application/json", "content-length": str(len(raw)), **headers}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(raw)

    def _event(self, value: Any, name: str = "") -> None:
        text = value if isinstance(value, str) else json.dumps(value)
        data = ((f"event: {name}\n" if name else "") + f"data: {text}\n\n").encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _hold(self) -> None:
        """Until the client hangs up, at most half a minute."""
        readable, _, _ = select.select([self.connection], [], [], 30)
        if readable and self.connection.recv(1, socket.MSG_PEEK) == b"":
            raise _GoneError

    def _id(self, prefix: str) -> str:
        return self._ids.popleft() if self._ids else f"{prefix}{len(self.server_of.asked)}x{id(object()) % 10**6}"

    # ---- Anthropic: message_start, blocks with their deltas, message_delta, message_stop ----

    def _anthropic(self, answer: Answer, asked: Asked) -> None:
        def event(kind: str, **fields: Any) -> None:
            self._event({"type": kind, **fields}, kind)

        usage = {
            "input_tokens": answer.input, "output_tokens": 1,
            "cache_read_input_tokens": answer.cache_read, "cache_creation_input_tokens": answer.cache_write,
        }  # fmt: skip
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked.body["model"], "content": []}
        event("message_start", message={**message, "stop_reason": None, "stop_sequence": None, "usage": usage})
        for index, part in enumerate(answer.parts):
            if part[0] == "think":
                event("content_block_start", index=index,
                      content_block={"type": "thinking", "thinking": "", "signature": ""})  # fmt: skip
                for piece in _pieces(part[1]):
                    event("content_block_delta", index=index, delta={"type": "thinking_delta", "thinking": piece})
                event("content_block_delta", index=index, delta={"type": "signature_delta", "signature": SIGNATURE})
            elif part[0] == "text":
                event("content_block_start", index=index, content_block={"type": "text", "text": ""})
                for piece in _pieces(part[1]):
                    event("content_block_delta", index=index, delta={"type": "text_delta", "text": piece})
            else:
                block = {"type": "tool_use", "id": self._id("toolu_"), "name": part[1], "input": {}}
                event("content_block_start", index=index, content_block=block)
                for piece in _pieces(_raw(part[2])):
                    event("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": piece})
            event("content_block_stop", index=index)
        if answer.hold:
            self._hold()
        if answer.stop != "drop":
            stop = {"length": "max_tokens", "filter": "refusal"}.get(answer.stop) or (
                "tool_use" if _has_calls(answer) else "end_turn"
            )
            event("message_delta", delta={"stop_reason": stop, "stop_sequence": None},
                  usage={"output_tokens": answer.output})  # fmt: skip
            event("message_stop")

    # ---- OpenAI chat completions: chunks, then [DONE] ----

    def _chat(self, answer: Answer, asked: Asked) -> None:
        def chunk(delta: dict[str, Any], finish: str | None = None, **fields: Any) -> None:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": asked.body["model"]}
            self._event({**head, "choices": [choice], **fields})

        chunk({"role": "assistant", "content": ""})
        number = 0
        for part in answer.parts:
            if part[0] == "call":
                head = {"id": self._id("call_"), "type": "function", "function": {"name": part[1], "arguments": ""}}
                chunk({"tool_calls": [{"index": number, **head}]})
                for piece in _pieces(_raw(part[2])):
                    chunk({"tool_calls": [{"index": number, "function": {"arguments": piece}}]})
                number += 1
            else:
                for piece in _pieces(part[1]):
                    chunk({"reasoning_content" if part[0] == "think" else "content": piece})
        if answer.hold:
            self._hold()
        if answer.stop != "drop":
            finish = {"length": "length", "filter": "content_filter"}.get(answer.stop) or (
                "tool_calls" if number else "stop"
            )
            total = answer.input + answer.cache_read
            chunk({}, finish, usage={
                "prompt_tokens": total, "completion_tokens": answer.output, "total_tokens": total + answer.output,
                "prompt_tokens_details": {"cached_tokens": answer.cache_read},
            })  # fmt: skip
            self._event("[DONE]")

    # ---- OpenAI Responses: items added, their deltas, items done, response.completed ----

    def _responses(self, answer: Answer, asked: Asked) -> None:
        head = {"id": "resp_1", "object": "response", "created_at": 1, "model": asked.body["model"], "output": []}
        count = 0

        def event(kind: str, **fields: Any) -> None:
            nonlocal count
            self._event({"type": kind, "sequence_number": count, **fields}, kind)
            count += 1

        event("response.created", response={**head, "status": "in_progress"})
        done: list[dict[str, Any]] = []
        for index, part in enumerate(answer.parts):
            at: dict[str, Any] = {"output_index": index}
            if part[0] == "text":
                item: dict[str, Any] = {"type": "message", "id": f"msg_{index}", "role": "assistant"}
                event("response.output_item.added", item={**item, "status": "in_progress", "content": []}, **at)
                at |= {"item_id": item["id"], "content_index": 0}
                empty = {"type": "output_text", "text": "", "annotations": []}
                event("response.content_part.added", part=empty, **at)
                for piece in _pieces(part[1]):
                    event("response.output_text.delta", delta=piece, **at)
                event("response.output_text.done", text=part[1], **at)
                item |= {"status": "completed", "content": [{**empty, "text": part[1]}]}
            elif part[0] == "think":
                item = {"type": "reasoning", "id": f"rs_{index}", "summary": []}
                event("response.output_item.added", item=item, **at)
                at |= {"item_id": item["id"], "summary_index": 0}
                event("response.reasoning_summary_part.added", part={"type": "summary_text", "text": ""}, **at)
                for piece in _pieces(part[1]):
                    event("response.reasoning_summary_text.delta", delta=piece, **at)
                event("response.reasoning_summary_text.done", text=part[1], **at)
                item |= {"summary": [{"type": "summary_text", "text": part[1]}], "encrypted_content": SIGNATURE}
            else:
                raw, call = _raw(part[2]), self._id("call_")
                item = {"type": "function_call", "id": f"fc_{index}", "call_id": call, "name": part[1]}
                event("response.output_item.added", item={**item, "arguments": "", "status": "in_progress"}, **at)
                for piece in _pieces(raw):
                    event("response.function_call_arguments.delta", item_id=item["id"], delta=piece, **at)
                event("response.function_call_arguments.done", item_id=item["id"], arguments=raw, **at)
                item |= {"arguments": raw, "status": "completed"}
            event("response.output_item.done", output_index=index, item=item)
            done.append(item)
        if answer.hold:
            self._hold()
        if answer.stop == "drop":
            return
        total = answer.input + answer.cache_read
        usage = {
            "input_tokens": total, "input_tokens_details": {"cached_tokens": answer.cache_read},
            "output_tokens": answer.output, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": total + answer.output,
        }  # fmt: skip
        why = {"length": "max_output_tokens", "filter": "content_filter"}.get(answer.stop)
        status = "incomplete" if why else "completed"
        details = {"incomplete_details": {"reason": why}} if why else {}
        event(f"response.{status}", response={**head, "status": status, "output": done, "usage": usage, **details})

    # ---- Gemini: chunks of candidates ----

    def _google(self, answer: Answer, asked: Asked) -> None:
        def chunk(parts: list[dict[str, Any]], finish: str = "") -> None:
            candidate = {"content": {"role": "model", "parts": parts}, "index": 0}
            if finish:
                candidate["finishReason"] = finish
            usage = {
                "promptTokenCount": answer.input + answer.cache_read, "candidatesTokenCount": answer.output,
                "cachedContentTokenCount": answer.cache_read,
                "totalTokenCount": answer.input + answer.cache_read + answer.output,
            }  # fmt: skip
            self._event({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "test-model"})

        for part in answer.parts:
            if part[0] == "call":
                input = part[2] if isinstance(part[2], dict) else {}
                call = {"name": part[1], "args": input, **({"id": self._ids.popleft()} if self._ids else {})}
                chunk([{"functionCall": call, "thoughtSignature": SIGNATURE}])
            else:
                for piece in _pieces(part[1]):
                    chunk([{"text": piece, **({"thought": True} if part[0] == "think" else {})}])
        if answer.hold:
            self._hold()
        if answer.stop != "drop":
            chunk([{"text": ""}], {"length": "MAX_TOKENS", "filter": "SAFETY"}.get(answer.stop, "STOP"))


class _GoneError(Exception):
    """The client hung up."""


def _pieces(text: str) -> list[str]:
    return [text[i : i + 9] for i in range(0, len(text), 9)] if len(text) < 5000 else [text]


def _raw(input: Any) -> str:
    return input if isinstance(input, str) else json.dumps(input)


def _has_calls(answer: Answer) -> bool:
    return any(p[0] == "call" for p in answer.parts)


def _error(api: str, answer: Answer) -> dict[str, Any]:
    kinds = {
        400: "invalid_request_error",
        401: "authentication_error",
        429: "rate_limit_error",
        529: "overloaded_error",
    }
    if api == "google":
        return {"error": {"code": answer.status, "message": answer.message, "status": "FAILED"}}
    error = {"type": kinds.get(answer.status, "api_error"), "message": answer.message}
    return {"type": "error", "error": error} if api == "anthropic" else {"error": {**error, "code": None}}
