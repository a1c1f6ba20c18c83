import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Command, KernelMessage, UserEntry } from "../src/model";
import { View } from "../src/view";
import { button, press, scene, sceneNames, show } from "./helpers";

const wait = (ms: number) => vi.advanceTimersByTimeAsync(ms);
beforeEach(() => { vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "requestAnimationFrame", "cancelAnimationFrame"] }); });
afterEach(() => { vi.restoreAllMocks(); vi.useRealTimers(); document.body.replaceChildren(); });

const bare = (c: Command | undefined) => { const { id: _, ...rest } = c as Command; return rest; };
const box = (root: Element) => root.querySelector(".hm-composer textarea") as HTMLTextAreaElement;
const ops = (seq: number, ...list: unknown[]) => ({ t: "ops", seq, ops: list }) as KernelMessage;
const patch = (p: object) => ({ op: "state", patch: p });

/** The log as it is seen: what a closed row built before does not count, nor do random ids. */
function drawn(root: Element): string {
  const log = root.querySelector(".hm-log")?.cloneNode(true) as Element;
  for (const row of log.querySelectorAll("details:not([open]) > .hm-detail")) row.remove();
  return log.innerHTML.replace(/hm-[a-z0-9]+-\d+/g, "ID");
}

describe("a view", () => {
  it.each(sceneNames())("shows the scene %s the same whether it arrived whole or in pieces", async (name) => {
    const pieces = await show(name, wait);
    for (const batch of scene(name).batches) { pieces.say(batch); await wait(20); }
    await wait(50);
    const inPieces = drawn(pieces.root);
    const whole = await show({ ...scene(name), start: scene(name).end, batches: [] }, wait);
    await wait(50);
    expect(inPieces).toBe(drawn(whole.root));
  });

  it("is a region that keeps Jupyter's shortcuts out", async () => {
    const { root } = await show("streaming", wait);
    expect(root.getAttribute("role")).toBe("region");
    expect(root.getAttribute("data-lm-suppress-shortcuts")).toBe("true");
    expect(root.querySelector("[role=log]")?.getAttribute("aria-live")).toBe("off");
  });

  it("while text streams, touches nothing but the open message's last blocks", async () => {
    const k = await show("streaming", wait);
    for (const batch of scene("streaming").batches.slice(0, -2)) k.say(batch);
    await wait(50);
    const message = k.root.querySelector(".hm-say") as Element;
    const first = message.querySelector("p") as Element;
    const touched = new Set<Node>();
    const watch = new MutationObserver((records) => { for (const r of records) touched.add(r.target); });
    watch.observe(k.root.querySelector(".hm-log") as Element, { childList: true, subtree: true, characterData: true, attributes: true });
    for (const batch of scene("streaming").batches.slice(-2)) k.say(batch);
    await wait(50);
    for (const r of watch.takeRecords()) touched.add(r.target);
    expect([...touched].every((n) => message.contains(n))).toBe(true);
    expect(message.querySelector("p")).toBe(first);
    expect(touched.size).toBeGreaterThan(0);
  });

  it("draws once a frame however many messages arrive in it", async () => {
    const k = await show("ready", wait);
    await wait(100);
    const frame = vi.spyOn(globalThis, "requestAnimationFrame");
    for (let i = 0; i < 50; i += 1) k.say(ops(8 + i, patch({ context: i })));
    expect(frame).toHaveBeenCalledTimes(1);
  });

  it("of one model agrees with another", async () => {
    const k = await show("approve-command", wait);
    const other = new View(k.store, k.link, 1);
    document.body.append(other.root);
    k.say(ops(8, patch({ pending: [], status: "working" })));
    await wait(50);
    expect(other.root.querySelector(".hm-frame")).toBeNull();
    expect(other.root.querySelector(".hm-log")?.innerHTML).toBe(k.root.querySelector(".hm-log")?.innerHTML);
    other.close();
  });

  it("stops listening when it is closed", async () => {
    const k = await show("approve-command", wait);
    k.view.close();
    k.say(ops(8, patch({ pending: [] })));
    await wait(1100);
    expect(k.root.isConnected).toBe(false);
    expect(k.root.querySelector(".hm-frame")).not.toBeNull();
  });

  it("shows the turn's own prompt only in a view of the whole session", async () => {
    const cell = await show("finished", wait);
    expect(cell.root.querySelector(".hm-you")).toBeNull();
    const session = await show("finished", wait, { turn: 0 });
    expect(session.root.querySelector(".hm-you")?.textContent).toContain("why does the join drop 312 rows?");
  });

  it("shows entries of earlier turns only in a view of the whole session", async () => {
    const later = await show("finished", wait, { turn: 2 });
    expect(later.root.querySelectorAll(".hm-log > *").length).toBe(0);
  });

  it("closed by the kernel has no controls left", async () => {
    const k = await show("approve-command", wait);
    k.say({ t: "closed" });
    await wait(50);
    expect(k.root.querySelector(".hm-frame")).toBeNull();
    expect([...k.root.querySelectorAll("button, textarea, select")].filter((b) => !b.closest("[hidden]"))).toEqual([]);
  });

  it("folds three or more finished reads and searches into one row that opens", async () => {
    const { root } = await show("tools", wait);
    const group = [...root.querySelectorAll("details")].find((d) => d.textContent?.includes("Read 3 files, searched once"));
    expect(group?.open).toBe(false);
    group?.querySelector("summary")?.click();
    await wait(50);
    expect(group?.querySelectorAll("details").length).toBe(4);
  });

  it("folds long output to its first 3 and last 4 lines, and unfolds it", async () => {
    const { root } = await show("tools", wait);
    const row = [...root.querySelectorAll("details")].find((d) => d.querySelector(".hm-obj")?.textContent === "python show_lost.py");
    row?.querySelector("summary")?.click();
    await wait(50);
    expect([...(row?.querySelectorAll("pre") ?? [])].map((p) => p.textContent?.split("\n").length)).toEqual([3, 4]);
    const fold = button(row as Element, "+312 lines");
    fold.click();
    expect(row?.querySelector("pre")?.textContent?.split("\n").length).toBe(319);
  });

  it("opens a failed call by itself, and leaves it as the person wants it", async () => {
    const { root, say } = await show("tools", wait);
    const failed = [...root.querySelectorAll("details")].find((d) => d.classList.contains("hm-tool-bad")) as HTMLDetailsElement;
    expect(failed.open).toBe(true);
    failed.querySelector("summary")?.click();
    await wait(20);
    say(ops(8, { op: "append", id: "x1", field: "output", text: "more\n" }));
    await wait(50);
    expect(failed.open).toBe(false);
  });
});

describe("the composer", () => {
  it("steers on Enter while the agent works, and keeps Shift Enter for a new line", async () => {
    const k = await show("streaming", wait);
    box(k.root).value = "use a log axis";
    expect(press(box(k.root), "Enter", { shiftKey: true })).toBe(true);
    expect(press(box(k.root), "Enter")).toBe(false);
    expect(k.commands().map(bare)).toEqual([{ type: "steer", text: "use a log axis" }]);
    expect(box(k.root).value).toBe("");
  });

  it("queues on Alt Enter", async () => {
    const k = await show("streaming", wait);
    box(k.root).value = "then plot";
    press(box(k.root), "Enter", { altKey: true });
    expect(k.commands().map(bare)).toEqual([{ type: "follow_up", text: "then plot" }]);
  });

  it("asks when nothing runs", async () => {
    const k = await show("ready", wait);
    box(k.root).value = "hello";
    press(box(k.root), "Enter");
    expect(k.commands().map(bare)).toEqual([{ type: "prompt", text: "hello" }]);
  });

  it("sends nothing when there is nothing to say", async () => {
    const k = await show("streaming", wait);
    press(box(k.root), "Enter");
    button(k.root, "Steer").click();
    expect(k.commands()).toEqual([]);
  });

  it("gives the text back when it was refused", async () => {
    const k = await show("streaming", wait);
    box(k.root).value = "now";
    press(box(k.root), "Enter");
    k.say({ t: "ack", id: k.commands()[0]?.id ?? "", ok: false, error: "No turn runs." });
    await wait(20);
    expect(box(k.root).value).toBe("now");
    expect(k.root.textContent).toContain("Not sent: No turn runs.");
  });

  it("is hidden when the agent can take neither, and when the session is over", async () => {
    const k = await show("streaming", wait);
    k.say(ops(8, patch({ capabilities: {} })));
    await wait(50);
    expect((box(k.root).closest(".hm-composer") as HTMLElement).hidden).toBe(true);
    const ended = await show("failed", wait);
    expect((box(ended.root).closest(".hm-composer") as HTMLElement).hidden).toBe(true);
  });

  it("shows what is queued, and has it back when a stop drops it", async () => {
    const k = await show("steered", wait);
    expect(k.root.querySelector(".hm-queue")?.textContent).toContain("2 queued");
    const queued = [...k.store.entries.values()].filter((e): e is UserEntry => e.kind === "user" && e.status === "queued");
    k.say(ops(8, ...queued.map((entry) => ({ op: "put", entry: { ...entry, status: "dropped" } })), patch({ status: "ready" })));
    await wait(50);
    expect(box(k.root).value).toBe(queued.map((e) => e.text).join("\n"));
  });

  it("says whether a steer was read", async () => {
    const { root } = await show("steered", wait);
    expect(root.querySelector(".hm-you")?.textContent).toContain("You steered at 0:29, read by the agent");
  });
});

describe("the dock", () => {
  it("stops with the button and with Shift Esc, once", async () => {
    const k = await show("streaming", wait);
    press(k.root, "Escape", { shiftKey: true });
    button(k.root, "Stopping").click();
    expect(k.commands().map(bare)).toEqual([{ type: "abort" }]);
  });

  it("changes mode and model", async () => {
    const k = await show("ready", wait);
    const [model, mode] = k.root.querySelectorAll("select");
    (model as HTMLSelectElement).value = "opus-4.1";
    model?.dispatchEvent(new Event("change"));
    (mode as HTMLSelectElement).value = "all";
    mode?.dispatchEvent(new Event("change"));
    expect(k.commands().map(bare)).toEqual([{ type: "set_model", model: "opus-4.1" }, { type: "set_mode", mode: "all" }]);
  });

  it("offers no menus the agent has not", async () => {
    const { root } = await show("approve-edit-unsupported", wait);
    expect(root.querySelectorAll("select").length).toBe(0);
  });

  it("says when two wait, and Alt arrows go between them", async () => {
    const { root } = await show("two-waiting", wait);
    expect(root.querySelector(".hm-waitbar")?.textContent).toContain("2 wait for you");
    const [first, second] = root.querySelectorAll<HTMLElement>(".hm-frame");
    for (const f of [first, second]) if (f) f.scrollIntoView = () => {};
    press(root, "ArrowUp", { altKey: true });
    expect(document.activeElement).toBe(first);
    expect(second?.classList.contains("hm-frame-next")).toBe(true);
    press(first as Element, "ArrowDown", { altKey: true });
    expect(document.activeElement).toBe(second);
    expect(first?.classList.contains("hm-frame-next")).toBe(true);
  });
});
