/** The box to write to the agent: steer while it runs, queue a follow-up, or ask when nothing runs. */
import type { Context } from "./context";
import { fill, grow, h, say, uid } from "./dom";
import { escaped, label } from "./escapes";
import { Button } from "./frame";
import type { UserEntry } from "./model";
import { Slash } from "./slash";

export class Composer {
  readonly node = h("div", { class: "hm-composer" });
  private readonly area = h("textarea", { class: "hm-in", id: uid(), rows: 1 });
  private readonly steer = new Button("Steer", { key: "↵", cls: "hm-btn-s", onclick: () => this.go(false) });
  private readonly queue = new Button("Queue", { key: "Alt ↵", cls: "hm-btn-s", onclick: () => this.go(true) });
  private readonly hint = h("div", { class: "hm-hint" });
  private readonly error = h("div", { class: "hm-hint hm-bad-text", role: "alert" });
  private readonly queued = h("div", { class: "hm-queue" });
  private readonly slash = new Slash(this.area, () => this.draw());
  private readonly box: HTMLElement;
  private running = false;
  private readonly dropped = new Set<string>();
  private first = true;

  constructor(private readonly ctx: Context) {
    this.box = h("div", { class: "hm-box" }, h("label", { class: "hm-sr", for: this.area.id }, "Message to the agent"), this.area, this.slash.node,
      h("div", { class: "hm-box-foot" }, h("span", { class: "hm-gap" }), this.steer.node, this.queue.node));
    this.area.addEventListener("focus", () => { this.box.classList.add("hm-box-focus"); this.draw(); });
    this.area.addEventListener("blur", () => this.box.classList.remove("hm-box-focus"));
    this.area.addEventListener("input", () => this.draw());
    fill(this.node, this.queued, this.box, this.error, this.hint);
  }

  /** Enter in the box, and the keys of the list while it is open. Shift Enter (a new line) is left to the browser. */
  key(event: KeyboardEvent): boolean {
    if (event.target === this.area && this.slash.key(event)) return true;
    if (event.target !== this.area || event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.metaKey) return false;
    this.go(event.altKey);
    return true;
  }

  update(running: boolean, alive: boolean): void {
    this.running = running;
    const caps = this.ctx.store.state.capabilities;
    const may = running ? caps.steer || caps.follow_up : this.ctx.store.state.status === "ready" || this.ctx.cut;
    this.node.hidden = !alive || this.ctx.link.gone || (!may && !this.area.value);
    this.drawQueue();
    this.takeBackDropped();
    this.draw();
  }

  private draw(): void {
    const { capabilities: caps } = this.ctx.store.state;
    const { route } = this.ctx.link.state;
    const empty = !this.area.value.trim();
    // Where a message reaches the agent at the turn's end only, there is nothing to steer: one button, and no false promise.
    const later = this.running && this.later;
    const steers = this.running && !!caps.steer && !later;
    this.steer.node.hidden = this.running && !steers && !later;
    this.queue.node.hidden = !this.running || !caps.follow_up || later;
    this.steer.words(later ? "Queue" : this.running ? "Steer" : "Send");
    this.slash.update(this.ctx.store.state.commands ?? []);
    const cut = this.ctx.cut;
    const off = route === "offline" || cut;
    this.steer.off(off);
    this.queue.off(off);
    const ph = later ? "Queue a message for when the turn ends" : this.running ? (steers ? (caps.follow_up ? "Steer the agent, or queue a follow-up" : "Steer the agent") : "Queue a follow-up") : this.ctx.store.state.turn ? "Ask a follow-up" : "Ask about this notebook";
    if (this.area.placeholder !== ph) this.area.placeholder = ph;
    grow(this.area);
    const slow = route === "after_cell" || route === "input" ? " The kernel hears it when the running cell ends." : "";
    const parts = later ? "It waits for the turn to end: this agent hears nothing before." : this.running ? [steers && "Steer arrives after the running tool call.", caps.follow_up && "Queue waits for the turn to end."].filter(Boolean).join(" ") : "";
    const { hint } = this.slash;
    if (hint) fill(this.hint, h("code", null, "/", ...label(hint[0], 60)), " ", ...label(hint[1], 200));
    else say(this.hint, cut ? "The agent cannot be reached now. What is written here stays." : `${parts}${slow}`.trim());
    this.hint.hidden = !this.hint.textContent || (empty && !cut && document.activeElement !== this.area && !this.running);
  }

  /** Does what is sent now wait for the turn's end in any case? */
  private get later(): boolean { const caps = this.ctx.store.state.capabilities; return caps.steer_delivery === "next_prompt" && !!(caps.steer || caps.follow_up); }

  private go(queue: boolean): void {
    const text = this.area.value.trim();
    const caps = this.ctx.store.state.capabilities;
    const type = !this.running ? "prompt" : this.later ? (caps.follow_up ? "follow_up" : "steer") : queue ? "follow_up" : "steer";
    if (!text || this.ctx.store.frozen || this.ctx.link.state.route === "offline" || this.ctx.cut || (type === "steer" && !caps.steer) || (type === "follow_up" && !caps.follow_up)) return;
    this.area.value = "";
    say(this.error, "");
    const { answer } = this.ctx.send({ type, text });
    void answer.then(({ ok, error }) => {
      if (ok) return;
      if (!this.area.value) this.area.value = text;
      say(this.error, error ? `Not sent: ${error}` : "");
      this.draw();
    });
    this.draw();
  }

  private drawQueue(): void {
    const waiting = [...this.ctx.store.entries.values()].filter((e): e is UserEntry => e.kind === "user" && e.delivery === "follow_up" && e.status === "queued" && this.ctx.shows(e.turn));
    this.queued.hidden = !waiting.length;
    if (!waiting.length) return;
    const id = uid();
    fill(this.queued, h("div", { class: "hm-queue-h", id }, waiting.length === 1 ? "1 queued, sent when the turn ends" : `${waiting.length} queued, sent in this order when the turn ends`),
      h("ol", { "aria-labelledby": id }, waiting.map((e, i) => h("li", null, h("span", { class: "hm-num" }, String(i + 1)), h("span", null, ...escaped(e.text, "prose"))))));
  }

  /** A stop drops what was queued: the text comes back into the box, if nothing is there. */
  private takeBackDropped(): void {
    const texts: string[] = [];
    for (const e of this.ctx.store.entries.values()) {
      if (e.kind !== "user" || e.status !== "dropped" || this.dropped.has(e.id)) continue;
      this.dropped.add(e.id);
      if (!this.first && e.delivery === "follow_up") texts.push(e.text);
    }
    this.first = false;
    if (texts.length && !this.area.value) this.area.value = texts.join("\n");
  }
}
