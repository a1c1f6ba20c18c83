"""An ACP agent for tests, v1 and v2, over stdio: ``python acp_agent.py [--v1|--v2|--dual] [--draft old] [options]``.

It does what its prompt says (see ``acp_scenes`` and those beside it): ``think; ask; stream 20``. What it says stands in ``acp_voice``, how a
turn goes in ``acp_turn``, what it remembers in ``acp_sessions``. Standard library only, no event loop: one thread reads,
one per session works, so that it starts in a blink and each scene reads from top to bottom. A server may instead make an
:class:`Agent` per connection, with one :class:`Store` for all, and hand it what it receives.

With ``HM_TEST_LOG`` set, each message it receives is written there with the time it arrived.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import acp_scenes_calls  # noqa: F401 (it adds its scenes)
import acp_scenes_odd  # noqa: F401
from acp_options import parser
from acp_peer import Json, Peer, Refused
from acp_scenes import play
from acp_sessions import Session, Store
from acp_turn import Turn
from acp_voice import MODELS, MODES, V1, V2

NAME = {"name": "scripted", "title": "Scripted agent", "version": "1.0"}
COMMANDS = ["say", "stream", "plan"]


class Agent:
    """One connection's side of the agent."""

    def __init__(self, args: argparse.Namespace, write: Callable[[Json], None], store: Store | None = None) -> None:
        self.args = args
        self.peer = Peer(write)
        self.store = store or Store(args.store and Path(args.store))
        self.voice: V1 = self._voice(args.speaks[-1])
        self.client: Json = {}
        self.stops: dict[str, threading.Event] = {}
        self._after: list[Callable[[], None]] = []
        self.signed_in = not args.auth or bool(self._mark and self._mark.exists())
        self._methods: dict[str, Callable[[Json], Any]] = {
            "initialize": self.initialize,
            "authenticate": self.sign_in, "auth/login": self.sign_in, "logout": self.sign_out, "auth/logout": self.sign_out,
            "session/new": self.new, "session/load": self.load, "session/resume": self.resume, "session/fork": self.fork,
            "session/list": self.list, "session/close": self.close, "session/delete": self.delete,
            "session/set_mode": self.set_mode, "session/set_model": self.set_model,
            "session/set_config_option": self.set_option,
            "tool_call/cancel": self.cancel_call,
        }  # fmt: skip

    @property
    def _mark(self) -> Path | None:
        return self.store.folder / "signed-in" if self.store.folder else None

    def _voice(self, version: int) -> V1:
        if version == 2:
            return V2(self.args.draft == "old")
        voice = V1()
        voice.ids = self.args.ids
        return voice

    def raw(self, line: str, end: str = "\n") -> None:
        """Something on stdout that is no message."""
        sys.stdout.write(line + end)
        sys.stdout.flush()

    # ---- what comes in ---------------------------------------------------------------------------------------------

    def receive(self, value: Any) -> None:
        """One message of the client's."""
        if not isinstance(value, dict):
            self.peer.refuse(None, Refused(-32600, "Invalid request"))
        elif "method" not in value:
            self.peer.settle(value)
        elif "id" not in value:
            if value["method"] == "session/cancel":
                self.cancel(value.get("params") or {})
        elif value["method"] == "session/prompt":
            self._guarded(value, lambda: self.prompt(value["id"], value.get("params") or {}), answered=True)
        else:
            method = self._methods.get(value["method"])
            if method is None or value["method"] not in self._known():
                self.peer.refuse(value["id"], Refused(-32601, "Method not found", {"method": value["method"]}))
            else:
                self._guarded(value, lambda: method(value.get("params") or {}))

    def _known(self) -> set[str]:
        """The methods of the version that is spoken."""
        both = {"initialize", "session/new", "session/resume", "session/list", "session/close", "session/delete",
                "session/fork", "session/set_config_option"}  # fmt: skip
        if self.voice.version == 2:
            return both | {"auth/login", "auth/logout", "tool_call/cancel"}
        return both | {"authenticate", "logout", "session/load", "session/set_mode", "session/set_model"}

    def _guarded(self, value: Json, call: Callable[[], Any], answered: bool = False) -> None:
        try:
            result = call()
        except Refused as error:
            self.peer.refuse(value["id"], error)
        except (KeyError, TypeError, ValueError) as error:
            self.peer.refuse(value["id"], Refused(-32602, "Invalid params", {"details": repr(error)}))
        else:
            if not answered:
                self.peer.answer(value["id"], result)
        while self._after:
            self._after.pop(0)()

    # ---- the connection --------------------------------------------------------------------------------------------

    def initialize(self, params: Json) -> Json:
        """Which version, and what we can do."""
        asked = params["protocolVersion"]
        if not isinstance(asked, int):
            raise Refused(-32602, "Invalid params", {"details": "protocolVersion must be a number"})
        speaks = self.args.speaks
        if asked < speaks[0] and not self.args.any_version:
            data = {"requested": asked, "supported": list(speaks)}
            raise Refused(-32022, "Unsupported protocol version", data)
        version = max((v for v in speaks if v <= asked), default=speaks[0])
        self.voice = self._voice(version)
        said = asked if self.args.any_version else version
        if version == 2:
            if "info" not in params:
                raise Refused(-32602, "Invalid params", {"details": "info is required"})
            self.client = params.get("capabilities") or {}
            session: Json = {"prompt": {"image": {}, "audio": {}, "embeddedContext": {}}, "mcp": {"stdio": {}, "http": {}},
                             "delete": {}, "additionalDirectories": {}, "fork": {}}  # fmt: skip
            can: Json = {"session": {} if self.args.plain else session}
            return {"protocolVersion": said, "info": NAME, "capabilities": can, "authMethods": self._auth("methodId")}
        self.client = params.get("clientCapabilities") or {}
        if self.args.plain:
            return {"protocolVersion": said}
        blocks = {"image": True, "audio": True, "embeddedContext": True}
        sessions: Json = {"list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {}, "additionalDirectories": {}}
        can = {"loadSession": True, "promptCapabilities": blocks, "mcpCapabilities": {"http": True, "sse": True},
               "sessionCapabilities": sessions, "auth": {"logout": {}}}  # fmt: skip
        return {"protocolVersion": said, "agentInfo": NAME, "agentCapabilities": can, "authMethods": self._auth("id")}

    def client_can(self, *path: str) -> bool:
        """Does the client offer that?"""
        found: Any = self.client
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        return found is not None and found is not False

    def _auth(self, key: str) -> list[Json]:
        if not self.args.auth:
            return []
        kind: Json = {"type": "agent"} if self.voice.version == 2 else {}
        methods: list[Json] = [{**kind, key: "token", "name": "Token", "description": "Signs in by itself"}]
        if self.client_can("auth", "terminal"):
            methods.append({"type": "terminal", key: "login", "name": "Sign in by hand", "args": ["--login"]})
        return methods

    def sign_in(self, params: Json) -> Json:
        """authenticate, auth/login."""
        if params["methodId"] != "token":
            raise Refused(-32602, "Invalid params", {"details": "no such method"})
        self.signed_in = True
        return {}

    def sign_out(self, params: Json) -> Json:
        """logout, auth/logout."""
        self.signed_in = False
        return {}

    # ---- sessions --------------------------------------------------------------------------------------------------

    def new(self, params: Json) -> Json:
        """session/new."""
        self._may()
        if self.voice.version == 1 and not isinstance(params["mcpServers"], list):
            raise Refused(-32602, "Invalid params", {"details": "mcpServers is required"})
        return self._opened(self.store.new(_cwd(params)), True)

    def load(self, params: Json) -> Json | None:
        """session/load: the whole history first."""
        session = self._found(params)
        if session is None:
            return None
        with session.telling:
            session.peer, before = self.peer, session.peer
            session.replay(self.voice, self.args.replay)
            session.ask_again(before)
            return self._opened(session, False)

    def resume(self, params: Json) -> Json | None:
        """session/resume: in v2 with the history, where that is asked for."""
        session = self._found(params)
        if session is None:
            return None
        start = params.get("replayFrom")
        if start is not None and (self.voice.version != 2 or start.get("type") != "start"):
            raise Refused(-32602, "Invalid params", {"details": "replayFrom"})
        with session.telling:
            session.peer, before = self.peer, session.peer
            if start is not None:
                session.replay(self.voice, self.args.replay)
            session.ask_again(before)
            if isinstance(self.voice, V2):
                if session.turn is None:
                    session.tell(self.voice.state("idle", stopReason="end_turn"))
                else:
                    session.tell(self.voice.state("requires_action" if session.open else "running"))
            return self._opened(session, False)

    def fork(self, params: Json) -> Json:
        """session/fork."""
        known = self._session(params)
        copy = json.loads(json.dumps(known.items))
        return self._opened(self.store.new(_cwd(params), copy), True)

    def list(self, params: Json) -> Json:
        """session/list, in pages."""
        self._may()
        cwd = params.get("cwd")
        found = [s for s in self.store.list() if cwd is None or s.cwd == cwd]
        start = int(params.get("cursor") or 0)
        page = found[start : start + self.args.page]
        when = "2026-01-02T03:04:05Z"
        listed = [{"sessionId": s.id, "cwd": s.cwd, "title": s.title or None, "updatedAt": when} for s in page]
        more = {"nextCursor": str(start + self.args.page)} if start + self.args.page < len(found) else {}
        return {"sessions": listed, **more}

    def close(self, params: Json) -> Json:
        """session/close."""
        self._session(params)
        self.cancel(params)
        self.store.close(params["sessionId"])
        return {}

    def delete(self, params: Json) -> Json:
        """session/delete."""
        self._may()
        self.cancel(params)
        self.store.delete(params["sessionId"])
        return {}

    def _may(self) -> None:
        if not self.signed_in:
            raise Refused(-32000, "Authentication required")

    def _session(self, params: Json) -> Session:
        self._may()
        session = self.store.find(params["sessionId"])
        if session is None:
            raise Refused(-32002, "Resource not found", {"sessionId": params["sessionId"]})
        return session

    def _found(self, params: Json) -> Session | None:
        _cwd(params)
        try:
            return self._session(params)
        except Refused as error:
            if self.args.any and error.code == -32002:
                return None
            raise

    def _opened(self, session: Session, new: bool) -> Json:
        session.peer = self.peer
        session.settings["booleans"] = self.voice.version == 2 or self.client_can("session", "configOptions", "boolean")
        listed = [] if self.args.plain else self.voice.commands(COMMANDS)
        update = {"sessionUpdate": "available_commands_update", "availableCommands": listed}
        if listed and (self.args.early or not new):
            session.tell(update)
        elif listed:
            self._after.append(lambda: session.tell(update))
        found: Json = {"sessionId": session.id} if new else {}
        if self.args.plain:
            return found
        if self.voice.version == 1:
            now = session.settings
            modes = [{"id": i, "name": name} for i, name in MODES.items()]
            found["modes"] = {"currentModeId": now["mode"], "availableModes": modes}
            if self.args.legacy:
                models = [{"modelId": i, "name": name} for i, name in MODELS.items()]
                found["models"] = {"currentModelId": now["model"], "availableModels": models}
                return found
        elif isinstance(self.voice, V2) and not self.voice.old:
            found["availableCommands"] = listed
        return {**found, "configOptions": self.voice.options(session.settings)}

    # ---- settings --------------------------------------------------------------------------------------------------

    def set_mode(self, params: Json) -> Json:
        """session/set_mode."""
        self.change(self._session(params), "mode", params["modeId"])
        return {}

    def set_model(self, params: Json) -> Json:
        """session/set_model, which v1 once had."""
        self.change(self._session(params), "model", params["modelId"])
        return {}

    def set_option(self, params: Json) -> Json:
        """session/set_config_option."""
        session = self._session(params)
        if self.voice.version == 2 and params["type"] not in ("id", "boolean"):
            raise Refused(-32602, "Invalid params", {"details": "type"})
        self.change(session, params["configId"], params["value"], tell=False)
        return {"configOptions": self.voice.options(session.settings)}

    def change(self, session: Session, name: str, value: Any, tell: bool = True) -> None:
        """A setting changes; ``tell``: the client is told."""
        allowed: Json = {"mode": MODES, "model": MODELS, "effort": ("low", "high"), "web": (True, False)}
        if name not in allowed or value not in allowed[name] or (name == "web") != isinstance(value, bool):
            raise Refused(-32602, "Invalid params", {"details": f"{name} cannot be {value!r}"})
        session.settings[name] = value
        self.store.save(session)
        if tell and name == "mode" and self.voice.version == 1:
            session.tell({"sessionUpdate": "current_mode_update", "currentModeId": value})
        if tell and not self.args.legacy:
            options = self.voice.options(session.settings)
            session.tell({"sessionUpdate": "config_option_update", "configOptions": options})

    # ---- turns -----------------------------------------------------------------------------------------------------

    def prompt(self, rpc_id: Any, params: Json) -> None:
        """session/prompt: at once, or after what runs."""
        session = self._session(params)
        blocks = params["prompt"]
        if not isinstance(blocks, list) or not blocks:
            raise Refused(-32602, "Invalid params", {"details": "prompt is empty"})
        session.peer = self.peer
        turn = Turn(self, session, rpc_id, blocks, self.peer)
        with session.lock:
            if session.turn is not None:
                if self.args.busy == "error":
                    raise Refused(-32603, "Internal error", {"details": "A turn is already running"})
                session.queue.append(turn)
                if self.args.busy == "cancel":
                    session.turn.cancel()
                return
            session.turn = turn
            if session.sticky_cancel:
                session.sticky_cancel = False
                turn.cancelled.set()
        threading.Thread(target=self._work, args=(session, turn), daemon=True).start()

    def _work(self, session: Session, turn: Turn) -> None:
        while True:
            turn.run(self._play)
            with session.lock:
                if session.turn is not None or not session.queue:
                    return
                turn = session.turn = session.queue.pop(0)

    def _play(self, turn: Turn) -> None:
        if self.args.scenario:
            turn.script = self.args.scenario
        play(turn)

    def cancel(self, params: Json) -> None:
        """session/cancel: the turn that runs, and those that wait."""
        session = self.store.sessions.get(params.get("sessionId", ""))
        if session is None:
            return
        with session.lock:
            waiting, session.queue = session.queue, []
            running = session.turn
            if running is None and self.args.sticky:
                session.sticky_cancel = True
        for turn in waiting:
            turn.drop()
        if running is not None:
            running.cancel()

    def cancel_call(self, params: Json) -> Json:
        """tool_call/cancel."""
        stop = self.stops.get(params["toolCallId"])
        if stop is None:
            raise Refused(-32602, "Invalid params", {"details": "no such call runs"})
        stop.set()
        return {}


def _cwd(params: Json) -> str:
    cwd = str(params["cwd"])
    if not os.path.isabs(cwd):
        raise Refused(-32602, "Invalid params", {"details": "cwd must be absolute"})
    return cwd


def main() -> int:
    """Speak with whoever started us, until they have nothing more to say."""
    args = parser().parse_args()
    lock = threading.Lock()
    log = open(os.environ["HM_TEST_LOG"], "a", buffering=1) if os.environ.get("HM_TEST_LOG") else None  # noqa: SIM115

    def write(value: Json) -> None:
        line = json.dumps(value, ensure_ascii=False) + "\n"
        with lock:
            try:
                sys.stdout.buffer.write(line.encode())
                sys.stdout.buffer.flush()
            except (OSError, ValueError):  # nobody reads any more; the end of the input follows
                pass

    agent = Agent(args, write)
    if args.login:
        if agent._mark:
            agent._mark.touch()
        print("Signed in.")
        return 0
    if args.noise:
        agent.raw("Welcome to the agent! Migrating the database …")
    for line in sys.stdin.buffer:
        if log:
            log.write(json.dumps({"at": time.time(), "message": json.loads(line)}) + "\n")
        try:
            value = json.loads(line)
        except ValueError:
            agent.peer.refuse(None, Refused(-32700, "Parse error"))
            continue
        agent.receive(value)
    while args.stubborn:
        time.sleep(1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
