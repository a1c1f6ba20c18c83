/** One view of a session: log, frames, dock, and when to draw them: at most once an animation frame. */
import { Announcer } from "./announce";
import { Composer } from "./composer";
import { Context } from "./context";
import { fill, h } from "./dom";
import type { Frame } from "./frame";
import { ApprovalFrame } from "./frame_approval";
import { FormFrame } from "./frame_form";
import { QuestionFrame } from "./frame_question";
import { UrlFrame } from "./frame_url";
import { onKey } from "./keys";
import type { Link } from "./link";
import { Log } from "./log";
import type { Change, Pending, Store } from "./model";
import { Notices, WaitBar } from "./notices";
import { StatusLine } from "./status";
import { Work } from "./work";

export class View {
  readonly root: HTMLElement;
  private readonly ctx: Context;
  private readonly log: Log;
  private readonly status: StatusLine;
  private readonly composer: Composer;
  private readonly notices: Notices;
  private readonly waitBar: WaitBar;
  private readonly announcer: Announcer;
  private readonly work: Work;
  private readonly dock: HTMLElement;
  private frames = new Map<string, Frame>();
  private change: Change = { entries: new Set(), order: true, state: true };
  private scheduled = 0;
  private outOfView = new Set<Element>();
  private readonly watcher: IntersectionObserver | null;
  private readonly undo: (() => void)[] = [];

  constructor(private readonly store: Store, link: Link, turn: number) {
    this.ctx = new Context(store, link, turn);
    this.ctx.redraw = () => this.schedule();
    this.log = new Log(this.ctx);
    this.status = new StatusLine(this.ctx);
    this.composer = new Composer(this.ctx);
    this.notices = new Notices(this.ctx);
    this.waitBar = new WaitBar(() => this.step(-1, true));
    this.announcer = new Announcer(store);
    this.work = new Work(this.ctx);
    this.dock = h("div", { class: "hm-dock" }, this.waitBar.node, this.notices.node, this.work.node, this.status.node, this.status.settings.panel, this.composer.node);
    this.root = h("div", { class: "hm-root", role: "region", "aria-label": "Agent session", tabindex: -1, "data-lm-suppress-shortcuts": "true" },
      this.log.node, this.dock, this.announcer.node);
    this.root.addEventListener("keydown", (event) => onKey(event, {
      frameOf: (node) => this.frameOf(node), step: (d) => this.step(d), stop: () => this.status.abort(), compose: (e) => this.composer.key(e) || this.status.settings.key(e),
    }));
    this.root.addEventListener("focusin", (event) => {
      // JupyterLab's command-mode keys ("D, D" deletes the cell) match the focused element itself, before any ancestor is asked.
      (event.target as Element).setAttribute("data-lm-suppress-shortcuts", "true");
      this.hints();
    });
    // At every key JupyterLab waits for the text that it makes, and forbids new lines and undoing: they would be its own.
    this.root.addEventListener("beforeinput", (event) => event.stopPropagation(), true);
    this.root.addEventListener("focusout", () => queueMicrotask(() => this.hints()));
    this.watcher = typeof IntersectionObserver === "undefined" ? null : new IntersectionObserver((seen) => {
      for (const s of seen) (s.isIntersecting ? this.outOfView.delete(s.target) : this.outOfView.add(s.target));
      this.drawWaitBar();
    });
    this.undo.push(store.subscribe((change) => this.note(change)), link.subscribe(() => {
      if (link.gone) store.halt();
      this.schedule();
    }));
    const clock = setInterval(() => this.tick(), 1000);
    this.undo.push(() => clearInterval(clock));
    this.draw();
  }

  close(): void {
    for (const undo of this.undo) undo();
    this.watcher?.disconnect();
    if (this.scheduled) cancelAnimationFrame(this.scheduled);
    this.scheduled = -1;
    this.root.remove();
  }

  private note(change: Change): void {
    for (const id of change.entries) this.change.entries.add(id);
    this.change.order ||= change.order;
    this.change.state ||= change.state;
    this.schedule();
  }

  private schedule(): void {
    if (this.scheduled) return;
    // A hidden page gets no animation frames; what waits must be announced there too.
    if (document.hidden) this.scheduled = setTimeout(() => { this.scheduled = 0; this.draw(); }, 250) as unknown as number;
    else this.scheduled = requestAnimationFrame(() => { this.scheduled = 0; this.draw(); });
  }

  private draw(): void {
    const change = this.change;
    this.change = { entries: new Set(), order: false, state: false };
    const { state, frozen } = this.store;
    const hovered = [...this.frames.values()].find((f) => f.node.matches(":hover"));
    const before = hovered?.node.getBoundingClientRect().top;
    const hadFocus = this.root.contains(document.activeElement);

    const frames = this.drawFrames(frozen ? [] : state.pending.filter((p) => this.ctx.shows(p.turn)));
    this.log.update(change, frames);
    this.root.classList.toggle("hm-live", !frozen);
    this.notices.update();
    this.work.update();
    this.status.update();
    this.composer.update(this.ctx.running, !frozen && state.status !== "ended" && state.status !== "starting");
    this.drawWaitBar();
    this.announcer.update();
    for (const frame of frames) this.announcer.request(frame.requestId, frame.announcement);
    this.hints();

    if (hovered && before !== undefined && hovered.node.isConnected && Math.abs(hovered.node.getBoundingClientRect().top - before) > 2) hovered.rearm();
    // What had the focus is gone: keep it in the widget, so that keys go on working here.
    if (hadFocus && !this.root.contains(document.activeElement)) this.root.focus({ preventScroll: true });
  }

  private drawFrames(pending: Pending[]): Frame[] {
    const left = new Set(pending.map((p) => p.request_id));
    for (const [id, frame] of this.frames) {
      if (left.has(id)) continue;
      this.watcher?.unobserve(frame.node);
      this.outOfView.delete(frame.node);
      this.frames.delete(id);
    }
    return pending.map((p, i) => {
      let frame = this.frames.get(p.request_id);
      if (!frame) {
        frame = p.kind !== "question" ? new ApprovalFrame(this.ctx, p) : p.url ? new UrlFrame(this.ctx, p) : p.form?.length || !(p.free || p.choices.length) ? new FormFrame(this.ctx, p) : new QuestionFrame(this.ctx, p);
        this.frames.set(p.request_id, frame);
        this.watcher?.observe(frame.node);
      }
      frame.update(p, i, pending.length);
      return frame;
    });
  }

  private drawWaitBar(): void {
    this.waitBar.update(this.frames.size, this.outOfView.size > 0);
  }

  private tick(): void {
    if (document.hidden) return;
    this.status.tick();
    this.notices.update();
    this.log.tick();
    for (const frame of this.frames.values()) frame.tick();
  }

  private frameOf(node: Node | null): Frame | null {
    for (const frame of this.frames.values()) if (frame.node.contains(node)) return frame;
    return null;
  }

  /** Key hints are printed in the frame the keys act in: the focused one, else the first. */
  private hints(): void {
    const all = this.ordered();
    const focused = this.frameOf(document.activeElement) ?? all[0];
    for (const frame of all) frame.node.classList.toggle("hm-frame-next", frame !== focused);
  }

  private ordered(): Frame[] {
    return [...this.frames.values()].sort((a, b) => (a.node.compareDocumentPosition(b.node) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
  }

  private step(direction: -1 | 1, first = false): void {
    const all = this.ordered();
    if (!all.length) return;
    const at = all.findIndex((f) => f.node.contains(document.activeElement));
    const to = first || at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + direction));
    const node = all[to]?.node;
    node?.focus({ preventScroll: true });
    node?.scrollIntoView({ block: "nearest" });
  }
}

/** Put a view into `el`; the returned function takes it away. */
export function mount(el: HTMLElement, store: Store, link: Link, turn: number): () => void {
  const view = new View(store, link, turn);
  fill(el, view.root);
  return () => view.close();
}
