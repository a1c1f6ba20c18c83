"""``hm-jupyter guard``: try the rules on a call (``check``), or begin a file of one's own (``init``).

Runs nothing of what it is given. Exit codes: 0 allowed, 1 asks, 2 denied, 3 the call or a rules file cannot be used.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from ..config import ConfigError
from ..modes import DEFAULT_MODE, configured
from ..tools import TOOLS
from ..tools.base import Plan, ToolError
from ..tools.workspace import Workspace
from .judge import Guard, user_file

ALLOW, ASK, DENY, FAULT = 0, 1, 2, 3

EXAMPLE = """\
# Rules of the built-in agent: docs/guard.md describes them, `hm-jupyter guard check 'CALL'` tries them.
# deny wins over ask, ask over allow. What no rule is about, the mode decides.
# A * in a word stands for any characters, a * as a word for any words, {a,b} for one of the two.

deny:
  - command: git push *
    reason: pushing is done by hand
  # - path: "data/private/**"      # in every way: reads, edits, commands that name it

ask:
  - tool: edit
    path: [pyproject.toml, ".github/**"]

allow:
  - command: [git status, "git diff *", "git log *"]
  # - command: "pytest *"          # runs code of the workspace
  # - tool: edit
  #   path: "src/**"
  # - host: docs.python.org        # fetch, over https

# Only in your own file: folders whose own guard.yaml may allow too, not only forbid.
trust: []
"""


def main(argv: Sequence[str]) -> int:
    """The command line; returns the exit code."""
    p = argparse.ArgumentParser(prog="hm-jupyter guard", allow_abbrev=False)
    commands = p.add_subparsers(dest="what", required=True, metavar="check | init")
    check = commands.add_parser(
        "check",
        allow_abbrev=False,
        help="what would happen to a call",
        epilog="exit code: 0 allowed, 1 asks, 2 denied or refused, 3 the call or a rules file cannot be used",
    )
    check.add_argument(
        "call",
        metavar="CALL",
        help="a shell command; or 'read PATH', 'edit PATH', 'fetch URL'; or JSON: {\"tool\": …, \"input\": {…}}",
    )
    check.add_argument("--cwd", metavar="DIR", default=".", help="the workspace (default: the current folder)")
    check.add_argument("--mode", metavar="NAME", default=DEFAULT_MODE, help="the mode (default: ask)")
    init = commands.add_parser("init", allow_abbrev=False, help="write a guard.yaml of your own to begin with")
    init.add_argument("--workspace", action="store_true", help="in the current folder, not beside hm.toml")
    try:
        flags, more = p.parse_known_args(argv)
        if more:
            call = getattr(flags, "call", "")
            quoted = f"; put the call in quotes: hm-jupyter guard check '{' '.join([call, *more])}'" if call else ""
            p.error(f"unrecognized arguments: {' '.join(more)}{quoted}")
    except SystemExit as end:
        return FAULT if end.code else 0
    return _init(workspace=flags.workspace) if flags.what == "init" else _check(flags.call, flags.cwd, flags.mode)


def _init(*, workspace: bool) -> int:
    path = Path("guard.yaml") if workspace else user_file()
    if path is None:
        print("HM_CONFIG is empty, so there is no folder for it: set it to a file's name, or unset it", file=sys.stderr)
        return FAULT
    text = EXAMPLE if not workspace else EXAMPLE[: EXAMPLE.index("# Only in your own")].rstrip() + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        print(f"{path} is there already; nothing was written", file=sys.stderr)
        return FAULT
    except OSError as error:
        print(f"{path} cannot be written: {error.strerror or error}", file=sys.stderr)
        return FAULT
    print(f"wrote {path}")
    return 0


def _check(call: str, cwd: str, mode_name: str) -> int:
    from ..approvals import judge

    if not Path(cwd).is_dir():
        print(f"--cwd: there is no folder {cwd!r}", file=sys.stderr)
        return FAULT
    workspace = Workspace(cwd)
    guard = Guard.load(workspace.root)
    try:
        known = configured()
    except ConfigError as error:
        print(error, file=sys.stderr)
        return FAULT
    if mode_name not in known:
        print(f"--mode: there is no mode {mode_name!r}; the modes are {', '.join(known)}", file=sys.stderr)
        return FAULT
    for text in [*guard.problems, *guard.notes]:
        print(text, file=sys.stderr)
    try:
        tool, plan = _plan(call, workspace)
    except (ToolError, ValueError) as error:
        print(f"this call cannot be checked: {error}", file=sys.stderr)
        return FAULT
    verdict = judge(
        plan, mode=known[mode_name], approve="ask", rules=set(), workspace=workspace, guard=guard, tool=tool
    )  # fmt: skip
    said = guard.judge(plan, workspace, tool=tool)
    if verdict.what == "refuse":
        print(f"deny: {verdict.reason}")
        return DENY
    if verdict.what == "run":
        print(f"allow: {verdict.rule or 'no rule is about it; ' + _mode_allows(plan, mode_name)}")
        return FAULT if guard.problems else ALLOW
    print(f"ask: {verdict.reason}" + (f"\nrule: {said.rule}" if said.rule and said.rule not in verdict.reason else ""))
    return FAULT if guard.problems else ASK


def _mode_allows(plan: Plan, mode: str) -> str:
    return f'mode "{mode}" allows it' if plan.risk in ("shell", "edit") else "it needs no leave"


def _plan(call: str, workspace: Workspace) -> tuple[str, Plan]:
    """The tool and plan of a call as ``check`` takes it. Raises ``ValueError`` or :class:`ToolError`."""
    text = call.strip()
    if text.startswith("{") and '"tool"' in text:
        value = json.loads(text)
        tool, given = value.get("tool"), value.get("input", {})
        if not isinstance(tool, str) or not isinstance(given, dict):
            raise ValueError('write {"tool": "shell", "input": {"command": "…"}}')
        if tool not in TOOLS:
            raise ValueError(f"there is no tool {tool!r}; the tools are {', '.join(TOOLS)}")
        return tool, TOOLS[tool].plan(given, workspace)
    head, _, rest = text.partition(" ")
    rest = rest.strip()
    if head in ("read", "edit") and rest:
        path = workspace.locate(rest)
        outside = [] if workspace.inside(path) else [path]
        plan = Plan({"path": rest}, "read" if head == "read" else "edit", paths=[path], outside=outside)
        return ("read_file" if head == "read" else "edit_file"), plan
    if head == "fetch" and rest:
        return "fetch", fetch_plan(rest)
    return "shell", TOOLS["shell"].plan({"command": call}, workspace)


def fetch_plan(url: str) -> Plan:
    """What a fetch of ``url`` would plan."""
    return Plan({"url": url}, "fetch", url=url)
