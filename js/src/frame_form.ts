/** The frame of a question that is a form: every field with its label, help and limits; answered or declined as a whole. */
import type { Context } from "./context";
import { fill, h } from "./dom";
import { Field } from "./form";
import { plural } from "./format";
import { Button, facts, Frame } from "./frame";
import { label } from "./escapes";
import { isMac } from "./frame_question";
import { plain } from "./markdown";
import type { PendingQuestion } from "./model";

export class FormFrame extends Frame {
  private readonly answer = new Button("Answer", { key: isMac() ? "⌘ ↵" : "Ctrl ↵", cls: "hm-btn-main", onclick: () => this.give() });
  private readonly skip = new Button("Skip", { key: "N", onclick: () => this.leave() });
  private readonly fields: Field[];

  constructor(ctx: Context, pending: PendingQuestion) {
    super(ctx, pending, "ask", "ask");
    // A form without fields asks for consent alone.
    this.setTitle(pending.form.length ? `The agent asks for ${plural(pending.form.length, "value")}` : "The agent asks");
    this.fields = pending.form.map((spec) => new Field(spec, () => this.draw()));
    fill(this.body, pending.source && facts([["Asked by", label(pending.source, 200)]]), h("div", { class: "hm-md hm-agent" }, plain(pending.text)),
      this.fields.length > 0 && h("div", { class: "hm-form hm-agent" }, this.fields.flatMap((f) => f.rows)));
    fill(this.buttons, h("div", { class: "hm-acts hm-acts-gate" }, this.answer.node, h("span", { class: "hm-gap" }), this.skip.node));
  }

  get announcement(): string { return `Waiting: ${this.heading}: ${(this.pending as PendingQuestion).text}`; }
  protected lost(): void { this.body.inert = true; }

  protected foot(enabled: boolean, held: boolean): void {
    const after = held ? " after the cell" : "";
    this.answer.words(`Answer${after}`);
    this.skip.words(`Skip${after}`);
    this.answer.main(enabled && !held);
    for (const b of [this.answer, this.skip]) { b.off(!enabled, this.status.id); b.held(held); }
  }

  key(key: string): boolean {
    if (key !== "n") return false;
    this.leave();
    return true;
  }

  override submit(): boolean { this.give(); return true; }

  /** With a field that is not right nothing is sent: each says why, and the first has the focus. */
  private give(): void {
    if (!this.ready) return;
    const bad = this.fields.filter((f) => !f.check());
    if (bad[0]) return bad[0].focus();
    const filled = this.fields.map((f) => [f.spec.name, f.value] as const).filter(([, value]) => value !== undefined);
    this.decide({ type: "answer", request_id: this.pending.request_id, text: "", skip: false, fields: Object.fromEntries(filled) }, "Answered");
  }

  private leave(): void {
    this.decide({ type: "answer", request_id: this.pending.request_id, text: "", skip: true }, "Skipped");
  }
}
