/** The transcript as rows, kept in step with the store: only entries that changed are drawn again, nothing else moves. */
import type { Context } from "./context";
import { arrange, h } from "./dom";
import { GroupView, viewOf } from "./entries";
import type { Frame } from "./frame";
import type { Change, Entry, ToolEntry } from "./model";
import { type EntryView, ToolRow } from "./row";

const GROUP_FROM = 3;

export class Log {
  readonly node = h("div", { class: "hm-log", role: "log", "aria-live": "off", "aria-label": "Transcript" });
  private views = new Map<string, EntryView>();
  private kinds = new Map<string, Entry["kind"]>();
  private groups = new Map<string, GroupView>();

  constructor(private readonly ctx: Context) {}

  /** Draw what changed. `frames` stand where their tool's row would be. */
  update(change: Change, frames: Frame[]): void {
    const { entries } = this.ctx.store;
    for (const id of this.views.keys()) if (!entries.has(id)) this.views.delete(id);
    for (const [id, entry] of entries) {
      if (!this.isShown(entry)) continue;
      // A question takes the place of the call that asks it: the same id, another kind.
      let view = this.kinds.get(id) === entry.kind ? this.views.get(id) : undefined;
      if (!view) {
        view = viewOf(entry, this.ctx);
        this.views.set(id, view);
        this.kinds.set(id, entry.kind);
        view.update(entry);
      } else if (change.entries.has(id)) view.update(entry);
    }
    this.layout(frames);
  }

  tick(): void { for (const view of this.views.values()) view.tick?.(); }

  private isShown(entry: Entry): boolean {
    if (!this.ctx.shows(entry.turn)) return false;
    // The cell shows its own prompt; a queued follow-up stands in the dock until it is sent.
    if (entry.kind === "user" && entry.delivery === "prompt" && this.ctx.turn !== 0 && entry.turn === this.ctx.turn) return false;
    return !(entry.kind === "user" && entry.delivery === "follow_up" && entry.status === "queued");
  }

  private layout(frames: Frame[]): void {
    const byCall = new Map(frames.map((f) => [f.callId, f]));
    const placed = new Set<Frame>();
    const nodes: HTMLElement[] = [];
    const endings = new Map<number, HTMLElement>();
    let run: [ToolEntry, ToolRow][] = [];
    let turn = -1;
    const flush = () => {
      if (run.length >= GROUP_FROM) nodes.push(this.group(run));
      else for (const [, row] of run) nodes.push(row.node);
      run = [];
    };
    const endTurn = () => {
      flush();
      const ending = endings.get(turn);
      if (ending) nodes.push(ending);
      endings.delete(turn);
    };
    for (const [id, entry] of this.ctx.store.entries) {
      const view = this.views.get(id);
      if (!view || !this.isShown(entry)) continue;
      if (entry.turn !== turn) { endTurn(); turn = entry.turn; }
      // A turn's own entry is its first, what it says is its last word.
      if (entry.kind === "turn") { endings.set(entry.turn, view.node); continue; }
      const frame = entry.kind === "tool" || entry.kind === "question" ? byCall.get(entry.call_id) : undefined;
      if (frame) {
        flush();
        if (!placed.has(frame)) nodes.push(frame.node);
        placed.add(frame);
      } else if (view instanceof ToolRow && view.quiet) run.push([entry as ToolEntry, view]);
      else {
        if (view.node.hidden) { nodes.push(view.node); continue; }
        flush();
        nodes.push(view.node);
      }
    }
    for (const frame of frames) if (!placed.has(frame)) { flush(); nodes.push(frame.node); }
    endTurn();
    arrange(this.node, nodes);
  }

  private group(run: [ToolEntry, ToolRow][]): HTMLElement {
    const key = run[0]?.[0].id ?? "";
    let group = this.groups.get(key);
    if (!group) this.groups.set(key, group = new GroupView());
    arrange(group.body, run.map(([, row]) => row.node));
    group.update(run.map(([entry]) => entry));
    return group.node;
  }
}
