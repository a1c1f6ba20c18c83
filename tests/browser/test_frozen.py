"""The frozen output in a real JupyterLab: it looks as its stylesheet says beside whatever else is on the page."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from lab import Lab, Notebook

from ..exports import story

pytestmark = pytest.mark.slow

Open = Callable[..., Notebook]
ROOT = Path(__file__).resolve().parent.parent.parent

STORY = f"""import sys; sys.path.insert(0, {str(ROOT)!r})
from IPython.display import HTML, Markdown, display
from hm_jupyter.exports.mime import bundle
from hm_jupyter.transcript import *
from tests.exports import story
def show(*entries):
    told = Transcript()
    for entry in entries: told.apply(Put(entry))
    display(bundle(told, None), raw=True)
whole = story.everything()
display(bundle(whole, None), raw=True)"""
# One cell for each kind of entry: each has another part of the stylesheet, and comes after the others on the page.
EACH = """for entry in whole.entries.values(): show(entry)
show(MessageEntry("m", 1, Rope("words")))"""
OTHERS = """display(Markdown("# Title\\n\\n| a | b |\\n|---|---|\\n| 1 | 2 |\\n\\n`code` **bold**\\n\\n> quote\\n\\n- item\\n\\n```py\\nx\\n```"))
display(HTML("<details><summary>more</summary>x</details><pre>pre</pre><table><tr><th>h</th></tr><tr><td>1</td></tr></table>"))
print("printed")"""

LOOKS = """const LOOKS = ["padding", "margin", "border", "background-color", "color", "white-space", "word-break", "overflow-wrap",
    "font-size", "font-family", "font-weight", "font-style", "line-height", "text-align", "text-decoration-line", "text-indent",
    "display", "gap", "grid-template-columns", "list-style-type", "vertical-align", "overflow-x", "max-width", "min-height"];
"""
# The computed style of every element below `roots`, one line each.
STYLES = (
    LOOKS
    + """const styles = root => [root, ...root.querySelectorAll("*")].map(el => {
    const style = getComputedStyle(el);
    return el.tagName + " " + (el.getAttribute("class") ?? "") + ";" + LOOKS.map(p => p + ": " + style.getPropertyValue(p)).join(";");
});
const ours = () => [...document.querySelectorAll(".jp-OutputArea style")].filter(s => s.textContent.includes(".hm-frozen"));
const only = keep => ours().forEach(s => { s.sheet.disabled = !keep(s); });
const differences = (a, b) => a.flatMap((line, i) => {
    if (line === b[i]) return [];
    const other = new Set(b[i].split(";"));
    return [line.split(";").filter((p, n) => n === 0 || !other.has(p)).join("; ")];
}).slice(0, 5);
"""
)
DISTURBED = f"""() => {{ {STYLES}
    const bad = [];
    for (const root of document.querySelectorAll(".hm-root.hm-frozen")) {{
        const own = root.parentElement.querySelector("style");
        only(() => true); const all = styles(root);
        only(s => s === own); bad.push(...differences(all, styles(root)));
    }}
    only(() => true);
    return bad;
}}"""
DISTURBING = f"""() => {{ {STYLES}
    const others = [...document.querySelectorAll(".jp-RenderedMarkdown, .jp-RenderedText, .jp-RenderedHTMLCommon:not(:has(.hm-root)), .hm-live")];
    only(() => true); const all = others.flatMap(styles);
    only(() => false); const bad = differences(all, others.flatMap(styles));
    only(() => true);
    return [others.length, bad];
}}"""
# JupyterLab styles everything inside an output; where those rules do not reach the same markup looks the same.
OUTRANKED = f"""() => {{ {STYLES}
    return [...document.querySelectorAll(".jp-OutputArea .hm-root.hm-frozen")].flatMap(root => {{
        const copy = root.cloneNode(true);
        copy.style.width = root.clientWidth + "px";
        document.body.append(copy);
        const bad = differences(styles(root).slice(1), styles(copy).slice(1)).filter(line => !/^(svg|THEAD|TR) /.test(line));
        copy.remove();
        return bad;
    }}).filter((line, i, all) => all.indexOf(line) === i);
}}"""


def test_a_copied_diff_is_a_patch_that_applies(open_notebook: Open, lab: Lab, tmp_path: Path) -> None:
    notebook = open_notebook([STORY])
    notebook.run_to_end(0)
    notebook.context.grant_permissions(["clipboard-read", "clipboard-write"])
    diffs = notebook.frozen(0).locator("pre.hm-udiff")
    diffs.first.click()  # so that the page has the focus
    copied = ""
    for one in diffs.all():
        one.evaluate("el => getSelection().selectAllChildren(el)")
        notebook.page.keyboard.press("Control+c")
        copied += notebook.page.evaluate("() => navigator.clipboard.readText()").rstrip("\n") + "\n"
    for command in (["git", "apply", "-p0"], ["patch", "-p0"]):
        folder = tmp_path / command[0]
        (folder / "src").mkdir(parents=True)
        (folder / "src" / "load.py").write_text(story.LOAD_OLD)
        (folder / "src" / "join.py").write_text(story.JOIN_OLD)
        subprocess.run(command, input=copied, text=True, cwd=folder, check=True)
        assert (folder / "src" / "load.py").read_text() == story.LOAD_NEW
        assert (folder / "src" / "join.py").read_text() == story.JOIN_NEW


def test_a_saved_notebook_holds_the_output_and_nothing_of_this_run(open_notebook: Open, start: str, lab: Lab) -> None:
    notebook = open_notebook(
        [
            start,
            "%%hm --approve all\nmake the list\nthen change both",
            "hm_last = __import__('hm_jupyter').last\nhm_last",
        ]
    )
    for i in range(3):
        notebook.run_to_end(i)
    notebook.frozen(1).first.wait_for()
    notebook.until(lambda: notebook.view(1).count() == 0, "the output was never frozen")
    saved = notebook.save()
    assert "widgets" not in saved.metadata
    for cell in saved.cells[1:]:
        assert {kind for output in cell.outputs for kind in output.data} == {
            "text/html", "text/markdown", "text/plain", "application/vnd.hm-jupyter.transcript+json"
        }  # fmt: skip
        text = json.dumps(cell.outputs)
        assert str(lab.root) not in text
        assert not re.search(r"0x[0-9a-f]{6,}|widget|\b\d{4}-\d\d-\d\d|\b\d\d:\d\d:\d\d\b|\"1[78]\d{8}(\.\d+)?", text)


def test_many_cells_disturb_neither_each_other_nor_anything_else(open_notebook: Open, start: str, lab: Lab) -> None:
    notebook = open_notebook([STORY, EACH, OTHERS, start, "%%hm --background\nmake the list"])
    for i in range(5):
        notebook.run_to_end(i)
    notebook.view(4).locator(".hm-frame").first.wait_for()
    assert notebook.page.evaluate(DISTURBED) == []
    seen, bad = notebook.page.evaluate(DISTURBING)
    assert seen >= 4
    assert bad == []
    bad = notebook.page.evaluate(OUTRANKED)
    assert bad == [], bad
