/** What a screen reader is told: sentences when something changed for good, and each request once. */
import { h } from "./dom";
import type { Store, ToolEntry } from "./model";
import { objectOf, VERBS } from "./words";
import { short } from "./format";

export class Announcer {
  readonly node: HTMLElement;
  private readonly polite = h("div", { "aria-live": "polite" });
  private readonly assertive = h("div", { "aria-live": "assertive" });
  private tools = new Map<string, string>();
  private turn = "";
  private first = true;

  constructor(private readonly store: Store) { this.node = h("div", { class: "hm-sr" }, this.polite, this.assertive); }

  /** A request, once in this page however many views show it. */
  request(id: string, text: string): void {
    if (this.store.announced.has(id)) return;
    this.store.announced.add(id);
    this.assertive.textContent = short(text, 400);
  }

  update(): void {
    for (const e of this.store.entries.values()) {
      if (e.kind === "tool") this.tool(e);
      else if (e.kind === "turn") {
        const now = `${e.turn} ${e.status}`;
        if (now !== this.turn && !this.first && e.status !== "running") this.polite.textContent = { finished: "Finished", stopped: "Stopped", failed: "The turn failed" }[e.status];
        this.turn = now;
      }
    }
    this.first = false;
  }

  private tool(e: ToolEntry): void {
    const before = this.tools.get(e.id);
    if (before === e.status) return;
    this.tools.set(e.id, e.status);
    if (!this.first && e.status === "failed") this.polite.textContent = `${VERBS[e.category] ?? "Tool"} ${short(objectOf(e).text, 80)} failed`;
  }
}
