"""Host tools and host URIs (omp): functions and documents of the notebook's, offered to the agent.

``set_host_tools`` and ``set_host_uri_schemes`` (by ``CallAgent``) offer them; a call of the agent's becomes a
:class:`~hm_jupyter.protocols.base.HostCall`:

``host_tool``: name, args (an object), call_id -> ``{"text"}`` or ``{"content": [blocks]}``, perhaps ``{"details"}``
``host_uri``: operation ("read" or "write"), url, content -> ``{"content"}`` for a read, perhaps ``{"content_type"}``
"""

from __future__ import annotations

from typing import Any

from ..base import HostCall, HostFailure, Step
from . import read


class Host:
    """The agent's calls that wait for the notebook."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}  # id -> host_tool or host_uri

    def tool(self, value: dict[str, Any], step: Step) -> None:
        """``host_tool_call``."""
        call_id = read.text(value.get("id"))
        if call_id:
            self._open[call_id] = "host_tool"
            args = {
                "name": read.text(value.get("toolName")),
                "args": read.fields(value.get("arguments")),
                "call_id": read.text(value.get("toolCallId")),
            }
            step.calls.append(HostCall(call_id, "host_tool", args))

    def uri(self, value: dict[str, Any], step: Step) -> None:
        """``host_uri_request``."""
        call_id = read.text(value.get("id"))
        if call_id:
            self._open[call_id] = "host_uri"
            args: dict[str, Any] = {
                "operation": read.text(value.get("operation")) or "read",
                "url": read.text(value.get("url")),
                "content": value.get("content") if isinstance(value.get("content"), str) else None,
            }
            step.calls.append(HostCall(call_id, "host_uri", args))

    def cancel(self, value: dict[str, Any], step: Step) -> None:
        """``host_tool_cancel``, ``host_uri_cancel``: nobody waits for it any more."""
        call_id = read.text(value.get("targetId"))
        if self._open.pop(call_id, None):
            step.dropped.append(call_id)

    def done(self, call_id: str, result: dict[str, Any] | HostFailure, step: Step) -> None:
        """It was done, or could not be: a call that fails is answered too, lest the agent waits for ever."""
        kind = self._open.pop(call_id, "")
        if kind == "host_tool":
            step.messages.append(_tool_result(call_id, result))
        elif kind == "host_uri":
            step.messages.append(_uri_result(call_id, result))

    def update(self, call_id: str, text: str, step: Step) -> None:
        """The output of a running host tool so far."""
        if self._open.get(call_id) == "host_tool":
            partial = {"content": [{"type": "text", "text": text}]}
            step.messages.append({"type": "host_tool_update", "id": call_id, "partialResult": partial})


def _tool_result(call_id: str, result: dict[str, Any] | HostFailure) -> dict[str, Any]:
    if isinstance(result, HostFailure):
        content: list[Any] = [{"type": "text", "text": result.message}]
        return {"type": "host_tool_result", "id": call_id, "result": {"content": content}, "isError": True}
    blocks = result.get("content")
    content = blocks if isinstance(blocks, list) else [{"type": "text", "text": str(result.get("text", ""))}]
    told: dict[str, Any] = {"content": content}
    if "details" in result:
        told["details"] = result["details"]
    return {"type": "host_tool_result", "id": call_id, "result": told}


def _uri_result(call_id: str, result: dict[str, Any] | HostFailure) -> dict[str, Any]:
    answer: dict[str, Any] = {"type": "host_uri_result", "id": call_id}
    if isinstance(result, HostFailure):
        return {**answer, "isError": True, "error": result.message}
    if isinstance(result.get("content"), str):
        answer["content"] = result["content"]
    for ours, theirs in (("content_type", "contentType"), ("notes", "notes"), ("immutable", "immutable")):
        if ours in result:
            answer[theirs] = result[ours]
    return answer
