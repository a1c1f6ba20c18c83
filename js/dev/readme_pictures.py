"""The README's pictures: real cells that wait, one with the built-in agent and one with an agent that speaks ACP, in a
real JupyterLab, light and dark, written to docs/images/.

    PYTHONPATH=tests/helpers python js/dev/readme_pictures.py

Needs what the browser tests need, and Pillow. The pictures have a palette, so that they stay small in the repository.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from lab import CHROMIUM_ARGS, Lab, Notebook, chromium
from PIL import Image
from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).resolve().parent.parent.parent / "docs" / "images"
JOIN = """import pandas as pd


def joined(orders: pd.DataFrame, customers: pd.DataFrame) -> pd.DataFrame:
    # each order with its customer
    return orders.merge(customers, on="customer_id", how="inner")
"""
START = """%load_ext hm_jupyter
from hm_jupyter.agents.demo import make_workspace
make_workspace("shop")
%hm start --scenario quickstart --cwd shop
"""
PROMPT = "%%hm\nwhy does the join drop 312 rows? show me, then fix it"
WIDTH = 980

AGENT = Path(__file__).resolve().parent.parent.parent / "tests" / "helpers" / "acp_agent.py"
ACP_START = f"""%load_ext hm_jupyter
import sys
from pathlib import Path
Path("/tmp/shop/src").mkdir(parents=True, exist_ok=True)
Path("/tmp/shop/src/join.py").write_text('''{{join}}''')
Path("my-agent.py").write_text("import runpy, sys; sys.path.insert(0, {str(AGENT.parent)!r}); runpy.run_path({str(AGENT)!r}, run_name='__main__')")
agent = [sys.executable, str(Path("my-agent.py").resolve()), "--v1", "--scenario", "repair src/join.py inner left"]
%hm start agent --cwd /tmp/shop
""".replace("{join}", JOIN)
ACP_PROMPT = "%%hm\nwhy do we lose orders in the join? fix it"


def main() -> None:
    """Take all pictures."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        lab = Lab(Path(folder))
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_ARGS)
        try:
            for theme in ("Light", "Dark"):
                lab.set("@jupyterlab/apputils-extension/themes", {"theme": f"JupyterLab {theme}"})
                for what, cells in (("approval", [START, PROMPT]), ("acp", [ACP_START, ACP_PROMPT])):
                    name = f"{what}-{theme.lower()}"
                    picture(Notebook(lab, browser, f"{name}.ipynb", cells, dark=theme == "Dark", scale=1.5), name)
        finally:
            browser.close()
            lab.stop()


def picture(notebook: Notebook, name: str) -> None:
    """The second cell with its request, cut out of the page."""
    page = notebook.page
    page.set_viewport_size({"width": WIDTH, "height": 1000})
    notebook.run_to_end(0)
    notebook.run(1)
    notebook.view(1).locator(".hm-frame").wait_for()
    notebook.until(lambda: "waiting 0:02" in notebook.view(1).inner_text(), "the frame never counted")
    page.add_style_tag(content=".jp-cell-toolbar, .jp-toolbar-overlap .jp-Toolbar { visibility: hidden !important; }")
    page.evaluate("() => document.activeElement?.blur()")
    page.mouse.move(0, 0)
    cell = notebook.cell(1)
    cell.scroll_into_view_if_needed()
    shot = Image.open(io.BytesIO(cell.screenshot())).convert("RGB")
    target = IMAGES / f"{name}.png"
    shot.quantize(128, dither=Image.Dither.NONE).save(target, optimize=True)
    print(f"{target.name}: {shot.width}x{shot.height}, {target.stat().st_size // 1000} kB")
    notebook.close()


if __name__ == "__main__":
    main()
