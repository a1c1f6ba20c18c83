"""The built widget in a real browser, without Jupyter: hostile text through every field, and how it behaves with a mouse.

Needs a built bundle.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from hm_jupyter import transcript as tr
from hm_jupyter.events import (
    ApprovalOption,
    Background,
    Choice,
    ConfigOption,
    FileDiff,
    FormField,
    Image,
    SlashCommand,
)

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "hm_jupyter" / "static"
DEV = ROOT / "js" / "dev"
FILES = {
    "/": (DEV / "index.html", "text/html"),
    "/harness.js": (DEV / "harness.js", "text/javascript"),
    "/theme.css": (DEV / "theme.css", "text/css"),
    "/widget.js": (STATIC / "widget.js", "text/javascript"),
    "/widget.css": (STATIC / "widget.css", "text/css"),
}
HOSTILE: list[str] = json.loads((ROOT / "tests/golden/hostile.json").read_text(encoding="utf-8"))
WORDS = {  # fields whose values are ours, not text of an agent
    "kind", "id", "turn", "op", "status", "open", "level", "delivery", "role", "partial", "multi", "free", "for_session", "state", "outcome", "by",
    "stop_reason", "request_id", "call_id", "category",
}  # fmt: skip


pytestmark = [
    pytest.mark.skipif(not (STATIC / "widget.js").exists(), reason="the bundle is not built: npm run build in js/"),
]


class Tab:
    """A page with the harness, and what went wrong in it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        self.errors: list[str] = []
        page.on("dialog", self._dialog)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("popup", lambda popup: self.requests.append(f"popup {popup.url}"))
        page.context.route("**/*", self._serve)
        page.goto("http://hm.test/")
        page.wait_for_function("window.hm !== undefined")

    def _dialog(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _serve(self, route: Any) -> None:
        url = route.request.url
        found = FILES.get(url.removeprefix("http://hm.test")) if url.startswith("http://hm.test") else None
        if found is None:
            if not url.endswith("/favicon.ico"):
                self.requests.append(url)
            route.abort()
        else:
            route.fulfill(body=found[0].read_bytes(), content_type=found[1])

    def show(self, scene: dict[str, Any], **behaviour: Any) -> None:
        self.page.evaluate(
            """([scene, behaviour]) => {
                window.shown?.stop();
                document.body.innerHTML = '<div id="at"></div>';
                window.shown = hm.show(document.getElementById("at"), scene, behaviour);
            }""",
            [scene, behaviour],
        )
        self.settle()

    def settle(self) -> None:
        self.page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))"
        )

    def sent(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.page.evaluate(
            "shown.model.sent.filter(m => m.t === 'command').map(m => m.command)"
        )
        return found


@pytest.fixture
def tab(browser: Any) -> Iterator[Tab]:
    context = browser.new_context(viewport={"width": 800, "height": 900})
    yield Tab(context.new_page())
    context.close()


def scene(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / f"tests/golden/widget/{name}.json").read_text(encoding="utf-8"))
    return found


def poison(value: Any, text: str, key: str = "") -> Any:
    """``value`` with every text an agent controls, in every field, replaced by ``text``."""
    if key in WORDS or value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (str, tr.Rope)):
        return text
    if is_dataclass(value) and not isinstance(value, type):
        return type(value)(**{f.name: poison(getattr(value, f.name), text, f.name) for f in fields(value)})
    if isinstance(value, list):
        return [poison(v, text) for v in value]
    if isinstance(value, dict):
        return {(k if k in ("text", "status") else text): poison(v, text, k) for k, v in value.items()}
    return value


def every_entry() -> list[Any]:
    """One entry of each kind with something in every field."""
    images = [Image("x", "x"), Image("x", "x")]
    diffs = [
        FileDiff("x", "old x", "new x"),
        FileDiff("x", None, "x"),
        FileDiff("x", "x", None),
        FileDiff("x", "x", "y", True),
    ]
    decision = tr.Decision("denied", "you", "x", "x", True, "x", ["x"], ["x"], "x")
    tool = {
        "input": {"command": "x", "path": "x"},
        "output": tr.Rope("x"),
        "diffs": diffs,
        "images": images,
        "locations": ["x"],
        "decision": decision,
        "started": 1.0,
        "ended": 2.0,
    }
    tools = [
        tr.ToolEntry(f"to{i}", 1, f"c{i}", "x", "x", category, status, **tool)
        for i, (category, status) in enumerate(
            [("shell", "failed"), ("read", "completed"), ("edit", "denied"), ("other", "running"), ("x", "completed")]
        )
    ]
    return [
        tr.TurnEntry("t1", 1, "failed", "error", "x", "x", "x", started=1.0, ended=3.0),
        tr.UserEntry("us", 1, "x", "steer", "read", images, ["x"], 2.0),
        tr.UserEntry("uq", 1, "x", "follow_up", "queued", images, ["x"], 2.0),
        tr.MessageEntry("m1", 1, tr.Rope("x"), open=True, images=images),
        tr.MessageEntry("m2", 1, tr.Rope("x"), open=False, interrupted=True),
        tr.ThoughtEntry("th", 1, tr.Rope("x"), open=True, started=1.0),
        *tools,
        tr.ToolEntry(
            "ti",
            1,
            "ci",
            "x",
            "x",
            "other",
            "completed",
            ["x", {"x": "x"}],
            decision=tr.Decision("allowed", "policy", rule="x"),
        ),
        tr.QuestionEntry("q1", 1, "cq", "x", [Choice("x", "x", "x")], "answered", "x", "you", "x"),
        tr.QuestionEntry("q2", 1, "cr", "x", [], "answered", "x", form=[FormField("x", title="x")], source="x"),
        tr.QuestionEntry("q3", 1, "cs", "x", [], "skipped", url="x", source="x"),
        tr.PlanEntry("pl", 1, [{"text": "x", "status": "active"}, {"text": "x", "status": "done"}], "x"),
        tr.CompactionEntry("c1", 1, "failed", "x", "x"),
        tr.NoticeEntry("n1", 1, "x", "warning", "x"),
        tr.NoticeEntry("n2", 1, "x", "error", "x"),
        tr.UnknownEntry("k1", 1, "x", {"x": ["x"], "y": "x"}),
    ]


def every_pending() -> list[Any]:
    options = [ApprovalOption("x", "x", kind) for kind in ("allow_once", "allow_session", "deny_once", "deny_session")]
    choices = [Choice("x", "x", "x", "x")]
    form = [
        FormField("x", kind, "x", "x", True, "x", choices, wanted, "x")
        for kind, wanted in (
            ("text", ""),
            ("text", "email"),
            ("integer", ""),
            ("boolean", ""),
            ("select", ""),
            ("multi", ""),
        )
    ]
    form.append(FormField("x", "select", "x", choices=[Choice("x", "x", "", "x")] * 9))
    common: dict[str, Any] = {
        "tool": "x",
        "summary": "x",
        "cwd": "x",
        "paths": ["x", "x"],
        "rule": "x",
        "reason": "x",
        "for_session": True,
    }
    return [
        tr.PendingApproval("a1", "p1", 1, category="shell", command="x", input={"command": "x", "x": "x"}, **common),
        tr.PendingApproval("a4", "p7", 1, category="shell", command="x", options=options, **common),
        tr.PendingApproval(
            "a2",
            "p2",
            1,
            category="edit",
            diffs=[FileDiff("x", "a", "x"), FileDiff("x", None, "x")],
            input={"path": "x"},
            **common,
        ),
        tr.PendingApproval("a3", "p3", 1, category="other", input={"x": {"x": "x"}}, **common),
        tr.PendingQuestion("q1", "p4", 1, "x", [Choice("x", "x", "x"), Choice("x", "x", "x")]),
        tr.PendingQuestion("q2", "p5", 1, "x", [Choice("x", "x", "x")], True, False),
        tr.PendingQuestion("q3", "p6", 1, "x"),
        tr.PendingQuestion("q4", "p8", 1, "x", free=False, form=form, source="x"),
        tr.PendingQuestion("q5", "p9", 1, "x", free=False, url="x", source="x"),
    ]


def hostile_scene(text: str) -> dict[str, Any]:
    state = tr.SessionState(
        session_id="x", agent="x", root="x", title="x", mode="x", modes=["x", "y"], provider="x", model="x", models=["x", "y"], effort="x",
        approve="x", context=5, context_size=10, ended="x", labels={"x": "x"}, link="x", spent="x", protocol="x",
        commands=[SlashCommand("x", "x", "x"), SlashCommand("x")], background=[Background("terminal", "x", "x", True)],
        options=[ConfigOption("x", "x", "select", "x", "x", "x", [Choice("x", "x", "x", "x")]), ConfigOption("x", "x", "boolean", True, "x")],
    )  # fmt: skip
    state = poison(state, text)
    state.status, state.turn, state.pending = "waiting", 1, [poison(p, text) for p in every_pending()]
    state.capabilities = {
        "steer": True,
        "follow_up": True,
        "deny_note": "native",
        "edits": True,
        "set_mode": True,
        "set_model": True,
        "options": True,
        "cancel_work": True,
    }
    entries = [tr.to_json(poison(e, text)) for e in every_entry()]
    start = {"t": "snapshot", "seq": 1, "state": tr.to_json(state), "entries": entries, "now": 4.0}
    appended = [
        {"op": "append", "id": "m1", "field": "text", "text": "\n\n" + text},
        {"op": "append", "id": "to3", "field": "output", "text": text},
    ]
    return {"turn": 0, "start": start, "batches": [{"t": "ops", "seq": 2, "ops": appended}]}


OPEN_ALL = """async () => {
  for (let i = 0; i < 3; i++) {
    for (const d of document.querySelectorAll("details")) d.open = true;
    await new Promise(done => setTimeout(done, 30));
  }
  for (const b of document.querySelectorAll("#at [aria-expanded=false]")) b.click();
  const box = document.querySelector("#at .hm-composer textarea");
  if (box) { box.focus(); box.value = "/"; box.dispatchEvent(new Event("input")); }
  for (const fold of document.querySelectorAll(".hm-fold")) if (!fold.hidden) fold.click();
  for (const el of document.querySelectorAll("#at *")) {
    for (const type of ["mouseover", "mouseenter", "focus", "toggle", "load", "error", "pointerdown"]) el.dispatchEvent(new Event(type));
  }
}"""
LEFT_OVER = """() => {
  const bad = [];
  for (const el of document.querySelectorAll("#at *")) {
    if (/^(SCRIPT|STYLE|IFRAME|OBJECT|EMBED|LINK|META|BASE|FORM|VIDEO|AUDIO|MATH|TEMPLATE)$/i.test(el.tagName)) bad.push(el.outerHTML);
    for (const a of el.attributes) {
      if (/^on|^data-(?!lm-suppress-shortcuts)|^ping$|^download$|^srcset$/i.test(a.name)) bad.push(el.tagName + " " + a.name);
      if (a.name === "class" && !/^(hm-[\\w-]+ *)*$/.test(a.value)) bad.push("class " + a.value);
      if (a.name === "id" && !/^hm-[a-z0-9]+-\\d+$/.test(a.value)) bad.push("id " + a.value);
      if (a.name === "style" && !/^((height|width): [\\d.]+(px|%);)?$/.test(a.value)) bad.push("style " + a.value);
    }
    if (el.tagName === "A" && !/^(https?:\\/\\/|mailto:)/i.test(el.getAttribute("href"))) bad.push("href " + el.getAttribute("href"));
    if (el.tagName === "IMG" && !/^data:image\\/(png|jpeg|gif|webp);base64,/.test(el.getAttribute("src"))) bad.push("src " + el.getAttribute("src"));
  }
  return bad;
}"""


def test_hostile_text_in_every_field_runs_nothing_and_fetches_nothing(tab: Tab) -> None:
    for text in HOSTILE:
        tab.show(hostile_scene(text))
        tab.page.evaluate(OPEN_ALL)
        tab.settle()
        assert tab.page.evaluate("window.pwned") is None, text
        assert tab.page.evaluate(LEFT_OVER) == [], text
        assert tab.page.url == "http://hm.test/", text
    assert tab.dialogs == []
    assert tab.requests == []
    assert tab.errors == []


def test_a_remote_picture_is_fetched_only_on_a_click(tab: Tab) -> None:
    shown = scene("finished")
    shown["start"]["entries"][-1]["text"] = "![cat](https://pictures.example/cat.png)"
    tab.show(shown)
    assert tab.requests == []
    tab.page.get_by_role("button", name="from pictures.example").click()
    tab.page.wait_for_selector("img")
    assert tab.requests == ["https://pictures.example/cat.png"]


def test_agent_text_cannot_leave_its_column(tab: Tab) -> None:
    shown = scene("finished")
    shown["start"]["entries"][-1]["text"] = (
        HOSTILE[13] + "\n\n" + HOSTILE[29] + "\n\n" + "W" * 3000 + "\n\n```\n" + "x" * 3000 + "\n```"
    )
    tab.show(shown)
    assert tab.page.locator(".hm-frame").count() == 0
    left = tab.page.evaluate("document.querySelector('.hm-root').getBoundingClientRect().left")
    assert tab.page.evaluate("document.querySelector('.hm-say .hm-agent').getBoundingClientRect().left") >= left + 24
    assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_click_on_allow_sends_the_approval(tab: Tab) -> None:
    tab.show(scene("approve-command"))
    tab.page.wait_for_timeout(450)  # the guard: a click in the first 400 ms is not meant for this button
    tab.page.get_by_role("button", name="Allow once").click()
    assert [(c["type"], c["allow"], c["edits"]) for c in tab.sent()] == [("approve", True, None)]


def test_a_click_at_once_is_not_meant_for_the_button(tab: Tab) -> None:
    sent = tab.page.evaluate(
        """async scene => {
          document.body.innerHTML = '<div id="at"></div>';
          window.shown = hm.show(document.getElementById("at"), scene);
          document.querySelector(".hm-btn-allow").click();
          return shown.model.sent.filter(m => m.t === "command");
        }""",
        scene("approve-command"),
    )
    assert sent == []


def test_enter_on_the_focused_allow_button_does_nothing_and_y_allows(tab: Tab) -> None:
    tab.show(scene("approve-command"))
    tab.page.wait_for_timeout(450)
    tab.page.get_by_role("button", name="Allow once").focus()
    tab.page.keyboard.press("Enter")
    assert tab.sent() == []
    tab.page.keyboard.press("y")
    assert [c["allow"] for c in tab.sent()] == [True]


def test_what_is_decided_is_shown_whole(tab: Tab) -> None:
    shown = scene("approve-script")
    shown["start"]["state"]["pending"][0]["command"] = "\n".join(f"echo line {i} " + "long " * 40 for i in range(200))
    tab.show(shown)
    cut = tab.page.evaluate(
        """() => [...document.querySelectorAll(".hm-frame, .hm-frame *")].filter(el => !el.closest(".hm-sr, textarea, input") &&
            getComputedStyle(el).overflowY !== "visible" && el.scrollHeight > el.clientHeight + 1 && el.clientHeight > 0).map(el => el.className)"""
    )
    assert cut == []
    assert tab.page.locator(".hm-cmd-line").count() == 200
    below = "document.querySelector('.hm-acts-gate').getBoundingClientRect().top > document.querySelector('.hm-cmd').getBoundingClientRect().bottom"
    assert tab.page.evaluate(below)


def test_streaming_4000_pieces_keeps_the_page_at_work(tab: Tab) -> None:
    """Each frame draws only what changed: 4,000 pieces in 100 batches cost well under a second of drawing."""
    shown = scene("streaming")
    shown["batches"] = []
    tab.show(shown)
    spent = tab.page.evaluate(
        """async () => {
          const text = "Some *words* of a paragraph that goes on, with `code`. ".repeat(6) + "\\n\\n";
          let seq = 7, spent = 0;
          for (let i = 0; i < 100; i++) {
            const ops = Array.from({length: 40}, (_, k) => ({op: "append", id: "m1", field: "text", text: text.slice(k * 9, k === 39 ? undefined : k * 9 + 9)}));
            const before = performance.now();
            shown.model.receive({t: "ops", seq: ++seq, ops});
            await new Promise(done => requestAnimationFrame(() => { done(); }));
            spent += performance.now() - before;
          }
          return spent;
        }"""
    )
    assert tab.page.locator(".hm-say p").count() >= 100
    assert spent < 6000  # a frame each at 60 Hz is 1.7 s; re-rendering it all takes minutes


def test_two_views_of_one_model_agree_and_leave_when_told(tab: Tab) -> None:
    tab.show(scene("approve-command"))
    tab.page.evaluate(
        """() => {
          const el = document.createElement("div"); el.id = "second"; document.body.append(el);
          window.second = new AbortController();
          hm.widget.render({model: shown.model, el, signal: second.signal});
        }"""
    )
    tab.settle()
    assert tab.page.locator(".hm-frame").count() == 2
    tab.page.evaluate(
        "shown.model.receive({t: 'ops', seq: 8, ops: [{op: 'state', patch: {pending: [], status: 'working'}}]})"
    )
    tab.settle()
    assert tab.page.locator(".hm-frame").count() == 0
    tab.page.evaluate("second.abort()")
    assert tab.page.locator("#second .hm-root").count() == 0
    assert tab.page.locator("#at .hm-root").count() == 1


def test_initialize_returns_at_once(tab: Tab) -> None:
    took = tab.page.evaluate(
        """scene => { const model = hm.fakeModel(scene); const before = performance.now();
          hm.widget.initialize({model, signal: new AbortController().signal}); return performance.now() - before; }""",
        scene("tools"),
    )
    assert took < 500


@pytest.mark.parametrize("width", [760, 380, 300])
def test_nothing_overflows_and_targets_are_big_enough(tab: Tab, width: int) -> None:
    spec = importlib.util.spec_from_file_location("widget_shots", DEV / "shots.py")
    assert spec is not None
    assert spec.loader is not None
    shots = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(shots)
    tab.page.set_viewport_size({"width": width + 32, "height": 900})
    for path in sorted((ROOT / "tests/golden/widget").glob("*.json")):
        tab.show(scene(path.stem))
        assert tab.page.evaluate(shots.FAULTS) == [], path.stem
    assert tab.errors == []


def test_a_box_that_may_scroll_has_nothing_to_scroll(tab: Tab) -> None:
    """JupyterLab's outputs are such boxes: one pixel too many, and a second scroll bar stands beside the page's."""
    for path in sorted((ROOT / "tests/golden/widget").glob("*.json")):
        tab.show(scene(path.stem))
        over = tab.page.evaluate(
            """() => {
              const box = document.getElementById("at");
              box.style.cssText = "position: relative; overflow: auto";
              return [box.scrollHeight - box.clientHeight, box.scrollWidth - box.clientWidth];
            }"""
        )
        assert over == [0, 0], path.stem
