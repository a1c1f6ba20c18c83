"""What a tool call's ``rawOutput`` says to a person: its text, its exit code.

ACP leaves the shape to the agent; these are the shapes real agents send. Without any of them it is shown as JSON.
"""

from __future__ import annotations

import json
import re
from typing import Any

from . import lenient as read

# In the order of preference; the first that holds text is the output.
_TEXT = ("output", "formatted_output", "aggregated_output", "text", "content", "result", "message", "error")
_CODE = ("exit_code", "exitCode", "exit", "returncode")
_TAIL = re.compile(r"\[Exit code: (-?\d{1,5})\]\s*\Z")
_FENCED = re.compile(r"\A(`{3,})[\w+-]*\n(.*?)\n?\1\s*\Z", re.DOTALL)


def words(raw: Any) -> str:
    """The text of a raw output."""
    if isinstance(raw, str):
        return raw
    if isinstance(raw, dict):
        out, err = raw.get("stdout"), raw.get("stderr")
        if isinstance(out, str) and isinstance(err, str):
            return out + ("\n" if out and err and not out.endswith("\n") else "") + err
        for name in (*_TEXT, "stdout", "stderr"):
            if isinstance(raw.get(name), (str, list)) and (found := words(raw[name])):
                return found
    if isinstance(raw, list):
        blocks = [
            item["text"]
            for item in read.objects(raw)
            if item.get("type") == "text" and isinstance(item.get("text"), str)
        ]
        if blocks:
            return "\n".join(blocks)
    if raw is None or raw in ({}, [], ""):
        return ""
    try:
        return json.dumps(raw, ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return ""


def exit_code(raw: Any) -> int | None:
    """The exit code of a raw output, where it says one."""
    if isinstance(raw, str):
        tail = _TAIL.search(raw, max(0, len(raw) - 80))
        return int(tail[1]) if tail else None
    for holder in (read.fields(raw), read.fields(read.fields(raw).get("metadata"))):
        for name in _CODE:
            code = read.whole(holder.get(name))
            if code is not None:
                return code
    return None


def unfenced(text: str) -> str:
    """An output that is wholly one fenced block of markdown, without the fence: outputs are shown as they are."""
    if not text.startswith("```"):
        return text
    fenced = _FENCED.match(text)
    return fenced[2] if fenced and fenced[1] not in fenced[2] else text
