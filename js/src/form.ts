/** One field of a form that an agent asks to fill in: its control, what it holds, and what is wrong with it in words.
 *
 * Labels, help and choices are the agent's, shown as text. What it may hold is checked here so that the person hears it
 * beside the field; the agent checks again.
 */
import { type Child, fill, h, uid } from "./dom";
import { escaped, label } from "./escapes";
import { icon } from "./icons";
import type { Choice, FormField } from "./model";

/** A choice among so many, or with help to read, is a list of buttons; else a menu. */
const LISTED = 4;

interface Holder { node: HTMLElement; /** What gets the focus, and says that it is invalid. */ target: HTMLElement; /** undefined: left empty. */ read(): unknown }

export class Field {
  readonly rows: HTMLElement[];
  private readonly holder: Holder;
  private readonly complaint = h("span", { class: "hm-help hm-bad-text", id: uid() });
  private complained = false;
  private readonly told: string;

  constructor(readonly spec: FormField, changed: () => void) {
    const id = uid();
    const heard = () => { if (this.complained) this.check(); changed(); };
    const help = h("span", { class: "hm-help", id: uid() }, ...escaped([spec.help, spec.kind === "boolean" ? "" : limits(spec)].filter(Boolean).join(" · "), "prose"));
    this.holder = spec.kind === "boolean" ? tick(spec, id, help, heard) : spec.kind === "multi" ? list(spec, id, true, heard)
      : spec.kind === "select" ? (spec.choices.length <= LISTED || spec.choices.some((c) => c.help) ? list(spec, id, false, heard) : menu(spec, id, heard)) : box(spec, id, heard);
    const { target, node } = this.holder;
    const labels = /^(?:INPUT|TEXTAREA|SELECT)$/.test(node.tagName) ? h("label", { class: "hm-label", for: id }) : h("span", { class: "hm-label", id });
    fill(labels, ...label(spec.title || spec.name, 200), spec.required && h("span", { class: "hm-help" }, " required"));
    if (spec.required && spec.kind !== "boolean") target.setAttribute("aria-required", "true");
    this.told = spec.kind !== "boolean" && help.textContent ? help.id : "";
    if (this.told) target.setAttribute("aria-describedby", this.told);
    this.complaint.hidden = true;
    const told = spec.kind !== "boolean" && help.textContent ? help : null;
    const above = node.matches(".hm-opts");                            // what a list is about is read before it
    this.rows = [labels, h("div", { class: "hm-form-cell" }, above && told, node, !above && told, this.complaint)];
  }

  get value(): unknown { return this.holder.read(); }

  /** Say what is wrong beside the field; true when nothing is. */
  check(): boolean {
    const why = wrong(this.spec, this.value);
    const { target } = this.holder;
    this.complained ||= !!why;
    this.complaint.hidden = !why;
    fill(this.complaint, why && icon("warn"), why);
    const described = [why && this.complaint.id, this.told].filter(Boolean).join(" ");
    if (described) target.setAttribute("aria-describedby", described);
    else target.removeAttribute("aria-describedby");
    if (why) target.setAttribute("aria-invalid", "true");
    else target.removeAttribute("aria-invalid");
    return !why;
  }

  focus(): void { (this.holder.target.matches("input, textarea, select") ? this.holder.target : this.holder.target.querySelector<HTMLElement>("input"))?.focus({ preventScroll: true }); }
}

// ---- controls -----------------------------------------------------------------------------------------------------------

/** A moment as the browser's own control writes it (local, no zone), from what the agent wrote; "" when it is none. */
function local(text: string): string {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? "" : new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function box(spec: FormField, id: string, changed: () => void): Holder {
  const given = typeof spec.default === "string" || typeof spec.default === "number" ? String(spec.default) : "";
  const numeric = spec.kind !== "text";
  const moment = spec.format === "date-time";
  const long = spec.kind === "text" && !spec.format && ((spec.max_length ?? 0) > 200 || given.includes("\n"));
  const type = moment ? "datetime-local" : spec.format === "date" ? "date" : "text";
  const node = long ? h("textarea", { class: "hm-in", id, rows: 2, oninput: changed })
    : h("input", { class: `hm-in${type !== "text" ? " hm-in-date" : numeric ? " hm-in-num" : ""}`, id, type, autocomplete: "off", spellcheck: "false", oninput: changed,
      inputmode: spec.kind === "integer" ? "numeric" : numeric ? "decimal" : spec.format === "email" ? "email" : spec.format === "uri" ? "url" : null });
  node.value = moment ? local(given) : given;
  const read = () => {
    const text = numeric || spec.format ? node.value.trim() : node.value;
    if (!text) return undefined;
    if (moment) return text === local(given) ? given : new Date(text).toISOString();
    return numeric ? number(text) : text;
  };
  return { node, target: node, read };
}

/** The number that was meant, or the text when it is none. A comma is refused: here it parts thousands, there decimals. */
function number(text: string): number | string {
  const plain = text.replace(/[ _\u00a0\u202f]/g, "");
  return /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,3})?$/i.test(plain) ? Number(plain) : text;
}

function tick(spec: FormField, id: string, help: HTMLElement, changed: () => void): Holder {
  const input = h("input", { type: "checkbox", class: "hm-check", "aria-labelledby": `${id} ${help.id}`, checked: spec.default === true, onchange: changed });
  return { node: h("label", { class: "hm-opt" }, input, help.textContent ? help : h("span", { class: "hm-help", id: help.id }, "Yes")), target: input, read: () => input.checked };
}

function menu(spec: FormField, id: string, changed: () => void): Holder {
  const select = h("select", { class: "hm-in", id, onchange: changed });
  const empty = !spec.choices.some((c) => c.value === spec.default) || !spec.required;
  fill(select, empty && h("option", { value: "" }, spec.required ? "Choose one" : "No answer"), choicesOf(spec.choices, (c, i) => h("option", { value: String(i + 1), selected: c.value === spec.default }, choiceName(c))));
  return { node: select, target: select, read: () => spec.choices[Number(select.value) - 1]?.value };
}

function list(spec: FormField, id: string, multi: boolean, changed: () => void): Holder {
  const name = uid();
  const chosen = new Set(Array.isArray(spec.default) ? spec.default : [spec.default]);
  const inputs: HTMLInputElement[] = [];
  const row = (value: string, words: Child[], help: string, checked: boolean) => {
    const input = h("input", { type: multi ? "checkbox" : "radio", class: multi ? "hm-check" : "hm-radio", name, value, checked, onchange: changed });
    inputs.push(input);
    return h("label", { class: "hm-opt" }, input, h("span", null, h("span", { class: "hm-label" }, words), help && h("span", { class: "hm-help" }, ...escaped(help, "prose"))));
  };
  const node = h("div", { class: "hm-opts", role: multi ? "group" : "radiogroup", "aria-labelledby": id },
    spec.choices.map((c, i) => row(String(i), label(c.label || c.value, 200), c.help, chosen.has(c.value))),
    !multi && !spec.required && row("", ["No answer"], "", !spec.choices.some((c) => chosen.has(c.value))));
  const read = () => {
    const values = inputs.filter((i) => i.checked && i.value).map((i) => spec.choices[Number(i.value)]?.value);
    return multi ? (values.length || spec.required ? values : undefined) : values[0];
  };
  return { node, target: node, read };
}

/** What a menu calls a choice: one line, and none without end. */
export const choiceName = (c: Choice) => { const text = (c.label || c.value).replace(/\s+/g, " ").trim(); return text.length > 80 ? `${text.slice(0, 79)}…` : text; };

/** Options under their groups' heads, in the order they came. */
export function choicesOf(choices: readonly Choice[], make: (choice: Choice, index: number) => HTMLOptionElement): HTMLElement[] {
  const out: HTMLElement[] = [];
  let group: HTMLOptGroupElement | null = null;
  choices.forEach((choice, i) => {
    if (!choice.group) group = null;
    else if (group?.label !== choice.group) out.push(group = h("optgroup", { label: choice.group }));
    if (group) group.append(make(choice, i));
    else out.push(make(choice, i));
  });
  return out;
}

// ---- what it may hold ---------------------------------------------------------------------------------------------------

const some = (n: number | null): n is number => typeof n === "number";

/** "1 to 10", "at most 40 characters": what there is to keep to, said before anything is wrong. */
function limits({ kind, minimum, maximum, min_length: least, max_length: most, format }: FormField): string {
  const between = (a: number | null, b: number | null, of: string) => some(a) && some(b) ? (a === b ? `exactly ${a}${of}` : `${a} to ${b}${of}`) : some(a) ? `at least ${a}${of}` : some(b) ? `at most ${b}${of}` : "";
  if (kind === "number" || kind === "integer") return [kind === "integer" ? "whole number" : "number", between(minimum, maximum, "")].filter(Boolean).join(", ");
  if (kind === "multi") return least || some(most) ? `choose ${between(least || null, most, "")}` : "";
  return kind !== "text" ? "" : [format === "email" ? "e-mail address" : format === "uri" ? "web or other address" : "", least && least > 1 || some(most) && most <= 200 ? between(least && least > 1 ? least : null, most, " characters") : ""].filter(Boolean).join(", ");
}

/** What is wrong with `value`, as a sentence; "" when nothing is. */
export function wrong(spec: FormField, value: unknown): string {
  const { kind, required, minimum, maximum, min_length: least, max_length: most, format, pattern } = spec;
  if (value === undefined) return !required ? "" : kind === "select" ? "Choose one" : "This is needed";
  if (kind === "number" || kind === "integer") {
    if (typeof value !== "number" || !Number.isFinite(value)) return "Write a number, such as 12" + (kind === "number" ? " or 0.5" : "");
    if (kind === "integer" && !Number.isSafeInteger(value)) return "Write a whole number";
    if (some(minimum) && value < minimum) return `Not less than ${minimum}`;
    return some(maximum) && value > maximum ? `Not more than ${maximum}` : "";
  }
  if (kind === "multi" && Array.isArray(value)) {
    if (value.length < (least ?? (required ? 1 : 0))) return least && least > 1 ? `Choose at least ${least}` : "Choose at least one";
    return some(most) && value.length > most ? `Choose at most ${most}` : "";
  }
  if (kind !== "text" || typeof value !== "string") return "";
  const length = [...value].length;
  if (some(least) && length < least) return `At least ${least} characters; these are ${length}`;
  if (some(most) && length > most) return `At most ${most} characters; these are ${length}`;
  if (format === "email" && !/^[^\s@]+@[^\s@]+$/.test(value)) return "Write an e-mail address: name@place";
  if (format === "uri" && !/^[a-z][a-z\d+.-]*:\S+$/i.test(value)) return "Write a whole address, such as https://example.org";
  const form = pattern && harmless(pattern, value);
  return form && !form.test(value) ? `Must have the form ${pattern}` : "";
}

/** Steps a pattern may take. */
const PATIENCE = 1e7;

/** The pattern of an agent, if trying it on `text` cannot take long, whatever it is. Null: the agent must check it. */
export function harmless(pattern: string, text: string): RegExp | null {
  if (pattern.length > 200 || /\)[*+?{]|\\[1-9k]|\(\?/.test(pattern)) return null;         // what repeats a group may never end
  const count = (what: RegExp) => pattern.match(what)?.length ?? 0;
  const length = text.length + 1;
  const steps = length ** (1 + count(/[*+]|\{\d+,\d*\}/g)) * 2 ** count(/\?/g) * (count(/\|/g) + 1) ** (count(/\(/g) + 1);
  if (!(steps <= PATIENCE)) return null;
  try { return new RegExp(pattern, "u"); } catch { return null; }
}
