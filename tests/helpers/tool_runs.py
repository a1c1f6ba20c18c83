"""Tools run outside of an agent, for tests: planned and run as calls are, with what they would have said to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hm_jupyter.agents.tools import TOOLS
from hm_jupyter.agents.tools.base import Context, Plan, Result
from hm_jupyter.agents.tools.outputs import Outputs
from hm_jupyter.agents.tools.workspace import Workspace


class Runs:
    """A workspace to run tools in. ``output`` is what they streamed, ``plans`` the plans that were shown."""

    def __init__(self, root: Path) -> None:
        self.workspace = Workspace(root)
        self.outputs = Outputs(None)
        self.output: list[str] = []
        self.plans: list[list[dict[str, str]]] = []
        self.allowed_hosts: set[str] = set()

    def plan(self, tool: str, /, **input: Any) -> Plan:
        return TOOLS[tool].plan(input, self.workspace)

    async def __call__(self, tool: str, /, **input: Any) -> Result:
        async def output(text: str) -> None:
            self.output.append(text)

        async def ask(*question: Any) -> None:
            return None

        context = Context(
            self.workspace, output, ask, show_plan=self.plans.append, keep=self.outputs.keep, kept=self.outputs.text,
            allowed=lambda plan: any(f"//{host}" in plan.url for host in self.allowed_hosts),
        )  # fmt: skip
        return await TOOLS[tool].run(self.plan(tool, **input), context)
