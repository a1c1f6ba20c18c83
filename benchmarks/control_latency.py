"""From a click on Allow to the agent's stdin while the cell's main thread sleeps, over the control channel.

The whole way but the browser's own: WebSocket, a real Jupyter server with the extension, its relay, the control socket
of a real kernel whose main thread is in ``time.sleep``, the session loop, the agent's pipe. Beside it, the same click
sent by the widget's comm on the main shell, as front-ends without subshells do (VS Code, Colab): it waits for the cell.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from .client_stream import PEERS
from .report import Row

CLICKS = 100
SLEEP = 30.0
COMM_SLEEP = 2.0
TOKEN = "bench"  # a server on the loopback, for as long as this runs
CELL = """
import sys, time, hm_jupyter
from hm_jupyter.notebook.control import control_id
from hm_jupyter.notebook.widget import live_view
session = hm_jupyter.connect([sys.executable, {agent!r}, "{count}", {log!r}], protocol="hm")
view = live_view(session)
print("control", control_id(), view.view_id, view.model_id, flush=True)
"""


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = {**os.environ, "JUPYTER_RUNTIME_DIR": str(folder / "runtime"), "JUPYTER_CONFIG_DIR": str(folder / "config"),
               "IPYTHONDIR": str(folder / "ipython"), "PYTHONPATH": os.getcwd()}  # fmt: skip
        (folder / "runtime").mkdir(mode=0o700)
        (folder / "config").mkdir()
        config = {"ServerApp": {"jpserver_extensions": {"hm_jupyter": True}}, "IdentityProvider": {"token": TOKEN}}
        (folder / "config" / "jupyter_server_config.json").write_text(json.dumps(config))
        server, port = _server(folder, env)
        try:
            delays, by_comm = _kernel(folder, env, port)
        finally:
            server.terminate()
            server.wait(20)
    p50, p95 = statistics.median(delays), statistics.quantiles(delays, n=20)[18]
    return [
        Row(
            f"click to the agent's stdin, main thread asleep ({CLICKS} clicks)",
            f"p50 {p50:.1f} ms, p95 {p95:.1f} ms",
            f"{by_comm:,.0f} ms (a comm on the main shell, {COMM_SLEEP:g} s cell)",
            "p95 <= 50 ms",
        )
    ]


def _server(folder: Path, env: dict[str, str]) -> tuple[subprocess.Popen[bytes], int]:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    command = [sys.executable, "-m", "jupyter_server", "--ip=127.0.0.1", f"--port={port}", "--no-browser"]
    command += ["--allow-root"] if os.geteuid() == 0 else []
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(command, env=env, cwd=folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urlopen(Request(f"http://127.0.0.1:{port}/api/status", headers=_AUTH), timeout=5):
                return server, port
        except OSError:
            time.sleep(0.1)
    server.kill()
    raise RuntimeError(f"the server did not start:\n{(folder / 'server.log').read_text()[-2000:]}")


_AUTH = {"Authorization": f"token {TOKEN}"}


def _kernel(folder: Path, env: dict[str, str], port: int) -> tuple[list[float], float]:
    from jupyter_client.manager import KernelManager

    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(env=env, cwd=str(folder))
    client = manager.blocking_client()
    client.start_channels()
    log = folder / "agent.jsonl"
    try:
        client.wait_for_ready(timeout=60)
        client.execute(CELL.format(agent=str(PEERS / "hm_ask.py"), count=CLICKS + 1, log=str(log)))
        _, control_id, view_id, comm_id = _printed(client).split()
        sleeping = client.execute(f"turn = session.start('go'); time.sleep({SLEEP})")
        delays = asyncio.run(_click(f"ws://127.0.0.1:{port}/hm_jupyter/control/{control_id}", view_id, log))
        manager.interrupt_kernel()
        while client.get_shell_msg(timeout=60)["parent_header"].get("msg_id") != sleeping:
            pass  # what is sent before the cell is over would be dropped with it
        client.execute(f"print('asleep', flush=True); time.sleep({COMM_SLEEP})")
        _printed(client)
        clicked = time.time()
        content = _approve(CLICKS, view_id)
        message = client.session.msg("comm_msg", {"comm_id": comm_id, "data": {"method": "custom", "content": content}})
        client.shell_channel.send(message)
        at: float = _logged(log, "answered", CLICKS)["at"]
        return delays, (at - clicked) * 1000
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=False)
        manager.cleanup_resources()


def _printed(client: Any) -> str:
    while True:
        message = client.get_iopub_msg(timeout=60)
        if message["msg_type"] == "error":
            text = "\n".join(message["content"]["traceback"])
            if "KeyboardInterrupt" not in text:
                raise RuntimeError(text)
        if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
            text = message["content"]["text"]
            return str(text)


def _approve(n: int, view_id: str) -> dict[str, Any]:
    command = {"type": "approve", "id": f"click{n}", "request_id": f"k{n}", "allow": True}
    return {"t": "command", "view": view_id, "command": command}


def _logged(log: Path, what: str, n: int) -> dict[str, Any]:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for line in log.read_text().splitlines() if log.exists() else []:
            found: dict[str, Any] = json.loads(line)
            if found.get(what) == n:
                return found
        time.sleep(0.002)
    raise RuntimeError(f"the agent never {what} {n}")


async def _click(url: str, view_id: str, log: Path) -> list[float]:
    from tornado.httpclient import HTTPRequest
    from tornado.websocket import websocket_connect

    ws = await websocket_connect(HTTPRequest(url, headers=_AUTH))
    delays = []
    for n in range(CLICKS):
        await asyncio.to_thread(_logged, log, "asked", n)
        await asyncio.sleep(0.03)  # what was asked is in the kernel by now: a person clicks on what they see
        clicked = time.time()
        await ws.write_message(json.dumps(_approve(n, view_id)))
        ack = json.loads(await ws.read_message() or "{}")
        if not ack.get("ok"):
            raise RuntimeError(f"click {n} was refused: {ack}")
        answered = await asyncio.to_thread(_logged, log, "answered", n)
        delays.append((answered["at"] - clicked) * 1000)
    ws.close()
    return delays
