/** What goes on besides the turn: a line each, with Stop where the agent can stop it. */
import type { Context } from "./context";
import { arrange, fill, h, say, uid } from "./dom";
import { label } from "./escapes";
import { Button } from "./frame";
import { spinner } from "./icons";
import type { Background } from "./model";

const KINDS: Record<string, string> = { tool: "Tool call", terminal: "Terminal", subagent: "Sub-agent" };

class Line {
  readonly node: HTMLElement;
  private readonly name = h("span");
  private readonly fate = h("span", { class: "hm-bad-text", role: "status" });
  private readonly stop: Button;

  constructor(private readonly ctx: Context, private work: Background) {
    this.stop = new Button("Stop", { icon: "stop", cls: "hm-btn-s hm-btn-q hm-stop", onclick: () => this.cancel() });
    this.node = h("li", null, spinner(), h("span", null, this.name, " ", this.fate), h("span", { class: "hm-acts" }, this.stop.node));
  }

  update(work: Background): void {
    this.work = work;
    const title = work.title || work.id;
    fill(this.name, `${KINDS[work.kind] ?? "Work"} `, h("code", null, ...label(title, 80)));
    this.stop.node.setAttribute("aria-label", `Stop ${title.slice(0, 80)}`);
    this.stop.node.hidden = !work.cancelable || work.kind === "other" || !this.ctx.store.state.capabilities.cancel_work;
    if (!this.stop.node.textContent?.includes("Stopping")) this.stop.off(this.ctx.cut || this.ctx.link.state.route === "offline");
  }

  private cancel(): void {
    const { kind, id } = this.work;
    if (kind === "other") return;
    this.stop.words("Stopping");
    this.stop.off(true);
    say(this.fate, "");
    void this.ctx.send({ type: "cancel_work", kind, work: id }).answer.then(({ ok, error }) => {
      if (ok) return;                                                  // it is gone when the agent says so
      this.stop.words("Stop");
      this.stop.off(false);
      say(this.fate, error || "It was not stopped.");
    });
  }
}

export class Work {
  readonly node = h("div", { class: "hm-work" });
  private readonly head = h("div", { class: "hm-queue-h", id: uid() });
  private readonly list = h("ul", { "aria-labelledby": this.head.id });
  private lines = new Map<string, Line>();

  constructor(private readonly ctx: Context) { this.node.append(this.head, this.list); }

  update(): void {
    const { state, frozen } = this.ctx.store;
    const work = frozen || state.status === "ended" ? [] : state.background ?? [];
    this.node.hidden = !work.length;
    const keep = new Map<string, Line>();
    for (const w of work) {
      const key = `${w.kind} ${w.id}`;
      const line = this.lines.get(key) ?? new Line(this.ctx, w);
      line.update(w);
      keep.set(key, line);
    }
    this.lines = keep;
    say(this.head, work.length === 1 ? "1 job goes on in the background" : `${work.length} jobs go on in the background`);
    arrange(this.list, [...keep.values()].map((l) => l.node));
  }
}
