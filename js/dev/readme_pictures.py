"""The README's pictures: a real cell that waits, in a real JupyterLab, light and dark, written to docs/images/.

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
START = """%load_ext hm_jupyter
from hm_jupyter.agents.demo import make_workspace
make_workspace("shop")
%hm start --scenario quickstart --cwd shop
"""
PROMPT = "%%hm\nwhy does the join drop 312 rows? show me, then fix it"
WIDTH = 980


def main() -> None:
    """Take both pictures."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        lab = Lab(Path(folder))
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_ARGS)
        try:
            for theme in ("Light", "Dark"):
                lab.set("@jupyterlab/apputils-extension/themes", {"theme": f"JupyterLab {theme}"})
                name = f"{theme.lower()}.ipynb"
                picture(Notebook(lab, browser, name, [START, PROMPT], dark=theme == "Dark", scale=1.5), theme)
        finally:
            browser.close()
            lab.stop()


def picture(notebook: Notebook, theme: str) -> None:
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
    target = IMAGES / f"approval-{theme.lower()}.png"
    shot.quantize(128, dither=Image.Dither.NONE).save(target, optimize=True)
    print(f"{target.name}: {shot.width}x{shot.height}, {target.stat().st_size // 1000} kB")
    notebook.close()


if __name__ == "__main__":
    main()
