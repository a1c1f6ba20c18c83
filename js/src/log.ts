/** The transcript as rows, kept in step with the store: only entries that changed are drawn again, nothing else moves. */
import type { Context } from "./context";
import { arrange, h } from "./dom";
import { GroupView, viewOf } from "./entries";
import type { Frame } from "./frame";
import type { Change, Entry, ToolEntry } from "./model";
import { type EntryView, ToolRow } from "./row";

const GROUP_FROM = 3;
/** Sub-agents within sub-agents that are nested; what is deeper stands by itself. */
const DEEPEST = 4;

/** Nodes in order, where neighbouring small steps share a row. */
class Strip {
  readonly nodes: HTMLElement[] = [];
  count = 0;
  private run: [ToolEntry, ToolRow][] = [];

  constructor(private readonly group: (run: [ToolEntry, ToolRow][]) => HTMLElement) {}

  quiet(entry: ToolEntry, row: ToolRow): void { this.count += 1; this.run.push([entry, row]); }
  add(node: HTMLElement | undefined): void {
    this.flush();
    if (!node) return;
    this.count += 1;
    this.nodes.push(node);
  }
  done(): HTMLElement[] { this.flush(); return this.nodes; }

  private flush(): void {
    if (this.run.length >= GROUP_FROM) this.nodes.push(this.group(this.run));
    else for (const [, row] of this.run) this.nodes.push(row.node);
    this.run = [];
  }
}

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
    if (this.ctx.store.frozen && !this.still) {                        // nothing can be done here any more: no button says so
      this.still = true;
      for (const [id, view] of this.views) { const entry = entries.get(id); if (entry) view.update(entry); }
    }
  }
  private still = false;

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
    const top = new Strip((run) => this.group(run));
    const nests = new Map<ToolRow, Strip>();
    const owners = this.owners();
    const endings = new Map<number, HTMLElement>();
    let turn = -1;
    const endTurn = () => {
      top.add(endings.get(turn));
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
        // A frame never stands in a nest: what waits is at the edge, where nothing else can be.
        if (!placed.has(frame)) top.add(frame.node);
        placed.add(frame);
        continue;
      }
      const owner = owners.get(id);
      let strip = top;
      if (owner) {
        strip = nests.get(owner) ?? new Strip((run) => this.group(run));
        nests.set(owner, strip);
      }
      if (view instanceof ToolRow && view.quiet) strip.quiet(entry as ToolEntry, view);
      else if (view.node.hidden) strip.nodes.push(view.node);
      else strip.add(view.node);
    }
    for (const frame of frames) if (!placed.has(frame)) top.add(frame.node);
    endTurn();
    arrange(this.node, top.done());
    for (const [owner, strip] of nests) {
      arrange(owner.nest, strip.done());
      owner.made(strip.count);
    }
  }

  /** For each entry of a sub-agent, the row of that sub-agent. Who names itself, or goes in a circle, has none. */
  private owners(): Map<string, ToolRow> {
    const out = new Map<string, ToolRow>();
    const calls = new Map<string, ToolEntry>();
    let nested = false;
    for (const e of this.ctx.store.entries.values()) if (e.kind === "tool") { calls.set(e.call_id, e); nested ||= !!e.parent; }
    if (!nested) return out;
    for (const e of calls.values()) {
      const parent = calls.get(e.parent);
      let at = parent;
      for (let depth = 0; at && at !== e && depth < DEEPEST; depth += 1) at = calls.get(at.parent);
      const view = parent && !at && this.isShown(parent) ? this.views.get(parent.id) : undefined;
      if (view instanceof ToolRow) out.set(e.id, view);
    }
    return out;
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
