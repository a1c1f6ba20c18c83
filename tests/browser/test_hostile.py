"""The hostile corpus through every field an agent has, in a real JupyterLab: live, frozen, trusted and not.

``helpers/hostile_agent.py`` plays it. Nothing may run, be fetched, carry an attribute JupyterLab acts on, or look like
a part of the widget that the agent did not get.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from lab import Lab, Notebook
from playwright.sync_api import Page

from ..hostile import CORPUS

pytestmark = pytest.mark.slow

Open = Callable[..., Notebook]
AGENT = Path(__file__).resolve().parent.parent / "helpers" / "hostile_agent.py"
PWN = "window.pwned = []; window.pwn = () => { window.pwned.push(new Error().stack); };"
START = f"""%load_ext hm_jupyter
import sys
agent = [sys.executable, {str(AGENT)!r}]
%hm start $agent --protocol hm"""

# Opens every fold of the outputs and does what a mouse does, then lists what must not be there.
LOOK = r"""async () => {
  for (let i = 0; i < 2; i++) {
    for (const d of document.querySelectorAll(".jp-OutputArea details:not([open])")) d.open = true;
    await new Promise(done => setTimeout(done, 20));
  }
  const bad = [];
  for (const el of document.querySelectorAll(".jp-OutputArea .hm-root *, .jp-OutputArea .hm-root, .jp-RenderedMarkdown *")) {
    for (const type of ["mouseover", "mouseenter", "focus", "toggle", "load", "error"]) el.dispatchEvent(new Event(type));
    if (el.closest("mjx-container")) continue;  // a formula, drawn by JupyterLab: only its links are looked at, below
    if (/^(SCRIPT|IFRAME|OBJECT|EMBED|LINK|META|BASE|FORM|VIDEO|AUDIO|MATH|TEMPLATE|PORTAL)$/i.test(el.tagName)) bad.push(el.outerHTML.slice(0, 200));
    for (const a of el.attributes) {
      if (/^on|^data-commandlinker|^ping$|^download$|^srcset$|^formaction$|^background$/i.test(a.name)) bad.push(el.tagName + " " + a.name);
    }
    if (el.tagName === "A" && el.hasAttribute("href") && !/^(https?:\/\/|mailto:|#)/i.test(el.getAttribute("href"))) bad.push("href " + el.getAttribute("href"));
    if (el.tagName === "IMG" && !/^data:image\/(png|jpeg|gif|webp);base64,/.test(el.getAttribute("src") ?? "")) bad.push("src " + el.getAttribute("src"));
  }
  for (const a of document.querySelectorAll("mjx-container [href], mjx-container [*|href]")) bad.push("formula " + a.outerHTML.slice(0, 200));
  return bad.slice(0, 10);
}"""
# An agent's words are inside a body, a row, a cell of ours; what makes a frame is drawn by us alone.
FAKES = r"""() => [...document.querySelectorAll(".hm-root.hm-frozen")].flatMap(root =>
  [...root.querySelectorAll("button, input, textarea, select, [role=button], .hm-frame, .hm-btn, .hm-dock")].map(el => el.outerHTML.slice(0, 200)))"""


def nothing_happened(page: Page) -> None:
    assert page.evaluate(LOOK) == []
    assert page.evaluate(FAKES) == []
    assert page.evaluate("() => window.pwned") == []


def nothing_fetched(notebook: Notebook) -> None:
    assert notebook.foreign_requests() == []
    own = re.compile(
        rf"(blob:|data:|(http|ws)://127\.0\.0\.1:{notebook.lab.port}/(api|kernelspecs|lab|lsp|static|custom|hm_jupyter|doc/tree/[\w-]+\.ipynb|doc/workspaces|favicon))"
    )
    assert [u for u in notebook.requests if not own.match(u)] == [], "not an address JupyterLab asks for by itself"


def without_html(notebook: Any) -> Any:
    """The notebook for a viewer that takes no HTML: markdown is next."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop("text/html", None)
    return notebook


def test_nothing_an_agent_says_runs_or_is_fetched(open_notebook: Open, lab: Lab) -> None:
    names = list(CORPUS)
    small = names.index("long line")  # those before it are not about size
    notebook = open_notebook([START, f"%%hm\nsay 0 {small}", f"%%hm\nask 0 {small} 3"])
    dialogs: list[str] = []
    notebook.context.on("dialog", lambda d: (dialogs.append(d.message), d.dismiss()))
    notebook.context.add_init_script(PWN)
    notebook.page.evaluate(f"() => {{ {PWN} }}")
    assert "is ready" in notebook.run_to_end(0)

    notebook.run(1)
    notebook.wait_done(1)
    notebook.frozen(1).first.wait_for()
    notebook.run(2)
    frames = notebook.view(2).locator(".hm-frame")
    notebook.until(lambda: frames.count() == 5 * len(names[:small:3]), "not everything waits in a frame")
    nothing_happened(notebook.page)
    assert notebook.view(2).locator(".hm-agent .hm-frame, .hm-agent .hm-btn, .hm-md button.hm-btn").count() == 0
    notebook.interrupt()
    notebook.wait_done(2)
    notebook.until(lambda: notebook.view(2).count() == 0, "the output was never frozen")
    nothing_happened(notebook.page)

    saved = notebook.save()
    notebook.reload()  # trusted: this page's own kernel made it
    notebook.frozen(2).first.wait_for()
    nothing_happened(notebook.page)
    for change in (lambda n: n, without_html):  # somebody else's notebook, and one whose HTML is refused
        other = lab.root / "untrusted.ipynb"
        copy = change(nbformat.from_dict(saved))
        copy.cells[0].source += "\n# not signed"
        for cell in copy.cells:
            cell.metadata.pop("trusted", None)
        nbformat.write(copy, other)
        page = notebook.context.new_page()
        page.on("request", notebook._request)
        page.goto(f"{lab.url}/doc/tree/{other.name}?reset")
        page.locator(".jp-Cell .jp-OutputArea-output").nth(1).wait_for(timeout=60_000)
        nothing_happened(page)
        page.close()
    assert dialogs == []
    nothing_fetched(notebook)
