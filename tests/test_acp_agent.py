"""The scripted ACP agent is an agent as the schemas want it, and does what it is told."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HELPERS = Path(__file__).parent / "helpers"
SCHEMAS = Path(__file__).parents[2] / "shared" / "acp" / "schema" / "sdk-2.4.0"

Json = dict[str, Any]


class Client:
    """A client for these tests: blocking, and it keeps all it received."""

    def __init__(self, *args: str, version: int = 1, **env: str) -> None:
        self.version = version
        program = [sys.executable, str(HELPERS / "acp_agent.py"), *args]
        self.process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.received: list[Json] = []
        self.noise: list[str] = []
        self.results: list[tuple[str, Any]] = []
        self._sent: dict[int, str] = {}
        self.session = ""

    def send(self, value: Json) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **value}).encode() + b"\n")
        self.process.stdin.flush()

    def read(self) -> Json:
        assert self.process.stdout is not None
        while True:
            line = self.process.stdout.readline()
            assert line, "the agent ended"
            try:
                value = json.loads(line[line.find(b'{"jsonrpc') :] if b'{"jsonrpc' in line else line)
            except ValueError:
                value = None
            if isinstance(value, dict):
                self.received.append(value)
                return value
            self.noise.append(line.decode())

    def start(self, method: str, **params: Any) -> int:
        rpc_id = len(self._sent) + 100
        self._sent[rpc_id] = method
        self.send({"id": rpc_id, "method": method, "params": params})
        return rpc_id

    def until(self, found: Callable[[Json], bool], reply: Callable[[Json], Any] | None = None) -> Json:
        """Read to the message that fits; requests of the agent are answered by ``reply``."""
        while True:
            value = self.read()
            if "result" in value and value.get("id") in self._sent:
                self.results.append((self._sent[value["id"]], value["result"]))
            if found(value):
                return value
            if "method" in value and "id" in value and reply is not None:
                said = reply(value)
                self.send(
                    {"id": value["id"], **(said if isinstance(said, dict) and "error" in said else {"result": said})}
                )

    def call(self, method: str, **params: Any) -> Any:
        rpc_id = self.start(method, **params)
        answer = self.until(lambda v: v.get("id") == rpc_id and "method" not in v)
        return answer["result"] if "result" in answer else answer["error"]

    def open(self, cwd: Path, **caps: Any) -> Client:
        if self.version == 2:
            self.call("initialize", protocolVersion=2, info={"name": "t", "version": "1"}, capabilities=caps)
            self.session = self.call("session/new", cwd=str(cwd))["sessionId"]
        else:
            self.call("initialize", protocolVersion=1, clientCapabilities=caps)
            self.session = self.call("session/new", cwd=str(cwd), mcpServers=[])["sessionId"]
        return self

    def prompt(self, text: str, reply: Callable[[Json], Any] | None = None) -> str:
        """Prompt, and the stop reason."""
        rpc_id = self.start("session/prompt", sessionId=self.session, prompt=[{"type": "text", "text": text}])
        if self.version == 1:
            answer = self.until(lambda v: v.get("id") == rpc_id and "method" not in v, reply)
            return str(answer["result"]["stopReason"])
        idle = self.until(lambda v: update_of(v).get("state") == "idle", reply)
        return str(update_of(idle)["stopReason"])

    def updates(self) -> list[Json]:
        return [update_of(v) for v in self.received if v.get("method") == "session/update"]

    def text(self) -> str:
        chunks = [u for u in self.updates() if u["sessionUpdate"] == "agent_message_chunk"]
        return "".join(u["content"].get("text", "") for u in chunks)

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(10)
        assert self.process.stdout is not None
        self.process.stdout.close()


def update_of(value: Json) -> Json:
    return dict((value.get("params") or {}).get("update") or {}) if value.get("method") == "session/update" else {}


@pytest.fixture
def connect() -> Iterator[Callable[..., Client]]:
    clients: list[Client] = []

    def make(*args: str, version: int = 1) -> Client:
        clients.append(Client(*args, version=version))
        return clients[-1]

    yield make
    for client in clients:
        if client.process.poll() is None:
            client.process.kill()
        client.end()


def allow(value: Json) -> Any:
    """Say yes to everything."""
    if value["method"] == "session/request_permission":
        return {"outcome": {"outcome": "selected", "optionId": "yes"}}
    if value["method"] == "elicitation/create":
        return {"action": "accept", "content": {"name": "n", "count": 2}}
    if value["method"] == "terminal/create":
        return {"terminalId": "t1"}
    if value["method"] == "terminal/wait_for_exit":
        return {"exitCode": 0}
    if value["method"] == "terminal/output":
        return {"output": "hi\n", "truncated": False}
    if value["method"] == "fs/read_text_file":
        return {"content": "before\n"}
    if value["method"].startswith("_"):
        return {"error": {"code": -32601, "message": "Method not found"}}
    return {}


EVERYTHING = (
    "think; say hello; image; tool; fail; ask 2; ask bare; ask2; edit a.txt new text; terminal printf h\\303\\244; "
    "form; url; plan; commands a b; mode code; model large; title T; usage; notice; compaction; subagent; unknown; echo"
)


@pytest.mark.parametrize(("flags", "version"), [(["--v1", "--ids", "--early"], 1), (["--v2"], 2), (["--dual"], 2)])
def test_everything_it_says_is_as_the_schema_wants_it(connect: Any, tmp_path: Path, flags: Any, version: int) -> None:
    if not SCHEMAS.is_dir():
        pytest.skip("needs the ACP schemas in ../shared/acp/schema")
    jsonschema = pytest.importorskip("jsonschema")
    caps: Json = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True} if version == 1 else {}
    client = connect(*flags, version=version).open(tmp_path, **caps)
    assert client.prompt(EVERYTHING, allow) == "end_turn"
    client.call("session/list", cwd=str(tmp_path))
    config = {"configId": "model", "value": "small"} | ({"type": "id"} if version == 2 else {})
    client.call("session/set_config_option", sessionId=client.session, **config)
    if version == 1:
        client.call("session/load", sessionId=client.session, cwd=str(tmp_path), mcpServers=[])
    else:
        client.call("session/resume", sessionId=client.session, cwd=str(tmp_path), replayFrom={"type": "start"})
    client.call("session/fork", sessionId=client.session, cwd=str(tmp_path))

    schema = json.loads((SCHEMAS / f"v{version}" / "schema.unstable.json").read_text())
    names = {
        "session/update": "SessionNotification" if version == 1 else "UpdateSessionNotification",
        "session/request_permission": "RequestPermissionRequest",
        "elicitation/create": "CreateElicitationRequest",
        "elicitation/complete": "CompleteElicitationNotification",
        "fs/read_text_file": "ReadTextFileRequest",
        "fs/write_text_file": "WriteTextFileRequest",
        "terminal/create": "CreateTerminalRequest",
        "terminal/output": "TerminalOutputRequest",
        "terminal/release": "ReleaseTerminalRequest",
        "terminal/wait_for_exit": "WaitForTerminalExitRequest",
        "initialize": "InitializeResponse",
        "session/new": "NewSessionResponse",
        "session/load": "LoadSessionResponse",
        "session/resume": "ResumeSessionResponse",
        "session/fork": "ForkSessionResponse",
        "session/list": "ListSessionsResponse",
        "session/prompt": "PromptResponse",
        "session/set_config_option": "SetSessionConfigOptionResponse",
    }
    told = [(v["method"], v["params"]) for v in client.received if "method" in v and "_vendor" not in json.dumps(v)]
    told += client.results
    validators: dict[str, Any] = {}
    for method, value in told:
        root = {"$schema": schema["$schema"], "$ref": f"#/$defs/{names[method]}", "$defs": schema["$defs"]}
        validator = validators.setdefault(method, jsonschema.Draft202012Validator(root))
        wrong = [f"{e.json_path}: {e.message[:300]}" for e in validator.iter_errors(value)]
        assert not wrong, (method, value, wrong)
    assert len({u["sessionUpdate"] for u in client.updates()}) >= 15


@pytest.mark.parametrize("version", [1, 2])
def test_a_cancelled_turn_ends_as_cancelled(connect: Any, tmp_path: Path, version: int) -> None:
    client = connect(f"--v{version}", version=version).open(tmp_path)
    rpc_id = client.start("session/prompt", sessionId=client.session, prompt=[{"type": "text", "text": "slow"}])
    client.until(lambda v: "w3" in json.dumps(v))
    client.send({"method": "session/cancel", "params": {"sessionId": client.session}})
    if version == 1:
        assert client.until(lambda v: v.get("id") == rpc_id)["result"] == {"stopReason": "cancelled"}
    else:
        idle = client.until(lambda v: update_of(v).get("state") == "idle")
        assert update_of(idle)["stopReason"] == "cancelled"


def test_in_v2_a_cancelled_request_for_leave_is_withdrawn(connect: Any, tmp_path: Path) -> None:
    client = connect("--v2", version=2).open(tmp_path)
    client.start("session/prompt", sessionId=client.session, prompt=[{"type": "text", "text": "ask"}])
    asked = client.until(lambda v: v.get("method") == "session/request_permission")
    client.send({"method": "session/cancel", "params": {"sessionId": client.session}})
    taken = client.until(lambda v: v.get("method") == "$/cancel_request")
    assert taken["params"] == {"requestId": asked["id"]}
    client.send({"id": asked["id"], "result": {"outcome": {"outcome": "cancelled"}}})
    assert update_of(client.until(lambda v: update_of(v).get("state") == "idle"))["stopReason"] == "cancelled"


def test_a_refusal_is_no_leave(connect: Any, tmp_path: Path) -> None:
    client = connect().open(tmp_path)
    client.prompt("ask", lambda v: {"outcome": {"outcome": "selected", "optionId": "no"}})
    assert [u["status"] for u in client.updates() if u["sessionUpdate"] == "tool_call_update"] == ["failed"]


def test_a_saved_session_is_loaded_by_a_new_process(connect: Any, tmp_path: Path) -> None:
    first = connect("--store", str(tmp_path / "store")).open(tmp_path)
    first.prompt("think; tool; stream 30")
    again = connect("--store", str(tmp_path / "store"), "--replay", "chunks")
    again.call("initialize", protocolVersion=1)
    again.call("session/load", sessionId=first.session, cwd=str(tmp_path), mcpServers=[])
    assert again.text() == first.text()
    assert [u["title"] for u in again.updates() if u["sessionUpdate"] == "tool_call"] == ["Read notes.txt"]
    assert again.call("session/load", sessionId="s-none", cwd="/", mcpServers=[])["code"] == -32002


def test_it_wants_a_sign_in(connect: Any, tmp_path: Path) -> None:
    client = connect("--auth")
    client.call("initialize", protocolVersion=1)
    assert client.call("session/new", cwd=str(tmp_path), mcpServers=[])["code"] == -32000
    client.call("authenticate", methodId="token")
    assert "sessionId" in client.call("session/new", cwd=str(tmp_path), mcpServers=[])


def test_versions_are_agreed_on(connect: Any) -> None:
    old, new, both = connect("--v1"), connect("--v2"), connect("--dual")
    info = {"info": {"name": "t", "version": "1"}}
    assert old.call("initialize", protocolVersion=2, **info)["protocolVersion"] == 1
    assert new.call("initialize", protocolVersion=1)["code"] == -32022
    assert both.call("initialize", protocolVersion=3, **info)["protocolVersion"] == 2


def test_it_makes_noise_when_told_so(connect: Any, tmp_path: Path) -> None:
    client = connect("--noise").open(tmp_path)
    client.prompt("noise")
    assert len(client.noise) == 7 and client.text() == "after the noise"


def test_it_starts_in_a_blink(connect: Any) -> None:
    began = time.perf_counter()
    connect().call("initialize", protocolVersion=1)
    assert time.perf_counter() - began < 3, "0.1 s alone on the machine"
