/** The frame in which the agent asks something: choices, free text, or both. */
import type { Context } from "./context";
import { fill, grow, h, uid } from "./dom";
import { escaped } from "./escapes";
import { Button, Frame } from "./frame";
import { icon } from "./icons";
import { plain } from "./markdown";
import type { PendingQuestion } from "./model";

export class QuestionFrame extends Frame {
  private readonly answer = new Button("Answer", { key: isMac() ? "⌘ ↵" : "Ctrl ↵", cls: "hm-btn-main", onclick: () => this.give() });
  private readonly skip = new Button("Skip", { key: "N", onclick: () => this.leave() });
  private readonly inputs: HTMLInputElement[] = [];
  private readonly other: HTMLInputElement | null = null;
  private readonly text = h("textarea", { class: "hm-in", id: uid(), rows: 2, placeholder: "Your answer", oninput: () => this.changed() });
  private readonly help = h("span", { class: "hm-help hm-bad-text", id: uid() });
  private readonly textField: HTMLElement;

  constructor(ctx: Context, pending: PendingQuestion) {
    super(ctx, pending, "ask", "ask");
    const { choices, multi, free } = pending;
    this.setTitle(choices.length ? `The agent asks: choose ${multi ? "any" : "one"}` : "The agent asks");
    const name = uid();
    const option = (labelText: string, helpText: string, value: string, key: number) => {
      const input = h("input", { type: multi ? "checkbox" : "radio", class: multi ? "hm-check" : "hm-radio", name, value, onchange: () => this.changed() });
      const node = h("label", { class: "hm-opt" }, input, h("span", null, h("span", { class: "hm-label" }, ...escaped(labelText)), helpText && h("span", { class: "hm-help" }, ...escaped(helpText))),
        key <= 9 && h("kbd", { "aria-hidden": "true" }, String(key)));
      this.inputs.push(input);
      return node;
    };
    const options = choices.map((c, i) => option(c.label || c.value, c.help, c.value, i + 1));
    if (choices.length && free) {
      options.push(option("Something else", "Write it in the box that opens here", "", choices.length + 1));
      this.other = this.inputs[this.inputs.length - 1] ?? null;
    }
    this.textField = h("div", { class: "hm-field" }, h("label", { class: "hm-sr", for: this.text.id }, "Your answer"), this.text);
    this.textField.hidden = choices.length > 0;
    const textOffered = free || !choices.length;
    fill(this.body, h("div", { class: "hm-md hm-agent" }, plain(pending.text)),
      options.length > 0 && h("fieldset", { class: "hm-opts" }, h("legend", { class: "hm-sr" }, multi ? "Choose any" : "Choose one"), options),
      textOffered && this.textField, this.help);
    this.help.hidden = true;
    fill(this.buttons, h("div", { class: "hm-acts hm-acts-gate" }, this.answer.node, h("span", { class: "hm-gap" }), this.skip.node));
  }

  get announcement(): string { return `Waiting: the agent asks: ${(this.pending as PendingQuestion).text}`; }

  private get picked(): HTMLInputElement[] { return this.inputs.filter((i) => i.checked); }

  private changed(): void {
    grow(this.text);
    if (this.other) {
      const show = this.other.checked;
      if (show !== !this.textField.hidden) this.textField.hidden = !show;
    }
    this.complain("");
    this.draw();
  }

  private complain(why: string): void {
    const field = this.textField.hidden ? this.inputs[0] : this.text;
    this.help.hidden = !why;
    fill(this.help, why && icon("warn"), why);
    for (const f of [this.text, ...this.inputs]) { f.removeAttribute("aria-invalid"); f.removeAttribute("aria-describedby"); }
    if (!why || !field) return;
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-describedby", this.help.id);
    field.focus({ preventScroll: true });
  }

  protected lost(): void { this.body.inert = true; }

  protected foot(enabled: boolean, held: boolean): void {
    const { multi } = this.pending as PendingQuestion;
    const n = this.picked.length;
    const after = held ? " after the cell" : "";
    this.answer.words(`${multi && n ? `Answer with ${n}` : "Answer"}${after}`);
    this.skip.words(`Skip${after}`);
    this.answer.main(enabled && !held);
    for (const b of [this.answer, this.skip]) { b.off(!enabled, this.status.id); b.held(held); }
  }

  key(key: string): boolean {
    if (key === "n") { this.leave(); return true; }
    const at = Number(key);
    const input = Number.isInteger(at) && at >= 1 ? this.inputs[at - 1] : undefined;
    if (!input || !this.ready) return false;
    input.checked = input.type === "radio" ? true : !input.checked;
    input.focus({ preventScroll: true });
    this.changed();
    return true;
  }

  override submit(): boolean { this.give(); return true; }

  /** Answer (Ctrl Enter, the button). With nothing to send it says so and sends nothing. */
  private give(): void {
    if (!this.ready) return;
    const { choices, request_id } = this.pending as PendingQuestion;
    const text = this.text.value.trim();
    let value: string;
    if (!choices.length) {
      if (!text) return this.complain("Write an answer, or skip the question");
      value = text;
    } else {
      const picked = this.picked;
      if (!picked.length) return this.complain("Choose one, or skip the question");
      if (picked.some((i) => i === this.other) && !text) return this.complain("Write the answer in the box");
      value = picked.map((i) => (i === this.other ? text : i.value)).join(", ");
    }
    this.decide({ type: "answer", request_id, text: value, skip: false }, "Answered");
  }

  private leave(): void {
    this.decide({ type: "answer", request_id: (this.pending as PendingQuestion).request_id, text: "", skip: true }, "Skipped");
  }
}

export function isMac(): boolean { return /Mac|iPhone|iPad/.test(navigator.platform ?? ""); }
