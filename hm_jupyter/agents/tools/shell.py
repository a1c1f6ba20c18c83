"""shell: one command, run for real in the workspace, streamed as it comes, and nothing of it left behind.

The command runs in a session and process group of its own. When it ends, is stopped, takes too long, or the agent
dies, the whole group goes: children and grandchildren too.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import sys
import tempfile
from typing import Any

from .base import Context, Plan, Result, Tool, ToolError, number_field, schema, text_field
from .lifeline import LIFELINE
from .outputs import LONGEST
from .plain import HEAD, TAIL, looks_binary, plain, shortened
from .process import Process
from .workspace import Workspace

DEFAULT_TIMEOUT = 120.0
"""Seconds a command gets unless it asks for more."""

MODEL_HEAD, MODEL_TAIL = HEAD, TAIL

STREAM_LIMIT = 1_000_000
"""Characters of output that are streamed to the person."""

_shim: str | None = None


class Shell(Tool):
    name = "shell"
    category = "shell"
    description = (
        "Run a command with /bin/sh in the workspace's folder; each call is a shell of its own. It has no input and no"
        " terminal, and what it leaves in the background is stopped when it ends. You get its output (stdout and stderr"
        " as they came) and its exit code; of a long one the beginning and the end, with how to see the rest."
        f" timeout is in seconds (default {DEFAULT_TIMEOUT:.0f}, at most 3600)."
    )
    schema = schema(["command"], command={"type": "string"}, timeout={"type": "number", "description": "seconds"})

    def plan(self, input: dict[str, Any], workspace: Workspace) -> Plan:
        command = text_field(input, "command")
        if "\0" in command or not command.strip():
            raise ToolError("'command' is empty or holds a NUL character")
        number_field(input, "timeout", DEFAULT_TIMEOUT, 1, 3600)
        root = workspace.root
        return Plan(input, "shell", command=command, cwd=str(root), paths=[root])

    def summary(self, input: dict[str, Any]) -> str:
        return str(input.get("command", ""))

    async def run(self, plan: Plan, context: Context) -> Result:
        timeout = number_field(plan.input, "timeout", DEFAULT_TIMEOUT, 1, 3600)
        output = _Output(context)
        try:
            process = Process(plan.command, plan.cwd, environment())
        except OSError as error:
            if not os.path.isdir(plan.cwd):
                raise ToolError(f"the workspace is gone: {plan.cwd} is no folder any more") from None
            raise ToolError(f"the command could not be started: {error.strerror or error}") from None
        reading = asyncio.ensure_future(process.read(output.add))
        in_time = True
        try:
            try:
                await asyncio.wait_for(process.exited(), timeout)
            except asyncio.TimeoutError:
                in_time = False
                await process.end()
            # What the command left in the background would hold the pipe open: its last words, then it goes too.
            await asyncio.wait({reading}, timeout=0.2)
            left = process.kill_group()
            await asyncio.wait({reading}, timeout=2)
        except asyncio.CancelledError:
            await asyncio.shield(process.end())
            raise
        finally:
            if not reading.done():
                reading.cancel()
                await asyncio.wait({reading})
            process.close()
        return _result(output.for_model(), process.code, None if in_time else timeout, left)


def _result(text: str, code: int, timed_out: float | None, left: bool) -> Result:
    notes = []
    if timed_out is not None:
        notes.append(f"[stopped after {timed_out:g} s; give a longer timeout if it needs one]")
    elif code < 0:
        notes.append(f"[ended by signal {-code}]")
    elif code:
        notes.append(f"[exit code {code}]")
    if left and timed_out is None:
        notes.append("[what it left running in the background was stopped]")
    if notes and text and not text.endswith("\n"):
        text += "\n"
    return Result(text + "\n".join(notes), code != 0 or timed_out is not None, exit_code=code)


class _Output:
    """Streams output up to a limit, and has what a model gets of it: its beginning and end, the whole being kept."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._parts: list[str] = []
        self._tail = ""
        self._total = 0

    async def add(self, text: str) -> None:
        before, self._total = self._total, self._total + len(text)
        room = max(0, LONGEST - before)
        if room:
            self._parts.append(text[:room])
        if len(text) > room:
            self._tail = (self._tail + text[room:])[-MODEL_TAIL:]
        if before < STREAM_LIMIT:
            await self._context.output(text[: STREAM_LIMIT - before])
            if self._total >= STREAM_LIMIT:
                await self._context.output("\n[more output is not shown]\n")

    def for_model(self) -> str:
        text = "".join(self._parts)
        if looks_binary(text):
            return f"[its output is not text: {self._total} characters; write it to a file and look at it there]\n"
        text = plain(text)
        dropped = self._total - sum(map(len, self._parts)) - len(self._tail)
        if self._tail:
            text += (f"\n[{dropped} characters are not kept]\n" if dropped else "") + plain(self._tail)
        return shortened(text, lambda whole: self._context.keep("shell", whole))


def environment() -> dict[str, str]:
    """The agent's environment for its commands: `python` is the agent's own, nothing pages or waits for a terminal.

    Byte code is not written: an edit within the same second as the last import would otherwise go unseen.
    """
    env = dict(os.environ)
    env["PATH"] = os.pathsep.join([_python_folder(), env.get("PATH") or os.defpath])
    env.update(PYTHONUNBUFFERED="1", PYTHONDONTWRITEBYTECODE="1", PAGER="cat", GIT_PAGER="cat", GIT_TERMINAL_PROMPT="0")
    return env


def _python_folder() -> str:
    """A folder whose `python` is the interpreter we run on; made for the purpose where its own has another name."""
    global _shim
    folder = os.path.dirname(sys.executable)
    if os.access(os.path.join(folder, "python"), os.X_OK):
        return folder
    if _shim is None:
        _shim = tempfile.mkdtemp(prefix="hm-python-")
        script = os.path.join(_shim, "python")
        with open(script, "w", encoding="utf-8") as file:
            quoted = sys.executable.replace("'", "'\\''")
            file.write(f"#!/bin/sh\nexec '{quoted}' \"$@\"\n")
        os.chmod(script, os.stat(script).st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return _shim


def clean_up() -> None:
    """At the agent's end."""
    LIFELINE.close()
    if _shim is not None:
        shutil.rmtree(_shim, ignore_errors=True)
