"""What a remote connection must never give away, and to whom it sends nothing at all. HTTP and WebSocket alike."""

from __future__ import annotations

import asyncio
import logging
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from acp_server import AcpServer, Reply
from remote import QUICK, Client
from websockets.asyncio.server import serve
from websockets.datastructures import Headers as WsHeaders
from websockets.http11 import Response

from hm_jupyter.errors import TransportError, UsageError
from hm_jupyter.transports.endpoint import Endpoint, is_loopback
from hm_jupyter.transports.http import HttpTransport
from hm_jupyter.transports.websocket import WebSocketTransport

pytestmark = pytest.mark.anyio

SECRET = "s3cr3t-t0k3n"
HEADERS = {"Authorization": f"Bearer {SECRET}", "X-Api-Key": SECRET + "-key"}


def told(error: BaseException | None) -> str:
    """All that a person or a log may see of it."""
    text = ""
    while error is not None:
        text += f"{error!r} {error} "
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return text


@pytest.mark.parametrize("kind", [HttpTransport, WebSocketTransport])
def test_no_secret_is_in_a_repr(kind: Any) -> None:
    scheme = "https" if kind is HttpTransport else "wss"
    transport = kind(f"{scheme}://agents.example/acp?key={SECRET}", headers=HEADERS, cookies={"a": SECRET})
    shown = repr(transport) + repr(transport._endpoint) + str(transport)
    assert SECRET not in shown and "agents.example/acp" in shown


@pytest.mark.parametrize("kind", [HttpTransport, WebSocketTransport])
@pytest.mark.parametrize("options", [{"headers": HEADERS}, {"cookies": {"a": "1"}}, {"headers": dict}])
def test_secrets_are_not_sent_in_the_clear_to_another_machine_unless_one_says_so(kind: Any, options: Any) -> None:
    scheme = "http" if kind is HttpTransport else "ws"
    with pytest.raises(UsageError, match=f"not encrypted.*{'https' if scheme == 'http' else 'wss'}://.*insecure=True"):
        kind(f"{scheme}://agents.example/acp", **options)
    kind(f"{scheme}://agents.example/acp", insecure=True, **options)
    kind(f"{scheme}://agents.example/acp")  # nothing secret
    kind(f"{scheme}://127.0.0.1/acp", **options)
    kind(f"{scheme}s://agents.example/acp", **options)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "a.localhost", "127.8.9.1", "::1"])
def test_this_machine_is_known_by_its_names(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["localhost.example", "128.0.0.1", "127.0.0.1.example", "::2", "0.0.0.0", ""])
def test_another_machine_is_not_taken_for_this_one(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    "url",
    [
        "agents.example/acp", "ftp://agents.example", "https://", "https://user:pw@agents.example/", "https://h:x/",
        "https://agents.example/a b", "https://agents.example/\n", "wss://agents.example/", "http://[::1", "https://h:0/",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        HttpTransport(url)
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize(
    "headers",
    [{"X-A": f"{SECRET}\r\nHost: evil"}, {"X A": SECRET}, {"Content-Type": "x"}, {"acp-session-id": "s"}, {"X": 5}],
)
def test_a_header_that_cannot_be_sent_or_is_ours_is_refused_without_its_value(headers: Any) -> None:
    with pytest.raises(UsageError) as caught:
        HttpTransport("https://agents.example/", headers=headers)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("cookies", [{"a": "x; b"}, {"a b": "x"}, {"a": "x\r\n"}])
def test_a_cookie_that_cannot_be_sent_is_refused(cookies: Any) -> None:
    with pytest.raises(UsageError):
        HttpTransport("https://agents.example/", cookies=cookies)


async def test_a_redirect_to_another_server_is_not_followed() -> None:
    async with AcpServer() as other, AcpServer() as server:
        server.on = lambda request: Reply(307, b"", {"Location": other.url})
        with pytest.raises(TransportError, match=r"redirects to http://127.0.0.1:\d+/acp, another server") as caught:
            await HttpTransport(server.url, headers=HEADERS, patience=QUICK).open()
        assert SECRET not in told(caught.value)
        assert other.requests == []


@pytest.mark.parametrize("when", ["initialize", "stream", "post"])
async def test_nor_is_one_that_comes_later(when: str) -> None:
    async with AcpServer() as other, AcpServer() as server:
        away = Reply(307, b"", {"Location": other.url})
        async with Client(HttpTransport(server.url, headers=HEADERS, patience=QUICK)) as client:
            if when == "initialize":
                server.on = lambda request: away
                await client.transport.send({"jsonrpc": "2.0", "id": 1, "method": "initialize"})
            else:
                await client.begin()
                await server.last.read("s1")
                server.on = lambda request: away
                if when == "stream":
                    await server.last.cut("s1")
                else:
                    await client.tell("session/cancel", {"sessionId": "s1"})
            await client.until(lambda: client.ended)
        assert client.exit is not None and "another server" in client.exit.reason
        assert other.requests == []


async def test_a_redirect_within_the_server_is_followed_with_all_that_belongs_to_the_request() -> None:
    async with AcpServer() as server:
        server.on = lambda request: None if request.path == "/acp/" else Reply(308, b"", {"Location": "/acp/"})
        async with Client(HttpTransport(server.url, headers=HEADERS, patience=QUICK)) as client:
            await client.begin()
            assert "result" in await client.ask("session/prompt", {"sessionId": "s1"})
        assert [r.path for r in server.requests].count("/acp") == 1, "for good is for good"
        assert all(r.headers["x-api-key"] == HEADERS["X-Api-Key"] for r in server.requests)


async def test_a_circle_of_redirects_ends() -> None:
    async with AcpServer() as server:
        server.on = lambda request: Reply(307, b"", {"Location": "/acp"})
        with pytest.raises(TransportError, match="in a circle"):
            await HttpTransport(server.url, patience=QUICK).open()


async def test_no_secret_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def echo(socket: Any) -> None:
        async for frame in socket:
            await socket.send(frame)

    async with (
        AcpServer() as server,
        Client(HttpTransport(server.url, headers=HEADERS, cookies={"a": SECRET}, patience=QUICK)) as client,
    ):
        await client.begin()
        server.on = lambda request: Reply(500, SECRET.encode()) if request.method == "POST" else None
        answer = await client.ask("session/prompt", {"sessionId": "s1"})
        assert SECRET not in str(answer)
    quiet = logging.Logger("quiet", logging.CRITICAL + 1)
    async with serve(echo, "127.0.0.1", 0, logger=quiet) as ws:
        url = f"ws://127.0.0.1:{ws.sockets[0].getsockname()[1]}/"
        async with Client(WebSocketTransport(url, headers=HEADERS, cookies={"a": SECRET}, patience=QUICK)) as client:
            await client.transport.send({"jsonrpc": "2.0", "id": 1, "method": "initialize"})
            await client.until(lambda: client.values)
    assert SECRET not in caplog.text


async def test_a_websocket_is_not_redirected_to_another_server_either() -> None:
    seen: list[Any] = []
    quiet = logging.Logger("quiet", logging.CRITICAL + 1)

    async def never(socket: Any) -> None:
        seen.append(socket)

    async with serve(never, "127.0.0.1", 0, logger=quiet) as other:
        target = f"ws://127.0.0.1:{other.sockets[0].getsockname()[1]}/"

        def away(connection: Any, request: Any) -> Response:
            return Response(307, "Moved", WsHeaders({"Location": target}), b"")

        async with serve(never, "127.0.0.1", 0, process_request=away, logger=quiet) as server:
            url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
            with pytest.raises(TransportError, match="another server") as caught:
                await WebSocketTransport(url, headers=HEADERS, patience=QUICK).open()
    assert seen == [] and SECRET not in told(caught.value)


# ---- certificates ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate nobody has signed, for 127.0.0.1."""
    folder = tmp_path_factory.mktemp("tls")
    path = folder / "both.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"), "-days", "2"]
    command += ["-subj", "/CN=hm test", "-addext", "subjectAltName=IP:127.0.0.1"]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=30)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"no openssl to make a certificate with ({error})")
    path.write_bytes((folder / "key.pem").read_bytes() + (folder / "cert.pem").read_bytes())
    return path


def server_tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.mark.skipif(sys.platform == "win32", reason="no agents on Windows")
async def test_a_certificate_that_is_not_trusted_is_said_so_and_what_to_do(certificate: Path) -> None:
    server = AcpServer()
    server.tls = server_tls(certificate)
    async with server:
        with pytest.raises(TransportError, match=r"certificate of 127.0.0.1 is not trusted.*SSL_CERT_FILE"):
            await HttpTransport(server.url, headers=HEADERS, patience=QUICK).open()
        with pytest.raises(TransportError, match=r"certificate of 127.0.0.1 is not trusted.*SSL_CERT_FILE"):
            await WebSocketTransport("wss" + server.url[5:], headers=HEADERS, patience=QUICK).open()
        assert server.requests == []


async def test_one_that_is_trusted_is_used_for_streams_too(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    server = AcpServer()
    server.tls = server_tls(certificate)
    async with server, Client(HttpTransport(server.url, headers=HEADERS, patience=QUICK)) as client:
        await client.begin()
        server.last.update("over TLS")
        await client.until(lambda: client.texts == ["over TLS"])


async def test_https_at_a_server_that_speaks_http_is_said_in_words() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/acp"
    with pytest.raises(TransportError, match=r"no secure connection.*Does it speak https\?$"):
        await HttpTransport(url, patience=QUICK).open()
    server.close()


def test_a_secret_in_what_a_server_says_is_not_repeated() -> None:
    endpoint = Endpoint(f"https://h/acp?k={SECRET}9", ("http", "https"), headers=HEADERS)
    said = endpoint.scrub(f"bad token {SECRET}\nfor\t{SECRET}-key and k={SECRET}9 " + "x" * 1000)
    assert SECRET not in said and len(said) <= 300 and "\n" not in said
