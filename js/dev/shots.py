"""Screenshots of every golden scene: ``python js/dev/shots.py OUT [scene …]``. Needs playwright and a built bundle.

Prints what is wrong with a layout: overflow, and targets under 28 px. No server: the page's files are answered from disk.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from playwright.sync_api import Page, Route, sync_playwright

ROOT = Path(__file__).parents[2]
DEV = ROOT / "js" / "dev"
STATIC = ROOT / "hm_jupyter" / "static"
FILES = {
    "/": DEV / "index.html", "/harness.js": DEV / "harness.js", "/theme.css": DEV / "theme.css",
    "/widget.js": STATIC / "widget.js", "/widget.css": STATIC / "widget.css",
}  # fmt: skip
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
FAULTS = """() => {
  const out = [];
  for (const root of document.querySelectorAll(".hm-root")) {
    const width = root.getBoundingClientRect().right + 1;
    for (const el of root.querySelectorAll("*")) {
      const r = el.getBoundingClientRect();
      if (!r.width || el.closest(".hm-sr, .hm-scroll, .hm-pre")) continue;
      if (r.right > width) out.push(`overflow: ${el.tagName}.${el.className} ${Math.round(r.right - width)} px`);
      if (/^(BUTTON|SELECT|SUMMARY)$/.test(el.tagName) && r.height < 27.5) out.push(`small: ${el.tagName}.${el.className} ${r.height}`);
    }
  }
  return out;
}"""


def serve(route: Route) -> None:
    path = route.request.url.removeprefix("http://hm.test")
    file = FILES.get(path)
    if file is None:
        route.abort()
    else:
        route.fulfill(body=file.read_bytes(), content_type=TYPES[file.suffix])


def open_page(page: Page, theme: str) -> None:
    page.route("**/*", serve)
    page.goto("http://hm.test/")
    page.wait_for_function("window.hm !== undefined")
    page.evaluate("theme => { document.body.className = theme; document.body.dataset.jpThemeLight = String(theme === 'light') }", theme)


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    names = sys.argv[2:] or sorted(p.stem for p in (ROOT / "tests/golden/widget").glob("*.json"))
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox"])
        for theme, width in (("light", 760), ("dark", 760), ("light", 380), ("dark", 380)):
            page = browser.new_page(viewport={"width": width + 32, "height": 2000}, device_scale_factor=1.5)
            page.on("pageerror", lambda error: print("ERROR", error))
            open_page(page, theme)
            for name in names:
                scene = json.loads((ROOT / f"tests/golden/widget/{name}.json").read_text())
                page.evaluate(
                    """([scene, name]) => {
                        document.body.innerHTML = `<div class="cell"><b>${name}</b><div class="at"></div></div>`;
                        window.shown?.stop();
                        window.shown = hm.show(document.querySelector(".at"), scene);
                    }""",
                    [scene, name],
                )
                page.wait_for_timeout(2800 if scene.get("route", {}).get("route") else 150)
                for fault in page.evaluate(FAULTS):
                    print(name, theme, width, fault)
                page.locator(".cell").screenshot(path=out / f"{name}.{theme}.{width}.png")
        browser.close()


if __name__ == "__main__":
    main()
