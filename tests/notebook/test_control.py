"""The control socket: private, answers only who has the token, and survives whatever is written to it."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hm_jupyter.notebook import control
from hm_jupyter.notebook.control import ControlSocket

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Echo:
    """Stands at the kernel's end: says what it was handed."""

    async def receive(self, message: Any, reply: Any) -> None:
        if message == {"do": "fail"}:
            raise RuntimeError("as told")
        if message == {"do": "wait"}:
            await asyncio.Event().wait()
        reply({"got": message})

    def gone(self) -> None:
        pass


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[ControlSocket]:
    found = ControlSocket(Echo, tmp_path / "runtime" / "hm_jupyter")
    await found.open()
    yield found
    await found.close()


class Client:
    """Whoever found the connection file."""

    def __init__(self, served: ControlSocket) -> None:
        self.found = json.loads(served.connection_file.read_text())

    async def open(self, first: bytes | None = None) -> Client:
        self.reader, self.writer = await asyncio.open_unix_connection(self.found["socket"])
        token = json.dumps({"token": self.found["token"]}).encode() + b"\n"
        self.writer.write(token if first is None else first)
        return self

    def say(self, line: bytes) -> None:
        self.writer.write(line + b"\n")

    async def heard(self) -> Any:
        line = await asyncio.wait_for(self.reader.readline(), 5)
        return json.loads(line) if line else None

    async def ended(self) -> bool:
        try:
            while await asyncio.wait_for(self.reader.read(65536), 5):
                pass  # the rest of an answer
        except ConnectionError:
            pass
        return True


async def test_who_shows_the_token_is_answered_line_by_line(served: ControlSocket) -> None:
    client = await Client(served).open()
    client.say(b'{"t": "ping", "n": 1}')
    assert await client.heard() == {"got": {"t": "ping", "n": 1}}


async def test_many_clients_are_served_at_once(served: ControlSocket) -> None:
    clients = [await Client(served).open() for _ in range(20)]
    for n, client in enumerate(clients):
        client.say(json.dumps(n).encode())
    assert [await c.heard() for c in clients] == [{"got": n} for n in range(20)]


@pytest.mark.parametrize(
    "first",
    [
        b'{"token": "wrong"}\n',
        b'{"token": null}\n',
        b'{"token": "\xc3\xa9\\ud800"}\n',
        b'{"t": "ping"}\n',
        b"[[[[[[\n",
        b"\xff\xfe\n",
        b"\n",
        b"x" * 5000,
        b"[" * 1000 + b"\n",
    ],
)
async def test_who_does_not_show_the_token_is_let_go_without_a_word(served: ControlSocket, first: bytes) -> None:
    client = await Client(served).open(first)
    assert await client.ended()


async def test_who_says_nothing_is_let_go(served: ControlSocket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "TOKEN_WAIT", 0.05)
    client = await Client(served).open(b"")
    assert await client.ended()


async def test_noise_between_lines_is_left_out(served: ControlSocket) -> None:
    client = await Client(served).open()
    for noise in (b"", b"not json", b"\xff\xff", b"[" * 100_000, b'{"do": "fail"}'):
        client.say(noise)
    client.say(b'"still here"')
    assert await client.heard() == {"got": "still here"}


async def test_a_line_in_small_pieces_is_one_line(served: ControlSocket) -> None:
    client = await Client(served).open()
    for byte in b'{"a": "\xe2\x82\xac"}\n':
        client.writer.write(bytes([byte]))
        await client.writer.drain()
    assert await client.heard() == {"got": {"a": "€"}}


async def test_a_large_line_is_taken_and_one_over_the_cap_ends_the_client(
    served: ControlSocket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "LINE_CAP", 200_000)
    client, other = await Client(served).open(), await Client(served).open()
    client.say(json.dumps("x" * 190_000).encode())
    assert await asyncio.wait_for(client.reader.readexactly(11), 5) == b'{"got": "xx'
    client.writer.write(b'"' + b"x" * 300_000)
    assert await client.ended()
    other.say(b"1")
    assert await other.heard() == {"got": 1}, "and nobody else notices"


async def test_a_slow_command_holds_nobody_up(served: ControlSocket) -> None:
    client = await Client(served).open()
    client.say(b'{"do": "wait"}')
    client.say(b"1")
    assert await client.heard() == {"got": 1}


async def test_who_asks_and_never_reads_is_let_go(served: ControlSocket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "UNREAD_CAP", 10_000)
    client = await Client(served).open()
    line = json.dumps("x" * 60_000).encode()

    async def ask() -> None:
        while True:
            client.say(line)
            await client.writer.drain()

    with pytest.raises(ConnectionError):
        await asyncio.wait_for(ask(), 20)


async def test_folder_file_and_socket_are_this_persons_alone(served: ControlSocket) -> None:
    found = Client(served).found
    assert stat.S_IMODE(served.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(served.connection_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(os.stat(found["socket"]).st_mode) == 0o600
    assert found["pid"] == os.getpid()
    assert len(found["token"]) >= 40
    assert served.id not in found["token"]


async def test_a_folder_that_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    folder = tmp_path / "hm_jupyter"
    folder.mkdir(mode=0o755)
    served = ControlSocket(Echo, folder)
    await served.open()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    await served.close()


async def test_a_folder_that_is_a_link_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "hm_jupyter").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="remove it"):
        await ControlSocket(Echo, tmp_path / "hm_jupyter").open()


async def test_a_path_too_long_for_a_socket_gets_a_short_folder_of_its_own(tmp_path: Path) -> None:
    served = ControlSocket(Echo, tmp_path / ("long" * 20) / ("longer" * 10) / "hm_jupyter")
    await served.open()
    path = Path(Client(served).found["socket"])
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    client = await Client(served).open()
    client.say(b"1")
    assert await client.heard() == {"got": 1}
    await served.close()
    assert not path.parent.exists()


async def test_closing_ends_the_clients_and_leaves_no_file(served: ControlSocket) -> None:
    client = await Client(served).open()
    client.say(b"1")
    await client.heard()
    await served.close()
    assert await client.ended()
    assert list(served.folder.iterdir()) == []
    await served.close()


async def test_what_a_killed_process_left_is_removed_and_the_living_are_kept(
    served: ControlSocket, tmp_path: Path
) -> None:
    code = (
        "import asyncio, os, pathlib, sys\n"
        "from hm_jupyter.notebook.control import ControlSocket\n"
        f"c = ControlSocket(None, pathlib.Path({str(served.folder)!r}))\n"
        "asyncio.run(c.open()); print(c.id, flush=True); os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    left = served.folder / f"{killed.stdout.strip()}.json"
    assert left.exists(), killed.stderr
    elsewhere = served.folder / "elsewhere.json"
    elsewhere.write_text(json.dumps({**json.loads(left.read_text()), "host": "another-machine"}))
    broken = served.folder / "broken.json"
    broken.write_text("{")
    control.clean(served.folder)
    assert not left.exists()
    assert not Path(json.loads(elsewhere.read_text())["socket"]).exists()
    assert served.connection_file.exists()
    assert broken.exists()


async def test_a_forked_child_does_not_remove_its_parents_files(served: ControlSocket) -> None:
    pid = os.fork()
    if pid == 0:
        served.remove_files()
        os._exit(0)
    os.waitpid(pid, 0)
    assert served.connection_file.exists()


async def test_a_process_has_one_socket_and_its_kernel_survives_having_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "runtime_folder", lambda: tmp_path / "hm_jupyter")
    monkeypatch.setattr(control, "_control", None)
    first, second = await asyncio.gather(control.ensure(), control.ensure())
    assert first == second != ""
    made = control._control
    assert made is not None
    await made.close()
    monkeypatch.setattr(control, "_control", None)
    monkeypatch.setattr(control, "runtime_folder", lambda: Path("/proc/nowhere/hm_jupyter"))
    assert await control.ensure() == ""


def test_the_token_is_in_no_repr(tmp_path: Path) -> None:
    found = ControlSocket(Echo, tmp_path)
    assert found._token not in repr(found)
