"""The control socket: how a browser's click reaches the session thread while the kernel's main thread is busy.

One private unix socket per process, served on the session loop. The Jupyter Server extension finds it by ``control_id``
in ``{jupyter_runtime_dir}/hm_jupyter/{control_id}.json`` (0600, in a folder 0700) and relays a browser's lines to it
(``docs/architecture.md``, "The widget's wire"). What the lines mean is ``views.Browser``'s business. Knows no comm.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import logging
import os
import secrets
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from . import views

log = logging.getLogger(__name__)

LINE_CAP = 10 * 1024 * 1024
"""Longest line accepted, in bytes: what a Jupyter server lets through a WebSocket by default (pictures, whole files)."""
CLIENT_CAP = 64
UNREAD_CAP = 1024 * 1024
"""Bytes of answers a client may leave unread."""
TOKEN_WAIT = 5.0
"""Seconds a client has to show the token."""
PATH_CAP = 100
"""Longest socket path in bytes: ``sun_path`` holds 104 (macOS) or 108 (Linux) with its NUL."""


class Peer(Protocol):
    """Who is at the other end of one connection."""

    async def receive(self, message: Any, reply: views.Reply) -> None:
        """A message came; ``reply`` answers it."""

    def gone(self) -> None:
        """The connection ended."""


def runtime_folder() -> Path:
    """Where connection files live: the same folder for the kernel and the server of one person."""
    from jupyter_core.paths import jupyter_runtime_dir

    return Path(jupyter_runtime_dir()) / "hm_jupyter"


class ControlSocket:
    """A served unix socket and its connection file. All methods run on the session loop."""

    def __init__(self, peer: Callable[[], Peer] = views.Browser, folder: Path | None = None) -> None:
        self.id = secrets.token_hex(16)
        self.folder = folder if folder is not None else runtime_folder()
        self._peer = peer
        self._token = secrets.token_urlsafe(32)
        self._server: asyncio.AbstractServer | None = None
        self._clients: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._path = self.folder / f"{self.id}.sock"
        self._short: Path | None = None  # a folder of its own for a path that would be too long
        self._pid = os.getpid()

    @property
    def connection_file(self) -> Path:
        """``{"socket", "token", "pid", "host"}``, readable by this user alone."""
        return self.folder / f"{self.id}.json"

    async def open(self) -> None:
        """Serve. Raises ``OSError`` when the folder cannot be made private or the socket cannot be made."""
        private_folder(self.folder)
        clean(self.folder)
        if len(os.fsencode(self._path)) > PATH_CAP:
            self._short = Path(tempfile.mkdtemp(prefix="hm-"))  # mkdtemp makes it 0700
            if len(os.fsencode(self._short)) > PATH_CAP - 2:
                self._short.rmdir()
                self._short = Path(tempfile.mkdtemp(prefix="hm-", dir="/tmp"))
            self._path = self._short / "s"
        self._server = await asyncio.start_unix_server(self._serve, os.fspath(self._path))
        os.chmod(self._path, 0o600)
        found = {"socket": str(self._path), "token": self._token, "pid": self._pid, "host": socket.gethostname()}
        _write_private(self.connection_file, json.dumps(found))

    async def close(self) -> None:
        """Stop serving and remove the files. Harmless when repeated."""
        if self._server is None:
            return
        server, self._server = self._server, None
        server.close()
        for writer in list(self._clients):
            writer.close()
        for task in list(self._tasks):
            task.cancel()
        self.remove_files()

    def remove_files(self) -> None:
        """Remove connection file and socket, unless we are a forked child of their owner."""
        if os.getpid() != self._pid:
            return
        for path in (self.connection_file, self._path):
            with contextlib.suppress(OSError):
                path.unlink()
        if self._short is not None:
            with contextlib.suppress(OSError):
                self._short.rmdir()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._clients) >= CLIENT_CAP:
            writer.close()
            return
        self._clients.add(writer)
        peer: Peer | None = None
        try:
            lines = _Lines(reader)
            first = await asyncio.wait_for(lines.next(1024), TOKEN_WAIT)
            if not self._knows(first):
                return
            peer = self._peer()
            while (line := await lines.next(LINE_CAP)) is not None:
                try:
                    message = json.loads(line)
                except (ValueError, RecursionError):
                    continue  # noise from a client that has the token: not worth ending it for
                # A task each: a command waits for the agent's answer, and a ping must not wait behind it.
                task = asyncio.ensure_future(self._handle(peer, message, writer))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        except (OSError, asyncio.TimeoutError, _TooLong):
            pass
        finally:
            if peer is not None:
                peer.gone()
            self._clients.discard(writer)
            writer.close()

    async def _handle(self, peer: Peer, message: Any, writer: asyncio.StreamWriter) -> None:
        def reply(answer: dict[str, Any]) -> None:
            if writer.transport.get_write_buffer_size() > UNREAD_CAP:
                writer.transport.abort()  # it asks and does not read; close() would wait for it to
            elif not writer.is_closing():
                writer.write(json.dumps(answer).encode() + b"\n")

        try:
            await peer.receive(message, reply)
        except Exception:  # one message must not take the channel down
            log.exception("hm_jupyter: a message on the control channel failed")

    def _knows(self, line: bytes | None) -> bool:
        try:
            shown = json.loads(line or b"null")
        except (ValueError, RecursionError):
            return False
        token = shown.get("token") if isinstance(shown, dict) else None
        return isinstance(token, str) and hmac.compare_digest(token.encode(errors="replace"), self._token.encode())


class _TooLong(Exception):
    """A line over its cap: the client is let go."""


class _Lines:
    """Lines of bounded length from a stream."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._buffer = bytearray()

    async def next(self, cap: int) -> bytes | None:
        """The next line without its end, None at the end of the stream. Raises :class:`_TooLong`."""
        searched = 0
        while (at := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > cap:
                raise _TooLong
            chunk = await self._reader.read(65536)
            if not chunk:
                return None
            self._buffer += chunk
        if at > cap:
            raise _TooLong
        line = bytes(self._buffer[:at])
        del self._buffer[: at + 1]
        return line


def private_folder(folder: Path) -> None:
    """Make ``folder`` ours alone (0700). Raises ``OSError`` when it is somebody else's or a link."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if folder.is_symlink() or found.st_uid != os.getuid():
        raise PermissionError(f"{folder} is not a folder of this user; remove it, then restart the kernel.")
    if found.st_mode & 0o077:
        folder.chmod(0o700)


def clean(folder: Path) -> None:
    """Remove what processes of this machine left behind when they were killed. Never raises."""
    for file in folder.glob("*.json"):
        try:
            found = json.loads(file.read_text())
            if found.get("host") != socket.gethostname() or _served(found["pid"], found["socket"]):
                continue
            path = Path(found["socket"])
            file.unlink()
            path.unlink(missing_ok=True)
            if path.parent.name.startswith("hm-"):
                path.parent.rmdir()
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue


def _served(pid: int, path: str) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    with socket.socket(socket.AF_UNIX) as s:
        try:
            s.settimeout(0.2)
            s.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            return False  # the process id was given to somebody else since
        except OSError:
            pass
    return True


def _write_private(path: Path, text: str) -> None:
    """Write a file that was never, not for a moment, readable by others or half there."""
    draft = path.with_suffix(".tmp")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "w") as f:
        f.write(text)
    draft.replace(path)


_control: ControlSocket | None = None
_failed = False
_opening = asyncio.Lock()


def control_id() -> str:
    """The id of this process's control socket, opened on first use; "" where there can be none. Any thread but the loop's
    may call it, and it is quick from the second time on."""
    from ..session.runtime import runtime

    return runtime().run(ensure)


async def ensure() -> str:
    """:func:`control_id` for the session loop."""
    async with _opening:
        return await _ensure()


async def _ensure() -> str:
    global _control, _failed
    if _control is not None and _control._pid != os.getpid():
        _control, _failed = None, False  # a forked child: the socket is its parent's
    if _control is None and not _failed:
        control = ControlSocket()
        try:
            if not hasattr(socket, "AF_UNIX"):
                raise OSError("this system has no unix sockets")
            await control.open()
        except (OSError, ImportError) as e:
            _failed = True
            log.warning("hm_jupyter: no control channel, clicks travel by the widget's comm instead (%s)", e)
        else:
            from ..session.runtime import runtime

            _control = control
            runtime().at_exit(control, control.close)
    return _control.id if _control is not None else ""
