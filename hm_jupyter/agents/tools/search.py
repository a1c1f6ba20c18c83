"""search: the lines of files in which a text or a regular expression is found. ripgrep does it where it is installed.

Runs in a process of its own, so that neither a catastrophic expression nor a huge tree can hang the agent. Files that
hold credentials by their name are left out, unless the call names just that file (and a person then sees it).
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from . import helper
from .base import Context, Plan, Result, Tool, ToolError, flag_field, number_field, schema, text_field
from .files import locate
from .listing import CLUTTER, listing
from .outputs import is_output
from .wildcards import BadPattern, Wildcards
from .workspace import Workspace

SECONDS = 20.0
"""Longest search."""

LINES, WIDTH, PER_FILE = 300, 300, 100
"""Most lines a model gets, most characters of each, and most hits of one file."""

_BATCH = 60_000
"""Characters of file names that go to our own searcher at once: a command line has an end."""


class Search(Tool):
    name = "search"
    category = "search"
    description = (
        "Search the contents of files for a regular expression (or with literal for plain text). Gives path:line:text."
        f" Files that Git ignores, binary ones and those over 5 MB are left out; at most {LINES} lines are shown, so be"
        " specific. path may also be an id such as output:shell-3, to search a long output that was kept."
    )
    schema = schema(
        ["pattern"],
        pattern={"type": "string"},
        path={"type": "string", "description": "a folder or file (default: the workspace)"},
        glob={"type": "string", "description": "only files that fit, such as *.py or src/**/*.ts"},
        literal={"type": "boolean", "description": "the pattern is plain text, no regular expression"},
        ignore_case={"type": "boolean"},
        context={"type": "integer", "description": "lines to show around each hit, at most 10"},
    )

    def plan(self, input: dict[str, Any], workspace: Workspace) -> Plan:
        pattern = text_field(input, "pattern")
        if not pattern or "\0" in pattern or "\n" in pattern:
            raise ToolError("'pattern' is empty, or holds a line break or NUL: lines are searched one by one")
        if not flag_field(input, "literal"):
            try:
                re.compile(pattern)
            except (re.error, RecursionError, OverflowError) as error:
                raise ToolError(f"'pattern' is no regular expression ({error}); for plain text, set literal") from None
        flag_field(input, "ignore_case")
        number_field(input, "context", 0, 0, 10)
        glob = text_field(input, "glob", "")
        if glob:
            try:
                Wildcards(glob)
            except BadPattern as error:
                raise ToolError(str(error)) from None
        where = text_field(input, "path", ".") or "."
        if is_output(where):
            return Plan(input)
        path = locate(workspace, where)
        return Plan(input, "read", paths=[path], outside=[] if workspace.inside(path) else [path])

    def summary(self, input: dict[str, Any]) -> str:
        place = " ".join(str(input[k]) for k in ("path", "glob") if input.get(k))
        return f"{input.get('pattern', '')}{f' in {place}' if place else ''}"

    async def run(self, plan: Plan, context: Context) -> Result:
        if not plan.paths:
            return await _in_output(plan, context)
        top = plan.paths[0]
        name = context.workspace.name(top)
        if top.resolve() != top or not top.exists():
            raise ToolError(f"there is no file or folder {name}")
        if not top.is_dir():
            return await _ours(plan, top.parent, [top.name], context, "")
        found = await listing(top)
        names = found.names
        if glob := plan.input.get("glob"):
            wildcards = Wildcards(glob)
            names = [n for n in names if wildcards.match(n)]
        shown = [n for n in names if not _left_out(top / n, context)]
        notes = []
        if len(names) > len(shown):
            notes.append(f"[{len(names) - len(shown)} files left out: they hold credentials, or a rule forbids it]")
        if found.cut:
            notes.append("[there are too many files to look at all of them: give a folder]")
        prefix = "" if top == context.workspace.root else f"{name}/"
        searched = await (_ripgrep if shutil.which("rg") and not glob else _ours)(plan, top, shown, context, prefix)
        return Result("\n".join([searched.text, *notes]))


def _left_out(path: Path, context: Context) -> bool:
    return path.is_symlink() or context.hidden(path)


async def _ripgrep(plan: Plan, top: Path, names: list[str], context: Context, prefix: str) -> Result:
    """All of the folder at once; what it is not to show is left out of its answer."""
    command = [
        "rg", "--no-config", "--null", "--line-number", "--with-filename", "--no-heading", "--color=never", "--hidden",
        "--sort=path", "--max-filesize=5M", f"--max-count={PER_FILE}", f"--context={_context(plan)}",
    ]  # fmt: skip
    command += [f"--glob=!**/{folder}/**" for folder in sorted(CLUTTER)]
    command += ["--fixed-strings"] if plan.input.get("literal") else []
    command += ["--ignore-case"] if plan.input.get("ignore_case") else []
    command += [f"--regexp={plan.input['pattern']}", "--", "."]
    output = await helper.ask(command, str(top), seconds=SECONDS, characters=4_000_000)
    if output.code == 2 and not output.text and not output.late:  # an expression it does not know: ours may
        return await _ours(plan, top, names, context, prefix)
    return _result(output.text, prefix, set(names), cut=output.cut, late=output.late)


async def _ours(plan: Plan, top: Path, names: list[str], context: Context, prefix: str) -> Result:
    pattern = plan.input["pattern"]
    job = {
        "pattern": re.escape(pattern) if plan.input.get("literal") else pattern, "top": str(top),
        "ignore_case": bool(plan.input.get("ignore_case")), "context": _context(plan), "most": PER_FILE,
    }  # fmt: skip
    text, cut, late = "", False, False
    for batch in _batches(names):
        left = 1_000_000 - len(text)
        command = helper.worker("lines", json.dumps({**job, "files": batch}))
        output = await helper.ask(command, str(top), seconds=SECONDS, characters=left)
        text += output.text
        cut, late = output.cut or text.count("\n") > LINES, output.late
        if output.code and not late and not output.cut:
            raise ToolError("the search failed; try another pattern")
        if cut or late:
            break
    return _result(text, prefix, None, cut=cut, late=late)


async def _in_output(plan: Plan, context: Context) -> Result:
    import tempfile

    id = str(plan.input["path"])
    text = context.kept(id)
    if text is None:
        raise ToolError(f"there is no kept output {id}")
    with tempfile.TemporaryDirectory(prefix="hm-search-") as folder:
        path = Path(folder) / id.replace("/", "_")
        for number in range(0, len(text), 4_000_000):  # as long as a file may be that is searched
            path.with_name(f"{path.name}{f'+{number}' if number else ''}").write_text(
                text[number : number + 4_000_000], encoding="utf-8", errors="replace"
            )
        names = sorted(p.name for p in Path(folder).iterdir())
        return await _ours(plan, Path(folder), names, context, "")


def _batches(names: list[str]) -> list[list[str]]:
    out: list[list[str]] = [[]]
    size = 0
    for name in names:
        cost = len(json.dumps(name)) + 2
        if size + cost > _BATCH and out[-1]:
            out.append([])
            size = 0
        out[-1].append(name)
        size += cost
    return out


def _context(plan: Plan) -> int:
    return int(number_field(plan.input, "context", 0, 0, 10))


def _result(text: str, prefix: str, wanted: set[str] | None, *, cut: bool, late: bool) -> Result:
    rows: list[str] = []
    for row in text.splitlines() if "\r" not in text else text.split("\n"):
        file, zero, rest = row.partition("\0")
        file = file.removeprefix("./")
        if not zero:
            if row == "--" and rows and rows[-1] != "--":
                rows.append(row)
            continue
        if wanted is not None and file not in wanted:
            continue
        number, sign, line = re.match(r"(\d*)([:-]?)(.*)", rest, re.DOTALL).groups()  # type: ignore[union-attr]  # it fits any text
        line = line.rstrip("\r")
        if len(line) > WIDTH:
            line = line[:WIDTH] + f" [… {len(line) - WIDTH} more characters]"
        rows.append(f"{prefix}{file}{sign}{number}{sign}{line}")
    notes = []
    if len(rows) > LINES or cut:
        notes.append(f"[only the first {min(len(rows), LINES)} lines are shown: be more specific]")
    if late:
        notes.append(
            f"[stopped after {SECONDS:.0f} s: the expression may be one that takes for ever, or there is too much to"
            " search; make it simpler, or give a path or glob]"
        )
    shown = rows[:LINES]
    return Result("\n".join([*(shown or ["nothing found"]), *notes]))
