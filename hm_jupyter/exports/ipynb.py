"""A session as a Jupyter notebook (nbformat 4.5): prompts and answers as markdown, what the agent ran as code cells.

A command that ran is a ``%%bash`` cell, Python it ran a code cell, each with its output and pictures; what was refused or
never began is no code cell, so that "Run all" does not do what a person denied. Nothing is run here, and nothing of an
agent's can act when the notebook is opened: markdown is written anew (:mod:`.requote`), outputs are text and pictures.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..transcript import Entry, SessionState, ToolEntry, Transcript, UserEntry
from . import decided, documents, images, markdown, requote, safe, text, turn_words, wording
from .view import TurnView, select, state_of

_PYTHON = frozenset(
    "python run_python execute_python python_exec ipython execute_code run_code code_interpreter run_cell execute_cell".split()
)
_HOW = "Code cells show what the agent ran, with what came of it. Running one runs it again, here and now."


class _Cells:
    """The cells so far; blocks of markdown that follow each other become one cell."""

    def __init__(self) -> None:
        self.cells: list[dict[str, Any]] = []
        self._blocks: list[markdown.Block] = []

    def say(self, blocks: list[markdown.Block]) -> None:
        self._blocks += [b for b in blocks if b]

    def run(self, source: str, outputs: list[dict[str, Any]], said: str) -> None:
        self.flush()
        metadata = {"hm_jupyter": said} if said else {}
        self._add({"cell_type": "code", "execution_count": None, "metadata": metadata, "outputs": outputs}, source)

    def flush(self) -> None:
        if self._blocks:
            self._add({"cell_type": "markdown", "metadata": {}}, markdown.join(self._blocks))
        self._blocks = []

    def _add(self, cell: dict[str, Any], source: str) -> None:
        cell["id"] = f"cell-{len(self.cells) + 1}"
        cell["source"] = source.splitlines(keepends=True)
        self.cells.append(cell)


def _ran(tool: ToolEntry) -> str:
    """The source of the code cell for a call, "" for one that is shown otherwise."""
    if tool.status not in ("completed", "failed", "interrupted") or tool.diffs:
        return ""
    if tool.decision is not None and tool.decision.outcome != "allowed":
        return ""
    command = wording.command(tool).strip("\n")
    if command:
        source = f"%%bash\n{command}"
    elif tool.name.lower() in _PYTHON and isinstance(tool.input, dict):
        given = next((v for k in ("code", "source", "script") if isinstance(v := tool.input.get(k), str)), "")
        source = given.strip("\n")
    else:
        return ""
    return "" if safe.has_hidden(source) else source  # what is not what it looks like is shown, and cannot be run


def _outputs(tool: ToolEntry) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    lines = text.output_lines(str(tool.output), text.WHOLE)
    if lines:
        out.append(_stream("stdout", "\n".join(lines) + "\n"))
    code = tool.exit_code
    if tool.status != "completed" or code:
        out.append(_stream("stderr", f"exit {code}\n" if code is not None else f"{wording.label(tool)}\n"))
    for picture in tool.images:
        uri = images.data_uri(picture)
        if uri:
            kind, _, data = uri.removeprefix("data:").partition(";base64,")
            shown = {kind: data, "text/plain": images.caption(picture)}
            out.append({"output_type": "display_data", "data": shown, "metadata": {}})
    return out


def _stream(name: str, words: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": words.splitlines(keepends=True)}


def _turn(cells: _Cells, view: TurnView, state: SessionState, times: bool) -> None:
    cells.flush()
    if view.turn:
        head = [requote.text(p) for p in turn_words.headline(view, state, times=times)]
        cells.say([[f"## {view.number}. {requote.text(documents.name_of(view))}"], [f"*{' · '.join(head)}*"]])
    for entry in view.top:
        _entry(cells, entry, view, times)
    first, rest = turn_words.ending(view)
    if first:
        cells.say([[f"**{first}** {requote.text(' '.join(rest.split()))}".rstrip()]])


def _entry(cells: _Cells, entry: Entry, view: TurnView, times: bool) -> None:
    if isinstance(entry, ToolEntry) and entry.call_id not in view.inner:
        source = _ran(entry)
        if source:
            cells.run(source, _outputs(entry), decided.decision(entry) or "")
            return
    if isinstance(entry, UserEntry) and entry is not view.prompt:
        cells.flush()  # what a person said begins a cell; the prompt stands beneath its turn's heading
    cells.say(markdown.entry_blocks(entry, view, limit=text.WHOLE, times=times, embed=True))


def notebook(transcript: Transcript, *, title: str = "", times: bool = True, redacted: Sequence[str] = ()) -> str:
    """The session as the text of an ``.ipynb`` file."""
    views, state = select(transcript), state_of(transcript)
    name = documents.heading(state, views, title)
    cells = _Cells()
    cells.say([[f"# {requote.text(name)}"], [requote.text(" · ".join(documents.facts(state, views, times)))]])
    if any(isinstance(e, ToolEntry) and _ran(e) for v in views for e in v.top):
        cells.say([[_HOW]])
    if redacted:
        cells.say([[requote.text(documents.taken_out(redacted))]])
    for view in views:
        _turn(cells, view, state, times)
    cells.flush()
    whole = {
        "cells": cells.cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
            "hm_jupyter": {"agent": safe.one_line(state.agent), "redacted": list(redacted)},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"
