"""The control channel's WebSocket on a real Jupyter server: who may use it, and what it relays."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_server.auth import Authorizer
from tornado.httpclient import HTTPClientError
from tornado.websocket import WebSocketClientConnection, WebSocketClosedError

from hm_jupyter.notebook.control import ControlSocket
from hm_jupyter.server.finding import NotFound, find


@pytest.fixture
def jp_server_config() -> dict[str, Any]:
    # The cookie's name would hold the host, which the fetching fixtures write in two ways.
    return {"ServerApp": {"jpserver_extensions": {"hm_jupyter": True}}, "IdentityProvider": {"cookie_name": "login"}}


class Echo:
    """Stands at the kernel's end: says what it was handed."""

    async def receive(self, message: Any, reply: Any) -> None:
        reply({"got": message})

    def gone(self) -> None:
        pass


@pytest.fixture
def kernel(
    jp_asyncio_loop: asyncio.AbstractEventLoop, jp_runtime_dir: Path, jp_environ: None
) -> Iterator[ControlSocket]:
    """A kernel's control socket in this server's runtime folder."""
    served = ControlSocket(Echo, jp_runtime_dir / "hm_jupyter")
    jp_asyncio_loop.run_until_complete(served.open())
    yield served
    jp_asyncio_loop.run_until_complete(served.close())


async def heard(ws: WebSocketClientConnection) -> Any:
    text = await asyncio.wait_for(ws.read_message(), 5)
    return None if text is None else json.loads(text)


async def test_lines_are_relayed_both_ways(kernel: ControlSocket, jp_ws_fetch: Any) -> None:
    ws = await jp_ws_fetch("hm_jupyter", "control", kernel.id)
    for n in range(3):
        await ws.write_message(json.dumps({"t": "ping", "n": n}))
    assert [await heard(ws) for _ in range(3)] == [{"got": {"t": "ping", "n": n}} for n in range(3)]
    ws.close()


async def test_a_large_command_goes_through(kernel: ControlSocket, jp_ws_fetch: Any) -> None:
    ws = await jp_ws_fetch("hm_jupyter", "control", kernel.id)
    await ws.write_message(json.dumps("€" * 100_000))
    assert await heard(ws) == {"got": "€" * 100_000}
    ws.close()


async def test_the_browser_learns_neither_token_nor_path(kernel: ControlSocket, jp_ws_fetch: Any) -> None:
    ws = await jp_ws_fetch("hm_jupyter", "control", kernel.id)
    await ws.write_message("1")
    said = json.dumps(await heard(ws)) + str(ws.headers)
    assert kernel._token not in said
    assert ".sock" not in said
    ws.close()


@pytest.mark.parametrize("headers", [{"Authorization": ""}, {"Authorization": "token wrong"}])
async def test_who_is_not_logged_in_is_refused(
    kernel: ControlSocket, jp_ws_fetch: Any, headers: dict[str, str]
) -> None:
    with pytest.raises(HTTPClientError) as refused:
        await jp_ws_fetch("hm_jupyter", "control", kernel.id, headers=headers)
    assert refused.value.code == 403


async def test_who_is_not_logged_in_does_not_learn_which_kernels_there_are(jp_ws_fetch: Any) -> None:
    with pytest.raises(HTTPClientError) as refused:
        await jp_ws_fetch("hm_jupyter", "control", "0" * 32, headers={"Authorization": ""})
    assert refused.value.code == 403


async def cookie(jp_fetch: Any) -> dict[str, str]:
    """What a logged-in browser sends (a token in the request itself would make the origin no question)."""
    answer = await jp_fetch("api", "status")
    cookies = [c.split(";")[0] for c in answer.headers.get_list("Set-Cookie")]
    return {"Authorization": "", "Cookie": "; ".join(cookies)}


async def test_a_page_of_another_site_is_refused(kernel: ControlSocket, jp_fetch: Any, jp_ws_fetch: Any) -> None:
    headers = {**await cookie(jp_fetch), "Origin": "http://evil.example"}
    with pytest.raises(HTTPClientError) as refused:
        await jp_ws_fetch("hm_jupyter", "control", kernel.id, headers=headers)
    assert refused.value.code == 403


async def test_a_page_of_this_server_is_let_in(
    kernel: ControlSocket, jp_fetch: Any, jp_ws_fetch: Any, jp_http_port: int
) -> None:
    headers = {**await cookie(jp_fetch), "Origin": f"http://localhost:{jp_http_port}"}
    ws = await jp_ws_fetch("hm_jupyter", "control", kernel.id, headers=headers)
    await ws.write_message("1")
    assert await heard(ws) == {"got": 1}
    ws.close()


class NobodyExecutes(Authorizer):
    def is_authorized(self, handler: Any, user: Any, action: str, resource: str) -> bool:
        return (action, resource) != ("execute", "kernels")


async def test_who_may_not_execute_in_kernels_is_refused(
    kernel: ControlSocket, jp_ws_fetch: Any, jp_serverapp: Any
) -> None:
    jp_serverapp.web_app.settings["authorizer"] = NobodyExecutes(parent=jp_serverapp)
    with pytest.raises(HTTPClientError) as refused:
        await jp_ws_fetch("hm_jupyter", "control", kernel.id)
    assert refused.value.code == 403


@pytest.mark.parametrize(
    "bad",
    [
        "0" * 32,
        "x",
        "0" * 31,
        "0" * 33,
        "A" * 32,
        "..%2F..%2Fetc%2Fpasswd",
        "%2e%2e",
        "0" * 32 + "%0a",
        "0" * 32 + ".json",
    ],
)
async def test_an_id_that_names_no_kernel_is_not_found(jp_ws_fetch: Any, kernel: ControlSocket, bad: str) -> None:
    with pytest.raises(HTTPClientError) as refused:
        await jp_ws_fetch("hm_jupyter", "control", bad)
    assert refused.value.code == 404


async def test_a_kernel_that_was_killed_is_not_found(kernel: ControlSocket, jp_ws_fetch: Any) -> None:
    assert kernel._server is not None
    kernel._server.close()
    with pytest.raises(HTTPClientError) as refused:
        await jp_ws_fetch("hm_jupyter", "control", kernel.id)
    assert refused.value.code == 404


async def test_the_browser_is_told_when_the_kernel_goes(kernel: ControlSocket, jp_ws_fetch: Any) -> None:
    ws = await jp_ws_fetch("hm_jupyter", "control", kernel.id)
    await ws.write_message("1")
    await heard(ws)
    await kernel.close()
    assert await heard(ws) is None
    assert ws.close_code == 1001


async def test_the_kernel_is_told_when_the_browser_goes(kernel: ControlSocket, jp_ws_fetch: Any) -> None:
    ws = await jp_ws_fetch("hm_jupyter", "control", kernel.id)
    await ws.write_message("1")
    await heard(ws)
    assert len(kernel._clients) == 1
    ws.close()

    async def gone() -> None:
        while kernel._clients:
            await asyncio.sleep(0.01)

    await asyncio.wait_for(gone(), 5)


@pytest.mark.parametrize("frame", ['{"a": 1}\n{"b": 2}', b"\x00\x01"])
async def test_a_frame_that_is_not_one_line_of_text_ends_it(
    kernel: ControlSocket, jp_ws_fetch: Any, frame: str | bytes
) -> None:
    ws = await jp_ws_fetch("hm_jupyter", "control", kernel.id)
    await ws.write_message(frame, binary=isinstance(frame, bytes))
    assert await heard(ws) is None
    assert ws.close_code == 1008


async def test_a_frame_over_the_servers_limit_ends_it(kernel: ControlSocket, jp_ws_fetch: Any) -> None:
    ws = await jp_ws_fetch("hm_jupyter", "control", kernel.id)
    with contextlib.suppress(WebSocketClosedError):
        await ws.write_message("x" * (11 * 1024 * 1024))
    assert await heard(ws) is None


# ---- what is trusted on disk -------------------------------------------------------------------------------------------


async def test_a_connection_file_open_to_others_is_not_used(kernel: ControlSocket) -> None:
    runtime_dir = str(kernel.folder.parent)
    assert find(kernel.id, runtime_dir).socket
    kernel.connection_file.chmod(0o644)
    with pytest.raises(NotFound):
        find(kernel.id, runtime_dir)


async def test_a_folder_open_to_others_is_not_used(kernel: ControlSocket) -> None:
    kernel.folder.chmod(0o755)
    with pytest.raises(NotFound):
        find(kernel.id, str(kernel.folder.parent))


async def test_a_connection_file_that_is_a_link_is_not_used(kernel: ControlSocket) -> None:
    moved = kernel.folder.parent / "moved.json"
    kernel.connection_file.rename(moved)
    kernel.connection_file.symlink_to(moved)
    with pytest.raises(NotFound):
        find(kernel.id, str(kernel.folder.parent))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"socket": 1, "token": "t"}',
        '{"socket": "relative", "token": "t"}',
        '{"socket": "/dev/null", "token": "t"}',
        '{"socket": "/nowhere\\u0000", "token": "t"}',
    ],
)
async def test_a_connection_file_that_is_none_is_not_used(kernel: ControlSocket, text: str) -> None:
    kernel.connection_file.write_text(text)
    os.chmod(kernel.connection_file, 0o600)
    with pytest.raises(NotFound):
        find(kernel.id, str(kernel.folder.parent))


async def test_the_token_is_in_no_repr(kernel: ControlSocket) -> None:
    found = find(kernel.id, str(kernel.folder.parent))
    assert found.token not in repr(found)
