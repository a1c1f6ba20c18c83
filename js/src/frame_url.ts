/** The frame of a question that is a page to open: who asks, the whole address, and nothing loaded before a click. */
import type { Context } from "./context";
import { type Child, fill, h } from "./dom";
import { escaped, findHidden, label, summarise } from "./escapes";
import { Button, facts, Frame } from "./frame";
import { icon } from "./icons";
import { copyButton, plain } from "./markdown";
import type { PendingQuestion } from "./model";

export class UrlFrame extends Frame {
  private readonly open = new Button("Open in a new tab", { icon: "out", cls: "hm-btn-allow", onclick: () => this.visit() });
  private readonly done = new Button("Continue", { cls: "hm-btn-allow", onclick: () => this.consent() });
  private readonly decline = new Button("Decline", { key: "N", onclick: () => this.leave() });
  private readonly url: URL | null;
  private readonly odd: boolean;
  private opened = false;

  constructor(ctx: Context, pending: PendingQuestion) {
    super(ctx, pending, "ask", "out");
    this.setTitle("Open a web page?");
    const { url, source, text } = pending;
    this.url = page(url);
    const doubts = doubtsAbout(url, this.url);
    this.odd = doubts.length > 0;
    const name = source || ctx.store.state.agent;
    fill(this.body,
      this.odd && h("div", { class: "hm-alert", role: "alert" }, icon("warn"), h("div", null, h("b", null, "Look at the address closely."), " ", doubts)),
      h("div", { class: "hm-md hm-agent" }, plain(text)),
      h("div", { class: "hm-well hm-cmd hm-url" }, h("code", { class: "hm-agent", tabindex: 0, "aria-label": "Address" }, ...escaped(url)), copyButton(() => url)),
      facts([...(name ? [["Asked by", label(name, 200)] as [Child, Child]] : []), ...(this.url ? [["Goes to", h("b", null, ...escaped(this.url.host))] as [Child, Child]] : [])]));
    this.open.node.hidden = !this.url;
    fill(this.buttons, h("div", { class: "hm-acts hm-acts-gate hm-acts-many" }, this.open.node, this.done.node, h("span", { class: "hm-gap" }), this.decline.node),
      h("div", { class: "hm-rule" }, this.url ? "Nothing is loaded before you open it. Continue tells the agent that you agreed, not what you did there." : "This is no address of a web page, so it is not opened from here."));
  }

  get announcement(): string { const p = this.pending as PendingQuestion; return `Waiting: ${this.heading} ${this.url?.host ?? ""}. ${p.text}`; }
  protected lost(): void { this.open.node.hidden = true; }

  protected foot(enabled: boolean, held: boolean): void {
    const after = held ? " after the cell" : "";
    this.done.words(`${this.opened ? "I have opened it, continue" : "Continue"}${after}`);
    this.decline.words(`Decline${after}`);
    const main = !enabled || held ? null : this.odd && !this.opened ? this.decline : this.opened || !this.url ? this.done : this.open;
    for (const b of [this.open, this.done, this.decline]) b.main(b === main);
    for (const b of [this.done, this.decline]) { b.off(!enabled, this.status.id); b.held(held); }
  }

  key(key: string): boolean {
    if (key !== "n") return false;
    this.leave();
    return true;
  }

  private visit(): void {
    if (!this.url || !this.settled) return;
    window.open(this.url.href, "_blank", "noopener,noreferrer");
    this.opened = true;
    this.draw();
  }

  private consent(): void { this.decide({ type: "answer", request_id: this.pending.request_id, text: "", skip: false }, "Continue"); }
  private leave(): void { this.decide({ type: "answer", request_id: this.pending.request_id, text: "", skip: true }, "Declined"); }
}

/** The address, if a browser would show a page for it. */
export function page(text: string): URL | null {
  if (/\s/.test(text)) return null;                                     // a browser would leave it out
  try {
    const url = new URL(text);
    return /^https?:$/.test(url.protocol) && url.host ? url : null;
  } catch { return null; }
}

/** What makes an address another than it looks, as sentences. */
function doubtsAbout(text: string, url: URL | null): Child[] {
  const hidden = findHidden(text);
  const xn = url?.hostname.split(".").some((part) => part.startsWith("xn--"));
  return [
    hidden.length > 0 && `It holds characters that are invisible or look like others: ${summarise(hidden)}. `,
    xn && "The name of its host is written in letters that can look like others. ",
    url && (url.username || url.password) && ["What stands before the @ is no place: it goes to ", h("code", null, ...escaped(url.host)), ". "],
    url?.protocol === "http:" && !/^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname) && "What you send there is not encrypted. ",
  ].filter(Boolean) as Child[];
}
