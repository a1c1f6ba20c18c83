"""One notebook, unchanged, on every wire: the built-in agent (hm RPC), ACP v1 and v2 over stdio, HTTP and WebSocket.

The agent is named by ``HM_JUPYTER_AGENT`` alone. All run at once, each in a kernel of its own, as nbconvert would run
them; a policy decides.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from acp_remote import RemoteAgent
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

ROOT = Path(__file__).resolve().parent.parent.parent
AGENT = ROOT / "tests" / "helpers" / "acp_agent.py"
SCRIPT = "think; tool; ask; edit README.md hello; plan; say All is well."
WIRES = ["hm RPC", "ACP v1, stdio", "ACP v2, stdio", "ACP v1, HTTP", "ACP v2, WebSocket"]


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The notebook as each wire left it."""
    script = (
        tmp_path_factory.mktemp("agents") / "agent.sh"
    )  # a command with blanks in an argument, as a setting takes it
    script.write_text(f"#!/bin/sh\nexec {sys.executable} {AGENT} \"$@\" --scenario '{SCRIPT}'\n")
    script.chmod(0o755)
    with RemoteAgent("--v1", "--scenario", SCRIPT) as one, RemoteAgent("--v2", "--scenario", SCRIPT) as two:
        named = dict(zip(WIRES, ["", f"{script} --v1", f"{script} --v2", one.http, two.ws], strict=True))
        yield asyncio.run(_all(named))


async def _all(named: dict[str, str]) -> dict[str, Any]:
    found = await asyncio.gather(*(_execute(agent) for agent in named.values()))
    return dict(zip(named, found, strict=True))


async def _execute(agent: str) -> Any:
    notebook = nbformat.read(ROOT / "notebooks" / "any-agent.ipynb", as_version=4)
    manager = AsyncKernelManager(kernel_name="python3")
    env = {"PYTHONPATH": str(ROOT), "HM_DEMO_SPEED": "0", "HM_JUPYTER_AGENT": agent}
    client = NotebookClient(notebook, km=manager, timeout=90)
    await client.async_execute(env={**os.environ, **env})
    return notebook


def printed(notebook: Any, code: str) -> str:
    """What the cell that begins with ``code`` printed."""
    cell = next(c for c in notebook.cells if c.cell_type == "code" and c.source.startswith(code))
    return "".join(o.get("text", "") for o in cell.outputs)


def frozen(notebook: Any) -> dict[str, Any]:
    """The turn's transcript."""
    (cell,) = [c for c in notebook.cells if c.source.startswith("%%hm")]
    data = cell.outputs[-1].data
    assert "hm-frozen" in data["text/html"]
    found = data["application/vnd.hm-jupyter.transcript+json"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("wire", WIRES)
def test_the_same_notebook_runs_unchanged(executed: dict[str, Any], wire: str):
    notebook = executed[wire]
    assert printed(notebook, "turn = hm.last") == "end_turn\nTrue\nTrue True\n"
    entries = frozen(notebook)["entries"]
    calls = [e for e in entries if e["kind"] == "tool"]
    decided = [e for e in calls if e["decision"]]
    assert {e["decision"]["outcome"] for e in decided} == {"allowed"}
    assert {e["decision"]["by"] for e in decided} == {"policy"}
    assert any(e["diffs"] for e in calls)
    assert {e["status"] for e in calls} <= {"completed", "failed"}
    assert not [e for e in entries if e["kind"] in ("notice", "unknown")]


def test_what_an_agent_offers_is_told_the_same_way(executed: dict[str, Any]):
    said = {wire: printed(notebook, "import hm_jupyter") for wire, notebook in executed.items()}
    assert said.pop("hm RPC") == "modes: ask, edit, auto, plan\nsettings of its own: mode\n"
    assert set(said.values()) == {"modes: ask, code, yolo\nsettings of its own: mode, model, effort, web\n"}
