"""``initialize``: which version of ACP both sides speak, and what the agent can do.

One request carries the fields of both versions (reference, section 2): an agent of v1 finds its own and ignores the rest.
What counts is the answer, by its number *and* its shape: some agents echo whatever number they are sent, with a v1 answer.

Why ``auto`` asks for 2 and does not ask again when 1 is answered: every agent measured reads the v1 fields of the merged
request; only a version router in front of a v1 agent drops them, which costs the agent our files and terminals and nothing
else, and cannot be seen in the answer. A second initialize on an open connection may be refused or end it, and nobody
here can start a process again. So it is sent only where the first one failed (then nothing is open yet), or where the agent is
known to lose fields (quirk ``reinitialize``). ``version=1`` asks with v1 fields alone from the start.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ...events import AuthMethod, Capabilities
from ..jsonrpc import RpcError

Version = Literal["auto", 1, 2]
Kind = Literal["agent", "terminal", "other"]
UNSUPPORTED_VERSION = -32022  # ACP v2, initialize


@dataclass(frozen=True)
class Offer:
    """What we tell the agent about ourselves. ``host``: files and terminals of ours are offered (v1 only); ``fs_read`` false
    leaves out the reading of files, for agents that do it better themselves."""

    name: str = "hm_jupyter"
    release: str = "0"
    host: bool = False
    fs_read: bool = True

    def params(self, protocol: Version) -> dict[str, Any]:
        """The params of ``initialize``: of one version alone, or of both for ``auto``."""
        client = {"name": self.name, "title": "hm for Jupyter", "version": self.release}
        asked: dict[str, Any] = {"protocolVersion": 1 if protocol == 1 else 2}
        if protocol != 2:
            asked["clientInfo"] = client
            asked["clientCapabilities"] = {
                "fs": {"readTextFile": self.host and self.fs_read, "writeTextFile": self.host},
                "terminal": self.host,
                "session": {"configOptions": {"boolean": {}}, "compaction": {}, "notices": {}},
                "auth": {"terminal": True},
                "elicitation": {"form": {}, "url": {}},
                "plan": {},
                "subagents": {},
            }
        if protocol != 1:
            asked["info"] = client
            asked["capabilities"] = {"auth": {"terminal": {}}, "elicitation": {"form": {}, "url": {}}, "subagents": {}}
        return asked


@dataclass
class Agent:
    """What an agent said of itself in its answer to ``initialize``, the same for both versions."""

    version: int = 1
    name: str = ""
    release: str = ""
    auth: list[AuthMethod] = field(default_factory=list)
    load: bool = False
    resume: bool = False
    listing: bool = False
    close: bool = False
    delete: bool = False
    fork: bool = False
    folders: bool = False  # additionalDirectories may be sent
    logout: bool = False
    image: bool = False
    audio: bool = False
    embedded: bool = False
    mcp: frozenset[str] = frozenset({"stdio"})

    def capabilities(self) -> Capabilities:
        """What the front-ends may offer. Modes and options are added when the session tells which there are."""
        return Capabilities(
            steer=True,
            follow_up=True,
            steer_delivery="next_prompt",
            deny_note="next_message",
            for_session=True,
            images=self.image,
            audio=self.audio,
            resources=self.embedded,
            list_sessions=self.listing,
            fork=self.fork,
            resume=self.load or self.resume,
            close_session=self.close,
            delete_session=self.delete,
            sign_in=bool(self.auth),
            sign_out=self.logout,
            cancel_work=self.version == 2,
            raw_calls=True,
        )


@dataclass(frozen=True)
class Refused:
    """No version in common, or no answer that means anything; ``reason`` is a sentence for people."""

    reason: str


@dataclass(frozen=True)
class Again:
    """Ask once more, as ``protocol``."""

    protocol: Version


def judge(protocol: Version, result: Any, error: RpcError | None, *, last: bool) -> Agent | Again | Refused:
    """What the answer to an initialize of ``protocol`` means. ``last``: it is not to be asked again."""
    if error is not None:
        return _failed(protocol, error, last)
    if not isinstance(result, dict):
        return Refused("it answered initialize with nothing we can read. Is this an ACP agent?")
    told = _number(result.get("protocolVersion"))
    modern = isinstance(result.get("info"), dict) or isinstance(result.get("capabilities"), dict)
    if "agentCapabilities" in result or "agentInfo" in result:
        modern = False
    wanted = 1 if protocol == 1 else 2
    if told is not None and told not in (1, 2):
        number = str(result.get("protocolVersion"))[:20]
        return Refused(f"it speaks version {number} of ACP, and we speak 1 and 2. Update it, or hm_jupyter.")
    version = 2 if modern and told != 1 and wanted == 2 else 1
    if modern and told == 2 and wanted == 1:
        return Refused('it speaks version 2 of ACP only, and version 1 was asked for. Leave the version at "auto".')
    if protocol == 2 and version != 2:
        return Refused('it speaks version 1 of ACP only, and version 2 was asked for. Leave the version at "auto".')
    return read_agent(version, result)


def _failed(protocol: Version, error: RpcError, last: bool) -> Again | Refused:
    if protocol == "auto" and not last:
        supported = _supported(error)
        if supported is None or 1 in supported:
            return Again(1)
        if 2 in supported:
            return Again(2)
    if error.code == UNSUPPORTED_VERSION:
        theirs = _supported(error)
        which = f" (it speaks {', '.join(map(str, theirs))})" if theirs else ""
        return Refused(f"it speaks no version of ACP that was asked for{which}: {error.text}.")
    return Refused(f"it could not initialize: {error.text} (code {error.code}). Its own configuration may be at fault.")


def _supported(error: RpcError) -> list[int] | None:
    """The versions an agent names when it refuses ours (ACP v2, -32022); None where it names none."""
    data = error.data if isinstance(error.data, dict) else {}
    named = data.get("supported")
    return [v for v in named if isinstance(v, int)] if isinstance(named, list) else None


def _number(value: Any) -> int | None:
    """A version as an integer; agents have been seen to write it as a text. None: there is none; -1: no version at all."""
    if value is None:
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 6:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else -1


# ---- the answer ----------------------------------------------------------------------------------------------------


def read_agent(version: int, result: dict[str, Any]) -> Agent:
    """An answer to ``initialize``, of either version. What is malformed counts as absent."""
    told = _dict(result, "info" if version == 2 else "agentInfo")
    found = Agent(
        version,
        name=_text(told.get("title")) or _text(told.get("name")),
        release=_text(told.get("version")),
        auth=auth_methods(result.get("authMethods")),
    )
    if version == 2:
        _read_v2(found, _dict(result, "capabilities"))
    else:
        _read_v1(found, _dict(result, "agentCapabilities"))
    return found


def _read_v1(found: Agent, can: dict[str, Any]) -> None:
    prompt, session, mcp = (
        _dict(can, "promptCapabilities"),
        _dict(can, "sessionCapabilities"),
        _dict(can, "mcpCapabilities"),
    )
    found.load = _yes(can.get("loadSession"))
    found.image, found.audio, found.embedded = (_yes(prompt.get(n)) for n in ("image", "audio", "embeddedContext"))
    found.listing, found.resume = _yes(session.get("list")), _yes(session.get("resume"))
    found.close, found.delete, found.fork = (_yes(session.get(n)) for n in ("close", "delete", "fork"))
    found.folders = _yes(session.get("additionalDirectories"))
    found.logout = _yes(_dict(can, "auth").get("logout"))
    found.mcp = frozenset({"stdio", *(n for n in ("http", "sse", "acp") if _yes(mcp.get(n)))})


def _read_v2(found: Agent, can: dict[str, Any]) -> None:
    """With ``session`` present, list, resume and close are mandatory (ACP v2, initialize)."""
    session = can.get("session")
    if isinstance(session, dict):
        prompt, mcp = _dict(session, "prompt"), _dict(session, "mcp")
        found.listing = found.resume = found.close = True
        found.image, found.audio, found.embedded = (_yes(prompt.get(n)) for n in ("image", "audio", "embeddedContext"))
        found.delete, found.fork = _yes(session.get("delete")), _yes(session.get("fork"))
        found.folders = _yes(session.get("additionalDirectories"))
        found.mcp = frozenset(n for n in ("stdio", "http", "acp") if _yes(mcp.get(n)))
    else:
        found.mcp = frozenset()
    found.logout = bool(found.auth)


def auth_methods(value: Any) -> list[AuthMethod]:
    """The ways to sign in, of either version. An unknown type is shown and never called (reference, section 3)."""
    found = []
    for one in value if isinstance(value, list) else ():
        if not isinstance(one, dict):
            continue
        method = _text(one.get("methodId")) or _text(one.get("id"))
        if not method:
            continue
        told = one.get("type", _dict(one, "_meta").get("type"))
        kind: Kind = "agent" if told in (None, "agent") else "terminal" if told == "terminal" else "other"
        args = one.get("args")
        if args is None and kind == "terminal" and "type" not in one:
            args = _dict(one, "_meta").get("args")
        found.append(
            AuthMethod(
                method,
                _text(one.get("name")) or method,
                _text(one.get("description")),
                kind,
                [a for a in args if isinstance(a, str)] if isinstance(args, list) else [],
                _environment(one.get("env")),
            )
        )
    return found


def _environment(value: Any) -> dict[str, str]:
    """Environment variables: a mapping in v1, a list of name and value in v2."""
    if isinstance(value, list):
        pairs = [(p.get("name"), p.get("value")) for p in value if isinstance(p, dict)]
    else:
        pairs = list(value.items()) if isinstance(value, dict) else []
    return {k: v for k, v in pairs if isinstance(k, str) and isinstance(v, str)}


def _yes(value: Any) -> bool:
    """Is a capability there? v1 mixes booleans and objects, v2 has objects only; agents mix them too."""
    return value is True or isinstance(value, dict)


def _dict(value: dict[str, Any], name: str) -> dict[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
