"""The architecture's rules that import-linter cannot say (the others are contracts in pyproject.toml)."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib  # noqa: TID251 - 3.11 and newer only, tomli below
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "hm_jupyter"
MODULES = sorted(PACKAGE.rglob("*.py"))

SANS_IO = [
    *sorted((PACKAGE / "protocols").rglob("*.py")),
    *sorted((PACKAGE / "exports").rglob("*.py")),
    *(
        PACKAGE / name
        for name in ("session/state.py", "session/reducer.py", "transports/lines.py", "transports/sse.py")
    ),
    *(PACKAGE / f"transports/{name}.py" for name in ("chunked", "backoff", "http_routes")),
    *(PACKAGE / f"{name}.py" for name in ("events", "commands", "forms", "transcript", "errors")),
]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), name_of(path))


def imports_of(path: Path) -> Iterator[tuple[ast.stmt, str]]:
    """Every absolute import in a file, at whatever depth, as (statement, dotted name)."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node, node.module


@pytest.mark.parametrize("path", [p for p in SANS_IO if p.exists()], ids=name_of)
def test_a_sans_io_module_awaits_nothing_and_opens_nothing(path: Path) -> None:
    for node in ast.walk(tree_of(path)):
        assert not isinstance(node, (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)), (
            f"{name_of(path)}:{node.lineno}: async in a sans-I/O module"
        )
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"open", "print", "input"}, f"{name_of(path)}:{node.lineno}: {node.func.id}()"


@pytest.mark.parametrize("path", [p for p in SANS_IO if p.exists()], ids=name_of)
def test_a_sans_io_module_reads_no_clock(path: Path) -> None:
    clocks = {"now", "utcnow", "today", "time", "monotonic", "perf_counter"}
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in clocks:
            owner = ast.unparse(node.func.value)
            assert owner.split(".")[-1] not in {"datetime", "date", "time"}, (
                f"{name_of(path)}:{node.lineno}: {owner}.{node.func.attr}() reads the clock; take the time as an argument"
            )


# A loop's pool may be borrowed for what cannot be awaited; each with its reason.
BORROWS_A_POOL_THREAD = {
    "hm_jupyter/session/decider.py",  # a person's policy function may take its time, and the loop must not wait for it
    "hm_jupyter/session/async_calls.py",  # export writes a file
}


@pytest.mark.parametrize("path", [p for p in MODULES if name_of(p) != "hm_jupyter/session/runtime.py"], ids=name_of)
def test_no_other_module_starts_a_thread(path: Path) -> None:
    starters = {"Thread", "Timer", "ThreadPoolExecutor", "start_new_thread"}
    borrowers = {"to_thread", "run_in_executor", "run_sync"}
    forbidden = starters | (set() if name_of(path) in BORROWS_A_POOL_THREAD else borrowers)
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func).split(".")
            assert called[-1] not in forbidden, f"{name_of(path)}:{node.lineno}: {'.'.join(called)} starts a thread"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(tree_of(path)), f"{name_of(path)} has no docstring"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_heavy_and_optional_packages_are_imported_only_where_they_are_used(path: Path) -> None:
    tree = tree_of(path)
    for node in tree.body:
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        for name in names:
            assert name.split(".")[0] not in {"pandas", "matplotlib", "numpy", "PIL"}, (
                f"{name_of(path)}:{node.lineno}: import {name} inside the function that needs it"
            )


def test_importing_the_package_imports_none_of_its_dependencies() -> None:
    code = "import sys, hm_jupyter; print(' '.join(sorted({m.split('.')[0] for m in sys.modules})))"
    out = subprocess.run([sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}"],
                         capture_output=True, text=True, timeout=60, check=True).stdout.split()  # fmt: skip
    heavy = {"pydantic", "anyio", "asyncio", "anywidget", "ipywidgets", "IPython", "jupyter_server", "PIL", "pandas"}
    assert not heavy & set(out)


def test_the_package_lists_what_is_public_and_each_of_that_is_there() -> None:
    import hm_jupyter

    assert dir(hm_jupyter) == sorted([*hm_jupyter.__all__, "__version__"])
    assert all(hasattr(hm_jupyter, name) for name in dir(hm_jupyter))


def test_everything_that_is_imported_is_declared_and_everything_declared_is_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    models = project["optional-dependencies"]["llm"]
    declared, extra = (
        {re.split(r"[;<>=\[]", d)[0].strip().lower() for d in given} for given in (project["dependencies"], models)
    )
    distribution = {
        "pydantic_ai": "pydantic-ai-slim",
        "genai_prices": "genai-prices",
        "ipython": "ipython",
        "pil": "pillow",
        "markdown_it": "markdown-it-py",
        "jupyter_core": "jupyter-core",
        "yaml": "pyyaml",
    }
    # Not the kernel environment's business, or there whenever the code that imports it runs; each with its reason:
    elsewhere = {
        "h11",  # httpx's, by way of httpcore
        "pydantic_core",  # pydantic's own, of the exact version it needs
        "ipykernel",  # a kernel that runs us is one, or is another one and we do without
        "comm",  # ipykernel's and anywidget's
        "ipywidgets",  # anywidget's
        "jupyter_server",  # the server extension is loaded by it
        "tornado",  # jupyter_server's
        "pandas",  # Turn.to_pandas() only
        "matplotlib",  # only for a figure the caller already has
        "typing_extensions",  # pydantic's
        "anthropic",  # pydantic-ai-slim[anthropic] brings it, of a version it knows
        "openai",  # pydantic-ai-slim[openai], likewise
        "bs4",  # markdownify's
        "keyring",  # asked for a key only where it is installed
    }
    elsewhere.add("tomllib")  # Python's own from 3.11 on; tomli stands in for it below
    third_party, of_models = set(), set()
    for path in MODULES:
        for _, name in imports_of(path):
            top = name.split(".")[0]
            if top not in sys.stdlib_module_names and top not in {"hm_jupyter", "__future__"}:
                models = any(part in path.as_posix() for part in ("agents/llm/", "agents/tools/worker/"))
                (of_models if models else third_party).add(top)
    used = {distribution.get(name.lower(), name.lower()) for name in third_party - elsewhere}
    used_by_models = {distribution.get(name.lower(), name.lower()) for name in of_models - elsewhere}
    extra -= {"anthropic"}  # held down for an old Python only, brought by pydantic-ai-slim
    assert extra <= used_by_models <= extra | declared, "the extra llm is what agents/llm and the tools' worker import"
    assert used <= declared, f"imported but not in pyproject.toml's dependencies: {sorted(used - declared)}"
    declared -= {"tomli"} - used  # declared below Python 3.11 only, and imported there only
    # ipython is a dependency for its magics machinery even where only traitlets or TYPE_CHECKING names it.
    assert declared <= used | {"ipython"}, (
        f"in pyproject.toml's dependencies but never imported: {sorted(declared - used)}"
    )
