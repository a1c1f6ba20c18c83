import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Command, PendingApproval } from "../src/model";
import { button, press, scene, show } from "./helpers";

const wait = (ms: number) => vi.advanceTimersByTimeAsync(ms);
beforeEach(() => { vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "requestAnimationFrame", "cancelAnimationFrame"] }); });
afterEach(() => { vi.useRealTimers(); document.body.replaceChildren(); });

const frame = (root: Element, i = 0) => root.querySelectorAll<HTMLElement>(".hm-frame")[i] as HTMLElement;
const bare = (c: Command | undefined) => { const { id: _, ...rest } = c as Command; return rest; };
const approve = { type: "approve", request_id: "a1", allow: true, for_session: false, note: "", edits: null };
const type = (field: HTMLInputElement | HTMLTextAreaElement, text: string) => { field.value = text; field.dispatchEvent(new Event("input", { bubbles: true })); };

const OWN = [{ id: "y", name: "Yes", kind: "allow_once" }, { id: "n", name: "No", kind: "deny_once" }];
/** A scene whose request is this one. */
const asking = (fields: object) => {
  const s = structuredClone(scene("approve-command"));
  Object.assign(s.start.state.pending[0] as PendingApproval, fields);
  return s;
};

describe("the approval of a command", () => {
  it("shows everything that will run", async () => {
    const { root } = await show("approve-command", wait);
    const f = frame(root);
    expect(f.querySelector(".hm-title")?.textContent).toBe("Run this command?");
    expect(f.querySelector(".hm-cmd")?.textContent).toBe("python -m pytest tests/test_join.py -q --maxfail=1");
    const facts = f.textContent ?? "";
    for (const words of ["Runs in~/revenue", "Asks becausemode is ask, and no rule allows python -m pytest", "Agent saysRuns the join tests", "shell: python -m pytest tests/*"]) expect(facts).toContain(words);
  });

  it("shows every line of a script and its programs", async () => {
    const { root } = await show("approve-script", wait);
    const p = scene("approve-script").start.state.pending[0];
    const lines = [...frame(root).querySelectorAll(".hm-cmd-line")].map((l) => l.textContent).join("\n");
    expect(lines).toBe(p?.kind === "approval" && p.command);
    expect(frame(root).textContent).toContain("Run these 7 lines?");
    expect(frame(root).textContent).toContain("Programsset, python, git (2), curl");
  });

  it("calls the agent's own words its own where it has options of its own, and a rule's the reason", async () => {
    const { root } = await show(asking({ options: OWN, reason: "Runs the tests once more." }), wait);
    expect(frame(root).textContent).toContain("Agent saysRuns the tests once more.");
    expect(frame(root).textContent).not.toContain("Asks because");
    const hidden = await show(asking({ options: OWN, reason: "Runs it.", command: "ls \u200b" }), wait);
    const said = frame(hidden.root).textContent ?? "";
    for (const words of ["Asks becausehidden characters always ask, whatever the mode", "Agent saysRuns it."]) expect(said).toContain(words);
    expect(said).not.toContain("mode; Runs it.");
  });

  it.each(["filepath", "filePath", "file_path", "absolutePath", "filename"])("does not say the file again that an agent calls %s", async (key) => {
    const path = "/home/me/shop/src/a.py";
    const diffs = [{ path, old: "a", new: "b", partial: false }] as PendingApproval["diffs"];
    const edit = (input: object) => asking({ command: "", cwd: "/home/me/shop", paths: [path], diffs, input });
    expect(frame((await show(edit({ [key]: path }), wait)).root).textContent).not.toContain("Also given");
    const more = frame((await show(edit({ [key]: path, replaceAll: true }), wait)).root).textContent ?? "";
    expect(more).toContain('"replaceAll": true');
    expect(more).not.toContain(`"${key}"`);
    for (const other of [{ [key]: "/etc/passwd" }, { owner: path }]) expect(frame((await show(edit(other), wait)).root).textContent).toContain("Also given");
  });

  it("shows the whole input of a tool it does not know", async () => {
    const { root } = await show("approve-unknown", wait);
    for (const words of ["deploy_model", '"model": "ridge-7"', '"replicas": 3', "Deploys the fitted model."]) expect(frame(root).textContent).toContain(words);
  });

  it.each([
    ["Allow once", approve],
    ["Allow for session", { ...approve, for_session: true }],
    ["Deny", { ...approve, allow: false }],
  ])("%s sends it", async (words, command) => {
    const k = await show("approve-command", wait);
    button(k.root, words).click();
    expect(k.commands().map(bare)).toEqual([command]);
  });

  it.each([["y", approve], ["Y", approve], ["s", { ...approve, for_session: true }], ["n", { ...approve, allow: false }]])("key %s in the frame does the same", async (key, command) => {
    const k = await show("approve-command", wait);
    frame(k.root).focus();
    expect(press(frame(k.root), key)).toBe(false);
    expect(k.commands().map(bare)).toEqual([command]);
  });

  it("keys mean nothing outside the frame, in a field, with a modifier, or held down", async () => {
    const k = await show("approve-command", wait);
    press(k.root, "y");
    press(k.root.querySelector(".hm-composer textarea") as Element, "y");
    press(frame(k.root).querySelector("input") as Element, "y");
    press(frame(k.root), "y", { ctrlKey: true });
    press(frame(k.root), "y", { metaKey: true });
    press(frame(k.root), "y", { repeat: true });
    expect(k.commands()).toEqual([]);
  });

  it("a bare Enter never allows, wherever the focus is", async () => {
    const k = await show("approve-command", wait);
    for (const node of [frame(k.root), button(k.root, "Allow once"), button(k.root, "Allow for session"), frame(k.root).querySelector("input") as Element]) {
      expect(press(node, "Enter")).toBe(false);         // prevented: the browser makes no click of it
    }
    expect(k.commands()).toEqual([]);
  });

  it("the note goes with either decision, and the buttons say so", async () => {
    const k = await show("approve-command", wait);
    type(frame(k.root).querySelector("input.hm-in") as HTMLInputElement, "only the store's tests");
    button(k.root, "Deny with note").click();
    expect(k.commands().map(bare)).toEqual([{ ...approve, allow: false, note: "only the store's tests" }]);
  });

  it("ignores clicks and keys for 400 ms after it arrives", async () => {
    const k = await show("approve-command", wait, { fresh: true });
    await wait(390);
    button(k.root, "Allow once").click();
    press(frame(k.root), "y");
    expect(k.commands()).toEqual([]);
    await wait(20);
    button(k.root, "Allow once").click();
    expect(k.commands().length).toBe(1);
  });

  it("ignores clicks for 400 ms after it moved under the pointer", async () => {
    const k = await show("approve-command", wait);
    const f = frame(k.root);
    let top = 10;
    f.matches = ((s: string) => s === ":hover") as typeof f.matches;
    f.getBoundingClientRect = () => { top += 30; return { top } as DOMRect; };
    k.say({ t: "ops", seq: 8, ops: [{ op: "append", id: "m1", field: "text", text: "\n\nmore" }] });
    await wait(50);
    button(k.root, "Allow once").click();
    expect(k.commands()).toEqual([]);
    await wait(400);
    button(k.root, "Allow once").click();
    expect(k.commands().length).toBe(1);
  });

  it("a second answer changes nothing", async () => {
    const k = await show("approve-command", wait);
    const deny = button(k.root, "Deny");
    button(k.root, "Allow once").click();
    deny.click();
    press(frame(k.root), "n");
    expect(k.commands().length).toBe(1);
    expect(frame(k.root).textContent).toContain("Allowed, sending");
  });

  it("a refused answer says why and can be given again", async () => {
    const k = await show("approve-command", wait);
    button(k.root, "Allow once").click();
    k.say({ t: "ack", id: k.commands()[0]?.id ?? "", ok: false, error: "That call is not waiting." });
    await wait(20);
    expect(frame(k.root).textContent).toContain("That call is not waiting.");
    button(k.root, "Allow once").click();
    expect(k.commands().length).toBe(2);
  });

  it("gives way to the row when it is decided, and the focus stays in the widget", async () => {
    const k = await show("approve-command", wait);
    frame(k.root).focus();
    press(frame(k.root), "y");
    k.say({ t: "ops", seq: 8, ops: [{ op: "state", patch: { status: "working", pending: [] } }] });
    await wait(20);
    expect(frame(k.root)).toBeUndefined();
    expect(k.root.contains(document.activeElement)).toBe(true);
  });

  it("with hidden characters Deny is the filled button, there is no session rule, and each is named", async () => {
    const k = await show("approve-hidden", wait);
    expect(button(k.root, "Deny").classList.contains("hm-btn-main")).toBe(true);
    expect(button(k.root, "Allow anyway").classList.contains("hm-btn-main")).toBe(false);
    press(frame(k.root), "s");
    expect(k.commands()).toEqual([]);
    expect([...frame(k.root).querySelectorAll(".hm-cmd .hm-esc")].map((e) => e.textContent)).toEqual(["U+202E", "U+2066", "U+0430", "U+200B", "U+00A0", "ESC"]);
    expect(frame(k.root).querySelector(".hm-esc")?.getAttribute("aria-label")).toContain("right-to-left override");
  });

  it("never takes the focus when it arrives", async () => {
    const k = await show("streaming", wait);
    const outside = document.body.appendChild(document.createElement("textarea"));
    outside.focus();
    k.say({ t: "ops", seq: 8, ops: [{ op: "state", patch: { status: "waiting", pending: scene("approve-command").start.state.pending } }] });
    await wait(50);
    expect(frame(k.root)).toBeDefined();
    expect(document.activeElement).toBe(outside);
  });

  it("is announced once however many views show it", async () => {
    const k = await show("approve-command", wait);
    const assertive = k.root.querySelector("[aria-live=assertive]") as Element;
    expect(assertive.textContent).toContain("Waiting: Run this command? python -m pytest");
    expect(k.store.announced.size).toBe(1);
  });
});

describe("the approval of an edit", () => {
  const e1 = { ...approve, request_id: "e1" };
  const ticks = (root: Element) => [...root.querySelectorAll<HTMLInputElement>(".hm-file input[type=checkbox]")];
  const contents = () => { const p = scene("approve-edit").start.state.pending[0]; return p?.kind === "approval" ? p.diffs : []; };

  it("all ticked and unedited sends no edits", async () => {
    const k = await show("approve-edit", wait);
    expect(k.root.querySelectorAll(".hm-file").length).toBe(3);
    expect(frame(k.root).querySelector("ins")?.textContent).toBe('"string"');
    button(k.root, "Allow once").click();
    expect(k.commands().map(bare)).toEqual([e1]);
  });

  it("an unticked file is left out, and the button counts", async () => {
    const k = await show("approve-edit", wait);
    ticks(k.root)[2]?.click();
    expect(frame(k.root).textContent).toContain("notes/lost_rows.md is left alone");
    button(k.root, "Allow 2 of 3 files").click();
    expect(k.commands().map(bare)).toEqual([{ ...e1, edits: contents().slice(0, 2).map((d) => ({ path: d.path, content: d.new })) }]);
  });

  it("with nothing ticked it cannot be allowed", async () => {
    const k = await show("approve-edit", wait);
    for (const t of ticks(k.root)) t.click();
    press(frame(k.root), "y");
    expect(k.commands()).toEqual([]);
    expect(frame(k.root).textContent).toContain("No file is ticked");
  });

  it("an edited file is sent whole, with the edit in its place", async () => {
    const k = await show("approve-edit", wait);
    button(k.root.querySelector(".hm-file") as Element, "Edit").click();
    const area = k.root.querySelector(".hm-edit") as HTMLTextAreaElement;
    expect(area.value.startsWith("COLUMN_24 = 24\ndef load_orders(path):")).toBe(true);
    type(area, area.value.replace('"string"', '"category"'));
    expect(press(area, "y")).toBe(true);                 // a letter in a field is a letter
    press(area, "Enter", { ctrlKey: true });
    expect(k.root.querySelector(".hm-edit")).toBeNull();
    expect(k.root.querySelector(".hm-file")?.textContent).toContain("edited by you");
    button(k.root, "Allow with my edit").click();
    const command = k.commands()[0] as Command & { type: "approve" };
    expect(command.edits?.[0]).toEqual({ path: "src/load.py", content: (contents()[0]?.new ?? "").replace('"string"', '"category"') });
    expect(command.edits?.length).toBe(3);
  });

  it("undone edits are no edits", async () => {
    const k = await show("approve-edit", wait);
    button(k.root.querySelector(".hm-file") as Element, "Edit").click();
    type(k.root.querySelector(".hm-edit") as HTMLTextAreaElement, "x");
    button(k.root, "Undo my edits").click();
    button(k.root, "Allow once").click();
    expect(k.commands().map(bare)).toEqual([e1]);
  });

  it("an agent that takes no edits is denied with the edit in the note", async () => {
    const k = await show("approve-edit-unsupported", wait);
    expect(ticks(k.root)).toEqual([]);
    button(k.root, "Edit").click();
    type(k.root.querySelector(".hm-edit") as HTMLTextAreaElement, "my text");
    expect(button(k.root, "Allow once").disabled).toBe(true);
    button(k.root, "Deny with my edit").click();
    const command = k.commands()[0] as Command & { type: "approve" };
    expect(command).toMatchObject({ allow: false, edits: null });
    expect(command.note).toContain("Write src/load.py like this instead:");
    expect(command.note).toContain("my text");
  });

  it("E on a file's head edits it, and Esc leaves the field for the frame", async () => {
    const k = await show("approve-edit", wait);
    ticks(k.root)[0]?.focus();
    press(ticks(k.root)[0] as Element, "e");
    const area = k.root.querySelector(".hm-edit") as HTMLTextAreaElement;
    expect(document.activeElement).toBe(area);
    press(area, "Escape");
    expect(document.activeElement).toBe(frame(k.root));
  });
});

describe("a question", () => {
  it("sends the text on Ctrl Enter, and nothing while it is empty", async () => {
    const k = await show("question-text", wait);
    const area = frame(k.root).querySelector("textarea") as HTMLTextAreaElement;
    press(area, "Enter", { ctrlKey: true });
    expect(k.commands()).toEqual([]);
    expect(area.getAttribute("aria-invalid")).toBe("true");
    expect(document.activeElement).toBe(area);
    type(area, "no-shows");
    expect(press(area, "Enter")).toBe(true);             // a new line
    press(area, "Enter", { ctrlKey: true });
    expect(k.commands().map(bare)).toEqual([{ type: "answer", request_id: "q1", text: "no-shows", skip: false }]);
  });

  it("sends the value of the choice picked by number", async () => {
    const k = await show("question-one", wait);
    press(frame(k.root), "2");
    button(k.root, "Answer").click();
    expect(k.commands().map(bare)).toEqual([{ type: "answer", request_id: "q2", text: "sqlite", skip: false }]);
  });

  it("takes something else in words", async () => {
    const k = await show("question-one", wait);
    press(frame(k.root), "4");
    button(k.root, "Answer").click();
    expect(k.commands()).toEqual([]);
    type(frame(k.root).querySelector("textarea") as HTMLTextAreaElement, "DuckDB");
    button(k.root, "Answer").click();
    expect(k.commands().map(bare)).toEqual([{ type: "answer", request_id: "q2", text: "DuckDB", skip: false }]);
  });

  it("sends several values and counts them", async () => {
    const k = await show("question-many", wait);
    press(frame(k.root), "1");
    press(frame(k.root), "3");
    button(k.root, "Answer with 2").click();
    expect(k.commands().map(bare)).toEqual([{ type: "answer", request_id: "q3", text: "rows, twice", skip: false }]);
  });

  it("can be skipped", async () => {
    const k = await show("question-one", wait);
    press(frame(k.root), "n");
    expect(k.commands().map(bare)).toEqual([{ type: "answer", request_id: "q2", text: "", skip: true }]);
  });
});

describe("when a click is not instant", () => {
  it("the buttons say so, the choice can be taken back, and it is sent when the cell ends", async () => {
    const k = await show("approve-command", wait, { answers: false });
    await wait(3_000);
    const allow = button(k.root, "Allow after the cell");
    expect(allow.classList.contains("hm-btn-held")).toBe(true);
    allow.click();
    await wait(50);
    expect(frame(k.root).textContent).toContain("It is not sent yet");
    button(k.root, "Take back").click();
    await wait(50);
    button(k.root, "Deny after the cell").click();
    expect(k.commands()).toEqual([]);
    k.pong();
    expect(k.commands().map(bare)).toEqual([{ ...approve, allow: false }]);
  });

  it("where the input line decides the buttons are off and say why", async () => {
    const k = await show("approve-command", wait, { answers: false });
    k.say({ t: "route", waiting_cell: true, stdin: true });
    await wait(3_000);
    const allow = button(k.root, "Allow once");
    expect(allow.disabled).toBe(true);
    expect(k.root.querySelector(`[id="${allow.getAttribute("aria-describedby") ?? ""}"]`)?.textContent).toContain("Decide in the input line below.");
    press(frame(k.root), "y");
    expect(k.commands()).toEqual([]);
    expect((frame(k.root).querySelector(".hm-facts-note") as HTMLElement).hidden).toBe(true);
  });

  it("with the kernel gone nothing can be clicked", async () => {
    const k = await show("approve-command", wait);
    k.link.commGone();
    await wait(50);
    press(frame(k.root), "y");
    expect(k.commands()).toEqual([]);
    expect(k.root.querySelector(".hm-status")?.textContent).toContain("Last seen waiting for you");
  });
});

describe("what is said once and no more", () => {
  const waiting = (name: string, change: object) => {
    const s = scene(name);
    Object.assign(s.start.state.pending[0] as object, change);
    return s;
  };

  it("a folder that a command runs in is not also what it touches", async () => {
    const { root } = await show(waiting("approve-command", { cwd: "/home/a/app", paths: ["/home/a/app"] }), wait);
    expect(frame(root).textContent).toContain("Runs in/home/a/app");
    expect(frame(root).textContent).not.toContain("Touches");
  });

  it("paths below it are relative to it, others stay whole", async () => {
    const { root } = await show(waiting("approve-command", { cwd: "/home/a/app", paths: ["/home/a/app/src", "/etc/hosts"] }), wait);
    expect(frame(root).textContent).toContain("Touchessrc, /etc/hosts");
  });

  it("what an agent says twice stands once: its title in backticks, the reason that is also given", async () => {
    const said = { command: "ls -la; touch made", summary: "`ls -la; touch made`", reason: "List it" };
    const given = { command: said.command, description: "List it", timeout: 30000 };
    const { root } = await show(waiting("approve-command", { ...said, input: given }), wait);
    expect(frame(root).textContent).not.toContain("Agent says");
    expect(frame(root).textContent?.split("List it")).toHaveLength(2);
    expect(frame(root).textContent).toContain("timeout");
    const other = await show(waiting("approve-command", { ...said, summary: "`rm made`", input: { ...given, description: "Else" } }), wait);
    expect(other.root.textContent).toContain("Agent saysrm made");
    expect(other.root.textContent).toContain("Else");
  });

  it("the files of an edit are named in their diffs, the folder once", async () => {
    const s = scene("approve-edit");
    const p = s.start.state.pending[0];
    if (p?.kind !== "approval") throw new Error("not an approval");
    const names = p.diffs.map((d) => d.path);
    const { root } = await show(waiting("approve-edit", { cwd: "", paths: names.map((n) => `${s.start.state.root}/${n}`), summary: names.join(", ") }), wait);
    expect(frame(root).textContent).toContain(`In${s.start.state.root}`);
    expect(frame(root).textContent).not.toContain("Touches");
    expect(frame(root).textContent).not.toContain("Agent says");
  });

  it.each([
    ["of many lines how they begin", Array.from({ length: 2100 }, (_, i) => `echo line ${i}`).join("\n"), /^Waiting: Run these 2100 lines\? echo line 0, and so on$/],
    ["of a long line its beginning", `echo ${"x".repeat(5000)}`, /^Waiting: Run this command\? echo x{150,200}…$/],
  ])("a reader hears %s; the frame shows all", async (_, command, said) => {
    const { root } = await show(waiting("approve-command", { command }), wait);
    expect(root.querySelector("[aria-live=assertive]")?.textContent).toMatch(said);
    expect([...frame(root).querySelectorAll(".hm-cmd-line")].map((l) => l.textContent).join("\n")).toBe(command);
  });

  it("no clock goes on once the kernel is gone", async () => {
    const k = await show("approve-command", wait);
    k.link.kernelRestarted();
    await wait(1500);
    const clocks = () => [frame(k.root).querySelector(".hm-meta")?.textContent, k.root.querySelector(".hm-list")?.textContent];
    const before = clocks();
    await wait(10_000);
    expect(clocks()).toEqual(before);
  });
});
