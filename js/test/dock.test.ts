/** What an agent offers besides asking: settings, commands, background work, a plan, sub-agents; and its connection lost. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Command, KernelMessage, ToolEntry } from "../src/model";
import { HOSTILE } from "./hostile";
import { button, press, scene, type Scene, show } from "./helpers";

const wait = (ms: number) => vi.advanceTimersByTimeAsync(ms);
beforeEach(() => { vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "requestAnimationFrame", "cancelAnimationFrame"] }); });
afterEach(() => { vi.restoreAllMocks(); vi.useRealTimers(); document.body.replaceChildren(); });

const bare = (c: Command | undefined) => { const { id: _, ...rest } = c as Command; return rest; };
const ops = (seq: number, ...list: unknown[]) => ({ t: "ops", seq, ops: list }) as KernelMessage;
const patch = (p: object) => ({ op: "state", patch: p });
const box = (root: Element) => root.querySelector(".hm-composer textarea") as HTMLTextAreaElement;
const write = (root: Element, text: string) => { box(root).focus(); box(root).value = text; box(root).dispatchEvent(new Event("input", { bubbles: true })); };
const listed = (root: Element) => [...root.querySelectorAll(".hm-slash:not([hidden]) [role=option] code")].map((c) => c.textContent);
const row = (root: Element, words: string) => [...root.querySelectorAll<HTMLDetailsElement>("details")].find((d) => d.querySelector("summary")?.textContent?.includes(words)) as HTMLDetailsElement;
const changed = (name: string, state: object): Scene => { const s = scene(name); Object.assign(s.start.state, state); return s; };
const pick = (root: Element, name: string) => root.querySelector(`select[aria-label="${name}"]`) as HTMLSelectElement;
const setting = (root: Element, name: string) => { const label = [...root.querySelectorAll<HTMLLabelElement>(".hm-settings .hm-label")].find((l) => l.textContent === name); return root.querySelector(`[id="${label?.htmlFor}"]`) as HTMLSelectElement & HTMLInputElement; };
const choose = (select: HTMLSelectElement, value: string) => { select.value = value; select.dispatchEvent(new Event("change", { bubbles: true })); };

describe("settings", () => {
  it("have the names the agent gives them, in groups", async () => {
    const { root } = await show("acp-settings", wait);
    expect([...pick(root, "Mode").options].map((o) => [o.value, o.textContent])).toEqual([["default", "mode: Always ask"], ["acceptEdits", "mode: Accept edits"], ["plan", "mode: Plan"]]);
    expect([...pick(root, "Model").querySelectorAll("optgroup")].map((g) => g.label)).toEqual(["Anthropic", "Local"]);
    expect([...setting(root, "Answers").querySelectorAll("optgroup")].map((g) => g.label)).toEqual(["Plain", "Roles"]);
  });

  it("a mode and a model of one id keep their own names", async () => {
    const s = changed("acp-settings", { modes: ["default", "plan"], models: ["default", "opus"], mode: "default", model: "default", labels: { default: "Manual", plan: "Plan", opus: "Opus" } });
    for (const o of s.start.state.options) if (o.category === "model") o.choices = [{ value: "default", label: "Recommended", help: "", group: "" }, { value: "opus", label: "Opus", help: "", group: "" }];
    const { root } = await show(s, wait);
    expect([...pick(root, "Model").options].map((o) => o.textContent)).toEqual(["Recommended", "Opus"]);
  });

  it("… also where no setting names them, only the session", async () => {
    const s = changed("acp-settings", { modes: ["default", "plan"], models: ["default", "opus"], mode: "default", model: "default", options: [], labels: { plan: "Plan", opus: "Opus", "mode:default": "Manual", "model:default": "Recommended" } });
    const { root } = await show(s, wait);
    expect([...pick(root, "Mode").options].map((o) => o.textContent)).toEqual(["mode: Manual", "mode: Plan"]);
    expect([...pick(root, "Model").options].map((o) => o.textContent)).toEqual(["Recommended", "Opus"]);
  });

  it("are behind one button, mode and model not twice", async () => {
    const { root } = await show("acp-settings", wait);
    const settings = button(root, "Settings");
    const panel = root.querySelector(".hm-settings") as HTMLElement;
    expect(panel.hidden).toBe(true);
    settings.click();
    expect([panel.hidden, settings.getAttribute("aria-expanded")]).toEqual([false, "true"]);
    expect([...panel.querySelectorAll(".hm-form > .hm-label")].map((l) => l.textContent)).toEqual(["Thinking", "Web search", "Answers"]);
    setting(root, "Thinking").focus();
    press(setting(root, "Thinking"), "Escape");
    expect(panel.hidden).toBe(true);
    expect(document.activeElement).toBe(settings);
  });

  it("are changed by their own commands", async () => {
    const k = await show("acp-settings", wait);
    choose(setting(k.root, "Thinking"), "high");
    setting(k.root, "Web search").click();
    choose(pick(k.root, "Mode"), "plan");
    choose(pick(k.root, "Model"), "qwen");
    expect(k.commands().map(bare)).toEqual([
      { type: "set_option", option: "thinking", value: "high" }, { type: "set_option", option: "web", value: false },
      { type: "set_mode", mode: "plan" }, { type: "set_model", model: "qwen" }]);
  });

  it("say that a change is on its way, and why it was refused, and then show what holds", async () => {
    const k = await show("acp-settings", wait);
    button(k.root, "Settings").click();
    setting(k.root, "Thinking").focus();
    choose(setting(k.root, "Thinking"), "high");
    expect(document.activeElement).toBe(setting(k.root, "Thinking"));
    expect(k.root.querySelector(".hm-settings")?.textContent).toContain("Changing");
    k.say({ t: "ack", id: k.commands()[0]?.id ?? "", ok: false, error: "This model does not think." });
    await wait(20);
    expect(k.root.querySelector(".hm-settings")?.textContent).toContain("Not changed: This model does not think.");
    expect(setting(k.root, "Thinking").value).toBe("medium");
    choose(pick(k.root, "Mode"), "plan");
    k.say({ t: "ack", id: k.commands()[1]?.id ?? "", ok: false, error: "Not now." });
    await wait(20);
    expect(k.root.querySelector(".hm-status")?.textContent).toContain("Mode not changed: Not now.");
    expect(pick(k.root, "Mode").value).toBe("default");
  });

  it("follow what the agent changes itself", async () => {
    const k = await show("acp-settings", wait);
    const options = k.store.state.options.map((o) => (o.id === "web" ? { ...o, value: false } : o));
    k.say(ops(8, patch({ options })));
    await wait(50);
    expect(setting(k.root, "Web search").checked).toBe(false);
  });

  it("are not there where the agent offers none or takes no changes", async () => {
    for (const s of [changed("acp-settings", { options: [] }), changed("acp-settings", { capabilities: {} })]) {
      const { root } = await show(s, wait);
      expect(root.querySelector(".hm-list li:not([hidden]) [aria-expanded]")).toBeNull();
    }
    const { root } = await show(changed("acp-settings", { capabilities: {} }), wait);
    expect(root.querySelector(".hm-status select")).toBeNull();
  });
});

describe("the agent's commands", () => {
  it("are listed after a slash, those that begin with what is written first", async () => {
    const { root } = await show("acp-slash", wait);
    write(root, "/");
    expect(listed(root)).toEqual(["/review", "/compact", "/init", "/rewind", "/cost"]);
    write(root, "/CO");
    expect(listed(root)).toEqual(["/compact", "/cost"]);
    write(root, "/i");
    expect(listed(root)).toEqual(["/init", "/review", "/rewind"]);
    for (const text of ["", "a /re", "/review this", "/nothing"]) { write(root, text); expect(listed(root)).toEqual([]); }
  });

  it("tell readers what is open and active, while the focus stays in the box", async () => {
    const { root } = await show("acp-slash", wait);
    write(root, "/re");
    expect(box(root).getAttribute("role")).toBe("combobox");
    expect(box(root).getAttribute("aria-expanded")).toBe("true");
    const active = () => root.querySelector(`[id="${box(root).getAttribute("aria-activedescendant")}"]`);
    expect(active()?.textContent).toContain("/review");
    press(box(root), "ArrowDown");
    expect(active()?.textContent).toContain("/rewind");
    expect(active()?.getAttribute("aria-selected")).toBe("true");
    press(box(root), "ArrowDown");
    expect(active()?.textContent).toContain("/review");
    press(box(root), "ArrowUp");
    expect(active()?.textContent).toContain("/rewind");
    expect(document.activeElement).toBe(box(root));
  });

  it.each(["Enter", "Tab"])("%s takes the active one, sends nothing, and tells what to write after it", async (key) => {
    const k = await show("acp-slash", wait);
    write(k.root, "/re");
    expect(press(box(k.root), key)).toBe(false);
    expect(box(k.root).value).toBe("/review ");
    expect(listed(k.root)).toEqual([]);
    expect(k.commands()).toEqual([]);
    expect(k.root.querySelector(".hm-hint:not([role])")?.textContent).toBe("/review what to look at");
  });

  it("written whole is sent by Enter", async () => {
    const k = await show("acp-slash", wait);
    write(k.root, "/init");
    press(box(k.root), "Enter");
    expect(k.commands().map(bare)).toEqual([{ type: "prompt", text: "/init" }]);
  });

  it("are chosen by the pointer too", async () => {
    const k = await show("acp-slash", wait);
    write(k.root, "/");
    (k.root.querySelectorAll("[role=option]")[2] as HTMLElement).click();
    expect(box(k.root).value).toBe("/init");
  });

  it("Esc closes the list until more is written, and Tab is Tab again", async () => {
    const { root } = await show("acp-slash", wait);
    write(root, "/re");
    press(box(root), "Escape");
    expect(listed(root)).toEqual([]);
    expect(box(root).getAttribute("aria-activedescendant")).toBeNull();
    expect(press(box(root), "Tab")).toBe(true);
    write(root, "/rev");
    expect(listed(root)).toEqual(["/review"]);
  });

  it("are not completed where the agent has none", async () => {
    const { root } = await show("ready", wait);
    write(root, "/");
    expect(listed(root)).toEqual([]);
    expect(box(root).getAttribute("aria-expanded")).toBe("false");
  });

  it.each(HOSTILE)("with hostile names are harmless: %s", async (text) => {
    const { root } = await show(changed("acp-slash", { commands: [{ name: text, help: text, hint: text }, { name: "x", help: "", hint: "" }] }), wait);
    write(root, "/");
    expect(root.querySelector(".hm-slash")?.querySelector("script, img, a, iframe, style, svg")).toBeNull();
  });
});

describe("a message to an agent that hears nothing before the turn's end", () => {
  it("can be queued and nothing else, and the box says so", async () => {
    const k = await show("acp-busy", wait);
    expect([...k.root.querySelectorAll<HTMLElement>(".hm-box-foot button")].filter((b) => !b.hidden).map((b) => b.textContent)).toEqual(["Queue↵"]);
    expect(k.root.querySelector(".hm-hint:not([role])")?.textContent).toContain("waits for the turn to end");
    write(k.root, "then plot");
    press(box(k.root), "Enter");
    expect(k.commands().map(bare)).toEqual([{ type: "follow_up", text: "then plot" }]);
  });
});

describe("how full the context is, and what was spent", () => {
  it("is in the status line, in words when it is nearly full", async () => {
    const { root } = await show("acp-plan-usage", wait);
    const list = root.querySelector(".hm-list")?.textContent ?? "";
    expect(list).toContain("94 % full of the context in use");
    expect(list).toContain("4.20 EUR spent");
    expect(root.querySelector<HTMLElement>(".hm-list [title*=context]")?.title).toBe("187k of 200k tokens of context in use");
  });

  it.each([[null, 200], [5, null], [5, 0]])("is not there when %s of %s is all the agent says", async (context, context_size) => {
    const { root } = await show(changed("acp-plan-usage", { context, context_size }), wait);
    expect(root.querySelector(".hm-list")?.textContent).not.toContain("of the context");
  });
});

describe("a lost connection to the agent", () => {
  it("is said with its reason, and nothing that cannot act now can be pressed", async () => {
    const k = await show("acp-offline", wait);
    expect(k.root.querySelector(".hm-dock")?.textContent).toContain("Connection lost, reconnecting… The server closed the connection (HTTP 502).");
    expect(k.root.querySelector(".hm-frame")?.textContent).toContain("The agent cannot be reached.");
    for (const b of k.root.querySelectorAll<HTMLButtonElement>(".hm-frame button, .hm-stop, .hm-box-foot button")) expect([b.textContent, b.disabled]).toEqual([b.textContent, true]);
    press(k.root.querySelector(".hm-frame") as Element, "y");
    write(k.root, "hello");
    press(box(k.root), "Enter");
    press(k.root, "Escape", { shiftKey: true });
    expect(k.commands()).toEqual([]);
    expect(box(k.root).value).toBe("hello");
  });

  it("that is there again leaves everything as it was", async () => {
    const k = await show("acp-offline", wait);
    write(k.root, "hello");
    k.say(ops(8, patch({ link: "", status: "waiting" })));
    await wait(50);
    expect(k.root.querySelector(".hm-dock")?.textContent).not.toContain("reconnecting");
    expect(box(k.root).value).toBe("hello");
    press(k.root.querySelector(".hm-frame") as Element, "y");
    expect(k.commands().length).toBe(1);
  });
});

describe("work in the background", () => {
  it("is listed, with Stop where the agent can stop it", async () => {
    const k = await show("acp-background", wait);
    const work = k.root.querySelector(".hm-work") as HTMLElement;
    expect(work.textContent).toContain("3 jobs go on in the background");
    const stops = [...work.querySelectorAll<HTMLButtonElement>("button")].filter((b) => !b.hidden);
    expect(stops.map((b) => b.getAttribute("aria-label"))).toEqual(["Stop npm run dev", "Stop write the release notes"]);
    for (const b of stops) b.click();
    expect(k.commands().map(bare)).toEqual([{ type: "cancel_work", kind: "terminal", work: "term-1" }, { type: "cancel_work", kind: "subagent", work: "s-2" }]);
    k.say({ t: "ack", id: k.commands()[0]?.id ?? "", ok: false, error: "It has ended." });
    await wait(20);
    expect(work.textContent).toContain("It has ended.");
    k.say(ops(8, patch({ background: [] })));
    await wait(50);
    expect(work.hidden).toBe(true);
  });

  it("has no Stop where the agent cannot", async () => {
    const { root } = await show(changed("acp-background", { capabilities: {} }), wait);
    expect([...root.querySelectorAll<HTMLElement>(".hm-work button")].filter((b) => !b.hidden)).toEqual([]);
  });
});

describe("calls of a sub-agent", () => {
  it("stand in its row, and theirs in theirs, while what waits stands at the edge", async () => {
    const { root } = await show("acp-subagent", wait);
    const helper = row(root, "find every reader");
    expect(helper.open).toBe(true);
    expect(helper.querySelector("summary")?.textContent).toContain("4 calls");
    expect([...helper.querySelectorAll(".hm-nest > details > summary .hm-verb")].map((v) => v.textContent)).toEqual(["Search", "Read", "Sub-agent", "Read"]);
    const inner = row(root, "check the notebooks");
    inner.querySelector("summary")?.click();
    await wait(50);
    expect([...inner.querySelectorAll(":scope .hm-nest .hm-verb")].map((v) => v.textContent)).toEqual(["Read", "Shell"]);
    expect(root.querySelector(".hm-log > .hm-frame")?.textContent).toContain("Sub-agentfind every reader of customer_id");
    expect(root.querySelectorAll(".hm-log > details").length).toBe(1);
  });

  it.each<[string, [string, string][]]>([
    ["itself", [["a", "a"]]], ["each other", [["a", "b"], ["b", "a"]]], ["nobody", [["a", "gone"]]],
    ["a chain without end", Array.from({ length: 40 }, (_, i): [string, string] => [`c${i}`, i ? `c${i - 1}` : ""])],
  ])("whose parent is %s are all shown", async (_, calls) => {
    const s = scene("acp-subagent");
    const one = s.start.entries.find((e) => e.kind === "tool") as ToolEntry;
    s.start.entries = [...s.start.entries.filter((e) => e.kind === "turn"), ...calls.map(([id, parent]): ToolEntry => ({ ...one, id, call_id: id, parent, status: "running", category: "agent", title: `call ${id}` }))];
    s.start.state.pending = [];
    const { root } = await show(s, wait);
    await wait(50);
    for (const [id] of calls) expect(row(root, `call ${id}`)).toBeDefined();
  });

  it("one call alone can be stopped where the agent can", async () => {
    const k = await show("acp-subagent", wait);
    button(k.root, "Stop this call").click();
    expect(k.commands().map(bare)).toEqual([{ type: "cancel_work", kind: "tool", work: "call-g1" }]);
    k.say({ t: "ack", id: k.commands()[0]?.id ?? "", ok: false, error: "Too late." });
    await wait(20);
    expect(row(k.root, "find every reader").textContent).toContain("Too late.");
    k.say({ t: "closed" });
    await wait(50);
    expect(() => button(k.root, "Stop this call")).toThrow();
  });
});

describe("a plan", () => {
  it("tells what is urgent, what was cancelled, and what is no plan any more", async () => {
    const { root } = await show("acp-plan-usage", wait);
    const [first, second, third] = [...root.querySelectorAll<HTMLDetailsElement>("details")].filter((d) => d.querySelector(".hm-verb")?.textContent === "Plan");
    expect(first?.querySelector("summary")?.textContent).toContain("2 of 4 done");
    expect([...(first?.querySelectorAll("li") ?? [])].map((l) => l.textContent)).toEqual([
      "done: Find where the rows are lost", "done: Reproduce with a failing test", "now: Normalise the key on both sideshigh", "cancelled: Ask the CRM team for the missing ids cancelled", "to do: Summarise the change in report.mdlow"]);
    expect(second?.querySelector("strong")?.textContent).toBe("publish");
    expect([third?.open, third?.querySelector("summary")?.textContent]).toEqual([false, expect.stringContaining("withdrawn by the agent")]);
  });
});

describe("the rest of what agents tell", () => {
  it("a picture in a message, places of a call, a paused call", async () => {
    const { root } = await show("acp-plan-usage", wait);
    expect(root.querySelector(".hm-say img")?.getAttribute("src")).toMatch(/^data:image\/png;base64,/);
    const look = row(root, "Look around");
    look.querySelector("summary")?.click();
    await wait(50);
    expect(look.textContent).toContain("At src/join.py:12, src/load.py:31, tests/test_join.py:9");
    expect(row(root, "pytest --pdb").querySelector("summary")?.textContent).toContain("paused");
  });

  it("the option that was chosen, the answers of a form by their labels, the page that was agreed to", async () => {
    const { root } = await show("acp-decided", wait);
    for (const d of root.querySelectorAll<HTMLDetailsElement>(".hm-log > details")) if (!d.open) d.querySelector("summary")?.click();
    await wait(50);
    expect(row(root, "pytest -q").textContent).toContain("You chose: “Always allow python -m pytest in this project”.");
    expect(row(root, "git push").textContent).toContain("You chose: “No, and tell the agent what to do instead”. Your note: I push by hand. It is sent as the next message");
    expect(row(root, "Settings for").textContent).toContain("Branch: fix/join-keys\nSample rows: 500\nOverwrite: no\nChecks: Row count is unchanged, Keys are zero-padded");
    expect(row(root, "the CRM").textContent).toContain("Address: https://login.example.org/oauth?state=9f3b1c");
    expect(row(root, "the CRM").querySelector("a")).toBeNull();
    expect(row(root, "the wiki").querySelector("summary")?.textContent).toContain("declined");
  });
});
