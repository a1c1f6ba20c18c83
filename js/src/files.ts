/** The files of an edit that waits: a real diff each, a tick, and Edit over the lines that change. */
import { compare, type Diff, diffTable, stat } from "./diff";
import { fill, grow, h, uid } from "./dom";
import { escaped } from "./escapes";
import { icon } from "./icons";
import type { FileDiff } from "./model";

export class FileBox {
  readonly node: HTMLElement;
  on = true;
  private editing = false;
  private area: HTMLTextAreaElement | null = null;
  private mine: string | null = null;              // the person's whole new content, when it differs
  private readonly tickBox = h("input", { class: "hm-check", type: "checkbox", checked: true });
  private readonly statHolder = h("span");
  private readonly tag = h("span", { class: "hm-help" });
  private readonly acts = h("span", { class: "hm-acts" });
  private readonly holder = h("div", { class: "hm-agent" });
  private readonly head: HTMLElement;

  constructor(readonly file: FileDiff, private readonly options: { tickable: boolean; editable: boolean }, private readonly changed: () => void) {
    const path = h("code", null, ...escaped(file.path));
    this.tickBox.addEventListener("change", () => { this.on = this.tickBox.checked; this.draw(); this.changed(); });
    this.tickBox.setAttribute("aria-label", `Include ${file.path}`);
    this.head = h("div", { class: "hm-file-head" }, options.tickable ? h("label", null, this.tickBox, path) : path, this.statHolder, this.tag, this.acts);
    this.node = h("div", { class: "hm-file" }, this.head, this.holder);
    this.draw();
  }

  /** The text that would be written, edits included. */
  get content(): string { return this.current() ?? this.file.new ?? ""; }
  get edited(): boolean { return this.current() !== null; }
  get isEditing(): boolean { return this.editing; }
  get editor(): HTMLTextAreaElement | null { return this.area; }

  private current(): string | null {
    if (!this.editing || !this.area) return this.mine;
    const text = this.region.before + this.area.value + this.region.after;
    return text === (this.file.new ?? "") ? null : text;
  }

  owns(node: Node | null): boolean { return this.head.contains(node); }
  key(key: string): boolean {
    if (key === "e" && this.options.editable && !this.editing) { this.edit(); return true; }
    if (key === " " && this.options.tickable) { this.tickBox.click(); return true; }
    return false;
  }

  private region = { before: "", text: "", after: "", from: 1, to: 1 };

  private edit(): void {
    const text = this.content;
    const diff = compare({ ...this.file, new: text });
    const lines = text.split("\n");
    const from = Math.max(1, diff.hunks[0]?.newStart ?? 1);
    const to = Math.min(lines.length, Math.max(from, diff.hunks.at(-1)?.newEnd ?? lines.length));
    const before = lines.slice(0, from - 1).map((l) => `${l}\n`).join("");
    const middle = lines.slice(from - 1, to).join("\n");
    this.region = { before, text: middle, after: text.slice(before.length + middle.length), from, to };
    this.editing = true;
    this.draw();
    this.area?.focus({ preventScroll: true });
    this.changed();
  }

  done(): void {
    this.mine = this.current();
    this.editing = false;
    this.area = null;
    this.draw();
    this.head.querySelector("button")?.focus({ preventScroll: true });
    this.changed();
  }

  private undo(): void {
    this.mine = null;
    this.editing = false;
    this.area = null;
    this.draw();
    this.head.querySelector("button")?.focus({ preventScroll: true });
    this.changed();
  }

  private button(words: string, onclick: () => void, cls = "", pencil = false): HTMLElement {
    return h("button", { class: `hm-btn hm-btn-s ${cls}`, type: "button", onclick }, pencil && icon("pencil"), words);
  }

  private draw(): void {
    const { options, editing } = this;
    this.node.classList.toggle("hm-file-off", !this.on);
    const diff: Diff = compare({ ...this.file, new: this.file.new === null ? null : this.mine ?? this.file.new });
    fill(this.statHolder, stat(diff));
    this.tag.textContent = editing ? `you are editing lines ${this.region.from}–${this.region.to}` : this.mine !== null ? "edited by you" : "";
    fill(this.acts,
      editing && this.button("Done", () => this.done()),
      (editing || this.mine !== null) && this.button("Undo my edits", () => this.undo(), "hm-btn-q"),
      !editing && options.editable && this.button("Edit", () => this.edit(), "hm-btn-q", true));
    if (editing) {
      const id = uid();
      const area = h("textarea", { class: "hm-edit", id, rows: Math.max(3, this.region.text.split("\n").length), spellcheck: "false", autocapitalize: "off", oninput: () => { grow(area); this.changed(); } });
      area.value = this.region.text;
      this.area = area;
      fill(this.holder, h("label", { class: "hm-sr", for: id }, `New text of lines ${this.region.from} to ${this.region.to}`), area);
      grow(area);
    } else fill(this.holder, diffTable(diff, !this.file.partial));
  }
}
