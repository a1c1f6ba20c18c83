"""A real JupyterLab and a real Chromium for tests: start the server, open a notebook, run cells, look at what is shown.

Every wait is bounded and on a condition. Nothing of the person's own Jupyter configuration is read.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Request

ROOT = Path(__file__).resolve().parent.parent.parent
TOKEN = "only-for-these-tests"
GUARD = 500  # ms: a frame that has just come takes no click for 400, so that none meant for what was there hits it
CHROMIUM_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SETTINGS = {
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}


def chromium() -> str:
    """The Chromium to use, "" when there is none."""
    return os.environ.get("HM_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or ""


class Lab:
    """A JupyterLab server with our extension, on a free port, all its folders under ``folder``.

    ``app="notebook"``: Notebook 7, which is built of the same parts.
    """

    def __init__(self, folder: Path, *, extension: bool = True, app: str = "jupyterlab") -> None:
        self.folder = folder
        self.documents = {"jupyterlab": "doc/tree", "notebook": "notebooks"}[app]
        self.root = folder / "root"
        self.root.mkdir()
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / "lab.log"
        for plugin, values in SETTINGS.items():
            self.set(plugin, values)
        (folder / "runtime").mkdir(mode=0o700)
        env = {k: v for k, v in os.environ.items() if not k.startswith("JUPYTER")}
        env |= {
            "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), env.get("PYTHONPATH")])),
            "JUPYTER_CONFIG_DIR": str(folder / "config"),
            "JUPYTER_DATA_DIR": str(folder / "data"),
            "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
            "IPYTHONDIR": str(folder / "ipython"),
            "HM_STATE_DIR": str(folder / "hm"),
            "XDG_STATE_HOME": str(folder / "state"),
        }
        config = {"ServerApp": {"jpserver_extensions": {"hm_jupyter": extension, app: True}}}
        (folder / "config").mkdir()
        (folder / "config" / "jupyter_server_config.json").write_text(json.dumps(config))
        command = [sys.executable, "-m", app, "--no-browser", "--ip=127.0.0.1", f"--port={self.port}",
                   "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={self.root}",
                   "--expose-app-in-browser"]  # fmt: skip
        if app == "jupyterlab":
            command += ["--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.append("--allow-root")
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, env=env, cwd=self.root, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
            )
        try:
            self._wait_until_up()
        except BaseException:
            self.stop()
            raise

    def set(self, plugin: str, values: dict[str, Any]) -> None:
        """A plugin's settings, for pages opened from now on."""
        package, _, name = plugin.rpartition("/")
        path = self.folder / "settings" / package / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                self.get("/api/status")
                return
            except OSError:
                time.sleep(0.1)
        raise AssertionError(f"JupyterLab did not start:\n{self.log.read_text()[-3000:]}")

    def get(self, path: str, method: str = "GET") -> Any:
        """A request to the server's REST API; its JSON."""
        request = urllib.request.Request(self.url + path, method=method, headers={"Authorization": f"token {TOKEN}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def shutdown_kernels(self) -> None:
        """End every notebook's kernel."""
        for session in self.get("/api/sessions"):
            try:
                self.get(f"/api/sessions/{session['id']}", method="DELETE")
            except urllib.error.HTTPError as error:  # a kernel in mid-restart ends its session itself
                if error.code not in (404, 410, 500):
                    raise

    def stop(self) -> None:
        """End the server and its kernels."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)


class Notebook:
    """A notebook open in JupyterLab in a page of its own."""

    def __init__(
        self, lab: Lab, browser: Browser, name: str, cells: list[str], *, dark: bool = False, scale: float = 1
    ) -> None:
        self.lab = lab
        self.path = lab.root / name
        self.errors: list[str] = []
        self.requests: list[str] = []
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(notebook, self.path)
        self.context = browser.new_context(
            viewport={"width": 1100, "height": 1400},
            color_scheme="dark" if dark else "light",
            device_scale_factor=scale,
        )
        self.page = self.open_page()

    def open_page(self) -> Page:
        """One more page that shows this notebook."""
        page = self.context.new_page()
        page.set_default_timeout(30_000)
        page.on("console", self._console)
        page.on("pageerror", lambda e: self.errors.append(f"{e.name}: {e.message}"))
        page.on("request", self._request)
        page.goto(f"{self.lab.url}/{self.lab.documents}/{self.path.name}?token={TOKEN}&reset")
        self._settle(page)
        return page

    def reload(self) -> None:
        """Reload the page."""
        self.page.reload()
        self._settle(self.page)

    def _settle(self, page: Page) -> None:
        page.wait_for_selector(".jp-Notebook .jp-Cell .cm-content", timeout=90_000)
        ready = """() => {
            const context = window.jupyterapp?.shell.currentWidget?.sessionContext;
            const kernel = context?.session?.kernel;
            return context?.isReady && kernel?.connectionStatus === "connected" && kernel.status === "idle";
        }"""
        page.wait_for_function(ready, timeout=60_000)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"{message.text} ({message.location.get('url', '')})")

    def _request(self, request: Request) -> None:
        self.requests.append(request.url)

    # ---- cells -----------------------------------------------------------------------------------------------------

    def cell(self, i: int, page: Page | None = None) -> Locator:
        """The ``i``-th cell, from 0."""
        return (page or self.page).locator(".jp-Notebook .jp-Cell").nth(i)

    def run(self, i: int) -> None:
        """Run a cell, without waiting for it."""
        self.cell(i).locator(".cm-content").first.click()
        self.page.evaluate("() => void window.jupyterapp.commands.execute('notebook:run-cell')")
        self.until(lambda: self.prompt(i) != "[ ]:", f"cell {i} was never sent")

    def run_to_end(self, i: int, timeout: float = 60) -> str:
        """Run a cell and wait for its end; the text of its output."""
        self.run(i)
        self.wait_done(i, timeout)
        return self.output(i).inner_text()

    def prompt(self, i: int) -> str:
        """``[*]:`` while a cell runs."""
        return self.cell(i).locator(".jp-InputArea-prompt").first.inner_text().strip()

    def wait_done(self, i: int, timeout: float = 60) -> None:
        """Wait for the end of a cell."""
        self.until(lambda: bool(re.fullmatch(r"\[\d+\]:", self.prompt(i))), f"cell {i} never ended", timeout)

    def output(self, i: int) -> Locator:
        """What a cell put out."""
        return self.cell(i).locator(".jp-OutputArea").first

    def view(self, i: int) -> Locator:
        """The live view in a cell's output."""
        return self.cell(i).locator(".hm-root.hm-live")

    def waiting_frame(self, i: int) -> Locator:
        """The frame that waits in cell ``i``, once its buttons take clicks, the cell still running."""
        frame = self.view(i).locator(".hm-frame").first
        frame.wait_for()
        self.page.wait_for_timeout(GUARD)
        assert self.prompt(i) == "[*]:"
        return frame

    def frozen(self, i: int) -> Locator:
        """The static transcript in a cell's output."""
        return self.cell(i).locator(".jp-RenderedHTMLCommon")

    def interrupt(self) -> None:
        """The ■ of the toolbar."""
        self.page.locator('[data-command="notebook:interrupt-kernel"], [title*="Interrupt the kernel"]').first.click()

    def save(self) -> Any:
        """Save; the notebook as it is on disk."""
        before = self.path.stat().st_mtime_ns
        self.page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
        self.until(lambda: self.path.stat().st_mtime_ns != before, "the notebook was never saved")
        return nbformat.read(self.path, as_version=4)

    def until(self, what: Callable[[], Any], why: str, timeout: float = 20) -> Any:
        """Wait for ``what()``; its value."""
        deadline = time.monotonic() + timeout
        while True:
            found = what()
            if found:
                return found
            if time.monotonic() > deadline:
                raise AssertionError(f"{why}; the page's errors: {self.errors[-5:]}; outputs: {self._outputs()}")
            self.page.wait_for_timeout(25)

    def _outputs(self) -> list[str]:
        return [t[-1500:] for t in self.page.locator(".jp-OutputArea").all_inner_texts()]

    def foreign_requests(self) -> list[str]:
        """Addresses outside this server that the pages asked for."""
        return [u for u in self.requests if not re.match(rf"(data|blob):|(http|ws)://127\.0\.0\.1:{self.lab.port}/", u)]

    def close(self) -> None:
        """Close the pages and end the kernel."""
        self.context.close()
        self.lab.shutdown_kernels()
