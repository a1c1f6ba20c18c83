"""The sessions of the scripted ACP agent: what was said in them, kept in a folder so that a new process can load it.

What was said is remembered as items, independent of the version it was told in: ``{"role", "id", "blocks"}``,
``{"call", "fields"}``, ``{"terminal", …}``, ``{"plan"}``. A session outlives its connection: whoever loads it has what
is still open asked again.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from acp_peer import Json, Peer, Waiting
from acp_voice import V1, V2, text

if TYPE_CHECKING:
    from acp_turn import Turn


class Session:
    """One conversation."""

    def __init__(self, session_id: str, cwd: str, items: list[Json] | None = None, title: str = "") -> None:
        self.id = session_id
        self.cwd = cwd
        self.title = title
        self.items = items if items is not None else []
        self.settings: Json = {"mode": "ask", "model": "small", "effort": "low", "web": False}
        self.peer: Peer | None = None
        self.turn: Turn | None = None
        self.queue: list[Turn] = []
        self.open: dict[Waiting, tuple[str, Json]] = {}
        self.lock = threading.Lock()
        self.telling = (
            threading.RLock()
        )  # what is remembered and what is told are one: a replay comes between two of them
        self.sticky_cancel = False

    def tell(self, update: Json, child: str = "") -> None:
        """One session/update, to whoever holds the session now."""
        if self.peer is not None:
            self.peer.notify("session/update", {"sessionId": child or self.id, "update": update})

    def ask(self, method: str, params: Json) -> Waiting:
        """A request to whoever holds the session now."""
        assert self.peer is not None
        waiting = Waiting()
        params = {"sessionId": self.id, **params}
        self.open[waiting] = (method, params)
        return self.peer.ask(method, params, waiting)

    def ask_again(self, before: Peer | None) -> None:
        """The session is spoken to over another connection than ``before``: what is open is asked there again."""
        if self.peer is not None and self.peer is not before:
            for waiting, (method, params) in list(self.open.items()):
                if not waiting.done:
                    self.peer.ask(method, params, waiting)

    # ---- what was said ---------------------------------------------------------------------------------------------

    def fresh(self, prefix: str) -> str:
        """An id that nothing in this session has."""
        return f"{prefix}{len(self.items)}-{os.urandom(3).hex()}"

    def remember(self, role: str, message_id: str, blocks: list[Json]) -> None:
        """Blocks of a message; text right after text is one."""
        item = next((i for i in reversed(self.items) if i.get("role") == role and i["id"] == message_id), None)
        if item is None:
            item = {"role": role, "id": message_id, "blocks": []}
            self.items.append(item)
        for block in blocks:
            last = item["blocks"][-1] if item["blocks"] else None
            if last and last["type"] == block["type"] == "text":
                last["text"] += block["text"]
            else:
                item["blocks"].append(dict(block))

    def remember_call(self, call_id: str, fields: Json) -> None:
        """News of a tool call."""
        item = next((i for i in self.items if i.get("call") == call_id), None)
        if item is None:
            item = {"call": call_id, "fields": {}}
            self.items.append(item)
        item["fields"].update(fields)

    def replay(self, voice: V1, how: str) -> None:
        """Say all of it again. ``how``: see :data:`REPLAYS`."""
        items = json.loads(json.dumps(self.items))  # as they are now: what is told goes out later
        for item in [] if how == "empty" else items:
            if "role" in item:
                message_id = os.urandom(8).hex() if how == "renumbered" else item["id"]
                blocks = _rewritten(item["blocks"]) if how == "rewritten" and item["role"] == "user" else item["blocks"]
                if how == "chunks":
                    for block in _cut(blocks):
                        self.tell(voice.chunk(item["role"], message_id, block))
                elif not (how == "lossy" and item["role"] == "thought"):
                    for update in voice.whole(item["role"], message_id, blocks):
                        self.tell(update)
            elif how == "lossy":
                continue
            elif "call" in item:
                self.tell(voice.call(item["call"], item["fields"]))
            elif "terminal" in item and isinstance(voice, V2):
                self.tell(voice.terminal(item["terminal"], **item["fields"]))
            elif "plan" in item:
                self.tell(voice.plan(item["plan"]))


REPLAYS = {
    "whole": "each message in one piece, with its id",
    "chunks": "cut anew",
    "renumbered": "with new message ids",
    "lossy": "without tool calls, plans and thoughts",
    "rewritten": "the person's resources rewritten as text",
    "empty": "nothing at all",
}


def _cut(blocks: list[Json]) -> list[Json]:
    """The same blocks, their text in pieces."""
    found: list[Json] = []
    for block in blocks:
        said = block.get("text", "") if block["type"] == "text" else ""
        if not said:
            found.append(block)
        while said:
            n = 1 + len(said) % 37
            found.append(text(said[:n]))
            said = said[n:]
    return found


def _rewritten(blocks: list[Json]) -> list[Json]:
    found: list[Json] = []
    for block in blocks:
        uri = block.get("uri") or (block.get("resource") or {}).get("uri")
        if uri is None:
            found.append(block)
            continue
        found.append(text(f"[@{uri.rsplit('/', 1)[-1]}]({uri})"))
        if "resource" in block:
            found.append(text(f'\n<context ref="{uri}">\n{block["resource"].get("text", "")}\n</context>'))
    return found


class Store:
    """All sessions: the open ones, and those saved in ``folder`` (None: none are saved)."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self.sessions: dict[str, Session] = {}
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def new(self, cwd: str, items: list[Json] | None = None) -> Session:
        """A session that did not exist."""
        session = Session(f"s-{os.urandom(4).hex()}", cwd, items)
        self.sessions[session.id] = session
        self.save(session)
        return session

    def find(self, session_id: str) -> Session | None:
        """An open session or a saved one."""
        session = self.sessions.get(session_id)
        if session is None and self.folder is not None and (path := self._path(session_id)).is_file():
            saved = json.loads(path.read_text())
            session = Session(session_id, saved["cwd"], saved["items"], saved["title"])
            session.settings.update(saved["settings"])
            self.sessions[session_id] = session
        return session

    def save(self, session: Session) -> None:
        """Write it down."""
        if self.folder is None:
            return
        saved = {"cwd": session.cwd, "title": session.title, "items": session.items, "settings": session.settings}
        path = self._path(session.id)
        path.with_suffix(".new").write_text(json.dumps(saved))
        path.with_suffix(".new").replace(path)

    def close(self, session_id: str) -> None:
        """Forget it; what is saved stays."""
        self.sessions.pop(session_id, None)

    def delete(self, session_id: str) -> None:
        """Forget it for good."""
        self.close(session_id)
        if self.folder is not None:
            self._path(session_id).unlink(missing_ok=True)

    def list(self) -> list[Session]:
        """All there are, by id."""
        ids = set(self.sessions)
        if self.folder is not None:
            ids |= {path.stem for path in self.folder.glob("s-*.json")}
        return [session for i in sorted(ids) if (session := self.find(i)) is not None]

    def _path(self, session_id: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{''.join(c for c in session_id if c.isalnum() or c == '-')}.json"
