"""One JupyterLab and one Chromium for all browser tests; a notebook, page and kernel for each."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lab import CHROMIUM_ARGS, Lab, Notebook, chromium
from playwright.sync_api import Browser, sync_playwright

SCENARIO = Path(__file__).resolve().parent.parent / "helpers" / "browser.toml"

START = f"""%load_ext hm_jupyter
import os, pathlib
work = pathlib.Path("work"); work.mkdir(exist_ok=True)
for old in work.iterdir(): old.unlink()
(work / "a.txt").write_text("first\\nold\\nlast\\n"); (work / "b.txt").write_text("old\\n")
%hm start --scenario {SCENARIO} --cwd work
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in Path(item.fspath).parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    started = Lab(tmp_path_factory.mktemp("lab"))
    yield started
    started.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium()
    if not path:
        pytest.skip("there is no Chromium: install it, or name it in HM_CHROMIUM")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=CHROMIUM_ARGS)
        yield launched
        launched.close()


@pytest.fixture
def open_notebook(lab: Lab, browser: Browser, request: pytest.FixtureRequest) -> Iterator[Callable[..., Notebook]]:
    """``open_notebook([cell, …])``: after the test its kernel is ended; a failure leaves a screenshot in HM_SHOTS."""
    opened: list[Notebook] = []

    def open(cells: list[str], **options: bool) -> Notebook:
        name = re.sub(r"\W+", "-", request.node.name).strip("-")[:60]
        opened.append(Notebook(lab, browser, f"{name}-{len(opened)}.ipynb", cells, **options))
        return opened[-1]

    yield open
    shots = os.environ.get("HM_SHOTS")
    for notebook in opened:
        if shots:
            Path(shots).mkdir(parents=True, exist_ok=True)
            notebook.page.screenshot(path=str(Path(shots) / f"{notebook.path.stem}.png"))
        notebook.close()


@pytest.fixture
def start() -> str:
    """A cell that loads the extension and starts the built-in agent on ``browser.toml`` in an own folder."""
    return START
