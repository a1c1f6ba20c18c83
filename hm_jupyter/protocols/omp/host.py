"""Host tools and host URIs (omp): functions and documents of the notebook's, offered to the agent.

``set_host_tools`` and ``set_host_uri_schemes`` (by ``CallAgent``) offer them; a call of the agent's becomes a
:class:`~hm_jupyter.protocols.base.HostCall`: ``tool``, ``uri_read`` or ``uri_write``.
"""

from __future__ import annotations

from typing import Any

from ..base import HostCall, HostFailure, Step
from . import read


class Host:
    """The agent's calls that wait for the notebook."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}  # id -> the host call it became

    def tool(self, value: dict[str, Any], step: Step) -> None:
        """``host_tool_call``."""
        call_id = read.text(value.get("id"))
        if call_id:
            self._open[call_id] = "tool"
            args = {
                "name": read.text(value.get("toolName")),
                "arguments": read.fields(value.get("arguments")),
                "call_id": read.text(value.get("toolCallId")),
            }
            step.calls.append(HostCall(call_id, "tool", args))

    def uri(self, value: dict[str, Any], step: Step) -> None:
        """``host_uri_request``. What is neither a read nor a write is refused."""
        call_id, operation = read.text(value.get("id")), value.get("operation")
        if not call_id:
            return
        args = {"url": read.text(value.get("url"))}
        if operation == "write":
            args |= {"content": read.text(value.get("content")), "call_id": ""}
        elif operation != "read":
            step.messages.append(_uri_result(call_id, HostFailure("invalid", "Only read and write are known here.")))
            return
        self._open[call_id] = f"uri_{operation}"
        step.calls.append(HostCall(call_id, f"uri_{operation}", args))

    def cancel(self, value: dict[str, Any], step: Step) -> None:
        """``host_tool_cancel``, ``host_uri_cancel``: nobody waits for it any more."""
        call_id = read.text(value.get("targetId"))
        if self._open.pop(call_id, None):
            step.dropped.append(call_id)

    def done(self, call_id: str, result: dict[str, Any] | HostFailure, step: Step) -> None:
        """It was done, or could not be: a call that fails is answered too, lest the agent waits for ever."""
        kind = self._open.pop(call_id, "")
        if kind == "tool":
            step.messages.append(_tool_result(call_id, result))
        elif kind:
            step.messages.append(_uri_result(call_id, result))

    def update(self, call_id: str, text: str, step: Step) -> None:
        """The output of a running host tool so far."""
        if self._open.get(call_id) == "tool":
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
