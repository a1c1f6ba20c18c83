"""The agent's tools, one file each, run for real in the workspace."""

from __future__ import annotations

from .ask_user import AskUser
from .base import Tool
from .edit_file import EditFile
from .fetch import Fetch
from .list_files import Glob, ListFiles
from .read_file import ReadFile
from .search import Search
from .shell import Shell
from .sub_agent import SubAgent
from .todo import Todo
from .write_file import WriteFile

TOOLS: dict[str, Tool] = {
    t.name: t
    for t in (
        Shell(), ReadFile(), WriteFile(), EditFile(), ListFiles(), Glob(), Search(), Fetch(), AskUser(), Todo(),
        SubAgent(),
    )
}  # fmt: skip
"""Every tool by name."""

OF_SUB_AGENTS: dict[str, Tool] = {name: tool for name, tool in TOOLS.items() if name not in ("sub_agent", "todo")}
"""Those a sub-agent has: it has none below itself, and the plan is the main agent's."""
