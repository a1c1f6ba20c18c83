"""The control channel's WebSocket: relays JSON lines between a browser and the kernel's control socket.

Who may use it is Jupyter's decision: the same authentication, origin check and authorizer (``execute`` on ``kernels``)
as a kernel's own channels. The browser names an id and sees neither a path nor a token. Knows nothing of what the lines
say.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from jupyter_core.paths import jupyter_runtime_dir
from jupyter_core.utils import ensure_async
from jupyter_server.auth.decorator import ws_authenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from tornado import web
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from .finding import NotFound, find

ANSWER_CAP = 1024 * 1024
"""Longest line relayed to the browser, in bytes: only acknowledgements and pongs come this way."""

GOING_AWAY, POLICY, TOO_BIG = 1001, 1008, 1009  # RFC 6455, 7.4.1


class ControlHandler(WebSocketMixin, WebSocketHandler, JupyterHandler):
    """``{base_url}hm_jupyter/control/{control_id}``: 403 who may not, 404 no such kernel, else a WebSocket."""

    auth_resource = "kernels"
    _writer: asyncio.StreamWriter | None = None
    _relay: asyncio.Task[None] | None = None

    def set_default_headers(self) -> None:
        """None: a WebSocket's handshake is no page."""

    @ws_authenticated
    async def get(self, control_id: str) -> None:
        """Shake hands, once the person may and the kernel is there."""
        if not await ensure_async(self.authorizer.is_authorized(self, self.current_user, "execute", "kernels")):
            raise web.HTTPError(403)
        if not self.check_origin():
            raise web.HTTPError(403)
        try:
            found = find(control_id, jupyter_runtime_dir())
            self._reader, self._writer = await asyncio.open_unix_connection(found.socket, limit=ANSWER_CAP)
            self._writer.write(json.dumps({"token": found.token}).encode() + b"\n")
        except (NotFound, OSError):
            raise web.HTTPError(404, "No such kernel; it may have been restarted.") from None
        try:
            await super().get(control_id)
        finally:
            if self.ws_connection is None:  # the handshake failed: nobody will call on_close
                self._writer.close()

    def open(self, *args: str, **kwargs: str) -> None:
        """The handshake is done: relay what the kernel says."""
        super().open(*args, **kwargs)  # starts Jupyter's keep-alive pings
        self._relay = asyncio.ensure_future(self._to_browser())

    async def on_message(self, message: str | bytes) -> None:
        """One text frame of the browser is one line for the kernel."""
        if isinstance(message, bytes) or "\n" in message:
            self.close(POLICY, "one JSON text a frame")
            return
        if self._writer is None or self._writer.is_closing():
            return
        try:
            self._writer.write(message.encode() + b"\n")
            await self._writer.drain()  # tornado reads no further frame meanwhile
        except (OSError, UnicodeError):
            self.close(GOING_AWAY, "the kernel is gone")

    async def _to_browser(self) -> None:
        code, reason = GOING_AWAY, "the kernel is gone"
        try:
            while line := await self._reader.readline():
                await self.write_message(line.rstrip(b"\n").decode("utf-8", "replace"))
        except ValueError:  # asyncio's word for a line over the limit
            code, reason = TOO_BIG, "the kernel's line is too long"
        except (OSError, WebSocketClosedError):
            pass
        self.close(code, reason)

    def on_close(self) -> None:
        """Either side went: let the other one go."""
        if self._relay is not None:
            self._relay.cancel()
        if self._writer is not None:
            self._writer.close()
        super().on_close()

    def get_compression_options(self) -> dict[str, Any] | None:
        """As the server's kernel channels have it."""
        options: dict[str, Any] | None = self.settings.get("websocket_compression_options")
        return options
