"""The agent's tools, one file each, run for real in the workspace."""

from __future__ import annotations

from .ask_user import AskUser
from .base import Tool
from .edit_file import EditFile
from .list_files import ListFiles
from .read_file import ReadFile
from .shell import Shell
from .write_file import WriteFile

TOOLS: dict[str, Tool] = {t.name: t for t in (Shell(), ReadFile(), WriteFile(), EditFile(), ListFiles(), AskUser())}
"""Every tool by name."""
