"""MCP servers a session is to have, as a person gives them, and as each version of ACP wants them written.

ACP v1 and v2, session/new, ``mcpServers``: v1 writes a stdio server without a type and knows sse; v2 writes every type
and knows no sse. Starts no server: that is the agent's business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ...errors import UsageError


class McpServer(BaseModel):
    """One server: a ``command`` with ``args`` and ``env``, or a ``url`` with ``headers`` (``type`` http or sse)."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = Field(min_length=1)
    type: Literal["stdio", "http", "sse"] = "stdio"
    command: str = ""
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict, repr=False)
    url: str = Field(default="", repr=False)
    headers: dict[str, str] = Field(default_factory=dict, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _as_people_write_it(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        plain = dict(given)
        for key in ("env", "headers"):  # a list of {"name", "value"}, as on the wire, is as good as a mapping
            pairs = plain.get(key)
            if isinstance(pairs, Sequence) and not isinstance(pairs, str):
                plain[key] = {
                    p["name"]: p["value"] for p in pairs if isinstance(p, Mapping) and {"name", "value"} <= {*p}
                }
        if isinstance(plain.get("command"), Sequence) and not isinstance(plain["command"], str):
            plain["command"], *rest = plain["command"]
            plain["args"] = [*rest, *plain.get("args", [])]
        plain.setdefault("type", "http" if "url" in plain else "stdio")
        return plain

    @model_validator(mode="after")
    def _whole(self) -> McpServer:
        if self.type == "stdio" and (not self.command or self.url or self.headers):
            raise ValueError('a stdio server has "command" (and "args", "env"), no "url"')
        if self.type != "stdio" and (not self.url.startswith(("http://", "https://")) or self.command or self.args):
            raise ValueError(f'a server of type {self.type} has "url": "https://…" (and "headers"), no "command"')
        return self

    def wire(self, version: int) -> dict[str, Any]:
        """As session/new of that version takes it."""
        pairs = [{"name": k, "value": v} for k, v in (self.env if self.type == "stdio" else self.headers).items()]
        if self.type == "stdio":
            stdio = {"name": self.name, "command": self.command, "args": list(self.args), "env": pairs}
            return stdio if version == 1 else {"type": "stdio", **stdio}
        return {"type": self.type, "name": self.name, "url": self.url, "headers": pairs}


def servers(given: Any) -> list[McpServer]:
    """The servers of a list of mappings, or of a mapping from name to server (the ``mcpServers`` of other programs).

    Raises ``UsageError`` that names the server and the field.
    """
    if isinstance(given, Mapping):
        entries: list[Any] = [{"name": k, **v} if isinstance(v, Mapping) else v for k, v in given.items()]
    elif isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        entries = list(given)
    else:
        raise UsageError('mcp_servers: give a list such as [{"name": "files", "command": "mcp-files", "args": ["."]}].')
    found: list[McpServer] = []
    for number, entry in enumerate(entries, 1):
        if isinstance(entry, McpServer):
            found.append(entry)
            continue
        name = entry.get("name") if isinstance(entry, Mapping) else None
        try:
            found.append(McpServer.model_validate(entry))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            path = ".".join(str(part) for part in first["loc"])
            said = str(first["msg"]).removeprefix("Value error, ")
            raise UsageError(
                f"mcp_servers: {name or f'number {number}'}{f', {path}' if path else ''}: {said}."
            ) from None
    double = {s.name for s in found if sum(s.name == other.name for other in found) > 1}
    if double:
        raise UsageError(f"mcp_servers: {', '.join(sorted(double))} is there twice; give each a name of its own.")
    return found
