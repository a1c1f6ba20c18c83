"""The Jupyter Server extension: adds the control channel's address to a server. Knows no session and no kernel."""

from __future__ import annotations

from typing import Any

from jupyter_server.utils import url_path_join

from .handlers import ControlHandler


def _load_jupyter_server_extension(serverapp: Any) -> None:
    """Called by Jupyter Server once it has decided to load us."""
    web_app = serverapp.web_app
    address = url_path_join(web_app.settings["base_url"], "hm_jupyter", "control", "([^/]+)")
    web_app.add_handlers(".*$", [(address, ControlHandler)])
    serverapp.log.info("hm_jupyter: decisions reach a busy kernel (control channel is on)")
