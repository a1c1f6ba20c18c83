/** Questions that are forms, and questions that are pages to open. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { harmless, wrong } from "../src/form";
import { page } from "../src/frame_url";
import type { Command, FormField } from "../src/model";
import { HOSTILE } from "./hostile";
import { button, press, scene, show } from "./helpers";

const wait = (ms: number) => vi.advanceTimersByTimeAsync(ms);
beforeEach(() => { vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "requestAnimationFrame", "cancelAnimationFrame"] }); });
afterEach(() => { vi.restoreAllMocks(); vi.useRealTimers(); document.body.replaceChildren(); });

const frame = (root: Element) => root.querySelector<HTMLElement>(".hm-frame") as HTMLElement;
const bare = (c: Command | undefined) => { const { id: _, ...rest } = c as Command; return rest; };
const type = (field: Element, text: string) => { (field as HTMLInputElement).value = text; field.dispatchEvent(new Event("input", { bubbles: true })); };
const cell = (root: Element, title: string) => {
  const name = [...frame(root).querySelectorAll(".hm-form > .hm-label")].find((l) => l.textContent?.startsWith(title));
  if (!name?.nextElementSibling) throw new Error(`no field ${title}`);
  return name.nextElementSibling;
};
const control = (root: Element, title: string) => cell(root, title).querySelector("input, textarea, select") as HTMLInputElement;
const field = (given: Partial<FormField>): FormField => ({
  name: "x", kind: "text", title: "", help: "", required: false, default: null, choices: [], format: "", pattern: "", minimum: null, maximum: null, min_length: null, max_length: null, ...given });
const asking = (form: Partial<FormField>[]) => {
  const s = scene("acp-form");
  Object.assign(s.start.state.pending[0] as object, { form: form.map(field) });
  return s;
};

describe("a form", () => {
  it("shows who asks, each field with its label, help, limits and default", async () => {
    const { root } = await show("acp-form", wait);
    expect(frame(root).querySelector(".hm-title")?.textContent).toBe("The agent asks for 10 values");
    for (const words of ["Asked byorders-mcp (MCP server)", "Branch required", "Made from main if it is new · at most 60 characters", "whole number, 1 to 10312", "choose 1 to 2", "e-mail address"]) expect(frame(root).textContent).toContain(words);
    expect(control(root, "Branch").value).toBe("fix/join-keys");
    expect(control(root, "Branch").getAttribute("aria-required")).toBe("true");
    expect(control(root, "Overwrite").checked).toBe(true);
    expect(control(root, "From").value).toBe("2026-11-01");
    expect([...cell(root, "Checks").querySelectorAll<HTMLInputElement>("input")].map((i) => i.checked)).toEqual([true, true, false]);
    expect(control(root, "Region").tagName).toBe("SELECT");
  });

  it("sends the fields that were filled in, each of its kind", async () => {
    const k = await show("acp-form", wait);
    type(control(k.root, "Sample rows"), "10 000");
    type(control(k.root, "Share"), "0.25");
    (cell(k.root, "Format").querySelectorAll("input")[1] as HTMLInputElement).click();
    control(k.root, "Overwrite").click();
    const region = control(k.root, "Region") as unknown as HTMLSelectElement;
    region.value = "2";
    button(k.root, "Answer").click();
    expect(k.commands().map(bare)).toEqual([{ type: "answer", request_id: "f1", text: "", skip: false, fields: {
      branch: "fix/join-keys", rows: 10000, ratio: 0.25, format: "sqlite", region: "south", overwrite: false, checks: ["rows", "keys"], from: "2026-11-01" } }]);
  });

  it("with a field that is not right sends nothing, says why beside it, and gives it the focus", async () => {
    const k = await show("acp-form", wait);
    press(control(k.root, "Branch"), "Enter", { ctrlKey: true });
    expect(k.commands()).toEqual([]);
    const rows = control(k.root, "Sample rows");
    expect(document.activeElement).toBe(rows);
    expect(rows.getAttribute("aria-invalid")).toBe("true");
    expect(k.root.querySelector(`[id="${rows.getAttribute("aria-describedby")?.split(" ")[0] ?? ""}"]`)?.textContent).toBe("Not more than 10312");
    type(rows, "500");
    expect(rows.getAttribute("aria-invalid")).toBeNull();
    press(rows, "Enter", { ctrlKey: true });
    expect(k.commands().length).toBe(1);
  });

  it("can be skipped by key and button, and a letter in a field is a letter", async () => {
    const k = await show("acp-form", wait);
    expect(press(control(k.root, "Branch"), "n")).toBe(true);
    expect(k.commands()).toEqual([]);
    press(frame(k.root), "n");
    expect(k.commands().map(bare)).toEqual([{ type: "answer", request_id: "f1", text: "", skip: true }]);
  });

  it("leaves out a choice of several that nobody needs and nobody made, however many it wants", async () => {
    const choices = ["a", "b", "c"].map((value) => ({ value, label: value, help: "", group: "" }));
    const k = await show(asking([{ name: "m", kind: "multi", min_length: 2, choices }, { name: "n", kind: "multi", required: true, min_length: 0, choices }]), wait);
    button(k.root, "Answer").click();
    expect(k.commands().map(bare)).toEqual([{ type: "answer", request_id: "f1", text: "", skip: false, fields: { n: [] } }]);
    const other = await show(asking([{ name: "m", kind: "multi", min_length: 2, choices }]), wait);
    control(other.root, "m").click();
    button(other.root, "Answer").click();
    expect(other.commands()).toEqual([]);
    expect(frame(other.root).textContent).toContain("Choose at least 2");
  });

  it("without fields asks for consent alone", async () => {
    const k = await show(asking([]), wait);
    button(k.root, "Answer").click();
    expect(k.commands().map(bare)).toEqual([{ type: "answer", request_id: "f1", text: "", skip: false, fields: {} }]);
  });

  it("never takes the focus when it arrives", async () => {
    await show("acp-form", wait, { fresh: true });
    expect(document.activeElement).toBe(document.body);
  });

  it.each<[string, Partial<FormField>, unknown, string]>([
    ["nothing where something is needed", { required: true }, undefined, "This is needed"],
    ["no choice", { kind: "select", required: true }, undefined, "Choose one"],
    ["nothing where nothing is needed", { min_length: 5 }, undefined, ""],
    ["words for a number", { kind: "number" }, "twelve", "Write a number, such as 12 or 0.5"],
    ["a fraction for a whole number", { kind: "integer" }, 1.5, "Write a whole number"],
    ["a whole number no program can hold", { kind: "integer" }, 1e300, "Write a whole number"],
    ["too little", { kind: "number", minimum: 1 }, 0, "Not less than 1"],
    ["enough", { kind: "number", minimum: 0, maximum: 0 }, 0, ""],
    ["too short", { min_length: 3 }, "ab", "At least 3 characters; these are 2"],
    ["an emoji as one character", { max_length: 1 }, "😀", ""],
    ["no address", { format: "email" }, "ada", "Write an e-mail address: name@place"],
    ["no whole address", { format: "uri" }, "example.org", "Write a whole address, such as https://example.org"],
    ["another form", { pattern: "^[A-Z]{3}-\\d+$" }, "ab-1", "Must have the form ^[A-Z]{3}-\\d+$"],
    ["that form", { pattern: "^[A-Z]{3}-\\d+$" }, "ABC-1", ""],
    ["too few", { kind: "multi", min_length: 2 }, ["a"], "Choose at least 2"],
    ["none of several that are needed", { kind: "multi", required: true }, [], "Choose at least one"],
    ["too many", { kind: "multi", max_length: 1 }, ["a", "b"], "Choose at most 1"],
  ])("hears %s in words", (_, spec, value, words) => expect(wrong(field(spec), value)).toBe(words));

  it.each(["(a+)+$", "(a|a)*b", "a?".repeat(40) + "a".repeat(40), ".*.*.*.*x", "(.*)\\1\\1", "(?=(a+))\\1b", "(a|b|c)(a|b|c)(a|b|c)(a|b|c)(a|b|c)(a|b|c)(a|b|c)(a|b|c)(a|b|c)(a|b|c)", "[", "x".repeat(300)])(
    "is not held up by the pattern %s", (pattern) => expect(harmless(pattern, "a".repeat(500))).toBeNull());

  it("keeps names that are names of other things apart", async () => {
    const k = await show(asking([{ name: "__proto__", default: "a" }, { name: "constructor", kind: "boolean" }]), wait);
    button(k.root, "Answer").click();
    const command = k.commands()[0] as Command & { type: "answer" };
    expect(JSON.parse(JSON.stringify(command.fields))).toEqual(JSON.parse('{"__proto__": "a", "constructor": false}'));
  });

  it.each(HOSTILE)("with hostile labels is harmless: %s", async (text) => {
    const { root } = await show(asking([{ name: text, title: text, help: text, default: text }, { name: "c", kind: "select", choices: [{ value: text, label: text, help: text, group: text }] },
      { name: "m", kind: "select", choices: Array.from({ length: 9 }, (_, i) => ({ value: `${i}`, label: text, help: "", group: text })) }]), wait);
    expect(frame(root).querySelector("script, img, a, iframe, style, object")).toBeNull();
    for (const el of frame(root).querySelectorAll("*")) for (const { name } of el.attributes) expect(name).not.toMatch(/^on|^style$|^srcdoc$/);
  });
});

describe("a page to open", () => {
  const asked = (url: string) => {
    const s = scene("acp-url");
    Object.assign(s.start.state.pending[0] as object, { url });
    return s;
  };

  it("shows who asks, the whole address and where it goes, and holds no link", async () => {
    const { root } = await show("acp-url", wait);
    const p = scene("acp-url").start.state.pending[0];
    expect(frame(root).querySelector(".hm-url code")?.textContent).toBe(p?.kind === "question" && p.url);
    expect(frame(root).textContent).toContain("Asked bycrm-mcp (MCP server)");
    expect(frame(root).textContent).toContain("Goes tologin.example.org");
    expect(frame(root).querySelector("a, iframe, img, link")).toBeNull();
  });

  it("opens it after a click alone, apart from this page, and then the answer says that", async () => {
    const open = vi.spyOn(window, "open").mockReturnValue(null);
    const k = await show("acp-url", wait);
    expect(open).not.toHaveBeenCalled();
    button(k.root, "Open in a new tab").click();
    expect(open).toHaveBeenCalledExactlyOnceWith(expect.stringContaining("https://login.example.org/"), "_blank", "noopener,noreferrer");
    expect(k.commands()).toEqual([]);
    button(k.root, "I have opened it, continue").click();
    expect(k.commands().map(bare)).toEqual([{ type: "answer", request_id: "v1", text: "", skip: false }]);
  });

  it("can be agreed to without, and declined by key", async () => {
    const k = await show("acp-url", wait);
    button(k.root, "Continue").click();
    expect(k.commands().map(bare)).toEqual([{ type: "answer", request_id: "v1", text: "", skip: false }]);
    const other = await show("acp-url", wait);
    press(frame(other.root), "n");
    expect(other.commands().map(bare)).toEqual([{ type: "answer", request_id: "v1", text: "", skip: true }]);
  });

  it("a click meant for something else opens nothing", async () => {
    const open = vi.spyOn(window, "open").mockReturnValue(null);
    const k = await show("acp-url", wait, { fresh: true });
    button(k.root, "Open in a new tab").click();
    expect(open).not.toHaveBeenCalled();
  });

  it("that is not what it looks says so, shows the letters, and Decline is the filled one", async () => {
    const { root } = await show("acp-url-hostile", wait);
    for (const words of ["a Cyrillic letter (U+0430)", "letters that can look like others", "it goes to xn--gthub-n2e.example", "not encrypted", "Goes toxn--gthub-n2e.example"]) expect(frame(root).textContent).toContain(words);
    expect([...frame(root).querySelectorAll(".hm-url .hm-esc")].map((e) => e.textContent)).toEqual(["U+0430", "U+202E"]);
    expect(button(root, "Decline").classList.contains("hm-btn-main")).toBe(true);
    expect(button(root, "Open").classList.contains("hm-btn-main")).toBe(false);
  });

  it.each(["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "vscode://x", "//example.org", "https://", "java\tscript:alert(1)", "https://exa mple.org", "", "blob:https://x/1"])("%j is not opened from here", async (url) => {
    expect(page(url)).toBeNull();
    if (!url) return;
    const { root } = await show(asked(url), wait);
    expect(() => button(root, "Open")).toThrow();
    expect(frame(root).textContent).toContain("This is no address of a web page");
  });

  it("a host in letters of another script is shown as the name that is looked up", () => expect(page("https://g\u0456thub.example/")?.host).toBe("xn--gthub-n2e.example"));
});
