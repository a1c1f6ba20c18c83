/** An approval with the agent's own options. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ApprovalOption, Command } from "../src/model";
import { HOSTILE } from "./hostile";
import { button, press, scene, show } from "./helpers";

const wait = (ms: number) => vi.advanceTimersByTimeAsync(ms);
beforeEach(() => { vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "requestAnimationFrame", "cancelAnimationFrame"] }); });
afterEach(() => { vi.useRealTimers(); document.body.replaceChildren(); });

const frame = (root: Element) => root.querySelector<HTMLElement>(".hm-frame") as HTMLElement;
const bare = (c: Command | undefined) => { const { id: _, ...rest } = c as Command; return rest; };
const type = (field: HTMLInputElement, text: string) => { field.value = text; field.dispatchEvent(new Event("input", { bubbles: true })); };
const buttons = (root: Element) => [...frame(root).querySelectorAll<HTMLButtonElement>(".hm-acts-gate button")];
const named = (root: Element, words: string) => buttons(root).find((b) => b.textContent?.includes(words)) as HTMLButtonElement;
const sent = { type: "approve", request_id: "a1", for_session: false, note: "", edits: null };
const offering = (options: Partial<ApprovalOption>[], name = "acp-options") => {
  const s = scene(name);
  Object.assign(s.start.state.pending[0] as object, { options });
  return s;
};

describe("an approval with the agent's options", () => {
  it("has a button for each, in its words: what allows once first, what denies last, two of one kind both", async () => {
    const { root } = await show("acp-options", wait);
    expect(buttons(root).map((b) => b.textContent)).toEqual([
      "Allow: YesY", "Allow: Yes, and judge later calls by their risk", "Allow: Always allow python -m pytest in this projectlasts",
      "Try in a sandbox firsteffect not known", "Deny: No, and tell the agent what to do insteadN", "Deny: Neverlasts",
    ]);
    expect(frame(root).textContent).toContain("holds beyond this call, and may outlive this session");
  });

  it.each([
    ["Yes", { allow: true, option_id: "once" }],
    ["by their risk", { allow: true, option_id: "risk" }],
    ["Always allow", { allow: true, for_session: true, option_id: "always" }],
    ["No, and tell", { allow: false, option_id: "reject" }],
    ["Never", { allow: false, option_id: "never" }],
    ["sandbox", { allow: false, option_id: "sandbox" }],        // of a kind we do not know: never an approval of ours
  ])("%s sends its id", async (words, command) => {
    const k = await show("acp-options", wait);
    named(k.root, words).click();
    expect(k.commands().map(bare)).toEqual([{ ...sent, ...command }]);
    expect(frame(k.root).textContent).toMatch(/“.+”, sending/);
  });

  it.each([["y", "once", true], ["n", "reject", false]])("key %s takes the first that decides once", async (key, option_id, allow) => {
    const k = await show("acp-options", wait);
    frame(k.root).focus();
    press(frame(k.root), key);
    expect(k.commands().map(bare)).toEqual([{ ...sent, allow, option_id }]);
  });

  it("no key gives what lasts", async () => {
    const k = await show(offering([{ id: "a", name: "Always", kind: "allow_session" }, { id: "n", name: "Never", kind: "deny_session" }]), wait);
    for (const key of ["y", "s", "n"]) press(frame(k.root), key);
    expect(k.commands()).toEqual([]);
  });

  it("one of a kind we do not know does not pass for a denial, whatever its name", async () => {
    const k = await show(offering([{ id: "x", name: "Deny: No", kind: "allow_everything" as "deny_once" }, { id: "n", name: "No", kind: "deny_once" }]), wait);
    expect(buttons(k.root).map((b) => b.textContent)).toEqual(["Deny: Noeffect not known", "Deny: NoN"]);
  });

  it("one can say no where the agent offers no such option", async () => {
    const k = await show(offering([{ id: "go", name: "Go", kind: "allow_once" }]), wait);
    button(k.root, "Deny").click();
    expect(k.commands().map(bare)).toEqual([{ ...sent, allow: false }]);
  });

  it("a bare Enter takes none that could allow", async () => {
    const k = await show("acp-options", wait);
    for (const b of buttons(k.root).filter((b) => !b.textContent?.startsWith("Deny"))) expect(press(b, "Enter")).toBe(false);
    expect(k.commands()).toEqual([]);
  });

  it("a note goes with a denial alone where the agent reads it as the next message, and the frame says so", async () => {
    const k = await show("acp-options", wait);
    type(frame(k.root).querySelector("input.hm-in") as HTMLInputElement, "I push by hand");
    expect(frame(k.root).textContent).toContain("A denial's note is sent as the next message, when this turn has ended.");
    expect(named(k.root, "No, and tell").textContent).toContain("with note");
    expect(named(k.root, "Yes").textContent).toContain("without note");
    named(k.root, "No, and tell").click();
    expect(k.commands().map(bare)).toEqual([{ ...sent, allow: false, option_id: "reject", note: "I push by hand" }]);
  });

  it("a note on what is done on our side goes with the refusal at once, whatever the agent can read", async () => {
    const own = () => { const s = offering([]); Object.assign(s.start.state.pending[0] as object, { deny_note: "denial" }); return s; };
    const k = await show(own(), wait);
    type(frame(k.root).querySelector("input.hm-in") as HTMLInputElement, "not there");
    expect(frame(k.root).textContent).not.toContain("next message");
    expect(named(k.root, "Deny").textContent).toContain("with note");
    expect(named(k.root, "Allow").textContent).toContain("without note");
    named(k.root, "Deny").click();
    expect(k.commands().map(bare)).toEqual([{ ...sent, allow: false, note: "not there" }]);
    const other = await show(own(), wait);
    type(frame(other.root).querySelector("input.hm-in") as HTMLInputElement, "careful");
    named(other.root, "Allow without").click();
    expect(other.commands().map(bare)).toEqual([{ ...sent, allow: true }]);
  });

  it("… and is not sent with what allows", async () => {
    const k = await show("acp-options", wait);
    type(frame(k.root).querySelector("input.hm-in") as HTMLInputElement, "careful");
    named(k.root, "Yes").click();
    expect(k.commands().map(bare)).toEqual([{ ...sent, allow: true, option_id: "once" }]);
  });
});

describe("a hostile name of an option", () => {
  it("changes nothing of what the button is: look, key and what is read out come from the kind", async () => {
    const { root } = await show(offering([
      { id: "1", name: "Deny", kind: "allow_once" }, { id: "2", name: "Allow once Y", kind: "deny_once" }, { id: "3", name: "Allow for everything", kind: "hack" },
    ]), wait);
    const [one, other, third] = buttons(root);
    expect(one?.textContent).toBe("Allow: DenyY");
    expect(one?.classList.contains("hm-btn-main")).toBe(true);
    expect(third?.textContent).toBe("Deny: Allow once YN");
    expect(third?.classList.contains("hm-btn-main")).toBe(false);
    expect(other?.querySelector("svg")).toBeNull();
  });

  it("with characters one cannot see is told, lasting permission is not offered, and Deny is the filled one", async () => {
    const { root } = await show("acp-options-hostile", wait);
    expect(frame(root).textContent).toContain("2 characters here are invisible");
    expect(frame(root).textContent).toContain("No lasting permission is offered");
    expect(named(root, "ecno wollA")).toBeUndefined();
    expect(named(root, "onerror").classList.contains("hm-btn-main")).toBe(true);
    expect(named(root, "Yes, and from now").textContent).toContain("anyway");
  });

  it("is never markup, one line, and cut on the button while the frame holds it whole", async () => {
    const { root } = await show("acp-options-hostile", wait);
    expect(frame(root).querySelector("img")).toBeNull();
    expect(named(root, "Yes, and from now").textContent?.length).toBeLessThan(130);
    expect(frame(root).querySelector(".hm-rule q")?.textContent).toContain("for as long as this project exists");
  });

  it.each(HOSTILE)("is harmless: %s", async (name) => {
    const { root } = await show(offering([{ id: name, name, kind: "allow_once" }, { id: "x", name: `${name}\n${name}`, kind: "deny_once" }]), wait);
    for (const b of buttons(root)) {
      expect(b.querySelector("script, img, a, iframe, style, input")).toBeNull();
      expect(b.textContent).not.toContain("\n");
    }
  });
});
