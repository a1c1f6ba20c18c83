"""read_file: the text of a file, or some of its lines; a picture as a picture; what else it is, in a sentence."""

from __future__ import annotations

import base64
from typing import Any

from .base import Context, Plan, Result, Tool, ToolError, number_field, schema, text_field
from .changes import FileProblem, read_bytes
from .files import locate
from .outputs import is_output
from .workspace import Workspace

LIMIT = 50_000
"""Most characters a model gets at once."""

_PICTURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")
_END = 10**9


class ReadFile(Tool):
    name = "read_file"
    category = "read"
    description = (
        f"Read a text file as it is, or with first and last (line numbers from 1) a part of it. At most {LIMIT // 1000},000"
        " characters come at once; a note at the end says how to read on. PNG, JPEG, GIF and WebP files are shown to you"
        " as pictures. path may also be an id such as output:shell-3, for a long output that was kept."
    )
    schema = schema(
        ["path"],
        path={"type": "string", "description": "relative to the workspace, or absolute"},
        first={"type": "integer", "description": "first line to read (default 1)"},
        last={"type": "integer", "description": "last line to read (default: the file's last)"},
    )

    def plan(self, input: dict[str, Any], workspace: Workspace) -> Plan:
        given = text_field(input, "path")
        first = number_field(input, "first", 1, 1, _END)
        last = number_field(input, "last", _END, 0, _END)
        if last < first:
            raise ToolError(f"'last' ({last:.0f}) comes before 'first' ({first:.0f})")
        if is_output(given):
            return Plan(input)
        path = locate(workspace, given)
        return Plan(input, "read", paths=[path], outside=[] if workspace.inside(path) else [path])

    async def run(self, plan: Plan, context: Context) -> Result:
        if not plan.paths:
            id = str(plan.input["path"])
            text = context.kept(id)
            if text is None:
                raise ToolError(f"there is no kept output {id}; run the command again if you need it")
            return Result(_part(text, plan.input))
        path = plan.paths[0]
        name = context.workspace.name(path)
        if path.resolve() != path:
            raise ToolError(f"{name} now leads somewhere else; call again")
        try:
            data = read_bytes(path, name)
        except FileProblem as problem:
            raise ToolError(str(problem)) from None
        if data is None:
            raise ToolError(f"there is no file {name}; see what there is with list_files")
        if data.startswith(_PICTURES) or (data[:4] == b"RIFF" and data[8:12] == b"WEBP"):
            return _picture(data, name)
        try:
            return Result(_part(data.decode("utf-8"), plan.input))
        except UnicodeDecodeError:
            raise ToolError(_binary(data, name)) from None


def _part(text: str, input: dict[str, Any]) -> str:
    """The lines asked for, as many as there is room for, and a note where that is not all of them."""
    text = text.removeprefix("\ufeff")
    lines = text.split("\n")
    count = len(lines) - (lines[-1] == "")
    first = int(number_field(input, "first", 1, 1, _END))
    last = min(int(number_field(input, "last", _END, 0, _END)), count)
    if first > count:
        return f"[it has {count} lines]" if count or first > 1 else ""
    out, size, at = [], 0, first
    while at <= last:
        line = lines[at - 1] + ("\n" if at < len(lines) else "")
        if size + len(line) > LIMIT:
            break
        out.append(line)
        size += len(line)
        at += 1
    if at <= last and not out:  # one line alone is too long
        line = lines[at - 1]
        out.append(
            f"{line[:LIMIT]}\n[line {at} is cut here: it has {len(line)} characters; search it, or use a command]\n"
        )
        at += 1
    if at > last:
        return "".join(out)
    end = "" if out[-1].endswith("\n") else "\n"
    return "".join(out) + f"{end}[cut: these are lines {first} to {at - 1} of {count}; read on with first={at}]"


def _picture(data: bytes, name: str) -> Result:
    from ..images import NotAnImage, picture

    try:
        shown = picture(base64.b64encode(data).decode("ascii"))
    except NotAnImage:
        raise ToolError(f"{name} begins like a picture, but cannot be read as one") from None
    size = f", {shown.width} × {shown.height}" if shown.width else ""
    return Result(f"[{name}: a picture, {shown.mime}{size}]", images=[shown])


def _binary(data: bytes, name: str) -> str:
    text = data[:16].hex(" ")
    kind = "UTF-16 text" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "binary, or text in another encoding"
    return f"{name} is not UTF-8 text but {kind} ({len(data)} bytes, beginning {text}); look at it with a command"
